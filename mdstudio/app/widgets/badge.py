"""Badges: a small rounded word with a shape, in the tone of a status or neutral."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from mdstudio.app import fonts, icons
from mdstudio.app.theme import Theme

HEIGHT = 20
_GAP, _PAD, _ICON = 6, 8, 12


def badge_width(text: str, icon: bool) -> int:
    """Logical pixels that a badge takes."""
    metrics = QFontMetrics(fonts.font("caption-medium"))
    return metrics.horizontalAdvance(text) + 2 * _PAD + (_ICON + _GAP if icon else 0)


def paint_badge(painter: QPainter, topleft: QPointF, text: str, status: str, icon: str = "") -> float:
    """Draw a badge; `status` is a name of the token table or "neutral". Returns its width."""
    theme = Theme.current()
    if status == "neutral":
        tone, ground, shape = "text2", "unknown-bg", icon
    else:
        state = theme.status(status)
        tone, ground, shape = state.tone, f"{state.tone}-bg", icon or state.icon
    if icon == "none":
        shape = ""
    width = badge_width(text, bool(shape))
    rect = QRectF(topleft.x(), topleft.y(), width, HEIGHT)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.color(ground))
    painter.drawRoundedRect(rect, 4, 4)
    x = rect.x() + _PAD
    if shape:
        box = QRectF(x, rect.y() + (HEIGHT - _ICON) / 2, _ICON, _ICON)
        icons.paint(painter, shape, box, theme.color(tone), theme.color(ground))
        x += _ICON + _GAP
    painter.setFont(fonts.font("caption-medium"))
    painter.setPen(theme.color(tone))
    painter.drawText(QRectF(x, rect.y(), rect.right() - x, HEIGHT), Qt.AlignmentFlag.AlignVCenter, text)
    painter.restore()
    return width


class Badge(QWidget):
    """A badge as a widget. `icon` overrides the shape of the status; "none" leaves it out."""

    def __init__(self, text: str = "", status: str = "neutral", icon: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text, self._status, self._icon = text, status, icon
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(text)

    def set_badge(self, text: str, status: str = "neutral", icon: str = "") -> None:
        self._text, self._status, self._icon = text, status, icon
        self.setAccessibleName(text)
        self.updateGeometry()
        self.update()

    def text(self) -> str:
        return self._text

    def sizeHint(self) -> QSize:
        shape = self._icon != "none" and bool(self._icon or self._status != "neutral")
        return QSize(badge_width(self._text, shape), HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_badge(painter, QPointF(0, (self.height() - HEIGHT) / 2), self._text, self._status, self._icon)
        painter.end()
