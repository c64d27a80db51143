"""The Map: one slice of one item at one time, points, an area, a line, cards beneath. All reading is asynchronous."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFileDialog, QGridLayout, QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from mdstudio.app.plots.calendar_ticks import time_label
from mdstudio.app.plots.colour_bar import ColourBar
from mdstudio.app.plots.map_plot import Corners, MapPlot
from mdstudio.app.plots.mesh_raster import MeshRaster
from mdstudio.app.plots.overlays import Pin
from mdstudio.app.plots.picture import MapPicture, make_picture
from mdstudio.app.plots.time_bar import TimeBar
from mdstudio.app.reading import Reader
from mdstudio.app.session import DatasetSession
from mdstudio.app.views.commands import map_command, polygon_text, series_command
from mdstudio.app.views.fields import field_of, serve_windows
from mdstudio.app.views.map_cards import MapCards
from mdstudio.app.views.map_panel import MapPanel
from mdstudio.app.views.map_tools import TOOLS, MapTools
from mdstudio.app.views.points import Point, points_of
from mdstudio.app.views.reads import RectangleRead, explain_note, read_picture, read_rectangle
from mdstudio.app.views.series_card import SeriesCard
from mdstudio.app.views.view import GAP, PAGE_MARGIN, DatasetView
from mdstudio.app.widgets import Card, StateStack
from mdstudio.engine.errors import Cancelled, MdError
from mdstudio.engine.requests import Bbox, MapRequest

STALE_AFTER_MS = 300


class MapView(DatasetView):
    """Mock-up 03."""

    key, title, icon = "map", "Map", "map"

    def __init__(self, session: DatasetSession, reader: Reader, parent: QWidget | None = None) -> None:
        super().__init__(session, reader, parent)
        self.points = points_of(session)
        self.picture: MapPicture | None = None
        self.rectangle: RectangleRead | None = None
        self._bbox: Bbox | None = None
        self._corners: Corners = ()  # of the polygon
        self._asked: MapRequest | None = None
        self._component = self.session.selection.component
        self.tools = MapTools(session)
        self.plot, self.bar, self.time_bar = MapPlot(), ColourBar(), TimeBar()
        self.stack = StateStack(self.plot)
        self.cards = MapCards(session)
        self.panel = MapPanel(self.points)
        self._stale = QTimer(self, singleShot=True, interval=STALE_AFTER_MS)
        self._stale.timeout.connect(self._mark_stale)
        self._arrange()
        self._connect()

    def _arrange(self) -> None:
        card = Card(margins=(4, 8, 8, 8))
        grid = QGridLayout()
        grid.setSpacing(6)
        grid.addWidget(self.stack, 0, 0)
        grid.addWidget(self.bar, 0, 1)
        grid.setColumnStretch(0, 1)
        card.body.addLayout(grid, 1)
        foot = QHBoxLayout()
        foot.setContentsMargins(10, 0, 4, 0)
        foot.addWidget(self.time_bar)
        card.body.addLayout(foot)
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setHandleWidth(GAP)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.addWidget(card)
        self.splitter.addWidget(self.cards)
        self.splitter.setStretchFactor(0, 5)
        self.splitter.setStretchFactor(1, 2)
        body = QHBoxLayout()
        body.setSpacing(GAP)
        body.addWidget(self.splitter, 1)
        body.addWidget(self.panel)
        page = QVBoxLayout(self)
        page.setContentsMargins(PAGE_MARGIN, GAP, PAGE_MARGIN, 12)
        page.setSpacing(GAP)
        page.addWidget(self.tools)
        page.addLayout(body, 1)
        self.panel.hide()
        self.setFocusProxy(self.plot)

    def _connect(self) -> None:
        serve_windows(self.session, self.plot, "window")
        self.tools.tool_changed.connect(self.plot.set_tool)
        self.tools.colouring_changed.connect(self._recolour)
        self.tools.explain_changed.connect(lambda _: self._show_explain())
        self.time_bar.index_changed.connect(lambda index: self.session.select(time=index))
        self.plot.clicked.connect(self._pin)
        self.plot.rectangle_drawn.connect(self.set_rectangle)
        self.plot.polygon_drawn.connect(self.set_polygon)
        self.plot.value_probed.connect(self.bar.set_value)
        self.points.changed.connect(self._points_changed)
        self.plot.line_drawn.connect(self.set_line)
        self.cards.series_read.connect(self._show_points)
        self.cards.probed.connect(self.plot.line.set_mark)
        self.cards.line_closed.connect(lambda: self.set_line(()))
        self.cards.changed.connect(self.command_changed)
        self.panel.over_time_asked.connect(self._open_area)
        self.panel.rectangle_closed.connect(lambda: self.set_rectangle(None))
        self.panel.export_asked.connect(self._ask_export)

    @property
    def series(self) -> SeriesCard:
        """The card of the series, beneath the map or at its right."""
        return self.cards.series

    def side_panel(self) -> QWidget:
        return self.panel

    def set_narrow(self, narrow: bool) -> None:
        super().set_narrow(narrow)
        self.tools.set_compact(narrow)

    def command_text(self) -> str:
        """The map as it is shown, or the area; the series, the area over time and the transect as further lines."""
        dataset, chosen = self.dataset, self.session.selection
        if dataset is None:
            return ""
        text = map_command(dataset.location, chosen.item, dataset.metadata.times, chosen.time, chosen.layer, self._bbox,
                           polygon_text(self._corners))
        if self.points.points:
            text += "\n" + series_command(dataset.location, chosen.item, chosen.layer, self.points.places())
        return "\n".join([text, *self.cards.commands()])

    def dataset_changed(self) -> None:
        assert self.dataset is not None
        self._asked = None
        self.picture = None
        self.plot.clear()
        self.set_rectangle(None)
        self.set_line(())
        self.time_bar.set_times(self.dataset.metadata.times)
        self.panel.rectangle.over_time.setVisible(len(self.dataset.metadata.times) > 1)

    def renew(self) -> None:
        dataset, chosen = self.dataset, self.session.selection
        assert dataset is not None
        self.time_bar.set_index(chosen.time)
        self.cards.renew()
        request = MapRequest(chosen.item, chosen.time, chosen.layer)
        if chosen.component != self._component:
            self._component = chosen.component
            self.tools.forget_range()
            self._recolour()
            self._read_area()
        if request == self._asked:
            return
        before = self._asked
        if before is not None and (before.item, before.layer) != (request.item, request.layer):
            self.tools.forget_range()
        self._asked = request
        if self.picture is None:
            self.stack.show_loading("Reading")
        else:
            self._stale.start()
        colouring = self.tools.colouring()
        self.session.submit("slice", lambda progress: read_picture(dataset, request, colouring, progress),
                            self._arrived, self._failed, self._progress)
        if self._has_area:
            self._read_area()

    def set_rectangle(self, bbox: Bbox | None) -> None:
        """Ask for the numbers of a rectangle, in place of any other area; None removes it."""
        self._bbox, self._corners = bbox, ()
        self._read_area()

    def set_polygon(self, corners: Corners) -> None:
        """Ask for the numbers of a polygon, in place of any other area; () removes it."""
        self._bbox, self._corners = None, corners
        self._read_area()

    def set_line(self, corners: Corners) -> None:
        """Read along a line; () removes it."""
        self.plot.set_line(corners)
        self.cards.set_line(corners)

    @property
    def _has_area(self) -> bool:
        return self._bbox is not None or bool(self._corners)

    def _read_area(self) -> None:
        self.plot.set_bbox(self._bbox)
        self.plot.set_polygon(self._corners)
        dataset, chosen = self.dataset, self.session.selection
        if not self._has_area or dataset is None:
            self.session.cancel("rectangle")
            self.rectangle = None
            self.panel.rectangle.hide()
            self.cards.close_area()
            self._show_explain()
        else:
            request = MapRequest(chosen.item, chosen.time, chosen.layer, self._bbox, polygon_text(self._corners))
            self.panel.rectangle.count.setText("reading")
            component = chosen.component
            self.session.submit("rectangle", lambda progress: read_rectangle(dataset, request, component, progress),
                                self._rectangle_arrived, self._rectangle_failed)
        self.command_changed.emit()

    def close_panel(self) -> bool:
        if self._has_area or self.plot.polygon.corners:
            self.set_rectangle(None)
        elif self.plot.line.corners:
            self.set_line(())
        else:
            return False
        return True

    def _arrived(self, picture: MapPicture) -> None:
        self._stale.stop()
        self.stack.show_contents()
        self._show(picture)
        self.time_bar.ready()
        if picture.colouring != self.tools.colouring():
            self._recolour()

    def _show(self, picture: MapPicture) -> None:
        assert self.dataset is not None
        first = self.picture is None
        self.picture = picture
        self.plot.set_picture(picture, field_of(self.dataset).frame)
        self.cards.set_picture(picture)
        self.tools.show_range(picture.shown)
        self.bar.set_scale(picture.shown, picture.colouring.name, picture.result.item.unit, picture.counts)
        if first:
            x0, y0, x1, y1 = picture.raster.extent
            tall = not self.plot.frame.geographic and y1 - y0 > 1.25 * (x1 - x0)
            beside, beneath = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
            self.splitter.setOrientation(beside if tall else beneath)
            self.cards.setOrientation(beneath if tall else beside)
        self._show_points()
        self._show_explain()

    def _failed(self, error: MdError) -> None:
        self._stale.stop()
        self._asked = None
        self.time_bar.ready()
        self.time_bar.play.setChecked(False)
        if isinstance(error, Cancelled) and self.picture is not None:
            self._mark_stale("stopped")
        else:
            self.stack.show_error(error, [("Try again", self.renew)])

    def _progress(self, done: int, total: int, unit: str) -> None:
        if self.picture is None:
            self.stack.show_loading(f"Reading {unit}", done, total)

    def _mark_stale(self, what: str = "reading") -> None:
        if self.picture is None or self.dataset is None:
            return
        shown, chosen = self.picture.result.request, self.session.selection
        times = self.dataset.metadata.times
        old, new = f"{shown.item}, {time_label(times, shown.time)}", f"{chosen.item}, {time_label(times, chosen.time)}"
        text = f"reading {new}" if what == "reading" else f"the read of {new} was stopped"
        self.stack.show_stale(f"Showing {old}", text)

    def _recolour(self) -> None:
        picture, colouring = self.picture, self.tools.colouring()
        if picture is None or picture.colouring == colouring or picture.result.item.name != self.session.selection.item:
            return
        result, raster = picture.result, picture.raster
        self.session.submit("colours", lambda progress: make_picture(result, raster, colouring, picture),
                            self._recoloured, self._aside_failed)

    def _recoloured(self, picture: MapPicture) -> None:
        if self.picture is not None and picture.result is self.picture.result:
            self._show(picture)
            if picture.colouring != self.tools.colouring():
                self._recolour()

    def _rectangle_arrived(self, read: RectangleRead) -> None:
        self.rectangle = read
        self.panel.rectangle.show_read(read, self.picture)
        self.cards.follow_area(read)
        self._show_explain()

    def _open_area(self) -> None:
        if self.rectangle is not None:
            self.cards.open_area(self.rectangle)

    def _rectangle_failed(self, error: MdError) -> None:
        self.rectangle = None
        self.panel.rectangle.hide()  # its numbers are of another time
        if isinstance(error, Cancelled):
            self.set_rectangle(None)
        else:
            self.stack.show_error(error, [("Remove the area", lambda: self._drop_rectangle())])

    def _drop_rectangle(self) -> None:
        self.set_rectangle(None)
        self.stack.show_contents()

    def _show_explain(self) -> None:
        picture = self.picture
        if picture is None or not self.tools.explain.isChecked():
            self.plot.set_explain(None, None)
            self.panel.pages.setVisible(False)
            return
        mesh = isinstance(picture.raster, MeshRaster)
        if self.rectangle is not None:
            what = "polygon" if self.rectangle.result.request.polygon else "rectangle"
            self.plot.set_explain(explain_note(what, self.rectangle.explain), self.rectangle.touched)
            self.panel.pages.show_pages(self.rectangle.explain.pages, mesh=mesh)
        else:
            self.plot.set_explain(explain_note("whole slice", picture.explain, picture.draw_us), picture.touched,
                                  inside=False)
            self.panel.pages.show_pages(picture.explain.pages, mesh=mesh)
        self.panel.pages.setVisible(True)

    def _pin(self, x: float, y: float) -> None:
        tool = self.plot.box.tool
        if tool == "point" or (self.plot.probe.marked and tool not in ("polygon", "transect")):
            self.points.add(x, y)

    def _points_changed(self) -> None:
        self._show_points()
        if self.isVisible():
            self.cards.renew_series()
        self.command_changed.emit()

    def _show_points(self) -> None:
        picture = self.picture
        pins, rows = [], []
        for point in self.points.points:
            cell = self._cell_of(point)
            value = picture.value_at(*cell) if picture is not None and cell is not None else None
            x = picture.raster.turned(point.x) if picture is not None else point.x
            pins.append(Pin(point.letter, point.token, x, point.y,
                            "outside" if value is None else self.plot.value_text(value)))
            rows.append((self.plot.frame.place(point.x, point.y, 2), value))
        self.plot.set_pins(tuple(pins))
        self.panel.points.show_points(rows)

    def _cell_of(self, point: Point) -> tuple[int, int] | None:
        """The cell that the series of a point is read from; until it is there, the one that is drawn there."""
        if self.picture is not None and isinstance(self.picture.raster, MeshRaster):
            return self.picture.raster.cell_at(point.x, point.y)  # by the geometry that the series is read by
        read = self.series.result if self.cards.made else None
        if read is not None and (point.x, point.y) in read.request.points:
            row, column = read.cells[read.request.points.index((point.x, point.y))]
            return None if row < 0 else (int(row), int(column))
        return self.picture.raster.cell_at(point.x, point.y) if self.picture is not None else None

    def _ask_export(self, ending: str) -> None:
        kinds = {".png": "Picture (*.png)", ".csv": "CSV (*.csv);;NumPy (*.npz)", ".nc": "NetCDF (*.nc)"}
        path, _ = QFileDialog.getSaveFileName(self, "Export what is shown", f"map{ending}", kinds[ending])
        if path:
            self.export_to(path)

    def export_to(self, path: str) -> None:
        """Write the picture (.png) or the numbers of the rectangle, else of the slice, to a file."""
        from mdstudio.app.views.export import write_map, write_picture

        picture, dataset = self.picture, self.dataset
        if picture is None or dataset is None:
            return
        if path.lower().endswith(".png"):
            image = self.plot.parentWidget().parentWidget().grab().toImage()  # type: ignore[union-attr]
            self.session.submit("export", lambda progress: write_picture(path, image), self._exported,
                                self._aside_failed)
            return
        result = self.rectangle.result if self.rectangle is not None else picture.result
        self.session.submit("export", lambda progress: write_map(path, result, dataset), self._exported,
                            self._aside_failed)

    def _exported(self, path: str) -> None:
        self.status.emit(f"Written to {path}")

    def _aside_failed(self, error: MdError) -> None:
        """Something beside the picture did not work: the picture is still right."""
        if not isinstance(error, Cancelled):
            self.stack.show_error(error, [("Close", self.stack.show_contents)])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_1 | Qt.Key.Key_2 | Qt.Key.Key_3 | Qt.Key.Key_4 | Qt.Key.Key_5:
                self.tools.set_tool(TOOLS[event.key() - Qt.Key.Key_1])
            case Qt.Key.Key_F:
                self.tools.full_range()
            case Qt.Key.Key_L:
                self.tools.lock.toggle()
            case Qt.Key.Key_X:
                self.tools.explain.toggle()
            case Qt.Key.Key_Delete:
                self.panel.points.remove_chosen()
            case _:
                if not self.time_bar.handle_key(event):
                    super().keyPressEvent(event)
