"""The side panel of one page: where it lies, what it takes, and - after Read page - what is in it. Main thread only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QImage, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from mdstudio.app import colormaps, formats
from mdstudio.app.fonts import Role
from mdstudio.app.plots.colouring import colourise
from mdstudio.app.plots.components import MAGNITUDE, one_number
from mdstudio.app.plots.paint import argb_image, color, hairline
from mdstudio.app.plots.ranges import exact_range, statistics
from mdstudio.app.plots.units import unit_text
from mdstudio.app.views.view import SIDE_WIDTH
from mdstudio.app.widgets import Badge, Button, Card, ElidedLabel, IconButton, KeyValueList, Label
from mdstudio.app.widgets.base import Tone
from mdstudio.engine.dataset import Dataset, PageDetails, PageTable
from mdstudio.engine.errors import Cancelled, MdError
from mdstudio.engine.model import Array, Item
from mdstudio.engine.query import numbers_of
from mdstudio.engine.requests import decode_values

HEADER_SHOWN = 24  # bytes of a header that are shown in hex

Row = tuple[str, str, Role, Tone]


@dataclass(frozen=True)
class PageRead:
    """One page that was read: the facts, and its values decoded (float64, NaN for no data; magnitudes of vectors)."""

    details: PageDetails
    values: Array | None


def read_page(dataset: Dataset, item: Item, time: int, layer: int | None, position: int) -> PageRead:
    """Worker thread: read and take apart one page."""
    details = dataset.page_details(item.name, time, layer, position)
    if details.values is None:
        return PageRead(details, None)
    return PageRead(details, one_number(item, decode_values(item, numbers_of(details.values)), MAGNITUDE))


class PagePanel(Card):
    """Signals: `read_asked`; `closed`."""

    read_asked = Signal()
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setFixedWidth(SIDE_WIDTH)
        self.setAccessibleName("Page")
        self._reference = ""
        self.name = Label("", "section")
        self.badge = Badge()
        close = IconButton("close", "Close", dense=True)
        close.clicked.connect(self.closed)
        head = QHBoxLayout()
        head.addWidget(self.name, 1)
        head.addWidget(self.badge)
        head.addWidget(close)
        self.place = ElidedLabel("", "dense", "text2")
        self.thumbnail = Thumbnail()
        self.value_range = Label("", "dense-strong", wrap=True)
        self.value_note = Label("", "caption", "text2", wrap=True)
        column = QVBoxLayout()
        column.setSpacing(3)
        column.addWidget(Label("Values in this page", "caption", "text2"))
        column.addWidget(self.value_range)
        column.addWidget(self.value_note)
        column.addStretch(1)
        self.contents = QWidget()
        row = QHBoxLayout(self.contents)
        row.setContentsMargins(0, 2, 0, 2)
        row.setSpacing(12)
        row.addWidget(self.thumbnail)
        row.addLayout(column, 1)
        self.facts = KeyValueList()
        self.hex_title = Label("", "caption", "text2")
        self.hex = HexWell()
        self.strip_title = Label("", "caption", "text2")
        self.strip = BlobStrip()
        self.note = Label("", "dense", "bad", wrap=True)
        self.read = Button("Read page", "eye")
        self.read.clicked.connect(self.read_asked)
        self.copy = Button("Copy reference", "copy")
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._reference))
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.read)
        buttons.addWidget(self.copy)
        buttons.addStretch(1)
        self.body.addLayout(head)
        for widget in (self.place, self.contents, self.facts, self.note, self.hex_title, self.hex, self.strip_title,
                       self.strip):
            self.body.addWidget(widget)
        self.body.addStretch(1)
        self.body.addLayout(buttons)

    def show_page(self, table: PageTable, position: int, place: str, cells: str, colours: Array, *,
                  mesh: bool = False) -> None:
        """A page from the index alone; `colours` of all pages paint its place in the blob. `cells`: rows and columns,
        of a mesh its run of stored values."""
        length, raw = int(table.length[position]), int(table.raw[position])
        self.name.setText(f"Page {formats.count(int(table.page[position]))}")
        self.place.setText(place)
        blob = table.blob_of(position)
        self._reference = f"{blob} offset={int(table.offset[position])} length={length}"
        rows: list[Row] = [
            ("Blob", blob, "mono-small", "text"),
            ("Stored values" if mesh else "Rows, columns", cells, "dense-medium", "text"),
            ("Offset", formats.count(int(table.offset[position])), "dense-medium", "text"),
            ("Stored length", _bytes(length), "dense-medium", "text"),
            ("Raw length", _bytes(raw), "dense-medium", "text"),
            ("Ratio", formats.ratio(length, raw) if length else "all no data", "dense-medium", "text"),
        ]
        self._rows = rows
        self.facts.set_rows(rows)
        self.badge.set_badge("not read" if length else "no data", "unknown" if length else "fill")
        for widget in (self.contents, self.hex, self.hex_title, self.note):
            widget.hide()
        same = table.blob_index == table.blob_index[position]
        total = int((table.offset[same] + table.length[same]).max())
        self.strip_title.setText(f"Place in the pages of its blob, {formats.size(int(table.length[same].sum()))}")
        self.strip.set_pages(table.offset[same], table.length[same], colours[same], int(table.offset[position]), total)
        self.read.setEnabled(bool(length))
        self.read.set_text("Read page")

    def show_reading(self) -> None:
        self.read.setEnabled(False)
        self.read.set_text("Reading")

    def show_read(self, page: PageRead, item: Item) -> None:
        """What reading the page added."""
        details = page.details
        rows = list(self._rows)
        if details.info is not None:
            info = details.info
            rows.append(("Transform", info.transform, "dense-medium", "text"))
            rows.append(("Backend", info.backend, "dense-medium", "text"))
        checksum = details.checksum_stored.hex(" ", 2).upper()
        state, tone = (("none in this layout", "text3") if details.checksum is None
                       else (f"{checksum} · matches", "ok") if details.checksum else (f"{checksum} · differs", "bad"))
        rows.append(("Checksum", state, "dense-medium", tone))  # type: ignore[arg-type]
        self.facts.set_rows(rows)
        header = details.info.header_bytes if details.info else 0
        self.hex_title.setText(f"Header, {formats.plural(header, 'byte')}" if header else "First bytes")
        self.hex.set_bytes(details.header[:HEADER_SHOWN])
        self.hex_title.show()
        self.hex.show()
        self.note.setText(details.problem)
        self.note.setVisible(bool(details.problem))
        self.badge.set_badge("damaged" if details.problem else "ok", "bad" if details.problem else "ok")
        self.read.setEnabled(True)
        self.read.set_text("Read page")
        if page.values is not None:
            self._show_values(page.values, item, details)

    def show_error(self, error: MdError) -> None:
        """The page could not be read, or its read was stopped."""
        stopped = isinstance(error, Cancelled)
        self.note.setText("" if stopped else str(error))
        self.note.setVisible(not stopped)
        self.badge.set_badge("not read" if stopped else "unreadable", "unknown" if stopped else "unreadable")
        self.read.setEnabled(True)
        self.read.set_text("Read page")

    def _show_values(self, values: Array, item: Item, details: PageDetails) -> None:
        numbers = statistics(values)
        unit = unit_text(item.unit)
        self.value_range.setText("no data" if not numbers.valid else
                                 f"{formats.number(numbers.minimum, digits=6)} … "
                                 f"{formats.number(numbers.maximum, digits=6)} {unit}".strip())
        what = "cells" if len(details.rectangles) == 1 and values.size == _cells(details) else "values"
        self.value_note.setText(f"{formats.count(numbers.valid)} of {formats.count(numbers.cells)} {what} valid, "
                                f"{values.shape[0]} × {values.shape[1]}")
        self.thumbnail.set_values(values)
        self.contents.show()


def _cells(details: PageDetails) -> int:
    return sum((r1 - r0) * (c1 - c0) for r0, r1, c0, c1 in details.rectangles)


def _bytes(value: int) -> str:
    return f"{formats.count(value)}{formats.SPACE}B"


class Thumbnail(QWidget):
    """The values of a page as stored, row 0 on top; a long run of a mesh in lines of a square."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._image = QImage()
        self.setFixedSize(92, 92)
        self.setAccessibleName("Values of the page")

    def set_values(self, values: Array) -> None:
        if values.shape[0] == 1:
            width = math.ceil(math.sqrt(values.size))
            values = np.append(values, np.full(-values.size % width, np.nan)).reshape(-1, width)
        colours, _ = colourise(np.ascontiguousarray(values), exact_range(values), colormaps.argb("viridis"))
        self._image = argb_image(colours)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), color("sunken"))
        if not self._image.isNull():
            size = self._image.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(4, 4))
            painter.drawImage(QRectF((self.width() - size.width()) / 2, (self.height() - size.height()) / 2,
                                     size.width(), size.height()), self._image)
        painter.end()


class HexWell(QFrame):
    """Bytes in hex, eight a line."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("well")
        self.text = Label("", "mono-small")
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 10, 6)
        layout.addWidget(self.text)

    def set_bytes(self, data: bytes) -> None:
        self.text.setText("\n".join(data[i:i + 8].hex(" ").upper() for i in range(0, len(data), 8)))


class BlobStrip(QWidget):
    """All pages of a blob in stored order in the colours of the heatmap, a marker at one of them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._column = QImage()
        self._at = 0.0
        self.setFixedHeight(26)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Place in the blob")

    def set_pages(self, offsets: Array, lengths: Array, colours: Array, at: int, total: int) -> None:
        """Offsets and lengths in bytes; `at` is marked. One colour a pixel of 512, whatever the number of pages."""
        first = int(offsets.min()) if offsets.size else 0
        span = max(1, total - first)
        order = np.argsort(offsets, kind="stable")
        places = first + (np.arange(512) + 0.5) * span / 512
        found = order[np.clip(np.searchsorted(offsets[order], places, side="right") - 1, 0, offsets.size - 1)]
        inside = places < offsets[found] + lengths[found]
        pixels = np.where(inside, colours[found], np.uint32(0)).astype(np.uint32)[None, :]
        self._column = argb_image(pixels)
        self._at = (at - first) / span
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        box = QRectF(0, 8, self.width(), self.height() - 10)
        painter.fillRect(box, color("nodata"))
        painter.drawImage(box, self._column)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(hairline("text"))
        x = min(max(self._at * self.width(), 4.0), self.width() - 4.0)
        painter.setPen(QPen(color("text"), 1.4))
        painter.drawLine(QPointF(x, 4), QPointF(x, self.height()))
        painter.setBrush(color("text"))
        painter.drawPolygon(QPolygonF([QPointF(x - 4, 1), QPointF(x + 4, 1), QPointF(x, 7)]))
        painter.end()
