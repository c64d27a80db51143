"""The side panel of the map: the asked rectangle in numbers, the pinned points, the pages that were touched."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from mdstudio.app import formats
from mdstudio.app.plots.histogram_plot import HistogramPlot
from mdstudio.app.plots.map_plot import VALUE_DIGITS
from mdstudio.app.plots.mesh_raster import MeshRaster
from mdstudio.app.plots.picture import MapPicture
from mdstudio.app.views.points import PointSet, parse_place
from mdstudio.app.views.reads import RectangleRead
from mdstudio.app.views.view import SIDE_WIDTH
from mdstudio.app.widgets import Button, Card, Cell, Column, IconButton, Label, LineEdit, Table
from mdstudio.engine.requests import PageRef

MOST_PAGES = 200  # listed, largest first


class MapPanel(Card):
    """Signals: `rectangle_closed`; `over_time_asked` of the area; `export_asked` with an ending (".png", ".csv",
    ".nc")."""

    rectangle_closed = Signal()
    over_time_asked = Signal()
    export_asked = Signal(str)

    def __init__(self, points: PointSet, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setFixedWidth(SIDE_WIDTH)
        self.rectangle = RectangleSection()
        self.rectangle.closed.connect(self.rectangle_closed)
        self.rectangle.over_time.clicked.connect(self.over_time_asked)
        self.points = PointsSection(points)
        self.pages = PagesSection()
        self.body.addWidget(self.rectangle)
        self.body.addWidget(self.points)
        self.body.addWidget(self.pages, 1)
        row = QHBoxLayout()
        row.setSpacing(8)
        for text, ending in (("PNG", ".png"), ("CSV", ".csv"), ("NetCDF", ".nc")):
            button = Button(text, "export", dense=True, tip=f"Export what is shown as {text}")
            button.clicked.connect(lambda _=False, ending=ending: self.export_asked.emit(ending))
            row.addWidget(button)
        row.addStretch(1)
        self.body.addLayout(row)
        self.rectangle.hide()


class RectangleSection(QWidget):
    """Cells, histogram, extremes and mean of exactly the cells that the rectangle or polygon touches."""

    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.count = Label("", "dense", "text3")
        close = IconButton("close", "Remove the area", dense=True)
        close.clicked.connect(self.closed)
        head = QHBoxLayout()
        self.title = Label("Rectangle", "section")
        head.addWidget(self.title)
        head.addWidget(self.count, 1)
        head.addWidget(close)
        self.over_time = Button("Over time", "series", dense=True, tip="Mean, sum and count of the area at each time")
        self.histogram = HistogramPlot()
        self.note = Label("", "dense", "text2", wrap=True)
        facts = QGridLayout()
        facts.setVerticalSpacing(0)
        self.values: dict[str, Label] = {}
        for column, name in enumerate(("Min", "Mean", "Max", "No data")):
            self.values[name] = Label("", "dense-strong")
            facts.addWidget(Label(name, "caption", "text3"), 0, column)
            facts.addWidget(self.values[name], 1, column)
        column_layout = QVBoxLayout(self)
        column_layout.setContentsMargins(0, 0, 0, 6)
        column_layout.setSpacing(6)
        column_layout.addLayout(head)
        column_layout.addWidget(self.note)
        column_layout.addWidget(self.histogram)
        column_layout.addLayout(facts)
        column_layout.addWidget(self.over_time, 0, Qt.AlignmentFlag.AlignLeft)

    def show_read(self, read: RectangleRead, picture: MapPicture | None) -> None:
        numbers = read.numbers
        self.title.setText("Polygon" if read.result.request.polygon else "Rectangle")
        what = "cell" if picture is None or not isinstance(picture.raster, MeshRaster) else \
            "node" if picture.by_node else "element"
        self.count.setText(formats.plural(numbers.cells, what))
        self.note.setText(read.result.empty_reason)
        self.note.setVisible(bool(read.result.empty_reason))
        self.histogram.setVisible(read.held is not None)
        self.histogram.set_counts(read.counts, read.held, picture.shown if picture else read.held,
                                  picture.colouring.name if picture else "viridis")
        for name, value in (("Min", numbers.minimum), ("Mean", numbers.mean), ("Max", numbers.maximum)):
            self.values[name].setText(formats.number(value, digits=5))
        self.values["No data"].setText(formats.count(numbers.no_data))
        self.show()


class PointsSection(QWidget):
    """The pinned points with their values now, and a field to add one by its coordinates."""

    def __init__(self, points: PointSet, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._points = points
        self.add = Button("Add", "plus", "ghost", dense=True, tip="Add a point by its coordinates")
        head = QHBoxLayout()
        head.addWidget(Label("Points", "section"))
        head.addStretch(1)
        head.addWidget(self.add)
        self.entry = LineEdit(name="Coordinates of a point", placeholder="x, y   or   52.1 N, 3.5 E")
        self.entry.hide()
        self.hint = Label("Choose the point tool (2) and click the map.", "dense", "text3", wrap=True)
        self.table = Table([Column("", width=52), Column("Point", stretch=True, width=100),
                            Column("Value", "number", 74, role="dense-strong")], "Pinned points")
        self.table.setMinimumHeight(0)
        self.table.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 6)
        layout.setSpacing(6)
        layout.addLayout(head)
        layout.addWidget(self.entry)
        layout.addWidget(self.hint)
        layout.addWidget(self.table)
        self.add.clicked.connect(self._open_entry)
        self.entry.returnPressed.connect(self._add)

    def show_points(self, rows: list[tuple[str, float | None]]) -> None:
        """(place, value) of each point; None: outside the grid."""
        cells = [(Cell(point.letter, icon="pin", token=point.token, strong=True), Cell(place, tip=place),
                  Cell("outside" if value is None else "no data" if math.isnan(value)
                       else formats.number(value, digits=VALUE_DIGITS), muted=value is None or math.isnan(value)))
                 for point, (place, value) in zip(self._points.points, rows, strict=True)]
        self.table.set_rows(cells)
        self.table.setVisible(bool(cells))
        self.hint.setVisible(not cells)
        if cells:
            self.table.fit_height()
            self.table.setMaximumHeight(30 + 28 * 8)

    def remove_chosen(self) -> bool:
        """Remove the point whose row is chosen, else the last one; False when there is none."""
        row = self.table.selected_row()
        if not self._points.points:
            return False
        self._points.remove(self._points.points[row].number)
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete and self.remove_chosen():
            return
        super().keyPressEvent(event)

    def _open_entry(self) -> None:
        self.entry.setVisible(not self.entry.isVisible())
        if self.entry.isVisible():
            self.entry.setFocus()

    def _add(self) -> None:
        place = parse_place(self.entry.text())
        self.entry.set_invalid(place is None)
        if place is not None and self._points.add(*place):
            self.entry.clear()


class PagesSection(QWidget):
    """The pages that the last explained read touched, largest first."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.count = Label("", "dense", "text3")
        head = QHBoxLayout()
        head.addWidget(Label("Pages touched", "section"))
        head.addWidget(self.count, 1)
        self.table = Table([Column("Page", "number", 62),
                            Column("Holds", width=76, tip="Rows of a grid, or stored values of a mesh"),
                            Column("Stored", "bar", 110, stretch=True)], "Pages touched")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(head)
        layout.addWidget(self.table, 1)

    def show_pages(self, pages: tuple[PageRef, ...], *, mesh: bool) -> None:
        ordered = sorted(pages, key=lambda page: (-page.length, page.page))
        largest = max((page.length for page in pages), default=0) or 1
        more = f", {MOST_PAGES} shown" if len(pages) > MOST_PAGES else ""
        self.count.setText(f"{formats.count(len(pages))}, largest first{more}" if pages else "none")
        self.table.set_rows([
            (Cell(formats.count(page.page), tip=page.blob), _holds(page, mesh),
             Cell(formats.size(page.length), bar=page.length / largest, bar_token="explain"))
            for page in ordered[:MOST_PAGES]])


def _holds(page: PageRef, mesh: bool) -> Cell:
    columns = f"{page.columns[0]}–{page.columns[1] - 1}"
    return Cell(f"from {page.columns[0]}", tip=f"stored values {columns}") if mesh else \
        Cell(f"{page.rows[0]}–{page.rows[1] - 1}", tip=f"columns {columns}")
