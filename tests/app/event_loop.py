"""How long the event loop was held: a timer that should tick every few milliseconds, and who held it else."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from dataclasses import dataclass, field

from PySide6.QtCore import QElapsedTimer, QObject, Qt, QTimer

TICK_MS = 2
ASK_AFTER = 0.06  # seconds without a tick before the main thread is asked what it does


@dataclass
class Gap:
    """A time without a tick: `wall_ms` as a person waits, `cpu_ms` what the main thread itself worked in it."""

    wall_ms: float
    cpu_ms: float
    stack: list[str] = field(default_factory=list)


class Stopwatch(QObject):
    """Measures until `stop`; `gaps` are those above 20 ms, the worst first after `stop`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.gaps: list[Gap] = []
        self._clock = QElapsedTimer()
        self._cpu = time.thread_time()
        self._last = time.monotonic()
        self._stack: list[str] = []
        self._main, self._ended = threading.get_ident(), threading.Event()
        self._timer = QTimer(self, timerType=Qt.TimerType.PreciseTimer, interval=TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._clock.start()
        self._timer.start()
        self._witness = threading.Thread(target=self._watch, name="witness", daemon=True)
        self._witness.start()

    def stop(self) -> None:
        self._timer.stop()
        self._ended.set()
        self._witness.join()
        self.gaps.sort(key=lambda gap: -gap.wall_ms)

    def report(self, count: int = 5) -> str:
        """The worst gaps as text, and where the main thread was in them."""
        lines = [f"event loop: worst gap {self.worst():.0f} ms, {sum(g.wall_ms > 50 for g in self.gaps)} above 50 ms, "
                 f"{sum(g.wall_ms > 100 for g in self.gaps)} above 100 ms"]
        for gap in self.gaps[:count]:
            lines.append(f"  {gap.wall_ms:.0f} ms (main thread worked {gap.cpu_ms:.0f} ms)")
            lines += [f"      {line}" for line in gap.stack]
        return "\n".join(lines)

    def worst(self) -> float:
        return max((gap.wall_ms for gap in self.gaps), default=0.0)

    def _tick(self) -> None:
        wall, cpu = self._clock.nsecsElapsed() / 1e6, time.thread_time()
        self._clock.restart()
        if wall > 20:
            self.gaps.append(Gap(wall, 1000 * (cpu - self._cpu), self._stack))
        self._cpu, self._last, self._stack = cpu, time.monotonic(), []

    def _watch(self) -> None:
        while not self._ended.wait(0.01):
            if time.monotonic() - self._last > ASK_AFTER and not self._stack:
                frame = sys._current_frames().get(self._main)
                ours = [f for f in traceback.extract_stack(frame) if "mdstudio" in f.filename or "tests" in f.filename]
                self._stack = [f"{f.filename.rsplit('/', 3)[-1]}:{f.lineno} {f.name}" for f in ours[-6:]]
