"""A strip over all timesteps: bars of bytes or a line of ratios, the current time marked, a click chooses one.

Painted from at most one value a pixel, whatever the number of steps. Main thread only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from PySide6.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from mdstudio.app.formats import number
from mdstudio.app.plots.calendar_ticks import ticks_that_fit, time_label
from mdstudio.app.plots.paint import LEFT_WIDTH, color, font, hairline
from mdstudio.app.plots.ticks import number_ticks
from mdstudio.app.widgets.hatch import hatch
from mdstudio.engine.model import Array
from mdstudio.engine.times import TimeAxis

_TOP, _BOTTOM = 8, 22


class TimeStrip(QWidget):
    """Signal `index_chosen`. Steps without a value (NaN) are hatched, never drawn as 0."""

    index_chosen = Signal(int)

    def __init__(self, style: Literal["bars", "line"], describe: Callable[[int], str],
                 parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._style, self._describe = style, describe
        self._times = TimeAxis.none()
        self._values = np.zeros(0)
        self._index = 0
        self._suffix = ""
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMinimumHeight(64)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Timesteps")

    def set_values(self, times: TimeAxis, values: Array, suffix: str = "") -> None:
        """One value a step, NaN where it is unknown; `suffix` of the axis labels (line only)."""
        self._times, self._values, self._suffix = times, np.asarray(values, np.float64), suffix
        self.update()

    def set_index(self, index: int) -> None:
        self._index = index
        self.setAccessibleDescription(self._describe(index) if index < self._values.size else "")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(400, 88)

    def _area(self) -> QRectF:
        left = LEFT_WIDTH if self._style == "line" else 4
        return QRectF(left, _TOP, max(1, self.width() - left - 6), max(1, self.height() - _TOP - _BOTTOM))

    def _x(self, step: float) -> float:
        """Middle of a step."""
        area = self._area()
        return float(area.left() + (step + 0.5) * area.width() / max(1, self._values.size))

    def step_at(self, x: float) -> int:
        area = self._area()
        step = int((x - area.left()) / area.width() * self._values.size)
        return min(max(step, 0), self._values.size - 1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._values.size and event.button() == Qt.MouseButton.LeftButton:
            self.index_chosen.emit(self.step_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._values.size and self._area().contains(event.position()):
            text = self._describe(self.step_at(event.position().x()))
            QToolTip.showText(event.globalPosition().toPoint(), text, self)
        else:
            QToolTip.hideText()

    def leaveEvent(self, event: QEvent) -> None:
        QToolTip.hideText()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        if not by or not self._values.size:
            super().keyPressEvent(event)
            return
        by *= 10 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        self.index_chosen.emit(min(max(self._index + by, 0), self._values.size - 1))

    def _scale(self) -> tuple[float, float]:
        known = self._values[np.isfinite(self._values)]
        if not known.size:
            return 0.0, 1.0
        low, high = (0.0, float(known.max())) if self._style == "bars" else (float(known.min()), float(known.max()))
        if self._style == "line":
            margin = max((high - low) * 0.15, abs(high) * 0.02, 1e-9)
            low, high = max(0.0, low - margin), high + margin
        return low, high if high > low else low + 1.0

    def _columns(self, area: QRectF) -> tuple[Array, Array, Array]:
        """Left edges, widths and values (the largest of the steps that share a pixel) of what is drawn."""
        count = self._values.size
        if count <= area.width():
            edges = area.left() + np.round(np.arange(count + 1) * area.width() / count)
            return edges[:-1], np.diff(edges), self._values
        columns = int(area.width())
        starts = np.arange(columns) * count // columns
        filled = np.fmax.reduceat(self._values, starts)
        return area.left() + np.arange(columns), np.ones(columns), filled

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        area = self._area()
        low, high = self._scale()
        self._paint_grid(painter, area, low, high)
        if self._values.size:
            if self._style == "bars":
                self._paint_bars(painter, area, high)
            else:
                self._paint_line(painter, area, low, high)
            self._paint_current(painter, area, low, high)
        if self.hasFocus():
            painter.setPen(QPen(color("accent"), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)
        painter.end()

    def _paint_grid(self, painter: QPainter, area: QRectF, low: float, high: float) -> None:
        painter.setFont(font("caption"))
        if self._style == "line" and self._values.size:
            for value, text in number_ticks(low, high, max(2, int(area.height() / 24))):
                y = round(area.bottom() - (value - low) / (high - low) * area.height()) + 0.5
                painter.setPen(hairline("line"))
                painter.drawLine(QLineF(area.left(), y, area.right(), y))
                painter.setPen(color("text3"))
                painter.drawText(QRectF(0, y - 9, LEFT_WIDTH - 8, 18),
                                 Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text + self._suffix)
        painter.setPen(hairline("line2"))
        base = round(area.bottom()) + 0.5
        painter.drawLine(QLineF(area.left(), base, area.right(), base))
        for place, text in ticks_that_fit(self._times, self._x, painter.fontMetrics().horizontalAdvance,
                                          self.width() - 4):
            x = round(place) + 0.5
            painter.setPen(hairline("line2"))
            painter.drawLine(QLineF(x, base, x, base + 4))
            painter.setPen(color("text3"))
            painter.drawText(QPointF(x + 4, base + 14), text)

    def _paint_bars(self, painter: QPainter, area: QRectF, high: float) -> None:
        fill, missing = color("accent", 165), hatch("diagonal", color("bad-fill"), self.devicePixelRatioF())
        for left, width, value in zip(*self._columns(area), strict=True):
            if np.isnan(value):
                painter.fillRect(QRectF(left, area.top(), max(1.0, width), area.height()), missing)
                continue
            top = round(area.bottom() - area.height() * value / high)
            parted = 1 if width >= 6 else 0
            painter.fillRect(QRectF(left, top, max(1.0, width - parted), round(area.bottom()) - top), fill)

    def _paint_line(self, painter: QPainter, area: QRectF, low: float, high: float) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        lefts, widths, values = self._columns(area)
        xs = lefts + widths / 2
        ys = area.bottom() - (values - low) / (high - low) * area.height()
        known = np.isfinite(values)
        painter.setPen(QPen(color("accent"), 1.5))
        for part in np.split(np.arange(values.size), np.flatnonzero(np.diff(known.astype(np.int8))) + 1):
            if not known[part[0]]:
                continue
            points = [QPointF(xs[i], ys[i]) for i in part]
            if len(points) == 1:
                painter.drawLine(QPointF(xs[part[0]] - 2, ys[part[0]]), QPointF(xs[part[0]] + 2, ys[part[0]]))
            else:
                painter.drawPolyline(QPolygonF(points))

    def _paint_current(self, painter: QPainter, area: QRectF, low: float, high: float) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x = round(self._x(self._index)) + 0.5
        painter.setPen(QPen(color("text"), 1.2))
        painter.drawLine(QPointF(x, area.top() - 4), QPointF(x, area.bottom()))
        value = self._values[self._index] if self._index < self._values.size else np.nan
        if self._style == "line" and np.isfinite(value):
            painter.setBrush(color("surface"))
            painter.drawEllipse(QPointF(x, area.bottom() - (value - low) / (high - low) * area.height()), 3.6, 3.6)
        elif self._style == "bars":
            painter.setBrush(color("text"))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.drawPolygon(QPolygonF([QPointF(x - 4, area.top() - 7), QPointF(x + 4, area.top() - 7),
                                           QPointF(x, area.top() - 1)]))


def describe_step(times: TimeAxis, index: int, text: str) -> str:
    """A tip of a step: its time and what it holds."""
    return text if times.static else f"{time_label(times, index)}: {text}"


def percent(value: float) -> str:
    return "not known" if np.isnan(value) else f"{number(value, 1)} %"
