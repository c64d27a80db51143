"""A plot with an axis beneath and one at its left: the base of series and transects. Main thread only."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, Qt
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mdstudio.app.plots.axes import AxisItem, PlotArea
from mdstudio.app.plots.map_view_box import ZOOM_STEP
from mdstudio.app.plots.paint import color, hairline
from mdstudio.app.plots.screen_items import Screen, ScreenItem
from mdstudio.app.theme import Theme
from mdstudio.engine.model import Array


class AxesPlot(QWidget):
    """Subclasses give `fit` (show everything) and may give `restyle` more to do."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bottom, self.left = AxisItem("bottom"), AxisItem("left", pixels_a_tick=22)
        self.box = pg.ViewBox(enableMenu=False)
        self.box.disableAutoRange()
        self.view = pg.GraphicsView(self)
        self.view.setCentralItem(PlotArea(self.box, self.bottom, self.left))
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.view.setMinimumHeight(60)
        self.rules = _Rules(self.left)
        self.box.addItem(self.rules, ignoreBounds=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        Theme.current().changed.connect(self.restyle)

    def restyle(self) -> None:
        self.view.setBackground(color("surface"))
        self.box.setBackgroundColor(color("surface"))

    def fit(self) -> None:
        """Show everything."""
        raise NotImplementedError

    def show_values(self, parts: list[Array]) -> None:
        """Let the value axis hold the finite ones of some arrays."""
        known = [part[np.isfinite(part)] for part in parts]
        known = [part for part in known if part.size]
        if not known:
            self.box.setYRange(0, 1, padding=0)
            return
        low, high = min(float(part.min()) for part in known), max(float(part.max()) for part in known)
        margin = (high - low) * 0.08 or max(abs(high) * 0.05, 1e-12)
        self.box.setYRange(low - margin, high + margin, padding=0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.box.scaleBy((1 / ZOOM_STEP, 1))
            case Qt.Key.Key_Minus:
                self.box.scaleBy((ZOOM_STEP, 1))
            case Qt.Key.Key_0:
                self.fit()
            case _:
                event.ignore()


class _Rules(ScreenItem):
    """Hairlines at the ticks of the value axis."""

    def __init__(self, left: AxisItem) -> None:
        super().__init__(z=-20)
        self._left = left

    def draw(self, painter: QPainter, screen: Screen) -> None:
        painter.setPen(hairline("line"))
        for value, _ in self._left.shown_ticks():
            y = round(screen.y(value)) + 0.5
            painter.drawLine(QLineF(screen.box.left(), y, screen.box.right(), y))
