"""A compact choice of the time: back, the time, forward. Main thread only."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from mdstudio.app.plots.calendar_ticks import time_label
from mdstudio.app.session import DatasetSession
from mdstudio.app.widgets import Combo, IconButton
from mdstudio.engine.times import TimeAxis

MOST_LISTED = 2000  # steps in the list; of a longer axis the steps around the current one


class StepPicker(QWidget):
    """Follows the session; hidden for data with one step."""

    def __init__(self, session: DatasetSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._first = 0
        self.back, self.forward = IconButton("prev", "Step back (Left)"), IconButton("next", "Step forward (Right)")
        self.time = Combo("", "clock", "Time")
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        for widget in (self.back, self.time, self.forward):
            row.addWidget(widget)
        self.back.clicked.connect(lambda: self.step(-1))
        self.forward.clicked.connect(lambda: self.step(1))
        self.time.currentIndexChanged.connect(self._chosen)
        session.opened.connect(self._fill)
        session.selection_changed.connect(self._renew)
        self._fill()

    def step(self, by: int) -> None:
        """Another step, kept within the axis."""
        self._go(self._session.selection.time + by)

    def handle_key(self, event: QKeyEvent) -> bool:
        """Left, Right (Shift: ten steps), Home, End; False for another key."""
        by = 10 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        now = self._session.selection.time
        goal = {Qt.Key.Key_Left: now - by, Qt.Key.Key_Right: now + by, Qt.Key.Key_Home: 0,
                Qt.Key.Key_End: 1 << 60}.get(Qt.Key(event.key()))
        if goal is None:
            return False
        self._go(goal)
        return True

    def _chosen(self, row: int) -> None:
        if row >= 0:
            self._session.select(time=row + self._first)

    def _times(self) -> TimeAxis:
        dataset = self._session.dataset
        return dataset.metadata.times if dataset is not None else TimeAxis.none()

    def _go(self, index: int) -> None:
        self._session.select(time=min(max(index, 0), len(self._times()) - 1))

    def _fill(self) -> None:
        times, now = self._times(), self._session.selection.time
        self.setVisible(len(times) > 1)
        self._first = max(0, min(now - MOST_LISTED // 2, len(times) - MOST_LISTED))
        self.time.blockSignals(True)
        self.time.clear()
        stop = min(len(times), self._first + MOST_LISTED)
        self.time.addItems([time_label(times, i) for i in range(self._first, stop)])
        self.time.blockSignals(False)
        self.time.updateGeometry()
        self._renew()

    def _renew(self) -> None:
        now = self._session.selection.time
        if not self._first <= now < self._first + max(1, self.time.count()) and len(self._times()) > 1:
            self._fill()
            return
        self.time.blockSignals(True)
        self.time.setCurrentIndex(now - self._first)
        self.time.blockSignals(False)
        self.time.update()
        self.back.setEnabled(now > 0)
        self.forward.setEnabled(now < len(self._times()) - 1)
