"""A combo box painted as in the mock-ups: label in grey, value, chevron; QComboBox underneath."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFocusEvent, QFontMetrics, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QComboBox, QSizePolicy, QWidget

from mdstudio.app import fonts, icons
from mdstudio.app.theme import Theme

_PAD, _ICON, _GAP = 10, 15, 8


class Combo(QComboBox):
    """A choice of many: `Combo("Colours")`. `name` is the accessible name where no label is shown.

    The wheel scrolls the page and never changes a value that does not have the focus.
    """

    def __init__(self, label: str = "", icon: str = "", name: str = "", *, dense: bool = False,
                 parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label, self._icon = label, icon
        self._ring = False
        self.setFont(fonts.font("dense-medium"))
        self.setAccessibleName(name or label)
        self.setFixedHeight(26 if dense else 30)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.setMaxVisibleItems(16)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.view().setFont(fonts.font("dense"))
        self.view().setAccessibleName(f"Choices of {name or label}")

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        widest = max((metrics.horizontalAdvance(self.itemText(i)) for i in range(self.count())), default=40)
        return QSize(min(widest, 240) + self._left() + _ICON + _GAP + _PAD, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(self._left() + 48 + _ICON, self.height())

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring = event.reason() not in (Qt.FocusReason.MouseFocusReason, Qt.FocusReason.PopupFocusReason)
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._ring = False
        super().focusOutEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def _left(self) -> int:
        width = _PAD + (_ICON + 7 if self._icon else 0)
        if self._label:
            width += QFontMetrics(fonts.font("dense")).horizontalAdvance(self._label) + _GAP
        return width

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = Theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ring = self._ring and self.hasFocus()
        width = 2.0 if ring else 1.0
        hover = self.underMouse() and self.isEnabled()
        painter.setPen(QPen(theme.color("accent" if ring else "text3" if hover else "line2"), width))
        painter.setBrush(theme.color("surface" if self.isEnabled() else "sunken"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(width / 2, width / 2, -width / 2, -width / 2), 6, 6)
        x, middle = float(_PAD), self.height() / 2
        if self._icon:
            icons.paint(painter, self._icon, QRectF(x, middle - _ICON / 2, _ICON, _ICON), theme.color("text2"))
            x += _ICON + 7
        if self._label:
            painter.setFont(fonts.font("dense"))
            painter.setPen(theme.color("text3"))
            advance = painter.fontMetrics().horizontalAdvance(self._label)
            painter.drawText(QRectF(x, 0, advance + 2, self.height()), Qt.AlignmentFlag.AlignVCenter, self._label)
            x += advance + _GAP
        painter.setFont(self.font())
        painter.setPen(theme.color("text" if self.isEnabled() else "text3"))
        room = QRectF(x, 0, self.width() - x - _ICON - _PAD, self.height())
        text = painter.fontMetrics().elidedText(self.currentText(), Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)
        box = QRectF(self.width() - _PAD - 13, middle - 6.5, 13, 13)
        icons.paint(painter, "chevd", box, theme.color("text3"))
        painter.end()
