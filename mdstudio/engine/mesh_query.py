"""Queries of meshes: which stored values an area, or points, of a mesh mean, read as `engine.query` reads (P6).

Reads only the pages that the request touches, each once. Any thread; several queries may run at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.layout.mesh_order import MeshOrder
from mdstudio.engine.model import Array, MeshDomain
from mdstudio.engine.query import Source, asked_layer, layer_number, numbers_of, read_cells, series_at, time_number
from mdstudio.engine.requests import Explain, MapRequest, MapResult, SeriesRequest, SeriesResult, decode_values
from mdstudio.engine.spatial.mesh_geometry import MeshGeometry


class MeshPlaces:
    """Where the elements of one mesh lie on the map, and their values in stored slices. Immutable; any thread."""

    def __init__(self, domain: MeshDomain) -> None:
        self.geometry = MeshGeometry(domain)
        self.order = MeshOrder(domain)


@dataclass(frozen=True)
class Wanted:
    """What a request means.

    Attributes:
        numbers: (n,) int64 elements or nodes.
        columns: (n,) int64 place of each one's value in the stored slice, -1 where it has none in this layer.
        pages: pages of the stored slice to decode, ascending.
    """

    numbers: Array
    columns: Array
    pages: Array


def read_mesh_map(source: Source, places: MeshPlaces, request: MapRequest) -> MapResult:
    """Elements, or nodes of the elements, of one layer at one time: all, or those that an area touches.

    A node item or z-level item gives the nodes of the elements; a sigma item in a layer, counted from the bottom, has
    no value (`mask` False) for elements with fewer layers. Errors as `query.read_map`.
    """
    layout = source.layout
    layer, level = layer_number(layout.item, request.layer), asked_layer(layout.item, request.layer)
    moment = time_number(layout, request.time)
    found = places.geometry.select(request.bbox, request.polygon)
    wanted = wanted_of(layout, places, found.elements, level, whole=request.bbox is None and not request.polygon)
    mask = wanted.columns >= 0
    stored = np.empty(mask.size, layout.format.dtype)
    layout.format.fill(stored)
    tally = source.tally()
    if mask.any():
        stored[mask] = read_cells(tally, layout, layer, moment, np.zeros(1, np.int64), wanted.columns[mask],
                                  wanted.pages)[0]
    numbers = numbers_of(stored)
    values = decode_values(layout.item, numbers)
    values[~mask] = np.nan
    x, y = _positions(layout, places, wanted.numbers)
    explain = tally.explain() if mask.any() else Explain()
    return MapResult(request, layout.item, wanted.numbers, np.zeros(1, np.int64), numbers, values, mask, x, y, explain,
                     found.empty_reason)


def wanted_of(layout: ItemLayout, places: MeshPlaces, elements: Array, level: int, whole: bool) -> Wanted:
    """The stored values that elements mean in a layer; `whole`: they are all elements of the mesh."""
    item, order = layout.item, places.order
    nowhere = np.zeros(0, np.int64)
    if item.value_kind == "sigma":
        columns = np.where(order.layer_counts[elements] > level, order.bottoms[elements] + level, -1)
        return Wanted(elements, columns, _pages(layout, columns[columns >= 0]))
    if item.value_kind == "zlevel":
        if not elements.size:
            return Wanted(nowhere, nowhere, nowhere)
        nodes = places.geometry.nodes_of(elements)
        at, index_pages = order.paged_nodes(elements, nodes)
        layers, offsets = len(item.layers or ()), order.index.offsets
        spans = zip(offsets[index_pages] * layers, offsets[index_pages + 1] * layers, strict=True)
        pages = [np.arange(start // layout.tiles.width, -(-stop // layout.tiles.width)) for start, stop in spans]
        return Wanted(nodes, at * layers + level, np.unique(np.concatenate(pages)))
    if item.location == "node":
        nodes = np.arange(places.order.domain.nodes) if whole else places.geometry.nodes_of(elements)
        return Wanted(nodes, nodes, _pages(layout, nodes))
    return Wanted(elements, elements, _pages(layout, elements))


def _pages(layout: ItemLayout, columns: Array) -> Array:
    return layout.tiles.pages_of(np.zeros(1, np.int64), columns) if columns.size else columns


def _positions(layout: ItemLayout, places: MeshPlaces, numbers: Array) -> tuple[Array, Array]:
    """(n,) float64 x and y: of nodes, or the centres of elements; NaN for -1."""
    of_nodes = layout.item.location == "node" or layout.item.value_kind == "zlevel"
    known = np.maximum(numbers, 0)
    x, y = places.geometry.node_positions(known) if of_nodes else places.geometry.centres(known)
    return np.where(numbers < 0, np.nan, x), np.where(numbers < 0, np.nan, y)


def read_mesh_series(source: Source, places: MeshPlaces, request: SeriesRequest) -> SeriesResult:
    """The values at points over time: of the element that holds each point, or of the nearest of its nodes. A sigma
    item has none where the element has fewer layers. Errors as `query.read_map`."""
    layout = source.layout
    level = asked_layer(layout.item, request.layer)
    elements = places.geometry.locate(request.points, request.nearest)
    numbers, columns = at_points(layout, places, elements, request.points, level)
    stored_at = np.stack([np.where(columns < 0, -1, 0), columns], axis=1)
    x, y = _positions(layout, places, numbers)
    return series_at(source, request, layer_number(layout.item, request.layer), numbers[:, None], stored_at, x, y)


def at_points(layout: ItemLayout, places: MeshPlaces, elements: Array, points: Sequence[tuple[float, float]] | Array,
              level: int) -> tuple[Array, Array]:
    """(n,) int64 element or node that a point in each element means, and the place of its value in the stored slice; -1
    for the element -1 and for a layer that is not there."""
    item, order = layout.item, places.order
    inside = elements >= 0
    numbers, columns = elements, elements.copy()
    if item.value_kind == "sigma":
        held = inside & (order.layer_counts[elements] > level)
        columns = np.where(held, order.bottoms[elements] + level, -1)
    elif item.location == "node" or item.value_kind == "zlevel":
        numbers = places.geometry.nearest_node(elements, points)
        columns = numbers.copy()
        if item.value_kind == "zlevel":
            layers = len(item.layers or ())
            if inside.any():
                columns[inside] = order.paged_nodes(elements[inside], numbers[inside])[0] * layers + level
    return numbers, columns
