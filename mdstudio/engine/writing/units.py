"""Units of work of a write: an item's time group, or an aligned run of 32 timesteps in SingleTimestep (C6)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mdstudio.engine.errors import DamagedDataError, SourceError
from mdstudio.engine.layout.encoding import Workers
from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.model import Array, Item
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import BlobStorage
from mdstudio.engine.writing.new_blobs import NewBlobs

SINGLE_STEPS = 32  # timesteps of a SingleTimestep unit
STORES = 4  # blobs or blocks that are stored at once


class SliceReader(Protocol):
    """Where a write takes its values from; called from one thread.

    Values of a mesh come in the order of the source, always a whole slice as one row: elements, nodes, nodes x layers
    (row-major) of a z-level item, 3-D elements (element by element, from the bottom up) of a sigma item. A vector item
    has one axis more, its components.
    """

    def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        """(time, row, column) stored values of the item's stored type, little-endian; layer -1 without layers or where
        all layers lie together."""
        ...


@dataclass(frozen=True)
class Unit:
    """Times [start, stop) of one unit; `group` numbers the time group (SingleTimestep: the run).

    `runs`: where an update writes only some of them, the [start, stop) of each run of neighbours.
    """

    group: int
    start: int
    stop: int
    runs: tuple[tuple[int, int], ...] = ()

    def slices(self) -> tuple[slice, ...]:
        """The times that are written, in order."""
        return tuple(slice(*run) for run in self.runs or ((self.start, self.stop),))

    @property
    def count(self) -> int:
        """How many times are written."""
        return sum(run.stop - run.start for run in self.slices())

    def is_whole(self, layout: ItemLayout) -> bool:
        """Whether these are all times that the dataset lists in the group: then nothing of a stored group is kept."""
        return not self.runs and (self.start, self.stop) == layout.group_times(self.group)


def units_of(layout: ItemLayout) -> Iterator[Unit]:
    """All units of a dataset in time order; the same for every item."""
    return units_within(layout, np.arange(len(layout.times)))


def units_within(layout: ItemLayout, times: Array) -> Iterator[Unit]:
    """The units of some times, (n,) int64 positions that increase; their time groups are those of the whole dataset."""
    storage = layout.storage
    size = SINGLE_STEPS if storage.storage_type == "SingleTimestep" else storage.time_group_size or 1
    for members in np.split(times, np.flatnonzero(np.diff(times // size)) + 1):
        runs = tuple((int(run[0]), int(run[-1]) + 1)
                     for run in np.split(members, np.flatnonzero(np.diff(members) > 1) + 1))
        yield Unit(int(members[0]) // size, runs[0][0], runs[-1][1], runs if len(runs) > 1 else ())


def missing(blob: str) -> DamagedDataError:
    """The error for a blob that times are to be written to, and that is not there."""
    return DamagedDataError("The blob is missing: it holds times that the dataset lists.", where=blob,
                            advice="Import all times of its group again, with --update.")


@dataclass(frozen=True)
class Session:
    """What all units of one write share; `stores` are the threads that wait for the storage."""

    storage: BlobStorage
    reader: SliceReader
    workers: Workers
    stores: ThreadPoolExecutor
    progress: Progress
    blobs: NewBlobs

    def read(
        self, layout: ItemLayout, times: slice, layer: int, rows: slice | None = None, columns: slice | None = None
    ) -> Array:
        """A hyperslab from the reader, (time, row, column) cells of the layout's type; `SourceError` when it is not of
        the stored type and the shape asked for."""
        self.progress.check()
        rows = rows or slice(0, layout.tiles.rows)
        columns = columns or slice(0, layout.tiles.columns)
        values = self.reader.read(layout.item.name, times, layer, rows, columns)
        shape = (times.stop - times.start, rows.stop - rows.start, columns.stop - columns.start)
        return as_cells(layout.item, require_values(layout.item, values, shape))


def require_values(item: Item, values: Array, shape: tuple[int, ...]) -> Array:
    """What a source gave, if it is of the item's stored type and of (time, row, column) as asked, with components last
    for a vector; `SourceError` otherwise."""
    wanted = (*shape, item.components) if item.value_kind == "vector" else shape
    if values.shape != wanted or values.dtype != item.numpy:
        raise SourceError(f"The source gave {values.dtype} values of shape {values.shape} for "
                          f"'{item.name}'; {item.numpy} of {wanted} were asked for.")
    return values


def as_cells(item: Item, values: Array) -> Array:
    """Numbers as cells: the components of a vector become one element of `Item.cell_type`."""
    if item.value_kind != "vector":
        return values
    cells: Array = np.ascontiguousarray(values).view(item.cell_type)[..., 0]
    return cells
