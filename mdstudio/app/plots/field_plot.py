"""A plot of something that lies on a grid or mesh: axes in its coordinates, fit, zoom, keys, hover.

The base of the map and of the heatmap of pages. Main thread only.
"""

from __future__ import annotations

from collections.abc import Callable

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from mdstudio.app.plots.axes import AxisItem, PlotArea
from mdstudio.app.plots.frames import Frame
from mdstudio.app.plots.hud import MapHud
from mdstudio.app.plots.map_view_box import MOST_STRETCH, ZOOM_STEP, MapViewBox, Tool
from mdstudio.app.plots.mesh_raster import MeshRaster, MeshWindow, Pixels
from mdstudio.app.plots.overlays import ProbeItem
from mdstudio.app.plots.paint import color
from mdstudio.app.plots.raster import GridRaster
from mdstudio.app.plots.screen_items import Screen, ScreenItem
from mdstudio.app.plots.ticks import Tick, TickMaker
from mdstudio.app.theme import Theme
from mdstudio.engine.requests import Bbox

_ARROWS = {Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1), Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0)}


def _nothing(low: float, high: float, most: int) -> list[Tick]:
    """No grid yet, so no places to label."""
    return []


def _within(make: TickMaker, first: float, last: float) -> TickMaker:
    """Ticks of the grid alone: beside it there is nothing to label, and a world would begin again."""
    low, high = sorted((first, last))
    room = 1e-6 * (high - low)

    def ticks(start: float, end: float, most: int) -> list[Tick]:
        made = make(start, end, most)
        return [tick for tick in made if low - room <= tick[0] <= high + room] or made

    return ticks


class FieldPlot(QWidget):
    """Signals: `probed` the cell under the pointer or the keyboard probe, or None: (row, column) of a grid, (node,
    element) of a mesh; `clicked` (x, y); `dragged` as of the view box; `window_wanted` the `Pixels` whose elements of a
    mesh should be given to `set_window`, or `window_failed` called: one at a time, the last that was wanted follows."""

    probed = Signal(object)
    window_wanted = Signal(object)
    clicked = Signal(float, float)
    dragged = Signal(float, float, float, float, bool)

    most_stretch = MOST_STRETCH

    def __init__(self, ground: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ground = ground
        self.frame = Frame("index")
        self.raster: GridRaster | MeshRaster | None = None
        self.mesh_window: MeshWindow | None = None  # elements under the pixels, now or a while ago
        self._wanted: Pixels | None = None
        self._pending: Pixels | None = None
        self._ask = QTimer(self, singleShot=True, interval=0)  # not out of a paint event
        self._ask.timeout.connect(self._ask_window)
        self._cell: tuple[int, int] | None = None
        self.box = MapViewBox()
        self.bottom, self.left = AxisItem("bottom", _nothing), AxisItem("left", _nothing)
        self.view = pg.GraphicsView(self)
        self.view.setCentralItem(PlotArea(self.box, self.bottom, self.left, right_margin=4))
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hud = MapHud(self)
        self.probe = ProbeItem(self._cell_box)
        for item in (self.probe, _ScreenWatch(self._seen)):
            self.box.addItem(item, ignoreBounds=True)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view, 0, 0)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(160, 120)
        self.view.setMouseTracking(True)
        self.view.viewport().installEventFilter(self)
        self.view.scene().sigMouseMoved.connect(self._hover)
        self.box.clicked.connect(self._click)
        self.box.dragged.connect(self.dragged)
        self.box.sigRangeChanged.connect(self._renew_hud)
        self.box.sigResized.connect(self._place_hud)
        Theme.current().changed.connect(self.restyle)
        self.restyle()

    def restyle(self) -> None:
        self.view.setBackground(color("surface"))
        self.box.setBackgroundColor(color(self._ground))
        self.update()

    def set_raster(self, raster: GridRaster | MeshRaster, frame: Frame) -> None:
        """The grid or mesh that is shown from now on; the view stays where it is when the extent is the same."""
        self.raster, self.frame = raster, frame
        self._wanted = self._pending = None
        self._show_window(raster.whole if isinstance(raster, MeshRaster) else None)
        x0, y0, x1, y1 = raster.extent
        self.bottom.set_ticks_by(_within(frame.x_ticks(), x0, x1))
        self.left.set_ticks_by(_within(frame.y_ticks(), y0, y1))
        self.box.set_extent(raster.extent, geographic=frame.geographic,
                            cell=raster.smallest() if isinstance(raster, MeshRaster) else raster.cell_size(),
                            most_stretch=self.most_stretch)
        self._renew_hud()

    def set_window(self, window: MeshWindow) -> None:
        """The elements that were wanted."""
        if window.pixels != self._pending:
            return  # of another mesh
        self._pending = None
        self._show_window(window)
        self._ask.start()

    def window_failed(self, error: object = None) -> None:
        """What was wanted does not come: the last window stays until the view is moved."""
        self._pending = None

    def _show_window(self, window: MeshWindow | None) -> None:
        """Draw by other elements under the pixels; subclasses tell their items."""
        self.mesh_window = window
        self.update()

    def _seen(self, pixels: Pixels) -> None:
        """The screen as it is painted now."""
        if isinstance(self.raster, MeshRaster) and pixels != self._wanted:
            self._wanted = pixels
            self._ask.start()

    def _ask_window(self) -> None:
        if self._pending is None and self._wanted is not None and isinstance(self.raster, MeshRaster):
            if self.mesh_window is not None and self.mesh_window.pixels == self._wanted:
                return
            self._pending = self._wanted
            self.window_wanted.emit(self._wanted)

    def set_tool(self, tool: Tool) -> None:
        self.box.tool = tool
        self.view.viewport().setCursor(Qt.CursorShape.OpenHandCursor if tool == "pan" else Qt.CursorShape.CrossCursor)

    def fit(self) -> None:
        self.box.fit()

    def screen_place(self, x: float, y: float) -> QPointF:
        """Where a place is, in this widget's pixels."""
        at = self.view.mapFromScene(self.box.mapViewToScene(QPointF(x, y)))
        return QPointF(self.view.mapTo(self, at))

    @property
    def cell(self) -> tuple[int, int] | None:
        """The cell that is probed."""
        return self._cell

    def probe_cell(self, cell: tuple[int, int] | None, *, mark: bool = False) -> None:
        """Probe a cell; `mark` outlines it, for the keyboard."""
        self._cell = cell
        self.probe.set_cell(cell if mark else None)
        self.probed.emit(cell)

    def _cell_box(self, row: int, column: int) -> Bbox:
        raster = self.raster
        assert raster is not None
        if isinstance(raster, MeshRaster):
            return raster.cell_box(row, column)
        if raster.x_axis is not None and raster.y_axis is not None:
            (x0, x1), (y0, y1) = raster.x_axis.span(column, column + 1), raster.y_axis.span(row, row + 1)
            return x0, y0, x1, y1
        (x, y), (width, height) = raster.cell_centre(row, column), raster.cell_size()
        return x - width / 2, y - height / 2, x + width / 2, y + height / 2

    def _hover(self, place: QPointF) -> None:
        if self.raster is None:
            return
        inside = self.box.sceneBoundingRect().contains(place)
        at = self.box.mapSceneToView(place)
        cell = self._cell_under(at.x(), at.y()) if inside else None
        if cell != self._cell or self.probe.marked:
            self.probe_cell(cell)

    def _cell_under(self, x: float, y: float) -> tuple[int, int] | None:
        """The cell that is drawn at a place; of a mesh by the window, so that it is the one whose colour is seen."""
        if not isinstance(self.raster, MeshRaster):
            return self.raster.cell_at(x, y) if self.raster is not None else None
        element = self.mesh_window.element_at(x, y) if self.mesh_window is not None else -1
        return None if element < 0 else self.raster.cell_of(element, x, y)

    def _click(self, x: float, y: float) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self.clicked.emit(x, y)

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave and not self.probe.marked:
            self.probe_cell(None)
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.box.zoom(ZOOM_STEP)
        elif key == Qt.Key.Key_Minus:
            self.box.zoom(1 / ZOOM_STEP)
        elif key == Qt.Key.Key_0:
            self.fit()
        elif key in _ARROWS and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            self._step_probe(*_ARROWS[key])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._cell is not None and self.raster is not None:
            self.clicked.emit(*self.raster.cell_centre(*self._cell))
        else:
            event.ignore()

    def _step_probe(self, down: int, right: int) -> None:
        """One cell on the screen: down is south whatever the order of the rows."""
        raster = self.raster
        if raster is None:
            return
        if self._cell is None:
            centre = self.box.viewRect().center()
            middle = (0 if isinstance(raster, MeshRaster) else raster.shape[0] // 2), raster.shape[1] // 2
            cell = raster.cell_at(centre.x(), centre.y()) or middle
        elif isinstance(raster, MeshRaster):
            cell = raster.beside(self._cell, down, right)
        else:
            if raster.y_axis is not None and raster.y_axis.boundary(0) < raster.y_axis.boundary(1):
                down = -down
            if raster.x_axis is not None and raster.x_axis.boundary(0) > raster.x_axis.boundary(1):
                right = -right
            row = min(max(self._cell[0] + down, 0), raster.shape[0] - 1)
            cell = (row, min(max(self._cell[1] + right, 0), raster.shape[1] - 1))
        self.probe_cell(cell, mark=True)
        place = raster.cell_centre(*cell)
        if place[0] == place[0]:
            self.box.show_place(*place)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_hud()

    def _place_hud(self) -> None:
        rect = self.view.mapFromScene(self.box.sceneBoundingRect()).boundingRect()
        self.hud.setGeometry(rect.translated(self.view.pos()))
        self.hud.raise_()
        self._renew_hud()

    def _renew_hud(self) -> None:
        self.hud.set_scale(self._metres_a_pixel())

    def _metres_a_pixel(self) -> float:
        view = self.box.viewRect()
        if not self.box.state["aspectLocked"]:  # across is not what it is along
            return 0.0
        if self.frame.geographic and view.height() > 60:  # not one scale over the picture
            return 0.0
        width = max(1.0, self.box.width())
        return float(self.frame.metres_across(view.center().y()) * view.width() / width)


class _ScreenWatch(ScreenItem):
    """Tells the pixels of the screen whenever it is painted; paints nothing."""

    def __init__(self, seen: Callable[[Pixels], None]) -> None:
        super().__init__(z=-50)
        self._seen = seen

    def draw(self, painter: QPainter, screen: Screen) -> None:
        self._seen(screen.pixels())
