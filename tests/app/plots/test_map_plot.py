"""The map on the screen: the pixels show the cells that lie there, the pointer reads the array."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from mdstudio.app import colormaps
from mdstudio.app.plots.frames import frame_of
from mdstudio.app.plots.hud import ExplainNote
from mdstudio.app.plots.map_plot import MapPlot
from mdstudio.app.plots.overlays import Pin
from mdstudio.app.plots.picture import Colouring, make_picture
from tests.app.plots.fields import CORNERS, corner_marked, picture_of, regular, turned_grid

TABLE = colormaps.argb("viridis")


@pytest.fixture
def plot(qtbot):
    widget = MapPlot()
    qtbot.addWidget(widget)
    widget.resize(620, 460)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def show(plot, domain, values, colouring=None):
    picture = picture_of(domain, values, colouring)
    plot.set_picture(picture, frame_of(domain, picture.raster))
    return picture


def colour_at(plot, x, y):
    """0xAARRGGBB of the pixel at a place, as it was painted."""
    place = plot.screen_place(x, y)
    image = plot.grab().toImage()
    return image.pixel(round(place.x()), round(place.y())) & 0xFFFFFFFF


def colour_of(value, low, high):
    return int(TABLE[min(255, int((value - low) / (high - low) * 256))])


@pytest.mark.rule("G5")
@pytest.mark.parametrize("x", [np.arange(2.0, 9.0), np.arange(2.0, 9.0)[::-1]], ids=["eastward", "westward"])
@pytest.mark.parametrize("y", [np.arange(40.0, 45.0), np.arange(40.0, 45.0)[::-1]], ids=["northward", "southward"])
def test_the_four_corners_are_painted_where_they_lie(plot, x, y):
    domain = regular(x, y)
    show(plot, domain, corner_marked(domain))
    places = {"north-west": (2.0, 44.0), "north-east": (8.0, 44.0),
              "south-west": (2.0, 40.0), "south-east": (8.0, 40.0)}
    for name, (east, north) in places.items():
        assert colour_at(plot, east + 0.2, north + 0.2) == colour_of(CORNERS[name], 0.0, 40.0), name
    assert colour_at(plot, 5.2, 42.2) == colour_of(0.0, 0.0, 40.0)
    left, right = plot.screen_place(2.0, 44.0), plot.screen_place(8.0, 40.0)
    assert left.x() < right.x()
    assert left.y() < right.y()  # north is up


@pytest.mark.rule("G5")
def test_every_cell_has_the_colour_of_its_value(plot):
    domain = regular(np.array([0.0, 1.0, 3.0, 4.0, 8.0]), np.array([10.0, 9.0, 7.0, 6.5]))
    values = np.arange(20.0).reshape(4, 5)
    values[1, 2] = np.nan
    picture = show(plot, domain, values)
    image = plot.grab().toImage()
    for row in range(4):
        for column in range(5):
            x0, x1 = picture.raster.x_axis.span(column, column + 1)
            y0, y1 = picture.raster.y_axis.span(row, row + 1)
            place = plot.screen_place(x0 + 0.4 * (x1 - x0), y0 + 0.4 * (y1 - y0))
            shown = image.pixel(round(place.x()), round(place.y())) & 0xFFFFFFFF
            if row == 1 and column == 2:
                assert shown == 0xFFF3F5F8  # no data is the background
            else:
                assert shown == colour_of(values[row, column], 0.0, 19.0), (row, column)


@pytest.mark.rule("G5")
@pytest.mark.parametrize("domain", [regular(np.arange(30.0), np.arange(20.0)[::-1]), turned_grid()],
                         ids=["regular", "curvilinear"])
def test_the_value_under_the_pointer_is_that_of_the_array(plot, qtbot, domain):
    values = np.random.default_rng(2).normal(size=(domain.rows, domain.columns))
    picture = show(plot, domain, values)
    probed = []
    plot.value_probed.connect(probed.append)
    rng = np.random.default_rng(5)
    for _ in range(25):
        row, column = int(rng.integers(domain.rows)), int(rng.integers(domain.columns))
        x, y = picture.raster.cell_centre(row, column)
        QTest.mouseMove(plot.view.viewport(), plot.screen_place(x, y).toPoint())
        qtbot.waitUntil(lambda cell=(row, column): plot.cell == cell)
        assert probed[-1] == values[row, column]
        note = plot.readout((row, column))
        assert f"row {row}, column {column}" in note.cell
        assert f"page {row // 8 * -(-domain.columns // 8) + column // 8}" in note.cell


def test_leaving_the_map_forgets_the_pointer(plot, qtbot):
    domain = regular(np.arange(30.0), np.arange(20.0))
    show(plot, domain, np.zeros((20, 30)))
    plot.probe_cell((3, 4))
    QTest.mouseMove(plot.view.viewport(), QPoint(3, 3))
    qtbot.waitUntil(lambda: plot.cell is None)


@pytest.mark.rule("G5")
@pytest.mark.parametrize("y", [np.arange(20.0), np.arange(20.0)[::-1]], ids=["northward", "southward"])
def test_arrow_keys_move_the_probe_as_the_picture_lies(plot, y):
    show(plot, regular(np.arange(30.0), y), np.zeros((20, 30)))
    plot.setFocus()
    plot.probe_cell((10, 10))
    QTest.keyClick(plot, Qt.Key.Key_Down)
    assert y[plot.cell[0]] == y[10] - 1  # south
    QTest.keyClick(plot, Qt.Key.Key_Right)
    assert plot.cell[1] == 11
    clicks = []
    plot.clicked.connect(lambda x, y: clicks.append((x, y)))
    QTest.keyClick(plot, Qt.Key.Key_Return)
    assert clicks == [(11.0, y[plot.cell[0]])]


def test_zoom_ends_at_a_few_cells_and_fit_comes_back(plot):
    show(plot, regular(np.arange(300.0) / 10, np.arange(200.0) / 10), np.zeros((200, 300)))
    whole = plot.box.viewRect()
    for _ in range(60):
        QTest.keyClick(plot, Qt.Key.Key_Plus)
    assert 0.2 < plot.box.viewRect().width() < 3
    QTest.keyClick(plot, Qt.Key.Key_0)
    assert plot.box.viewRect().width() == pytest.approx(whole.width(), rel=1e-3)
    plot.resize(500, 500)
    assert plot.box.fitted


def test_a_new_time_step_keeps_the_view(plot):
    domain = regular(np.arange(30.0), np.arange(20.0))
    picture = show(plot, domain, np.zeros((20, 30)))
    plot.box.zoom(3)
    before = plot.box.viewRect()
    plot.set_picture(make_picture(picture.result, picture.raster, Colouring("ember")), plot.frame)
    assert plot.box.viewRect() == before


@pytest.mark.rule("G5")
def test_a_drag_with_the_rectangle_tool_asks_for_its_places(plot, qtbot):
    show(plot, regular(np.arange(30.0), np.arange(20.0)), np.zeros((20, 30)))
    plot.set_tool("rectangle")
    asked = []
    plot.rectangle_drawn.connect(asked.append)
    port = plot.view.viewport()
    start, end = plot.screen_place(20.0, 15.0).toPoint(), plot.screen_place(8.0, 5.0).toPoint()
    QTest.mousePress(port, Qt.MouseButton.LeftButton, pos=start)
    for part in (0.3, 0.6, 1.0):
        QTest.mouseMove(port, start + (end - start) * part)
        QTest.qWait(20)
    QTest.mouseRelease(port, Qt.MouseButton.LeftButton, pos=end)
    qtbot.waitUntil(lambda: len(asked) == 1)
    assert asked[0] == pytest.approx((8.0, 5.0, 20.0, 15.0), abs=0.2)


def test_a_click_tells_its_place(plot, qtbot):
    show(plot, regular(np.arange(30.0), np.arange(20.0)), np.zeros((20, 30)))
    plot.set_tool("point")
    clicks = []
    plot.clicked.connect(lambda x, y: clicks.append((x, y)))
    QTest.mouseClick(plot.view.viewport(), Qt.MouseButton.LeftButton, pos=plot.screen_place(12.0, 7.0).toPoint())
    qtbot.waitUntil(lambda: len(clicks) == 1)
    assert clicks[0] == pytest.approx((12.0, 7.0), abs=0.1)


@pytest.mark.rule("G6")
def test_touched_pages_are_outlined_in_the_explain_colour(plot, theme):
    domain = regular(np.arange(24.0), np.arange(16.0))
    picture = show(plot, domain, np.zeros((16, 24)))
    plot.set_explain(ExplainNote("rectangle", 6, 2, 4096, 100, 50, 20), picture.touched)
    edge = plot.screen_place(picture.raster.extent[2], 8.0)
    image = plot.grab().toImage()
    near = {image.pixel(round(edge.x()) + d, round(edge.y())) & 0xFFFFFF for d in range(-3, 4)}
    assert int(theme.hex("explain")[1:], 16) in near
    assert 0xFFFFFF in near  # doubled by white, so that it shows on any colour
    plot.set_explain(None, None)
    image = plot.grab().toImage()
    assert int(theme.hex("explain")[1:], 16) not in {
        image.pixel(round(edge.x()) + d, round(edge.y())) & 0xFFFFFF for d in range(-3, 4)}


def test_empty_and_flat_fields_are_shown_without_complaint(plot):
    domain = regular(np.arange(5.0), np.arange(4.0))
    show(plot, domain, np.full((4, 5), np.nan))
    assert {colour_at(plot, 2.2 + step / 100, 2.2) for step in range(50)} == {0xFFF3F5F8, 0xFFC5CCD6}  # hatched
    assert colour_at(plot, 4.53, 2.2) == 0xFFF3F5F8  # no cell
    assert plot.readout((0, 0)).value == "no data"
    show(plot, domain, np.full((4, 5), 7.0))
    assert colour_at(plot, 2.2, 2.2) == int(TABLE[128])


def test_a_large_grid_is_smooth_from_afar_and_exact_from_near(plot):
    domain = regular(np.arange(1500.0) / 50, np.arange(1200.0) / 60)
    values = (np.indices((1200, 1500)).sum(axis=0) % 2).astype(np.float64)  # a chessboard
    picture = show(plot, domain, values)
    assert len(picture.levels) > 1
    far = {colour_at(plot, 15.0 + d, 10.0) for d in (0.0, 1.0, 2.0)}
    assert not far & {int(TABLE[0]), int(TABLE[255])}  # a mixture
    plot.box.setRange(xRange=(10.0, 10.2), padding=0)
    for column in (503, 504):
        assert colour_at(plot, column / 50 + 0.002, 10.002) == colour_of(values[600, column], 0.0, 1.0)


@pytest.mark.rule("G5")
@pytest.mark.parametrize("turn", [1, -1], ids=["eastward", "westward"])
@pytest.mark.parametrize("flip", [1, -1], ids=["northward", "southward"])
def test_quarters_of_a_large_grid_lie_right_from_afar(plot, turn, flip):
    x, y = np.arange(1000.0)[::turn] / 100, np.arange(900.0)[::flip] / 100
    values = 10.0 * (x[None, :] > 5) + 20.0 * (y[:, None] > 4.5)
    show(plot, regular(x, y), values)
    for east, north, value in ((2.37, 2.2, 0.0), (7.37, 2.2, 10.0), (2.37, 7.2, 20.0), (7.37, 7.2, 30.0)):
        assert colour_at(plot, east, north) == colour_of(value, 0.0, 30.0)


def test_a_change_of_scheme_restyles_what_is_shown(plot, theme):
    show(plot, regular(np.arange(5.0), np.arange(4.0)), np.full((4, 5), np.nan))
    plot.set_pins((Pin("A", "s1", 2.0, 2.0, "no data"),))
    theme.set_mode("dark")
    assert colour_at(plot, 0.2, 0.2) == 0xFF000000 | int(theme.hex("sunken")[1:], 16)


def test_a_map_can_be_destroyed_while_it_shows_something(qtbot):
    widget = MapPlot()
    widget.show()
    domain = regular(np.arange(5.0), np.arange(4.0))
    picture = picture_of(domain, np.zeros((4, 5)))
    widget.set_picture(picture, frame_of(domain, picture.raster))
    with qtbot.waitSignal(widget.destroyed):
        widget.deleteLater()
