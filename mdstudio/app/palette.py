"""The command palette: what is typed into the search field finds commands, open tabs, places and recent documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from mdstudio.app import fonts, icons

_ROWS = 12


@dataclass(frozen=True)
class Hit:
    """Something the palette can do: `note` stands after the text (keys, or a location)."""

    text: str
    icon: str
    act: Callable[[], object]
    note: str = ""


class Palette(QFrame):
    """The list under the search field; the field keeps the focus, Up, Down, Enter and Esc act on the list."""

    def __init__(self, field: QLineEdit, offer: Callable[[], Sequence[Hit]], parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.setAccessibleName("Commands")
        self._field = field
        self._window = parent
        self._offer = offer
        self._hits: list[Hit] = []
        self._list = QListWidget(self)
        self._list.setAccessibleName("Matching commands")
        self._list.setFont(fonts.font("dense"))
        self._list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._list.setIconSize(QSize(15, 15))
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        column = QVBoxLayout(self)
        column.setContentsMargins(5, 5, 5, 5)
        column.addWidget(self._list)
        self._list.itemClicked.connect(lambda item: self._run(self._list.row(item)))
        field.textEdited.connect(self._search)
        field.installEventFilter(self)
        self.hide()

    def open(self) -> None:
        """Show everything, with the focus in the field."""
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._field.selectAll()
        self._search(self._field.text())

    def close_list(self) -> None:
        self.hide()
        self._field.clear()

    def hits(self) -> list[str]:
        """The texts that are offered now."""
        return [hit.text for hit in self._hits] if self.isVisible() else []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut and self.isVisible():
            self.close_list()
        elif event.type() == QEvent.Type.MouseButtonPress and not self.isVisible():
            self._search(self._field.text())
        elif event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._key(event)
        return False

    def _key(self, event: QKeyEvent) -> bool:
        row = self._list.currentRow()
        match event.key():
            case Qt.Key.Key_Down if self.isVisible():
                self._list.setCurrentRow(min(row + 1, self._list.count() - 1))
            case Qt.Key.Key_Up if self.isVisible():
                self._list.setCurrentRow(max(row - 1, 0))
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if self.isVisible():
                self._run(row)
            case Qt.Key.Key_Escape:
                self.close_list()
                self._field.clearFocus()
            case _:
                return False
        return True

    def _search(self, text: str) -> None:
        words = text.casefold().split()
        every = self._offer()
        self._hits = [hit for hit in every if all(word in f"{hit.text} {hit.note}".casefold() for word in words)]
        self._list.clear()
        for hit in self._hits:
            item = QListWidgetItem(icons.icon(hit.icon, 15), f"{hit.text}   {hit.note}".rstrip())
            item.setSizeHint(QSize(100, 28))
            self._list.addItem(item)
        if not self._hits:
            item = QListWidgetItem("Nothing matches")
            item.setFlags(Qt.ItemFlag.NoItemFlags)
            self._list.addItem(item)
        self._list.setCurrentRow(0)
        self._place()
        self.show()
        self.raise_()

    def _place(self) -> None:
        width = max(self._field.width(), 380)
        rows = min(_ROWS, self._list.count())
        corner = self._field.mapTo(self._window, QPoint(self._field.width() - width, self._field.height() + 4))
        self.setGeometry(corner.x(), corner.y(), width, 28 * rows + 12)

    def _run(self, row: int) -> None:
        if 0 <= row < len(self._hits):
            hit = self._hits[row]
            self.close_list()
            self._field.clearFocus()
            hit.act()
