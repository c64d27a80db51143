"""The quadrilaterals of a curvilinear grid: corners, a tree of envelopes, exact tests against rectangles and points.

The tree keeps the envelope of the cells themselves at every level (P4), so a rectangle tests some cells on its border
and nothing far from it. Longitudes are compared at every whole turn.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Array, GridDomain
from mdstudio.engine.requests import Bbox
from mdstudio.engine.spatial.axis import TURN, turns_onto
from mdstudio.engine.spatial.corners import cell_corners, derive_corners, finite_or_nan

_FACTOR = 8  # children of a node along each side


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
    def _levels(self) -> list[tuple[Array, Array, Array, Array]]:
        """Envelopes (x0, y0, x1, y1), the cells first, then ever coarser blocks of 8 x 8; NaN where no cell is."""
        rows, columns = self.longitude.shape
        x0, y0, x1, y1 = (np.empty((rows, columns)) for _ in range(4))
        step = max(1, 1_000_000 // columns)
        for start in range(0, rows, step):
            row, column = np.indices((min(step, rows - start), columns))
            x, y = self.corners(row + start, column)
            part = slice(start, start + step)
            x0[part], y0[part], x1[part], y1[part] = (f(axis=-1) for f in (x.min, y.min, x.max, y.max))
            missing = ~np.isfinite(x0[part] + y0[part] + x1[part] + y1[part])
            for target in (x0, y0, x1, y1):
                target[part][missing] = np.nan
        levels = [(x0, y0, x1, y1)]
        while levels[-1][0].size > _FACTOR * _FACTOR:
            a, b, c, d = levels[-1]
            levels.append((_coarser(a, np.fmin), _coarser(b, np.fmin), _coarser(c, np.fmax), _coarser(d, np.fmax)))
        return levels

    @cached_property
    def extent(self) -> Bbox:
        """x0, y0, x1, y1 of all cells; NaN where no cell has coordinates."""
        x0, y0, x1, y1 = (reduce(part.ravel()) for part, reduce in
                          zip(self._levels[-1], (np.fmin.reduce, np.fmin.reduce, np.fmax.reduce, np.fmax.reduce),
                              strict=True))
        return float(x0), float(y0), float(x1), float(y1)

    def touched(self, box: Bbox) -> Array:
        """(rows, columns) bool: the cells whose closed area meets the closed rectangle (P3), a longitude at every whole
        turn."""
        mask = np.zeros(self.longitude.shape, bool)
        for part in self._boxes(box):
            inside, row, column = self._walk(part)
            for level, rows, columns in inside:
                _mark(mask, rows, columns, _FACTOR**level)
            mask[row, column] |= _meets(*self.corners(row, column), part)
        mask &= ~np.isnan(self._levels[0][0])
        return mask

    def _boxes(self, box: Bbox) -> list[Bbox]:
        """The rectangle at every turn that can meet the grid; one open to both sides where it goes round the globe."""
        if not self.wraps:
            return [box]
        if box[2] - box[0] >= TURN:
            return [(-np.inf, box[1], np.inf, box[3])]
        return [(box[0] + turn, box[1], box[2] + turn, box[3])
                for turn in turns_onto(box[0], box[2], self.extent[0], self.extent[2])]

    def _walk(self, box: Bbox) -> tuple[list[tuple[int, Array, Array]], Array, Array]:
        """Down the tree: (level, rows, columns) of the nodes that lie in the rectangle whole, and rows and columns of
        the cells whose envelope its border crosses."""
        row, column = (part.ravel().astype(np.int64) for part in np.indices(self._levels[-1][0].shape))
        inside = []
        for level in range(len(self._levels) - 1, -1, -1):
            if level < len(self._levels) - 1:
                row, column = _children(row, column, self._levels[level][0].shape)
            x0, y0, x1, y1 = (part[row, column] for part in self._levels[level])
            hit = (x0 <= box[2]) & (y0 <= box[3]) & (x1 >= box[0]) & (y1 >= box[1])
            whole = (x0 >= box[0]) & (y0 >= box[1]) & (x1 <= box[2]) & (y1 <= box[3])
            inside.append((level, row[whole], column[whole]))
            row, column = row[hit & ~whole], column[hit & ~whole]
        return inside, row, column

    def locate(self, points: Array, nearest: bool) -> Array:
        """(n, 2) int64 row and column; see `GridGeometry.locate`. Cost: some 0.1 ms a point, with `nearest` one pass
        over all centres for each point outside."""
        cells = np.full((len(points), 2), -1, np.int64)
        for i, (x, y) in enumerate(points.tolist()):
            if not np.isfinite([x, y]).all():
                continue
            at = self._containing((x, y, x, y))
            if at >= 0:
                cells[i] = np.unravel_index(at, self.longitude.shape)
            elif nearest and np.isfinite(self.longitude).any():
                cells[i] = np.unravel_index(int(np.nanargmin(self._distance(x, y))), self.longitude.shape)
        return cells

    def _containing(self, point: Bbox) -> int:
        """Number of the first cell in stored order that holds a point, -1 where none does."""
        columns = self.longitude.shape[1]
        found = [-1]
        for box in self._boxes(point):
            inside, row, column = self._walk(box)
            hit = _meets(*self.corners(row, column), box)
            found += (row[hit] * columns + column[hit]).tolist()
            found += (inside[-1][1] * columns + inside[-1][2]).tolist()  # a cell that is a point
        return min(found[1:], default=-1)

    def _distance(self, x: float, y: float) -> Array:
        """(rows, columns) squared distance of a point to the centres: the chord through the globe, or in the plane."""
        if not self.wraps:
            plane: Array = (self.longitude - x) ** 2 + (self.latitude - y) ** 2
            return plane
        latitude, height = np.radians(self.latitude), np.radians(y)
        haversine: Array = (np.sin((latitude - height) / 2) ** 2
                     + np.cos(latitude) * np.cos(height) * np.sin(np.radians(self.longitude - x) / 2) ** 2)
        return haversine


def _coarser(values: Array, reduce: np.ufunc) -> Array:
    """One value for each block of 8 x 8."""
    rows, columns = (np.arange(0, n, _FACTOR) for n in values.shape)
    coarser: Array = reduce.reduceat(reduce.reduceat(values, rows, axis=0), columns, axis=1)
    return coarser


def _mark(mask: Array, rows: Array, columns: Array, size: int) -> None:
    """Set the cells of whole nodes, each `size` cells along a side."""
    if size == 1:
        mask[rows, columns] = True
        return
    for row, column in zip((rows * size).tolist(), (columns * size).tolist(), strict=True):
        mask[row:row + size, column:column + size] = True


def _children(row: Array, column: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The nodes one level down of some nodes, those beyond the edge left out."""
    r, c = (part.ravel() for part in np.indices((_FACTOR, _FACTOR)))
    rows = (row[:, None] * _FACTOR + r).ravel()
    columns = (column[:, None] * _FACTOR + c).ravel()
    inside = (rows < shape[0]) & (columns < shape[1])
    return rows[inside], columns[inside]


def _meets(x: Array, y: Array, box: Bbox) -> Array:
    """(n,) bool: whether quadrilaterals (n, 4) meet the rectangle, both closed; robust to rounding.

    A ring that crosses itself (corners not in ring order) counts as its convex hull.
    """
    if not len(x):
        return np.zeros(0, bool)
    import shapely

    cells = quad_polygons(x, y)
    x0, x1 = max(box[0], float(x.min()) - 1), min(box[2], float(x.max()) + 1)
    y0, y1 = max(box[1], float(y.min()) - 1), min(box[3], float(y.max()) + 1)
    corners = shapely.points([x0, x1], [y0, y1])
    area = corners[0] if x0 == x1 and y0 == y1 else shapely.linestrings([[x0, y0], [x1, y1]]) \
        if x0 == x1 or y0 == y1 else shapely.box(x0, y0, x1, y1)
    return np.asarray(shapely.intersects(area, cells), bool)


def quad_polygons(x: Array, y: Array) -> Array:
    """(n,) shapely geometries of quadrilaterals given by (n, 4) corners."""
    import shapely

    cells = shapely.polygons(np.stack([x, y], axis=-1))
    broken = ~shapely.is_valid(cells)
    cells[broken] = shapely.convex_hull(cells[broken])
    return np.asarray(cells)
