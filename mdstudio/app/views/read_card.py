"""A card beside the map that reads what is asked, shows it, says what it cost and exports it. Main thread only."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from mdstudio.app import formats
from mdstudio.app.session import DatasetSession
from mdstudio.app.views.reads import series_requests, series_waits
from mdstudio.app.widgets import Button, Card, IconButton, StateStack
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import MdError
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import Explain


class ReadCard(Card):
    """Subclasses say what is asked (`request`), how it is read (`ask`), shown (`show_result`, `words`) and written
    (`write`), and how many series a dear read is worth (`dear`).

    Signals: `read` the result that is shown now, None for none; `closed` by the button of a card that has one.
    """

    read = Signal(object)
    closed = Signal()
    noun = "series"

    def __init__(self, session: DatasetSession, channel: str, plot: QWidget, parent: QWidget | None = None, *,
                 closable: bool = False) -> None:
        super().__init__(self.noun.capitalize(), parent=parent)
        self._session, self._channel = session, channel
        self._asked: tuple[Dataset, Any] | None = None
        self.result: Any = None
        self.stack = StateStack(plot)
        self.body.addWidget(self.stack)
        self.export = Button("CSV", "export", "ghost", dense=True, tip=f"Export the {self.noun} as CSV")
        self.export.clicked.connect(self._export)
        self.add_to_head(self.export)
        if closable:
            close = IconButton("close", f"Remove the {self.noun}", dense=True)
            close.clicked.connect(self.closed)
            self.add_to_head(close)
        self.setMinimumHeight(150)

    def request(self) -> Any:
        """What the selection asks for; None for nothing."""
        raise NotImplementedError

    def ask(self, dataset: Dataset, request: Any, progress: Progress) -> Any:
        """Worker thread: the result."""
        raise NotImplementedError

    def show_result(self, result: Any) -> None:
        """Draw a result; None: nothing."""
        raise NotImplementedError

    def empty(self, result: Any) -> tuple[str, str] | None:
        """Title and reason where a result holds nothing to draw."""
        raise NotImplementedError

    def words(self, result: Any) -> str:
        """What a result is, for the caption."""
        raise NotImplementedError

    def write(self, path: str, result: Any, dataset: Dataset) -> str:
        """Worker thread: a result to a file; returns the path."""
        raise NotImplementedError

    def dear(self) -> int:
        """As many series the read costs, to ask before it takes long; 0: it is never asked."""
        return 0

    def renew(self, *, confirmed: bool = False) -> None:
        """Read what the selection asks for unless it is shown already; what is dear waits until it is `confirmed`."""
        dataset = self._session.dataset
        if dataset is None:
            return
        request = self.request()
        self.export.setEnabled(False)
        if request is None:
            self._session.cancel(self._channel)
            self._asked = None
            self._show(None)
            self.stack.show_contents()
            return
        if self._asked == (dataset, request) and not confirmed:
            self.show_again()
            return
        dear = self.dear()
        if dear and series_waits(dataset.metadata, dataset.location, dear) and not confirmed:
            self._session.cancel(self._channel)
            self._asked = None
            self.stack.show_empty("series", f"About {formats.count(series_requests(dataset.metadata, dear))} requests",
                                  f"This {self.noun} is stored time by time; reading it may take a while.",
                                  [(f"Read {self.noun}", lambda: self.renew(confirmed=True))])
            return
        self._asked = (dataset, request)
        self.stack.show_loading(f"Reading {self.noun}")
        self._session.submit(self._channel, lambda progress: self.ask(dataset, request, progress), self._arrived,
                             self._failed, self._progress)

    def show_again(self) -> None:
        """Show what was read in another way, of another component, say; nothing while another result is awaited."""
        if self.result is not None and self._asked is not None and self.result.request == self._asked[1]:
            self._arrived(self.result)

    def _arrived(self, result: Any) -> None:
        nothing = self.empty(result)
        if nothing is None:
            self.stack.show_contents()
        else:
            self.stack.show_empty("series", *nothing)
        self._show(result)

    def _show(self, result: Any) -> None:
        self.result = result
        self.show_result(result)
        self.export.setEnabled(result is not None)
        if result is not None:
            self.caption.setText(f"{self.words(result)} · {_cost(result.explain)}")
        self.read.emit(result)

    def _failed(self, error: MdError) -> None:
        self._asked = None
        self.stack.show_error(error, [("Try again", self.renew)])

    def _progress(self, done: int, total: int, unit: str) -> None:
        self.stack.show_loading(f"Reading {self.noun}", done, total)

    def _export(self) -> None:
        if self.result is None:
            return
        path, _ = QFileDialog.getSaveFileName(self, f"Export {self.noun}", f"{self.noun.replace(' ', '-')}.csv",
                                              "CSV (*.csv);;NumPy (*.npz)")
        if path:
            self.export_to(path)

    def export_to(self, path: str) -> None:
        """Write what is shown to a file, in a worker thread."""
        result, dataset = self.result, self._session.dataset
        assert result is not None
        assert dataset is not None
        self._session.submit("export-" + self._channel, lambda progress: self.write(path, result, dataset),
                             self._exported, self._failed)

    def _exported(self, path: str) -> None:
        self.caption.setText(f"Written to {path}")


def _cost(explain: Explain) -> str:
    return (f"{formats.plural(explain.pages_touched, 'page')}, {formats.plural(explain.requests, 'request')}, "
            f"{formats.size(explain.bytes_read)}")
