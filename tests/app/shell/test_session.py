"""A session: one open dataset, one selection, its own channels."""

from __future__ import annotations

from pathlib import Path

from mdstudio.app.reading import Reader
from mdstudio.app.session import DatasetSession, short_name
from mdstudio.engine.errors import NotFoundError


def test_opening_reads_the_metadata_and_selects_the_first_item(qtbot, reader: Reader, archive: Path) -> None:
    session = DatasetSession(str(archive / "small"), reader)
    with qtbot.waitSignal(reader.read) as read, qtbot.waitSignal(session.opened):
        session.open()
    assert session.dataset is not None
    assert session.title == "small"
    assert session.selection.item == "temperature"
    assert read.args[0].requests >= 1


def test_a_location_without_a_dataset_fails_with_the_reason(qtbot, reader: Reader, tmp_path: Path) -> None:
    session = DatasetSession(str(tmp_path / "nope"), reader)
    with qtbot.waitSignal(session.failed) as failed:
        session.open()
    assert isinstance(failed.args[0], NotFoundError)
    assert session.dataset is None
    assert session.title == "nope"


def test_a_selection_changes_what_is_named_and_tells_once(qtbot, reader: Reader, archive: Path) -> None:
    session = DatasetSession(str(archive / "small"), reader)
    with qtbot.waitSignal(session.opened):
        session.open()
    told = []
    session.selection_changed.connect(lambda: told.append(session.selection))
    session.select(item="wind")
    session.select(time=2)
    session.select(time=2)
    assert [(s.item, s.time, s.layer) for s in told] == [("wind", 0, None), ("wind", 2, None)]


def test_closing_silences_what_still_reads(qtbot, reader: Reader, archive: Path) -> None:
    session = DatasetSession(str(archive / "small"), reader)
    other = DatasetSession(str(archive / "small"), reader)
    session.open()
    other.open()
    with qtbot.waitSignal(other.opened):
        session.close()
    assert session.dataset is None


def test_a_short_name_never_holds_a_secret() -> None:
    assert short_name("https://x.blob.core.windows.net/box/data?sv=1&sig=secret") == "data"
    assert short_name("/a/b/c/") == "c"
    assert short_name("C:\\data\\set") == "set"
