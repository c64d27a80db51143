"""Places: listed when opened, without reading data; damage is a row, not a dialog (G1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from mdstudio.app import listing
from mdstudio.app.places import Places
from mdstudio.app.places_model import PlacesModel
from mdstudio.app.preferences import Recent
from mdstudio.app.reading import Reader
from mdstudio.engine.errors import NotFoundError
from mdstudio.engine.progress import Progress

pytestmark = pytest.mark.rule("G1")


def texts(model: PlacesModel, location: str) -> list[str]:
    index = model.find(location)
    return [model.index(row, 0, index).data() for row in range(model.rowCount(index))]


def opened(qtbot, model: PlacesModel, location: Path, count: int) -> None:
    index = model.find(str(location))
    assert model.canFetchMore(index)
    model.fetchMore(index)
    qtbot.waitUntil(lambda: texts(model, str(location)) != [])
    qtbot.waitUntil(lambda: len(shown := texts(model, str(location))) == count and "loading" not in shown[0])


def test_a_level_lists_datasets_folders_and_sources_of_a_folder(archive: Path) -> None:
    entries = listing.list_level(str(archive), Progress())
    assert [(entry.name, entry.kind) for entry in entries] == [
        ("small", "dataset"), ("empty", "folder"), ("small.nc", "source")]
    assert entries[0].location == str(archive / "small")


def test_a_dataset_is_described_from_its_metadata_alone(archive: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(archive / "small", tmp_path / "small")
    for path in (tmp_path / "small").rglob("*"):
        if path.is_file() and path.name != "dataset.json":
            path.unlink()
    described = listing.describe(listing.list_level(str(tmp_path), Progress()), Progress())
    assert (described[0].shape, described[0].problem) == ("grid", "")
    assert 0 < described[0].ratio < 2


def test_a_broken_dataset_is_listed_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "dataset.json").write_text("{")
    described = listing.describe(listing.list_level(str(tmp_path), Progress()), Progress())
    assert described[0].kind == "dataset"
    assert described[0].problem


def test_a_probe_tells_dataset_folder_and_source_apart(archive: Path) -> None:
    assert listing.probe(str(archive / "small")) == "dataset"
    assert listing.probe(str(archive)) == "folder"
    assert listing.probe(str(archive / "small.nc")) == "source"
    with pytest.raises(NotFoundError, match="nothing here"):
        listing.probe(str(archive / "nope"))


def test_joining_keeps_a_query_at_the_end() -> None:
    assert listing.join("az://account/box", "a/b") == "az://account/box/a/b"
    assert listing.join("https://x.blob.core.windows.net/box?sv=1&sig=s", "a") == \
        "https://x.blob.core.windows.net/box/a?sv=1&sig=s"


def test_the_model_keeps_the_rules_of_qt_before_and_after_a_listing(
    qtbot, reader: Reader, archive: Path, qtmodeltester
) -> None:
    model = PlacesModel(reader)
    model.set_places([str(archive)])
    model.set_recents([Recent(str(archive / "small"), "small", "grid", "3 steps")])
    qtmodeltester.check(model)  # it fetches, too
    qtbot.waitUntil(lambda: texts(model, str(archive)) == ["small", "empty", "small.nc"] and not reader.busy())
    qtmodeltester.check(model)


def test_a_place_is_listed_once_and_its_datasets_are_described_then(qtbot, reader: Reader, archive: Path) -> None:
    model = PlacesModel(reader)
    model.set_places([str(archive)])
    assert model.rowCount(model.find(str(archive))) == 0
    opened(qtbot, model, archive, 3)
    assert texts(model, str(archive)) == ["small", "empty", "small.nc"]
    dataset = model.node(model.find(str(archive / "small")))
    qtbot.waitUntil(lambda: dataset.note != "")
    assert dataset.note.endswith("%")
    assert model.node(model.find(str(archive))).note == "3"
    assert not model.canFetchMore(model.find(str(archive)))


def test_a_place_that_cannot_be_listed_says_why_in_a_row(qtbot, reader: Reader, tmp_path: Path) -> None:
    model = PlacesModel(reader)
    gone = tmp_path / "gone"
    model.set_places([str(gone)])
    opened(qtbot, model, gone, 1)
    index = model.index(0, 0, model.find(str(gone)))
    assert model.node(index).kind in ("error", "note")
    assert index.data()


def test_a_listing_that_comes_after_its_place_was_removed_is_dropped(qtbot, reader: Reader, archive: Path) -> None:
    model = PlacesModel(reader)
    model.set_places([str(archive)])
    model.fetchMore(model.find(str(archive)))
    model.set_places([])
    qtbot.waitUntil(lambda: not reader.busy())
    assert not model.find(str(archive)).isValid()


def test_an_empty_folder_says_so(qtbot, reader: Reader, archive: Path) -> None:
    model = PlacesModel(reader)
    model.set_places([str(archive / "empty")])
    opened(qtbot, model, archive / "empty", 1)
    assert texts(model, str(archive / "empty")) == ["nothing to open here"]


@pytest.fixture
def panel(qtbot, reader: Reader, archive: Path) -> Places:
    panel = Places(PlacesModel(reader))
    qtbot.addWidget(panel)
    panel.model.set_places([str(archive)])
    panel.resize(256, 600)
    panel.show()
    panel.expand(str(archive))
    qtbot.waitUntil(lambda: panel.model.find(str(archive / "small")).isValid())
    return panel


def test_enter_opens_a_dataset_and_imports_a_source(qtbot, panel: Places, archive: Path) -> None:
    for name, signal in (("small", panel.open_requested), ("small.nc", panel.import_requested)):
        panel.show_current(str(archive / name))
        with qtbot.waitSignal(signal) as asked:
            qtbot.keyClick(panel.tree, Qt.Key.Key_Return)
        assert asked.args == [str(archive / name)]


def test_a_click_opens_a_dataset(qtbot, panel: Places, archive: Path) -> None:
    panel.show_current(str(archive / "small"))
    at = panel.tree.visualRect(panel.tree.currentIndex()).center()
    with qtbot.waitSignal(panel.open_requested):
        qtbot.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=at)


def test_the_filter_keeps_what_matches_and_what_holds_it(qtbot, panel: Places) -> None:
    def shown() -> list[str]:
        proxy, found = panel.tree.model(), []

        def walk(parent) -> None:
            for row in range(proxy.rowCount(parent)):
                index = proxy.index(row, 0, parent)
                found.append(index.data())
                walk(index)

        walk(panel.tree.rootIndex())
        return found

    panel.filter.setText("small.nc")
    assert "small.nc" in shown()
    assert "empty" not in shown()
    panel.filter.setText("")
    assert {"small", "empty", "Folders", "Azure blob", "Recent"} <= set(shown())


def test_the_tree_paints_in_both_schemes(panel: Places, archive: Path) -> None:
    from mdstudio.app.theme import Theme

    panel.show_current(str(archive / "small"))
    rect = panel.tree.visualRect(panel.tree.currentIndex())
    for mode in ("light", "dark"):
        Theme.current().set_mode(mode)
        image = panel.tree.viewport().grab().toImage()
        assert image.pixelColor(170, rect.center().y()).name() == Theme.current().hex("accentbg").lower()
