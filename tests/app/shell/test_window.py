"""The window: opens what it is given, keeps pages and tabs together, remembers, and can be driven by keys alone."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QLineEdit, QTabBar, QTreeView, QWidget

from mdstudio.app import dialogs
from mdstudio.app.dataset_page import DatasetPage
from mdstudio.app.import_dialog import ImportDialog
from mdstudio.app.panes import dropped
from mdstudio.app.preferences import Preferences, Recent
from mdstudio.app.theme import Theme
from mdstudio.app.widgets import ElidedLabel
from mdstudio.app.window import FRAME, MainWindow
from mdstudio.jobs.recipe import Recipe
from tests.app.shell import workers
from tests.app.shell.made import write_source

WAIT = 60_000


class PlainView(QWidget):
    """A view that reads nothing: what the window does with views is what is tested here."""

    def __init__(self, session, reader) -> None:
        super().__init__()
        self.session = session
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def command_text(self) -> str:
        return f"mdstudio query map {self.session.location}"


def broken(session, reader) -> QWidget:
    raise KeyError("a fault")


def plain_views():
    return (("overview", "Overview", "overview", PlainView), ("map", "Map", "map", PlainView),
            ("series", "Series", "series", broken))


@pytest.fixture
def make(qtbot, preferences: Preferences) -> Iterator[Callable[[], MainWindow]]:
    windows: list[MainWindow] = []

    def made() -> MainWindow:
        window = MainWindow(preferences, views=plain_views)
        window.resize(1440, 900)
        window.show()
        windows.append(window)
        return window

    yield made
    for window in windows:
        if shiboken6.isValid(window):
            window.close()
            window.deleteLater()
    qtbot.wait(1)


@pytest.fixture
def window(make: Callable[[], MainWindow]) -> MainWindow:
    return make()


def open_small(qtbot, window: MainWindow, archive: Path) -> DatasetPage:
    window.open_location(str(archive / "small"))
    qtbot.waitUntil(lambda: (page := window.documents.dataset_page()) is not None and page.session.dataset is not None)
    page = window.documents.front()
    assert isinstance(page, DatasetPage)
    return page


@pytest.mark.rule("G1")
def test_a_dataset_opens_in_a_tab_and_is_remembered(qtbot, window: MainWindow, archive: Path) -> None:
    page = open_small(qtbot, window, archive)
    assert [window.topbar.tabs.tabText(i) for i in range(2)] == ["Start", "small"]
    assert window.windowTitle() == "small \u2014 MD Studio"
    assert page.view_key() == "overview"
    assert [recent.title for recent in window.preferences.recents] == ["small"]
    assert window.preferences.recents[0].kind == "grid"
    assert "2 items, 3 steps" in window.statusbar.words.full_text()


@pytest.mark.rule("G1")
def test_the_same_location_opens_once(qtbot, window: MainWindow, archive: Path) -> None:
    page = open_small(qtbot, window, archive)
    window.new_tab()
    window.open_location(str(archive / "empty" / ".." / "small"))
    assert window.documents.front() is page
    assert len(window.documents.pages) == 2


@pytest.mark.rule("G1")
def test_a_folder_becomes_a_place_that_is_listed(qtbot, window: MainWindow, archive: Path) -> None:
    window.open_location(str(archive))
    qtbot.waitUntil(lambda: window.places_model.find(str(archive / "small")).isValid())
    assert window.preferences.places == [str(archive)]
    window.library.remove(str(archive))
    assert window.preferences.places == []


@pytest.mark.rule("G1")
def test_a_source_file_opens_the_import_dialog(qtbot, window: MainWindow, source: Path) -> None:
    window.open_location(str(source))
    qtbot.waitUntil(lambda: bool(window.findChildren(ImportDialog)))
    dialog = window.findChildren(ImportDialog)[0]
    qtbot.waitUntil(lambda: dialog.states.state == "contents", timeout=WAIT)
    dialog.reject()


def test_a_location_where_nothing_is_shows_why_in_its_tab(qtbot, window: MainWindow, tmp_path: Path) -> None:
    window.open_location(str(tmp_path / "nope"))
    qtbot.waitUntil(lambda: isinstance(window.documents.front(), DatasetPage))
    page = window.documents.front()
    assert isinstance(page, DatasetPage)
    assert page.states.state == "error"
    assert str(tmp_path / "nope") in page.states.message()
    assert window.topbar.tabs.look(1).status == "bad"
    assert not page.copy.isEnabled()


def test_views_are_made_when_they_are_first_shown_and_changed_by_keys(qtbot, window: MainWindow, archive: Path) -> None:
    page = open_small(qtbot, window, archive)
    assert page.view("overview") is not None
    assert page.view("map") is None
    qtbot.keyClick(window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    assert page.view_key() == "map"
    assert page.view("map") is page.view()
    page.session.view_requested.emit("overview")
    assert page.view_key() == "overview"


def test_a_fault_in_one_view_leaves_the_others_usable(qtbot, window: MainWindow, archive: Path) -> None:
    page = open_small(qtbot, window, archive)
    page.show_view("series")
    qtbot.waitUntil(lambda: any("fault in MD Studio" in label.text() for label in page.findChildren(QLabel)
                                if label.isVisible()))
    page.show_view("map")
    assert isinstance(page.view(), PlainView)


@pytest.mark.rule("G9")
def test_the_command_of_the_view_at_the_front_is_copied(qtbot, window: MainWindow, archive: Path) -> None:
    open_small(qtbot, window, archive)
    qtbot.keyClick(window, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert QGuiApplication.clipboard().text() == f"mdstudio query map {archive / 'small'}"
    assert window.statusbar.words.full_text() == "Command copied"


def test_tabs_and_pages_stay_together_when_tabs_move_and_close(qtbot, window: MainWindow, archive: Path) -> None:
    page = open_small(qtbot, window, archive)
    window.topbar.tabs.moveTab(1, 0)
    assert window.documents.pages[0] is page
    assert window.documents.front() is page
    assert window.stack.currentWidget() is page
    qtbot.keyClick(window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: not shiboken6.isValid(page))
    assert window.documents.pages == [window.start]
    window.close_tab()
    assert window.documents.pages == [window.start]  # something is always there


def test_recents_are_shown_on_start_and_in_the_places_and_can_be_cleared(
    make: Callable[[], MainWindow], preferences: Preferences, archive: Path
) -> None:
    preferences.remember(Recent(str(archive / "small"), "small", "grid", "3 steps", 1000, "2020-01-01T00:00:00+00:00"))
    window = make()
    assert window.start._table.table_model.rows[0][0].text == "small"
    assert window.places_model.recent.children[0].text == "small"
    window.start.clear_requested.emit()
    assert window.start._table.table_model.rows == []
    assert window.preferences.recents == []


def test_the_palette_finds_and_runs_commands(qtbot, window: MainWindow) -> None:
    qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert window.palette_list.isVisible()
    qtbot.keyClicks(window.topbar.search, "light dark")
    assert window.palette_list.hits() == ["Switch between light and dark", "Follow the system's light and dark"]
    qtbot.keyClick(window.topbar.search, Qt.Key.Key_Return)
    assert Theme.current().dark
    assert window.preferences.scheme == "dark"
    assert not window.palette_list.isVisible()


def test_the_palette_finds_views_and_what_the_places_have_listed(qtbot, window: MainWindow, archive: Path) -> None:
    page = open_small(qtbot, window, archive)
    window.open_location(str(archive))
    qtbot.waitUntil(lambda: window.places_model.find(str(archive / "small.nc")).isValid())
    window.show_palette()
    qtbot.keyClicks(window.topbar.search, "open small")
    assert window.palette_list.hits() == ["Open small", "Open small.nc"]  # the recent one once
    window.topbar.search.clear()
    qtbot.keyClicks(window.topbar.search, "show map")
    assert window.palette_list.hits() == ["Show Map"]
    qtbot.keyClick(window.topbar.search, Qt.Key.Key_Return)
    assert page.view_key() == "map"


def test_a_tab_with_a_short_name_is_shown_whole(window: MainWindow) -> None:
    tabs = window.topbar.tabs
    tabs.setTabText(0, "nl")
    assert tabs.minimumTabSizeHint(0).width() <= tabs.tabSizeHint(0).width()


def test_a_window_fits_its_screen_with_its_frame(window: MainWindow) -> None:
    room = window.screen().availableSize()
    window.resize(room)
    window.fit_screen()
    assert window.width() <= room.width() - FRAME.width()
    assert window.height() <= room.height() - FRAME.height()
    window.resize(730, 500)
    window.fit_screen()
    assert (window.width(), window.height()) == (730, 500)


def test_escape_closes_the_palette_and_cancels_reads(qtbot, window: MainWindow, archive: Path) -> None:
    import threading

    page = open_small(qtbot, window, archive)
    window.show_palette()
    window.stop_reading()
    assert not window.palette_list.isVisible()
    gate, errors = threading.Event(), []
    page.session.submit("slow", lambda p: gate.wait(20), lambda r: None, errors.append)
    window.stop_reading()
    gate.set()
    assert len(errors) == 1
    assert window.statusbar.words.full_text() == "Reading stopped"


@pytest.mark.filterwarnings("ignore:.*QDragEnterEvent:DeprecationWarning")
def test_what_is_dropped_opens(qtbot, window: MainWindow, archive: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(archive / "small"))])
    enter = QDragEnterEvent(QPoint(400, 400), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
                            Qt.KeyboardModifier.NoModifier)
    window.dragEnterEvent(enter)
    assert enter.isAccepted()
    drop = QDropEvent(QPointF(400, 400), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
                      Qt.KeyboardModifier.NoModifier)
    window.dropEvent(drop)
    qtbot.waitUntil(lambda: isinstance(window.documents.front(), DatasetPage))


def test_an_address_can_be_dropped_as_text() -> None:
    data = QMimeData()
    data.setText(" az://account/box \n")
    assert dropped(data) == ["az://account/box"]
    data.setText("hello")
    assert dropped(data) == []


@pytest.mark.rule("G7")
def test_an_import_runs_in_the_dock_and_its_dataset_opens(
    qtbot, window: MainWindow, source: Path, tmp_path: Path
) -> None:
    window._import(Recipe((str(source),), str(tmp_path / "made"), {"Compression": "ZstdAuto"}))
    assert window.jobs.is_open()
    qtbot.waitUntil(lambda: (page := window.documents.dataset_page()) is not None and page.session.dataset is not None,
                    timeout=WAIT)
    assert window.documents.front().session.location == str(tmp_path / "made")
    assert window.queue.jobs[0].state == "done"


@pytest.mark.rule("G7")
def test_a_failed_import_is_a_readable_row(qtbot, window: MainWindow, tmp_path: Path) -> None:
    (tmp_path / "bad.nc").write_text("no netcdf")
    window._import(Recipe((str(tmp_path / "bad.nc"),), str(tmp_path / "made")))
    job = window.queue.jobs[0]
    qtbot.waitUntil(lambda: not job.live, timeout=WAIT)
    assert job.state == "failed"
    assert "bad.nc" in window.statusbar.words.full_text()
    assert window.jobs.table.table_model.rows[0][4].text == "Failed"
    assert not (tmp_path / "made").exists()


@pytest.mark.rule("G7")
def test_closing_with_running_jobs_asks_and_then_cancels_them(
    qtbot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = window.queue.add(Recipe(("/x/a.nc",), "/t/1"), run=workers.until_cancelled)
    answers = [False, True]
    monkeypatch.setattr(dialogs, "ask_close", lambda running, parent: answers.pop(0))
    assert not window.close()
    assert window.isVisible()
    assert window.close()
    assert answers == []
    assert job.process is not None
    assert job.process.state == "cancelled"


def test_geometry_and_scheme_are_remembered(make, preferences: Preferences) -> None:
    first = make()
    first.resize(1200, 800)
    first.set_scheme("dark")
    first.close()
    again = Preferences(Path(preferences._settings.fileName()))
    assert again.scheme == "dark"
    assert not again.state("geometry").isEmpty()


def test_no_secret_is_written_to_the_settings(window: MainWindow, preferences: Preferences) -> None:
    window.library.add("https://x.blob.core.windows.net/box?sv=2024&sig=SECRET")
    window.reader.cancel_all()
    preferences.save()
    assert "SECRET" not in Path(preferences._settings.fileName()).read_text()


@pytest.mark.parametrize("size", [(1440, 900), (1100, 700)])
def test_no_label_of_the_frame_is_clipped(qtbot, window: MainWindow, archive: Path, size: tuple[int, int]) -> None:
    window.resize(*size)
    for page in ("start", "dataset"):
        if page == "dataset":
            open_small(qtbot, window, archive)
        qtbot.wait(20)
        clipped = [label.text() for label in window.findChildren(QLabel)
                   if label.isVisible() and label.text() and not isinstance(label, ElidedLabel)
                   and not label.wordWrap() and label.width() < label.sizeHint().width()]
        assert clipped == [], (page, size)


def test_places_give_way_in_a_narrow_window(qtbot, window: MainWindow) -> None:
    assert window.places.isVisible()
    window.resize(1000, 700)
    assert not window.places.isVisible()
    window.resize(1300, 700)
    assert window.places.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    assert not window.places.isVisible()


def test_everything_that_takes_the_focus_has_a_name(qtbot, window: MainWindow, archive: Path, source: Path) -> None:
    open_small(qtbot, window, archive)
    window.import_sources([str(source)])
    dialog = window.findChildren(ImportDialog)[0]
    qtbot.waitUntil(lambda: dialog.states.state == "contents", timeout=WAIT)
    kinds = (QAbstractButton, QComboBox, QLineEdit, QTabBar, QTreeView)
    nameless = [f"{type(widget).__name__} in {type(widget.parent()).__name__}"
                for widget in window.findChildren(QWidget)
                if (isinstance(widget, kinds) or widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
                and not widget.accessibleName() and not widget.objectName().startswith("qt_")
                and not isinstance(widget, PlainView) and type(widget).__name__ not in ("QScrollArea",)]
    dialog.reject()
    assert nameless == []


def test_panes_are_walked_by_f6(qtbot, window: MainWindow, archive: Path) -> None:
    page = open_small(qtbot, window, archive)
    window.activateWindow()
    seen = []
    for _ in range(5):
        qtbot.keyClick(window, Qt.Key.Key_F6)
        focus = window.focusWidget()
        seen.append(type(focus).__name__)
    assert seen == ["_Tree", "DocumentTabs", "ViewTabs", "PlainView", "IconButton"]
    qtbot.keyClick(window, Qt.Key.Key_F6, Qt.KeyboardModifier.ShiftModifier)
    assert window.focusWidget() is page.view()


def test_the_window_follows_a_change_of_scheme_at_once(qtbot, window: MainWindow, archive: Path) -> None:
    open_small(qtbot, window, archive)
    for mode in ("dark", "light"):
        window.set_scheme(mode)
        image = window.grab().toImage()
        assert image.pixelColor(700, 4).name() == Theme.current().hex("window").lower()
        assert image.pixelColor(700, 60).name() == Theme.current().hex("surface").lower()
        assert image.pixelColor(100, 700).name() == Theme.current().hex("panel").lower()


@pytest.mark.rule("G10")
def test_a_change_of_scheme_dresses_each_widget_once(qtbot, window: MainWindow, archive: Path) -> None:
    open_small(qtbot, window, archive)

    class Dressed(QObject):
        def __init__(self) -> None:
            super().__init__()
            self.times: Counter[int] = Counter()

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.StyleChange:
                self.times[shiboken6.getCppPointer(watched)[0]] += 1
            return False

    seen, application = Dressed(), QApplication.instance()
    assert application is not None
    application.installEventFilter(seen)
    window.set_scheme("dark")
    application.removeEventFilter(seen)
    assert len(seen.times) > 100
    assert seen.times.total() < 4 * len(seen.times)  # off, and on again; Qt else once for each of its parents


def test_a_window_is_destroyed_without_a_trace(qtbot, preferences: Preferences, archive: Path) -> None:
    window = MainWindow(preferences, views=plain_views)
    window.show()
    open_small(qtbot, window, archive)
    ref = weakref.ref(window)
    window.close()
    window.deleteLater()
    qtbot.waitUntil(lambda window=window: not shiboken6.isValid(window))
    del window
    gc.collect()
    assert ref() is None


def test_several_files_dropped_make_one_import(qtbot, window: MainWindow, tmp_path: Path) -> None:
    files = [str(write_source(tmp_path / f"{name}.nc")) for name in "ab"]
    window.open_dropped(files)
    dialog = window.findChildren(ImportDialog)[0]
    assert dialog.recipe().sources == tuple(files)
    dialog.reject()


def test_the_dialogs_of_the_window_open_and_close(qtbot, window: MainWindow) -> None:
    window.show_keys()
    keys = window.findChildren(dialogs.KeysDialog)[0]
    assert any(label.text() == "Ctrl K" for label in keys.findChildren(QLabel))
    keys.accept()
    url = dialogs.UrlDialog("Open Azure URL", window)
    url.field.setText("/a/path")
    url._accept()
    assert url.result() == 0
    url.field.setText("az://account/box")
    url._accept()
    assert url.result() == 1
    url.deleteLater()
    menu = window.topbar.menu()
    schemes = [action.text() for action in menu.actions() if action.isCheckable()]
    assert schemes == ["Follow the system", "Light", "Dark"]
    menu.close()
    menu.deleteLater()
