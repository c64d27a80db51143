"""Overview, Series and Metadata over a real dataset."""

import json

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton

from mdstudio.app import formats
from mdstudio.app.views import VIEWS, warm
from mdstudio.app.views.guard_list import GuardList
from mdstudio.app.views.metadata_view import MetadataView
from mdstudio.app.views.overview import OverviewView
from mdstudio.app.views.series_view import SeriesView
from mdstudio.engine.layout.guards import Guard
from tests.app.views.made import TIMES, X, Y, arrays, make_dataset
from tests.app.views.opened import Opened


@pytest.mark.rule("G2")
def test_overview_says_what_the_dataset_is(opened):
    view = opened.show(OverviewView)
    inspection = opened.session.dataset.inspect()
    shown = {key: (card.value.full_text(), card.note.full_text()) for key, card in view.cards.items()}
    assert shown["kind"] == ("Regular grid", "60 × 40 cells · 0.5°")
    assert shown["storage"][0] == inspection["storage_type"]
    assert shown["layout"][0] == str(inspection["layout_version"])
    assert shown["compression"][0] == "ZstdAuto"
    assert shown["ratio"][0] == formats.ratio(inspection["ratio"])
    assert formats.size(inspection["raw_bytes"]) in shown["ratio"][1]
    assert shown["times"] == ("5 steps", "2095-02-28 → 03-02 · daily · 360_day")
    assert "GridTileWidth 16" in view.parameters.text()
    rows = view.table.table_model.rows
    assert [row[0].text for row in rows] == ["t", "depth"]
    assert rows[1][3].text == "3"  # layers
    assert rows[1][5].text == "0.1"
    for row, item in zip(rows, inspection["items"], strict=True):
        assert row[8].text == formats.ratio(item["ratio"])
        assert row[7].text == formats.megabytes(item["stored_bytes"])
    assert view.verdict.text() == "not checked"
    assert view.crs.text() == "EPSG:4326"
    assert view.place.full_text() == opened.session.dataset.location


def test_overview_keeps_its_facts_whole_in_a_narrow_window(opened):
    view = opened.show(OverviewView, 840, 540)
    view.repaint()
    for card in view.cards.values():
        assert card.value.text() == card.value.full_text()
        assert card.note.text() == card.note.full_text()
    view.resize(1180, 540)
    opened.rest()
    assert len({card.y() for card in view.cards.values()}) == 1
    strip, below = view.preview.strip, view.preview.values["Minimum"]
    assert strip.mapTo(view, strip.rect().bottomLeft()).y() < below.mapTo(view, below.rect().topLeft()).y()


def test_overview_previews_the_chosen_item_and_opens_it(opened, qtbot):
    view = opened.show(OverviewView)
    numbers = view.preview.picture.numbers
    assert numbers.maximum == np.nanmax(arrays()["t"][0].astype(np.float64))
    assert view.preview.values["No data"].text() == formats.ratio(256, 2400)
    view.table.select_row(1)
    opened.rest()
    assert opened.session.selection.item == "depth"
    assert view.preview.picture.result.request.item == "depth"
    with qtbot.waitSignal(opened.session.view_requested, check_params_cb=lambda key: key == "map"):
        view.table.row_activated.emit(0)
    assert opened.session.selection.item == "t"


def test_overview_strip_is_the_stored_bytes_of_all_items(opened):
    view = opened.show(OverviewView)
    total = opened.session.dataset.sizes().stored.sum(axis=0)
    np.testing.assert_array_equal(view.strip._values, total)
    view.strip.index_chosen.emit(2)
    assert opened.session.selection.time == 2
    assert view.now.text() == "30 Feb 2095"
    opened.rest()


@pytest.mark.rule("V9")
def test_guards_are_told_with_their_effect_and_the_way_out(qtbot):
    guards = [Guard(f"MD-G00{i}", f"Message {i}.", f"Advice {i}.", blocks_save=False) for i in range(4)]
    view = GuardList()
    qtbot.addWidget(view)
    view.show_guards(guards[:1])
    texts = " ".join(label.text() for label in view.findChildren(QLabel))
    assert "MD-G000" in texts
    assert "Refused: reading, writing. Advice 0." in texts
    view.show_guards(guards)
    more = view.findChildren(QPushButton)[-1]
    assert more.text() == "2 more"
    more.click()
    assert view._column.count() == 4
    view.show_guards(())
    assert view.isHidden()


@pytest.mark.rule("V9")
def test_a_dataset_that_may_not_be_read_still_shows(tmp_path, reader, qtbot):
    location = make_dataset(tmp_path)
    document = tmp_path / "made" / "dataset.json"
    data = json.loads(document.read_text())
    data["ItemStorage"]["Compression"] = "ZstdNext"
    document.write_text(json.dumps(data))
    opened = Opened(location, reader, qtbot)
    view = opened.show(OverviewView)
    assert view.guards.isVisible()
    assert view.verdict.text() == "1 guard"
    assert view.cards["compression"].value.full_text() == "ZstdNext"
    assert view.preview.stack.state == "error"


@pytest.mark.rule("G5")
def test_series_of_typed_points_with_their_statistics(opened, tmp_path):
    view = opened.show(SeriesView)
    assert "No point yet" in view.series.stack.message()
    for text in ("5, 50.5", "50.5 N, 5.5 E", "500, 500"):
        view.entry.setText(text)
        QTest.keyClick(view.entry, Qt.Key.Key_Return)
    opened.rest()
    rows = view.table.table_model.rows
    assert [row[0].text for row in rows] == ["A", "B", "C"]
    column, row = int(np.flatnonzero(X == 5.0)[0]), int(np.flatnonzero(Y == 50.5)[0])
    wanted = arrays()["t"][:, 0, row, column].astype(np.float64)
    assert rows[0][2].text == f"row {row}, col {column}"
    assert [cell.text for cell in rows[0][3:8]] == [
        formats.number(value, digits=6)
        for value in (wanted[0], wanted.min(), wanted.mean(), wanted.max(), wanted.std())]
    assert rows[0][8].text == f"{TIMES} of {TIMES}"
    assert rows[2][2].text == "outside"
    assert rows[2][3].text == "—"
    view.series.export_to(str(tmp_path / "out.csv"))
    opened.rest()
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert len(lines) == 1 + TIMES
    assert lines[3].startswith("2095-02-30T00:00:00,")
    assert float(lines[1].split(",")[1]) == wanted[0]


@pytest.mark.rule("G9")
def test_the_series_command_gives_the_same_numbers(opened, capsys):
    import shlex

    from mdstudio.cli.main import main

    view = opened.show(SeriesView)
    view.points.add(-9.5, 45.5)
    opened.session.select(item="depth")
    opened.session.select(layer=2)
    opened.rest()
    words = [word for word in shlex.split(view.command_text())[1:] if not word.startswith("--out")]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    np.testing.assert_array_equal(np.array(document["values"]), view.series.result.values)


def test_a_wrong_entry_says_what_is_wanted(opened):
    view = opened.show(SeriesView)
    view.entry.setText("here")
    view.add.click()
    assert view.why.text() == "Two numbers, such as 3.5, 52.1"
    assert not view.points.points


def test_a_dear_series_waits_for_a_click(opened, monkeypatch):
    from mdstudio.app.views import reads

    monkeypatch.setattr(reads, "ASK_ABOVE_LOCAL", 1)
    view = opened.show(SeriesView)
    view.points.add(5.0, 50.5)
    opened.rest()
    assert "requests" in view.series.stack.message()
    assert view.series.result is None
    view.series.renew(confirmed=True)
    opened.rest()
    assert view.series.result is not None
    assert view.series.stack.state == "contents"


def test_metadata_shows_and_copies_the_document(opened):
    view = opened.show(MetadataView)
    assert json.loads(view.text.toPlainText())["ItemStorage"]["Compression"] == "ZstdAuto"
    view.copy.click()
    assert QGuiApplication.clipboard().text() == view.text.toPlainText()
    names = [row[1].text for row in view.table.table_model.rows]
    assert {"title", "cell_methods", "file"} <= set(names)
    view.filter.setText("cell_meth")
    assert [row[1].text for row in view.table.table_model.rows] == ["cell_methods"]
    view.copy_table.click()
    assert "time: mean" in QGuiApplication.clipboard().text()


@pytest.mark.parametrize("kind", [view[0] for view in VIEWS])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_made_restyled_and_destroyed(opened, qtbot, theme, kind, scheme):
    factory = {view[0]: view[3] for view in VIEWS}[kind]
    view = factory(opened.session, opened.reader)
    view.resize(1180, 780)
    view.show()
    opened.rest()
    theme.set_mode(scheme)
    assert view.grab().width() == 1180
    assert view.command_text() or kind == "series"
    with qtbot.waitSignal(view.destroyed):
        view.deleteLater()
    opened.session.select(time=1)
    opened.rest()
    theme.set_mode("light")


def test_tables_are_sound_models(opened, qtmodeltester):
    view = opened.show(OverviewView)
    qtmodeltester.check(view.table.table_model)
    qtmodeltester.check(view.table.model())


def test_overview_loads_no_plotting_library_on_its_own():
    import subprocess
    import sys

    code = ("import sys; import mdstudio.app.views, mdstudio.app.views.overview; "
            "assert 'pyqtgraph' not in sys.modules, 'the window would wait for it'")
    subprocess.run([sys.executable, "-c", code], check=True)
    warm()
