"""Bars: a fraction beside its number, and the progress of something with or without a known end."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QProgressBar, QSizePolicy, QWidget

from mdstudio.app.theme import Theme
from mdstudio.app.widgets.hatch import hatch

HEIGHT = 6


def paint_bar(painter: QPainter, rect: QRectF, fraction: float | None, colour: QColor) -> None:
    """A rounded track and its filled part; None leaves the track empty. A fraction over 0 is at least a dot."""
    theme = Theme.current()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.color("line"))
    radius = rect.height() / 2
    painter.drawRoundedRect(rect, radius, radius)
    if fraction:
        width = max(rect.height(), rect.width() * min(1.0, max(0.0, fraction)))
        painter.setBrush(colour)
        painter.drawRoundedRect(QRectF(rect.x(), rect.y(), width, rect.height()), radius, radius)
    painter.restore()


class Bar(QProgressBar):
    """A bar of 6 px: `set_fraction` for a part of a whole, `set_unknown` for a moving hatch (never a fake per cent)."""

    def __init__(self, token: str = "accent", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._token = token
        self._phase = 0
        self._timer = QTimer(self)
        self._timer.setInterval(60)
        self._timer.timeout.connect(self._move)
        self.setRange(0, 1000)
        self.setTextVisible(False)
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Fraction")

    def set_fraction(self, fraction: float) -> None:
        self._timer.stop()
        self.setRange(0, 1000)
        self.setValue(round(1000 * min(1.0, max(0.0, fraction))))
        self.update()

    def set_unknown(self) -> None:
        """Show that something goes on whose end is not known."""
        self.setRange(0, 0)
        self._timer.start()

    def set_token(self, token: str) -> None:
        self._token = token
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(20, HEIGHT)

    def _move(self) -> None:
        if not self.isVisible():
            self._timer.stop()
            return
        self._phase = (self._phase + 1) % 12
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        rect = QRectF(0, (self.height() - HEIGHT) / 2, self.width(), HEIGHT)
        colour = Theme.current().color(self._token)
        if self.maximum() == 0:
            paint_bar(painter, rect, None, colour)
            path = QPainterPath()
            path.addRoundedRect(rect, HEIGHT / 2, HEIGHT / 2)
            painter.setClipPath(path)
            brush = hatch("wide", colour, self.devicePixelRatioF(), 4.0)
            painter.setBrushOrigin(QPointF(self._phase * 0.75, 0))
            painter.fillRect(rect, brush)
            if not self._timer.isActive():
                self._timer.start()
        else:
            paint_bar(painter, rect, self.value() / 1000, colour)
        painter.end()
