"""The time bar: a slider that snaps to steps, calendar labels, step buttons, play with a speed. Main thread only."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QSlider, QWidget

from mdstudio.app import formats
from mdstudio.app.plots.calendar_ticks import ticks_that_fit, time_label
from mdstudio.app.plots.paint import color, font
from mdstudio.app.widgets.base import Label
from mdstudio.app.widgets.buttons import Button, IconButton
from mdstudio.app.widgets.combo import Combo
from mdstudio.engine.times import TimeAxis

SPEEDS = (1, 2, 4, 8, 16, 30)
_EDGE, _TRACK_Y = 9, 11


class TimeSlider(QSlider):
    """A QSlider painted as in the mock-ups; a click jumps to the step under it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._labels: list[tuple[float, str]] = []
        self._times = TimeAxis.none()
        self.setPageStep(10)
        self.setFixedHeight(38)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName("Time")

    def set_times(self, times: TimeAxis) -> None:
        self._times = times
        self.setRange(0, max(0, len(times) - 1))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(260, 38)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 38)

    def _x(self, step: float) -> float:
        return _EDGE + (self.width() - 2 * _EDGE) * step / max(1, self.maximum())

    def _step_at(self, x: float) -> int:
        width = max(1, self.width() - 2 * _EDGE)
        return round(min(max((x - _EDGE) / width, 0.0), 1.0) * self.maximum())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self.setValue(self._step_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.isSliderDown():
            self.setValue(self._step_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.setSliderDown(False)

    def tick_labels(self) -> list[tuple[float, str]]:
        """(x in pixels, text) of the calendar labels that fit."""
        metrics = QFontMetrics(font("caption"))
        return ticks_that_fit(self._times, self._x, metrics.horizontalAdvance, self.width() - 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        at = self._x(self.value())
        painter.setBrush(color("line"))
        painter.drawRoundedRect(QRectF(_EDGE - 3, _TRACK_Y - 2.5, self.width() - 2 * _EDGE + 6, 5), 2.5, 2.5)
        painter.setBrush(color("accent"))
        painter.drawRoundedRect(QRectF(_EDGE - 3, _TRACK_Y - 2.5, at - _EDGE + 3, 5), 2.5, 2.5)
        painter.setFont(font("caption"))
        for x, text in self.tick_labels():
            painter.setPen(QPen(color("line2"), 1))
            painter.drawLine(QPointF(round(x) + 0.5, _TRACK_Y + 8), QPointF(round(x) + 0.5, _TRACK_Y + 12))
            painter.setPen(color("text3"))
            painter.drawText(QPointF(x + 3, _TRACK_Y + 22), text)
        painter.setPen(QPen(color("accent" if self.isEnabled() else "line2"), 2))
        painter.setBrush(color("surface"))
        painter.drawEllipse(QPointF(at, _TRACK_Y), 7.0, 7.0)
        if self.hasFocus():
            painter.setPen(QPen(color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 4, 4)
        painter.end()


class TimeBar(QWidget):
    """Signal `index_changed`: the step that a person or the player chose.

    The player asks for the next step only after `ready` was called for the last one: a slow store makes it slow, never
    skips and never piles up reads.
    """

    index_changed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times = TimeAxis.none()
        self._waiting = False
        self.previous = IconButton("prev", "Step back (Left)")
        self.play = Button("", "play", "primary", tip="Play (Space)")
        self.play.setAccessibleName("Play")
        self.play.setCheckable(True)
        self.play.setFixedWidth(30)
        self.next = IconButton("next", "Step forward (Right)")
        self.label = Label("", "body-strong")
        self.count = Label("", "dense", "text3")
        self.slider = TimeSlider()
        self.speed = Combo(name="Speed of play", dense=True)
        for speed in SPEEDS:
            self.speed.addItem(f"{speed} {'step' if speed == 1 else 'steps'}/s", speed)
        self.speed.setCurrentIndex(SPEEDS.index(8))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        for widget in (self.previous, self.play, self.next, self.label, self.count):
            row.addWidget(widget)
        row.addWidget(self.slider, 1)
        row.addWidget(self.speed)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._tick)
        self.slider.valueChanged.connect(self._changed)
        self.previous.clicked.connect(lambda: self.step(-1))
        self.next.clicked.connect(lambda: self.step(1))
        self.play.toggled.connect(self._play)
        self.speed.currentIndexChanged.connect(lambda _: self._timer.setInterval(self._interval()))
        self.set_times(self._times)

    def set_times(self, times: TimeAxis) -> None:
        self._times = times
        self.play.setChecked(False)
        self.slider.blockSignals(True)
        self.slider.set_times(times)
        self.slider.blockSignals(False)
        single = len(times) < 2
        for widget in (self.previous, self.play, self.next, self.slider, self.speed, self.count):
            widget.setVisible(not single)
        widest = max((QFontMetrics(self.label.font()).horizontalAdvance(time_label(times, i))
                      for i in {0, len(times) // 2, len(times) - 1}), default=0)
        self.label.setMinimumWidth(widest + 6)
        self.count.setMinimumWidth(QFontMetrics(self.count.font()).horizontalAdvance(self._count(len(times))) + 2)
        self._renew()

    @property
    def index(self) -> int:
        return self.slider.value()

    def set_index(self, index: int) -> None:
        """Show a step without telling."""
        self.slider.blockSignals(True)
        self.slider.setValue(index)
        self.slider.blockSignals(False)
        self._renew()

    def step(self, by: int) -> None:
        self.slider.setValue(min(max(self.index + by, 0), self.slider.maximum()))

    def ready(self) -> None:
        """The step that was asked for is on the screen."""
        self._waiting = False

    @property
    def playing(self) -> bool:
        return self.play.isChecked()

    def handle_key(self, event: QKeyEvent) -> bool:
        """Space, Home, End and (with Ctrl, or where the focus is not in a map) the arrows; False for another key."""
        by = 10 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        match event.key():
            case Qt.Key.Key_Space:
                self.play.toggle()
            case Qt.Key.Key_Left:
                self.step(-by)
            case Qt.Key.Key_Right:
                self.step(by)
            case Qt.Key.Key_Home:
                self.slider.setValue(0)
            case Qt.Key.Key_End:
                self.slider.setValue(self.slider.maximum())
            case _:
                return False
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self.handle_key(event):
            super().keyPressEvent(event)

    def hideEvent(self, event: QEvent) -> None:
        self.play.setChecked(False)
        super().hideEvent(event)  # type: ignore[arg-type]

    def _interval(self) -> int:
        return round(1000 / int(self.speed.currentData()))

    def _play(self, on: bool) -> None:
        self.play.set_icon("pause" if on else "play")
        self._waiting = False
        if on:
            self._timer.start(self._interval())
        else:
            self._timer.stop()

    def _tick(self) -> None:
        if not self._waiting:
            self._waiting = True
            self.slider.setValue(0 if self.index >= self.slider.maximum() else self.index + 1)

    def _changed(self, index: int) -> None:
        self._renew()
        self.index_changed.emit(index)

    def _count(self, number: int) -> str:
        return f"{formats.count(number)} / {formats.count(len(self._times))}"

    def _renew(self) -> None:
        text = time_label(self._times, self.index)
        self.label.setText(text)
        self.count.setText(self._count(self.index + 1))
        self.slider.setAccessibleDescription(text)
