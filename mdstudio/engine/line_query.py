"""Transects: the values of the cells that a line crosses, of all layers, at some times; each page is decoded once."""

from __future__ import annotations

import numpy as np

from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.mesh_query import MeshPlaces, at_points
from mdstudio.engine.model import NO_LAYER, Array
from mdstudio.engine.query import NO_TIME, Source, asked_layer, numbers_of, read_over_time, time_range
from mdstudio.engine.reading.tally import Tally
from mdstudio.engine.requests import LineRequest, LineResult, decode_values
from mdstudio.engine.spatial.grid import GridGeometry
from mdstudio.engine.spatial.line import Stretches, grid_stretches, mesh_stretches

_OUTSIDE = "The line crosses no {}."
_NO_DATA = "No {} that the line crosses has data at these times."


def read_line(source: Source, geometry: GridGeometry | MeshPlaces, request: LineRequest) -> LineResult:
    """The stretches of a line and their values; errors as `query.read_map`, `UsageError` for what is no line.

    Cost: every page that holds a crossed cell, of each layer and time, once; memory: the answer.
    """
    layout = source.layout
    times = time_range(layout, request.start, request.stop)
    layers = _layers(layout, request.layer)
    if isinstance(geometry, MeshPlaces):
        found, what = mesh_stretches(geometry.geometry, request.line), "element"
        numbers, places = _places_of_mesh(layout, geometry, found, layers)
        cells, globe, unit = numbers[:, None], geometry.geometry.wraps, geometry.geometry.domain.x_unit
    else:
        found, what = grid_stretches(geometry, request.line), "cell"
        cells, places = found.cells, np.broadcast_to(found.cells, (len(layers), *found.cells.shape))
        globe = geometry.quads.wraps if geometry.quads is not None else geometry.x_axis.wraps
        unit = geometry.domain.x_unit
    tally = source.tally()
    stored = numbers_of(_read(tally, layout, times, layers, places))
    values = decode_values(layout.item, stored)
    values[:, places[..., 0] < 0] = np.nan
    return LineResult(request, layout.item, layout.times[times.start:times.stop], found.edges, "m" if globe else unit,
                      found.x, found.y, cells, layers, stored, values, tally.explain(),
                      _empty_reason(found, times, values).format(what))


def _empty_reason(found: Stretches, times: range, values: Array) -> str:
    if not (found.cells >= 0).any():
        return _OUTSIDE
    if not len(times):
        return NO_TIME
    return _NO_DATA if np.isnan(values).all() else ""


def _layers(layout: ItemLayout, layer: int | None) -> Array:
    item = layout.item
    if layer is not None or item.layers is None:
        return np.array([asked_layer(item, layer)])
    return np.arange(len(item.layers))


def _places_of_mesh(layout: ItemLayout, places: MeshPlaces, found: Stretches, layers: Array) -> tuple[Array, Array]:
    """(n,) elements or nodes, and (layer, n, 2) where their values lie in a slice; -1 where there is none."""
    points = np.stack([found.x, found.y], axis=1)
    numbers = found.cells[:, 0]
    columns = []
    for level in layers.tolist():
        numbers, column = at_points(layout, places, found.cells[:, 0], points, level)
        columns.append(column)
    column = np.stack(columns)
    return numbers, np.stack([np.where(column < 0, -1, 0), column], axis=-1)


def _read(tally: Tally, layout: ItemLayout, times: range, layers: Array, places: Array) -> Array:
    """(time, layer, n) stored values; layers that lie together in a blob are read together."""
    out = np.empty((len(times), *places.shape[:2]), layout.format.dtype)
    layout.format.fill(out)
    if not len(times):
        return out
    if layout.item.layers_together:
        there = places[..., 0] >= 0
        if there.any():
            out[:, there] = read_over_time(tally, layout, NO_LAYER, times, places[there])
        return out
    for at, layer in enumerate(layers.tolist()):
        there = places[at, :, 0] >= 0
        if there.any():
            out[:, at, there] = read_over_time(tally, layout, layer, times, places[at, there])
    return out
