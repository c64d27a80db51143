"""Cell by cell, without trees, envelopes or shortcuts: which cells an area meets, by shapely and in whole numbers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import shapely
import shapely.affinity
from hypothesis import strategies as st

Point = tuple[float, float]
Ring = Sequence[Point]
TURNS = (-1080.0, -720.0, -360.0, 0.0, 360.0, 720.0, 1080.0)


def parts_of(area: Any) -> list[Any]:
    return list(area.geoms) if area.geom_type == "MultiPolygon" else [area]


def wkt(area: Any) -> str:
    """With every digit."""
    texts = []
    for part in parts_of(area):
        rings = [part.exterior, *part.interiors]
        lists = [", ".join(f"{x!r} {y!r}" for x, y in ring.coords) for ring in rings]
        texts.append("(" + ", ".join(f"({corners})" for corners in lists) + ")")
    return f"POLYGON {texts[0]}" if area.geom_type == "Polygon" else f"MULTIPOLYGON ({', '.join(texts)})"


def rectangle(x0: float, y0: float, x1: float, y1: float) -> Any:
    """Closed, of any width; corners in any order."""
    return shapely.MultiPoint([(x0, y0), (x1, y1)]).envelope


def cell(ring: Ring) -> Any:
    found = shapely.Polygon(ring)
    return found if found.is_valid else found.convex_hull


def met[Key: Hashable](cells: Mapping[Key, Ring | shapely.Polygon], area: Any, wraps: bool = False) -> set[Key]:
    """The cells by key whose closed area meets any part of a closed one, tested one by one, at every turn."""
    parts = [shapely.affinity.translate(part, turn) if turn else part
             for part in parts_of(area) for turn in (TURNS if wraps else (0.0,))]
    keys, shapes = list(cells), np.array([
        ring if isinstance(ring, shapely.Geometry) else cell(ring) for ring in cells.values()], object)
    hit = np.zeros(len(keys), bool)
    for part in parts:
        hit |= shapely.intersects(shapes, part)
    return {key for key, found in zip(keys, hit.tolist(), strict=True) if found}


def exactly_met[Key: Hashable](cells: Mapping[Key, Ring], area: Any) -> set[Key]:
    """The same of rings that do not cross themselves, in whole numbers: nothing is rounded."""
    outlines = [[list(ring.coords) for ring in (part.exterior, *part.interiors)] for part in parts_of(area)]
    every = [*(ring for outline in outlines for ring in outline), *cells.values()]
    unit = max(value.as_integer_ratio()[1] for ring in every for point in ring for value in point)

    def exact(ring: Ring) -> list[Exact]:
        return [(int(Fraction(x) * unit), int(Fraction(y) * unit)) for x, y in ring]

    areas = [[exact(ring) for ring in outline] for outline in outlines]
    sides = [side for outline in areas for ring in outline for side in pairwise(ring)]
    found = set()
    for key, ring in cells.items():
        corners = exact([*ring, ring[0]])
        if any(_cross(a, b, c, d) for a, b in pairwise(corners) for c, d in sides) \
                or any(_inside(corners[0], outline) for outline in areas) \
                or any(_inside(outline[0][0], [corners]) for outline in areas):
            found.add(key)
    return found


Exact = tuple[int, int]  # in the smallest unit that all coordinates are multiples of


def _side(a: Exact, b: Exact, c: Exact) -> int:
    turn = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return (turn > 0) - (turn < 0)


def _between(a: Exact, b: Exact, c: Exact) -> bool:
    return all(min(a[k], b[k]) <= c[k] <= max(a[k], b[k]) for k in (0, 1))


def _cross(a: Exact, b: Exact, c: Exact, d: Exact) -> bool:
    """Whether two closed segments share a point."""
    sides = _side(a, b, c), _side(a, b, d), _side(c, d, a), _side(c, d, b)
    if sides[0] * sides[1] < 0 and sides[2] * sides[3] < 0:
        return True
    return any(side == 0 and _between(*ends, at) for side, ends, at in
               zip(sides, ((a, b), (a, b), (c, d), (c, d)), (c, d, a, b), strict=True))


def _inside(point: Exact, rings: Sequence[Sequence[Exact]]) -> bool:
    """Whether a ray to the right crosses the rings an odd number of times; not for points on a ring."""
    count = 0
    for ring in rings:
        for a, b in pairwise(ring):
            if (a[1] > point[1]) != (b[1] > point[1]):
                low, high = (a, b) if a[1] < b[1] else (b, a)
                count += _side(low, high, point) > 0
    return count % 2 == 1


@st.composite
def snapped(draw: st.DrawFn, values: Sequence[float], beyond: float) -> float:
    """One of some values, a neighbouring double of it, or anything up to `beyond` away from them. None so small that a
    product of two of them is 0: there GEOS finds that shapes touch which do not."""
    if draw(st.integers(0, 3)):
        value = draw(st.sampled_from(list(values)))
        found = float(draw(st.sampled_from([value, value, np.nextafter(value, 1e9), np.nextafter(value, -1e9)])))
    else:
        found = draw(st.floats(min(values) - beyond, max(values) + beyond, allow_subnormal=False))
    return found if abs(found) > 1e-140 else 0.0


@st.composite
def polygons(draw: st.DrawFn, corners: st.SearchStrategy[Point], holes: bool = True) -> Any:
    """Valid polygons with corners of a strategy, some with a hole."""
    count = draw(st.integers(3, 7))
    points = draw(st.lists(corners, min_size=count, max_size=count, unique=True))
    middle = np.mean(points, axis=0)
    ring = sorted(points, key=lambda p: float(np.arctan2(p[1] - middle[1], p[0] - middle[0])))
    found = shapely.Polygon(ring)
    if not found.is_valid or not found.area:
        found = shapely.MultiPoint(points).convex_hull
    if found.geom_type != "Polygon":
        x, y = points[0]
        found = shapely.Polygon([(x, y), (x + 1, y), (x, y + 1)])
    if holes and draw(st.booleans()):
        pierced = found.difference(draw(polygons(corners, holes=False)))
        found = pierced if pierced.geom_type == "Polygon" and pierced.is_valid and pierced.area else found
    return found


def areas(corners: st.SearchStrategy[Point]) -> st.SearchStrategy[Any]:
    """Polygons, and multi-polygons whose parts may overlap, touch or be the same."""
    one = polygons(corners)
    return st.one_of(one, st.lists(one, min_size=1, max_size=3).map(shapely.MultiPolygon))
