"""The theme as users see it, and a session over a real dataset."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from mdstudio.app.reading import Reader
from mdstudio.app.session import DatasetSession
from mdstudio.app.theme import Theme
from views.made import make_dataset

if not os.environ.get("DISPLAY"):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


@pytest.fixture(autouse=True)
def theme(qapp: QApplication) -> Iterator[Theme]:
    """The application styled, in light; put back to light afterwards."""
    current = Theme.current()
    current.install(qapp)
    current.set_mode("light")
    yield current
    current.set_mode("light")


@pytest.fixture(autouse=True)
def no_qt_warnings(qtlog: object) -> Iterator[None]:
    """Qt itself has nothing to complain about (but that this platform has no window manager)."""
    yield
    said = [record.message for record in qtlog.records  # type: ignore[attr-defined]
            if "propagateSizeHints" not in record.message]
    assert not said


@pytest.fixture
def reader(qapp: QApplication) -> Iterator[Reader]:
    """A reader whose threads end with the test."""
    made = Reader()
    yield made
    assert made.close(10.0)


@pytest.fixture
def location(tmp_path: Path) -> str:
    return make_dataset(tmp_path)


class Opened:
    """A session over a real dataset and the means to wait for what a view reads."""

    def __init__(self, location: str, reader: Reader, qtbot: Any) -> None:
        self.reader, self.qtbot = reader, qtbot
        self.session = DatasetSession(location, reader)
        with qtbot.waitSignal(self.session.opened, timeout=20_000):
            self.session.open()

    def show(self, kind: type[Any], width: int = 1180, height: int = 780) -> Any:
        """A view on the screen, all its reads answered."""
        view = kind(self.session, self.reader)
        self.qtbot.addWidget(view)
        view.resize(width, height)
        view.show()
        self.qtbot.waitExposed(view)
        self.rest()
        return view

    def rest(self) -> None:
        """Until nothing is read any more."""
        self.qtbot.wait(1)  # what was put off to the next turn of the event loop
        self.qtbot.waitUntil(lambda: not self.reader.busy(), timeout=30_000)
        self.qtbot.wait(1)
        self.qtbot.waitUntil(lambda: not self.reader.busy(), timeout=30_000)


@pytest.fixture
def opened(location: str, reader: Reader, qtbot: Any) -> Opened:
    return Opened(location, reader, qtbot)
