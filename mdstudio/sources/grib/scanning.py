"""From the order in which a file scans its points to rows and columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdstudio.engine.model import Array


@dataclass(frozen=True, slots=True)
class Scanning:
    """How the points of a grid follow one another.

    Attributes:
        rows, columns: of the grid.
        by_column: the points of a column, not of a row, are adjacent.
        alternating: every second line runs the other way.
    """

    rows: int
    columns: int
    by_column: bool = False
    alternating: bool = False

    def placed(self, points: Array) -> Array:
        """(rows, columns) of (rows * columns,) in file order: rows and columns in the order the file has them, every
        line in the direction of the first. C-contiguous; a view where nothing has to move."""
        lines = points.reshape((self.columns, self.rows) if self.by_column else (self.rows, self.columns))
        if self.alternating:
            lines = lines.copy()
            lines[1::2] = lines[1::2, ::-1].copy()
        return np.ascontiguousarray(lines.T if self.by_column else lines)
