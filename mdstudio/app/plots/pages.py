"""Where pages lie on the grid: which page holds a cell, and the outline of a set of pages. NumPy only, any thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mdstudio.app.plots.raster import GridRaster
from mdstudio.engine.model import Array
from mdstudio.engine.requests import PageRef


@dataclass(frozen=True)
class PageLattice:
    """A grid cut by the borders of its pages.

    Attributes:
        row_breaks, column_breaks: ascending grid indices where some page begins or ends.
        pages: (row intervals, column intervals) int32, the entry that holds the part, -1 for none. An entry is the
            number of the rectangle's page in the arrays that the lattice was made from.
    """

    row_breaks: Array
    column_breaks: Array
    pages: Array

    def at(self, rows: Array, columns: Array) -> Array:
        """Entries of the cells (rows[i], columns[i]), arrays of one shape; -1 where no page is."""
        i = np.searchsorted(self.row_breaks, rows, side="right") - 1
        j = np.searchsorted(self.column_breaks, columns, side="right") - 1
        height, width = self.pages.shape
        inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
        return np.where(inside, self.pages[np.clip(i, 0, height - 1), np.clip(j, 0, width - 1)], -1)

    def page_at(self, row: int, column: int) -> int:
        return int(self.at(np.asarray([row]), np.asarray([column]))[0])

    def on_screen(self, raster: GridRaster, xs: Array, ys: Array) -> Array:
        """(ys, xs) entries under a lattice of places; the cost is that of the screen, not of the grid."""
        if raster.x_axis is not None and raster.y_axis is not None:
            rows, columns = raster.y_axis.find_all(ys), raster.x_axis.find_all(xs)
            i = np.searchsorted(self.row_breaks, rows, side="right") - 1
            j = np.searchsorted(self.column_breaks, columns, side="right") - 1
            height, width = self.pages.shape
            found = self.pages[np.clip(i, 0, height - 1)][:, np.clip(j, 0, width - 1)]
            found[(rows < 0) | (i >= height)] = -1
            found[:, (columns < 0) | (j >= width)] = -1
            return np.asarray(found)
        numbers = raster.cells_at(xs, ys)
        rows, columns = np.divmod(numbers, raster.shape[1])
        return np.where(numbers >= 0, self.at(rows, columns), -1)


def page_lattice(row0: Array, row1: Array, column0: Array, column1: Array, entries: Array | None = None) -> PageLattice:
    """The lattice of rectangles of cells (stops excluded); `entries` names the page of each, default its own number."""
    names = np.arange(row0.size) if entries is None else np.asarray(entries)
    row_breaks = np.unique(np.concatenate([row0, row1])).astype(np.int64)
    column_breaks = np.unique(np.concatenate([column0, column1])).astype(np.int64)
    if row_breaks.size < 2 or column_breaks.size < 2:
        return PageLattice(np.array([0, 1]), np.array([0, 1]), np.full((1, 1), -1, np.int32))
    pages = np.full((row_breaks.size - 1, column_breaks.size - 1), -1, np.int32)
    top, bottom = np.searchsorted(row_breaks, row0), np.searchsorted(row_breaks, row1)
    left, right = np.searchsorted(column_breaks, column0), np.searchsorted(column_breaks, column1)
    single = (bottom - top == 1) & (right - left == 1)
    pages[top[single], left[single]] = names[single]
    for k in np.flatnonzero(~single):
        pages[top[k]:bottom[k], left[k]:right[k]] = names[k]
    return PageLattice(row_breaks, column_breaks, pages)


def touched(pages: Sequence[PageRef], raster: GridRaster) -> tuple[PageLattice, PageShape]:
    """Lattice and shape of an explain record; the last ones are kept, since every time step touches the same pages."""
    return _touched(_table(pages).tobytes(), raster)


def _table(pages: Sequence[PageRef]) -> Array:
    return np.array([(*p.rows, *p.columns) for p in pages], np.int64).reshape(-1, 4)


@lru_cache(maxsize=4)
def _touched(table: bytes, raster: GridRaster) -> tuple[PageLattice, PageShape]:
    rects = np.frombuffer(table, np.int64).reshape(-1, 4)
    lattice = page_lattice(rects[:, 0], rects[:, 1], rects[:, 2], rects[:, 3])
    return lattice, page_shape(lattice, raster)


@dataclass(frozen=True)
class PageShape:
    """A set of pages in coordinates.

    Attributes:
        areas: (n, 4) x0, y0, x1, y1 of rectangles that fill the union without overlap.
        outline: (m, 4) x0, y0, x1, y1 of the lines around the union.
        borders: (k, 4) lines between pages of the set.
    """

    areas: Array
    outline: Array
    borders: Array


def page_shape(lattice: PageLattice, raster: GridRaster) -> PageShape:
    """The union of all pages of a lattice, drawn along their cells' edges."""
    if raster.x_axis is not None and raster.y_axis is not None:
        ys = np.array([raster.y_axis.boundary(int(b)) for b in lattice.row_breaks])
        xs = np.array([raster.x_axis.boundary(int(b)) for b in lattice.column_breaks])
        pages = lattice.pages
        if ys[0] < ys[-1]:
            ys, pages = ys[::-1], pages[::-1]
        if xs[0] > xs[-1]:
            xs, pages = xs[::-1], pages[:, ::-1]
    else:
        height, width = raster.size
        x0, y0, x1, y1 = raster.extent
        xs, ys = np.linspace(x0, x1, width + 1), np.linspace(y1, y0, height + 1)
        pages = lattice.on_screen(raster, (xs[:-1] + xs[1:]) / 2, (ys[:-1] + ys[1:]) / 2)
    held = pages >= 0
    areas = _runs(held)
    rows = np.pad(held, ((1, 1), (0, 0)))
    columns = np.pad(held, ((0, 0), (1, 1)))
    outline = _lines(rows[:-1] != rows[1:], columns[:, :-1] != columns[:, 1:], xs, ys)
    across = np.zeros((held.shape[0] + 1, held.shape[1]), bool)
    down = np.zeros((held.shape[0], held.shape[1] + 1), bool)
    across[1:-1] = held[:-1] & held[1:] & (pages[:-1] != pages[1:])
    down[:, 1:-1] = held[:, :-1] & held[:, 1:] & (pages[:, :-1] != pages[:, 1:])
    return PageShape(np.column_stack([xs[areas[:, 1]], ys[areas[:, 0] + 1], xs[areas[:, 2]], ys[areas[:, 0]]]),
                     outline, _lines(across, down, xs, ys))


def _runs(flags: Array) -> Array:
    """(n, 3) row, start, stop of the runs of True along the rows."""
    padded = np.pad(flags, ((0, 0), (1, 1))).astype(np.int8)
    change = np.diff(padded, axis=1)
    rows, starts = np.nonzero(change == 1)
    _, stops = np.nonzero(change == -1)
    return np.column_stack([rows, starts, stops])


def _lines(across: Array, down: Array, xs: Array, ys: Array) -> Array:
    """Lines where `across` (rows + 1, columns) or `down` (rows, columns + 1) is set, neighbours joined."""
    level = _runs(across)
    upright = _runs(down.T)
    return np.concatenate([
        np.column_stack([xs[level[:, 1]], ys[level[:, 0]], xs[level[:, 2]], ys[level[:, 0]]]),
        np.column_stack([xs[upright[:, 0]], ys[upright[:, 1]], xs[upright[:, 0]], ys[upright[:, 2]]]),
    ])
