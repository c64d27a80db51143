"""Where the values of one item lie: pages, groups and blob names, derived from the item storage alone (no I/O)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mdstudio.engine.layout import names
from mdstudio.engine.layout.metadata import Metadata, page_width
from mdstudio.engine.layout.pages import PageFormat, page_format
from mdstudio.engine.model import Array, Hint, Item, ItemStorage, StorageType
from mdstudio.engine.spatial.tiles import TileGrid
from mdstudio.engine.times import TimeAxis


@dataclass(frozen=True)
class ItemLayout:
    """The layout of one item.

    Attributes:
        folder: the item's folder in blob names.
        storage: the dataset's item storage.
        times: the dataset's time axis.
        tiles: pages of a slice (P1); the spatial groups of TimeSeries. A slice of a mesh is one row of values.
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
    def stored_as(self) -> StorageType:
        """The layout of the item's blobs: the dataset's; a z-level item has a blob for each timestep in any (P6)."""
        return "SingleTimestep" if self.item.value_kind == "zlevel" else self.storage.storage_type

    @property
    def group_size(self) -> int:
        """Timesteps a blob: those of a time group; 1 where each timestep has its own."""
        return 1 if self.stored_as == "SingleTimestep" else self.storage.time_group_size or 1

    @property
    def groups(self) -> int:
        return -(-len(self.times) // self.group_size)

    def group_times(self, group: int) -> tuple[int, int]:
        """(start, stop) of the dataset's times in a group."""
        start = group * self.group_size
        return start, min(start + self.group_size, len(self.times))

    @property
    def filled(self) -> bool:
        """TimeSeries: whether groups are filled up to TimeGroupSize: with a fixed step (T4); uncompressed, so that an
        append keeps the offsets (K9, T6); as LZ4 before version 2, whose blocks do not tell how much they hold (C4)."""
        return self.storage.fixed_step or not self.format.compressed or bool(self.format.buffer_elements)

    def group_columns(self, group: int) -> int:
        """TimeSeries: timesteps that the blobs of a group hold: its own, or TimeGroupSize where they are filled up.

        The last group may hold more, of an append that is not listed yet."""
        start, stop = self.group_times(group)
        return self.group_size if self.filled else stop - start

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


def layouts_of(metadata: Metadata, hints: Mapping[str, Sequence[Hint]] | None = None) -> list[ItemLayout]:
    """The layouts of all items in stored order; `hints` of the source by item name, for a write.

    Raises `UnknownCompressionError` where this build does not know the compression (V6). Call a guard first: the sizes
    of a dataset that this build does not read may make no sense.
    """
    width = page_width(metadata)
    shapes = [_slice_shape(metadata, item) for item in metadata.items]
    tiles = {shape: TileGrid(*shape, width) for shape in set(shapes)}
    return [item_layout(item, metadata.folders[item.name], metadata.storage, metadata.times, tiles[shape],
                        (hints or {}).get(item.name, ()), mesh=metadata.kind == "mesh")
            for item, shape in zip(metadata.items, shapes, strict=True)]


def _slice_shape(metadata: Metadata, item: Item) -> tuple[int, int]:
    return metadata.shape if metadata.kind == "grid" else (1, metadata.values_of(item))


def item_layout(
    item: Item, folder: str, storage: ItemStorage, times: TimeAxis, tiles: TileGrid, hints: Sequence[Hint] = (), *,
    mesh: bool = False,
) -> ItemLayout:
    """The layout of one item; `UnknownCompressionError` where this build does not know its compression (V6)."""
    elements = tiles.width if mesh else tiles.width * tiles.width
    if storage.storage_type == "TimeSeries":
        elements = (storage.time_series_block_rows or 1) * (storage.time_group_size or len(times))
    return ItemLayout(item, folder, storage, times, tiles, page_format(item, storage, elements, hints))
