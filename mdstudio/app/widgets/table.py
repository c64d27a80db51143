"""Tables: rows of immutable cells in a model, one delegate that paints text, numbers, bars, badges and icons.

One hairline a row, none after the last; text left, numbers right; a bar stands right of its number; the selected row is
tinted with an edge. What a screen reader says stays in the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelection,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QSize,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QSizePolicy, QTableView, QWidget

from mdstudio.app import fonts
from mdstudio.app.formats import MINUS, SPACE, THIN
from mdstudio.app.widgets.base import UNBOUND
from mdstudio.app.widgets.delegate import (
    CELL_ROLE,
    COLUMN_ROLE,
    HEADER_HEIGHT,
    PAD,
    ROW_HEIGHT,
    HeaderView,
    RowDelegate,
)

AnyIndex = QModelIndex | QPersistentModelIndex
CellKind = Literal["text", "number", "mono", "bar", "badge", "check"]
_SORT_ROLE = Qt.ItemDataRole.UserRole + 3
_NONE = QModelIndex()
_ICON_ROOM = 24  # of a shape before a cell's text


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its header (with the unit in it), how its cells are painted, its width in pixels.

    Attributes:
        stretch: takes what is left; the one column that may elide.
        role: font role of the numbers of a "number" or "bar" column.
        bar_width: of a "bar" column.
    """

    title: str
    kind: CellKind = "text"
    width: int = 90
    stretch: bool = False
    role: Literal["dense", "dense-medium", "dense-strong"] = "dense"
    tip: str = ""
    bar_width: int = 48


@dataclass(frozen=True, slots=True)
class Cell:
    """What one cell shows.

    Attributes:
        sub: secondary text after it, in grey.
        icon, token: shape before it and its colour.
        bar: fraction 0 to 1 of the column's shared scale; None for an empty track.
        status: of a badge ("neutral" or a name of the token table).
        muted: in `text3`: unknown or not read.
        checked: of a "check" column; None where there is no box.
        sort: what sorts the row; the text where None.
    """

    text: str = ""
    sub: str = ""
    icon: str = ""
    token: str = "text2"
    bar: float | None = None
    bar_token: str = "accent"
    status: str = "neutral"
    muted: bool = False
    strong: bool = False
    checked: bool | None = None
    sort: float | str | None = None
    tip: str = ""


class TableModel(QAbstractTableModel):
    """Columns and rows of cells; replaced as a whole or cell by cell."""

    def __init__(self, columns: Sequence[Column], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.columns = tuple(columns)
        self.rows: list[tuple[Cell, ...]] = []

    def set_rows(self, rows: Sequence[Sequence[Cell]]) -> None:
        """Show these rows; the same number of rows keeps selection and scroll position."""
        fresh = [tuple(row) for row in rows]
        if len(fresh) == len(self.rows):
            self.rows = fresh
            if fresh:
                self.dataChanged.emit(self.index(0, 0), self.index(len(fresh) - 1, len(self.columns) - 1))
            return
        self.beginResetModel()
        self.rows = fresh
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = _NONE) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: AnyIndex = _NONE) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        cell = self.rows[index.row()][index.column()]
        column = self.columns[index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cell.text
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{column.title}: {cell.text} {cell.sub}".strip()
            case Qt.ItemDataRole.ToolTipRole:
                return cell.tip or None
            case Qt.ItemDataRole.CheckStateRole if cell.checked is not None:
                return Qt.CheckState.Checked if cell.checked else Qt.CheckState.Unchecked
            case Qt.ItemDataRole.TextAlignmentRole:
                right = column.kind in ("number", "bar")
                side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
                return side | Qt.AlignmentFlag.AlignVCenter
        if role == CELL_ROLE:
            return cell
        if role == COLUMN_ROLE:
            return column
        if role == _SORT_ROLE:
            return cell.text if cell.sort is None else cell.sort
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.columns[section].title
        if role == Qt.ItemDataRole.ToolTipRole:
            return self.columns[section].tip or None
        return self.columns[section] if role == COLUMN_ROLE else None


chosen_widths: dict[str, int] = {}
"""Widths that a person gave, by "table/column"; the window keeps them from one run to the next."""


class Table(QTableView):
    """A table of whole rows, one selected at a time; copied with Ctrl C, sorted by a click on a header if allowed.

    Signals carry the row of the model (not of the sorted view): `row_selected` (-1: none), `row_activated` (double
    click or Enter), `row_toggled` (its box was clicked, or Space pressed).
    """

    row_selected = Signal(int)
    row_activated = Signal(int)
    row_toggled = Signal(int)

    def __init__(self, columns: Sequence[Column], name: str, *, sortable: bool = False,
                 parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table_model = TableModel(columns, self)
        self._proxy = QSortFilterProxyModel(self)
        self._proxy.setSortRole(_SORT_ROLE)
        self._proxy.setSourceModel(self.table_model)
        self.setModel(self._proxy)
        self.setAccessibleName(name)
        self.setItemDelegate(RowDelegate(self))
        self.setHorizontalHeader(HeaderView(self))
        self.setShowGrid(False)
        self.setMouseTracking(True)
        self.setWordWrap(False)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        self.verticalHeader().setMinimumSectionSize(ROW_HEIGHT)
        self._set_widths()
        self.setSortingEnabled(sortable)
        if sortable:
            self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)
        self.activated.connect(lambda index: self.row_activated.emit(self._proxy.mapToSource(index).row()))

    def set_rows(self, rows: Sequence[Sequence[Cell]]) -> None:
        self.table_model.set_rows(rows)
        self.updateGeometry()

    def selected_row(self) -> int:
        """The chosen row of the model, -1 where none is."""
        rows = self.selectionModel().selectedRows()
        return self._proxy.mapToSource(rows[0]).row() if rows else -1

    def select_row(self, row: int) -> None:
        """Choose a row of the model and bring it into view; -1 for none."""
        if row < 0 or row >= self.table_model.rowCount():
            self.clearSelection()
            return
        index = self._proxy.mapFromSource(self.table_model.index(row, 0))
        self.setCurrentIndex(index)
        self.selectRow(index.row())

    def fit_columns(self) -> None:
        """Make the columns as wide as what they hold: the one that stretches has the rest. Never a chosen width."""
        header = self.horizontalHeader()
        for i, column in enumerate(self.table_model.columns):
            if column.stretch or column.kind in ("bar", "check", "badge") or self._key(i) in chosen_widths:
                continue
            metrics = QFontMetrics(fonts.font("mono-small" if column.kind == "mono" else column.role))
            title = QFontMetrics(fonts.font("caption-medium")).horizontalAdvance(column.title)
            cells = (row[i] for row in self.table_model.rows[:200])
            held = (metrics.horizontalAdvance(cell.text) + (_ICON_ROOM if cell.icon else 0) for cell in cells)
            needed = max([title, *held]) + 2 * PAD + 6
            header.resizeSection(i, min(needed, 2 * column.width))

    def fit_height(self, fit: bool = True) -> None:
        """Be exactly as high as the rows, for short tables on a page; or take what room there is."""
        height = HEADER_HEIGHT + ROW_HEIGHT * max(1, self.table_model.rowCount()) + 2
        self.setMinimumHeight(height if fit else 0)
        self.setMaximumHeight(height if fit else UNBOUND)
        self.setVerticalScrollBarPolicy(
            Qt.ScrollBarPolicy.ScrollBarAlwaysOff if fit else Qt.ScrollBarPolicy.ScrollBarAsNeeded)

    def text(self) -> str:
        """The table as tab-separated text with a header line, numbers in ASCII: its copyable twin."""
        lines = ["\t".join(column.title for column in self.table_model.columns)]
        for i in range(self._proxy.rowCount()):
            cells = self.table_model.rows[self._proxy.mapToSource(self._proxy.index(i, 0)).row()]
            lines.append(_line(cells))
        return "\n".join(lines) + "\n"

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and self.table_model.columns[index.column()].kind == "check":
            self.row_toggled.emit(self._proxy.mapToSource(index).row())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        checks = any(column.kind == "check" for column in self.table_model.columns)
        if event.key() == Qt.Key.Key_Space and checks and self.selected_row() >= 0:
            self.row_toggled.emit(self.selected_row())
            event.accept()
            return
        if event.matches(QKeySequence.StandardKey.Copy):
            row = self.selected_row()
            QGuiApplication.clipboard().setText(self.text() if row < 0 else _line(self.table_model.rows[row]))
            event.accept()
            return
        super().keyPressEvent(event)

    def selectionChanged(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        super().selectionChanged(selected, deselected)
        self.viewport().update()
        self.row_selected.emit(self.selected_row())

    def sizeHint(self) -> QSize:
        return QSize(480, HEADER_HEIGHT + ROW_HEIGHT * min(10, max(3, self.table_model.rowCount())))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, HEADER_HEIGHT + 2 * ROW_HEIGHT)

    def hover_row(self) -> int:
        """The row of the view under the pointer, -1 where none is."""
        if not self.viewport().underMouse():
            return -1
        return self.rowAt(self.viewport().mapFromGlobal(self.cursor().pos()).y())

    def show_at(self, position: QPoint) -> int:
        """The row of the model at a point of the viewport, -1 where none is."""
        index = self.indexAt(position)
        return self._proxy.mapToSource(index).row() if index.isValid() else -1

    def _set_widths(self) -> None:
        header = self.horizontalHeader()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        for i, column in enumerate(self.table_model.columns):
            if column.stretch:
                header.setSectionResizeMode(i, QHeaderView.ResizeMode.Stretch)
            else:
                header.setSectionResizeMode(i, QHeaderView.ResizeMode.Interactive)
                header.resizeSection(i, chosen_widths.get(self._key(i), column.width))
        header.sectionResized.connect(self._resized)

    def _key(self, section: int) -> str:
        return f"{self.accessibleName()}/{self.table_model.columns[section].title}"

    def _resized(self, section: int, before: int, now: int) -> None:
        if QGuiApplication.mouseButtons() and not self.table_model.columns[section].stretch and before and now:
            chosen_widths[self._key(section)] = now


def _line(cells: Sequence[Cell]) -> str:
    return "\t".join(_plain(f"{cell.text} {cell.sub}".strip()) for cell in cells)


def _plain(text: str) -> str:
    return text.replace(MINUS, "-").replace(THIN, "").replace(SPACE, " ")
