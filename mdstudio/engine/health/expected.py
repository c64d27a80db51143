"""Which blobs a dataset must have, from its metadata: names, times, pages and the limits of their lengths.

Worked out here a second time, from format.md, on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mdstudio.engine.codecs import codec
from mdstudio.engine.layout.metadata import Metadata
from mdstudio.engine.model import Array, Item

CHECKSUM = 4  # bytes at the end of a page, from layout version 3 on
_MOST = 2**60  # bytes: what stands for any larger claim
MESH_PAGE = 16_384  # elements of a page, or rows of a spatial group, where the metadata says nothing else


@dataclass(frozen=True)
class ExpectedBlob:
    """One data blob that must be there.

    Attributes:
        storage_type: how it is laid out: the dataset's, but for z-level items, which are always SingleTimestep (P6).
        layer: -1 for an item without layers, and for one that keeps all of its layers in one blob.
        start, stop: the listed times that it holds, stop excluded.
        tile: TimeSeries: the spatial group; -1 otherwise.
    """

    name: str
    item: Item
    storage_type: str
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


@dataclass(frozen=True)
class Cut:
    """How a slice of an item is cut into pages (TimeSeries: into spatial groups), in stored order.

    Attributes:
        heights, widths: (pages,) int64 rows and columns of each; a mesh is one row.
        element_bytes: of the values of one cell.
    """

    heights: Array
    widths: Array
    element_bytes: int

    @cached_property
    def cells(self) -> Array:
        """(pages,) int64."""
        cells: Array = self.heights * self.widths
        return cells

    @property
    def pages(self) -> int:
        return int(self.heights.size)

    @cached_property
    def bytes(self) -> int:
        """Raw bytes of one timestep of one blob."""
        return int(self.cells.sum()) * self.element_bytes


class Expectation:
    """What the metadata promises of the blobs. No I/O; any thread."""

    def __init__(self, metadata: Metadata) -> None:
        self.metadata = metadata
        self.storage = metadata.storage
        self.width = metadata.storage.grid_tile_width or 128
        self.group_size = metadata.storage.time_group_size or 1
        self.version = metadata.storage.layout_version or 0
        self._cuts: dict[tuple[int, int], Cut] = {}
        self._limits: dict[tuple[int, int, int], Array] = {}

    @property
    def compressed(self) -> bool:
        return self.storage.compression != "None"

    @property
    def checksums(self) -> bool:
        """Whether stored pages end with a checksum (V1)."""
        return self.compressed and self.version >= 3

    def storage_type(self, item: Item) -> str:
        return "SingleTimestep" if item.value_kind == "zlevel" else self.storage.storage_type

    def cut(self, item: Item) -> Cut:
        """The pages of an item; the same object for all items that are cut alike."""
        values, size = self._values(item), item.numpy.itemsize * item.components
        if (values, size) not in self._cuts:
            heights, widths = self._tiles() if self.metadata.kind == "grid" else self._runs(values)
            self._cuts[values, size] = Cut(heights, widths, size)
        return self._cuts[values, size]

    def _values(self, item: Item) -> int:
        """Values of one timestep in one blob."""
        if self.metadata.kind == "grid":
            return self.metadata.cells
        if item.value_kind == "zlevel":
            return int(self.storage.zlevel_paged_node_count or 0)
        domain: Any = self.metadata.raw["SpatialDomain"]
        if item.value_kind == "sigma":
            return int(domain["Element3DCount"])
        return int(domain["Nodes" if item.location == "node" else "Elements"])

    def page_count(self, item: Item) -> int:
        """Pages of a slice (TimeSeries: spatial groups, or blocks of them), before any memory is taken for them."""
        if self.storage_type(item) == "TimeSeries":
            return max(self._group_count(item), self._values(item) // (self.storage.time_series_block_rows or 1))
        return self._group_count(item)

    def _group_count(self, item: Item) -> int:
        if self.metadata.kind == "grid":
            rows, columns = self.metadata.shape
            return -(-rows // self.width) * -(-columns // self.width)
        return -(-self._values(item) // self._run_length)

    @property
    def _run_length(self) -> int:
        series = self.storage.storage_type == "TimeSeries"
        return (self.storage.spatial_group_size if series else self.storage.compressed_mesh_page_size) or MESH_PAGE

    def _tiles(self) -> tuple[Array, Array]:
        """Grids: tiles in the order of the bits of their row and column, taken in turn."""
        rows, columns = self.metadata.shape
        heights, widths = (np.minimum(self.width, size - np.arange(0, size, self.width, dtype=np.int64))
                           for size in (rows, columns))
        row, column = np.divmod(np.arange(heights.size * widths.size), widths.size)
        key = np.zeros(row.size, np.int64)
        for bit in range(max(heights.size, widths.size).bit_length()):
            key |= ((column >> bit) & 1) << (2 * bit) | ((row >> bit) & 1) << (2 * bit + 1)
        order = np.argsort(key, kind="stable")
        return heights[row][order], widths[column][order]

    def _runs(self, values: int) -> tuple[Array, Array]:
        """Meshes: runs of values."""
        lengths = np.minimum(self._run_length, values - np.arange(0, values, self._run_length, dtype=np.int64))
        return np.ones_like(lengths), lengths

    def layers(self, item: Item) -> tuple[int, ...]:
        """The layers in blob names: -1 for an item without, and for one whose layers lie in one blob (K1)."""
        together = item.value_kind in ("zlevel", "sigma") or not item.layers
        return (-1,) if together else tuple(range(len(item.layers or ())))

    def blobs(self) -> Iterator[ExpectedBlob]:
        """Every data blob of the listed times, item by item, layer by layer."""
        for item in self.metadata.items:
            for layer in self.layers(item):
                folder = f"{self.metadata.folders[item.name]}/{'L-1' if layer < 0 else f'L{layer:04d}'}"
                yield from self._layer_blobs(item, layer, folder)

    @cached_property
    def _keys(self) -> list[str]:
        """The keys of the first times, which every item and layer has in its names."""
        return [self.metadata.times.key(t) for t in range(min(len(self.metadata.times), 1 << 16))]

    def _layer_blobs(self, item: Item, layer: int, folder: str) -> Iterator[ExpectedBlob]:
        times, storage_type = self.metadata.times, self.storage_type(item)
        if storage_type == "SingleTimestep":
            for t in range(len(times)):
                key = self._keys[t] if t < len(self._keys) else times.key(t)
                yield ExpectedBlob(f"{folder}/{key}.dat", item, storage_type, layer, t, t + 1)
            return
        starts = range(0, len(times), self.group_size)
        groups = ((g, start, min(start + self.group_size, len(times))) for g, start in enumerate(starts))
        if storage_type == "MultiTimestep":
            for g, start, stop in groups:
                yield ExpectedBlob(f"{folder}/G{g:08d}.dat", item, storage_type, layer, start, stop)
            return
        of_each = list(groups)
        for tile in range(self.cut(item).pages):
            for g, start, stop in of_each:
                yield ExpectedBlob(f"{folder}/S{tile:08d}/G{g:08d}.dat", item, storage_type, layer, start, stop, tile)

    def totals(self) -> tuple[int, int]:
        """(blobs, pages) of the listed times of all items and layers, without making any."""
        times, blobs, pages = len(self.metadata.times), 0, 0
        groups = -(-times // self.group_size)
        for item in self.metadata.items:
            layers, cut = len(self.layers(item)), self.cut(item)
            if self.storage_type(item) == "TimeSeries":
                blobs += layers * groups * cut.pages
                rows = np.minimum(self.storage.time_series_block_rows or 1, cut.cells)
                pages += layers * groups * int((-(-cut.cells // rows)).sum())
            else:
                blobs += layers * (groups if self.storage_type(item) == "MultiTimestep" else times)
                pages += layers * times * cut.pages
        return blobs, pages

    def pages(self, blob: ExpectedBlob) -> int:
        """Pages or blocks of the listed times in a blob."""
        if blob.storage_type == "TimeSeries":
            return self.blocks(blob).size
        return self.cut(blob.item).pages * (blob.stop - blob.start)

    def blocks(self, blob: ExpectedBlob) -> Array:
        """(blocks,) int64 rows of each block of a TimeSeries blob."""
        cells = int(self.cut(blob.item).cells[blob.tile])
        rows = min(self.storage.time_series_block_rows or 1, cells)
        return np.minimum(rows, cells - np.arange(0, cells, rows, dtype=np.int64))

    def columns(self, blob: ExpectedBlob) -> tuple[int, int]:
        """TimeSeries: the least and the most timesteps that a blob's rows hold.

        They differ for the last group of a variable step only: an append writes its blobs before it lists its times.
        (Blocks of LZ4 before version 2 cannot tell how much they hold: their groups are filled.)
        """
        listed = blob.stop - blob.start  # of a group before the last: all of them
        if self.storage.fixed_step or not self.compressed or self._buffer_elements:
            return self.group_size, self.group_size
        return listed, self.group_size

    def raw_length(self, blob: ExpectedBlob) -> int:
        """Bytes of an uncompressed blob; of a group, the least that holds its listed times."""
        cut = self.cut(blob.item)
        if blob.storage_type == "TimeSeries":
            return int(cut.cells[blob.tile]) * self.group_size * cut.element_bytes
        return cut.bytes * (blob.stop - blob.start)

    def page_limits(self, item: Item) -> Array:
        """(pages,) int64: the largest stored length of each page."""
        cut = self.cut(item)
        key = cut.pages, cut.bytes, cut.element_bytes
        if key not in self._limits:
            self._limits[key] = self.limits(cut.cells, 1, cut.element_bytes)
        return self._limits[key]

    def limits(self, rows: Array, row_length: int, size: int) -> Array:
        """(n,) int64: the largest stored length of pages or blocks of so many rows of elements of `size` bytes."""
        row_bytes = row_length * size
        raw = np.maximum(np.minimum(rows, _MOST // row_bytes) * row_bytes, self.buffer_bytes(size))
        sizes, inverse = np.unique(raw, return_inverse=True)
        largest = codec(self.storage.compression).max_encoded
        most = np.array([largest(int(part)) for part in sizes], np.int64) + (CHECKSUM if self.checksums else 0)
        found: Array = most[inverse.reshape(raw.shape)]
        return found

    def buffer_bytes(self, size: int) -> int:
        """Bytes of the buffer that LZ4 before version 2 encodes for every page (C4); 0 for others."""
        return min(self._buffer_elements * size, _MOST)

    @property
    def _buffer_elements(self) -> int:
        if self.storage.compression != "LZ4" or self.version >= 2:
            return 0
        if self.storage.storage_type == "TimeSeries":
            return (self.storage.time_series_block_rows or 1) * self.group_size
        if self.metadata.kind == "grid":
            return self.width * self.width
        return self.storage.compressed_mesh_page_size or MESH_PAGE

    def may_be_empty(self, item: Item) -> bool:
        """Whether pages of length 0 may occur: with a no-data value that the stored type can hold."""
        value = item.no_data
        if value is None or item.numpy.kind == "f":
            return value is not None
        limits = np.iinfo(item.numpy)
        return value == value and int(limits.min) <= value <= int(limits.max) and value == int(value)
