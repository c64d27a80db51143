"""How fast the auto codecs decode, against their peers, class by class, on real samples, in one run.

    python -m tests.benchmarks.codec_decode [--data FOLDER] [--samples TEXT] [--rounds N]

One thread: its CPU time, the best of rounds that take turns. Two threads pinned to two cores: wall time against one
thread on one of them, the median of pairs; that needs cores that nobody else uses. Ratios are above 1 where we are
faster; "worst" is the sample where we are slowest. Samples of tiles below 8 KB are left out: there the call is timed.
"shuffle + deflate 4" is how HDF5 stores; its peer here unshuffles with our vector code, which HDF5 does not have.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from mdstudio.engine.codecs.kernels import kernels
from mdstudio.engine.model import Array
from tests.benchmarks.codec_samples import Sample, samples
from tests.benchmarks.codec_sizes import SHARED, TIMED, Coder, coders

OURS = ("ZstdAuto", "ZstdFastAuto", "DeflateOptimalAuto")
PEERS = ("shuffle + deflate 4", "blosc2 bytedelta", "pcodec 8")
PAIR_SECONDS = 0.02  # of one thread, at least, for a pair
PAIRS = 7

Decode = Callable[[list[bytes], list[Array]], None]


def one_thread(sample: Sample, every: dict[str, Coder], rounds: int) -> tuple[dict[str, float], dict[str, list[bytes]]]:
    """Seconds of each coder for a whole sample, checked to the bit; and the blocks."""
    blocks = {name: coder.encode(sample) for name, coder in every.items()}
    best = dict.fromkeys(every, math.inf)
    into = [np.empty_like(tile) for tile in sample.tiles]
    for turn in range(rounds):
        for name, coder in every.items():
            start = time.thread_time()
            coder.decode(blocks[name], into)
            best[name] = min(best[name], time.thread_time() - start)
            if not turn and any(a.tobytes() != b.tobytes() for a, b in zip(sample.tiles, into, strict=True)):
                raise AssertionError(f"{name} changed {sample.name}")
    return best, blocks


def two_threads(sample: Sample, decode: Decode, blocks: list[bytes], seconds: float) -> float:
    """How much faster two pinned threads are than one: each has a half of the tiles."""
    times = max(1, -(-8 // len(blocks)))
    blocks = blocks * times
    into = [np.empty_like(tile) for _ in range(times) for tile in sample.tiles]
    repeat, half = max(1, round(PAIR_SECONDS / (seconds * times))), len(blocks) // 2
    halves = [(blocks[:half], into[:half]), (blocks[half:], into[half:])]
    pairs = [_wall(decode, [(blocks, into)], repeat) / _wall(decode, halves, repeat) for _ in range(PAIRS)]
    return statistics.median(pairs)


def _wall(decode: Decode, parts: list[tuple[list[bytes], list[Array]]], repeat: int) -> float:
    """Seconds until each part was decoded so often, by a thread on a core of its own."""
    cores, together = sorted(os.sched_getaffinity(0)), threading.Barrier(len(parts) + 1)

    def job(number: int) -> None:
        os.sched_setaffinity(0, {cores[number]})  # of this thread
        decode(*parts[number])
        together.wait()
        for _ in range(repeat):
            decode(*parts[number])

    threads = [threading.Thread(target=job, args=(number,)) for number in range(len(parts))]
    for thread in threads:
        thread.start()
    together.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def report(results: list[tuple[Sample, dict[str, float]]], scaling: list[tuple[Sample, float]]) -> Iterator[str]:
    """The tables in Markdown, line by line."""
    yield "| sample | class | KB a tile | " + " | ".join((*OURS, *PEERS)) + " |"
    yield "|---|---|--:|" + "--:|" * (len(OURS) + len(PEERS))
    for sample, seconds in results:
        speeds = " | ".join(f"{sample.raw_bytes / seconds[name] / 1e6:.0f}" for name in (*OURS, *PEERS))
        yield f"| {sample.name} | {sample.group} | {sample.raw_bytes / len(sample.tiles) / 1024:.0f} | {speeds} |"
    groups = [*dict.fromkeys(sample.group for sample, _ in results), "all"]
    for name in OURS:
        yield f"\n### {name}: decode, times as fast, geometric means a class\n"
        yield "| class | samples | " + " | ".join(f"{peer} | worst" for peer in PEERS) + " |"
        yield "|---|--:|" + "--:|--:|" * len(PEERS)
        for group in groups:
            chosen = [seconds for sample, seconds in results if group in (sample.group, "all")]
            ratios = [[seconds[peer] / seconds[name] for seconds in chosen] for peer in PEERS]
            yield f"| {group} | {len(chosen)} | " + " | ".join(f"{_mean(r):.2f} | {min(r):.2f}" for r in ratios) + " |"
    if scaling:
        yield "\n### ZstdAuto: two pinned threads against one\n"
        yield "| class | samples | times as fast | worst |\n|---|--:|--:|--:|"
        for group in groups:
            found = [factor for sample, factor in scaling if group in (sample.group, "all")]
            yield f"| {group} | {len(found)} | {_mean(found):.2f} | {min(found):.2f} |"


def _mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the real files")
    parser.add_argument("--samples", default="", help="only samples or classes whose name holds this text")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    every = {name: coder for name, coder in coders().items() if name in (*OURS, *PEERS)}
    two = hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1
    results, scaling = [], []
    for sample in samples(options.data):
        wanted = options.samples in sample.name or options.samples in sample.group
        if not wanted or sample.raw_bytes < TIMED * len(sample.tiles):
            continue
        seconds, blocks = one_thread(sample, every, options.rounds)
        results.append((sample, seconds))
        if two:
            decode = every["ZstdAuto"].decode
            scaling.append((sample, two_threads(sample, decode, blocks["ZstdAuto"], seconds["ZstdAuto"])))
    print(f"Transforms: {kernels.NAME}. Decode, MB/s of raw data, CPU time of one thread.\n")
    print("\n".join(report(results, scaling)))


if __name__ == "__main__":
    main()
