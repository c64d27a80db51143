"""The tree of places: sections, folders and containers, datasets and source files; listed when a row is opened.

Damage is a node state, not a dialog: a place that cannot be listed shows its reason as a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt, QTimer

from mdstudio.app import formats, listing
from mdstudio.app.listing import Entry
from mdstudio.app.preferences import Recent
from mdstudio.app.reading import Reader
from mdstudio.app.session import short_name
from mdstudio.engine.errors import Cancelled, MdError
from mdstudio.engine.progress import Progress

AnyIndex = QModelIndex | QPersistentModelIndex
NodeKind = Literal["root", "section", "folder", "container", "dataset", "source", "add-folder", "add-container", "note",
                   "error"]
NODE_ROLE = Qt.ItemDataRole.UserRole + 1
LOCATION_ROLE = Qt.ItemDataRole.UserRole + 2
_DESCRIBED_AT_ONCE = 24
_NONE = QModelIndex()


@dataclass(eq=False)
class Node:
    """A row of the tree.

    Attributes:
        note: grey text at the right end; `status` names the shape after it ("" for none).
        listed: whether its children were asked for.
    """

    kind: NodeKind
    text: str
    location: str = ""
    icon: str = ""
    note: str = ""
    status: str = ""
    tip: str = ""
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    listed: bool = False

    @property
    def depth(self) -> int:
        """0 for rows directly under a section."""
        depth, node = -1, self.parent
        while node is not None and node.kind != "section":
            depth, node = depth + 1, node.parent
        return depth + 1

    @property
    def opens(self) -> bool:
        """Whether the row can hold others."""
        return self.kind in ("folder", "container")

    def row(self) -> int:
        return self.parent.children.index(self) if self.parent else 0


class PlacesModel(QAbstractItemModel):
    """Sections FOLDERS, AZURE BLOB and RECENT over lazily listed places; one column."""

    def __init__(self, reader: Reader, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reader = reader
        self._root = Node("root", "")
        self.folders = self._section("Folders")
        self.containers = self._section("Azure blob")
        self.recent = self._section("Recent")
        self.set_places([])
        self.set_recents([])

    def set_places(self, locations: list[str]) -> None:
        """Show these folders and containers; what is listed of those that stay is listed again when opened."""
        self.beginResetModel()
        self.folders.children = [self._place(at, self.folders) for at in locations if not listing.is_remote(at)]
        self.containers.children = [self._place(at, self.containers) for at in locations if listing.is_remote(at)]
        self.folders.children.append(Node("add-folder", "Add a folder\u2026", icon="plus", parent=self.folders))
        self.containers.children.append(
            Node("add-container", "Add a container\u2026", icon="plus", parent=self.containers))
        self.endResetModel()

    def set_recents(self, recents: list[Recent]) -> None:
        """Show what was opened lately."""
        section = self._index(self.recent)
        if self.recent.children:
            self.beginRemoveRows(section, 0, len(self.recent.children) - 1)
            self.recent.children = []
            self.endRemoveRows()
        if not recents:
            return
        self.beginInsertRows(section, 0, len(recents) - 1)
        for entry in recents:
            source = entry.kind == "source"
            icon = "file" if source else entry.kind
            self.recent.children.append(Node("source" if source else "dataset", entry.title, entry.location, icon,
                                             entry.note, tip=entry.location, parent=self.recent))
        self.endInsertRows()

    def canFetchMore(self, parent: AnyIndex) -> bool:
        node = self.node(parent)
        return node.opens and not node.listed

    def fetchMore(self, parent: AnyIndex) -> None:
        node = self.node(parent)
        if node.opens and not node.listed:
            node.listed = True
            QTimer.singleShot(0, self, lambda: self._begin(node))  # a fetch is asked for amid other changes

    def reload(self, index: AnyIndex) -> None:
        """List a place again."""
        node = self.node(index)
        while not node.opens and node.parent is not None:
            node = node.parent
        if node.opens:
            node.listed = True
            self._list(node)

    def node(self, index: AnyIndex) -> Node:
        """The node of an index; the root for an invalid one."""
        return index.internalPointer() if index.isValid() else self._root

    def find(self, location: str) -> QModelIndex:
        """The first row of a location outside the recents, else in them; invalid where it is not in the tree."""
        for section in (self.folders, self.containers, self.recent):
            found = _find(section, location)
            if found is not None:
                return self._index(found)
        return QModelIndex()

    # -- the model's interface ------------------------------------------------------------------------------------

    def documents(self) -> list[Node]:
        """The datasets and source files that were listed so far, in the order of the tree."""
        return [node for section in (self.folders, self.containers) for node in _documents(section)]

    def index(self, row: int, column: int, parent: AnyIndex = _NONE) -> QModelIndex:
        node = self.node(parent)
        if column != 0 or not 0 <= row < len(node.children):
            return QModelIndex()
        return self.createIndex(row, 0, node.children[row])

    def parent(self, index: AnyIndex = _NONE) -> QModelIndex:  # type: ignore[override]
        node = self.node(index)
        if node.parent is None or node.parent is self._root:
            return QModelIndex()
        return self.createIndex(node.parent.row(), 0, node.parent)

    def rowCount(self, parent: AnyIndex = _NONE) -> int:
        return len(self.node(parent).children)

    def columnCount(self, parent: AnyIndex = _NONE) -> int:
        return 1

    def hasChildren(self, parent: AnyIndex = _NONE) -> bool:
        node = self.node(parent)
        return bool(node.children) or (node.opens and not node.listed)

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        if self.node(index).kind in ("section", "note"):
            return Qt.ItemFlag.ItemIsEnabled
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        node = self.node(index)
        if role == Qt.ItemDataRole.DisplayRole:
            return node.text
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return " ".join(part for part in (node.text, node.note, node.status) if part)
        if role == Qt.ItemDataRole.ToolTipRole:
            return node.tip or None
        if role == LOCATION_ROLE:
            return node.location
        return node if role == NODE_ROLE else None

    # -- listing --------------------------------------------------------------------------------------------------

    def _begin(self, node: Node) -> None:
        if self._alive(node):
            self._replace(node, [Node("note", "loading\u2026", icon="more", parent=node)])
            self._list(node)

    def _list(self, node: Node) -> None:
        location = node.location
        self._reader.submit(f"places/{location}", lambda progress: listing.list_level(location, progress),
                            lambda entries: self._listed(node, entries), lambda error: self._failed(node, error))

    def _listed(self, node: Node, entries: list[Entry]) -> None:
        if not self._alive(node):
            return
        children = [_entry_node(entry, node) for entry in entries]
        node.note = formats.count(len(children)) if children else ""
        self._replace(node, children or [Node("note", "nothing to open here", parent=node)])
        self._changed(node)
        self._describe(node, [entry for entry in entries if entry.kind == "dataset"])

    def _failed(self, node: Node, error: MdError) -> None:
        if not self._alive(node):
            return
        if isinstance(error, Cancelled):
            node.listed = False
            self._replace(node, [])
            return
        self._replace(node, [Node("error", error.message, icon="status-bad", tip=str(error), parent=node)])

    def _describe(self, node: Node, entries: list[Entry]) -> None:
        """Read the metadata of the listed datasets, some at a time, so that the first ones show soon."""
        if not entries:
            return
        now, later = entries[:_DESCRIBED_AT_ONCE], entries[_DESCRIBED_AT_ONCE:]

        def job(progress: Progress) -> list[Entry]:
            return listing.describe(now, progress)

        def done(described: list[Entry]) -> None:
            if self._alive(node):
                self._fill(node, described)
                self._describe(node, later)

        self._reader.submit(f"places/{node.location}", job, done)

    def _fill(self, node: Node, entries: list[Entry]) -> None:
        by_location = {entry.location: entry for entry in entries}
        for child in node.children:
            entry = by_location.get(child.location)
            if entry is None:
                continue
            child.icon = entry.shape or "grid"
            child.note = f"{round(100 * entry.ratio)}{formats.SPACE}%" if entry.ratio is not None else ""
            child.status = "bad" if entry.problem else "advice" if entry.guards else ""
            child.tip = entry.problem or entry.guards or entry.location
            self._changed(child)

    # -- changes --------------------------------------------------------------------------------------------------

    def _section(self, text: str) -> Node:
        node = Node("section", text, parent=self._root)
        self._root.children.append(node)
        return node

    def _place(self, location: str, section: Node) -> Node:
        remote = listing.is_remote(location)
        text = _container_name(location) if remote else short_name(location)
        return Node("container" if remote else "folder", text, location, "cloud" if remote else "folder",
                    tip=location.split("?", 1)[0], parent=section)

    def _replace(self, node: Node, children: list[Node]) -> None:
        index = self._index(node)
        if node.children:
            self.beginRemoveRows(index, 0, len(node.children) - 1)
            node.children = []
            self.endRemoveRows()
        if children:
            self.beginInsertRows(index, 0, len(children) - 1)
            node.children = children
            self.endInsertRows()

    def _changed(self, node: Node) -> None:
        index = self._index(node)
        self.dataChanged.emit(index, index)

    def _index(self, node: Node) -> QModelIndex:
        return QModelIndex() if node is self._root else self.createIndex(node.row(), 0, node)

    def _alive(self, node: Node) -> bool:
        """Whether a node is still in the tree: places may have been removed while they were listed."""
        while node.parent is not None:
            if node not in node.parent.children:
                return False
            node = node.parent
        return node is self._root


def _entry_node(entry: Entry, parent: Node) -> Node:
    icon = {"folder": "folder", "dataset": "grid", "source": "file"}[entry.kind]
    return Node(entry.kind, entry.name, entry.location, icon, tip=entry.location.split("?", 1)[0], parent=parent)


def _container_name(location: str) -> str:
    """`account / container / prefix` of an address."""
    parts = [part for part in location.split("?", 1)[0].split("://", 1)[1].split("/") if part]
    parts[0] = parts[0].split(".", 1)[0]
    return " / ".join(parts)


def _documents(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.kind in ("dataset", "source"):
            yield child
        yield from _documents(child)


def _find(node: Node, location: str) -> Node | None:
    for child in node.children:
        if child.location == location and child.kind in ("dataset", "source", "folder", "container"):
            return child
        found = _find(child, location)
        if found is not None:
            return found
    return None
