"""What an append to a TimeSeries group costs: CPU seconds a GB of raw group data, against the bounds of T10.

    python -m tests.benchmarks.append_cost [--data FOLDER] [--quick]

Each sample is imported as TimeSeries but for its last time, which is then appended: every blob of the last group is
decoded, patched and encoded again. CPU of the process over all threads; one worker and four (the work is the same).
Reading the source is not counted: its last time is read before. Raw group data: what the rewritten groups hold; where
they hold a MB or less, as those of hgt.nc, it is opening and moving files that costs, not their data.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import Array, Description
from mdstudio.engine.operations.append import append_times
from mdstudio.engine.parameters import Value
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import choose_settings
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.writer import create_dataset
from mdstudio.sources.registry import open_source

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = ("pr_day_HadGEM2-CC_360day_2095.nc", "hgt.nc")
BOUNDS = {"ZstdAuto": 15.0, "ZstdFastAuto": 7.0}  # CPU seconds a GB (T10)
WORKERS = (1, 4)


class _Held:
    """A reader of values that are in memory: every item and layer, whole."""

    def __init__(self, values: dict[tuple[str, int], Array]) -> None:
        self._values = values

    def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        return self._values[item, layer][times, rows, columns]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=SHARED / "grid")
    parser.add_argument("--quick", action="store_true", help="one file: shows that it works")
    args = parser.parse_args(arguments)
    for name in FILES[:1] if args.quick else FILES:
        print_report(name, dict(measured(args.data / name)))
    return 0


def measured(file: Path) -> Iterator[tuple[tuple[str, int], tuple[float, int]]]:
    """((compression, workers), (CPU seconds, raw bytes of the groups)) of one file."""
    with open_source([str(file)], {}) as source:
        whole = max(source.descriptions(), key=lambda d: len(d.times))
        last = len(whole.times) - 1
        held = {(item.name, layer): source.read(whole, item.name, slice(0, last + 1), layer,
                                                slice(0, getattr(whole.domain, "rows", 1)),
                                                slice(0, getattr(whole.domain, "columns", whole.domain.cells)))
                for item in whole.items for layer in item.layer_ids()}
    for compression in BOUNDS:
        for workers in WORKERS:
            yield (compression, workers), _append_last(whole, held, compression, workers)


def _append_last(
    whole: Description, held: dict[tuple[str, int], Array], compression: str, workers: int
) -> tuple[float, int]:
    last = len(whole.times) - 1
    given: dict[str, Value] = {"StorageType": "TimeSeries", "Compression": compression, "TimeGroupSize": last + 1}
    settings = choose_settings(whole, given, {})
    with tempfile.TemporaryDirectory() as folder:
        storage = FolderStorage(folder)
        create_dataset(storage, "b", replace(whole, times=whole.times[:last]), _Held(held), settings, Progress(), {})
        tail = _Held({key: values[last:] for key, values in held.items()})
        start = time.process_time()
        append_times(storage, replace(whole, times=whole.times[last:]), tail, {}, Progress(),
                     {"MD_ENCODE_WORKERS": str(workers)})
        seconds = time.process_time() - start
        metadata = Dataset.open(storage).metadata
        raw = sum(item.raw_bytes(metadata.values_of(item)) for item in metadata.items) * (last + 1)
    return seconds, raw


def print_report(name: str, costs: dict[tuple[str, int], tuple[float, int]]) -> None:
    print(name)
    for (compression, workers), (seconds, raw) in costs.items():
        print(f"  {compression:14} {workers} worker{'s' * (workers > 1):1}  {raw / 1e6:9.1f} MB raw  "
              f"{seconds / raw * 1e9:6.2f} s of CPU a GB (at most {BOUNDS[compression]:g})")


if __name__ == "__main__":
    raise SystemExit(main())
