"""What a query did, counted while it runs: for its explain record."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from mdstudio.engine.progress import Progress
from mdstudio.engine.reading.again import Sleep
from mdstudio.engine.reading.threads import DECODERS
from mdstudio.engine.requests import Explain, PageRef
from mdstudio.engine.storage import BlobStorage, CountingStorage

MOST_PAGES = 1 << 16  # that are named one by one; all are counted
_processors = threading.BoundedSemaphore(DECODERS)


class Tally:
    """The storage of one query, counting, with the pages it touched and the time spent decoding. Thread-safe."""

    def __init__(self, storage: BlobStorage, progress: Progress | None, sleep: Sleep) -> None:
        self.storage = CountingStorage(storage)
        self.sleep = sleep
        self._progress = progress
        self._lock = threading.Lock()
        self._pages: list[PageRef] = []
        self._touched = self._decoded = 0
        self._started = False
        self._decode_ns = 0

    def start(self, total: int, unit: str) -> None:
        """Begin to count what the caller waits for; of a query in several parts the first call says how much in all."""
        if self._progress is not None and not self._started:
            self._progress.start(total, unit)
        self._started = True

    def advance(self) -> None:
        """Count one unit of it."""
        if self._progress is not None:
            self._progress.advance()

    def check(self) -> None:
        """Raise `Cancelled` if the query was cancelled."""
        if self._progress is not None:
            self._progress.check()

    @contextmanager
    def decoding(self) -> Iterator[None]:
        """Time what is done inside as decoding, when a processor is free for it: more threads only get in their way."""
        with _processors:
            started = time.perf_counter_ns()
            try:
                yield
            finally:
                spent = time.perf_counter_ns() - started
                with self._lock:
                    self._decode_ns += spent

    def pages(self, refs: list[PageRef]) -> None:
        """Count pages that were touched, and decoded where they have a length."""
        with self._lock:
            self._pages.extend(refs[:MOST_PAGES - len(self._pages)])
            self._touched += len(refs)
            self._decoded += sum(1 for ref in refs if ref.length)

    def explain(self) -> Explain:
        """The record so far."""
        counts = self.storage.snapshot()
        with self._lock:
            return Explain(
                self._touched, self._decoded, counts.requests, counts.bytes_read, counts.wait_ns // 1000,
                self._decode_ns // 1000, tuple(self._pages))
