"""The Start screen (mock-up 06): one drop target, four ways in with their keys, what was opened lately."""

from __future__ import annotations

import datetime
import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import (
    QAbstractButton,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from mdstudio.app import colormaps, fonts, formats, icons
from mdstudio.app.preferences import Recent
from mdstudio.app.theme import Theme
from mdstudio.app.widgets import Button, Card, Cell, Column, Ground, Label, Table
from mdstudio.app.widgets.inputs import paint_key

_WIDTH = 780
_WAYS = (
    ("open_folder", "folder", "Open folder", "A dataset, or a folder of them", "Ctrl O"),
    ("open_url", "cloud", "Open Azure URL", "az://\u2026 or https://\u2026blob\u2026?sas", "Ctrl Shift O"),
    ("import_file", "file", "Import a file", "NetCDF, GRIB: choose items and settings", "Ctrl I"),
    ("open_sample", "cube", "Open the sample dataset", "Made here in seconds, no download", "Ctrl Shift D"),
)


class StartPage(Ground):
    """Signals: a command by its key, a recent document by its location, the recents cleared."""

    command_requested = Signal(str)
    recent_requested = Signal(str, str)
    clear_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("page", parent)
        self.setAccessibleName("Start")
        self._recents: list[Recent] = []
        inner = Ground("page")
        inner.setMaximumWidth(_WIDTH)
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 24, 0, 24)
        column.setSpacing(10)
        column.addStretch(1)
        column.addWidget(Label("MD Studio", "hero"))
        column.addWidget(Label("See what is in a dataset, how it is stored and whether it is whole.", "body", "text2"))
        column.addSpacing(8)
        self.target = _DropTarget()
        column.addWidget(self.target)
        column.addLayout(self._ways())
        column.addWidget(self._recent_card())
        foot = Label("Press  Ctrl K  for every command  \u00b7  F1  for the keys  \u00b7  "
                     "the same in a terminal:  mdstudio demo", "dense", "text3")
        foot.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(6)
        column.addWidget(foot)
        column.addStretch(2)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        holder = Ground("page")
        row = QHBoxLayout(holder)
        row.setContentsMargins(18, 0, 18, 0)
        row.addStretch(1)
        row.addWidget(inner, 100)
        row.addStretch(1)
        area.setWidget(holder)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(area)

    def set_recents(self, recents: list[Recent], now: datetime.datetime | None = None) -> None:
        """Show what was opened lately; an empty list says so."""
        self._recents = recents
        now = now or datetime.datetime.now(datetime.UTC)
        self._nothing.setVisible(not recents)
        self._table.setVisible(bool(recents))
        self._clear.setVisible(bool(recents))
        self._table.set_rows([
            [Cell(recent.title, _parent(recent.location), "file" if recent.kind == "source" else recent.kind,
                  tip=recent.location),
             Cell(_kind(recent)),
             Cell(formats.size(recent.size_bytes), muted=recent.size_bytes is None, sort=recent.size_bytes or 0),
             Cell(_when(recent.opened, now), sort=recent.opened)]
            for recent in recents[:6]
        ])
        self._table.fit_height()

    def set_dropping(self, dropping: bool) -> None:
        """Something is held over the window."""
        self.target.set_dropping(dropping)

    def _ways(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setSpacing(10)
        for i, (key, icon, title, text, keys) in enumerate(_WAYS):
            way = _Way(icon, title, text, keys)
            way.clicked.connect(lambda _=False, key=key: self.command_requested.emit(key))
            grid.addWidget(way, *divmod(i, 2))
        return grid

    def _recent_card(self) -> Card:
        card = Card("Recent", margins=(2, 8, 2, 4))
        card.head.setContentsMargins(12, 0, 12, 0)
        self._clear = Button("Clear", kind="ghost", dense=True)
        self._clear.clicked.connect(self.clear_requested)
        card.add_to_head(self._clear)
        self._nothing = Label("Nothing opened yet", "dense", "text3")
        self._nothing.setContentsMargins(12, 2, 12, 10)
        self._table = Table([Column("Name", stretch=True), Column("Kind", width=170), Column("Size", "number", 90),
                             Column("Opened", width=120)], "Recent documents")
        self._table.row_activated.connect(self._activate)
        self._table.clicked.connect(lambda index: self._activate(index.row()))
        card.body.addWidget(self._nothing)
        card.body.addWidget(self._table)
        return card

    def _activate(self, row: int) -> None:
        recent = self._recents[row]
        self.recent_requested.emit(recent.location, recent.kind)


class _DropTarget(QWidget):
    """The dashed well with the picture of a grid that becomes a mesh."""

    def __init__(self) -> None:
        super().__init__()
        self._dropping = False
        self.setAccessibleName("Drop a folder, a file or a blob URL here")
        self.setMinimumHeight(200)
        self.setFixedHeight(232)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_dropping(self, dropping: bool) -> None:
        self._dropping = dropping
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = Theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(theme.color("accent" if self._dropping else "line2"), 1.6)
        pen.setDashPattern([6, 4])
        painter.setPen(pen)
        painter.setBrush(theme.color("accentbg" if self._dropping else "surface"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 10, 10)
        _picture(painter, QPointF(self.width() / 2 - 134, 34))
        painter.setPen(theme.color("text"))
        painter.setFont(fonts.font("metric"))
        middle = Qt.AlignmentFlag.AlignHCenter
        painter.drawText(QRectF(0, 156, self.width(), 24), middle, "Drop a folder, a file or a blob URL here")
        painter.setPen(theme.color("text3"))
        painter.setFont(fonts.font("dense"))
        painter.drawText(QRectF(0, 185, self.width(), 18), middle,
                         "MD datasets open as they are, NetCDF and GRIB files open for an import.")
        painter.drawText(QRectF(0, 204, self.width(), 18), middle,
                         "Opening reads an index of a few KB, never the data.")
        painter.end()


def _picture(painter: QPainter, at: QPointF) -> None:
    """Seven columns of cells and a patch of triangles, coloured by viridis."""
    ramp = colormaps.colours("viridis")

    def colour(value: float, alpha: int = 255) -> QColor:
        return QColor(*ramp[min(255, max(0, round(255 * value)))], alpha)

    painter.setPen(Qt.PenStyle.NoPen)
    for row in range(5):
        for column in range(7):
            value = 0.9 - 0.16 * math.hypot(column - 2.6, 1.5 * (row - 1.0))
            alpha = 255 if column < 5 else (200, 130)[column - 5]
            painter.setBrush(colour(value, alpha))
            painter.drawRoundedRect(QRectF(at.x() + 21 * column, at.y() + 21 * row, 18.5, 18.5), 3, 3)
    left = at.x() + 152
    points = [[_node(left, at.y(), i, j) for i in range(5)] for j in range(5)]
    painter.setPen(QPen(Theme.current().color("surface"), 1.6))
    for j in range(4):
        for i in range(4):
            a, b, c, d = points[j][i], points[j][i + 1], points[j + 1][i + 1], points[j + 1][i]
            value = 0.12 + 0.13 * j + 0.03 * ((i * 3 + j) % 4)
            painter.setBrush(colour(value))
            painter.drawPolygon(QPolygonF([a, b, c]))
            painter.setBrush(colour(value + 0.05))
            painter.drawPolygon(QPolygonF([a, c, d]))


def _node(left: float, top: float, i: int, j: int) -> QPointF:
    """A node of the patch, off its square place by a little."""
    aside = 7 * ((i + j) % 2) - 3 if 0 < i < 4 else (2 - j) * 1.5
    down = 5 * ((i * j) % 2) - 2 if 0 < j < 4 else 0
    return QPointF(left + 28 * i + aside, top + 26 * j + down)


class _Way(QAbstractButton):
    """One way in: a tinted icon, a title, a line, its keys."""

    def __init__(self, icon: str, title: str, text: str, keys: str) -> None:
        super().__init__()
        self._icon, self._title, self._line, self._keys = icon, title, text, keys
        self._ring = False
        self.setText(title)
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        return QSize(300, 62)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._ring = event.reason() != Qt.FocusReason.MouseFocusReason
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._ring = False
        super().focusOutEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = Theme.current()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ring = self._ring and self.hasFocus()
        width = 2 if ring else 1
        painter.setPen(QPen(theme.color("accent" if ring else "line2" if self.underMouse() else "line"), width))
        painter.setBrush(theme.color("hover" if self.isDown() else "surface"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 8, 8)
        box = QRectF(14, (self.height() - 36) / 2, 36, 36)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("accentbg"))
        painter.drawRoundedRect(box, 8, 8)
        icons.paint(painter, self._icon, QRectF(box.x() + 9, box.y() + 9, 18, 18), theme.color("accent"))
        painter.setPen(theme.color("text"))
        painter.setFont(fonts.font("body-strong"))
        painter.drawText(QRectF(64, 12, self.width() - 76, 20), Qt.AlignmentFlag.AlignVCenter, self._title)
        painter.setPen(theme.color("text3"))
        painter.setFont(fonts.font("dense"))
        painter.drawText(QRectF(64, 32, self.width() - 76, 18), Qt.AlignmentFlag.AlignVCenter, self._line)
        paint_key(painter, self.width() - 14, 22, self._keys)
        painter.end()


def _kind(recent: Recent) -> str:
    name = {"grid": "Grid", "mesh": "Mesh", "source": "Source"}.get(recent.kind, recent.kind)
    return f"{name} \u00b7 {recent.note}" if recent.note else name


def _parent(location: str) -> str:
    parts = [part for part in location.replace("\\", "/").rstrip("/").split("/") if part]
    return parts[-2] if len(parts) > 1 else ""


def _when(opened: str, now: datetime.datetime) -> str:
    """'today 09:12', 'yesterday', '12 Nov', in local time."""
    try:
        at = datetime.datetime.fromisoformat(opened).astimezone()
    except ValueError:
        return formats.DASH
    days = (now.astimezone().date() - at.date()).days
    if days <= 0:
        return f"today {at:%H:%M}"
    return "yesterday" if days == 1 else f"{at.day} {at:%b}" if days < 300 else f"{at:%Y-%m-%d}"
