"""What a line crosses: the stretches of a polyline within one cell each, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Array
from mdstudio.engine.spatial.area import Region
from mdstudio.engine.spatial.axis import TURN, CellAxis
from mdstudio.engine.spatial.grid import GridGeometry
from mdstudio.engine.spatial.mesh_geometry import MeshGeometry

EARTH = 6371008.8  # m, mean radius
_MOST_DEGREES = 1.0  # of longitude of one segment on the globe, whose length is taken along the line as it is drawn
_FAR = 1e150  # beyond it products of coordinates overflow
_MOST_TURNS = 8


@dataclass(frozen=True)
class Stretches:
    """The stretches of a line.

    Attributes:
        edges: (n + 1,) float64 ascending distances from the start, metres on the globe, else units of the CRS.
        x, y: (n,) float64 their middles.
        cells: (n, k) int64 what `locate` gives for the middles: row and column, or an element; -1 outside.
    """

    edges: Array
    x: Array
    y: Array
    cells: Array


def grid_stretches(geometry: GridGeometry, line: Sequence[tuple[float, float]]) -> Stretches:
    """The cells of a grid that a line crosses; `UsageError` for what is no line."""
    globe = geometry.quads.wraps if geometry.quads is not None else geometry.x_axis.wraps
    if geometry.quads is None:
        edges = [_edges(axis) for axis in (geometry.x_axis, geometry.y_axis)]

        def cuts(start: Array, end: Array) -> Array:
            return np.concatenate([_cuts_of_axis(axis, own, *ends) for axis, own, ends in zip(
                (geometry.x_axis, geometry.y_axis), edges, zip(start, end, strict=True), strict=True)])
    else:
        quads = geometry.quads

        def cuts(start: Array, end: Array) -> Array:
            found, _ = quads.touched(_beside(start, end))
            rows, columns, mask = quads.tree.block(found)
            row, column = np.nonzero(mask)
            return _cuts_of_rings(*quads.corners(rows[row], columns[column]), start, end, globe)
    return _stretches(line, globe, cuts, geometry.locate)


def mesh_stretches(geometry: MeshGeometry, line: Sequence[tuple[float, float]]) -> Stretches:
    """The elements of a mesh that a line crosses; `UsageError` for what is no line."""
    def cuts(start: Array, end: Array) -> Array:
        elements = geometry.touched(_beside(start, end)).elements
        return _cuts_of_rings(*geometry.corners(elements), start, end, geometry.wraps)

    return _stretches(line, geometry.wraps, cuts, lambda points: geometry.locate(points)[:, None])


def _stretches(line: Sequence[tuple[float, float]], globe: bool, cuts: Callable[[Array, Array], Array],
               locate: Callable[[Array], Array]) -> Stretches:
    corners = _corners(line, globe)
    places = [corners[:1]]
    for start, end in pairwise(corners):
        at = np.unique(np.concatenate([cuts(start, end), [1.0]]))
        at = at[(at > 0) & (at <= 1)]
        places.append(start + at[:, None] * (end - start))
        places[-1][-1] = end
    path = np.concatenate(places)
    middles = (path[:-1] + path[1:]) / 2
    lengths = _lengths(path, globe)
    cells = locate(middles)
    keep = lengths > 0
    middles, cells, lengths = middles[keep], cells[keep], lengths[keep]
    first = np.flatnonzero(np.r_[True, (cells[1:] != cells[:-1]).any(axis=1)]) if len(cells) else np.zeros(0, np.int64)
    edges = np.concatenate([[0.0], np.cumsum(lengths)])
    bounds = np.concatenate([edges[first], edges[-1:]])
    half = (bounds[:-1] + bounds[1:]) / 2
    x, y = (np.interp(half, np.concatenate([[0.0], np.cumsum(_lengths(path, globe))]), path[:, k]) for k in (0, 1))
    return Stretches(bounds, x, y, cells[first])


def _corners(line: Sequence[tuple[float, float]], globe: bool) -> Array:
    """(n, 2) float64 corners, each other than the one before; on the globe long segments are cut in pieces."""
    given = np.asarray(line, np.float64).reshape(len(line), -1) if len(line) else np.zeros((0, 2))
    if given.size and (given.shape[1] != 2 or not (np.abs(given) < _FAR).all()):
        raise UsageError("A corner of the line is no place: two numbers are needed.")
    if globe and given.size and np.abs(given[:, 1]).max() > 90:
        raise UsageError("A corner of the line has a latitude beyond 90 degrees.")
    given = given[np.r_[True, (given[1:] != given[:-1]).any(axis=1)]] if len(given) else given
    if len(given) < 2:
        raise UsageError("A line needs two different corners.", advice="Give x0,y0 x1,y1 or a LINESTRING.")
    if globe and np.ptp(given[:, 0]) > _MOST_TURNS * TURN:
        raise UsageError(f"The line goes round the globe more than {_MOST_TURNS} times.")
    pieces = [given[:1]]
    for start, end in pairwise(given):
        count = max(1, int(np.ceil(abs(end[0] - start[0]) / _MOST_DEGREES))) if globe else 1
        pieces.append(start + np.linspace(0, 1, count + 1)[1:, None] * (end - start))
        pieces[-1][-1] = end
    return np.concatenate(pieces)


def _lengths(path: Array, globe: bool) -> Array:
    """(n - 1,) float64 distances of neighbours: along great circles in metres, else straight."""
    step = np.diff(path, axis=0)
    if not globe:
        return np.asarray(np.hypot(step[:, 0], step[:, 1]))
    latitude = np.radians(path[:, 1])
    across, along = np.radians(step[:, 0]), np.radians(step[:, 1])
    h = np.sin(along / 2) ** 2 + np.cos(latitude[:-1]) * np.cos(latitude[1:]) * np.sin(across / 2) ** 2
    lengths: Array = 2 * EARTH * np.arcsin(np.sqrt(np.clip(h, 0, 1)))
    return lengths


def _edges(axis: CellAxis) -> Array:
    edges: Array = np.unique(np.concatenate([axis.low, axis.high]))
    return edges[np.isfinite(edges)]


def _cuts_of_axis(axis: CellAxis, edges: Array, start: float, end: float) -> Array:
    """Where a segment crosses the `edges` of an axis, as shares of its length."""
    if start == end:
        return np.zeros(0)
    low, high = min(start, end), max(start, end)
    found = []
    for turn in axis.turns(low, high):
        first, last = np.searchsorted(edges, [low + turn, high + turn])
        found.append(edges[max(0, first - 1):last + 1] - turn)
    cuts: Array = np.concatenate(found or [np.zeros(0)])
    return (cuts - start) / (end - start)


def _cuts_of_rings(x: Array, y: Array, start: Array, end: Array, globe: bool) -> Array:
    """Where a segment meets the sides of (n, k) rings, as shares of its length; of a side along it both ends."""
    if not len(x):
        return np.zeros(0)
    if globe:
        x = x + np.round(((start[0] + end[0]) / 2 - x.mean(axis=1, keepdims=True)) / TURN) * TURN
    ax, ay = x.ravel() - start[0], y.ravel() - start[1]
    bx, by = np.roll(x, -1, axis=1).ravel() - start[0], np.roll(y, -1, axis=1).ravel() - start[1]
    dx, dy = end - start
    length = dx * dx + dy * dy
    from_a, from_b = dx * ay - dy * ax, dx * by - dy * bx  # twice the areas: on which side of the segment
    if length == 0:  # shorter than numbers can tell
        return np.zeros(0)
    along_a, along_b = (ax * dx + ay * dy) / length, (bx * dx + by * dy) / length
    crossed = (from_a > 0) != (from_b > 0)
    share = from_a[crossed] / (from_a[crossed] - from_b[crossed])
    met = along_a[crossed] + share * (along_b[crossed] - along_a[crossed])
    return np.concatenate([met, along_a[from_a == 0], along_b[from_b == 0]])


def _beside(start: Array, end: Array) -> Region:
    """The segment as an area for the walk of a tree."""
    import shapely

    return Region((shapely.linestrings([start, end]),), single=False)
