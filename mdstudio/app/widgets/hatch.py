"""Hatches: the patterns that tell states apart without colour. Brushes are tiles in device pixels; cached by colour."""

from __future__ import annotations

import functools

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen, QPixmap, QTransform

from mdstudio.app.theme import Theme
from mdstudio.app.tokens import Hatch

_PITCH: dict[str, int] = {"wide": 9, "cross": 6, "diagonal": 6, "dots": 6, "back": 6}


def hatch(pattern: Hatch, colour: QColor, ratio: float = 1.0, width: float = 1.5) -> QBrush:
    """A seamless brush of lines or dots on a clear ground; `none` and `x` give an empty brush."""
    if pattern not in _PITCH:
        return QBrush(Qt.BrushStyle.NoBrush)
    brush = QBrush(_tile(pattern, colour.name(QColor.NameFormat.HexArgb), ratio, width))
    if ratio != 1.0:
        brush.setTransform(QTransform.fromScale(1 / ratio, 1 / ratio))
    return brush


@functools.lru_cache(maxsize=128)
def _tile(pattern: str, colour: str, ratio: float, width: float) -> QPixmap:
    n = round(_PITCH[pattern] * ratio)
    tile = QPixmap(n, n)
    tile.fill(Qt.GlobalColor.transparent)
    painter = QPainter(tile)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(colour), width * ratio, Qt.PenStyle.SolidLine, Qt.PenCapStyle.SquareCap))
    if pattern == "dots":
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawEllipse(QPointF(n / 2, n / 2), ratio, ratio)
    if pattern in ("wide", "cross", "diagonal"):
        painter.drawLines([QLineF(x, n, x + n, 0) for x in (-n, 0, n)])
    if pattern in ("cross", "back"):
        painter.drawLines([QLineF(x, 0, x + n, n) for x in (-n, 0, n)])
    painter.end()
    return tile


def fill_status(painter: QPainter, rect: QRectF, status: str, radius: float = 4.0) -> None:
    """Paint a rectangle as a status fills an area: colour, hatch and outline of the token table."""
    theme = Theme.current()
    state = theme.status(status)
    colour = theme.color(f"{state.tone}-fill")
    ratio = painter.device().devicePixelRatioF()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    inner = rect.adjusted(0.75, 0.75, -0.75, -0.75)
    path = QPainterPath()
    path.addRoundedRect(inner if state.outline else rect, radius, radius)
    if state.outline:
        painter.fillPath(path, hatch(state.hatch, colour, ratio))
        style = Qt.PenStyle.DashLine if state.dashed else Qt.PenStyle.SolidLine
        painter.setPen(QPen(colour, 1.5, style))
        painter.drawPath(path)
        if state.hatch == "x":
            painter.setClipPath(path)
            painter.drawLine(inner.topLeft(), inner.bottomRight())
            painter.drawLine(inner.bottomLeft(), inner.topRight())
    else:
        painter.fillPath(path, colour)
        painter.fillPath(path, hatch(state.hatch, theme.color("halo", 150), ratio))
    painter.restore()
