"""A small histogram in the colours of the map that it belongs to. Main thread only."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from mdstudio.app import colormaps
from mdstudio.app.plots.paint import color, font, hairline
from mdstudio.app.plots.ranges import Range, place_in_range
from mdstudio.app.plots.ticks import number_ticks
from mdstudio.engine.model import Array

BARS = 32


class HistogramPlot(QWidget):
    """Bars over the exact range of some cells; each bar has the colour that the map gives its values."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._range: Range | None = None
        self._counts = np.zeros(0)
        self._shown: Range | None = None
        self._name = "viridis"
        self.setFixedHeight(72)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Histogram")

    def set_counts(self, counts: Array, held: Range | None, shown: Range | None, name: str) -> None:
        """(256,) counts over `held`, the range of the cells; `shown` and `name` are the map's."""
        self._range, self._shown, self._name = held, shown, name
        self._counts = np.asarray(counts, np.float64).reshape(BARS, -1).sum(axis=1)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(220, 72)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        base = self.height() - 18
        painter.setPen(hairline("line2"))
        painter.drawLine(0, base, self.width(), base)
        if self._range is not None and self._counts.size and self._counts.max() > 0:
            self._paint_bars(painter, base, self._range)
        painter.end()

    def _paint_bars(self, painter: QPainter, base: int, held: Range) -> None:
        low, high = held
        table = colormaps.argb(self._name)
        edges = np.round(np.linspace(0, self.width(), BARS + 1))
        for i, part in enumerate(self._counts / self._counts.max()):
            middle = low + (high - low) * (i + 0.5) / BARS
            place = place_in_range(np.asarray(middle), self._shown) if self._shown is not None else 0.5
            colour = QColor.fromRgb(int(table[int(np.clip(place, 0.0, 0.999) * 256)]))
            height = max(1.0, round(part * (base - 4))) if part > 0 else 0.0
            painter.fillRect(QRectF(edges[i], base - height, edges[i + 1] - edges[i] - 1, height), colour)
        painter.setFont(font("caption"))
        painter.setPen(color("text3"))
        ticks = number_ticks(low, high, max(2, self.width() // 70))
        for value, text in ticks:
            x = self.width() * ((value - low) / (high - low) if high > low else 0.5)
            box = QRectF(x - 40, base + 2, 80, 16)
            box.moveLeft(min(max(box.left(), -28.0), self.width() - 52.0))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
