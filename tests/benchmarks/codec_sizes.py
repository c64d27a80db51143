"""Size, encode and decode speed of every codec against its peers, on real samples, in one run.

    python -m tests.benchmarks.codec_sizes [--data FOLDER] [--quick] [--samples TEXT]

One thread, in its CPU time. Sizes are percent of raw. The last tables hold geometric means of ratios a class: below
1 is better for sizes, above 1 for speeds. Samples of tiles below 8 KB count for sizes only: there the call is timed.
"""

from __future__ import annotations

import argparse
import math
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import blosc2
import numpy as np
import zstandard
from pcodec import ChunkConfig, standalone

from mdstudio.engine.codecs import NAMES, codec, new_probe
from mdstudio.engine.codecs.kernels import kernels
from mdstudio.engine.model import Array
from tests.benchmarks.codec_samples import Sample, samples

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
OURS = tuple(name for name in NAMES if name != "None")
TIMED = 8192  # bytes a tile, on average, from which a sample's speed counts in the means
PEERS = ("shuffle + zstd 7", "blosc2 bytedelta", "pcodec 8", "shuffle + deflate 4")


@dataclass(frozen=True)
class Coder:
    """A way to encode a whole sample and to decode it again."""

    encode: Callable[[Sample], list[bytes]]
    decode: Callable[[list[bytes], list[Array]], None]


@dataclass(frozen=True)
class Row:
    """What one coder did to one sample: bytes, encode and decode seconds."""

    stored: int
    encode: float
    decode: float


def _ours(name: str, hinted: bool = True) -> Coder:
    one = codec(name)

    def encode(sample: Sample) -> list[bytes]:
        probe = new_probe(name)
        hints = sample.hints if hinted else ()
        return [one.encode(tile, probe, hints, sample.no_data) for tile in sample.tiles]

    def decode(blocks: list[bytes], into: list[Array]) -> None:
        for block, out in zip(blocks, into, strict=True):
            one.decode(block, out)

    return Coder(encode, decode)


def _shuffled(compress: Callable[[bytes], bytes], decompress: Callable[[bytes], bytes]) -> Coder:
    """Byte shuffle with our own kernel (the fastest at hand), then a general compressor."""

    def encode(sample: Sample) -> list[bytes]:
        blocks = []
        for tile in sample.tiles:
            size, planes = tile.itemsize, np.empty(tile.nbytes, dtype=np.uint8)
            kernels.forward(tile, size, 1, tile.size, 0, planes, False)
            blocks.append(compress(planes.tobytes()))
        return blocks

    def decode(blocks: list[bytes], into: list[Array]) -> None:
        for block, out in zip(blocks, into, strict=True):
            size = out.itemsize
            kernels.unpack_keys(decompress(block), size, size, 1, out.size, 0, out, size, 0, 0, 0)

    return Coder(encode, decode)


def _blosc2() -> Coder:
    blosc2.set_nthreads(1)

    def encode(sample: Sample) -> list[bytes]:
        return [
            blosc2.compress2(
                tile,
                typesize=tile.itemsize,
                codec=blosc2.Codec.ZSTD,
                clevel=5,
                filters=[blosc2.Filter.SHUFFLE, blosc2.Filter.BYTEDELTA],
                filters_meta=[0, tile.itemsize],
                nthreads=1,
            )
            for tile in sample.tiles
        ]

    def decode(blocks: list[bytes], into: list[Array]) -> None:
        for block, out in zip(blocks, into, strict=True):
            blosc2.decompress2(block, dst=out, nthreads=1)

    return Coder(encode, decode)


def _pcodec() -> Coder:
    config = ChunkConfig(compression_level=8)

    def encode(sample: Sample) -> list[bytes]:
        return [standalone.simple_compress(tile.reshape(-1), config) for tile in sample.tiles]

    def decode(blocks: list[bytes], into: list[Array]) -> None:
        for block, out in zip(blocks, into, strict=True):
            standalone.simple_decompress_into(block, out.reshape(-1))

    return Coder(encode, decode)


def coders() -> dict[str, Coder]:
    """Ours first, then the peers."""
    compressor, decompressor = zstandard.ZstdCompressor(level=7), zstandard.ZstdDecompressor()
    return {
        **{name: _ours(name) for name in OURS},
        "ZstdAuto, no hint": _ours("ZstdAuto", hinted=False),
        "shuffle + zstd 7": _shuffled(compressor.compress, decompressor.decompress),
        "blosc2 bytedelta": _blosc2(),
        "pcodec 8": _pcodec(),
        "shuffle + deflate 4": _shuffled(lambda data: zlib.compress(data, 4), zlib.decompress),
    }


def measure(sample: Sample, every: dict[str, Coder], rounds: int) -> dict[str, Row]:
    """Each coder on one sample, checked to the bit; the best of the rounds, which take turns."""
    blocks: dict[str, list[bytes]] = {}
    encode = dict.fromkeys(every, math.inf)
    decode = dict.fromkeys(every, math.inf)
    into = [np.empty_like(tile) for tile in sample.tiles]
    for turn in range(rounds):
        for name, coder in every.items():
            if turn < max(1, rounds // 3):
                start = time.thread_time()
                blocks[name] = coder.encode(sample)
                encode[name] = min(encode[name], time.thread_time() - start)
            start = time.thread_time()
            coder.decode(blocks[name], into)
            decode[name] = min(decode[name], time.thread_time() - start)
            if not turn and any(a.tobytes() != b.tobytes() for a, b in zip(sample.tiles, into, strict=True)):
                raise AssertionError(f"{name} changed {sample.name}")
    return {name: Row(sum(map(len, blocks[name])), encode[name], decode[name]) for name in every}


def report(results: dict[str, tuple[Sample, dict[str, Row]]]) -> Iterator[str]:
    """The tables in Markdown, line by line."""
    names = list(next(iter(results.values()))[1])
    yield from _table("Size, % of raw", results, names, lambda s, r: 100 * r.stored / s.raw_bytes, "{:.1f}")
    yield from _table("Encode, MB/s", results, names, lambda s, r: s.raw_bytes / r.encode / 1e6, "{:.0f}")
    yield from _table("Decode, MB/s", results, names, lambda s, r: s.raw_bytes / r.decode / 1e6, "{:.0f}")
    groups = [*dict.fromkeys(s.group for s, _ in results.values()), "all"]
    for name in (*OURS, "ZstdAuto, no hint"):
        yield f"\n### {name}: geometric means a class\n"
        columns = " | ".join(f"size / {p} | encode x | decode x" for p in PEERS)
        yield f"| class | samples, of them timed | {columns} |"
        yield "|---|--:|" + "--:|--:|--:|" * len(PEERS)
        for group in groups:
            chosen = [(s, r) for s, r in results.values() if group in (s.group, "all")]
            yield f"| {group} | {len(chosen)}, {len(_timed(chosen))} | {' | '.join(_ratios(chosen, name))} |"


def _ratios(chosen: list[tuple[Sample, dict[str, Row]]], name: str) -> Iterator[str]:
    timed = _timed(chosen)
    for peer in PEERS:
        yield f"{_mean(rows[name].stored / rows[peer].stored for _, rows in chosen):.3f}"
        yield f"{_mean(rows[peer].encode / rows[name].encode for rows in timed):.2f}"
        yield f"{_mean(rows[peer].decode / rows[name].decode for rows in timed):.2f}"


def _timed(chosen: list[tuple[Sample, dict[str, Row]]]) -> list[dict[str, Row]]:
    """Samples whose tiles are large enough that it is not the call that is timed."""
    return [rows for sample, rows in chosen if sample.raw_bytes >= TIMED * len(sample.tiles)]


def _table(
    title: str,
    results: dict[str, tuple[Sample, dict[str, Row]]],
    names: list[str],
    figure: Callable[[Sample, Row], float],
    form: str,
) -> Iterator[str]:
    yield f"\n### {title}\n"
    yield "| sample | class | tiles | " + " | ".join(names) + " |"
    yield "|---|---|--:|" + "--:|" * len(names)
    for label, (sample, rows) in results.items():
        cells = " | ".join(form.format(figure(sample, rows[name])) for name in names)
        yield f"| {label} | {sample.group} | {len(sample.tiles)} | {cells} |"


def _mean(values: Iterator[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the real files")
    parser.add_argument("--quick", action="store_true", help="one round: sizes are exact, speeds are rough")
    parser.add_argument("--samples", default="", help="only samples or classes whose name holds this text")
    options = parser.parse_args()
    every = coders()
    results = {
        sample.name: (sample, measure(sample, every, 1 if options.quick else 5))
        for sample in samples(options.data)
        if options.samples in sample.name or options.samples in sample.group
    }
    print(f"Transforms: {kernels.NAME}. CPU time of one thread, best of the rounds, every result checked to the bit.")
    print("\n".join(report(results)))


if __name__ == "__main__":
    main()
