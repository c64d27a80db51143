"""The quadrilaterals of a curvilinear grid: corners, a tree of envelopes, exact tests against areas and points.

The tree keeps the envelope of the cells themselves at every level (P4), so an area tests some cells on its border and
nothing far from it. Longitudes are compared at every whole turn.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Array, GridDomain
from mdstudio.engine.requests import Bbox
from mdstudio.engine.spatial.area import Area, envelopes
from mdstudio.engine.spatial.axis import TURN
from mdstudio.engine.spatial.corners import cell_corners, derive_corners, finite_or_nan
from mdstudio.engine.spatial.quad_tree import CellTree
from mdstudio.engine.spatial.tree import first_holding, walk

_POINTS_AT_ONCE = 4096


class CurvilinearCells:
    """The cells of one curvilinear grid. Immutable; any thread. Cells without finite corners are never found.

    Attributes:
        longitude, latitude: (rows, columns) float64 centres, NaN where the source has none.
        wraps: the coordinates are degrees on the globe.
    """

    def __init__(self, domain: GridDomain) -> None:
        if domain.longitude is None or domain.latitude is None:
            raise UsageError("A curvilinear grid needs the longitude and latitude of every cell.")
        self.longitude, self.latitude = finite_or_nan(domain.longitude, domain.latitude)
        limits = [float(np.nanmax(np.abs(part), initial=0.0)) for part in (self.longitude, self.latitude)]
        self.wraps = limits[0] <= 2 * TURN and limits[1] <= 90.5
        if domain.corner_longitude is not None and domain.corner_latitude is not None:
            self._given: tuple[Array, Array] | None = finite_or_nan(domain.corner_longitude, domain.corner_latitude)
            self._shared: tuple[Array, Array] | None = None
        else:
            self._given, self._shared = None, derive_corners(self.longitude, self.latitude, self.wraps)

    def corners(self, row: Array, column: Array) -> tuple[Array, Array]:
        """(n, 4) x and y of the corners of cells, in ring order, within half a turn of the cell's centre."""
        if self._given is not None:
            x, y = self._given[0][row, column], self._given[1][row, column]
        else:
            assert self._shared is not None
            ring = ((0, 0), (0, 1), (1, 1), (1, 0))
            x, y = (np.stack([part[row + r, column + c] for r, c in ring], axis=-1) for part in self._shared)
        centre = self.longitude[row, column]
        x[np.isnan(centre)] = np.nan  # beside a hole corners are known that belong to the neighbours
        return cell_corners(x, y, centre, self.wraps)

    @cached_property
    def tree(self) -> CellTree:
        """The envelopes of the cells, and of ever larger blocks of them."""
        rows, columns = self.longitude.shape
        sides = tuple(np.empty((rows, columns)) for _ in range(4))
        step = max(1, 1_000_000 // columns)
        for start in range(0, rows, step):
            row, column = np.indices((min(step, rows - start), columns))
            part = envelopes(*self.corners(row + start, column))
            missing = ~np.isfinite(part[0] + part[1] + part[2] + part[3])
            for side, values in zip(sides, part, strict=True):
                side[start:start + step] = np.where(missing, np.nan, values)
        return CellTree((sides[0], sides[1], sides[2], sides[3]))

    @cached_property
    def extent(self) -> Bbox:
        """x0, y0, x1, y1 of all cells; NaN where no cell has coordinates."""
        x0, y0, x1, y1 = self.tree.boxes(self.tree.height - 1, self.tree.top())
        return float(x0[0]), float(y0[0]), float(x1[0]), float(y1[0])

    def touched(self, area: Area) -> tuple[list[tuple[int, Array]], int]:
        """The cells whose closed area meets a closed one (P3), a longitude at every whole turn: (level, nodes) of the
        tree, and how many cells were tested one by one."""
        found: list[tuple[int, Array]] = []
        tested = 0
        for place in area.placed(self.wraps, self.extent[0], self.extent[2]):
            walked = walk(self.tree, place)
            found += [*walked.whole, (0, walked.border[place.meets(*self._rings(walked.border))])]
            tested += walked.tested
        return found, tested

    def _rings(self, cells: Array) -> tuple[Array, Array]:
        """Corners of cells given by their number in stored order."""
        return self.corners(*np.divmod(cells, self.longitude.shape[1]))

    def locate(self, points: Array, nearest: bool) -> Array:
        """(n, 2) int64 row and column; see `GridGeometry.locate`. Cost: with `nearest` one pass over all centres for
        each point outside."""
        found = np.full(len(points), -1, np.int64)
        finite = np.flatnonzero(np.isfinite(points).all(axis=1))
        for at in range(0, finite.size, _POINTS_AT_ONCE):
            part = finite[at:at + _POINTS_AT_ONCE]
            found[part] = first_holding(self.tree, self._rings, points[part, 0], points[part, 1], self.wraps)
        if nearest and np.isfinite(self.longitude).any():
            for i in finite[found[finite] < 0].tolist():
                found[i] = np.nanargmin(self._distance(*points[i].tolist()))
        cells = np.stack(np.divmod(found, self.longitude.shape[1]), axis=-1)
        cells[found < 0] = -1
        return cells

    def _distance(self, x: float, y: float) -> Array:
        """(rows, columns) squared distance of a point to the centres: the chord through the globe, or in the plane."""
        if not self.wraps:
            plane: Array = (self.longitude - x) ** 2 + (self.latitude - y) ** 2
            return plane
        latitude, height = np.radians(self.latitude), np.radians(y)
        haversine: Array = (np.sin((latitude - height) / 2) ** 2
                     + np.cos(latitude) * np.cos(height) * np.sin(np.radians(self.longitude - x) / 2) ** 2)
        return haversine
