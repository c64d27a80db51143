"""Where the values of one item lie: pages, groups and blob names, derived from the item storage alone (no I/O)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mdstudio.engine.layout import names
from mdstudio.engine.layout.pages import PageFormat, page_format
from mdstudio.engine.model import Array, Hint, Item, ItemStorage
from mdstudio.engine.spatial.tiles import TileGrid
from mdstudio.engine.times import TimeAxis


@dataclass(frozen=True)
class ItemLayout:
    """The layout of one item.

    Attributes:
        folder: the item's folder in blob names.
        storage: the dataset's item storage.
        times: the dataset's time axis.
        tiles: pages of a grid (P1); the spatial groups of TimeSeries.
        format: how pages become bytes.
    """

    item: Item
    folder: str
    storage: ItemStorage
    times: TimeAxis
    tiles: TileGrid
    format: PageFormat

    @cached_property
    def cells(self) -> Array:
        """(pages,) int64 elements of each page."""
        return self.tiles.cells()

    @cached_property
    def raw_bytes(self) -> Array:
        """(pages,) int64 raw bytes of each page."""
        return self.cells * self.format.dtype.itemsize

    @cached_property
    def limits(self) -> Array:
        """(pages,) int64 the largest stored length of each page (P10)."""
        return self.format.limits(self.cells)

    @property
    def slice_bytes(self) -> int:
        """Raw bytes of one timestep of one layer."""
        return int(self.raw_bytes.sum())

    @property
    def group_size(self) -> int:
        """Timesteps a time group; 1 for SingleTimestep."""
        return self.storage.time_group_size or 1

    @property
    def groups(self) -> int:
        return -(-len(self.times) // self.group_size)

    def group_times(self, group: int) -> tuple[int, int]:
        """(start, stop) of the dataset's times in a group."""
        start = group * self.group_size
        return start, min(start + self.group_size, len(self.times))

    def group_columns(self, group: int) -> int:
        """TimeSeries: timesteps that the blobs of a group hold: its own, or TimeGroupSize where they are filled up:
        with a fixed step (T4), and uncompressed, so that an append keeps the offsets (K9, T6)."""
        start, stop = self.group_times(group)
        return self.group_size if self.storage.fixed_step or not self.format.compressed else stop - start

    def block_starts(self, spatial_group: int) -> Array:
        """TimeSeries: (blocks + 1,) int64, the first row of each block, and the row count."""
        cells = int(self.cells[spatial_group])
        if cells not in self._starts:
            rows = self.block_rows(spatial_group)
            self._starts[cells] = np.minimum(np.arange(-(-cells // rows) + 1, dtype=np.int64) * rows, cells)
        return self._starts[cells]

    def block_limits(self, spatial_group: int, columns: int) -> Array:
        """TimeSeries: (blocks,) int64, the largest stored length of each block of so many columns (P10)."""
        key = int(self.cells[spatial_group]), columns
        if key not in self._limits:
            self._limits[key] = self.format.limits(np.diff(self.block_starts(spatial_group)) * columns)
        return self._limits[key]

    @cached_property
    def _starts(self) -> dict[int, Array]:
        return {}

    @cached_property
    def _limits(self) -> dict[tuple[int, int], Array]:
        return {}

    def block_rows(self, spatial_group: int) -> int:
        """TimeSeries: whole series a block (T1)."""
        rows = self.storage.time_series_block_rows or 1
        return min(rows, int(self.cells[spatial_group]))

    def step_blob(self, layer: int, time: int) -> str:
        return names.step_blob(self.folder, layer, self.times.key(time))

    def group_blob(self, layer: int, group: int) -> str:
        return names.group_blob(self.folder, layer, group)

    def series_blob(self, layer: int, spatial_group: int, group: int) -> str:
        return names.series_blob(self.folder, layer, spatial_group, group)

    def page_shape(self, page: int) -> tuple[int, int]:
        """Rows and columns of a page."""
        tiles = self.tiles
        return int(tiles.row1[page] - tiles.row0[page]), int(tiles.column1[page] - tiles.column0[page])


def item_layout(
    item: Item, folder: str, storage: ItemStorage, times: TimeAxis, tiles: TileGrid, hints: Sequence[Hint] = ()
) -> ItemLayout:
    """The layout of an item; `UnknownCompressionError` where this build does not know its compression (V6)."""
    elements = tiles.width * tiles.width
    if storage.storage_type == "TimeSeries":
        elements = (storage.time_series_block_rows or 1) * (storage.time_group_size or len(times))
    return ItemLayout(item, folder, storage, times, tiles, page_format(item, storage, elements, hints))
