"""Which cells and elements a convex area touches, border included: exact, one by one, from the specification."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tests.engine.independent.document import Values

Ring = Sequence[tuple[float, float]]


def touch(one: Ring, other: Ring) -> bool:
    """Whether two convex polygons, closed, meet: no line along a side of either parts them."""
    rings = [[(Fraction(x), Fraction(y)) for x, y in ring] for ring in (one, other)]
    for ring in rings:
        for (x0, y0), (x1, y1) in zip(ring, [*ring[1:], ring[0]], strict=True):
            first, second = ([(x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) for x, y in points] for points in rings)
            if min(first) > max(second) or min(second) > max(first):
                return False
    return True


def touches(area: Ring, ring: Ring, *, longitudes: bool) -> bool:
    """The same at every whole turn where x is a longitude."""
    turns = (-360, 0, 360) if longitudes else (0,)
    return any(touch([(x + turn, y) for x, y in area], ring) for turn in turns)


def cell(arrays: dict[str, Values], row: int, column: int) -> Ring:
    """The cell of a grid whose source has bounds or corners."""
    if "CornerLongitude" in arrays:
        return list(zip(arrays["CornerLongitude"][row, column].tolist(), arrays["CornerLatitude"][row, column].tolist(),
                        strict=True))
    (x0, x1), (y0, y1) = arrays["XBounds"][column].tolist(), arrays["YBounds"][row].tolist()
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def element(arrays: dict[str, Values], number: int, *, longitudes: bool) -> Ring:
    """The corners of an element, within half a turn of the first one."""
    nodes = [node for node in arrays["ElementNodes"][number].tolist() if node >= 0]
    xs = [float(arrays["NodeX"][node]) for node in nodes]
    if longitudes:
        xs = [x - 360 * round((x - xs[0]) / 360) for x in xs]
    return [(x, float(arrays["NodeY"][node])) for x, node in zip(xs, nodes, strict=True)]
