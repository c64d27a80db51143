"""Series at points: letters at the line ends, gaps as gaps, the current time through it. Main thread only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPolygonF
from PySide6.QtWidgets import QWidget

from mdstudio.app.plots.axes_plot import AxesPlot
from mdstudio.app.plots.calendar_ticks import time_ticks
from mdstudio.app.plots.paint import color, font, line
from mdstudio.app.plots.screen_items import Screen, ScreenItem
from mdstudio.app.plots.ticks import Tick, TickMaker, index_ticks
from mdstudio.app.tokens import MARKERS, SERIES
from mdstudio.engine.model import Array
from mdstudio.engine.times import TimeAxis

MARKERS_A_LINE = 7
_LETTER_ROOM = 0.035  # of the width, right of the last value


@dataclass(frozen=True)
class Line:
    """One series: its letter, colour token and values, NaN where there is no data; `band` shades from a lowest to a
    highest value about it."""

    letter: str
    token: str
    values: Array
    band: tuple[Array, Array] | None = None


def letter_of(index: int) -> str:
    """A ... Z, then A2, B2, ..."""
    return chr(ord("A") + index % 26) + (str(index // 26 + 1) if index >= 26 else "")


def token_of(index: int) -> str:
    return SERIES[index % len(SERIES)]


class SeriesPlot(AxesPlot):
    """Signal `index_chosen`: the step nearest to a click."""

    index_chosen = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Series", parent)
        self._times = TimeAxis.none()
        self._x = np.zeros(1)
        self._lines: tuple[Line, ...] = ()
        self._items: list[Any] = []
        self._current = _CurrentTime()
        self._ends, self._bands = _LineEnds(), _Bands()
        for item in (self._current, self._ends, self._bands):
            self.box.addItem(item, ignoreBounds=True)
        self.view.scene().sigMouseClicked.connect(self._clicked)
        self.restyle()

    def restyle(self) -> None:
        super().restyle()
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
        self.show_values([part for one in self._lines for part in (one.values, *(one.band or ()))])

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
        self._bands.set_lines(self._x, self._lines)

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


class _Bands(ScreenItem):
    """What lies between the lowest and the highest values about a line, in each run of steps that have them; a column
    of pixels that many steps share shows the extremes of all of them."""

    def __init__(self) -> None:
        super().__init__(z=-10)
        self._x = np.zeros(0)
        self._lines: tuple[Line, ...] = ()

    def set_lines(self, x: Array, lines: tuple[Line, ...]) -> None:
        self._x, self._lines = x, tuple(one for one in lines if one.band is not None)
        self.update()

    def draw(self, painter: QPainter, screen: Screen) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x = self._x * screen.sx + screen.dx
        seen = slice(max(0, int(np.searchsorted(x, screen.box.left())) - 1),
                     int(np.searchsorted(x, screen.box.right(), "right")) + 1)
        for one in self._lines:
            assert one.band is not None
            low, high = (part[seen] for part in one.band)
            known = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
            for run in np.split(known, np.flatnonzero(np.diff(known) > 1) + 1):
                if run.size:
                    self._paint_run(painter, screen, color(one.token, 46), x[seen][run], low[run], high[run])

    @staticmethod
    def _paint_run(painter: QPainter, screen: Screen, colour: QColor, x: Array, low: Array, high: Array) -> None:
        starts = np.flatnonzero(np.diff(np.floor(x), prepend=-np.inf))
        x, low, high = x[starts], np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        bottom, top = low * screen.sy + screen.dy, high * screen.sy + screen.dy
        if x.size == 1:  # a step without neighbours: as wide as its marker
            painter.fillRect(QRectF(x[0] - 2, top[0], 4, bottom[0] - top[0]), colour)
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        there, back = np.stack([x, top], axis=1), np.stack([x, bottom], axis=1)[::-1]
        painter.drawPolygon(QPolygonF([QPointF(*at) for at in np.concatenate([there, back]).tolist()]))


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
