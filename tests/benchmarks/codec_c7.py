"""The headline figures of the codecs (rule C7, the first two rows of design §8, the blind recovery), in one run.

    python -m tests.benchmarks.codec_c7 [--data FOLDER] [--rounds N] [--samples TEXT]

Sizes are exact. Speeds are CPU time of one thread, the least of the rounds, coders taking turns; they count samples of
at least 32 tiles of 8 KB on average, in which every codec competes as often as in a dataset. Losses are marked.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.benchmarks.codec_samples import Sample, samples
from tests.benchmarks.codec_sizes import SHARED, TIMED, Coder, Row, coders

TILES = 32  # from which a sample's speed counts: one competition a sample at most every so many tiles
PLAIN, DEFLATE, ZSTD, FAST = "DeflateOptimal", "DeflateOptimalAuto", "ZstdAuto", "ZstdFastAuto"
BLIND = "ZstdAuto, no hint"
PEERS = ("shuffle + zstd 7", "blosc2 bytedelta", "pcodec 8")
Result = tuple[Sample, dict[str, Row]]


@dataclass(frozen=True)
class Line:
    """One row of the table: what the rule asks and what was measured, with the worst sample."""

    what: str
    asked: str
    measured: str
    holds: bool
    worst: str


def measure(sample: Sample, every: dict[str, Coder], rounds: int) -> dict[str, Row]:
    """Each coder on one sample, checked to the bit."""
    into = [np.empty_like(tile) for tile in sample.tiles]
    encode, decode, stored = dict.fromkeys(every, math.inf), dict.fromkeys(every, math.inf), {}
    for turn in range(rounds):
        for name, coder in every.items():
            start = time.thread_time()
            blocks = coder.encode(sample)
            middle = time.thread_time()
            coder.decode(blocks, into)
            encode[name] = min(encode[name], middle - start)
            decode[name] = min(decode[name], time.thread_time() - middle)
            stored[name] = sum(map(len, blocks))
            if not turn and any(a.tobytes() != b.tobytes() for a, b in zip(sample.tiles, into, strict=True)):
                raise AssertionError(f"{name} changed {sample.name}")
    return {name: Row(stored[name], encode[name], decode[name]) for name in every}


def lines(results: Sequence[Result]) -> Iterator[Line]:
    """The rows of the table."""
    smooth, grib = _of(results, "grid int16"), _of(results, "GRIB float32")
    yield _ratio(
        "size of DeflateOptimalAuto / DeflateOptimal, scaled Int16", "about 0.67", smooth, DEFLATE, PLAIN, 0.70
    )
    yield _ratio("the same, GRIB float32", "0.40-0.60", grib, DEFLATE, PLAIN, 0.60)
    yield _points("DeflateOptimalAuto - DeflateOptimal, worst sample of all", 0.2, results, DEFLATE, PLAIN, worst=True)
    yield _speed("reads of DeflateOptimalAuto / DeflateOptimal", 0.7, results, DEFLATE, PLAIN, "decode")
    yield _speed("writes of DeflateOptimalAuto / DeflateOptimal", 0.6, results, DEFLATE, PLAIN, "encode")
    for group in dict.fromkeys(sample.group for sample, _ in results):
        most = 2.0 if group == "mesh" else 0.4
        chosen = _of(results, group)
        yield _points(f"ZstdAuto - DeflateOptimalAuto, average of {group}", most, chosen, ZSTD, DEFLATE, worst=False)
    yield _speed("reads of ZstdAuto / DeflateOptimalAuto", 1.0, results, ZSTD, DEFLATE, "decode")
    yield _speed("writes of ZstdFastAuto / ZstdAuto", 1.2, results, FAST, ZSTD, "encode")
    yield _points("ZstdFastAuto - ZstdAuto, worst sample", 2.9, results, FAST, ZSTD, worst=True)
    yield _speed("reads of ZstdFastAuto / ZstdAuto", 0.9, results, FAST, ZSTD, "decode")
    own = [one for one in results if not one[0].group.startswith(("xarray", "GRIB"))]
    for peer, most in zip(PEERS, (0.65, 0.75, 0.80), strict=True):
        yield _ratio(f"design §8: size of ZstdAuto / {peer}, all but xarray and GRIB", f"{most}", own, ZSTD, peer, most)
    for group in dict.fromkeys(sample.group for sample, _ in results):
        yield _ratio(
            f"design §8: size of ZstdAuto / pcodec 8, {group}", "1.05", _of(results, group), ZSTD, PEERS[2], 1.05
        )
    unpacked = [one for one in results if one[0].hints]
    yield _best(
        "design §8: size with the source's hint / the best of the three, unpacked CF floats", unpacked, ZSTD, 0.5
    )
    for label, prefix in (("packed NetCDF as xarray unpacks it", "xarray"), ("GRIB floats", "GRIB")):
        chosen = [one for one in results if one[0].group.startswith(prefix)]
        for peer, most in (("pcodec 8", 0.6), ("blosc2 bytedelta", 0.4)):
            yield _ratio(f"blind: size of ZstdAuto / {peer}, {label}", f"{most}", chosen, BLIND, peer, most)
    both = [one for one in results if one[0].group.startswith(("xarray", "GRIB"))]
    for peer, most in (("pcodec 8", 0.6), ("blosc2 bytedelta", 0.4)):
        yield _ratio(f"blind: size of ZstdAuto / {peer}, both", f"{most}", both, BLIND, peer, most)


def _of(results: Sequence[Result], group: str) -> list[Result]:
    return [one for one in results if one[0].group == group]


def _ratio(what: str, asked: str, chosen: Sequence[Result], ours: str, theirs: str, most: float) -> Line:
    ratios = {sample.name: rows[ours].stored / rows[theirs].stored for sample, rows in chosen}
    return _line(what, asked, ratios, _mean(ratios.values()), most, "{:.3f}")


def _best(what: str, chosen: Sequence[Result], ours: str, most: float) -> Line:
    ratios = {s.name: rows[ours].stored / min(rows[peer].stored for peer in PEERS) for s, rows in chosen}
    return _line(what, f"{most}", ratios, _mean(ratios.values()), most, "{:.3f}")


def _points(what: str, most: float, chosen: Sequence[Result], ours: str, theirs: str, *, worst: bool) -> Line:
    points = {s.name: 100 * (rows[ours].stored - rows[theirs].stored) / s.raw_bytes for s, rows in chosen}
    value = max(points.values()) if worst else sum(points.values()) / len(points)
    return _line(what, f"{most} points", points, value, most, "{:+.2f}")


def _speed(what: str, least: float, results: Sequence[Result], ours: str, theirs: str, which: str) -> Line:
    ratios = {
        sample.name: getattr(rows[theirs], which) / getattr(rows[ours], which)
        for sample, rows in results
        if len(sample.tiles) >= TILES and sample.raw_bytes >= TIMED * len(sample.tiles)
    }
    return _line(what, f"{least} x", ratios, _mean(ratios.values()), least, "{:.2f}", more=True)


def _line(
    what: str, asked: str, values: dict[str, float], value: float, limit: float, form: str, *, more: bool = False
) -> Line:
    if not values:
        return Line(what, asked, "no sample", False, "")
    ends = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    spread = f"{form.format(value)} ({form.format(values[ends[0]])} to {form.format(values[ends[1]])}, {len(values)})"
    return Line(what, asked, spread, value >= limit if more else value <= limit, ends[0] if more else ends[1])


def _mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def table(results: Sequence[Result]) -> Iterator[str]:
    """Markdown, with the list of samples."""
    yield "| figure | asked | measured: mean (least to most, samples) | holds | worst sample |"
    yield "|---|---|---|---|---|"
    for one in lines(results):
        yield f"| {one.what} | {one.asked} | {one.measured} | {'yes' if one.holds else '**no**'} | {one.worst} |"
    names = [PLAIN, DEFLATE, ZSTD, FAST, BLIND, *PEERS]
    yield f"\n| sample, size in % of raw | class | tiles | {' | '.join(names)} |"
    yield "|---|---|--:|" + "--:|" * len(names)
    for sample, rows in results:
        cells = " | ".join(f"{100 * rows[name].stored / sample.raw_bytes:.1f}" for name in names)
        yield f"| {sample.name} | {sample.group} | {len(sample.tiles)} | {cells} |"


def class_table(results: Sequence[Result]) -> Iterator[str]:
    """Sizes of ZstdAuto over those of the peers: geometric means of each class, without the hints of a source where
    its scale is not stored with the floats (as xarray unpacks them, and GRIB)."""
    yield "| class | samples | " + " | ".join(f"/ {peer}" for peer in PEERS) + " | without hints: " + " | ".join(
        f"/ {peer}" for peer in PEERS) + " |"
    yield "|---" * (2 + 2 * len(PEERS)) + "|"
    groups = list(dict.fromkeys(sample.group for sample, _ in results))
    for group in (*groups, "all"):
        chosen = [rows for sample, rows in results if group in (sample.group, "all")]
        means = [_mean(rows[ours].stored / rows[peer].stored for rows in chosen)
                 for ours in (ZSTD, BLIND) for peer in PEERS]
        yield f"| {group} | {len(chosen)} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the real files")
    parser.add_argument("--rounds", type=int, default=5, help="1: sizes are exact, speeds are rough")
    parser.add_argument("--samples", default="", help="only samples or classes whose name holds this text")
    options = parser.parse_args()
    every = coders()
    every = {name: every[name] for name in (PLAIN, DEFLATE, ZSTD, FAST, BLIND, *PEERS)}
    results = [
        (sample, measure(sample, every, options.rounds))
        for sample in samples(options.data)
        if options.samples in sample.name or options.samples in sample.group
    ]
    print("\n".join([*table(results), "", *class_table(results)]))


if __name__ == "__main__":
    main()
