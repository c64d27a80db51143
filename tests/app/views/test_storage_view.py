"""Storage over real datasets of each layout: pages from the index alone, one page read on demand."""

import numpy as np
import pytest

from mdstudio.app import formats
from mdstudio.app.views.storage import StorageView, page_colours
from mdstudio.engine.errors import DamagedDataError
from tests.app.views.made import TIMES, arrays, make_dataset
from tests.app.views.opened import Opened


@pytest.fixture
def view(opened):
    return opened.show(StorageView)


@pytest.mark.rule("G4")
def test_the_heatmap_comes_from_the_index_and_adds_up(view, opened):
    table = opened.session.dataset.pages("t", 0)
    assert len(view.pages.table) == len(table) == 12
    known = view.colours.numbers[np.isfinite(view.colours.numbers)]
    assert known.size == 11  # one tile holds nothing but NaN
    np.testing.assert_allclose(known, 100 * table.length[table.length > 0] / table.raw[table.length > 0])
    assert "11 pages with data, 1 all no data" in view.summary()
    assert "0 pages read" in view.cost.text()


@pytest.mark.rule("G4")
def test_a_click_names_the_page_with_its_bytes(view, opened):
    view.plot._choose(*view.pages.field.raster.cell_centre(20, 33))
    table, page = view.pages.table, view.page
    assert any(r0 <= 20 < r1 and c0 <= 33 < c1 for r0, r1, c0, c1 in table.rectangles(page))
    assert view.panel.isVisible()
    facts = {key.text(): value.full_text() for key, value in view.panel.facts._rows}
    assert facts["Offset"] == formats.count(int(table.offset[page]))
    assert facts["Stored length"].startswith(formats.count(int(table.length[page])))
    assert facts["Raw length"].startswith(formats.count(int(table.raw[page])))
    assert facts["Ratio"] == formats.ratio(int(table.length[page]), int(table.raw[page]))
    assert facts["Blob"].endswith(".dat")
    assert not opened.reader.busy()  # nothing is read for it
    assert view.close_panel()
    assert not view.panel.isVisible()


@pytest.mark.rule("G4")
def test_read_page_takes_one_page_apart(view, opened):
    view.select_page(5)
    view.read_page()
    opened.rest()
    facts = {key.text(): value.full_text() for key, value in view.panel.facts._rows}
    assert facts["Transform"]
    assert "matches" in facts["Checksum"]
    assert view.panel.badge.text() == "ok"
    assert view.panel.hex.text.text()
    assert view.panel.value_range.text().endswith("K")
    row0, row1, column0, column1 = view.pages.table.rectangles(5)[0]
    values = arrays()["t"][0, 0, row0:row1, column0:column1]
    assert formats.number(float(values.min()), digits=6) in view.panel.value_range.text()


def test_a_page_of_no_data_offers_nothing_to_read(view):
    empty = int(np.flatnonzero(view.pages.table.length == 0)[0])
    view.select_page(empty)
    assert not view.panel.read.isEnabled()
    assert view.describe(empty)[1] == "all no data, nothing stored"


@pytest.mark.rule("G4")
def test_bytes_are_another_layer_on_the_same_pages(view, opened):
    view.select_page(3)
    view.layer.set_value("bytes")
    assert view.page == 3
    assert view.colours.numbers[3] == view.pages.table.length[3]
    assert view.card.title.text() == "Stored bytes per page"
    assert not opened.reader.busy()


@pytest.mark.rule("G4")
def test_the_strip_shows_the_ratio_of_each_step(view, opened):
    sizes = opened.session.dataset.sizes()
    np.testing.assert_allclose(view.ratios(), 100 * sizes.stored[0] / sizes.raw[0])
    view.strip.index_chosen.emit(3)
    opened.rest()
    assert view.pages.key == ("t", 3, None)


@pytest.mark.rule("G4")
@pytest.mark.parametrize("kind", ["SingleTimestep", "MultiTimestep", "TimeSeries"])
def test_every_layout_is_shown_and_read(tmp_path, reader, qtbot, kind):
    opened = Opened(make_dataset(tmp_path, kind, StorageType=kind), reader, qtbot)
    view = opened.show(StorageView)
    opened.session.select(item="depth")
    opened.session.select(layer=2)
    opened.rest()
    assert view.stack.state == "contents"
    last = len(view.pages.table) - 1
    view.select_page(last)
    view.read_page()
    opened.rest()
    assert view.panel.badge.text() == "ok"
    assert view.ratios().shape == (TIMES,)


@pytest.mark.rule("G9")
def test_the_command_gives_the_page_table(view, opened, capsys):
    import json
    import shlex

    from mdstudio.cli.main import main

    assert main([*shlex.split(view.command_text())[1:], "--json"]) == 0
    pages = json.loads(capsys.readouterr().out)["pages"]
    assert [page["length"] for page in pages] == view.pages.table.length.tolist()


def test_a_damaged_index_is_an_error_card(view, opened, monkeypatch):
    def damaged(*_):
        raise DamagedDataError("The index and the blob do not belong together.", where="000-t/L-1/x.idx")

    monkeypatch.setattr(opened.session.dataset, "pages", damaged)
    opened.session.select(time=1)
    opened.rest()
    assert view.stack.state == "error"
    assert "x.idx" in view.stack.message()


def test_colours_of_no_page_at_all_are_none(view):
    from dataclasses import replace

    empty = replace(view.pages.table, length=np.zeros_like(view.pages.table.length))
    colours = page_colours(empty, "ratio")
    assert not colours.colours.any()
    assert colours.shown[1] > 0


def test_it_can_be_closed_while_it_reads(opened, qtbot):
    view = StorageView(opened.session, opened.reader)
    view.show()
    with qtbot.waitSignal(view.destroyed):
        view.deleteLater()
    opened.rest()
