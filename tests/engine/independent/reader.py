"""A second reader of datasets in folders, written from `resources/format.md` alone; it shares no code with the engine.

`Reader(folder).slice(name, layer, time)` is one slice as NumPy: (rows, columns) of a grid, (values,) of a mesh in
stored order, (nodes, layers) of a z-level item, and one axis more of components for a vector. It raises `RefusedError`
where the specification says so. Slow and plain on purpose.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.engine.codecs.independent_reader import must
from tests.engine.independent.blobs import Pages, check_group_blocks, group_step, series_rows, single_step
from tests.engine.independent.document import Document, Item, Values
from tests.engine.independent.domain import domain_name, domain_of, index_pages, quad_tree, runs

Tiles = list[tuple[int, int, int, int]]


class Reader:
    """A dataset in a folder; `as_written`: what readers take of early LZ4 and no writer makes is refused (C4)."""

    def __init__(self, folder: Path, *, as_written: bool = False) -> None:
        self.folder, self.as_written = folder, as_written
        self.document = Document(folder)
        domain = self.document.domain
        self.header, self.arrays = domain_of((folder / domain["Blob"]).read_bytes())
        must(domain["Blob"] == domain_name(self.header, self.arrays), "a domain of another name")
        self.rows, self.columns = domain.get("Rows", 1), domain.get("Columns", 0)
        if self.document.is_mesh:
            must(self.header["Kind"] == "Mesh", "a domain of another kind")
            must(len(self.arrays["ElementNodes"]) == domain["Elements"], "other elements")
            must(len(self.arrays["NodeX"]) == domain["Nodes"], "other nodes")
            must(("LayerCounts" in self.arrays) == bool(domain.get("Sigma")), "sigma layers")
            if domain.get("Sigma"):
                must(int(self.arrays["LayerCounts"].sum()) == domain["Element3DCount"], "other 3-D elements")
            self.index_pages = index_pages(self.arrays["ElementNodes"])
        else:
            must(self.arrays["X"].shape == (self.columns,) and self.arrays["Y"].shape == (self.rows,), "another grid")

    @property
    def times(self) -> int:
        return len(self.document.times)

    def slice(self, name: str, layer: int, time: int) -> Values:
        """All values of one slice; `layer` -1 for items without layers, z-level and sigma items."""
        facts, item = self.document, self.document.item(name)
        tiles = self.tiles(item)
        folder = self._layer(item, layer)
        group, slot = divmod(time, facts.group) if facts.group else (0, 0)
        if facts.storage_type == "TimeSeries":
            parts = [self._column(folder / f"S{n:08d}" / f"G{group:08d}.dat", tile, item, group, slot)
                     for n, tile in enumerate(tiles)]
        elif facts.storage_type == "SingleTimestep" or item.kind == "ZLevel":
            parts = single_step(folder, facts.key(time), self.pages(item), tiles)
        else:
            parts = group_step(folder, group, slot, facts.group, self.pages(item), tiles)
        return self._whole(parts, tiles, item)

    def check_blocks(self) -> None:
        """Assert the block lists of all groups of a MultiTimestep dataset."""
        size = self.document.group
        for item in self.document.items:
            for layer in item.blob_layers if item.kind != "ZLevel" else ():
                for first in range(0, self.times, size):
                    file = self._layer(item, layer) / f"G{first // size:08d}.dat"
                    stored = check_group_blocks(file, first, len(self.tiles(item)), self.document.compressed)
                    must(stored >= min(size, self.times - first), "fewer timesteps than listed")

    def in_source_order(self, name: str, values: Values) -> Values:
        """A slice of a mesh in the order of its source; z-level: the nodes of no element zero."""
        item = self.document.item(name)
        if item.kind == "Sigma":
            counts = self.arrays["LayerCounts"]
            parts = np.split(values, np.cumsum(counts)[:-1])
            return np.concatenate([parts[n] for n in np.argsort(self.arrays["ElementNumber"])])
        numbers = self.arrays["NodeNumber" if item.location == "Node" or item.kind == "ZLevel" else "ElementNumber"]
        return values[np.argsort(numbers)]

    def used_nodes_in_source(self) -> list[int]:
        """Numbers in the source of the nodes that elements have."""
        used = sorted(set(np.concatenate(self.index_pages).tolist()))
        return sorted(self.arrays["NodeNumber"][used].tolist())

    def tiles(self, item: Item) -> Tiles:
        """The pages of a slice, or the spatial groups of a series."""
        facts = self.document
        if not facts.is_mesh:
            return quad_tree(self.rows, self.columns, facts.tile_width)
        size = (facts.group_size if facts.storage_type == "TimeSeries" else facts.page_size) or 16_384
        return runs(self.count(item), size)

    def count(self, item: Item) -> int:
        """Values of a mesh slice."""
        domain = self.document.domain
        if item.kind == "ZLevel":
            must(self.document.schema == 1, "another mesh index")
            count = sum(len(nodes) for nodes in self.index_pages) * item.layers
            must(count == self.document.z_count, "another ZLevelPagedNodeCount")
            return count
        if item.kind == "Sigma":
            return int(domain["Element3DCount"])
        return int(domain["Nodes" if item.location == "Node" else "Elements"])

    def pages(self, item: Item) -> Pages:
        facts = self.document
        buffer = (facts.page_size or 0) if facts.is_mesh else facts.tile_width ** 2
        if facts.storage_type == "TimeSeries":
            buffer = (facts.block_rows or 0) * facts.group
        return Pages(facts.compression, facts.version or 0, item.dtype, item.size, item.pattern, buffer,
                     self.as_written)

    def _layer(self, item: Item, layer: int) -> Path:
        return self.folder / item.folder / (f"L{layer:04d}" if layer >= 0 else "L-1")

    def _column(self, file: Path, tile: tuple[int, int, int, int], item: Item, group: int, slot: int) -> bytes:
        """The values of a spatial group at one time."""
        facts, pages = self.document, self.pages(item)
        r0, r1, c0, c1 = tile
        rows = (r1 - r0) * (c1 - c0)
        listed = min(facts.group, self.times - group * facts.group)
        full = facts.fixed_step or not pages.compressed or pages.early_lz4
        last = (group + 1) * facts.group >= self.times
        least = facts.group if full else listed
        raw, columns = series_rows(file.read_bytes(), rows, facts.block_rows or rows, least,
                                   facts.group if last else least, pages)
        return np.frombuffer(raw, f"V{item.size}").reshape(rows, columns)[:, slot].tobytes()

    def _whole(self, parts: list[bytes], tiles: Tiles, item: Item) -> Values:
        rows, columns = (1, self.count(item)) if self.document.is_mesh else (self.rows, self.columns)
        cells = np.zeros((rows, columns), f"V{item.size}")
        for raw, (r0, r1, c0, c1) in zip(parts, tiles, strict=True):
            cells[r0:r1, c0:c1] = np.frombuffer(raw, f"V{item.size}").reshape(r1 - r0, c1 - c0)
        shape = (rows, columns)[self.document.is_mesh:] + ((item.components,) if item.kind == "Vector" else ())
        values = cells.view(np.dtype(item.dtype).newbyteorder("<")).reshape(shape)
        return self._by_node(values, item) if item.kind == "ZLevel" else values

    def _by_node(self, values: Values, item: Item) -> Values:
        """(nodes, layers) of the pages of the mesh index; zero for nodes of no element."""
        out, at = np.zeros((len(self.arrays["NodeX"]), item.layers), values.dtype), 0
        for nodes in self.index_pages:
            count = len(nodes) * item.layers
            out[nodes] = values[at:at + count].reshape(len(nodes), item.layers)
            at += count
        return out
