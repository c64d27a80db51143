"""Check boxes and radio buttons painted by the tokens; the native classes underneath."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QFocusEvent, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QRadioButton, QWidget

from mdstudio.app import fonts, icons
from mdstudio.app.theme import Theme

BOX = 16


def paint_check(painter: QPainter, rect: QRectF, checked: bool, enabled: bool = True, partly: bool = False) -> None:
    """The box of a check box, also inside table rows."""
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


def paint_radio(painter: QPainter, rect: QRectF, checked: bool, enabled: bool = True) -> None:
    """The ring of a radio button, also inside table rows."""
    theme = Theme.current()
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    colour = theme.color("accent" if checked and enabled else "line2")
    painter.setPen(QPen(colour, 1.5))
    painter.setBrush(theme.color("surface"))
    painter.drawEllipse(rect.adjusted(1, 1, -1, -1))
    if checked:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawEllipse(rect.center(), 4.0, 4.0)
    painter.restore()


class _Painted:
    """Shared by both: size, ring, text."""

    def _hint(self, button: QAbstractButton) -> QSize:
        metrics = QFontMetrics(button.font())
        return QSize(BOX + 8 + metrics.horizontalAdvance(button.text()) + 4, max(22, metrics.height() + 4))

    def _draw(self, button: QAbstractButton, ring: bool) -> None:
        theme = Theme.current()
        painter = QPainter(button)
        box = QRectF(2, (button.height() - BOX) / 2, BOX, BOX)
        if isinstance(button, QRadioButton):
            paint_radio(painter, box, button.isChecked(), button.isEnabled())
        else:
            paint_check(painter, box, button.isChecked(), button.isEnabled())
        if ring:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(theme.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(button.rect()).adjusted(1, 1, -1, -1), 5, 5)
        painter.setFont(button.font())
        painter.setPen(theme.color("text" if button.isEnabled() else "text3"))
        room = QRectF(BOX + 10, 0, button.width() - BOX - 10, button.height())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, button.text())
        painter.end()


class CheckBox(_Painted, QCheckBox):
    """A check box; focus by Tab."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self._ring = False
        self.setFont(fonts.font("dense"))
        self.setAccessibleName(text)

    def sizeHint(self) -> QSize:
        return self._hint(self)

    def minimumSizeHint(self) -> QSize:
        return self._hint(self)

    def hitButton(self, position: QPoint) -> bool:
        return self.rect().contains(position)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring = event.reason() != Qt.FocusReason.MouseFocusReason
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._ring = False
        super().focusOutEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._draw(self, self._ring)


class RadioButton(_Painted, QRadioButton):
    """A radio button; focus by Tab, arrows choose."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self._ring = False
        self.setFont(fonts.font("dense"))
        self.setAccessibleName(text)

    def sizeHint(self) -> QSize:
        return self._hint(self)

    def minimumSizeHint(self) -> QSize:
        return self._hint(self)

    def hitButton(self, position: QPoint) -> bool:
        return self.rect().contains(position)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring = event.reason() != Qt.FocusReason.MouseFocusReason
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._ring = False
        super().focusOutEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._draw(self, self._ring)
