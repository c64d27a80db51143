"""A session over a real dataset and the means to wait for what a view reads."""

from __future__ import annotations

from typing import Any

from mdstudio.app.reading import Reader
from mdstudio.app.session import DatasetSession


class Opened:
    """An open session; `show` puts a view on the screen, `rest` waits for its reads."""

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
