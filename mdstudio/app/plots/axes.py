"""The one axis of all plots: labels in tokens at 11 px, degrees, kilometres or calendar times. Main thread only."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtGui import QFontMetricsF, QPen
from PySide6.QtWidgets import QGraphicsGridLayout

from mdstudio.app.plots import ticks
from mdstudio.app.plots.paint import LEFT_WIDTH, color, font, hairline
from mdstudio.app.plots.ticks import TickMaker
from mdstudio.app.theme import Theme

BOTTOM_HEIGHT = 24
pg.setConfigOption("mouseRateLimit", -1)  # with a limit the last move is dropped and the read-out lies


class AxisItem(pg.AxisItem):  # type: ignore[misc]
    """An axis whose ticks a function makes from (low, high, most); fixed in size, so that plots beneath each other
    line up."""

    def __init__(self, orientation: str, make: TickMaker | None = None, pixels_a_tick: int = 0) -> None:
        super().__init__(orientation, maxTickLength=-4)
        self._make: TickMaker = make or (lambda low, high, most: ticks.number_ticks(low, high, most))
        self._every = pixels_a_tick or (72 if orientation in ("bottom", "top") else 44)
        self.enableAutoSIPrefix(False)
        self.setStyle(tickTextOffset=7, autoExpandTextSpace=False, hideOverlappingLabels=False)
        if orientation in ("left", "right"):
            self.setWidth(LEFT_WIDTH)
        else:
            self.setHeight(BOTTOM_HEIGHT)
        self.restyle()
        Theme.current().changed.connect(self.restyle)

    def restyle(self) -> None:
        self.setTickFont(font("caption"))
        self.setTextPen(color("text3"))
        upright = self.orientation in ("left", "right")
        self.setPen(QPen(color("line", 0)) if upright else hairline("line2"))
        self.setTickPen(QPen(color("line", 0)) if upright else hairline("line2"))

    def set_ticks_by(self, make: TickMaker) -> None:
        """Change what the axis says."""
        self._make = make
        self.picture = None
        self.update()

    def ticks_between(self, low: float, high: float, size: float) -> list[ticks.Tick]:
        """The (position, label) pairs that an axis of `size` pixels shows."""
        return self._make(low, high, max(1, int(size // self._every)))

    def shown_ticks(self) -> list[ticks.Tick]:
        """The (position, label) pairs that are shown now."""
        low, high = sorted(self.range)
        return self.ticks_between(low, high, self.width() if self.orientation in ("bottom", "top") else self.height())

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        low, high = sorted((minVal, maxVal))
        return [(1.0, [position for position, _ in self.ticks_between(low, high, size)])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        labels = dict(self.shown_ticks())
        return [self._fitting(value, labels.get(value, "")) for value in values]

    def _fitting(self, value: float, text: str) -> str:
        """A label, or nothing where the right end of the axis would cut it."""
        low, high = sorted(self.range)
        if self.orientation not in ("bottom", "top") or not high > low:
            return text
        middle = (value - low) / (high - low) * self.width()
        return text if middle + QFontMetricsF(font("caption")).horizontalAdvance(text) / 2 <= self.width() + 1 else ""


class PlotArea(pg.GraphicsWidget):  # type: ignore[misc]
    """A view box with an axis beneath and one at its left; nothing else (a PlotItem costs 40 ms of the main thread)."""

    def __init__(self, box: pg.ViewBox, bottom: AxisItem, left: AxisItem, right_margin: float = 0.0) -> None:
        super().__init__()
        grid = QGraphicsGridLayout(self)
        grid.setContentsMargins(0, 4, right_margin, 0)
        grid.setSpacing(0)
        grid.addItem(left, 0, 0)
        grid.addItem(box, 0, 1)
        grid.addItem(bottom, 1, 1)
        grid.setRowStretchFactor(0, 100)
        grid.setColumnStretchFactor(1, 100)
        box.setZValue(-100)
        for axis in (bottom, left):
            axis.linkToView(box)
            axis.setZValue(0.5)
