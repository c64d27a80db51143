"""Text fields: a line with an error state, and a search field with its lens and key hint."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLineEdit, QWidget

from mdstudio.app import fonts, icons
from mdstudio.app.theme import Theme
from mdstudio.app.widgets.base import repolish


class LineEdit(QLineEdit):
    """A line of text, 30 high; `set_invalid` borders it in red (the reason stands beside it, by the caller)."""

    def __init__(self, text: str = "", name: str = "", placeholder: str = "", *, mono: bool = False,
                 parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setFont(fonts.font("mono" if mono else "dense"))
        self.setAccessibleName(name or placeholder)
        self.setPlaceholderText(placeholder)

    def set_invalid(self, invalid: bool) -> None:
        if bool(self.property("invalid")) != invalid:
            self.setProperty("invalid", invalid)
            repolish(self)


class SearchField(LineEdit):
    """A line with a lens at the left and, while it is empty, its key at the right."""

    def __init__(self, placeholder: str, key: str = "", parent: QWidget | None = None) -> None:
        super().__init__("", placeholder, placeholder, parent=parent)
        self._key = key
        self.setTextMargins(21, 0, 0, 0)
        self.setClearButtonEnabled(False)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        theme = Theme.current()
        painter = QPainter(self)
        middle = self.height() / 2
        icons.paint(painter, "search", QRectF(10, middle - 7, 14, 14), theme.color("text3"))
        if self._key and not self.text() and self.width() > 200:
            paint_key(painter, self.width() - 10, middle, self._key)
        painter.end()


def key_width(key: str) -> float:
    from PySide6.QtGui import QFontMetricsF

    return QFontMetricsF(fonts.font("caption-medium")).horizontalAdvance(key) + 12


def paint_key(painter: QPainter, right: float, middle: float, key: str) -> None:
    """A key cap such as `Ctrl K`, ending at x = `right`."""
    theme = Theme.current()
    width = key_width(key)
    box = QRectF(right - width, middle - 8, width, 16).adjusted(0.5, 0.5, -0.5, -0.5)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(fonts.font("caption-medium"))
    painter.setPen(QPen(theme.color("line2"), 1))
    painter.setBrush(theme.color("sunken"))
    painter.drawRoundedRect(box, 4, 4)
    painter.setPen(theme.color("text2"))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, key)
    painter.restore()
