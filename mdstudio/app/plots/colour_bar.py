"""The colour bar: unit on top, histogram left, ticks right, an arrow at the probed value. Main thread only."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPainterPath, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from mdstudio.app import colormaps
from mdstudio.app.plots.paint import LEFT_WIDTH, color, font
from mdstudio.app.plots.ranges import Range, place_in_range
from mdstudio.app.plots.ticks import TickMaker, number_ticks
from mdstudio.app.plots.units import unit_text
from mdstudio.engine.model import Array

BAR_LEFT, BAR_WIDTH, TOP, BOTTOM = 34, 12, 26, 8
WIDTH = 96
_HISTOGRAM_STEPS = 64


class ColourBar(QWidget):
    """A vertical scale of a colour map."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: Range | None = None
        self._name = "viridis"
        self._unit = ""
        self._histogram = np.zeros(0)
        self._value: float | None = None
        self._told = False  # before the first picture nothing is known, not even that there is no data
        self._ticks: TickMaker = number_ticks
        self.setFixedWidth(WIDTH)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Colour scale")

    def set_scale(self, shown: Range | None, name: str, unit: str, counts: Array | None = None,
                  ticks: TickMaker | None = None) -> None:
        """Range, colour map, unit and the cells per 1/256 of the range; None for the range: nothing is finite."""
        self._shown, self._name, self._unit = shown, name, unit_text(unit)
        self._told = True
        steps = np.zeros(0) if counts is None or shown is None or not shown[1] > shown[0] else (
            np.asarray(counts, np.float64).reshape(_HISTOGRAM_STEPS, -1).sum(axis=1))
        self._histogram = steps / steps.max() if steps.size and steps.max() > 0 else np.zeros(0)
        self._ticks = ticks or number_ticks
        text = "no finite value" if shown is None else f"{shown[0]:g} to {shown[1]:g}"
        self.setAccessibleDescription(f"{name}, {text} {unit}".strip())
        self.update()

    def set_value(self, value: float | None) -> None:
        """Where the arrow points; None or NaN: no arrow."""
        self._value = None if value is None or np.isnan(value) else value
        self.update()

    def position(self, value: float) -> float:
        """The y of a value on the bar, its end where the value lies beyond."""
        assert self._shown is not None
        place = float(np.clip(place_in_range(np.asarray(value), self._shown), 0.0, 1.0))
        box = self._bar()
        return float(box.bottom() - place * box.height())

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, 240)

    def _bar(self) -> QRectF:
        return QRectF(BAR_LEFT, TOP, BAR_WIDTH, max(20, self.height() - TOP - BOTTOM))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = self._bar()
        painter.setFont(font("dense-medium"))
        painter.setPen(color("text2"))
        unit = painter.fontMetrics().elidedText(self._unit, Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(QRectF(0, 0, 2 * BAR_LEFT + BAR_WIDTH, TOP - 6), Qt.AlignmentFlag.AlignCenter, unit)
        if self._shown is None:
            painter.setPen(QPen(color("line2"), 1))
            painter.drawRoundedRect(box, 4, 4)
            painter.setFont(font("caption"))
            painter.setPen(color("text3"))
            painter.drawText(QRectF(box.right() + 6, TOP, 60, 16), Qt.AlignmentFlag.AlignVCenter,
                             "no data" if self._told else "")
            painter.end()
            return
        self._paint_histogram(painter, box)
        self._paint_colours(painter, box)
        self._paint_ticks(painter, box, self._shown)
        if self._value is not None:
            y = self.position(self._value)
            painter.setPen(QPen(color("text"), 1.3))
            painter.setBrush(color("surface"))
            painter.drawPolygon(QPolygonF([QPointF(box.left() - 9, y - 5), QPointF(box.left() - 1.5, y),
                                           QPointF(box.left() - 9, y + 5)]))
        painter.end()

    def _paint_histogram(self, painter: QPainter, box: QRectF) -> None:
        if not self._histogram.size:
            return
        step = box.height() / self._histogram.size
        right = box.left() - 5
        path = QPainterPath(QPointF(right, box.bottom()))
        for i, part in enumerate(self._histogram):
            path.lineTo(right - float(part) * 22, box.bottom() - (i + 0.5) * step)
        path.lineTo(right, box.top())
        path.closeSubpath()
        painter.fillPath(path, color("line2"))

    def _paint_colours(self, painter: QPainter, box: QRectF) -> None:
        column = np.ascontiguousarray(colormaps.argb(self._name)[::-1])
        image = QImage(column.tobytes(), 1, 256, 4, QImage.Format.Format_RGB32).copy()
        path = QPainterPath()
        path.addRoundedRect(box, 4, 4)
        painter.save()
        painter.setClipPath(path)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(box, image)
        painter.restore()

    def _paint_ticks(self, painter: QPainter, box: QRectF, shown: Range) -> None:
        low, high = shown
        found = self._ticks(low, high, max(2, int(box.height() / 56))) if high > low else (
            [(low, self._ticks(low, low, 1)[0][1])])
        painter.setFont(font("caption"))
        for value, text in found:
            y = self.position(value)
            painter.setPen(QPen(color("text3"), 1))
            painter.drawLine(QPointF(box.right() + 1, round(y) + 0.5), QPointF(box.right() + 5, round(y) + 0.5))
            painter.drawText(QRectF(box.right() + 8, y - 8, self.width() - box.right() - 8, 16),
                             Qt.AlignmentFlag.AlignVCenter, text)


class ColourStrip(QWidget):
    """The same scale lying down, for small maps: a bar with its ticks beneath, the unit after the last one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: Range | None = None
        self._name = "viridis"
        self._unit = ""
        self.setFixedHeight(30)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Colour scale")

    def set_scale(self, shown: Range | None, name: str, unit: str) -> None:
        self._shown, self._name, self._unit = shown, name, unit_text(unit)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._shown is None:
            return
        low, high = self._shown
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        box = QRectF(LEFT_WIDTH, 1, max(20, self.width() - LEFT_WIDTH - 12), 9)
        row = np.ascontiguousarray(colormaps.argb(self._name))
        path = QPainterPath()
        path.addRoundedRect(box, 4, 4)
        painter.save()
        painter.setClipPath(path)
        painter.drawImage(box, QImage(row.tobytes(), 256, 1, 1024, QImage.Format.Format_RGB32).copy())
        painter.restore()
        painter.setFont(font("caption"))
        painter.setPen(color("text3"))
        ticks = number_ticks(low, high, max(2, int(box.width() / 62)))
        for value, text in ticks:
            label = f"{text} {self._unit}".strip() if value == ticks[-1][0] else text
            x = box.left() + box.width() * ((value - low) / (high - low) if high > low else 0.5)
            place = QRectF(x - 60, box.bottom() + 3, 120, 15)
            overhang = place.center().x() + painter.fontMetrics().horizontalAdvance(label) / 2 - self.width()
            painter.drawText(place.translated(-max(0.0, overhang), 0), Qt.AlignmentFlag.AlignCenter, label)
        painter.end()
