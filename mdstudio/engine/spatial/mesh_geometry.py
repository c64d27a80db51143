"""The elements of a flexible mesh against rectangles, polygons and points (P3, P4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mdstudio.engine.model import Array, MeshDomain
from mdstudio.engine.requests import Bbox
from mdstudio.engine.spatial.area import Area, empty_reason, envelopes, query_area
from mdstudio.engine.spatial.corners import cell_corners
from mdstudio.engine.spatial.mesh_index import element_centres, on_pole
from mdstudio.engine.spatial.nearest import NearestPlace, in_space
from mdstudio.engine.spatial.tree import RunTree, first_holding, walk

_AT_ONCE = 1_000_000  # elements
_POINTS_AT_ONCE = 4096


@dataclass(frozen=True)
class MeshSelection:
    """The elements that an area found.

    Attributes:
        elements: int64, ascending stored numbers.
        empty_reason: why none was found, as a sentence; "" otherwise.
        tested: elements that were tested one by one, the others were taken or left out by runs.
    """

    elements: Array
    empty_reason: str = ""
    tested: int = 0


class MeshGeometry:
    """Where the elements of one mesh lie. Immutable; any thread.

    An element is the polygon of its corners; it belongs to an area when the two, both closed, meet (P3). They are found
    through the envelopes of the pages of the spatial index (runs of 1 024 elements) and of ever smaller runs within,
    each of its own elements (P4). Cost: one pass over the elements at first use, half a second for a million.
    """

    def __init__(self, domain: MeshDomain) -> None:
        self.domain = domain

    @property
    def wraps(self) -> bool:
        """x is a longitude: x and x + 360 are the same place."""
        return self.domain.geographic

    def corners(self, elements: Array) -> tuple[Array, Array]:
        """(n, k) float64 x and y of the corners of elements in turn, the last one again where there are fewer than k;
        longitudes within half a turn of the first. An element around a pole is the cap that it covers; one with a
        corner on a pole goes along the pole from the longitude of the corner before it to that of the corner after."""
        domain = self.domain
        nodes = domain.element_nodes[elements]
        if self.wraps and nodes.shape[1] == 3:
            nodes = np.concatenate([nodes, nodes[:, 2:]], axis=1)  # a cap has four corners
        for k in range(3, nodes.shape[1]):
            nodes[:, k] = np.where(nodes[:, k] < 0, nodes[:, k - 1], nodes[:, k])
        x, y = domain.node_x[nodes].astype(np.float64), domain.node_y[nodes].astype(np.float64)
        if self.wraps and (poles := on_pole(y)).any():
            x, y = _along_poles(x, y, poles)
        return cell_corners(x, y, x[:, 0], self.wraps)

    @cached_property
    def tree(self) -> RunTree:
        """Envelopes of the elements and of runs of 4, 16, ... 1 024 (an index page), 4 096 ... of them."""
        sides = tuple(np.empty(self.domain.elements) for _ in range(4))
        for at in range(0, self.domain.elements, _AT_ONCE):
            part = np.arange(at, min(at + _AT_ONCE, self.domain.elements))
            for side, values in zip(sides, envelopes(*self.corners(part)), strict=True):
                side[part] = values
        return RunTree((sides[0], sides[1], sides[2], sides[3]))

    @cached_property
    def extent(self) -> Bbox:
        """x0, y0, x1, y1 of all elements."""
        x0, y0, x1, y1 = self.tree.boxes(self.tree.height - 1, np.array([0]))
        return float(x0[0]), float(y0[0]), float(x1[0]), float(y1[0])

    def select(self, bbox: Bbox | None = None, polygon: str = "") -> MeshSelection:
        """The elements that the rectangle, or the POLYGON or MULTIPOLYGON in WKT, touches; all of them without either.

        Corners of a rectangle come in any order, infinite ones leave a side open. On a longitude the area is taken at
        every whole turn. Raises `UsageError` for NaN and for what is no area.
        """
        area = query_area(bbox, polygon)
        if area is None:
            return MeshSelection(np.arange(self.domain.elements))
        return self.touched(area)

    def touched(self, area: Area) -> MeshSelection:
        """The elements whose closed polygon meets a closed area (P3), on a longitude at every whole turn."""
        parts = [np.zeros(0, np.int64)]
        tested = 0
        for place in area.placed(self.wraps, self.extent[0], self.extent[2]):
            found = walk(self.tree, place)
            parts += [self.tree.cells(found), found.border[place.meets(*self.corners(found.border))]]
            tested += found.tested
        elements = np.unique(np.concatenate(parts))
        if elements.size:
            return MeshSelection(elements, tested=tested)
        names = ("longitude", "latitude") if self.wraps else ("x", "y")
        return MeshSelection(elements, empty_reason(area, "mesh", self.extent, names, self.wraps), tested)

    def locate(self, points: Sequence[tuple[float, float]] | Array, nearest: bool = False) -> Array:
        """(n,) int64 stored number of the element that holds each (x, y) point; -1 for a point outside.

        On a shared side the smallest number is taken. With `nearest` a point outside gets the element with the closest
        centre. A point with NaN or infinity is outside. Cost: some 50 us a point.
        """
        places = np.asarray(points, np.float64).reshape(-1, 2)
        found = np.full(len(places), -1, np.int64)
        finite = np.flatnonzero(np.isfinite(places).all(axis=1))
        for at in range(0, finite.size, _POINTS_AT_ONCE):
            part = finite[at:at + _POINTS_AT_ONCE]
            found[part] = first_holding(self.tree, self.corners, places[part, 0], places[part, 1], self.wraps)
        outside = finite[found[finite] < 0]
        if nearest and outside.size:
            found[outside] = self._centres.find(in_space(places[outside, 0], places[outside, 1], self.wraps))
        return found

    @cached_property
    def _centres(self) -> NearestPlace:
        return NearestPlace(in_space(*self._middles, self.wraps))

    @cached_property
    def _middles(self) -> tuple[Array, Array]:
        domain = self.domain
        return element_centres(domain.node_x, domain.node_y, domain.element_nodes, self.wraps)

    def centres(self, elements: Array) -> tuple[Array, Array]:
        """(n,) float64 x and y: the means of the corners; a longitude within half a turn of the first corner's. Those
        of all elements are worked out at first use (a tenth of a second for a million) and kept: every slice asks."""
        x, y = self._middles
        return x[elements], y[elements]

    def node_positions(self, nodes: Array) -> tuple[Array, Array]:
        """(n,) float64 x and y of nodes."""
        return self.domain.node_x[nodes].astype(np.float64), self.domain.node_y[nodes].astype(np.float64)

    def nodes_of(self, elements: Array) -> Array:
        """Sorted unique int64 stored numbers of the corners of elements."""
        used = np.zeros(self.domain.nodes + 1, bool)
        used[self.domain.element_nodes[elements]] = True
        return np.flatnonzero(used[:-1])

    def nearest_node(self, elements: Array, points: Sequence[tuple[float, float]] | Array) -> Array:
        """(n,) int64 the corner of each element closest to its point, the first of several; -1 for element -1."""
        places = np.asarray(points, np.float64).reshape(-1, 2)
        nodes = self.domain.element_nodes[elements].astype(np.int64)
        corners = in_space(*self.node_positions(nodes), self.wraps)
        with np.errstate(all="ignore"):  # coordinates of any size
            apart = ((corners - in_space(places[:, 0], places[:, 1], self.wraps)[:, None]) ** 2).sum(axis=-1)
        apart[nodes < 0] = np.inf
        found = nodes[np.arange(len(nodes)), np.argmin(apart, axis=1)]
        return np.where(np.asarray(elements) < 0, -1, found)


def _along_poles(x: Array, y: Array, poles: Array) -> tuple[Array, Array]:
    """Rings (n, k) with every corner on a pole made two, at the longitudes of the corners before and after it, and the
    last corner repeated up to the longest ring. Few elements have one: they are taken one by one."""
    rings = {}
    for i in np.flatnonzero(poles.any(axis=1)).tolist():
        corners = list(dict.fromkeys(zip(x[i].tolist(), y[i].tolist(), poles[i].tolist(), strict=True)))
        rings[i] = [(beside[0], at[1]) for k, at in enumerate(corners)
                    for beside in ((corners[k - 1], corners[(k + 1) % len(corners)]) if at[2] else (at,))]
    more = max(0, max(len(ring) for ring in rings.values()) - x.shape[1])
    x, y = (np.concatenate([part, *[part[:, -1:]] * more], axis=1) for part in (x, y))
    for i, ring in rings.items():
        x[i], y[i] = np.array(ring + ring[-1:] * (x.shape[1] - len(ring))).T
    return x, y
