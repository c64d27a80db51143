"""The map: a slice of a grid or mesh with everything that lies over it. Reads nothing. Main thread only."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from mdstudio.app.formats import number
from mdstudio.app.plots.components import component_words
from mdstudio.app.plots.field_plot import FieldPlot
from mdstudio.app.plots.frames import Frame
from mdstudio.app.plots.hud import ExplainNote, Readout
from mdstudio.app.plots.mesh_pages import MeshPages
from mdstudio.app.plots.mesh_raster import MeshRaster, MeshWindow
from mdstudio.app.plots.overlays import ExplainItem, Graticule, PathItem, Pin, PinsItem, RectangleItem
from mdstudio.app.plots.pages import PageShape
from mdstudio.app.plots.picture import MapPicture
from mdstudio.app.plots.screen_items import MapImageItem
from mdstudio.app.plots.units import unit_text
from mdstudio.engine.requests import Bbox

VALUE_DIGITS = 6
CLOSE_WITHIN = 12  # pixels from the first corner of a polygon

Corners = tuple[tuple[float, float], ...]


class MapPlot(FieldPlot):
    """Signals: `value_probed` the value under the pointer (NaN: no data) or None; `rectangle_drawn` a finished bbox;
    `polygon_drawn` and `line_drawn` the corners of one: clicks set them, Backspace takes the last away, Enter or a
    double click ends it, and a click on the first one a polygon."""

    value_probed = Signal(object)
    rectangle_drawn = Signal(object)
    polygon_drawn = Signal(object)
    line_drawn = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("sunken", parent)
        self.setAccessibleName("Map")
        self.picture: MapPicture | None = None
        self.image, self.explain, self.rectangle, self.pins = MapImageItem(), ExplainItem(), RectangleItem(), PinsItem()
        self.graticule = Graticule(self.bottom, self.left)
        self.polygon, self.line = PathItem(ring=True), PathItem(ring=False)
        for item in (self.image, self.graticule, self.explain, self.rectangle, self.polygon, self.line, self.pins):
            self.box.addItem(item, ignoreBounds=True)
        self.probed.connect(self._show_readout)
        self.dragged.connect(self._drag)
        self.clicked.connect(self._set_corner)
        self.box.ended.connect(self._end_path)

    def set_picture(self, picture: MapPicture, frame: Frame) -> None:
        """Show a finished picture; the view stays where it is for the same grid."""
        if picture.raster is not self.raster:
            self.set_raster(picture.raster, frame)
        self.picture = picture
        self.image.set_picture(picture)
        self._show_readout(self.cell)

    def clear(self) -> None:
        self.picture = None
        self.image.set_picture(None)
        self.set_explain(None, None)
        self._show_readout(None)

    def set_pins(self, pins: tuple[Pin, ...]) -> None:
        self.pins.set_pins(pins)

    def set_bbox(self, bbox: Bbox | None) -> None:
        self.rectangle.set_bbox(bbox)

    def set_polygon(self, corners: Corners) -> None:
        """Show a closed polygon; () removes it, and one that is being drawn."""
        self.polygon.set_corners(corners, closed=bool(corners))

    def set_line(self, corners: Corners) -> None:
        """Show a finished line; () removes it, and one that is being drawn."""
        self.line.set_corners(corners, closed=bool(corners))

    def set_explain(self, note: ExplainNote | None, shape: PageShape | MeshPages | None, *,
                    inside: bool = True) -> None:
        """Show what a read cost and the pages it touched; None hides it. `inside`: part them and fill those that did
        not come from the cache."""
        self.hud.set_explain(note)
        self.explain.set_shape(shape, hatched=inside and note is not None and not note.cached, parted=inside)

    def value_text(self, value: float) -> str:
        """A value with its unit as the read-out and the pins show it."""
        if math.isnan(value):
            return "no data"
        unit = unit_text(self.picture.result.item.unit) if self.picture is not None else ""
        return f"{number(value, digits=VALUE_DIGITS)} {unit}".strip()

    def readout(self, cell: tuple[int, int]) -> Readout:
        """Value, place, cell and page of a cell of the picture; elements and nodes by their numbers in the source."""
        picture = self.picture
        assert picture is not None
        row, column = cell
        if isinstance(picture.raster, MeshRaster):
            domain = picture.raster.domain
            x, y = picture.raster.node_place(row) if picture.by_node else picture.raster.cell_centre(row, column)
            text = f"element {number(int(domain.element_number[column]), 0)}"
            if picture.by_node:
                text = f"nearest node {number(int(domain.node_number[row]), 0)} · {text}"
        else:
            x, y = picture.raster.cell_centre(row, column)
            text = f"row {row}, column {column}"
        entry = picture.lattice.page_at(row, column) if picture.lattice is not None else -1
        if entry >= 0 and not picture.by_node:
            text += f" · page {number(picture.result.explain.pages[entry].page, 0)}"
        value = self.value_text(picture.value_at(row, column))
        if picture.result.item.value_kind == "vector":
            value += f" ({component_words(picture.colouring.component)})"
        return Readout(self.frame.place(x, y), value, text)

    def _show_window(self, window: MeshWindow | None) -> None:
        super()._show_window(window)
        self.image.set_window(window)
        self.explain.set_window(window)

    def _show_readout(self, cell: tuple[int, int] | None) -> None:
        if self.picture is None or cell is None:
            self.hud.set_readout(None)
            self.value_probed.emit(None)
            return
        self.hud.set_readout(self.readout(cell))
        self.value_probed.emit(self.picture.value_at(*cell))

    @property
    def _path(self) -> PathItem | None:
        """What the tool draws corner by corner."""
        return {"polygon": self.polygon, "transect": self.line}.get(self.box.tool)

    def _set_corner(self, x: float, y: float) -> None:
        path = self._path
        if path is None:
            return
        corners = () if path.closed else path.corners
        first = self.screen_place(*corners[0]) - self.screen_place(x, y) if corners else QPointF()
        ends = first.manhattanLength() <= CLOSE_WITHIN if path.ring else (x, y) == (corners or (None,))[-1]
        if ends and len(corners) >= path.least:  # by the keyboard a line ends where the last corner is set again
            self._end_path()
        else:
            path.set_corners((*corners, (x, y)), closed=False)

    def _end_path(self) -> None:
        path = self._path
        if path is not None and not path.closed and len(path.corners) >= path.least:
            path.set_corners(path.corners, closed=True)
            (self.polygon_drawn if path.ring else self.line_drawn).emit(path.corners)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        path = self._path
        drawing = path is not None and path.drawing
        if drawing and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not self.probe.marked:
            self._end_path()
        elif path is not None and drawing and event.key() == Qt.Key.Key_Backspace:
            path.set_corners(path.corners[:-1], closed=False)
        else:
            super().keyPressEvent(event)

    def _drag(self, x0: float, y0: float, x1: float, y1: float, finished: bool) -> None:
        bbox = (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
        self.set_bbox(bbox)
        if finished:
            self.rectangle_drawn.emit(bbox)
