"""Garbage is collected in the main thread alone.

Python collects in whichever thread happens to allocate; a widget that is left over is then destroyed in a worker, and
Qt stops that thread, or the process, for good.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

_PERIOD = 250  # milliseconds between two looks


class MainThreadCollector(QObject):
    """Collects as Python would, by its own thresholds, from a timer of the thread that made it: the main one.

    Python's own collector is off from then on, until `stop`.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._thresholds = gc.get_threshold()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.collect)
        self._timer.start(_PERIOD)
        gc.disable()

    def collect(self) -> None:
        """Collect the oldest generation that is due; nothing where none is."""
        due = [generation for generation, (count, most) in enumerate(zip(gc.get_count(), self._thresholds, strict=True))
               if most and count > most]
        if due and due[0] == 0:
            gc.collect(due[-1])

    def stop(self) -> None:
        """Leave it to Python again."""
        self._timer.stop()
        gc.enable()
