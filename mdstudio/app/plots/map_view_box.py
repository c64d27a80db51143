"""The pannable, zoomable area of maps and heatmaps: fit, aspect, tools, keys. Main thread only."""

from __future__ import annotations

import math
from typing import Any, Literal

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt, Signal

from mdstudio.app.plots.raster import Extent

Tool = Literal["pan", "point", "rectangle", "polygon", "transect"]
MOST_STRETCH = 12.0
ZOOM_STEP = 1.5


class MapViewBox(pg.ViewBox):  # type: ignore[misc]
    """Signals: `clicked` (x, y) in data places; `ended` by a double click what is drawn corner by corner, after the
    `clicked` of its first half; `dragged` (x0, y0, x1, y1, finished) of the rectangle tool."""

    clicked = Signal(float, float)
    ended = Signal()
    dragged = Signal(float, float, float, float, bool)

    def __init__(self) -> None:
        super().__init__(enableMenu=False)
        self.tool: Tool = "pan"
        self._extent: QRectF | None = None
        self._fitted = True
        self.disableAutoRange()
        self.sigResized.connect(self._refit)
        self.sigRangeChangedManually.connect(self._moved)

    @property
    def fitted(self) -> bool:
        return self._fitted

    def set_extent(self, extent: Extent, *, geographic: bool, cell: tuple[float, float],
                   most_stretch: float = MOST_STRETCH) -> None:
        """What `fit` shows; the shape of degrees is taken from the middle latitude; zoom ends at about three cells.

        A picture that is longer than `most_stretch` times its width, or wider, fills the view instead of keeping it.
        """
        x0, y0, x1, y1 = extent
        rect = QRectF(x0, y0, x1 - x0, y1 - y0)
        if rect == self._extent:
            return
        self._extent = rect
        ratio = max(0.3, math.cos(math.radians((y0 + y1) / 2))) if geographic else 1.0
        stretch = rect.width() * ratio / rect.height()
        self.setAspectLocked(1 / most_stretch <= stretch <= most_stretch, ratio)
        self.setLimits(minXRange=3 * cell[0], minYRange=3 * cell[1])
        self.fit()

    def fit(self) -> None:
        """Show everything."""
        self._fitted = True
        if self._extent is not None:
            self.setRange(self._extent, padding=0.02)

    def zoom(self, factor: float) -> None:
        """Closer (> 1) or further (< 1) about the middle."""
        self._fitted = False
        self.scaleBy((1 / factor, 1 / factor))

    def show_place(self, x: float, y: float) -> None:
        """Move only as far as is needed to have a place in view."""
        view = self.viewRect()
        dx = min(0.0, x - view.left()) + max(0.0, x - view.right())
        dy = min(0.0, y - view.top()) + max(0.0, y - view.bottom())
        if dx or dy:
            self._fitted = False
            self.translateBy(x=dx, y=dy)

    def _refit(self) -> None:
        if self._fitted:
            self.fit()

    def _moved(self) -> None:
        self._fitted = False

    def mouseDragEvent(self, ev: Any, axis: Any = None) -> None:
        if self.tool != "rectangle" or ev.button() != Qt.MouseButton.LeftButton:
            super().mouseDragEvent(ev, axis)
            return
        ev.accept()
        start, end = self.mapToView(ev.buttonDownPos()), self.mapToView(ev.pos())
        self.dragged.emit(start.x(), start.y(), end.x(), end.y(), bool(ev.isFinish()))

    def mouseClickEvent(self, ev: Any) -> None:
        if ev.button() == Qt.MouseButton.LeftButton:
            ev.accept()
            if ev.double() and self.tool in ("polygon", "transect"):
                self.ended.emit()
                return
            at = self.mapToView(ev.pos())
            self.clicked.emit(at.x(), at.y())
