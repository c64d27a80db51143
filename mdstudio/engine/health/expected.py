"""Which blobs a dataset must have, from its metadata: names, times, pages and the limits of their lengths.

Worked out here a second time, from format.md, on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mdstudio.engine.codecs import codec
from mdstudio.engine.layout.metadata import Metadata
from mdstudio.engine.model import Array, Item

CHECKSUM = 4  # bytes at the end of a page, from layout version 3 on


@dataclass(frozen=True)
class ExpectedBlob:
    """One data blob that must be there.

    Attributes:
        layer: -1 for an item without layers.
        start, stop: the listed times that it holds, stop excluded.
        tile: TimeSeries: the spatial group; -1 otherwise.
    """

    name: str
    item: Item
    layer: int
    start: int
    stop: int
    tile: int = -1

    @property
    def times(self) -> tuple[int, ...]:
        return tuple(range(self.start, self.stop))

    @property
    def index_name(self) -> str:
        return self.name.removesuffix(".dat") + ".idx"


class Expectation:
    """What the metadata of a grid promises of its blobs. No I/O; any thread."""

    def __init__(self, metadata: Metadata) -> None:
        self.metadata = metadata
        self.storage = metadata.storage
        self.width = metadata.storage.grid_tile_width or 128
        self.group_size = metadata.storage.time_group_size or 1
        self._page_limits: dict[int, Array] = {}

    @cached_property
    def tile_cells(self) -> Array:
        """(tiles,) int64 cells of each tile in stored order: by the bits of its row and column, taken in turn."""
        rows, columns = self.metadata.shape
        heights, widths = (np.minimum(self.width, size - np.arange(0, size, self.width)) for size in (rows, columns))
        row, column = np.divmod(np.arange(heights.size * widths.size), widths.size)
        key = np.zeros(row.size, np.int64)
        for bit in range(max(heights.size, widths.size).bit_length()):
            key |= ((column >> bit) & 1) << (2 * bit) | ((row >> bit) & 1) << (2 * bit + 1)
        order = np.argsort(key, kind="stable")
        cells: Array = (heights[row] * widths[column])[order].astype(np.int64)
        return cells

    @property
    def compressed(self) -> bool:
        return self.storage.compression != "None"

    def blobs(self) -> Iterator[ExpectedBlob]:
        """Every data blob of the listed times, item by item, layer by layer."""
        for item in self.metadata.items:
            for layer in range(len(item.layers)) if item.layers else (-1,):
                folder = f"{self.metadata.folders[item.name]}/{'L-1' if layer < 0 else f'L{layer:04d}'}"
                yield from self._layer_blobs(item, layer, folder)

    def _layer_blobs(self, item: Item, layer: int, folder: str) -> Iterator[ExpectedBlob]:
        times = self.metadata.times
        if self.storage.storage_type == "SingleTimestep":
            for t in range(len(times)):
                yield ExpectedBlob(f"{folder}/{times.key(t)}.dat", item, layer, t, t + 1)
            return
        groups = [(start, min(start + self.group_size, len(times))) for start in range(0, len(times), self.group_size)]
        if self.storage.storage_type == "MultiTimestep":
            for g, (start, stop) in enumerate(groups):
                yield ExpectedBlob(f"{folder}/G{g:08d}.dat", item, layer, start, stop)
            return
        for tile in range(self.tile_cells.size):
            for g, (start, stop) in enumerate(groups):
                yield ExpectedBlob(f"{folder}/S{tile:08d}/G{g:08d}.dat", item, layer, start, stop, tile)

    def pages(self, blob: ExpectedBlob) -> int:
        """Pages or blocks of the listed times in a blob."""
        if self.storage.storage_type == "TimeSeries":
            return self.blocks(blob.tile).size
        return int(self.tile_cells.size) * (blob.stop - blob.start)

    def blocks(self, tile: int) -> Array:
        """(blocks,) int64 rows of each block of a TimeSeries blob."""
        cells = int(self.tile_cells[tile])
        rows = min(self.storage.time_series_block_rows or 1, cells)
        starts = np.arange(0, cells, rows)
        return np.minimum(rows, cells - starts)

    def raw_length(self, blob: ExpectedBlob) -> int:
        """Bytes of an uncompressed blob; of a group, the least that holds its listed times."""
        size = blob.item.numpy.itemsize
        if self.storage.storage_type == "TimeSeries":
            return int(self.tile_cells[blob.tile]) * self.group_size * size
        return self.step_bytes(blob.item) * (blob.stop - blob.start)

    def step_bytes(self, item: Item) -> int:
        """Raw bytes of one timestep of one layer."""
        return self.metadata.cells * item.numpy.itemsize

    def page_limits(self, item: Item) -> Array:
        """(tiles,) int64: the largest stored length of each page."""
        size = item.numpy.itemsize
        if size not in self._page_limits:
            self._page_limits[size] = self.limits(size, self.tile_cells)
        return self._page_limits[size]

    def limits(self, size: int, elements: Array) -> Array:
        """(n,) int64: the largest stored length of pages or blocks of so many elements of `size` bytes."""
        version = self.storage.layout_version or 0
        raw = np.asarray(elements, np.int64) * size
        if self.storage.compression == "LZ4" and version < 2:  # the whole tile buffer
            rows = self.storage.time_series_block_rows or 1
            series = self.storage.storage_type == "TimeSeries"
            raw = np.maximum(raw, (rows * self.group_size if series else self.width * self.width) * size)
        sizes, inverse = np.unique(raw, return_inverse=True)
        largest = codec(self.storage.compression).max_encoded
        most = np.array([largest(int(part)) for part in sizes], np.int64) + (CHECKSUM if version >= 3 else 0)
        found: Array = most[inverse.reshape(raw.shape)]
        return found

    def may_be_empty(self, item: Item) -> bool:
        """Whether pages of length 0 may occur: with a no-data value that the stored type can hold."""
        value = item.no_data
        if value is None or item.numpy.kind == "f":
            return value is not None
        limits = np.iinfo(item.numpy)
        return value == value and int(limits.min) <= value <= int(limits.max) and value == int(value)
