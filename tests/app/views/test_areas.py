"""An area over time on the map: the statistics of the engine as lines, followed in item and area, exported."""

import csv
import json
import shlex

import numpy as np
import pytest

from mdstudio.app.views.map_view import MapView
from mdstudio.app.views.reads import series_requests
from mdstudio.cli.main import main
from mdstudio.engine import storage as storages
from mdstudio.engine.requests import AreaRequest
from tests.app.slow_storage import SlowStorage
from tests.app.views.made import TIMES, X, Y, arrays
from tests.app.views.opened import Opened
from tests.app.views.test_meshes import open_kind
from tests.engine.made_datasets import KINDS

BBOX = (4.1, 44.1, 12.4, 50.9)
CORNERS = ((-12.0, 59.0), (3.0, 45.0), (8.0, 56.0))


@pytest.fixture
def view(opened):
    view = opened.show(MapView)
    view.set_rectangle(BBOX)
    opened.rest()
    view.panel.rectangle.over_time.click()
    opened.rest()
    return view


def shown(view):
    (line,) = view.cards.area.plot._lines
    return line


@pytest.mark.rule("G5")
@pytest.mark.rule("G6")
def test_the_mean_of_a_rectangle_lies_between_its_lowest_and_highest_values(view, opened):
    rows, columns = (Y + 0.25 >= 44.1) & (Y - 0.25 <= 50.9), (X + 0.25 >= 4.1) & (X - 0.25 <= 12.4)
    cells = arrays()["t"][:, 0][:, rows][:, :, columns].reshape(TIMES, -1).astype(np.float64)
    card, line = view.cards.area, shown(view)
    assert card.isVisible()
    np.testing.assert_allclose(line.values, np.nanmean(cells, axis=1), rtol=1e-13)
    np.testing.assert_array_equal(line.band, [np.nanmin(cells, axis=1), np.nanmax(cells, axis=1)])
    (low, high), painted = card.plot.box.viewRange()[1], card.plot.view.grab().toImage()
    assert low < np.nanmin(cells) < np.nanmax(cells) < high
    middle = card.plot.view.mapFromScene(card.plot.box.mapViewToScene(card.plot.box.viewRect().center()))
    ground = painted.pixel(middle.x(), 8)
    assert len({painted.pixel(middle.x(), y) for y in range(20, painted.height() - 40)} - {ground}) > 1  # the band


@pytest.mark.rule("G5")
def test_other_statistics_are_those_of_the_engine(view, opened):
    view.set_polygon(CORNERS)
    opened.rest()
    card = view.cards.area
    assert card.caption.full_text().startswith("polygon · K · mean, from lowest to highest · ")
    found = opened.session.dataset.area(AreaRequest("t", polygon=card.result.request.polygon))
    for name, values, has_band in (("Mean", found.mean, True), ("Area mean", found.area_mean, True),
                                   ("Sum", found.total, False), ("Count", found.count, False)):
        card.statistic.setCurrentText(name)
        np.testing.assert_array_equal(shown(view).values, values)
        assert (shown(view).band is not None) == has_band
        assert name.lower() in card.caption.full_text()
    assert 0 < found.count[0] < found.cells
    assert "K" not in card.caption.full_text().split(" ")


def test_the_area_follows_the_item_and_goes_with_the_rectangle(view, opened):
    card = view.cards.area
    opened.session.select(item="depth")
    opened.session.select(layer=2, time=3)
    opened.rest()
    assert card.result.request == AreaRequest("depth", BBOX, "", 2)
    assert card.plot._current._x == card.plot._x[3]
    read = card.result
    opened.session.select(time=1)
    opened.rest()
    assert card.result is read  # every time is shown already
    card.plot.index_chosen.emit(4)
    assert opened.session.selection.time == 4
    card.closed.emit()
    assert not card.isVisible()
    assert view.panel.rectangle.isVisible()
    view.set_rectangle((0.0, 45.0, 4.0, 50.0))
    opened.rest()
    assert not card.isVisible()  # until it is asked for
    view.panel.rectangle.over_time.click()
    opened.rest()
    assert card.isVisible()
    assert view.close_panel()
    assert not card.isVisible()


def test_cards_share_the_room_beneath_the_map(view, opened):
    view.set_line(((0.0, 50.0), (8.0, 56.0)))
    opened.rest()
    widths = [card.width() for card in (view.cards.area, view.cards.transect)]
    assert abs(widths[0] - widths[1]) <= 2
    assert min(widths) > 300


@pytest.mark.rule("G9")
def test_the_command_and_the_file_hold_the_same_numbers(view, opened, tmp_path, capsys):
    card, text = view.cards.area, view.command_text().splitlines()[1]
    assert text == (f"mdstudio query area {opened.session.location} --item=t --bbox=4.1,44.1,12.4,50.9 --explain")
    assert main([*shlex.split(text)[1:], "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["mean"] == card.result.mean.tolist()
    assert document["pages_touched"] == card.result.explain.pages_touched
    card.export_to(str(tmp_path / "area.csv"))
    opened.rest()
    rows = list(csv.reader((tmp_path / "area.csv").read_text().splitlines()))
    assert [float(row[rows[0].index("mean (K)")]) for row in rows[1:]] == card.result.mean.tolist()


def test_an_area_without_cells_or_data_says_so(view, opened):
    view.set_rectangle((-10.2, 58.0, -8.0, 60.0))
    opened.rest()
    assert view.cards.area.stack.state == "empty"
    assert "None of the cells of the area has data" in view.cards.area.stack.message()


def test_a_dear_area_asks_before_it_reads(view, opened, monkeypatch):
    from mdstudio.app.views import reads

    monkeypatch.setattr(reads, "ASK_ABOVE_LOCAL", 2)
    view.set_rectangle((0.0, 42.0, 9.0, 55.0))
    opened.rest()
    card = view.cards.area
    assert card.stack.state == "empty"
    count = series_requests(opened.session.dataset.metadata, view.rectangle.explain.pages_touched)
    assert f"About {count} requests" in card.stack.message()
    assert card.result.request.bbox == BBOX  # not read
    card.statistic.setCurrentText("Sum")
    assert card.stack.state == "empty"  # the sum of the last rectangle is not shown for this one
    card.statistic.setCurrentText("Mean")
    card.renew(confirmed=True)
    opened.rest()
    assert card.result.request.bbox == (0.0, 42.0, 9.0, 55.0)


@pytest.mark.rule("G10")
def test_a_slow_storage_holds_up_no_one_and_can_be_tried_again(location, reader, qtbot, monkeypatch):
    slow = []

    def opened_slowly(name, real=storages.open_storage):
        slow.append(SlowStorage(real(name), delay=0.05, failing=0.0))
        return slow[-1]

    monkeypatch.setattr(storages, "open_storage", opened_slowly)
    opened = Opened(location, reader, qtbot)
    view = opened.show(MapView)
    view.set_rectangle(BBOX)
    opened.rest()
    slow[0].failing = 1.0
    view.set_line(((4.0, 47.3), (15.1, 41.0)))
    view.panel.rectangle.over_time.click()
    cards = view.cards.area, view.cards.transect
    assert [card.stack.state for card in cards] == ["loading", "loading"]
    opened.rest()
    assert [card.stack.state for card in cards] == ["error", "error"]
    assert "The service did not answer." in cards[0].stack.message()
    slow[0].failing = 0.0
    for card in cards:
        card.renew()
    opened.session.select(time=3)
    assert [card.stack.state for card in cards] == ["loading", "loading"]
    assert not cards[1].export.isEnabled()
    opened.rest()
    assert [card.stack.state for card in cards] == ["contents", "contents"]
    assert cards[1].result.request.start == 3


@pytest.mark.rule("K1", "G5")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_area_over_time(tmp_path, reader, qtbot, kind):
    opened = open_kind(tmp_path, reader, qtbot, kind)
    view = opened.show(MapView)
    x0, y0, x1, y1 = view.picture.raster.extent
    view.set_rectangle((x0 + 0.2 * (x1 - x0), y0 + 0.2 * (y1 - y0), x0 + 0.6 * (x1 - x0), y0 + 0.7 * (y1 - y0)))
    opened.rest()
    view.panel.rectangle.over_time.click()
    for item in opened.session.dataset.metadata.items:
        opened.session.select(item=item.name)
        opened.session.select(component=1 if item.components > 1 else -1)
        opened.rest()
        card = view.cards.area
        wanted = opened.session.dataset.area(card.result.request)
        assert wanted.item.name == item.name
        mean = wanted.mean[:, 1] if item.components > 1 else wanted.mean
        np.testing.assert_array_equal(shown(view).values, mean)
        card.statistic.setCurrentText("Area mean")
        assert card.stack.state == ("contents" if wanted.weights else "empty")
        card.statistic.setCurrentText("Mean")
        assert card.stack.state == "contents"
