"""The states of a view: contents, loading, empty, error, stale (mock-up 07, last row).

The contents are never taken away by loading, an error or a stale picture: the last picture stays under a card. Only
`empty` hides them, because then there is nothing to show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from mdstudio.app import formats
from mdstudio.app.reading import UnexpectedError
from mdstudio.app.theme import Theme
from mdstudio.app.widgets.bars import Bar
from mdstudio.app.widgets.base import Icon, Label
from mdstudio.app.widgets.buttons import Button
from mdstudio.engine.errors import AccessError, Cancelled, MdError, NotFoundError, StorageError

SHOW_AFTER_MS = 300

Action = tuple[str, Callable[[], object]]


class StateStack(QWidget):
    """Contents with a state over them. `state` is "contents", "loading", "empty", "error" or "stale"."""

    changed = Signal(str)

    def __init__(self, contents: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.contents = contents
        self.state = "contents"
        self._overlay = _Overlay(self)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.addWidget(contents, 0, 0)
        grid.addWidget(self._overlay, 0, 0)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(SHOW_AFTER_MS)
        self._later.timeout.connect(self.reveal)
        self._overlay.hide()

    def show_contents(self) -> None:
        """The picture is there and up to date."""
        self._later.stop()
        self._overlay.hide()
        self.contents.show()
        self._become("contents")

    def show_loading(self, text: str, done: int = 0, total: int = 0) -> None:
        """Something is read: the words, and how much of it; the card appears after 300 ms."""
        self._overlay.card.set_loading(text, done, total)
        if self.state != "loading":
            self._overlay.hide()
            self.contents.show()
            self._overlay.set_look("bottom")
            self._later.start()
            self._become("loading")

    def show_empty(self, icon: str, title: str, text: str = "", actions: Sequence[Action] = ()) -> None:
        """Nothing to show: why, and the way out."""
        self._later.stop()
        self.contents.hide()
        self._overlay.set_look("plain")
        self._overlay.card.set_empty(icon, title, text, actions)
        self._overlay.show()
        self._overlay.raise_()
        self._become("empty")

    def show_error(self, error: MdError, actions: Sequence[Action] = ()) -> None:
        """What went wrong, where, what to do. A cancelled read is no error: it was stopped."""
        if isinstance(error, Cancelled):
            self.show_stopped(actions=actions)
            return
        self._later.stop()
        self.contents.show()
        self._overlay.set_look("grey")
        self._overlay.card.set_error(error, actions)
        self._overlay.show()
        self._overlay.raise_()
        self._become("error")

    def show_stale(self, title: str, text: str = "") -> None:
        """An older picture is shown while a newer one is read: which, and what is being read."""
        self._later.stop()
        self.contents.show()
        self._overlay.set_look("stale")
        self._overlay.card.set_stale(title, text)
        self._overlay.show()
        self._overlay.raise_()
        self._become("stale")

    def show_stopped(self, held: str = "", actions: Sequence[Action] = ()) -> None:
        """The read was stopped: `held` names the older picture that is still shown; without one the view is empty."""
        if held:
            self.show_stale(f"Showing {held}", "the read was stopped")
        else:
            self.show_empty("stop", "The read was stopped", "", actions)

    def reveal(self) -> None:
        """Show a loading card now rather than after 300 ms."""
        self._later.stop()
        self._overlay.show()
        self._overlay.raise_()

    def message(self) -> str:
        """The words of the state, for tests and screen readers; "" while the contents are shown."""
        return "" if self.state == "contents" else self._overlay.card.accessibleName()

    def _become(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.changed.emit(state)


class _Overlay(QWidget):
    """Covers the contents: greys them, or draws the dashed border of a stale picture, and places the card."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.card = _StateCard(self)
        self._look = "plain"
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(12, 12, 12, 12)
        self._grid.addWidget(self.card, 0, 0, Qt.AlignmentFlag.AlignCenter)

    def set_look(self, look: str) -> None:
        """ "plain", "grey", "bottom" or "stale"; mouse events reach the contents through the last two."""
        self._look = look
        side = {"bottom": Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignHCenter,
                "stale": Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft}
        self._grid.setAlignment(self.card, side.get(look, Qt.AlignmentFlag.AlignCenter))
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, look in ("bottom", "stale"))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = Theme.current()
        painter = QPainter(self)
        if self._look == "grey":
            painter.fillRect(self.rect(), theme.color("sunken", 190))
        elif self._look == "stale":
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            pen = QPen(theme.color("advice-fill"), 1.5, Qt.PenStyle.DashLine)
            painter.setPen(pen)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 6, 6)
        painter.end()


class _StateCard(QFrame):
    """The card of a state: icon, title, text, a bar, buttons; only what the state needs is shown."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setMaximumWidth(460)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Maximum)
        self._icon = Icon("map", 18)
        self._title = Label("", "dense-strong", wrap=True)
        self._hint = Label("Esc stops", "caption", "text3")
        self._text = Label("", "dense", "text2", wrap=True)
        self._bar = Bar()
        self._actions = QHBoxLayout()
        self._actions.setSpacing(8)
        self._buttons: list[Button] = []
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(self._title, 1)
        head.addWidget(self._hint)
        self._column = QVBoxLayout()
        self._column.setSpacing(4)
        self._column.addLayout(head)
        self._column.addWidget(self._text)
        self._column.addWidget(self._bar)
        self._column.addLayout(self._actions)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(14, 11, 14, 11)
        self._grid.setHorizontalSpacing(12)
        self._grid.setColumnStretch(1, 1)

    def set_loading(self, text: str, done: int, total: int) -> None:
        if total:
            text = f"{text} {formats.count(done)} of {formats.count(total)}"
            self._bar.set_fraction(done / total)
        else:
            self._bar.set_unknown()
        self._fill("card", "", "", text, "", ())
        self._hint.show()
        self._bar.show()
        self.setMinimumWidth(260)

    def set_stale(self, title: str, text: str) -> None:
        self._fill("card", "clock", "advice", title, text, ())

    def set_error(self, error: MdError, actions: Sequence[Action]) -> None:
        status = "unreadable" if isinstance(error, StorageError) else "bad"
        if isinstance(error, (AccessError, NotFoundError)):
            status = "bad"
        text = "\n".join(part for part in (error.where, error.advice) if part)
        every = list(actions)
        if isinstance(error, UnexpectedError):
            details = error.details
            every.append(("Copy details", lambda: QGuiApplication.clipboard().setText(details)))
        state = Theme.status(status)
        self._fill("card", state.icon, state.tone, error.message, text, every)
        self.setMinimumWidth(280)

    def set_empty(self, icon: str, title: str, text: str, actions: Sequence[Action]) -> None:
        self._fill("", icon, "text3", title, text, actions, centred=True)

    def _fill(self, name: str, icon: str, token: str, title: str, text: str, actions: Sequence[Action],
              centred: bool = False) -> None:
        self.setObjectName(name or "bare")
        self.style().unpolish(self)
        self.style().polish(self)
        self.setMinimumWidth(200 if centred else 280)
        self.setAccessibleName(f"{title} {text}".strip())
        self._icon.setVisible(bool(icon))
        if icon:
            self._icon.setFixedSize(*((24, 24) if centred else (18, 18)))
            self._icon.set_icon(icon, token)
        self._grid.removeWidget(self._icon)
        self._grid.removeItem(self._column)
        side = Qt.AlignmentFlag.AlignHCenter if centred else Qt.AlignmentFlag.AlignTop
        self._grid.addWidget(self._icon, 0, 0, side)
        self._grid.addLayout(self._column, 1 if centred else 0, 0 if centred else 1)
        for label in (self._title, self._text):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter if centred else Qt.AlignmentFlag.AlignLeft)
        self._title.setText(title)
        self._text.setText(text)
        self._text.setVisible(bool(text))
        self._hint.hide()
        self._bar.hide()
        self._set_actions(actions, centred)

    def _set_actions(self, actions: Sequence[Action], centred: bool) -> None:
        while self._actions.count():
            item = self._actions.takeAt(0)
            del item
        for button in self._buttons:
            button.deleteLater()
        self._buttons = []
        self._actions.setContentsMargins(0, 6 if actions else 0, 0, 0)
        if centred:
            self._actions.addStretch(1)
        for text, act in actions:
            button = Button(text, kind="link" if centred else "default", dense=True)
            button.clicked.connect(lambda _=False, act=act: act())
            self._actions.addWidget(button)
            self._buttons.append(button)
        self._actions.addStretch(1)
