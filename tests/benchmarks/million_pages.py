"""A dataset of a million pages (200 groups of 5 000): what opening it, its heatmap and its check cost (design 8).

    python -m tests.benchmarks.million_pages [FOLDER]

Metadata, domain and indexes are real; the pages are constant ones, so that the files are small. Printed: seconds,
requests and bytes of each.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mdstudio.engine.codecs import codec
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.health import check
from mdstudio.engine.layout.domain import store_domain
from mdstudio.engine.layout.metadata import Metadata, item_folders, save_metadata
from mdstudio.engine.layout.page_index import index_block
from mdstudio.engine.layout.pages import checksum
from mdstudio.engine.model import GridDomain, Item
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import MapRequest
from mdstudio.engine.storage import CountingStorage, FolderStorage
from tests.engine.made_datasets import axis, item_storage

GROUPS, ROWS, COLUMNS, WIDTH = 200, 50, 100, 16  # tiles of a slice; one slice a group
PAGES = GROUPS * ROWS * COLUMNS


def write(folder: Path) -> FolderStorage:
    """The dataset, 20 MB."""
    storage = FolderStorage(folder)
    item = Item("v", "int16", no_data=-1)
    domain = GridDomain("projected", np.arange(COLUMNS * WIDTH, dtype=np.float64),
                        np.arange(ROWS * WIDTH, dtype=np.float64))
    encoded = codec("ZstdAuto").encode(np.full((WIDTH, WIDTH), 7, "<i2"))
    page = encoded + checksum(encoded)
    lengths = np.full((1, ROWS * COLUMNS), len(page), "<i4")
    lengths[:, ::10] = 0  # every tenth page is no-data
    group = page * int((lengths > 0).sum()) + index_block(lengths)
    folders = item_folders(["v"])
    target = folder / folders["v"] / "L-1"
    target.mkdir(parents=True)
    for number in range(GROUPS):
        (target / f"G{number:08d}.dat").write_bytes(group)
    save_metadata(storage, Metadata(
        "grid", "million", (ROWS * WIDTH, COLUMNS * WIDTH), (item,), axis(GROUPS),
        item_storage("MultiTimestep", width=WIDTH, group=1), store_domain(storage, domain), folders))
    return storage


def costs(storage: FolderStorage) -> dict[str, tuple[float, int, int]]:
    """{what: (seconds, requests, bytes read)}."""
    found = {}

    def measure(what: str, action: Callable[[CountingStorage], Any]) -> Any:
        counting = CountingStorage(storage)
        started = time.perf_counter()
        result = action(counting)
        found[what] = time.perf_counter() - started, counting.requests, counting.bytes_read
        return result

    measure("open", Dataset.open)
    measure("page table of a slice of 5 000 pages", lambda s: Dataset.open(s).pages("v", 100))
    measure("heatmap: the table, and stored bytes of every timestep", heatmap)
    measure("a whole map with its explain record", lambda s: Dataset.open(s).map(MapRequest("v", 7)))
    for level in ("probe", "index", "full"):
        measure(f"check --level {level}", lambda s, level=level: list(check(s, level, Progress())))
    return found


def heatmap(storage: CountingStorage) -> None:
    """What the Storage tab shows: ratio of each page of a slice, ratio of each timestep."""
    dataset = Dataset.open(storage)
    table, sizes = dataset.pages("v", 0), dataset.sizes()
    assert (table.length / table.raw).size == ROWS * COLUMNS
    assert (sizes.stored / sizes.raw[:, None]).size == GROUPS


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("folder", nargs="?", type=Path)
    folder = parser.parse_args(arguments).folder
    with tempfile.TemporaryDirectory() as temporary:
        storage = write(folder or Path(temporary) / "million")
        for what, (seconds, requests, read) in costs(storage).items():
            print(f"{what:<56} {seconds:8.3f} s {requests:>6} requests {read:>12,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
