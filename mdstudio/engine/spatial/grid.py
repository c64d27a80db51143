"""The cells of a grid against rectangles and points, for every kind of grid domain (P3, P4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Array, GridDomain
from mdstudio.engine.requests import Bbox
from mdstudio.engine.spatial.axis import CellAxis, cell_axis
from mdstudio.engine.spatial.curvilinear import CurvilinearCells


@dataclass(frozen=True)
class Selection:
    """The cells that a rectangle found.

    Attributes:
        rows, columns: int64, ascending; the smallest block of rows and columns that holds every cell found. Columns of
            a rectangle across the wrap of a longitude are not contiguous.
        mask: (rows, columns) bool, read-only where every cell is found: which cells of the block belong.
        empty_reason: why no cell was found, as a sentence; "" otherwise.
    """

    rows: Array
    columns: Array
    mask: Array
    empty_reason: str = ""


class GridGeometry:
    """Where the cells of one grid lie. Immutable; any thread.

    A cell is the interval product of its row and column (regular, projected, rotated) or the quadrilateral of its four
    corners (curvilinear). Edges and corners are the source's where it has them, else half way between the centres. A
    cell belongs to a rectangle when the two, both closed, meet (P3). Cost: one pass over the coordinates at first use.
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

    def select(self, bbox: Bbox | None) -> Selection:
        """The cells that the rectangle touches, its border included; None takes every cell.

        Corners in any order, in the dataset's CRS; infinite ones leave a side open. On a longitude the rectangle is
        taken at every whole turn: -10 .. 10 finds both ends of a 0..360 grid, 170 .. 190 both of a -180..180 grid, no
        column twice. Raises `UsageError` for NaN.
        """
        if bbox is None:
            return _block(np.arange(self.domain.rows), np.arange(self.domain.columns))
        if any(value != value for value in bbox):
            raise UsageError(f"The rectangle {_corners(bbox)} has a corner that is no number.")
        box = (min(bbox[0], bbox[2]), min(bbox[1], bbox[3]), max(bbox[0], bbox[2]), max(bbox[1], bbox[3]))
        if self.quads is not None:
            return self._select_quads(self.quads, box)
        rows = np.flatnonzero(self.y_axis.touched(box[1], box[3]))
        columns = np.flatnonzero(self.x_axis.touched(box[0], box[2]))
        if rows.size and columns.size:
            return _block(rows, columns)
        sides = [_beside("x", box[0], box[2], self.x_axis.start, self.x_axis.stop, self.x_axis.wraps)
                 if not columns.size else "", _beside("y", box[1], box[3], self.y_axis.start, self.y_axis.stop, False)
                 if not rows.size else ""]
        return _nothing(box, sides)

    def _select_quads(self, quads: CurvilinearCells, box: Bbox) -> Selection:
        touched = quads.touched(box)
        rows, columns = np.flatnonzero(touched.any(axis=1)), np.flatnonzero(touched.any(axis=0))
        if not rows.size:
            x0, y0, x1, y1 = quads.extent
            return _nothing(box, [_beside("longitude", box[0], box[2], x0, x1, quads.wraps),
                                  _beside("latitude", box[1], box[3], y0, y1, False)])
        mask = touched[np.ix_(rows, columns)]
        mask.setflags(write=False)
        return Selection(rows, columns, mask)

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


def _nothing(box: Bbox, sides: list[str]) -> Selection:
    none = np.zeros(0, np.int64)
    where = " and ".join(side for side in sides if side) or "touches none of its cells"
    return Selection(none, none, np.zeros((0, 0), bool), f"The rectangle {_corners(box)} {where}.")


def _corners(box: Bbox) -> str:
    return f"{box[0]:.10g}, {box[1]:.10g} .. {box[2]:.10g}, {box[3]:.10g}"


def _beside(name: str, start: float, stop: float, low: float, high: float, wraps: bool) -> str:
    """On which side of the grid a range lies; "" where it does not miss the grid's extent."""
    extent = f"({name} from {low:.10g} to {high:.10g})"
    before, after = ("west", "east") if name in ("x", "longitude") else ("south", "north")
    if low != low:
        return f"meets a grid without any {name} coordinate"
    if wraps:
        return f"lies beside the grid {extent}"
    if stop < low:
        return f"lies {before} of the grid {extent}"
    return f"lies {after} of the grid {extent}" if start > high else ""


def _typical_step(values: Array, other: Array) -> float:
    """Cell width for an axis of one centre: the other axis' median step, 1 where there is none."""
    for axis in (values, other):
        steps = np.abs(np.diff(np.asarray(axis, np.float64)))
        steps = steps[np.isfinite(steps) & (steps > 0)]
        if steps.size:
            return float(np.median(steps))
    return 1.0
