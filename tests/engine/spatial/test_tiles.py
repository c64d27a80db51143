"""Tiles of a grid: order, clipping, and which pages hold which cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdstudio.engine.errors import UsageError
from mdstudio.engine.spatial.tiles import TileGrid


def quad_tree_walk(rows: int, columns: int, width: int) -> list[tuple[int, int, int, int]]:
    """The stored order as the format says it: a recursive walk over the enclosing power-of-two square."""
    tile_rows, tile_columns = -(-rows // width), -(-columns // width)
    side = 1
    while side < max(tile_rows, tile_columns):
        side *= 2
    found: list[tuple[int, int, int, int]] = []

    def walk(row: int, column: int, size: int) -> None:
        if row >= tile_rows or column >= tile_columns:
            return
        if size == 1:
            row0, column0 = row * width, column * width
            found.append((row0, min(rows, row0 + width), column0, min(columns, column0 + width)))
            return
        half = size // 2
        for r in (row, row + half):
            for c in (column, column + half):
                walk(r, c, half)

    walk(0, 0, side)
    return found


SIZES = st.tuples(st.integers(1, 90), st.integers(1, 90), st.integers(1, 20))


@pytest.mark.rule("P1")
@settings(deadline=None)
@given(SIZES)
def test_pages_follow_the_quad_tree_and_are_clipped_at_the_edges(size: tuple[int, int, int]) -> None:
    grid = TileGrid(*size)
    pages = list(zip(grid.row0.tolist(), grid.row1.tolist(), grid.column0.tolist(), grid.column1.tolist(), strict=True))
    assert pages == quad_tree_walk(*size)
    assert grid.pages == len(pages)
    assert int(grid.cells().sum()) == size[0] * size[1]


@settings(deadline=None)
@given(SIZES, st.data())
def test_pages_of_are_those_that_hold_any_cell_of_the_cross_product(
    size: tuple[int, int, int], data: st.DataObject
) -> None:
    rows, columns, width = size
    grid = TileGrid(rows, columns, width)
    some_rows = data.draw(st.lists(st.integers(0, rows - 1), max_size=8))
    some_columns = data.draw(st.lists(st.integers(0, columns - 1), max_size=8))
    expected = sorted({grid.page_at(r, c) for r in some_rows for c in some_columns})
    assert grid.pages_of(np.array(some_rows, np.int64), np.array(some_columns, np.int64)).tolist() == expected


@settings(deadline=None)
@given(SIZES, st.data())
def test_page_at_is_the_page_whose_range_holds_the_cell(size: tuple[int, int, int], data: st.DataObject) -> None:
    grid = TileGrid(*size)
    row, column = data.draw(st.integers(0, size[0] - 1)), data.draw(st.integers(0, size[1] - 1))
    page = grid.page_at(row, column)
    assert grid.row0[page] <= row < grid.row1[page]
    assert grid.column0[page] <= column < grid.column1[page]


@pytest.mark.rule("D5")
@pytest.mark.parametrize("width", [1, 46_340])
def test_any_width_whose_tile_an_int32_counts_is_taken(width: int) -> None:
    assert TileGrid(30, 40, width).pages == (1200 if width == 1 else 1)


@pytest.mark.rule("D5")
@pytest.mark.parametrize("size", [(30, 40, 0), (30, 40, 46_341), (0, 40, 16), (30, -1, 16), (2**31, 2**31, 16)])
def test_impossible_grids_are_refused(size: tuple[int, int, int]) -> None:
    with pytest.raises(UsageError):
        TileGrid(*size)


def test_cells_outside_the_grid_are_refused() -> None:
    grid = TileGrid(30, 40, 16)
    for row, column in ((-1, 0), (30, 0), (0, 40)):
        with pytest.raises(UsageError, match="not all in the grid"):
            grid.page_at(row, column)


def test_a_million_tiles_are_no_trouble() -> None:
    grid = TileGrid(1000, 1000, 1)
    assert grid.pages == 1_000_000
    assert grid.page_at(999, 999) == 999_999
    assert grid.pages_of(np.arange(1000), np.arange(1000)).size == 1_000_000
