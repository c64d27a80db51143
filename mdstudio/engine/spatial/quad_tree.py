"""The quad tree over the rows and columns of a grid: 2 x 2 nodes make one of the level above (P3, P4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from mdstudio.engine.model import Array
from mdstudio.engine.spatial.area import Boxes


class QuadTree(ABC):
    """Blocks of 2^level x 2^level cells from the first row and column on, clipped at the edges. A `tree.Tree`: node
    (row, column) of a level is numbered row by row. Where a tile is 2^k wide, the tiles are the nodes of level k.

    `shapes`: (rows, columns) of nodes by level, one node at the top.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self.shapes = [(rows, columns)]
        while self.shapes[-1] != (1, 1):
            rows, columns = -(-rows // 2), -(-columns // 2)
            self.shapes.append((rows, columns))

    @property
    def height(self) -> int:
        return len(self.shapes)

    def top(self) -> Array:
        return np.zeros(1, np.int64)

    @abstractmethod
    def boxes(self, level: int, nodes: Array) -> Boxes:
        """Envelopes of nodes, NaN where no cell with coordinates is."""

    def children(self, level: int, nodes: Array) -> tuple[Array, Array]:
        row, column = np.divmod(nodes, self.shapes[level][1])
        rows, columns = self.shapes[level - 1]
        below_row = (row[:, None] * 2 + np.array([0, 0, 1, 1])).ravel()
        below_column = (column[:, None] * 2 + np.array([0, 1, 0, 1])).ravel()
        there = (below_row < rows) & (below_column < columns)
        found = below_row[there] * columns + below_column[there]
        return found, np.repeat(np.arange(nodes.size), 4)[there]

    def block(self, found: Sequence[tuple[int, Array]]) -> tuple[Array, Array, Array]:
        """Rows, columns and (rows, columns) mask of the smallest block that holds every cell of some nodes (level,
        numbers); cells without coordinates are left out."""
        spans = [self._spans(level, nodes) for level, nodes in found if nodes.size]
        if not spans:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0), bool)
        row0, column0 = (min(int(span[k].min()) for span in spans) for k in (0, 2))
        row1, column1 = (max(int(span[k].max()) for span in spans) for k in (1, 3))
        mask = np.zeros((row1 - row0, column1 - column0), bool)
        for first, end, left, right in spans:
            if (end - first == 1).all() and (right - left == 1).all():
                mask[first - row0, left - column0] = True
                continue
            for r0, r1, c0, c1 in zip(*(part.tolist() for part in (first, end, left, right)), strict=True):
                mask[r0 - row0:r1 - row0, c0 - column0:c1 - column0] = True
        mask &= self.known(slice(row0, row1), slice(column0, column1))
        rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        return rows + row0, columns + column0, mask[np.ix_(rows, columns)]

    def _spans(self, level: int, nodes: Array) -> tuple[Array, Array, Array, Array]:
        """Rows from and to, columns from and to of the cells of nodes, the ends excluded."""
        row, column = np.divmod(nodes, self.shapes[level][1])
        rows, columns = self.shapes[0]
        return (row << level, np.minimum((row + 1) << level, rows),
                column << level, np.minimum((column + 1) << level, columns))

    @abstractmethod
    def known(self, rows: slice, columns: slice) -> Array:
        """(rows, columns) bool: the cells of a block that have coordinates."""


class AxisTree(QuadTree):
    """Over cells that are products of the closed intervals of their column and their row."""

    def __init__(self, x: tuple[Array, Array], y: tuple[Array, Array]) -> None:
        """x, y: lowest and highest coordinates (n,) of columns and rows; NaN where there are none."""
        super().__init__(y[0].size, x[0].size)
        self._x, self._y = [x], [y]
        for _ in self.shapes[1:]:
            self._x.append(_halved(self._x[-1]))
            self._y.append(_halved(self._y[-1]))

    def boxes(self, level: int, nodes: Array) -> Boxes:
        row, column = np.divmod(nodes, self.shapes[level][1])
        (x0, x1), (y0, y1) = self._x[level], self._y[level]
        return x0[column], y0[row], x1[column], y1[row]

    def known(self, rows: slice, columns: slice) -> Array:
        across, up = (np.isfinite(low[part] + high[part])
                      for (low, high), part in ((self._x[0], columns), (self._y[0], rows)))
        found: Array = up[:, None] & across
        return found


class CellTree(QuadTree):
    """Over cells of any shape, by their envelopes x0, y0, x1, y1 (rows, columns)."""

    def __init__(self, cells: Boxes) -> None:
        super().__init__(*cells[0].shape)
        self.levels = [cells]
        for _ in self.shapes[1:]:
            x0, y0, x1, y1 = self.levels[-1]
            self.levels.append((_coarser(x0, np.fmin), _coarser(y0, np.fmin), _coarser(x1, np.fmax),
                                _coarser(y1, np.fmax)))

    def boxes(self, level: int, nodes: Array) -> Boxes:
        x0, y0, x1, y1 = (side.ravel()[nodes] for side in self.levels[level])
        return x0, y0, x1, y1

    def known(self, rows: slice, columns: slice) -> Array:
        return np.isfinite(self.levels[0][0][rows, columns])


def _halved(interval: tuple[Array, Array]) -> tuple[Array, Array]:
    """The intervals of pairs of neighbours."""
    starts = np.arange(0, interval[0].size, 2)
    return np.fmin.reduceat(interval[0], starts), np.fmax.reduceat(interval[1], starts)


def _coarser(values: Array, reduce: np.ufunc) -> Array:
    """One value for each block of 2 x 2."""
    rows, columns = (np.arange(0, n, 2) for n in values.shape)
    coarser: Array = reduce.reduceat(reduce.reduceat(values, rows, axis=0), columns, axis=1)
    return coarser
