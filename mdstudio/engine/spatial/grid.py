"""The cells of a grid against rectangles, polygons and points, for every kind of grid domain (P3, P4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mdstudio.engine.model import Array, GridDomain
from mdstudio.engine.requests import Bbox
from mdstudio.engine.spatial.area import Area, Rectangle, empty_reason, query_area
from mdstudio.engine.spatial.axis import CellAxis, cell_axis
from mdstudio.engine.spatial.curvilinear import CurvilinearCells
from mdstudio.engine.spatial.quad_tree import AxisTree, QuadTree
from mdstudio.engine.spatial.tree import walk


@dataclass(frozen=True)
class Selection:
    """The cells that an area found.

    Attributes:
        rows, columns: int64, ascending; the smallest block of rows and columns that holds every cell found. Columns of
            an area across the wrap of a longitude are not contiguous.
        mask: (rows, columns) bool, read-only: which cells of the block belong.
        empty_reason: why no cell was found, as a sentence; "" otherwise.
        tested: cells that were tested one by one; the others were taken or left out by blocks.
    """

    rows: Array
    columns: Array
    mask: Array
    empty_reason: str = ""
    tested: int = 0


class GridGeometry:
    """Where the cells of one grid lie. Immutable; any thread.

    A cell is the interval product of its row and column (regular, projected, rotated) or the quadrilateral of its four
    corners (curvilinear). Edges and corners are the source's where it has them, else half way between the centres. A
    cell belongs to an area when the two, both closed, meet (P3). Cost: one pass over the coordinates at first use.
    """

    def __init__(self, domain: GridDomain) -> None:
        self.domain = domain

    @cached_property
    def x_axis(self) -> CellAxis:
        """The columns; of a curvilinear grid, column numbers."""
        return cell_axis(self.domain.x, self.domain.x_bounds, self.domain.geographic,
                         _typical_step(self.domain.x, self.domain.y))

    @cached_property
    def y_axis(self) -> CellAxis:
        """The rows; of a curvilinear grid, row numbers."""
        return cell_axis(self.domain.y, self.domain.y_bounds, False, _typical_step(self.domain.y, self.domain.x))

    @cached_property
    def quads(self) -> CurvilinearCells | None:
        """The quadrilaterals of a curvilinear grid; None for other kinds."""
        return CurvilinearCells(self.domain) if self.domain.kind == "curvilinear" else None

    def select(self, bbox: Bbox | None, polygon: str = "") -> Selection:
        """The cells that the rectangle, or the POLYGON or MULTIPOLYGON in WKT, touches, its border included; all of
        them without either.

        In the dataset's CRS. Corners of a rectangle come in any order; infinite ones leave a side open. On a longitude
        the area is taken at every whole turn: -10 .. 10 finds both ends of a 0..360 grid, 170 .. 190 both of a
        -180..180 grid, no column twice. Raises `UsageError` for NaN and for what is no area.

        A polygon walks the quad tree of the tiles and of the cells in them: blocks that it misses are left out, blocks
        that a Polygon covers taken whole, only cells at its border tested one by one (P3).
        """
        area = query_area(bbox, polygon)
        if area is None:
            return _block(np.arange(self.domain.rows), np.arange(self.domain.columns))
        if self.quads is not None:
            found, tested = self.quads.touched(area)
            return _selection(self.quads.tree, found, tested) or _nothing(
                area, self.quads.extent, ("longitude", "latitude"), self.quads.wraps, tested)
        return self._inside(area) if isinstance(area, Rectangle) else self._walked(area)

    def _inside(self, box: Rectangle) -> Selection:
        """A rectangle in straight rows and columns: exact at every turn."""
        x0, y0, x1, y1 = box.bounds
        rows = np.flatnonzero(self.y_axis.touched(y0, y1))
        columns = np.flatnonzero(self.x_axis.touched(x0, x1))
        if rows.size and columns.size:
            return _block(rows, columns)
        return _nothing(box, self._extent, ("x", "y"), self.x_axis.wraps, 0)

    def _walked(self, area: Area) -> Selection:
        found: list[tuple[int, Array]] = []
        tested = 0
        for place in area.placed(self.x_axis.wraps, self.x_axis.start, self.x_axis.stop):
            walked = walk(self._tree, place)
            found += [*walked.whole, (0, walked.border)]  # a cell is its envelope
            tested += walked.tested
        return _selection(self._tree, found, tested) or _nothing(
            area, self._extent, ("x", "y"), self.x_axis.wraps, tested)

    @cached_property
    def _tree(self) -> AxisTree:
        return AxisTree((self.x_axis.low, self.x_axis.high), (self.y_axis.low, self.y_axis.high))

    @property
    def _extent(self) -> Bbox:
        return self.x_axis.start, self.y_axis.start, self.x_axis.stop, self.y_axis.stop

    def locate(self, points: Sequence[tuple[float, float]] | Array, nearest: bool = False) -> Array:
        """(n, 2) int64 row and column of the cell that holds each (x, y) point; -1, -1 for a point outside.

        On a shared edge the first cell in stored order is taken. With `nearest` a point outside gets the cell closest
        to it (by the axes; on a curvilinear grid by the distance to the centres). A NaN point is outside.
        """
        places = np.asarray(points, np.float64).reshape(-1, 2)
        if self.quads is not None:
            return self.quads.locate(places, nearest)
        cells = np.stack([self.y_axis.locate(places[:, 1], nearest), self.x_axis.locate(places[:, 0], nearest)], axis=1)
        cells[(cells < 0).any(axis=1)] = -1
        return cells

    def centres(self, rows: Array, columns: Array) -> tuple[Array, Array]:
        """Centres of a block as float64 x and y: (columns,) and (rows,); of a curvilinear grid longitude and latitude,
        both (rows, columns)."""
        if self.quads is None:
            return (np.asarray(self.domain.x, np.float64)[columns], np.asarray(self.domain.y, np.float64)[rows])
        block = np.ix_(rows, columns)
        return self.quads.longitude[block], self.quads.latitude[block]

    def centres_at(self, cells: Array) -> tuple[Array, Array]:
        """(n,) float64 x and y of the centres of (n, 2) cells; NaN for -1."""
        row, column = cells[:, 0], cells[:, 1]
        if self.quads is None:
            x, y = np.asarray(self.domain.x, np.float64)[column], np.asarray(self.domain.y, np.float64)[row]
        else:
            x, y = self.quads.longitude[row, column], self.quads.latitude[row, column]
        return np.where(row < 0, np.nan, x), np.where(row < 0, np.nan, y)

    def edges(self) -> tuple[Array, Array]:
        """(columns + 1,) and (rows + 1,) float64 cell edges in stored order, for drawing grids of straight rows."""
        return self.x_axis.edges(), self.y_axis.edges()


def _block(rows: Array, columns: Array) -> Selection:
    """Every cell of a block; the mask takes no memory."""
    every = np.broadcast_to(np.True_, (rows.size, columns.size))
    return Selection(rows.astype(np.int64), columns.astype(np.int64), every)


def _selection(tree: QuadTree, found: list[tuple[int, Array]], tested: int) -> Selection | None:
    """The cells of nodes; None where there is none."""
    rows, columns, mask = tree.block(found)
    mask.setflags(write=False)
    return Selection(rows, columns, mask, "", tested) if rows.size else None


def _nothing(area: Area, extent: Bbox, names: tuple[str, str], wraps: bool, tested: int) -> Selection:
    none = np.zeros(0, np.int64)
    return Selection(none, none, np.zeros((0, 0), bool), empty_reason(area, "grid", extent, names, wraps), tested)


def _typical_step(values: Array, other: Array) -> float:
    """Cell width for an axis of one centre: the other axis' median step, 1 where there is none."""
    for axis in (values, other):
        steps = np.abs(np.diff(np.asarray(axis, np.float64)))
        steps = steps[np.isfinite(steps) & (steps > 0)]
        if steps.size:
            return float(np.median(steps))
    return 1.0
