"""Two painted tab bars, QTabBar underneath: documents in the top bar, views in the row under it."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFocusEvent, QFontMetrics, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QTabBar, QWidget

from mdstudio.app import fonts, icons
from mdstudio.app.theme import Theme

DOCUMENT_HEIGHT = 36
VIEW_HEIGHT = 43
_MAX_WIDTH = 240
_MIN_WIDTH = 112  # of a tab with a long name
KEYBOARD = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason)


@dataclass(frozen=True, slots=True)
class TabLook:
    """Shape before the text, and a status shape after it ("" for none)."""

    icon: str
    status: str = ""


class _Bar(QTabBar):
    """What both bars share: no base line, focus by Tab, a ring for the keyboard."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setUsesScrollButtons(True)
        self.setElideMode(Qt.TextElideMode.ElideRight)
        self._ring = False

    def look(self, index: int) -> TabLook:
        data = self.tabData(index)
        return data if isinstance(data, TabLook) else TabLook("file")

    def set_tab(self, index: int, text: str, look: TabLook) -> None:
        """Show text and shapes; the widths follow."""
        self.setTabData(index, look)
        self.setTabText(index, text)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring = event.reason() in KEYBOARD
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._ring = False
        super().focusOutEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()

    def _hovered(self) -> int:
        return self.tabAt(self.mapFromGlobal(self.cursor().pos())) if self.underMouse() else -1

    def _draw_ring(self, painter: QPainter, rect: QRectF) -> None:
        if self._ring and self.hasFocus():
            painter.setPen(QPen(Theme.current().color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(rect, 6, 6)


class DocumentTabs(_Bar):
    """Tabs of open documents: the current one lies on the surface, each has a shape, a status and a cross."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Open documents", parent)
        self.setMovable(True)
        self.setFixedHeight(DOCUMENT_HEIGHT)

    def tabSizeHint(self, index: int) -> QSize:
        text = QFontMetrics(fonts.font("dense-strong")).horizontalAdvance(self.tabText(index))
        status = 20 if self.look(index).status else 0
        return QSize(min(_MAX_WIDTH, 14 + 22 + text + status + 34), DOCUMENT_HEIGHT)

    def minimumTabSizeHint(self, index: int) -> QSize:
        """Never more than the tab asks for: Qt would scroll a bar that has room."""
        return QSize(min(_MIN_WIDTH, self.tabSizeHint(index).width()), DOCUMENT_HEIGHT)

    def cross(self, index: int) -> QRect:
        """Where the cross of a tab is."""
        rect = self.tabRect(index)
        return QRect(rect.right() - 26, rect.center().y() - 8, 18, 18)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.tabAt(event.position().toPoint())
        middle = event.button() == Qt.MouseButton.MiddleButton
        if index >= 0 and (middle or self.cross(index).contains(event.position().toPoint())):
            self.tabCloseRequested.emit(index)
            return
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = Theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        hovered = self._hovered()
        for index in range(self.count()):
            self._tab(painter, index, index == self.currentIndex(), index == hovered)
            if index not in (self.currentIndex(), self.currentIndex() - 1) and index < self.count() - 1:
                rect = self.tabRect(index)
                painter.fillRect(QRect(rect.right(), rect.center().y() - 7, 1, 14), theme.color("line2"))
        painter.end()

    def _tab(self, painter: QPainter, index: int, current: bool, hover: bool) -> None:
        theme = Theme.current()
        rect = QRectF(self.tabRect(index))
        look = self.look(index)
        ground = "surface" if current else "window"
        if current:
            path = QPainterPath()
            path.moveTo(rect.x() + 0.5, rect.bottom() + 1)
            path.lineTo(rect.x() + 0.5, rect.y() + 6.5)
            path.quadTo(rect.x() + 0.5, rect.y() + 0.5, rect.x() + 6.5, rect.y() + 0.5)
            path.lineTo(rect.right() - 6.5, rect.y() + 0.5)
            path.quadTo(rect.right() - 0.5, rect.y() + 0.5, rect.right() - 0.5, rect.y() + 6.5)
            path.lineTo(rect.right() - 0.5, rect.bottom() + 1)
            painter.setPen(QPen(theme.color("line"), 1))
            painter.setBrush(theme.color("surface"))
            painter.drawPath(path)
        elif hover:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("hover"))
            painter.drawRoundedRect(rect.adjusted(3, 4, -3, -4), 6, 6)
        middle = rect.center().y() + 0.5
        x = rect.x() + 14
        icons.paint(painter, look.icon, QRectF(x, middle - 7.5, 15, 15), theme.color("accent" if current else "text2"),
                    theme.color(ground))
        x += 22
        painter.setFont(fonts.font("dense-strong" if current else "dense-medium"))
        painter.setPen(theme.color("text" if current else "text2"))
        room = int(rect.right() - 30 - (20 if look.status else 0) - x)
        text = painter.fontMetrics().elidedText(self.tabText(index), Qt.TextElideMode.ElideMiddle, room)
        painter.drawText(QRectF(x, rect.y(), room, rect.height()), Qt.AlignmentFlag.AlignVCenter, text)
        if look.status:
            state = theme.status(look.status)
            x += painter.fontMetrics().horizontalAdvance(text) + 7
            icons.paint(painter, state.icon, QRectF(x, middle - 6.5, 13, 13), theme.color(state.tone),
                        theme.color(ground))
        if current or hover:
            box = QRectF(self.cross(index))
            if self.underMouse() and box.contains(self.mapFromGlobal(self.cursor().pos()).toPointF()):
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(theme.color("line"))
                painter.drawRoundedRect(box, 4, 4)
            icons.paint(painter, "close", box.adjusted(3, 3, -3, -3), theme.color("text3"))
        if current:
            self._draw_ring(painter, rect.adjusted(3, 3, -3, -3))


class ViewTabs(_Bar):
    """Tabs of views: icon and title, an accent line under the current one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Views", parent)
        self.setFixedHeight(VIEW_HEIGHT)

    def tabSizeHint(self, index: int) -> QSize:
        text = QFontMetrics(fonts.font("body-strong")).horizontalAdvance(self.tabText(index))
        return QSize(22 + text + 24, VIEW_HEIGHT)

    def minimumTabSizeHint(self, index: int) -> QSize:
        return self.tabSizeHint(index)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = Theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        hovered = self._hovered()
        for index in range(self.count()):
            current = index == self.currentIndex()
            rect = QRectF(self.tabRect(index)).adjusted(0, 0, -24, 0)
            tone = "text" if current or index == hovered else "text2"
            place = QRectF(rect.x(), rect.center().y() - 7.5, 15, 15)
            icons.paint(painter, self.look(index).icon, place, theme.color("accent" if current else "text2"))
            painter.setFont(fonts.font("body-strong" if current else "body"))
            font = painter.font()
            if not current:
                font.setWeight(font.Weight.Medium)
                painter.setFont(font)
            painter.setPen(theme.color(tone))
            painter.drawText(rect.adjusted(22, 0, 10, 0), Qt.AlignmentFlag.AlignVCenter, self.tabText(index))
            if current:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(theme.color("accent"))
                painter.drawRoundedRect(QRectF(rect.x(), rect.bottom() - 2, rect.width(), 3), 1.5, 1.5)
                self._draw_ring(painter, rect.adjusted(-6, 7, 6, -7))
        painter.end()


