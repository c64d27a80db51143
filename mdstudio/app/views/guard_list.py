"""The guards in force (V9): code, what is the matter, what it forbids, the way out. Main thread only."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from mdstudio.app.widgets import Button, Icon, Label
from mdstudio.engine.layout.guards import Guard

SHOWN = 2  # more collapse into a count


def effect(guard: Guard) -> str:
    """What a guard forbids, in words."""
    blocked = [word for word, flag in (("reading", guard.blocks_read), ("writing", guard.blocks_write),
                                       ("saving metadata", guard.blocks_save)) if flag]
    return f"Refused: {', '.join(blocked)}." if blocked else ""


class GuardList(QWidget):
    """A frame a guard; hidden when there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(6)
        self._all: tuple[Guard, ...] = ()
        self.hide()

    def show_guards(self, guards: Sequence[Guard], *, every: bool = False) -> None:
        """Show the first guards, or `every` one."""
        self._all = tuple(guards)
        while self._column.count():
            item = self._column.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.deleteLater()
        shown = self._all if every or len(self._all) <= SHOWN else self._all[:SHOWN]
        for guard in shown:
            self._column.addWidget(_GuardFrame(guard))
        if len(shown) < len(self._all):
            more = Button(f"{len(self._all) - len(shown)} more", kind="link", dense=True)
            more.clicked.connect(lambda: self.show_guards(self._all, every=True))
            self._column.addWidget(more)
        self.setVisible(bool(shown))


class _GuardFrame(QFrame):
    def __init__(self, guard: Guard, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("guard")
        self.setAccessibleName(f"Guard {guard.code}: {guard.message}")
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(Label(f"Guard  {guard.code}", "dense-strong", "advice"))
        head.addWidget(Label(guard.message, "dense-strong", wrap=True), 1)
        column = QVBoxLayout()
        column.setSpacing(2)
        column.addLayout(head)
        column.addWidget(Label(f"{effect(guard)} {guard.advice}".strip(), "dense", "text2", wrap=True))
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 9, 14, 9)
        row.setSpacing(14)
        row.addWidget(Icon("status-advice", 16, "advice", "advice-bg"))
        row.addLayout(column, 1)
