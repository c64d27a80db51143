"""The Map over a real dataset: what is on the screen is what the dataset holds; reads come and go without blocking."""

import threading

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from mdstudio.app import formats
from mdstudio.app.views.map_view import MapView
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.requests import MapRequest
from tests.app.views.made import COLUMNS, ROWS, TIMES, X, Y, arrays


@pytest.fixture
def view(opened):
    return opened.show(MapView)


@pytest.mark.rule("G5")
def test_the_slice_on_the_screen_is_that_of_the_dataset(view, opened):
    values = arrays()["t"][0, 0].astype(np.float64)
    np.testing.assert_array_equal(view.picture.result.values, values)
    assert view.picture.shown == (np.nanmin(values), np.nanmax(values))
    assert view.picture.numbers.no_data == 256
    opened.session.select(time=3)
    opened.rest()
    np.testing.assert_array_equal(view.picture.result.values, arrays()["t"][3, 0].astype(np.float64))
    assert view.time_bar.label.text() == "1 Mar 2095"


@pytest.mark.rule("G5")
def test_items_and_layers_are_followed_and_a_hot_cell_sets_the_range(view, opened):
    opened.session.select(item="depth")
    opened.session.select(layer=1)
    opened.session.select(time=2)
    opened.rest()
    assert view.picture.result.request.layer == 1
    assert view.picture.shown[1] == pytest.approx(3000.0)
    assert view.bar.accessibleDescription().endswith("m")
    view.tools.mode.set_value("2–98 %")
    opened.rest()
    assert view.picture.shown[1] < 60


@pytest.mark.rule("G9")
def test_the_command_says_what_is_shown(view, opened):
    opened.session.select(item="depth")
    opened.session.select(time=2)
    view.set_rectangle((-3.0, 45.0, 4.0, 50.5))
    opened.rest()
    text = view.command_text()
    assert text.startswith(f"mdstudio query map {opened.session.location} --item=depth --time=2095-02-30T00:00:00")
    assert "--layer=0" in text
    assert "--bbox=-3,45,4,50.5" in text
    view.points.add(-1.5, 48.0)
    assert view.command_text().splitlines()[1] == (
        f"mdstudio query series {opened.session.location} --item=depth --layer=0 --point=-1.5,48 --explain")


@pytest.mark.rule("G9")
def test_the_command_runs_and_gives_the_same_numbers(view, opened, tmp_path, capsys):
    import json
    import shlex

    from mdstudio.cli.main import main

    view.set_rectangle((-3.0, 45.0, 4.0, 50.5))
    opened.rest()
    words = shlex.split(view.command_text())
    assert main([*words[1:], "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    numbers = view.rectangle.numbers
    assert (document["cells"], document["valid"]) == (numbers.cells, numbers.valid)
    assert (document["min"], document["max"]) == (numbers.minimum, numbers.maximum)
    assert document["pages_touched"] == view.rectangle.explain.pages_touched


@pytest.mark.rule("G5")
@pytest.mark.rule("G6")
def test_a_rectangle_gives_the_numbers_of_exactly_its_cells(view, opened):
    view.set_rectangle((4.1, 50.9, 12.4, 44.1))
    opened.rest()
    rows = np.flatnonzero((Y + 0.25 >= 44.1) & (Y - 0.25 <= 50.9))
    columns = np.flatnonzero((X + 0.25 >= 4.1) & (X - 0.25 <= 12.4))
    wanted = arrays()["t"][0, 0][np.ix_(rows, columns)].astype(np.float64)
    numbers = view.rectangle.numbers
    assert numbers.cells == wanted.size
    assert (numbers.minimum, numbers.maximum) == (np.nanmin(wanted), np.nanmax(wanted))
    assert view.panel.rectangle.isVisible()
    explain = view.rectangle.explain
    assert view.plot.hud._explain.pages == explain.pages_touched == len(explain.pages)
    assert view.panel.pages.table.table_model.rowCount() == len(explain.pages)
    opened.session.select(time=1)
    opened.rest()
    assert view.rectangle.result.request.time == 1
    view.set_rectangle(None)
    assert not view.panel.rectangle.isVisible()


def test_a_rectangle_outside_the_grid_says_why(view, opened):
    view.set_rectangle((100.0, 0.0, 110.0, 5.0))
    opened.rest()
    assert view.panel.rectangle.note.text()
    assert view.panel.rectangle.values["Min"].text() == "—"


@pytest.mark.rule("G5")
def test_a_pinned_point_shows_value_and_series(view, opened):
    view.tools.set_tool("point")
    view._pin(5.1, 50.1)
    view._pin(-9.9, 59.9)
    opened.rest()
    column, row = int(np.argmin(np.abs(X - 5.1))), int(np.argmin(np.abs(Y - 50.1)))
    wanted = arrays()["t"][:, 0, row, column].astype(np.float64)
    np.testing.assert_array_equal(view.series.result.values[:, 0], wanted)
    rows = view.panel.points.table.table_model.rows
    assert [cells[0].text for cells in rows] == ["A", "B"]
    assert rows[0][2].text == formats.number(wanted[0], digits=6)
    assert rows[1][2].text == "no data"
    view.setFocus()
    QTest.keyClick(view.plot, Qt.Key.Key_Delete)
    assert [point.letter for point in view.points.points] == ["A"]


def test_typed_coordinates_add_a_point(view, opened):
    view.panel.points.add.click()
    view.panel.points.entry.setText("nonsense")
    QTest.keyClick(view.panel.points.entry, Qt.Key.Key_Return)
    assert view.panel.points.entry.property("invalid")
    view.panel.points.entry.setText("50.1 N, 5.1 E")
    QTest.keyClick(view.panel.points.entry, Qt.Key.Key_Return)
    assert view.points.places() == ((5.1, 50.1),)
    opened.rest()


def test_a_locked_range_stays_over_time_and_goes_with_the_item(view, opened):
    view.tools.lock.setChecked(True)
    locked = view.picture.shown
    opened.session.select(time=1)
    opened.rest()
    assert view.picture.shown == locked
    assert view.picture.shown != (view.picture.numbers.minimum, view.picture.numbers.maximum)
    opened.session.select(item="depth")
    opened.rest()
    assert view.picture.shown == (view.picture.numbers.minimum, view.picture.numbers.maximum)
    view.tools.lock.setChecked(False)
    opened.rest()


def test_a_manual_range_is_used_as_typed(view, opened):
    view.tools.mode.set_value("Manual")
    view.tools.low.setText("270")
    view.tools.high.setText("abc")
    view.tools._manual_edited()
    assert view.tools.high.property("invalid")
    view.tools.high.setText("290")
    view.tools._manual_edited()
    opened.rest()
    assert view.picture.shown == (270.0, 290.0)
    view.tools.colours.setCurrentIndex(1)
    opened.rest()
    assert view.picture.colouring.name == "ember"


@pytest.mark.rule("G10")
def test_newest_wins_and_an_older_picture_is_marked(view, opened, monkeypatch, qtbot):
    gate, real = threading.Event(), opened.session.dataset.map

    def slow(request, progress=None):
        if request.time in (1, 2):
            gate.wait(20)
        return real(request, progress)

    monkeypatch.setattr(opened.session.dataset, "map", slow)
    opened.session.select(time=1)
    qtbot.waitUntil(lambda: view.stack.state == "stale", timeout=5000)
    assert "28 Feb 2095" in view.stack.message()
    assert "29 Feb 2095" in view.stack.message()
    opened.session.select(time=2)
    opened.session.select(time=4)
    qtbot.waitUntil(lambda: view.picture.result.request.time == 4, timeout=20_000)
    gate.set()
    opened.rest()
    assert view.picture.result.request.time == 4
    assert view.stack.state == "contents"


@pytest.mark.rule("G10")
def test_a_stopped_read_says_what_is_shown(view, opened, monkeypatch, qtbot):
    gate, real = threading.Event(), opened.session.dataset.map

    def slow(request, progress=None):
        gate.wait(20)
        return real(request, progress)

    monkeypatch.setattr(opened.session.dataset, "map", slow)
    opened.session.select(time=1)
    assert opened.session.cancel_all()
    assert "stopped" in view.stack.message()
    assert view.picture.result.request.time == 0
    gate.set()
    opened.rest()
    assert view.picture.result.request.time == 0


def test_a_damaged_page_is_an_error_over_the_last_picture(view, opened, monkeypatch):
    def damaged(request, progress=None):
        raise DamagedDataError("The checksum is wrong.", where="000-t/L-1/x.dat")

    kept = view.picture
    with monkeypatch.context() as patch:
        patch.setattr(opened.session.dataset, "map", damaged)
        opened.session.select(time=1)
        opened.rest()
        assert view.stack.state == "error"
        assert "000-t/L-1/x.dat" in view.stack.message()
        assert view.picture is kept
    view.renew()
    opened.rest()
    assert view.stack.state == "contents"
    assert view.picture.result.request.time == 1


def test_play_goes_through_all_steps(view, opened, qtbot):
    shown = []
    view.time_bar.index_changed.connect(shown.append)
    view.time_bar.speed.setCurrentIndex(view.time_bar.speed.count() - 1)
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: len(shown) >= TIMES, timeout=20_000)
    QTest.keyClick(view, Qt.Key.Key_Space)
    assert shown[:TIMES] == [1, 2, 3, 4, 0]
    opened.rest()


def test_a_reload_shows_the_dataset_again(view, opened, qtbot):
    with qtbot.waitSignal(opened.session.opened, timeout=20_000):
        opened.session.open()
    opened.rest()
    assert view.picture.result.values.shape == (ROWS, COLUMNS)
    assert view.stack.state == "contents"


@pytest.mark.rule("G5")
def test_numbers_and_picture_are_exported(view, opened, tmp_path):
    for ending in (".csv", ".npz", ".nc", ".png"):
        view.export_to(str(tmp_path / f"map{ending}"))
        opened.rest()
        assert (tmp_path / f"map{ending}").stat().st_size > 100
    with np.load(tmp_path / "map.npz") as saved:
        np.testing.assert_array_equal(saved["values"], view.picture.result.values)


def test_a_hidden_map_reads_nothing(opened, qtbot):
    view = MapView(opened.session, opened.reader)
    qtbot.addWidget(view)
    opened.session.select(time=2)
    assert not opened.reader.busy()
    assert view.picture is None


def test_a_map_can_be_closed_while_it_reads(opened, qtbot):
    view = MapView(opened.session, opened.reader)
    view.show()
    assert opened.reader.busy()
    with qtbot.waitSignal(view.destroyed):
        view.deleteLater()
    opened.rest()


@pytest.mark.parametrize("size", [(844, 582), (1180, 780), (1600, 1000)])
def test_the_map_fits_its_window(opened, size):
    view = opened.show(MapView, *size)
    view.set_narrow(size[0] < 1000)  # as the window does
    view.resize(*size)
    assert (view.width(), view.height()) == size
    assert view.panel.isVisible() == (size[0] >= 980)
    assert view.plot.width() > 300


@pytest.mark.rule("G5", "P3")
def test_a_polygon_is_drawn_corner_by_corner_and_gives_the_numbers_of_exactly_its_cells(view, opened, qtbot):
    view.tools.explain.setChecked(False)
    qtbot.keyClick(view.plot, Qt.Key.Key_4)
    assert view.plot.box.tool == "polygon"
    corners = [(-1.0, 45.0), (8.0, 44.0), (6.0, 52.0), (20.0, 20.0)]
    for x, y in corners:
        view.plot.box.clicked.emit(x, y)
    qtbot.keyClick(view.plot, Qt.Key.Key_Backspace)
    assert view.plot.polygon.corners == tuple(corners[:3])
    assert not view.points.points
    assert view.rectangle is None
    view.plot.box.clicked.emit(-1.0, 45.0)  # on the first corner: closed
    opened.rest()
    text = "POLYGON ((-1 45, 8 44, 6 52, -1 45))"
    found = opened.session.dataset.map(MapRequest("t", 0, polygon=text))
    assert view.rectangle.numbers.cells == np.count_nonzero(found.mask) > 20
    assert view.panel.rectangle.title.text() == "Polygon"
    assert f"'--polygon={text}'" in view.command_text()
    opened.session.select(time=2)
    opened.rest()
    assert view.rectangle.result.request == MapRequest("t", 2, polygon=text)
    view.set_rectangle((0.0, 45.0, 4.0, 50.0))
    opened.rest()
    assert (view.plot.polygon.corners, view.panel.rectangle.title.text()) == ((), "Rectangle")
    assert view.close_panel()
    for x, y in corners[:3]:
        view.plot.box.clicked.emit(x, y)
    qtbot.keyClick(view.plot, Qt.Key.Key_Return)
    opened.rest()
    assert view.rectangle.result.request.polygon == text
    assert view.close_panel()
    assert view.rectangle is None
