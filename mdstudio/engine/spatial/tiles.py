"""The pages of a grid: tiles of `width` x `width` cells in the stored quad-tree order, clipped at the edges (P1)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Array

MAX_TILE_WIDTH = 46_340  # the widest tile whose cells an int32 counts (D5)
MAX_PAGES = 2**26  # of one slice; far above what anybody stores, far below what exhausts the memory


@dataclass(frozen=True)
class TileGrid:
    """The tiles of a grid of `rows` x `columns` cells.

    The stored order is the depth-first walk of the quad tree over the smallest enclosing power-of-two square of tiles,
    children in the order (row 0, column 0), (row 0, column 1), (row 1, column 0), (row 1, column 1): ascending Morton
    code of (tile row, tile column) with the column in the even bits. Tiles outside the grid do not exist.

    Attributes:
        row0, row1, column0, column1: (pages,) int64, half-open cell ranges of each page in stored order.

    Raises `UsageError` for an empty grid or a width outside 1-46 340 (D5). Cost: some 0.3 s for a million tiles.
    """

    rows: int
    columns: int
    width: int
    row0: Array = field(init=False, repr=False, compare=False)
    row1: Array = field(init=False, repr=False, compare=False)
    column0: Array = field(init=False, repr=False, compare=False)
    column1: Array = field(init=False, repr=False, compare=False)
    _page: Array = field(init=False, repr=False, compare=False)  # (tile rows, tile columns) -> page

    def __post_init__(self) -> None:
        if self.rows < 1 or self.columns < 1:
            raise UsageError(f"A grid of {self.rows} x {self.columns} cells has no tiles.")
        if not 1 <= self.width <= MAX_TILE_WIDTH:
            raise UsageError(f"A tile width of {self.width} is outside 1-{MAX_TILE_WIDTH}.")
        tile_rows, tile_columns = -(-self.rows // self.width), -(-self.columns // self.width)
        if tile_rows * tile_columns > MAX_PAGES:
            raise UsageError(f"{self.rows} x {self.columns} cells in tiles of width {self.width} are more than the "
                             f"{MAX_PAGES} tiles that are possible.")
        row_code = _spread(np.arange(tile_rows, dtype=np.uint64)) << np.uint64(1)
        code = (row_code[:, None] | _spread(np.arange(tile_columns, dtype=np.uint64))).ravel()
        order = np.argsort(code)
        page = np.empty(order.size, np.int64)
        page[order] = np.arange(order.size)
        row0, column0 = (part * self.width for part in divmod(order, tile_columns))
        self._keep("row0", row0)
        self._keep("row1", np.minimum(row0 + self.width, self.rows))
        self._keep("column0", column0)
        self._keep("column1", np.minimum(column0 + self.width, self.columns))
        self._keep("_page", page.reshape(tile_rows, tile_columns))

    def _keep(self, name: str, values: Array) -> None:
        values.setflags(write=False)
        object.__setattr__(self, name, values)

    @property
    def pages(self) -> int:
        """Pages of one timestep of one layer."""
        return int(self._page.size)

    def cells(self) -> Array:
        """(pages,) int64: cells of each page."""
        cells: Array = (self.row1 - self.row0) * (self.column1 - self.column0)
        return cells

    def pages_of(self, rows: Array, columns: Array) -> Array:
        """Sorted int64 page numbers of the tiles that hold any (row, column) of the cross product of two index lists.

        Indices outside the grid raise `UsageError`.
        """
        tile_rows = self._tiles(rows, self.rows, "row")
        tile_columns = self._tiles(columns, self.columns, "column")
        return np.sort(self._page[np.ix_(tile_rows, tile_columns)], axis=None)

    def pages_at(self, rows: Array, columns: Array) -> Array:
        """(n,) int64 page of each cell (rows[i], columns[i]); `UsageError` outside the grid."""
        for values, limit, what in ((rows, self.rows, "row"), (columns, self.columns, "column")):
            _check(values, limit, what)
        pages: Array = self._page[np.asarray(rows) // self.width, np.asarray(columns) // self.width]
        return pages

    def page_at(self, row: int, column: int) -> int:
        """The page that holds one cell; `UsageError` outside the grid."""
        return int(self.pages_at(np.asarray([row]), np.asarray([column]))[0])

    def _tiles(self, indices: Array, limit: int, what: str) -> Array:
        _check(indices, limit, what)
        return np.unique(np.asarray(indices, np.int64) // self.width)


def _check(indices: Array, limit: int, what: str) -> None:
    values = np.asarray(indices)
    if values.size and (values.min() < 0 or values.max() >= limit):
        raise UsageError(f"The {what}s {values.min()} .. {values.max()} are not all in the grid of {limit} {what}s.")


def _spread(values: Array) -> Array:
    """Put each of the 32 low bits of uint64 values into the even bits."""
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF), (8, 0x00FF00FF00FF00FF), (4, 0x0F0F0F0F0F0F0F0F), (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        values = (values | (values << np.uint64(shift))) & np.uint64(mask)
    return values
