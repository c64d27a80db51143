"""What a spatial query asks for: a closed rectangle, or the closed area of a polygon or multi-polygon (P3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Array
from mdstudio.engine.requests import Bbox
from mdstudio.engine.spatial.axis import TURN, turns_onto

Boxes = tuple[Array, Array, Array, Array]  # x0, y0, x1, y1, each (n,) float64; NaN touches nothing

_MOST_TURNS = 10  # of a polygon of longitudes


class Area(Protocol):
    """A closed area in the plane against envelopes and shapes of cells."""

    @property
    def bounds(self) -> Bbox:
        """x0, y0, x1, y1."""

    def touches(self, boxes: Boxes) -> Array:
        """(n,) bool: closed boxes that meet the area."""

    def covers(self, boxes: Boxes) -> Array:
        """(n,) bool: boxes known to lie in the area whole; False is always right."""

    def meets(self, x: Array, y: Array) -> Array:
        """(n,) bool: closed rings of corners (n, k) that meet the area; one that crosses itself counts as its hull."""

    def placed(self, wraps: bool, low: float, high: float) -> list[Area]:
        """The area where it can meet coordinates of [low, high]: on a longitude at every whole turn."""

    def __str__(self) -> str:
        """For messages: "The rectangle 0, 1 .. 2, 3"."""


@dataclass(frozen=True)
class Rectangle:
    """A closed rectangle with x0 <= x1 and y0 <= y1; infinite corners leave a side open."""

    bounds: Bbox

    def touches(self, boxes: Boxes) -> Array:
        x0, y0, x1, y1 = boxes
        west, south, east, north = self.bounds
        found: Array = (x0 <= east) & (y0 <= north) & (x1 >= west) & (y1 >= south)
        return found

    def covers(self, boxes: Boxes) -> Array:
        x0, y0, x1, y1 = boxes
        west, south, east, north = self.bounds
        found: Array = (x0 >= west) & (y0 >= south) & (x1 <= east) & (y1 <= north)
        return found

    def meets(self, x: Array, y: Array) -> Array:
        if not len(x):
            return np.zeros(0, bool)
        import shapely

        west, south, east, north = self.bounds
        west, east = max(west, float(x.min()) - 1), min(east, float(x.max()) + 1)  # shapely takes no infinite ones
        south, north = max(south, float(y.min()) - 1), min(north, float(y.max()) + 1)
        if west == east and south == north:
            area = shapely.points(west, south)
        elif west == east or south == north:
            area = shapely.linestrings([[west, south], [east, north]])
        else:
            area = shapely.box(west, south, east, north)
        shapely.prepare(area)
        return np.asarray(shapely.intersects(area, ring_polygons(x, y)), bool)

    def placed(self, wraps: bool, low: float, high: float) -> list[Area]:
        if not wraps:
            return [self]
        west, south, east, north = self.bounds
        if east - west >= TURN:
            return [Rectangle((-np.inf, south, np.inf, north))]
        return [Rectangle((west + turn, south, east + turn, north)) for turn in turns_onto(west, east, low, high)]

    def __str__(self) -> str:
        west, south, east, north = self.bounds
        return f"The rectangle {west:.10g}, {south:.10g} .. {east:.10g}, {north:.10g}"


@dataclass(frozen=True)
class Region:
    """The area of a polygon, or of the parts of a multi-polygon together; holes are outside, their border inside.

    Attributes:
        parts: valid shapely polygons. Those of a multi-polygon may overlap, which makes it invalid as a whole: each is
            tested on its own, as an overlap would count as outside.
        single: it is a Polygon, which alone is asked whether it covers a box (P3).
    """

    parts: tuple[Any, ...]
    single: bool

    @cached_property
    def _prepared(self) -> Array:
        """(parts, 4) bounds of the parts, which are prepared for many tests."""
        import shapely

        shapely.prepare(self.parts)
        return np.asarray(shapely.bounds(self.parts))

    @cached_property
    def bounds(self) -> Bbox:
        west, south = self._prepared[:, :2].min(axis=0).tolist()
        east, north = self._prepared[:, 2:].max(axis=0).tolist()
        return west, south, east, north

    def touches(self, boxes: Boxes) -> Array:
        x0, y0, _, _ = boxes
        return self._touched(boxes, x0, y0, lambda rest: _box_polygons(*(side[rest] for side in boxes)))

    def _touched(self, boxes: Boxes, x: Array, y: Array, shapes: Callable[[Array], Array]) -> Array:
        """(n,) bool: cells that meet the area, by their envelopes, a point (x, y) of each, and the `shapes` of some."""
        import shapely

        hit = np.zeros(x.size, bool)
        for part, bounds in zip(self.parts, self._prepared.tolist(), strict=True):
            near = np.flatnonzero(Rectangle(tuple(bounds)).touches(boxes) & ~hit)
            inside = shapely.intersects_xy(part, x[near], y[near])  # cheaper than a shape, and enough
            hit[near[inside]] = True
            rest = near[~inside]
            hit[rest] = shapely.intersects(part, shapes(rest))
        return hit

    def covers(self, boxes: Boxes) -> Array:
        import shapely

        if not self.single or not boxes[0].size:
            return np.zeros(boxes[0].size, bool)
        return np.asarray(shapely.covers(self.parts[0], _box_polygons(*boxes)), bool)

    def meets(self, x: Array, y: Array) -> Array:
        return self._touched(envelopes(x, y), x[:, 0], y[:, 0], lambda rest: ring_polygons(x[rest], y[rest]))

    def placed(self, wraps: bool, low: float, high: float) -> list[Area]:
        if not wraps:
            return [self]
        west, _, east, _ = self.bounds
        if east - west > _MOST_TURNS * TURN:
            raise UsageError(f"{self} goes round the globe more than {_MOST_TURNS} times.")
        return [self._moved(turn) for turn in turns_onto(west, east, low, high)]

    def _moved(self, turn: float) -> Region:
        """Moved along x, its corners rounded to float64."""
        if turn == 0:
            return self
        import shapely

        moved = shapely.transform(np.asarray(self.parts, object), lambda corners: corners + np.array([turn, 0.0]))
        return Region(tuple(moved.tolist()), self.single)

    def __str__(self) -> str:
        west, south, east, north = self.bounds
        what = "polygon" if self.single else "multi-polygon"
        return f"The {what} within {west:.10g}, {south:.10g} .. {east:.10g}, {north:.10g}"


def query_area(bbox: Bbox | None, polygon: str) -> Area | None:
    """The area that a request means, None for everything; `UsageError` for what is no area."""
    if polygon:
        if bbox is not None:
            raise UsageError("A request takes a rectangle or a polygon, not both.")
        return parse_region(polygon)
    if bbox is None:
        return None
    x0, y0, x1, y1 = (float(value) for value in bbox)
    if any(value != value for value in (x0, y0, x1, y1)):
        raise UsageError(f"{Rectangle((x0, y0, x1, y1))} has a corner that is no number.")
    return Rectangle((min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)))


def empty_reason(area: Area, what: str, extent: Bbox, names: tuple[str, str], wraps: bool) -> str:
    """Why an area found nothing of a "grid" or "mesh" with such an extent, as a sentence."""
    sides = [_beside(what, name, area.bounds[k], area.bounds[k + 2], extent[k], extent[k + 2], wraps and k == 0)
             for k, name in enumerate(names)]
    cells = "elements" if what == "mesh" else "cells"
    return f"{area} {' and '.join(side for side in sides if side) or f'touches none of its {cells}'}."


def _beside(what: str, name: str, start: float, stop: float, low: float, high: float, wraps: bool) -> str:
    """On which side of an extent a range lies; "" where it does not miss it."""
    extent = f"({name} from {low:.10g} to {high:.10g})"
    before, after = ("west", "east") if name in ("x", "longitude") else ("south", "north")
    if low != low:
        return f"meets a {what} without any {name} coordinate"
    if wraps:
        return "" if turns_that_meet(start, stop, low, high) else f"lies beside the {what} {extent}"
    if stop < low:
        return f"lies {before} of the {what} {extent}"
    return f"lies {after} of the {what} {extent}" if start > high else ""


def turns_that_meet(start: float, stop: float, low: float, high: float) -> bool:
    """Whether a range of longitudes meets another at some whole turn."""
    return any(start + turn <= high and stop + turn >= low for turn in turns_onto(start, stop, low, high))


def parse_region(wkt: str) -> Region:
    """The area of a POLYGON or MULTIPOLYGON in WKT.

    `UsageError` for anything else, for an empty one, one with a corner that is no finite number, and for a polygon that
    crosses itself (parts of a multi-polygon may overlap).
    """
    import shapely

    text = wkt if len(wkt) <= 60 else f"{wkt[:57]}..."
    try:
        with np.errstate(all="ignore"):
            shape = shapely.from_wkt(wkt)
    except shapely.errors.ShapelyError as error:
        raise UsageError(f"'{text}' is no WKT: {error}.", advice="Give a POLYGON or MULTIPOLYGON.") from None
    if shape.geom_type not in ("Polygon", "MultiPolygon"):
        raise UsageError(f"'{text}' is a {shape.geom_type}.", advice="Give a POLYGON or MULTIPOLYGON.")
    parts = shapely.get_parts(shape)
    if not parts.size or shapely.is_empty(parts).any():
        raise UsageError(f"'{text}' is empty.")
    if not np.isfinite(shapely.get_coordinates(shape)).all():
        raise UsageError(f"'{text}' has a corner that is no finite number.")
    for number, part in enumerate(parts.tolist()):
        if not shapely.is_valid(part):
            which = "The polygon" if shape.geom_type == "Polygon" else f"Part #{number} of the multi-polygon"
            raise UsageError(f"{which} is no area: {shapely.is_valid_reason(part)}.")
    return Region(tuple(shapely.force_2d(parts).tolist()), shape.geom_type == "Polygon")


def ring_polygons(x: Array, y: Array) -> Array:
    """(n,) shapely geometries of rings of corners (n, k); the hull of those that cross themselves or have no area."""
    import shapely

    cells = shapely.polygons(np.stack([x, y], axis=-1))
    broken = ~shapely.is_valid(cells)
    cells[broken] = shapely.convex_hull(cells[broken])
    return np.asarray(cells)


def envelopes(x: Array, y: Array) -> Boxes:
    """The envelopes (...) of rings of corners (..., k); NaN where a corner is."""
    sides = [x[..., 0].copy(), y[..., 0].copy(), x[..., 0].copy(), y[..., 0].copy()]
    for k in range(1, x.shape[-1]):  # several times faster than to reduce along the short last axis
        for side, values, reduce in zip(sides, (x, y, x, y), (np.minimum, np.minimum, np.maximum, np.maximum),
                                        strict=True):
            reduce(side, values[..., k], out=side)
    return sides[0], sides[1], sides[2], sides[3]


def _box_polygons(x0: Array, y0: Array, x1: Array, y1: Array) -> Array:
    """(n,) shapely geometries of boxes; lines and points where they have no width."""
    import shapely

    cells = np.asarray(shapely.box(x0, y0, x1, y1))
    flat = (x0 == x1) | (y0 == y1)
    cells[flat] = shapely.convex_hull(cells[flat])
    return cells
