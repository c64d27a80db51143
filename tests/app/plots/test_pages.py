"""Pages on the grid: which one holds a cell, what their union looks like."""

import numpy as np
import pytest

from mdstudio.app.plots.pages import page_lattice, page_shape, touched
from mdstudio.app.plots.raster import grid_raster
from mdstudio.engine.requests import PageRef
from mdstudio.engine.spatial.grid import GridGeometry
from tests.app.plots.fields import regular, turned_grid


def tiles(rows, columns, width):
    boxes = [(r, min(r + width, rows), c, min(c + width, columns))
             for r in range(0, rows, width) for c in range(0, columns, width)]
    return (np.array(part) for part in zip(*boxes, strict=True))


@pytest.mark.rule("G4")
def test_each_cell_is_in_the_page_that_holds_it():
    lattice = page_lattice(*tiles(21, 33, 8))
    for row in range(21):
        for column in range(33):
            assert lattice.page_at(row, column) == row // 8 * 5 + column // 8
    assert lattice.page_at(21, 0) == -1


def test_a_block_of_parts_of_rows_is_one_page():
    lattice = page_lattice(np.array([0, 1, 2, 2]), np.array([1, 2, 3, 3]), np.array([0, 0, 0, 3]),
                           np.array([8, 8, 3, 8]), np.array([0, 0, 0, 1]))
    assert [lattice.page_at(2, c) for c in range(8)] == [0, 0, 0, 1, 1, 1, 1, 1]
    assert lattice.page_at(1, 7) == 0


@pytest.mark.rule("G6")
@pytest.mark.parametrize("y", [np.arange(4.0), np.arange(4.0)[::-1]], ids=["northward", "southward"])
def test_the_outline_runs_around_the_union_and_nowhere_inside(y):
    raster = grid_raster(GridGeometry(regular(np.arange(6.0), y)))
    pages = [PageRef("b", 0, 0, 1, (0, 2), (0, 2)), PageRef("b", 1, 0, 1, (0, 2), (2, 4)),
             PageRef("b", 2, 0, 1, (2, 4), (0, 2))]
    _, shape = touched(pages, raster)
    length = np.abs(shape.outline[:, 2] - shape.outline[:, 0]) + np.abs(shape.outline[:, 3] - shape.outline[:, 1])
    assert length.sum() == pytest.approx(4 + 2 + 2 + 2 + 2 + 4)
    area = np.abs((shape.areas[:, 2] - shape.areas[:, 0]) * (shape.areas[:, 3] - shape.areas[:, 1]))
    assert area.sum() == pytest.approx(12.0)
    inner = np.abs(shape.borders[:, 2] - shape.borders[:, 0]) + np.abs(shape.borders[:, 3] - shape.borders[:, 1])
    assert inner.sum() == pytest.approx(4.0)
    rows = {0: y[0] - np.sign(y[1] - y[0]) / 2}
    assert rows[0] in shape.outline[:, [1, 3]]


def test_pages_of_a_curvilinear_grid_are_outlined_along_its_cells():
    raster = grid_raster(GridGeometry(turned_grid()))
    shape = page_shape(page_lattice(*tiles(30, 40, 10)), raster)
    x0, y0, x1, y1 = raster.extent
    pixel = (x1 - x0) * (y1 - y0) / raster.ids.size
    area = ((shape.areas[:, 2] - shape.areas[:, 0]) * (shape.areas[:, 3] - shape.areas[:, 1])).sum()
    assert area == pytest.approx(np.count_nonzero(raster.ids >= 0) * pixel)


def test_a_million_pages_are_laid_out_at_once():
    rows, columns = np.divmod(np.arange(1_000_000), 1000)
    lattice = page_lattice(rows, rows + 1, columns, columns + 1)
    assert lattice.page_at(999, 998) == 999_998
