"""Where the values of a mesh lie in a stored slice, and the order of its source against that order (P6, K9)."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mdstudio.engine.model import Array, Item, MeshDomain
from mdstudio.engine.spatial.mesh_index import MESH_INDEX_PAGE, IndexPages, index_pages


class MeshOrder:
    """The order of the stored values of one mesh. Immutable; any thread. Nothing is worked out before it is asked for.

    Cells and nodes are stored by number. A sigma item holds its 3-D elements element by element, each from the bottom
    up. A z-level item holds for each page of the mesh index (a run of 1 024 elements) its nodes x layers, a node that
    several pages have in each of them.
    """

    def __init__(self, domain: MeshDomain) -> None:
        self.domain = domain

    @cached_property
    def layer_counts(self) -> Array:
        """(elements,) int64 layers of each element; 0 on a mesh without sigma layers."""
        counts = self.domain.layer_counts
        return np.zeros(self.domain.elements, np.int64) if counts is None else counts.astype(np.int64)

    @cached_property
    def bottoms(self) -> Array:
        """(elements,) int64: the 3-D element at the bottom of each element."""
        bottoms: Array = np.cumsum(self.layer_counts) - self.layer_counts
        return bottoms

    @cached_property
    def index(self) -> IndexPages:
        """The nodes of each page of the mesh index."""
        return index_pages(self.domain)

    def source_positions(self, item: Item) -> Array:
        """(stored values,) int64: for each stored value of a slice its position in the source's slice of the item.

        It serves both ways: `stored = source[positions]`, and `source[positions] = stored`. The source's slice is its
        elements, nodes, nodes x layers (row-major), or 3-D elements, element by element from the bottom up.
        """
        domain = self.domain
        if item.value_kind == "sigma":
            in_source = np.empty_like(self.layer_counts)
            in_source[domain.element_number] = self.layer_counts
            bottoms = (np.cumsum(in_source) - in_source)[domain.element_number]
            return np.repeat(bottoms - self.bottoms, self.layer_counts) + np.arange(domain.element3d_count)
        if item.value_kind == "zlevel":
            layers = len(item.layers or ())
            nodes = domain.node_number.astype(np.int64)[self.index.nodes]
            return (nodes[:, None] * layers + np.arange(layers)).ravel()
        numbers = domain.node_number if item.location == "node" else domain.element_number
        return numbers.astype(np.int64)

    def paged_nodes(self, elements: Array, nodes: Array) -> tuple[Array, Array]:
        """Where nodes of some elements lie among the paged nodes, in the first of the elements' index pages that has
        each: (nodes,) int64; and those index pages, ascending int64. Every node must be one of the elements' own."""
        pages = np.unique(elements // MESH_INDEX_PAGE)
        spans = [np.arange(start, stop) for start, stop
                 in zip(self.index.offsets[pages], self.index.offsets[pages + 1], strict=True)]
        places = np.concatenate(spans)
        held, first = np.unique(self.index.nodes[places], return_index=True)
        found: Array = places[first[np.searchsorted(held, nodes)]]
        return found, pages
