"""The status bar: what is open and how it is, what the last read cost, the time zone."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from mdstudio.app import formats
from mdstudio.app.reading import ReadReport
from mdstudio.app.theme import Theme
from mdstudio.app.widgets import ElidedLabel, Ground, Label, VLine

HEIGHT = 26


class StatusBar(Ground):
    """One line of 26 px; everything in it is text as well."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("statusbar", parent)
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName("Status")
        self._dot = _Dot()
        self.place = ElidedLabel("Ready", "caption-medium", mode=Qt.TextElideMode.ElideMiddle)
        self.words = ElidedLabel("nothing open", "caption", "text2")
        self.reading = Label("", "caption", "text3")
        self.cost = Label("", "caption-medium", "text2")
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 0, 14, 0)
        row.setSpacing(12)
        row.addWidget(self._dot)
        row.addWidget(self.place)
        row.addWidget(self.words, 1)
        row.addWidget(self.reading)
        row.addWidget(Label("Last read", "caption-medium"))
        row.addWidget(self.cost)
        line = VLine()
        line.setFixedHeight(14)
        row.addWidget(line)
        row.addWidget(Label("UTC", "caption-medium", "text2"))
        self.cost.setText(formats.DASH)

    def set_place(self, place: str, words: str, tone: str = "ok") -> None:
        """What is open, and in which state; `tone` colours the dot, the words say the same."""
        self.place.setText(place)
        self.words.setText(words)
        self._dot.set_tone(tone)

    def set_words(self, words: str) -> None:
        self.words.setText(words)

    def set_cost(self, report: ReadReport) -> None:
        """What the last read cost; a job that does not say it changes nothing here."""
        if report.requests is None:
            return
        self.cost.setText(formats.cost(report.requests, report.bytes_read, report.seconds) if report.requests
                          else f"from the cache · {formats.duration(report.seconds)}")
        self.cost.setToolTip("Requests, bytes and time of the last read")

    def set_busy(self, channels: int) -> None:
        self.reading.setText("reading\u2026  Esc stops" if channels else "")


class _Dot(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._tone = "ok"
        self.setFixedSize(8, 8)

    def set_tone(self, tone: str) -> None:
        self._tone = tone
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(Theme.current().color(self._tone))
        painter.drawEllipse(QRectF(0.5, 0.5, 7, 7))
        painter.end()
