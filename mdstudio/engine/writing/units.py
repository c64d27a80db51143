"""Units of work of a write: an item's time group, or an aligned run of 32 timesteps in SingleTimestep (C6)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from mdstudio.engine.errors import SourceError
from mdstudio.engine.layout.encoding import Workers
from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.model import Array
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import BlobStorage
from mdstudio.engine.writing.new_blobs import NewBlobs

SINGLE_STEPS = 32  # timesteps of a SingleTimestep unit
STORES = 4  # blobs or blocks that are stored at once


class SliceReader(Protocol):
    """Where a write takes its values from; called from one thread."""

    def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        """(time, row, column) stored values of the item's stored type, little-endian; layer -1 without layers."""
        ...


@dataclass(frozen=True)
class Unit:
    """Times [start, stop) of one unit; `group` numbers the time group (SingleTimestep: the run)."""

    group: int
    start: int
    stop: int


def units_of(layout: ItemLayout) -> Iterator[Unit]:
    """All units of a dataset in time order; the same for every item."""
    size = SINGLE_STEPS if layout.storage.storage_type == "SingleTimestep" else layout.group_size
    for group, start in enumerate(range(0, len(layout.times), size)):
        yield Unit(group, start, min(start + size, len(layout.times)))


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
        """A hyperslab from the reader; `SourceError` when it is not of the stored type and the shape asked for."""
        self.progress.check()
        rows = rows or slice(0, layout.tiles.rows)
        columns = columns or slice(0, layout.tiles.columns)
        values = self.reader.read(layout.item.name, times, layer, rows, columns)
        shape = (times.stop - times.start, rows.stop - rows.start, columns.stop - columns.start)
        if values.shape != shape or values.dtype != layout.format.dtype:
            raise SourceError(f"The source gave {values.dtype} values of shape {values.shape} for "
                              f"'{layout.item.name}'; {layout.format.dtype} of {shape} were asked for.")
        return values
