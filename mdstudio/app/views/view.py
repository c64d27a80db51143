"""What all dataset views share: they read only while they are seen, follow the selection, and say their command."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from mdstudio.app.reading import Reader
from mdstudio.app.session import DatasetSession
from mdstudio.app.widgets import Ground
from mdstudio.engine.dataset import Dataset

PAGE_MARGIN, GAP, SIDE_WIDTH = 18, 10, 300
NARROW = 980  # a view narrower than this (a window below 1280 or so) hides its side panel


class DatasetView(Ground):
    """A view of a session. Subclasses give `renew` (show the selection, reading what is needed) and `command_text`.

    `renew` is called when the view is seen and something changed since, so that a hidden view costs nothing.
    Signals: `command_changed` when `command_text` may say something else; `status` with words for the status bar.
    """

    command_changed = Signal()
    status = Signal(str)
    key = ""
    title = ""
    icon = ""

    def __init__(self, session: DatasetSession, reader: Reader, parent: QWidget | None = None) -> None:
        super().__init__("page", parent)
        self.session = session
        self.reader = reader
        self._shown_dataset: Dataset | None = None
        self._due = True
        self._narrow: bool | None = None  # not laid out yet
        session.opened.connect(self._opened)
        session.selection_changed.connect(self._changed)

    @property
    def dataset(self) -> Dataset | None:
        return self.session.dataset

    def command_text(self) -> str:
        """The command line that does what is shown (G9)."""
        raise NotImplementedError

    def renew(self) -> None:
        """Show the selection of the session; the dataset is open."""
        raise NotImplementedError

    def dataset_changed(self) -> None:
        """Another dataset object is there (opened, or read again): forget what was made from the last one."""

    def side_panel(self) -> QWidget | None:
        """The panel that gives way in a narrow window; subclasses hide it at first, so that it asks for no room."""
        return None

    def toggle_side_panel(self) -> None:
        panel = self.side_panel()
        if panel is not None:
            panel.setVisible(not panel.isVisible())

    def close_panel(self) -> bool:
        """Esc, when nothing was being read: close what was opened beside the plot; whether there was something."""
        return False

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._renew_if_due()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.width() < NARROW
        if narrow != self._narrow:
            self._narrow = narrow
            self.set_narrow(narrow)

    def set_narrow(self, narrow: bool) -> None:
        """The view has become too narrow for its side panel, or wide enough again."""
        panel = self.side_panel()
        if panel is not None:
            panel.setVisible(not narrow)

    def _opened(self) -> None:
        self._due = True
        self._renew_if_due()

    def _changed(self) -> None:
        self._due = True
        self._renew_if_due()
        self.command_changed.emit()

    def _renew_if_due(self) -> None:
        if not self._due or not self.isVisible() or self.dataset is None:
            return
        self._due = False
        if self._shown_dataset is not self.dataset:
            self._shown_dataset = self.dataset
            self.dataset_changed()
        self.renew()
        self.command_changed.emit()
