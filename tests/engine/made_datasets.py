"""Small datasets made from arrays: the array itself is the oracle of every read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import (
    LAYOUT_CURRENT,
    Array,
    Description,
    GridDomain,
    Item,
    ItemStorage,
    LayerAxis,
    StorageType,
)
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import Settings
from mdstudio.engine.storage import BlobStorage, FolderStorage, Wrapper
from mdstudio.engine.times import TimeAxis
from mdstudio.engine.writer import WriteSummary, create_dataset

HOUR = 3_600_000_000


@dataclass
class Arrays:
    """A slice reader over (time, layer, row, column) arrays by item name; keeps what it was asked for."""

    values: Mapping[str, Array]
    asked: list[tuple[str, slice, int, slice, slice]] = field(default_factory=list)

    def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        self.asked.append((item, times, layer, rows, columns))
        return np.ascontiguousarray(self.values[item][times, max(layer, 0), rows, columns])


class Watched(Wrapper):
    """A storage that calls `before` and `after` with (call, blob, number of the call) around every request.

    What they raise is the request's failure: before its effect, or after it, as a lost answer is.
    """

    def __init__(self, inner: BlobStorage) -> None:
        super().__init__(inner)
        self.before: Callable[[str, str, int], None] = lambda call, name, number: None
        self.after: Callable[[str, str, int], None] = lambda call, name, number: None
        self.calls: list[tuple[str, str]] = []

    def _request(self, call: str, name: str, request: Callable[[], Any]) -> Any:
        self.calls.append((call, name))
        number = len(self.calls)
        self.before(call, name, number)
        result = request()
        self.after(call, name, number)
        return result


def axis(count: int, *, irregular: bool = False) -> TimeAxis:
    """Hours since 1970; with a gap after the first when irregular."""
    hours = np.arange(count, dtype=np.int64)
    return TimeAxis((hours + (hours > 0) * irregular) * HOUR)


def item(name: str, values: Array, no_data: float | int | None = None, layered: bool = False, **more: Any) -> Item:
    layers = LayerAxis("depth", tuple(float(i) for i in range(values.shape[1])), "m") if layered else None
    return Item(name, values.dtype.newbyteorder("=").name, no_data=no_data, layers=layers, **more)


def description(values: Mapping[str, Array], items: tuple[Item, ...] | None = None, *, irregular: bool = False,
                **more: Any) -> Description:
    """A projected grid of cells of 1 x 1 whose centre (row r, column c) is x = c, y = r."""
    first = next(iter(values.values()))
    domain = GridDomain("projected", np.arange(first.shape[3], dtype=np.float64),
                        np.arange(first.shape[2], dtype=np.float64))
    return Description(domain, axis(len(first), irregular=irregular),
                       items or tuple(item(n, v, layered=v.shape[1] > 1) for n, v in values.items()), **more)


def item_storage(
    storage_type: StorageType, compression: str = "ZstdAuto", *, width: int = 16, group: int = 3, block_rows: int = 5,
    version: int | None = LAYOUT_CURRENT, fixed_step: bool = True,
) -> ItemStorage:
    series = storage_type == "TimeSeries"
    return ItemStorage(
        storage_type, compression, None if storage_type == "SingleTimestep" else group, width,
        time_series_block_rows=block_rows if series else None, spatial_group_size=width * width if series else None,
        fixed_step=fixed_step and series, layout_version=version)


def write(
    storage: BlobStorage, values: Mapping[str, Array], kept: ItemStorage, items: tuple[Item, ...] | None = None, *,
    progress: Progress | None = None, workers: int = 2, reader: Arrays | None = None, **more: Any,
) -> WriteSummary:
    """Write a dataset of arrays."""
    return create_dataset(storage, "made", description(values, items, **more), reader or Arrays(values),
                          Settings(kept, (), {}), progress or Progress(), {"MD_ENCODE_WORKERS": str(workers)})


def make(folder: Path, values: Mapping[str, Array], kept: ItemStorage, items: tuple[Item, ...] | None = None,
         **more: Any) -> Dataset:
    """Write a dataset of arrays into a folder and open it."""
    storage = FolderStorage(folder)
    write(storage, values, kept, items, **more)
    return Dataset.open(storage)


def smooth(times: int, layers: int, rows: int, columns: int, dtype: str = "int16", seed: int = 0) -> Array:
    """A random walk over space that changes a little with time."""
    random = np.random.default_rng(seed)
    field_ = random.integers(-3, 4, (times, layers, rows, columns)).cumsum(axis=2).cumsum(axis=3)
    return (field_ * 0.1 if dtype.startswith("float") else field_).astype(dtype)


def same_bits(left: Array, right: Array) -> bool:
    """Equal in type, shape and every bit."""
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def blobs(storage: BlobStorage) -> dict[str, bytes]:
    """Every blob with its bytes."""
    return {blob.name: storage.read(blob.name).data for blob in storage.list_blobs()}


def files(folder: Path) -> list[str]:
    """Every file below a folder, left-overs of writes included."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
