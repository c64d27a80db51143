"""Transects on the map: drawn corner by corner, shown as the engine reads them, followed in time, exported."""

import csv
import json
import shlex
import threading

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt

from mdstudio.app import colormaps, formats
from mdstudio.app.plots.components import MAGNITUDE, one_number
from mdstudio.app.plots.section import section_of
from mdstudio.app.views.map_view import MapView
from mdstudio.cli.main import main
from mdstudio.engine.requests import LineRequest
from tests.app.views.test_meshes import open_kind
from tests.engine.made_datasets import KINDS

LINE = ((-12.0, 58.0), (4.0, 47.3), (15.1, 52.0))  # begins outside, crosses the corner without data


@pytest.fixture
def view(opened):
    return opened.show(MapView)


def line_of(opened, time=0):
    chosen = opened.session.selection
    return opened.session.dataset.line(LineRequest(chosen.item, LINE, None, time, time + 1))


@pytest.mark.rule("G5")
def test_a_line_is_drawn_corner_by_corner_and_its_steps_are_the_values_of_the_engine(view, opened, qtbot):
    qtbot.keyClick(view.plot, Qt.Key.Key_5)
    assert view.plot.box.tool == "transect"
    for x, y in (*LINE, (0.0, 0.0)):
        view.plot.box.clicked.emit(x, y)
    qtbot.keyClick(view.plot, Qt.Key.Key_Backspace)
    assert (view.plot.line.corners, view.plot.line.drawing) == (LINE, True)
    assert not view.cards.isVisible()
    qtbot.keyClick(view.plot, Qt.Key.Key_Return)
    opened.rest()
    card, wanted = view.cards.transect, line_of(opened)
    assert card.isVisible()
    x, y = card.plot.steps.getData()
    np.testing.assert_array_equal(x, wanted.edges)
    np.testing.assert_array_equal(y, wanted.values[0, 0])
    outside = wanted.cells[:, 0] < 0
    assert outside[0]
    assert np.isnan(y[~outside]).any()
    assert np.isfinite(y).sum() > 20
    drawn = card.plot.steps.getPath()
    joined = sum(drawn.elementAt(at).isLineTo() for at in range(drawn.elementCount()))
    assert joined == 2 * np.isfinite(y).sum() - 1  # one run of steps: nothing is drawn over the gap before it
    assert not view.points.points
    assert view.close_panel()
    assert not card.isVisible()
    assert not view.cards.isVisible()
    assert not view.plot.line.corners
    assert not view.close_panel()


def test_a_double_click_ends_a_line_and_a_polygon(view, opened, qtbot):
    viewport = view.plot.view.viewport()

    def at(x, y):
        return view.plot.view.mapFrom(view.plot, view.plot.screen_place(x, y).toPoint())

    for tool, path in (("transect", view.plot.line), ("polygon", view.plot.polygon)):
        view.tools.set_tool(tool)
        for place in ((0.0, 50.0), (8.0, 56.0), (12.0, 45.0)):
            qtbot.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at(*place))
        qtbot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=at(12.0, 45.0))
        qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=at(12.0, 45.0))
        opened.rest()
        assert (len(path.corners), path.closed) == (3, True)
    assert view.cards.transect.isVisible()
    assert view.rectangle.result.request.polygon


def test_the_keyboard_ends_a_line_where_its_last_corner_is_set_again(view, opened):
    view.tools.set_tool("transect")
    for place in ((0.0, 50.0), (8.0, 56.0), (8.0, 56.0)):
        view.plot.box.clicked.emit(*place)
    opened.rest()
    assert view.cards.transect.result.result.request.line == ((0.0, 50.0), (8.0, 56.0))


@pytest.mark.rule("G5")
def test_layers_are_a_picture_of_distance_by_depth_in_the_colours_of_the_map(view, opened):
    opened.session.select(item="depth", time=2)
    view.set_line(LINE)
    opened.rest()
    plot, wanted = view.cards.transect.plot, line_of(opened, 2)
    np.testing.assert_array_equal(plot.section.values, wanted.values[0])
    np.testing.assert_array_equal(plot.section.bounds, [-5, 5, 15, 25])
    assert plot.box.yInverted()  # depth grows downwards
    assert not plot.steps.isVisible()
    image, (low, high) = plot.view.grab().toImage(), view.picture.shown
    table, checked = colormaps.argb("viridis"), 0
    for layer, depth in enumerate((0.0, 10.0, 20.0)):
        for k in range(wanted.x.size):
            middle = (wanted.edges[k] + wanted.edges[k + 1]) / 2
            place = plot.view.mapFromScene(plot.box.mapViewToScene(QPointF(middle, depth)))
            wide = (wanted.edges[k + 1] - wanted.edges[k]) / plot.box.viewPixelSize()[0]
            value = wanted.values[0, layer, k]
            if wide < 4 or np.isnan(value):
                continue
            colour = int(table[min(int((value - low) / (high - low) * 256), 255)])
            assert image.pixel(place) == colour, (layer, k)
            checked += 1
    assert checked > 60


@pytest.mark.rule("G5")
def test_the_pointer_tells_distance_place_layer_and_value(view, opened):
    opened.session.select(item="depth")
    view.set_line(LINE)
    opened.rest()
    plot, wanted = view.cards.transect.plot, line_of(opened)
    k = int(np.flatnonzero(np.isfinite(wanted.values[0, 1]))[7])
    middle = float(wanted.edges[k:k + 2].mean())
    place = plot.view.mapFromScene(plot.box.mapViewToScene(QPointF(middle, 10.0)))
    plot._hover(plot.view.mapToScene(place))
    value, layer, distance, where = view.cards.transect.told.full_text().split(" · ")
    assert value == f"{formats.number(wanted.values[0, 1, k], digits=6)} m"
    assert layer == "layer 1, 10 m"
    assert distance == plot.readout.split(" · ")[2]
    told = float(distance.removesuffix(" km").replace(formats.THIN, ""))
    assert wanted.edges[k] < told * 1000 < wanted.edges[k + 1]
    assert where == view.plot.frame.place(wanted.x[k], wanted.y[k])
    assert view.plot.line._mark == (wanted.x[k], wanted.y[k])
    plot.probe(0.0, 10.0)
    assert plot.readout.startswith("outside · ")
    plot.probe(-1.0, 10.0)
    assert plot.readout == ""
    assert view.plot.line._mark is None


@pytest.mark.rule("G10")
def test_the_transect_follows_the_time_and_the_newest_wins(view, opened, monkeypatch, qtbot):
    view.set_line(LINE)
    opened.rest()
    gate, real, readers = threading.Event(), opened.session.dataset.line, set()

    def slow(request, progress=None):
        readers.add(threading.current_thread())
        if request.start in (1, 2):
            gate.wait(20)
        return real(request, progress)

    monkeypatch.setattr(opened.session.dataset, "line", slow)
    for time in (1, 2, 4):
        opened.session.select(time=time)
    card = view.cards.transect
    qtbot.waitUntil(lambda: card.result.result.request.start == 4, timeout=20_000)
    gate.set()
    opened.rest()
    assert threading.main_thread() not in readers
    np.testing.assert_array_equal(card.plot.steps.getData()[1], line_of(opened, 4).values[0, 0])
    assert "2 Mar 2095" in card.caption.full_text()
    gate.clear()
    opened.session.select(time=1)
    assert opened.session.cancel_all()
    gate.set()
    opened.rest()
    assert card.stack.message() == "The read was stopped"


@pytest.mark.rule("G9")
@pytest.mark.parametrize("item", ["t", "depth"])
def test_the_command_and_the_file_hold_the_same_numbers(view, opened, tmp_path, capsys, item):
    opened.session.select(item=item, time=3)
    view.set_line(LINE)
    opened.rest()
    card, text = view.cards.transect, view.command_text().splitlines()[1]
    assert text.startswith(f"mdstudio query line {opened.session.location} --item={item} --time=2095-03-01T00:00:00")
    assert main([*shlex.split(text)[1:], "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = card.result.result
    assert document["edges"] == found.edges.tolist()
    assert document["pages_touched"] == found.explain.pages_touched
    np.testing.assert_array_equal(np.array(document["values"], float), found.values[0])
    assert f"{formats.plural(found.explain.pages_touched, 'page')}, " in card.caption.full_text()
    card.export_to(str(tmp_path / "line.csv"))
    opened.rest()
    rows = list(csv.reader((tmp_path / "line.csv").read_text().splitlines()))
    values = [float(row[-1]) if row[-1] else np.nan for row in rows[1:]]
    np.testing.assert_array_equal(values, found.values.reshape(-1))


def test_a_line_outside_says_why_and_a_reload_removes_it(view, opened, qtbot):
    view.set_line(((100.0, 0.0), (110.0, 5.0)))
    opened.rest()
    assert view.cards.transect.stack.state == "empty"
    assert "crosses no cell" in view.cards.transect.stack.message()
    with qtbot.waitSignal(opened.session.opened, timeout=20_000):
        opened.session.open()
    opened.rest()
    assert not view.cards.transect.isVisible()
    assert "query line" not in view.command_text()


@pytest.mark.rule("K1", "G5")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_transect(tmp_path, reader, qtbot, kind):
    opened = open_kind(tmp_path, reader, qtbot, kind)
    view = opened.show(MapView)
    x0, y0, x1, y1 = view.picture.raster.extent
    line = ((x0 + 0.1 * (x1 - x0), y0 + 0.2 * (y1 - y0)), (x1 - 0.1 * (x1 - x0), y1 - 0.3 * (y1 - y0)))
    view.set_line(line)
    for item in opened.session.dataset.metadata.items:
        opened.session.select(item=item.name, time=2)
        opened.rest()
        wanted = opened.session.dataset.line(LineRequest(item.name, line, None, 2, 3))
        plot = view.cards.transect.plot
        np.testing.assert_array_equal(plot.section.values, one_number(item, wanted.values[0], MAGNITUDE))
        assert plot.section.layered == (item.layers is not None)
        seen = plot.section.under(wanted.edges[:-1] + np.diff(wanted.edges) / 2, np.zeros(1))[1]
        assert seen.tolist() == list(range(wanted.x.size))
        assert not plot.view.grab().isNull()


def test_layers_in_no_order_are_counted(opened):
    from dataclasses import replace

    opened.session.select(item="depth")
    found = line_of(opened)
    axis = replace(found.item.layers, values=(5.0, 1.0, 9.0), positive="", meaning="index")
    section = section_of(replace(found, item=replace(found.item, layers=axis)), MAGNITUDE)
    assert (section.by_number, section.downwards) == (True, False)
    assert section.height_ticks()(0.0, 3.0, 9) == [(0.5, "5"), (1.5, "1"), (2.5, "9")]
    assert section.at(float(section.edges[-1]), 3.0) == (2, found.x.size - 1)
    pressures = replace(axis, values=(1000.0, 500.0, 100.0), unit="hPa", meaning="pressure")
    section = section_of(replace(found, item=replace(found.item, layers=pressures)), MAGNITUDE)
    assert section.bounds.tolist() == [-100.0, 300.0, 750.0, 1250.0]
    assert section.downwards
    assert section.under(np.zeros(1), np.array([900.0, 400.0, 200.0, 1300.0]))[0].tolist() == [0, 1, 2, -1]
