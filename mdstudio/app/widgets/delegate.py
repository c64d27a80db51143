"""The one delegate of all tables, and their header. It paints the whole row: tint, edge, hairline, then the cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QHeaderView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from mdstudio.app import fonts, icons
from mdstudio.app.theme import Theme
from mdstudio.app.widgets.badge import HEIGHT as BADGE_HEIGHT
from mdstudio.app.widgets.badge import paint_badge
from mdstudio.app.widgets.bars import paint_bar
from mdstudio.app.widgets.checks import BOX, paint_check

if TYPE_CHECKING:
    from mdstudio.app.widgets.table import Cell, Column

Index = QModelIndex | QPersistentModelIndex
CELL_ROLE = Qt.ItemDataRole.UserRole + 1
COLUMN_ROLE = Qt.ItemDataRole.UserRole + 2
ROW_HEIGHT, HEADER_HEIGHT = 28, 30
PAD = 10
_ICON = 15


class RowDelegate(QStyledItemDelegate):
    """Paints cells by the kind of their column."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(60, ROW_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        cell = cast("Cell | None", index.data(CELL_ROLE))
        column = cast("Column | None", index.data(COLUMN_ROLE))
        if cell is None or column is None:
            return
        painter.save()
        self._ground(painter, option, index)
        rect = QRectF(option.rect)
        inner = rect.adjusted(PAD, 0, -PAD, 0)
        match column.kind:
            case "badge":
                if cell.text:
                    top = rect.y() + (rect.height() - BADGE_HEIGHT) / 2
                    paint_badge(painter, QPointF(inner.x(), top), cell.text, cell.status, cell.icon)
            case "check":
                if cell.checked is not None:
                    paint_check(painter, QRectF(inner.x(), rect.center().y() - BOX / 2, BOX, BOX), cell.checked)
            case "bar":
                self._number(painter, inner.adjusted(0, 0, -(column.bar_width + PAD), 0), cell, column)
                track = QRectF(inner.right() - column.bar_width, rect.center().y() - 3, column.bar_width, 6)
                paint_bar(painter, track, cell.bar, Theme.current().color(cell.bar_token))
            case "number":
                self._number(painter, inner, cell, column)
            case _:
                self._text(painter, inner, cell, column)
        painter.restore()

    def _ground(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = Theme.current()
        view = cast(QTableView, self.parent())
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        if chosen:
            painter.fillRect(rect, theme.color("accentbg"))
        elif bool(state & QStyle.StateFlag.State_MouseOver):
            painter.fillRect(rect, theme.color("hover"))
        if index.row() < index.model().rowCount() - 1:
            painter.fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), theme.color("line"))
        if chosen and view.horizontalHeader().visualIndex(index.column()) == 0:
            painter.fillRect(QRect(rect.left(), rect.top(), 3, rect.height()), theme.color("accent"))
        if chosen and view.hasFocus() and view.currentIndex().row() == index.row():
            painter.fillRect(QRect(rect.left(), rect.top(), rect.width(), 1), theme.color("accent"))
            painter.fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), theme.color("accent"))

    @staticmethod
    def _number(painter: QPainter, rect: QRectF, cell: Cell, column: Column) -> None:
        painter.setFont(fonts.font("dense-strong" if cell.strong else column.role))
        painter.setPen(Theme.current().color("text3" if cell.muted else "text"))
        painter.drawText(rect, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, cell.text)

    @staticmethod
    def _text(painter: QPainter, rect: QRectF, cell: Cell, column: Column) -> None:
        theme = Theme.current()
        x = rect.x()
        if cell.icon:
            box = QRectF(x, rect.center().y() - _ICON / 2, _ICON, _ICON)
            icons.paint(painter, cell.icon, box, theme.color(cell.token))
            x += _ICON + 8
        role = "mono-small" if column.kind == "mono" else "dense-strong" if cell.strong else column.role
        painter.setFont(fonts.font(role))
        tone = "text3" if cell.muted else "text2" if column.kind == "mono" else "text"
        painter.setPen(theme.color(tone))
        metrics = painter.fontMetrics()
        room = max(0, int(rect.right() - x))
        text = metrics.elidedText(cell.text, Qt.TextElideMode.ElideRight, room)
        painter.drawText(QRectF(x, rect.y(), room, rect.height()), Qt.AlignmentFlag.AlignVCenter, text)
        x += metrics.horizontalAdvance(text) + 10
        if cell.sub and x < rect.right() - 16:
            painter.setFont(fonts.font("caption"))
            painter.setPen(theme.color("text3"))
            room = int(rect.right() - x)
            sub = painter.fontMetrics().elidedText(cell.sub, Qt.TextElideMode.ElideRight, room)
            painter.drawText(QRectF(x, rect.y(), room, rect.height()), Qt.AlignmentFlag.AlignVCenter, sub)


class HeaderView(QHeaderView):
    """A header of 30 px: grey titles aligned as their columns, a hairline beneath, an arrow where rows are sorted."""

    def __init__(self, parent: QTableView) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setFixedHeight(HEADER_HEIGHT)
        self.setHighlightSections(False)
        self.setSectionsClickable(True)
        self.setMinimumSectionSize(28)
        self.setFont(fonts.font("caption-medium"))

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        theme = Theme.current()
        column = cast("Column | None", self.model().headerData(section, Qt.Orientation.Horizontal, COLUMN_ROLE))
        if column is None:
            return
        painter.save()
        inner = rect.adjusted(PAD, 0, -PAD, 0)
        right = column.kind in ("number", "bar")
        if column.kind == "bar":
            inner.setRight(inner.right() - column.bar_width - PAD)
        painter.setFont(fonts.font("caption-medium"))
        painter.setPen(theme.color("text3"))
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.drawText(inner, side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip, column.title)
        sorts = cast(QTableView, self.parent()).isSortingEnabled() and self.sortIndicatorSection() == section
        if sorts:
            shape = "chevu" if self.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder else "chevd"
            width = painter.fontMetrics().horizontalAdvance(column.title)
            x = inner.right() + 3 if right else inner.x() + width + 3
            icons.paint(painter, shape, QRectF(x, rect.center().y() - 4, 10, 10), theme.color("text3"))
        painter.setPen(QPen(theme.color("line"), 0))
        painter.fillRect(QRect(rect.left(), rect.bottom(), rect.width(), 1), theme.color("line"))
        painter.restore()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), HEADER_HEIGHT)
