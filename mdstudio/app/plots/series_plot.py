"""Series at points: letters at the line ends, gaps as gaps, the current time through it. Main thread only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mdstudio.app.plots.axes import AxisItem, PlotArea
from mdstudio.app.plots.calendar_ticks import time_ticks
from mdstudio.app.plots.map_view_box import ZOOM_STEP
from mdstudio.app.plots.paint import color, font, hairline, line
from mdstudio.app.plots.screen_items import Screen, ScreenItem
from mdstudio.app.plots.ticks import Tick, TickMaker, index_ticks
from mdstudio.app.theme import Theme
from mdstudio.app.tokens import MARKERS, SERIES
from mdstudio.engine.model import Array
from mdstudio.engine.times import TimeAxis

MARKERS_A_LINE = 7
_LETTER_ROOM = 0.035  # of the width, right of the last value


@dataclass(frozen=True)
class Line:
    """One series: its letter, colour token and values, NaN where there is no data."""

    letter: str
    token: str
    values: Array


def letter_of(index: int) -> str:
    """A ... Z, then A2, B2, ..."""
    return chr(ord("A") + index % 26) + (str(index // 26 + 1) if index >= 26 else "")


def token_of(index: int) -> str:
    return SERIES[index % len(SERIES)]


class SeriesPlot(QWidget):
    """Signal `index_chosen`: the step nearest to a click."""

    index_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times = TimeAxis.none()
        self._x = np.zeros(1)
        self._lines: tuple[Line, ...] = ()
        self._items: list[Any] = []
        self.bottom, self.left = AxisItem("bottom"), AxisItem("left", pixels_a_tick=22)
        self.box = pg.ViewBox(enableMenu=False)
        self.box.disableAutoRange()
        self.view = pg.GraphicsView(self)
        self.view.setCentralItem(PlotArea(self.box, self.bottom, self.left))
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.view.setMinimumHeight(60)
        self._current = _CurrentTime()
        self._ends = _LineEnds()
        for item in (_Rules(self.left), self._current, self._ends):
            self.box.addItem(item, ignoreBounds=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Series")
        self.view.scene().sigMouseClicked.connect(self._clicked)
        Theme.current().changed.connect(self.restyle)
        self.restyle()

    def restyle(self) -> None:
        self.view.setBackground(color("surface"))
        self.box.setBackgroundColor(color("surface"))
        self._draw()

    def set_lines(self, times: TimeAxis, lines: tuple[Line, ...]) -> None:
        """Show these series; the zoom stays for the same times."""
        same = times == self._times
        self._times, self._lines = times, lines
        origin = int(times.microseconds[0])
        self._x = (np.arange(len(times)) if times.static else times.microseconds - origin).astype(np.float64)
        if times.static:
            self.bottom.set_ticks_by(index_ticks)
        else:
            self.bottom.set_ticks_by(_ticks_from(origin, times.calendar))
        self._draw()
        if not same or not lines:
            self.fit()
        else:
            self._fit_values()

    def set_index(self, index: int) -> None:
        """The current time."""
        self._current.set_place(float(self._x[min(index, self._x.size - 1)]))

    def fit(self) -> None:
        """Show all times and values."""
        span = float(self._x[-1] - self._x[0]) or 1.0
        self.box.setXRange(float(self._x[0]) - 0.005 * span, float(self._x[-1]) + _LETTER_ROOM * span, padding=0)
        self.box.setLimits(minXRange=span * 1e-6 if span > 1 else 0.1)
        self._fit_values()

    def _fit_values(self) -> None:
        known = [part[np.isfinite(part)] for part in (one.values for one in self._lines)]
        known = [part for part in known if part.size]
        if not known:
            self.box.setYRange(0, 1, padding=0)
            return
        low, high = min(float(part.min()) for part in known), max(float(part.max()) for part in known)
        margin = (high - low) * 0.08 or max(abs(high) * 0.05, 1e-12)
        self.box.setYRange(low - margin, high + margin, padding=0)

    def _draw(self) -> None:
        for item in self._items:
            self.box.removeItem(item)
        self._items = []
        for number, one in enumerate(self._lines):
            pen = line(one.token)
            curve = pg.PlotDataItem(self._x, one.values, pen=pen, connect="finite", antialias=True)
            self.box.addItem(curve, ignoreBounds=True)
            curve.setDownsampling(auto=True, method="peak")
            curve.setClipToView(True)
            marks = self._marks(one.values, number)
            dots = pg.ScatterPlotItem(self._x[marks], one.values[marks], symbol=MARKERS[number % len(MARKERS)], size=7,
                                      brush=color(one.token), pen=None)
            self.box.addItem(dots, ignoreBounds=True)
            self._items += [curve, dots]
        self._ends.set_lines(self._x, self._lines)

    @staticmethod
    def _marks(values: Array, number: int) -> Array:
        """Where a line gets a marker: a few along it, and wherever a value has no neighbour that a line could join."""
        known = np.isfinite(values)
        alone = known & ~np.append(False, known[:-1]) & ~np.append(known[1:], False)
        every = max(1, values.size // MARKERS_A_LINE)
        sparse = np.zeros(values.size, bool)
        sparse[(every // 2 + number * every // 5) % every::every] = True
        return np.asarray(alone | (sparse & known))

    def _clicked(self, event: Any) -> None:
        if event.button() != Qt.MouseButton.LeftButton or not self.box.sceneBoundingRect().contains(event.scenePos()):
            return
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        x = self.box.mapSceneToView(event.scenePos()).x()
        self.index_chosen.emit(int(np.argmin(np.abs(self._x - x))))

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


def _ticks_from(origin: int, calendar: str) -> TickMaker:
    """Ticks of an axis that counts microseconds from an origin (whole numbers of that size lose nothing)."""
    def make(low: float, high: float, most: int) -> list[Tick]:
        return [(at - origin, text) for at, text in time_ticks(low + origin, high + origin, most, calendar)]
    return make


class _CurrentTime(ScreenItem):
    """The line of the current time, on whole pixels."""

    def __init__(self) -> None:
        super().__init__(z=20)
        self._x = 0.0

    def set_place(self, x: float) -> None:
        self._x = x
        self.update()

    def draw(self, painter: QPainter, screen: Screen) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(line("text", 1.2))
        x = round(screen.x(self._x)) + 0.5
        painter.drawLine(QLineF(x, screen.box.top(), x, screen.box.bottom()))


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


class _LineEnds(ScreenItem):
    """A letter after the last value of each line, pushed apart where lines end together."""

    def __init__(self) -> None:
        super().__init__(z=30)
        self._ends: list[tuple[str, str, float, float]] = []

    def set_lines(self, x: Array, lines: tuple[Line, ...]) -> None:
        self._ends = []
        for one in lines:
            known = np.flatnonzero(np.isfinite(one.values))
            if known.size:
                self._ends.append((one.letter, one.token, float(x[known[-1]]), float(one.values[known[-1]])))
        self.update()

    def draw(self, painter: QPainter, screen: Screen) -> None:
        painter.setFont(font("caption-strong"))
        placed = -1e9
        for letter, token, x, value in sorted(self._ends, key=lambda end: -end[3]):
            y = max(screen.y(value), placed + 12)
            placed = y
            at = QPointF(min(screen.x(x) + 7, screen.box.right() - 12), y)
            if screen.box.contains(QPointF(at.x(), screen.y(value))):
                painter.setPen(color(token))
                painter.drawText(QRectF(at.x(), at.y() - 8, 30, 16), Qt.AlignmentFlag.AlignVCenter, letter)
