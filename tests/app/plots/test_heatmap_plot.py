"""The heatmap of pages: no gap, the right page under the pointer, a click selects it."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from mdstudio.app.plots.frames import frame_of
from mdstudio.app.plots.heatmap_plot import HeatmapPlot
from mdstudio.app.plots.pages import page_lattice
from mdstudio.app.plots.raster import grid_raster
from mdstudio.engine.spatial.grid import GridGeometry
from tests.app.plots.fields import regular, turned_grid

RED, BLUE = np.uint32(0xFFFF0000), np.uint32(0xFF0000FF)


def squares(rows, columns, width):
    boxes = np.array([(r, min(r + width, rows), c, min(c + width, columns))
                      for r in range(0, rows, width) for c in range(0, columns, width)])
    return page_lattice(*boxes.T), len(boxes)


@pytest.fixture
def plot(qtbot):
    widget = HeatmapPlot(lambda entry: (f"Page {entry}", "two lines"))
    qtbot.addWidget(widget)
    widget.resize(500, 400)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def show(plot, domain, width, colours=None):
    raster = grid_raster(GridGeometry(domain))
    lattice, count = squares(domain.rows, domain.columns, width)
    plot.set_pages(lattice, raster, frame_of(domain, raster), np.full(count, RED) if colours is None else colours)
    return lattice, raster, count


def inner_pixels(plot, raster):
    """The painted pixels of the grid as an array, and its edges in them."""
    image = plot.grab().toImage()
    shown = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.bytesPerLine() // 4)
    x0, y0, x1, y1 = raster.extent
    low, high = plot.screen_place(x0, y1), plot.screen_place(x1, y0)
    return shown[round(low.y()) + 3:round(high.y()) - 3, round(low.x()) + 3:round(high.x()) - 3] | 0xFF000000


@pytest.mark.rule("G4")
@pytest.mark.parametrize("size", [(500, 400), (633, 421), (419, 377)])
def test_small_pages_meet_without_a_gap(plot, size):
    plot.resize(*size)
    _, raster, _ = show(plot, regular(np.arange(400.0) / 10, np.arange(300.0) / 10), 4)
    assert (inner_pixels(plot, raster) == RED).all()


@pytest.mark.rule("G4")
@pytest.mark.parametrize("size", [(500, 400), (633, 421)])
def test_large_pages_are_parted_by_exactly_one_pixel(plot, size):
    plot.resize(*size)
    _, raster, _ = show(plot, regular(np.arange(32.0), np.arange(24.0)), 8)
    pixels = inner_pixels(plot, raster)
    middle = pixels[pixels.shape[0] // 2 + 5]
    lines = np.flatnonzero(middle != RED)
    assert lines.size == 3  # 4 pages across
    assert (np.diff(lines) > 20).all()


@pytest.mark.rule("G4")
@pytest.mark.parametrize("domain", [regular(np.arange(32.0), np.arange(24.0)[::-1]), turned_grid(24, 32)],
                         ids=["regular", "curvilinear"])
def test_a_click_selects_the_page_that_holds_the_place(plot, qtbot, domain):
    lattice, raster, _ = show(plot, domain, 8)
    chosen = []
    plot.page_selected.connect(chosen.append)
    for row, column in ((3, 3), (20, 12), (12, 30)):
        place = plot.screen_place(*raster.cell_centre(row, column)).toPoint()
        QTest.mouseMove(plot.view.viewport(), place)
        QTest.mouseClick(plot.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
        qtbot.waitUntil(lambda row=row, column=column: bool(chosen) and chosen[-1] == lattice.page_at(row, column))
        assert plot.heatmap.selected == lattice.page_at(row, column)
    assert plot._tip.lines[0] == f"Page {chosen[-1]}"


@pytest.mark.rule("G4")
def test_a_page_of_no_data_is_no_colour_of_the_ramp(plot, theme):
    domain = regular(np.arange(16.0), np.arange(8.0))
    _, raster, _ = show(plot, domain, 8, np.array([0, RED], np.uint32))
    place = plot.screen_place(*raster.cell_centre(4, 4))
    shown = plot.grab().toImage().pixel(round(place.x()), round(place.y()))
    assert shown == 0xFF000000 | int(theme.hex("nodata")[1:], 16)


def test_other_colours_on_the_same_pages_are_painted(plot):
    _, raster, count = show(plot, regular(np.arange(16.0), np.arange(8.0)), 8)
    assert (inner_pixels(plot, raster)[:, 5] == RED).all()
    plot.heatmap.set_colours(np.full(count, BLUE))
    assert (inner_pixels(plot, raster)[:, 5] == BLUE).all()


def test_a_million_pages_are_shown(plot):
    domain = regular(np.arange(1000.0) / 10, np.arange(1000.0) / 20)
    rows, columns = np.divmod(np.arange(1_000_000), 1000)
    raster = grid_raster(GridGeometry(domain))
    plot.set_pages(page_lattice(rows, rows + 1, columns, columns + 1), raster, frame_of(domain, raster),
                   np.full(1_000_000, RED))
    assert (inner_pixels(plot, raster) == RED).all()


def test_a_heatmap_can_be_destroyed(qtbot):
    widget = HeatmapPlot(lambda entry: ("", ""))
    show(widget, regular(np.arange(16.0), np.arange(8.0)), 8)
    widget.show()
    with qtbot.waitSignal(widget.destroyed):
        widget.deleteLater()
