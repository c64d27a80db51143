"""How long a job still takes, from how fast it went lately, and how often it says so."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

WINDOW_SECONDS = 20.0
REPORT_SECONDS = 0.1


class Eta:
    """Remaining seconds of a phase; the pace is that of the last `WINDOW_SECONDS`, so a slow start is soon forgotten.

    One thread at a time. `clock` gives seconds that never go back; tests bring their own.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._marks: deque[tuple[float, int]] = deque()

    def seconds(self, done: int, total: int) -> float | None:
        """Remaining seconds after `done` of `total` units; None as long as nothing can be said."""
        now = self._clock()
        if self._marks and done < self._marks[-1][1]:  # a new phase began
            self._marks.clear()
        if not self._marks or done > self._marks[-1][1]:
            self._marks.append((now, done))
        while len(self._marks) > 2 and now - self._marks[1][0] > WINDOW_SECONDS:
            self._marks.popleft()
        first_time, first_done = self._marks[0]
        if not total or done <= first_done or now <= first_time:
            return None
        return max(0.0, (now - first_time) / (done - first_done) * (total - done))


class Throttle:
    """Lets a report through at most every `REPORT_SECONDS`, and always the first and the last of a phase.

    One thread at a time; `clock` as in `Eta`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = -REPORT_SECONDS

    def due(self, done: int, total: int) -> bool:
        """Whether `done` of `total` units is to be reported now."""
        now = self._clock()
        if 0 < done != total and now - self._last < REPORT_SECONDS:
            return False
        self._last = now
        return True
