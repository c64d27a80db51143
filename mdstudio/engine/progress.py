"""Progress and cancel: every long call of the engine takes a `Progress` (design 2)."""

from __future__ import annotations

import threading

from mdstudio.engine.errors import Cancelled


class Progress:
    """Silent progress that can be cancelled; views, the command line and workers override `report` and `note`.

    Thread-safe: `advance` may be called from several encode workers. Progress never goes back nor past the total.
    Long calls call `check` at least every 100 ms of work, so that a cancel takes effect within 200 ms.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self.done = 0
        self.total = 0
        self.unit = ""

    def start(self, total: int, unit: str = "slices") -> None:
        """Begin a phase of `total` units (0: unknown)."""
        with self._lock:
            self.done, self.total, self.unit = 0, max(0, total), unit
        self.report()

    def advance(self, count: int = 1) -> None:
        """Count finished units, then raise `Cancelled` if a cancel was asked."""
        with self._lock:
            self.done = self.done + count if not self.total else min(self.total, self.done + count)
        self.report()
        self.check()

    def cancel(self) -> None:
        """Ask the running call to stop; any thread."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def check(self) -> None:
        """Raise `Cancelled` if a cancel was asked."""
        if self._cancelled.is_set():
            raise Cancelled("Cancelled.")

    def report(self) -> None:
        """Called after each change of `done`; overridden by whoever shows it (any thread)."""

    def note(self, message: str) -> None:
        """A line for the log: what was dropped, retried or decided; overridden by whoever shows it."""
