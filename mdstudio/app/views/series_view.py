"""Series: the values of an item through time at many points, with their statistics. All reading is asynchronous."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from mdstudio.app import formats
from mdstudio.app.plots.frames import Frame
from mdstudio.app.plots.mesh_raster import MeshRaster
from mdstudio.app.reading import Reader
from mdstudio.app.session import DatasetSession
from mdstudio.app.views.commands import series_command
from mdstudio.app.views.fields import Field, field_of
from mdstudio.app.views.pickers import ItemPicker
from mdstudio.app.views.points import parse_place, points_of
from mdstudio.app.views.series_card import SeriesCard
from mdstudio.app.views.step_picker import StepPicker
from mdstudio.app.views.view import GAP, PAGE_MARGIN, DatasetView
from mdstudio.app.widgets import Button, Card, Cell, Column, Label, LineEdit, Table
from mdstudio.engine.errors import MdError
from mdstudio.engine.model import Array
from mdstudio.engine.requests import SeriesResult

COLUMNS = (
    Column("", width=52), Column("Point", stretch=True, width=160), Column("Cell", width=120),
    Column("Now", "number", 92, role="dense-strong"), Column("Min", "number", 92), Column("Mean", "number", 92),
    Column("Max", "number", 92), Column("Deviation", "number", 92), Column("Steps with data", "number", 120),
)
DIGITS = 6


class SeriesView(DatasetView):
    """Points are shared with the Map; typed coordinates add one here."""

    key, title, icon = "series", "Series", "series"

    def __init__(self, session: DatasetSession, reader: Reader, parent: QWidget | None = None) -> None:
        super().__init__(session, reader, parent)
        self.points = points_of(session)
        self._frame = Frame("other")
        self._numbers_in_source: dict[str, Array] = {}  # of a mesh, of elements and nodes
        self.picker, self.step = ItemPicker(session, self), StepPicker(session)
        self.entry = LineEdit(name="Coordinates of a point", placeholder="x, y   or   52.1 N, 3.5 E")
        self.add = Button("Add point", "plus")
        self.why = Label("", "dense", "bad")
        self.remove = Button("Remove", "trash", "ghost", dense=True)
        self.clear = Button("Remove all", kind="ghost", dense=True)
        self.series = SeriesCard(session, "series")
        self.table = Table(COLUMNS, "Statistics of the points")
        self.card = Card("Points", "statistics over all steps with data")
        self._arrange()
        self.add.clicked.connect(self._add)
        self.entry.returnPressed.connect(self._add)
        self.entry.textEdited.connect(lambda _: self._complain(""))
        self.remove.clicked.connect(self._remove)
        self.clear.clicked.connect(self.points.clear)
        self.points.changed.connect(self._points_changed)
        self.series.index_chosen.connect(lambda index: session.select(time=index))
        self.series.read.connect(lambda _: self._show_table())

    def _arrange(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(8)
        for widget in (self.picker.item, self.picker.layer, self.picker.component, self.step, self.entry,
                       self.add, self.why):
            row.addWidget(widget)
        row.addStretch(1)
        self.card.add_to_head(self.remove)
        self.card.add_to_head(self.clear)
        self.card.body.addWidget(self.table)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setHandleWidth(GAP)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self.series)
        splitter.addWidget(self.card)
        splitter.setStretchFactor(0, 3)
        splitter.setStretchFactor(1, 2)
        page = QVBoxLayout(self)
        page.setContentsMargins(PAGE_MARGIN, GAP, PAGE_MARGIN, 12)
        page.setSpacing(GAP)
        page.addLayout(row)
        page.addWidget(splitter, 1)
        self.setFocusProxy(self.series.plot)

    def set_narrow(self, narrow: bool) -> None:
        self.entry.setFixedWidth(140 if narrow else 220)
        self.add.setText("Add" if narrow else "Add point")

    def command_text(self) -> str:
        """The series as it is shown; without a point, the place where one goes."""
        dataset, chosen = self.dataset, self.session.selection
        if dataset is None:
            return ""
        text = series_command(dataset.location, chosen.item, chosen.layer, self.points.places(), "series.csv")
        return text if self.points.points else ""

    def dataset_changed(self) -> None:
        assert self.dataset is not None
        dataset = self.dataset
        self.session.submit("field", lambda progress: field_of(dataset), self._field_arrived, self._quiet)

    def renew(self) -> None:
        if not self.points.points:
            self.series.renew()
            self.series.stack.show_empty(
                "series", "No point yet", "Type its coordinates above, or pin places in the Map.",
                [("Open the Map", lambda: self.session.view_requested.emit("map"))])
        else:
            self.series.renew()
        self._show_table()

    def _field_arrived(self, field: Field) -> None:
        self._frame = field.frame
        if isinstance(field.raster, MeshRaster):
            domain = field.raster.domain
            self._numbers_in_source = {"cell": domain.element_number, "node": domain.node_number}
        self._show_table()

    def _quiet(self, error: MdError) -> None:
        """The series tells the same error where it can be read."""

    def _points_changed(self) -> None:
        if self.isVisible():
            self.renew()
        self.command_changed.emit()

    def _add(self) -> None:
        place = parse_place(self.entry.text())
        if place is None:
            self._complain("Two numbers, such as 3.5, 52.1")
        elif not self.points.add(*place):
            self._complain("No more than 26 points at once")
        else:
            self.entry.clear()
            self._complain("")

    def _complain(self, text: str) -> None:
        self.entry.set_invalid(bool(text))
        self.why.setText(text)

    def _remove(self) -> None:
        row = self.table.selected_row()
        if 0 <= row < len(self.points.points):
            self.points.remove(self.points.points[row].number)

    def _show_table(self) -> None:
        result = self.series.result
        if result is not None and result.request.points != self.points.places():
            result = None
        rows = []
        for k, point in enumerate(self.points.points):
            cells = (Cell(point.letter, icon="pin", token=point.token, strong=True),
                     Cell(self._frame.place(point.x, point.y)))
            rows.append((*cells, *(self._numbers(result, k) if result else (_unknown(),) * 7)))
        self.table.set_rows(rows)
        self.table.fit_columns()
        self.remove.setEnabled(bool(rows))
        self.clear.setEnabled(bool(rows))

    def _numbers(self, result: SeriesResult, k: int) -> tuple[Cell, ...]:
        values = self.series.numbers(result)[:, k]
        known = values[np.isfinite(values)]
        now = float(values[min(self.session.selection.time, values.size - 1)])
        place = self._cell(result, k)
        if not known.size:
            return place, *(_unknown(),) * 5, Cell(f"0 of {formats.count(values.size)}")
        numbers = (now, float(known.min()), float(known.mean()), float(known.max()), float(known.std()))
        return (place, *(Cell(formats.number(value, digits=DIGITS), muted=value != value) for value in numbers),
                Cell(f"{formats.count(known.size)} of {formats.count(values.size)}"))

    def _cell(self, result: SeriesResult, k: int) -> Cell:
        """What a series is of; elements and nodes of a mesh by their numbers in the source."""
        at = [int(value) for value in result.cells[k]]
        if at[0] < 0:
            return Cell("outside", muted=True)
        if len(at) == 2:
            return Cell(f"row {at[0]}, col {at[1]}")
        by_node = result.item.location == "node"
        numbers = self._numbers_in_source.get(result.item.location)
        return Cell(f"{'node' if by_node else 'element'} {formats.count(int(numbers[at[0]]))}" if numbers is not None
                    else formats.DASH, muted=numbers is None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete:
            self._remove()
        elif not self.step.handle_key(event):
            super().keyPressEvent(event)


def _unknown() -> Cell:
    return Cell(formats.DASH, muted=True)
