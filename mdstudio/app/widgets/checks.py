"""The box of a check box, painted by the tokens."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPen

from mdstudio.app import icons
from mdstudio.app.theme import Theme

BOX = 16


def paint_check(painter: QPainter, rect: QRectF, checked: bool, enabled: bool = True, partly: bool = False) -> None:
    """The box of a row of a table: empty, ticked, or a dash for some."""
    theme = Theme.current()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    on = (checked or partly) and enabled
    painter.setPen(QPen(theme.color("accent" if on else "line2"), 1))
    painter.setBrush(theme.color("accent" if on else "surface"))
    painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
    if checked or partly:
        inner = rect.adjusted(2, 2, -2, -2)
        icons.paint(painter, "minus" if partly else "check", inner, theme.color("onaccent" if enabled else "text3"))
    painter.restore()
