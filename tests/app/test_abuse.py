"""The window under abuse over a storage that takes two seconds a request and fails one in twenty (G10).

A person who does not wait: tabs, times, items, points, zoom, Esc, closing and opening, in an order drawn from a seed.
The worst gap of the event loop is printed (`pytest -s`); what is asserted is behaviour: Esc stops what is read, what
stands on the screen is what was asked or says that it is not, no thread outlives the window.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from mdstudio.app.dataset_page import DatasetPage
from mdstudio.app.preferences import Preferences
from mdstudio.app.theme import Theme
from mdstudio.app.views.map_view import MapView
from mdstudio.app.views.overview import OverviewView
from mdstudio.app.views.storage import StorageView
from mdstudio.app.window import MainWindow
from mdstudio.engine import storage as storages
from mdstudio.engine.requests import MapRequest
from tests.app.event_loop import Stopwatch
from tests.app.slow_storage import SlowStorage
from tests.app.views.made import make_dataset

RESTS = (*(0, 10, 20, 50, 100, 200) * 4, 2500)  # milliseconds between two acts; some reads get their answer


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> random.Random:
    """Every storage that is opened is slow and fails now and then."""
    chance, open_storage = random.Random(11), storages.open_storage
    monkeypatch.setattr(storages, "open_storage", lambda location: SlowStorage(open_storage(location), chance=chance))
    return chance


@pytest.fixture
def window(qapp: QApplication, tmp_path: Path) -> Iterator[MainWindow]:
    Theme.current().set_mode("light")
    Theme.current().install(qapp)
    made = MainWindow(Preferences(tmp_path / "mdstudio.ini"))
    made.show()
    yield made
    made.close()
    made.deleteLater()


class Abuser:
    """Does one thing after another to the window; every thing is one that a person can do."""

    def __init__(self, window: MainWindow, locations: list[str], seed: int) -> None:
        self.window, self.locations, self.chance = window, locations, random.Random(seed)
        self.done: dict[str, int] = {}
        self.escapes = 0

    def act(self) -> None:
        acts: list[Callable[[], None]] = [
            self.flip_view, self.flip_view, self.flip_tab, self.drag_time, self.drag_time, self.drag_time,
            self.choose_item, self.choose_item, self.click_plot, self.click_plot, self.click_plot, self.zoom, self.zoom,
            self.pan, self.escape, self.close_tab, self.open_again, self.reload, self.resize, self.scheme, self.keys]
        act = self.chance.choice(acts)
        self.done[act.__name__] = self.done.get(act.__name__, 0) + 1
        act()

    @property
    def page(self) -> DatasetPage | None:
        return self.window.documents.dataset_page()

    def view(self) -> Any:
        return self.page.view() if self.page is not None else None

    def plot(self) -> Any:
        view = self.view()
        return view.plot if isinstance(view, MapView | StorageView) and view.plot.raster is not None else None

    def flip_view(self) -> None:
        key = Qt.Key(Qt.Key.Key_1 + self.chance.randrange(5))
        QTest.keyClick(self.window, key, Qt.KeyboardModifier.ControlModifier)

    def flip_tab(self) -> None:
        self.window.next_tab()

    def drag_time(self) -> None:
        view = self.view()
        if isinstance(view, MapView):
            slider = view.time_bar.slider
            for _ in range(5):
                at = QPoint(self.chance.randrange(max(1, slider.width())), 11)
                QTest.mousePress(slider, Qt.MouseButton.LeftButton, pos=at)
                QTest.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=at)
        elif self.page is not None and self.page.session.dataset is not None:
            self.page.session.select(time=self.chance.randrange(len(self.page.session.dataset.metadata.times)))

    def choose_item(self) -> None:
        page = self.page
        if page is not None and page.session.dataset is not None:
            item = self.chance.choice(page.session.dataset.metadata.items)
            page.session.select(item=item.name)
            if item.layers:
                page.session.select(layer=self.chance.randrange(item.layer_count))

    def click_plot(self) -> None:
        view, plot = self.view(), self.plot()
        if plot is None:
            return
        if isinstance(view, MapView):
            view.tools.set_tool("point")
        port = plot.view.viewport()
        at = QPoint(self.chance.randrange(port.width()), self.chance.randrange(port.height()))
        QTest.mouseMove(port, at)
        QTest.mouseClick(port, Qt.MouseButton.LeftButton, pos=at)
        if isinstance(view, StorageView) and view.page >= 0:
            view.read_page()
        if isinstance(view, MapView) and len(view.points.points) > 4:
            view.points.clear()

    def zoom(self) -> None:
        if (plot := self.plot()) is not None:
            plot.box.zoom(self.chance.choice((0.5, 0.7, 1.5, 2.0)))

    def pan(self) -> None:
        view, plot = self.view(), self.plot()
        if plot is not None:
            plot.box.translateBy(x=self.chance.uniform(-3, 3), y=self.chance.uniform(-3, 3))
        if isinstance(view, MapView) and view.picture is not None:
            x0, y0, x1, y1 = view.picture.raster.extent
            view.set_rectangle((x0, y0, self.chance.uniform(x0, x1), self.chance.uniform(y0, y1)))

    def escape(self) -> None:
        """Esc stops at once all that the page at the front reads."""
        self.escapes += 1
        self.window.activateWindow()  # a tool tip may have been in front
        QApplication.processEvents()
        QTest.keyClick(self.window, Qt.Key.Key_Escape)
        if self.page is not None:
            assert not reading(self.window, self.page)

    def close_tab(self) -> None:
        if self.chance.random() < 0.3:
            self.window.close_tab()

    def open_again(self) -> None:
        self.window.open_dataset(self.chance.choice(self.locations))

    def reload(self) -> None:
        if self.chance.random() < 0.3:
            self.window.reload()

    def resize(self) -> None:
        self.window.resize(self.chance.choice((1100, 1280, 1440)), self.chance.choice((700, 900)))

    def scheme(self) -> None:
        if self.chance.random() < 0.3:
            self.window.toggle_scheme()

    def keys(self) -> None:
        view = self.view()
        if view is not None:
            key = self.chance.choice((Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_X, Qt.Key.Key_Plus, Qt.Key.Key_0,
                                      Qt.Key.Key_Space, Qt.Key.Key_End))
            QTest.keyClick(view.focusProxy() or view, key)


def reading(window: MainWindow, page: DatasetPage) -> list[str]:
    """The channels of a page that wait for an answer."""
    own = page.session._key
    return [channel.removeprefix(own) for channel in window.reader._newest if channel.startswith(own)]


def assert_honest(window: MainWindow) -> None:
    """What the view at the front shows is what was asked, or it says that it is not."""
    page = window.documents.dataset_page()
    if page is None:
        return
    session, view = page.session, page.view()
    busy = reading(window, page)
    if session.dataset is None:
        assert page.states.state in ("loading", "error", "empty")
        assert page.states.state != "loading" or "open" in busy, "waits for a read that nobody makes"
        return
    chosen = session.selection
    asked = MapRequest(chosen.item, chosen.time, chosen.layer)
    if isinstance(view, MapView):
        shown = view.picture.result.request if view.picture is not None else None
        assert_state(view.stack.state, shown == asked, "slice" in busy, "map")
        if view.picture is not None and view.stack.state == "contents" and "slice" not in busy and view.points.points:
            series = view.series
            assert_state(series.stack.state, series.result is not None and series.result.request == series.request(),
                         "map-series" in busy, "series")
    elif isinstance(view, StorageView):
        key = view.pages.key if view.pages is not None else None
        assert_state(view.stack.state, key == (chosen.item, chosen.time, chosen.layer), "pages" in busy, "storage")
    elif isinstance(view, OverviewView) and view.preview.isVisible():
        shown = view.preview.picture.result.request if view.preview.picture is not None else None
        assert_state(view.preview.stack.state, shown == asked, "preview" in busy, "preview")


def assert_state(state: str, right: bool, busy: bool, what: str) -> None:
    if state == "contents":
        assert right or busy, f"{what}: something else is shown as if it were asked"
    elif state == "loading":
        assert busy, f"{what}: waits for a read that nobody makes"


def abuse(window: MainWindow, locations: list[str], seconds: float, seed: int, qtbot: Any) -> None:
    abuser = Abuser(window, locations, seed)
    for location in locations:
        window.open_dataset(location)
    check = QTimer(window, interval=5)
    check.timeout.connect(lambda: assert_honest(window))  # pytest-qt fails the test where it raises
    check.start()
    watch = Stopwatch()
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        abuser.act()
        qtbot.wait(abuser.chance.choice(RESTS))
    check.stop()
    watch.stop()
    print(f"\nseed {seed}, {seconds:.0f} s: {sum(abuser.done.values())} acts, {abuser.escapes} Esc\n{watch.report()}")


def run(window: MainWindow, tmp_path: Path, seconds: float, seed: int, qtbot: Any) -> None:
    locations = [make_dataset(tmp_path, "first"), make_dataset(tmp_path, "second", StorageType="TimeSeries")]
    abuse(window, locations, seconds, seed, qtbot)
    QTest.keyClick(window, Qt.Key.Key_Escape)
    for page in window.documents.pages:  # Esc is for the page at the front
        if isinstance(page, DatasetPage):
            page.session.cancel_all()
    assert_honest(window)
    window.close()
    qtbot.waitUntil(lambda: not [t for t in threading.enumerate() if t.name.startswith("reader-")], timeout=20_000)


@pytest.mark.rule("G10")
def test_nothing_blocks_and_nothing_lies_over_a_slow_failing_storage(
        window: MainWindow, slow: random.Random, tmp_path: Path, qtbot: Any) -> None:
    run(window, tmp_path, 25.0, 1, qtbot)


@pytest.mark.long
@pytest.mark.rule("G10")
def test_ten_minutes_of_it(window: MainWindow, slow: random.Random, tmp_path: Path, qtbot: Any) -> None:
    run(window, tmp_path, 600.0, 2, qtbot)
