"""Notes over a map: scale bar, read-out, explain box. Transparent for the mouse. Main thread only."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from mdstudio.app import formats, icons
from mdstudio.app.fonts import Role
from mdstudio.app.plots.paint import color, font, rounded_panel
from mdstudio.app.plots.ticks import spacing

_MARGIN = 10


@dataclass(frozen=True)
class ExplainNote:
    """What a read cost. Times in microseconds; wait, decode and draw are parts of what the person waited for."""

    title: str
    pages: int
    requests: int
    bytes_read: int
    wait_us: int = 0
    decode_us: int = 0
    draw_us: int = 0

    @property
    def cached(self) -> bool:
        return self.requests == 0 < self.pages


@dataclass(frozen=True)
class Readout:
    """What lies under the pointer."""

    place: str
    value: str
    cell: str


class MapHud(QWidget):
    """Covers the picture of a MapPlot."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._metres_a_pixel = 0.0
        self._readout: Readout | None = None
        self._explain: ExplainNote | None = None

    def set_scale(self, metres_a_pixel: float) -> None:
        """0 hides the bar (unknown, or not the same over the picture)."""
        self._metres_a_pixel = metres_a_pixel
        self.update()

    def set_readout(self, readout: Readout | None) -> None:
        self._readout = readout
        self.update()

    def set_explain(self, note: ExplainNote | None) -> None:
        self._explain = note
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        scale_right = self._paint_scale(painter)
        if self._readout is not None:
            self._paint_readout(painter, self._readout, scale_right)
        if self._explain is not None:
            self._paint_explain(painter, self._explain)
        painter.end()

    def _paint_scale(self, painter: QPainter) -> float:
        if not self._metres_a_pixel > 0:
            return 0.0
        reach = self._metres_a_pixel * min(120.0, self.width() / 4)
        metres = spacing(0.0, reach, 2)
        metres = metres * 2 if metres * 2 <= reach else metres
        pixels = metres / self._metres_a_pixel
        text = f"{formats.number(metres / 1000)} km" if metres >= 1000 else f"{formats.number(metres)} m"
        painter.setFont(font("caption-medium"))
        width = pixels + 30 + QFontMetricsF(painter.font()).horizontalAdvance(text)
        box = QRectF(_MARGIN, self.height() - _MARGIN - 24, width, 24)
        rounded_panel(painter, box, 6, 225)
        y, x = box.center().y(), box.left() + 10
        painter.setPen(QPen(color("text"), 1.3))
        painter.drawLine(QPointF(x, y), QPointF(x + pixels, y))
        painter.drawLine(QPointF(x, y - 4), QPointF(x, y + 4))
        painter.drawLine(QPointF(x + pixels, y - 4), QPointF(x + pixels, y + 4))
        place = QRectF(x + pixels + 8, box.top(), box.width(), box.height())
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, text)
        return box.right()

    def _paint_readout(self, painter: QPainter, readout: Readout, scale_right: float) -> None:
        parts: list[tuple[str, Role, str]] = [
            (readout.place, "caption", "text2"), (readout.value, "dense-strong", "text"),
            (readout.cell, "caption", "text3")]
        parts = [part for part in parts if part[0]]
        widths = [QFontMetricsF(font(role)).horizontalAdvance(text) for text, role, _ in parts]
        width = sum(widths) + 16 * (len(parts) - 1) + 22
        bottom = self.height() - _MARGIN
        if self.width() - _MARGIN - width < scale_right + 8 and scale_right:
            bottom -= 30  # no room beside the scale bar
        box = QRectF(self.width() - _MARGIN - width, bottom - 24, width, 24)
        rounded_panel(painter, box, 6, 235)
        x = box.left() + 11
        for (text, role, token), part in zip(parts, widths, strict=True):
            painter.setFont(font(role))
            painter.setPen(color(token))
            painter.drawText(QRectF(x, box.top(), part + 2, box.height()), Qt.AlignmentFlag.AlignVCenter, text)
            x += part + 16

    def _paint_explain(self, painter: QPainter, note: ExplainNote) -> None:
        kb = formats.size(note.bytes_read)
        amount, unit = kb.rsplit(formats.SPACE, 1)
        total = note.wait_us + note.decode_us + note.draw_us
        facts = [(formats.count(note.pages), "page" if note.pages == 1 else "pages"),
                 (formats.count(note.requests), "request" if note.requests == 1 else "requests"), (amount, unit)]
        if total:
            facts.append((formats.number(total / 1000, 0 if total >= 9950 else 1), "ms"))
        parts = [("wait + read", note.wait_us, "text3"), ("decode", note.decode_us, "s3"), ("draw", note.draw_us, "s2")]
        metric, small = QFontMetricsF(font("metric")), QFontMetricsF(font("caption"))
        width = max(260.0, 26 + sum(metric.horizontalAdvance(a) + small.horizontalAdvance(b) + 22 for a, b in facts))
        height = 92 if total else 62
        box = QRectF(_MARGIN, _MARGIN, min(width, self.width() - 2 * _MARGIN), height)
        rounded_panel(painter, box, 8, 245)
        icons.paint(painter, "explain", QRectF(box.left() + 12, box.top() + 9, 14, 14), color("explain"))
        painter.setFont(font("dense-strong"))
        painter.setPen(color("text"))
        title = "Explain — " + note.title + (" · from the cache" if note.cached else "")
        painter.drawText(box.adjusted(32, 6, -8, 0), Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, title)
        x, base = box.left() + 12, box.top() + 47
        for value, word in facts:
            painter.setFont(font("metric"))
            painter.setPen(color("text"))
            painter.drawText(QPointF(x, base), value)
            x += metric.horizontalAdvance(value) + 5
            painter.setFont(font("caption"))
            painter.setPen(color("text3"))
            painter.drawText(QPointF(x, base), word)
            x += small.horizontalAdvance(word) + 17
        if total:
            self._paint_parts(painter, QRectF(box.left() + 12, box.top() + 56, box.width() - 24, 7), parts, total)

    @staticmethod
    def _paint_parts(painter: QPainter, bar: QRectF, parts: list[tuple[str, int, str]], total: int) -> None:
        shown = [(name, amount, token) for name, amount, token in parts if amount > 0]
        room = bar.width() - 2 * (len(shown) - 1) - 4 * len(shown)
        painter.setFont(font("caption"))
        metrics = QFontMetricsF(painter.font())
        x, label = bar.left(), bar.left()
        for name, amount, token in shown:
            width = 4 + room * amount / total
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color(token))
            painter.drawRoundedRect(QRectF(x, bar.top(), width, bar.height()), 2, 2)
            painter.drawRoundedRect(QRectF(label, bar.bottom() + 8, 8, 8), 2, 2)
            text = f"{name} {formats.number(amount / 1000, 0 if amount >= 9950 else 1)}"
            painter.setPen(color("text2"))
            painter.drawText(QPointF(label + 12, bar.bottom() + 16), text)
            x += width + 2
            label += 26 + metrics.horizontalAdvance(text)
