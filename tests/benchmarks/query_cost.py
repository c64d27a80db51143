"""What compression costs a query: map, region and series of each compression against `None`, in one run (C10).

    python -m tests.benchmarks.query_cost [--data FOLDER] [--repeats N] [--quick]

Each sample is imported once for every storage type and compression into a temporary folder; every query runs on an open
dataset with a warm file cache, its fastest of N runs counts. Queries: a whole map, a region of 200 x 200 cells, a
point series. Printed is time / time of `None` (below 1: faster than uncompressed) and bytes read / bytes of `None`, for
series the bytes themselves.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mdstudio.engine.codecs import NAMES
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import Explain, MapRequest, SeriesRequest
from mdstudio.jobs.recipe import Recipe
from mdstudio.jobs.run import run_recipe

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = (
    "SMALL_total_column_co2.nc", "ERA5_DutchCoast.nc", "CMEMS_DutchCoast_2017-10-28.nc", "hgt.nc",
    "nemo_1m_20150101-20150201_grid-T.nc", "pr_day_HadGEM2-CC_360day_2095.nc",
)
LAYOUTS = ("SingleTimestep", "MultiTimestep", "TimeSeries")
QUERIES = ("map", "region", "series")
REGION = 200  # cells along each side


@dataclass(frozen=True)
class Cost:
    """The fastest run of one query [s], and what it read."""

    seconds: float
    explain: Explain


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=SHARED / "grid")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--quick", action="store_true", help="one file, one run: shows that it works")
    args = parser.parse_args(arguments)
    files = [args.data / name for name in (FILES[:1] if args.quick else FILES)]
    print_report({file.name: dict(measured(file, 1 if args.quick else args.repeats)) for file in files})
    return 0


def measured(file: Path, repeats: int) -> Iterator[tuple[tuple[str, str], dict[str, Cost]]]:
    """((layout, compression), the cost of each query) of one file."""
    with tempfile.TemporaryDirectory() as folder:
        for layout in LAYOUTS:
            datasets = {name: _imported(file, Path(folder) / f"{layout}-{name}", layout, name) for name in NAMES}
            costs: dict[str, dict[str, Cost]] = {name: {} for name in NAMES}
            for query in QUERIES:
                for _ in range(repeats):  # in turn, so that a busy moment of the machine meets all of them
                    for name, dataset in datasets.items():
                        cost = _timed(_query(dataset, query))
                        best = costs[name].get(query)
                        costs[name][query] = cost if best is None or cost.seconds < best.seconds else best
            yield from (((layout, name), costs[name]) for name in NAMES)


def _imported(file: Path, target: Path, layout: str, compression: str) -> Dataset:
    parameters = {"Compression": compression, "StorageType": layout}
    run_recipe(Recipe((str(file),), str(target), parameters), Progress(), {})
    dataset = Dataset.open(str(target))
    _ = dataset.geometry  # the coordinates are read once, by whichever query comes first
    return dataset


def _query(dataset: Dataset, query: str) -> Callable[[], Explain]:
    item, middle = dataset.metadata.items[0], len(dataset.metadata.times) // 2
    rows, columns = dataset.metadata.shape
    if query == "map":
        return lambda: dataset.map(MapRequest(item.name, middle)).explain
    if query == "series":
        x, y = dataset.geometry.centres_at(np.array([[rows // 2, columns // 2]]))
        return lambda: dataset.series(SeriesRequest(item.name, ((float(x[0]), float(y[0])),))).explain
    at_rows, at_columns = (np.array([max(0, (size - REGION) // 2), min(size - 1, (size + REGION) // 2 - 1)])
                           for size in (rows, columns))
    x, y = dataset.geometry.centres_at(np.stack([at_rows, at_columns], axis=1))
    box = float(x[0]), float(y[0]), float(x[1]), float(y[1])
    return lambda: dataset.map(MapRequest(item.name, middle, bbox=box)).explain


def _timed(query: Callable[[], Explain]) -> Cost:
    start = time.perf_counter()
    explain = query()
    return Cost(time.perf_counter() - start, explain)


def print_report(files: dict[str, dict[tuple[str, str], dict[str, Cost]]]) -> None:
    """A table of each storage type: geometric means over the files, the worst file beside them."""
    print("Samples (first item of each): " + ", ".join(files))
    for layout in LAYOUTS:
        print(f"\n{layout}: time / time of None (worst file), bytes read")
        print(f"  {'compression':<20}" + "".join(f"{query:>28}" for query in QUERIES))
        for name in NAMES[1:]:
            cells = []
            for query in QUERIES:
                pairs = [(of[layout, name][query], of[layout, "None"][query]) for of in files.values()]
                times = [one.seconds / none.seconds for one, none in pairs]
                cells.append(f"{_mean(times):.2f} ({max(times):.2f}), {_bytes(query, pairs)}")
            print(f"  {name:<20}" + "".join(f"{cell:>28}" for cell in cells))


def _bytes(query: str, pairs: Sequence[tuple[Cost, Cost]]) -> str:
    """Of a series the bytes themselves: uncompressed, it reads its values alone."""
    if query == "series":
        return f"{_mean([one.explain.bytes_read for one, _ in pairs]) / 1000:.0f} kB"
    return f"{_mean([one.explain.bytes_read / none.explain.bytes_read for one, none in pairs]):.2f}"


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


if __name__ == "__main__":
    raise SystemExit(main())
