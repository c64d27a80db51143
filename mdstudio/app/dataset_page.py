"""The page of one open dataset: the row of view tabs over the views, which are made when they are first shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from mdstudio.app import formats
from mdstudio.app.reading import Reader, unexpected
from mdstudio.app.session import DatasetSession
from mdstudio.app.tabs import TabLook, ViewTabs
from mdstudio.app.widgets import Button, Ground, IconButton, StateStack
from mdstudio.engine.errors import Cancelled, MdError

ViewSpec = tuple[str, str, str, Callable[[DatasetSession, Reader], QWidget]]


def all_views() -> Sequence[ViewSpec]:
    """The views in order: key, title, icon, factory. Imports them (and pyqtgraph) at the first call."""
    from mdstudio.app.views import VIEWS

    return tuple(VIEWS)


class DatasetPage(Ground):
    """Signals: `looked` when title or state changed, `status` with words of a view, `view_changed` with its key."""

    looked = Signal()
    status = Signal(str)
    view_changed = Signal(str)

    def __init__(self, session: DatasetSession, parent: QWidget | None = None,
                 views: Callable[[], Sequence[ViewSpec]] = all_views) -> None:
        super().__init__("page", parent)
        self.session = session
        session.setParent(self)
        self._load = views
        self._specs: Sequence[ViewSpec] = ()
        self._made: dict[str, QWidget] = {}
        self.setAccessibleName(session.title)
        self.tabs = ViewTabs()
        self.reload = IconButton("reload", "Reload")
        self.reload.setToolTip("Read the dataset again (Ctrl R)")
        self.copy = Button("Copy as command", "terminal", tip="Copy what this view shows as a command (Ctrl Shift C)")
        row_widget = Ground("viewrow")
        row_widget.setFixedHeight(44)
        row = QHBoxLayout(row_widget)
        row.setContentsMargins(18, 0, 14, 1)
        row.setSpacing(8)
        row.addWidget(self.tabs, 1)
        row.addWidget(self.reload)
        row.addWidget(self.copy)
        self._stack = QStackedWidget()
        self.states = StateStack(self._stack)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(row_widget)
        column.addWidget(self.states, 1)
        self.tabs.currentChanged.connect(self._show)
        self.reload.clicked.connect(self.open)
        self.copy.clicked.connect(self.copy_command)
        self.copy.setEnabled(False)
        session.opened.connect(self._opened)
        session.failed.connect(self._failed)
        session.view_requested.connect(self.show_view)

    def open(self) -> None:
        """Read the metadata; the views come when it is there."""
        self.states.show_loading(f"Opening {self.session.title}")
        self.session.open()

    def fail(self, error: MdError) -> None:
        """Show why the dataset cannot be opened."""
        self.session.error = error
        self._failed(error)

    def show_view(self, key: str) -> None:
        """Bring a view to the front by its key; nothing for a key that there is not."""
        for i, spec in enumerate(self._specs):
            if spec[0] == key:
                self.tabs.setCurrentIndex(i)

    def show_number(self, number: int) -> None:
        """Bring the n-th view to the front, from 1."""
        if 1 <= number <= self.tabs.count():
            self.tabs.setCurrentIndex(number - 1)

    def views(self) -> list[tuple[str, str, str]]:
        """Key, title and icon of each view, in the order of the tabs; none before the dataset is open."""
        return [(key, title, icon) for key, title, icon, _ in self._specs]

    def view_key(self) -> str:
        """Key of the view at the front; "" before the dataset is open."""
        index = self.tabs.currentIndex()
        return self._specs[index][0] if 0 <= index < len(self._specs) else ""

    def view(self, key: str = "") -> QWidget | None:
        """A view that was made; the one at the front by default."""
        return self._made.get(key or self.view_key())

    def verdict(self) -> str:
        """Status of the document: "bad" where it cannot be opened, "advice" where a guard holds, else ""."""
        dataset = self.session.dataset
        error = self.session.error
        if dataset is None:
            return "" if error is None or isinstance(error, Cancelled) else "bad"
        return "advice" if dataset.guards else ""

    def facts(self) -> str:
        """One line on the document: what it holds, why it cannot be opened, or that it is being opened."""
        dataset, error = self.session.dataset, self.session.error
        if dataset is None:
            return error.message if error else "opening\u2026"
        metadata = dataset.metadata
        steps = formats.plural(len(metadata.times), "step")
        return f"{formats.plural(len(metadata.items), 'item')}, {steps}, {metadata.storage.storage_type}"

    def command_text(self) -> str:
        """The command that does what the view at the front shows."""
        from mdstudio.jobs.recipe import command_text

        view = self.view()
        command = getattr(view, "command_text", None)
        text = str(command()) if command is not None else ""
        return text or command_text(["mdstudio", "inspect", self.session.location.split("?", 1)[0]])

    def copy_command(self) -> None:
        """Put the command into the clipboard and say so."""
        if self.session.dataset is not None:
            QGuiApplication.clipboard().setText(self.command_text())
            self.status.emit("Command copied")

    def close_session(self) -> None:
        """Stop what reads for this page; the page is not usable afterwards."""
        self.session.close()

    def _make(self, factory: Callable[[DatasetSession, Reader], QWidget]) -> QWidget:
        """A view, or why it could not be made: a fault in one view leaves the others usable."""
        try:
            return factory(self.session, self.session.reader)
        except Exception as error:
            failed = StateStack(Ground("page"))
            failed.show_error(unexpected(error))
            return failed

    def _opened(self) -> None:
        if not self._specs:
            self._specs = self._load()
            self.tabs.blockSignals(True)
            for i, (_, title, icon, _) in enumerate(self._specs):
                self.tabs.addTab(title)
                self.tabs.set_tab(i, title, TabLook(icon))
                self.tabs.setTabToolTip(i, f"Ctrl {i + 1}")
            self.tabs.blockSignals(False)
            self._show(self.tabs.currentIndex())
        self.copy.setEnabled(True)
        self.setAccessibleName(self.session.title)
        self.states.show_contents()
        self.looked.emit()

    def _failed(self, error: MdError) -> None:
        if isinstance(error, Cancelled) and self.session.dataset is not None:
            self.states.show_contents()  # a reload that was stopped: what was read before is still right
        else:
            self.states.show_error(error, [("Try again", self.open)])
        self.looked.emit()

    def _show(self, index: int) -> None:
        if not 0 <= index < len(self._specs):
            return
        key, title, _, factory = self._specs[index]
        view = self._made.get(key)
        if view is None:
            view = self._make(factory)
            if not view.accessibleName():
                view.setAccessibleName(title)
            status: Any = getattr(view, "status", None)
            if status is not None:
                status.connect(self.status)
            self._made[key] = view
            self._stack.addWidget(view)
            QTimer.singleShot(0, self, self._bring)  # a turn to make it, one to lay it out: neither is long
        else:
            self._bring()
        self.view_changed.emit(key)

    def _bring(self) -> None:
        """Show the view of the tab that is chosen now."""
        view = self._made.get(self.view_key())
        if view is not None:
            self._stack.setCurrentWidget(view)
