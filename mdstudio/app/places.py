"""The places panel: filter, add, and the tree, painted as rows that are tinted from edge to edge."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from mdstudio.app import fonts, icons
from mdstudio.app.places_model import NODE_ROLE, Node, PlacesModel
from mdstudio.app.theme import Theme
from mdstudio.app.widgets import Ground, IconButton, SearchField

WIDTH = 256
_ROW, _SECTION = 28, 34
_CHEVRON_X, _ICON_X = 14, 31


class Places(Ground):
    """The panel. Signals: a dataset or source to open, a place to add or take away."""

    open_requested = Signal(str)
    import_requested = Signal(str)
    add_folder_requested = Signal()
    add_container_requested = Signal()
    remove_requested = Signal(str)

    def __init__(self, model: PlacesModel, parent: QWidget | None = None) -> None:
        super().__init__("places", parent)
        self.model = model
        self.setFixedWidth(WIDTH)
        self.setAccessibleName("Places")
        self.filter = SearchField("Filter places")
        self.filter.setFixedHeight(28)
        add = IconButton("plus", "Add a place")
        add.clicked.connect(lambda: self._add_menu().popup(add.mapToGlobal(QPoint(0, add.height()))))
        row = QHBoxLayout()
        row.setContentsMargins(12, 10, 8, 4)
        row.setSpacing(4)
        row.addWidget(self.filter, 1)
        row.addWidget(add)
        self.tree = _Tree(self)
        self._proxy = _Filter(self)
        self._proxy.setSourceModel(model)
        self.tree.setModel(self._proxy)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 1, 0)
        column.setSpacing(0)
        column.addLayout(row)
        column.addWidget(self.tree, 1)
        self.filter.textChanged.connect(self._filter)
        self.tree.clicked.connect(self._clicked)
        self.tree.activated.connect(self._act)
        self.tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.tree.customContextMenuRequested.connect(self._context)
        model.modelReset.connect(self.open_sections)
        self.open_sections()

    def show_current(self, location: str) -> None:
        """Tint the row of a location, where it is in the tree."""
        index = self._proxy.mapFromSource(self.model.find(location)) if location else QModelIndex()
        if index.isValid():
            self.tree.setCurrentIndex(index)
        else:
            self.tree.clearSelection()
            self.tree.setCurrentIndex(QModelIndex())

    def expand(self, location: str) -> None:
        """Open the row of a place, which lists it."""
        index = self._proxy.mapFromSource(self.model.find(location))
        if index.isValid():
            self.tree.expand(index)
            self.tree.scrollTo(index)

    def open_sections(self) -> None:
        """Unfold the three sections."""
        for row in range(self._proxy.rowCount()):
            self.tree.expand(self._proxy.index(row, 0))

    def _filter(self, text: str) -> None:
        self._proxy.setFilterFixedString(text)
        self.open_sections()

    def _clicked(self, index: QModelIndex) -> None:
        self._act(index)

    def _act(self, index: QModelIndex) -> None:
        node = cast("Node | None", index.data(NODE_ROLE))
        match node.kind if node else "":
            case "dataset":
                self.open_requested.emit(node.location)  # type: ignore[union-attr]
            case "source":
                self.import_requested.emit(node.location)  # type: ignore[union-attr]
            case "add-folder":
                self.add_folder_requested.emit()
            case "add-container":
                self.add_container_requested.emit()
            case "folder" | "container":
                self.tree.setExpanded(index, not self.tree.isExpanded(index))
            case "error":
                self.model.reload(self._proxy.mapToSource(index))

    def _add_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Add a folder\u2026", self.add_folder_requested.emit)
        menu.addAction("Add a container\u2026", self.add_container_requested.emit)
        return menu

    def _context(self, position: QPoint) -> None:
        index = self.tree.indexAt(position)
        node = cast("Node | None", index.data(NODE_ROLE))
        if node is None or not node.location:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if node.kind == "dataset":
            menu.addAction("Open", lambda: self.open_requested.emit(node.location))
        elif node.kind == "source":
            menu.addAction("Import\u2026", lambda: self.import_requested.emit(node.location))
        else:
            menu.addAction("List again", lambda: self.model.reload(self._proxy.mapToSource(index)))
            if node.depth == 0:
                menu.addAction("Remove from places", lambda: self.remove_requested.emit(node.location))
        menu.popup(self.tree.viewport().mapToGlobal(position))


class _Filter(QSortFilterProxyModel):
    """Keeps what matches, what holds it, and the sections."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setRecursiveFilteringEnabled(True)
        self.setAutoAcceptChildRows(True)
        self.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)

    def filterAcceptsRow(self, row: int, parent: QModelIndex | QPersistentModelIndex) -> bool:
        index = self.sourceModel().index(row, 0, parent)
        node = cast("Node | None", index.data(NODE_ROLE))
        if node is not None and node.kind == "section" and not self.filterRegularExpression().pattern():
            return True
        return super().filterAcceptsRow(row, parent)


class _Tree(QTreeView):
    """The tree, with no indentation of its own: the delegate paints the depth."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName("Places")
        self.setHeaderHidden(True)
        self.setIndentation(0)
        self.setRootIsDecorated(False)
        self.setMouseTracking(True)
        self.setFrameShape(QTreeView.Shape.NoFrame)
        self.setItemDelegate(_RowDelegate(self))
        self.setExpandsOnDoubleClick(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        event.accept()  # the click has acted already

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self.activated.emit(self.currentIndex())
            event.accept()
            return
        super().keyPressEvent(event)

    def drawBranches(self, painter: QPainter, rect: QRect, index: QModelIndex | QPersistentModelIndex) -> None:
        """The delegate draws the chevron."""

    def drawRow(self, painter: QPainter, option: QStyleOptionViewItem,
                index: QModelIndex | QPersistentModelIndex) -> None:
        """Without the style's own selection panel, which would show beside the tint."""
        option.state &= ~QStyle.StateFlag.State_Selected
        super().drawRow(painter, option, index)


class _RowDelegate(QStyledItemDelegate):
    """Paints one row of the tree."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        node = cast("Node | None", index.data(NODE_ROLE))
        return QSize(WIDTH, _SECTION if node is not None and node.kind == "section" else _ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem,
              index: QModelIndex | QPersistentModelIndex) -> None:
        node = cast("Node | None", index.data(NODE_ROLE))
        if node is None:
            return
        theme = Theme.current()
        tree = cast(_Tree, self.parent())
        rect: QRect = option.rect
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if node.kind == "section":
            painter.setFont(fonts.font("over"))
            painter.setPen(theme.color("text3"))
            painter.drawText(rect.adjusted(14, 6, -10, 0), Qt.AlignmentFlag.AlignVCenter, node.text)
            painter.restore()
            return
        chosen = tree.selectionModel().isSelected(cast(QModelIndex, index))
        hover = bool(option.state & QStyle.StateFlag.State_MouseOver)
        self._ground(painter, rect, tree, index, chosen, hover and node.kind != "note")
        middle = rect.y() + rect.height() / 2
        x = float(_ICON_X) + (4 if node.depth and node.kind not in ("folder", "container") else 0)
        x += 12 * max(0, node.depth - 1)
        if node.opens:
            shape = "chevd" if tree.isExpanded(cast(QModelIndex, index)) else "chev"
            place = QRectF(_CHEVRON_X + 12 * node.depth, middle - 5.5, 11, 11)
            icons.paint(painter, shape, place, theme.color("text3"))
            x = float(_ICON_X + 12 * node.depth)
        ground = theme.color("accentbg" if chosen else "panel")
        if node.icon:
            tone = "bad" if node.kind == "error" else "accent" if chosen else "text2"
            icons.paint(painter, node.icon, QRectF(x, middle - 7.5, 15, 15), theme.color(tone), ground)
        x += 22
        right = self._tail(painter, rect, node, ground)
        strong = chosen or (node.opens and node.depth == 0)
        painter.setFont(fonts.font("dense-strong" if chosen else "dense-medium" if strong else "dense"))
        muted = node.kind in ("note", "add-folder", "add-container")
        painter.setPen(theme.color("text3" if node.kind == "note" else "text2" if muted else "text"))
        room = max(0, int(right - x - 8))
        text = painter.fontMetrics().elidedText(node.text, Qt.TextElideMode.ElideMiddle, room)
        painter.drawText(QRectF(x, rect.y(), room, rect.height()), Qt.AlignmentFlag.AlignVCenter, text)
        painter.restore()

    @staticmethod
    def _ground(painter: QPainter, rect: QRect, tree: _Tree, index: QModelIndex | QPersistentModelIndex, chosen: bool,
                hover: bool) -> None:
        theme = Theme.current()
        box = QRectF(8, rect.y() + 0.5, tree.viewport().width() - 16, rect.height() - 1)
        if chosen or hover:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.color("accentbg" if chosen else "hover"))
            painter.drawRoundedRect(box, 6, 6)
        if tree.hasFocus() and tree.currentIndex() == index:
            painter.setPen(QPen(theme.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), 6, 6)

    @staticmethod
    def _tail(painter: QPainter, rect: QRect, node: Node, ground: object) -> float:
        """The note and the status shape at the right end; returns where they begin."""
        theme = Theme.current()
        right = float(rect.right() - 14)
        middle = rect.y() + rect.height() / 2
        if node.status:
            state = theme.status(node.status)
            box = QRectF(right - 13, middle - 6.5, 13, 13)
            icons.paint(painter, state.icon, box, theme.color(state.tone), ground)  # type: ignore[arg-type]
            right -= 18
        if node.note:
            painter.setFont(fonts.font("caption"))
            painter.setPen(theme.color("text3"))
            width = painter.fontMetrics().horizontalAdvance(node.note)
            painter.drawText(QRectF(right - width, rect.y(), width + 1, rect.height()), Qt.AlignmentFlag.AlignVCenter,
                             node.note)
            right -= width
        return right
