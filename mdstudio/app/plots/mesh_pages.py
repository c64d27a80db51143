"""Which stored page holds the value of each element of a mesh. NumPy only, any thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mdstudio.app.plots.mesh_raster import MeshWindow
from mdstudio.engine.layout.mesh_order import MeshOrder
from mdstudio.engine.model import Array, Item
from mdstudio.engine.requests import PageRef
from mdstudio.engine.spatial.mesh_index import MESH_INDEX_PAGE


@dataclass(frozen=True, eq=False)
class MeshPages:
    """Pages over a mesh.

    Attributes:
        entries: (elements,) int32, the entry that holds the element's value, -1 for none; of items by node the value
            of its first corner.
    """

    entries: Array

    def page_at(self, node: int, element: int) -> int:
        return int(self.entries[element])

    def on_window(self, window: MeshWindow) -> Array:
        """(rows, columns) entries under the pixels of a window."""
        return window.spread(self.entries, -1)


@dataclass(frozen=True)
class _Layer:
    """What of an item tells where its values lie in a stored slice: kind, by node, layers together, the layer."""

    kind: str
    by_node: bool
    layers: int
    layer: int

    @classmethod
    def of(cls, item: Item, layer: int | None) -> _Layer:
        layers = len(item.layers) if item.layers and item.layers_together else 0
        return cls(item.value_kind, item.location == "node", layers, (layer or 0) if layers else 0)


def mesh_pages(order: MeshOrder, item: Item, layer: int | None, starts: Array, stops: Array,
               entries: Array) -> MeshPages:
    """The pages `entries` that hold the stored values starts[i] ... stops[i] - 1, no value in two of them."""
    return _pages(_columns(order, _Layer.of(item, layer)), starts, stops, entries)


def _pages(columns: Array, starts: Array, stops: Array, entries: Array) -> MeshPages:
    if not starts.size:
        return MeshPages(np.full(columns.size, -1, np.int32))
    by_start = np.argsort(starts, kind="stable")
    place = by_start[np.maximum(np.searchsorted(starts[by_start], columns, side="right") - 1, 0)]
    inside = (columns >= starts[place]) & (columns < stops[place])
    return MeshPages(np.where(inside, entries[place], -1).astype(np.int32))


@lru_cache(maxsize=4)
def _columns(order: MeshOrder, layer: _Layer) -> Array:
    """(elements,) int64 place in the stored slice of each element's value, -1 where it has none; of items by node that
    of its first corner. The last ones are kept: every time step asks again."""
    domain = order.domain
    if layer.kind == "sigma":
        return np.where(order.layer_counts > layer.layer, order.bottoms + layer.layer, -1)
    first = domain.element_nodes[:, 0].astype(np.int64)
    if layer.kind == "zlevel":
        index = order.index
        page = np.repeat(np.arange(len(index)), np.diff(index.offsets))
        page_of_element = np.arange(domain.elements) // MESH_INDEX_PAGE
        place = np.searchsorted(page * domain.nodes + index.nodes, page_of_element * domain.nodes + first)
        return np.asarray(place * layer.layers + layer.layer)
    return first if layer.by_node else np.arange(domain.elements)


def touched_elements(order: MeshOrder, item: Item, layer: int | None, pages: Sequence[PageRef]) -> MeshPages:
    """The elements of an explain record, entries are positions in it; the last ones are kept, since every time step
    touches the same pages."""
    return _touched(order, _Layer.of(item, layer), np.array([page.columns for page in pages], np.int64).tobytes())


@lru_cache(maxsize=4)
def _touched(order: MeshOrder, layer: _Layer, table: bytes) -> MeshPages:
    columns = np.frombuffer(table, np.int64).reshape(-1, 2)
    return _pages(_columns(order, layer), columns[:, 0], columns[:, 1], np.arange(len(columns)))
