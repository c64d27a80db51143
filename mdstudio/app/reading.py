"""Reading without blocking: a view submits a job on a channel, the newest job of a channel wins, its answer comes back
on the main thread (design 3, G10).

A job is a function of a `Progress`; it runs in a worker thread and touches no Qt object. Worker threads reach the main
thread in one way only: they put a message into a queue and emit `_Bridge.wake`.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import shiboken6
from PySide6.QtCore import QObject, Qt, Signal, Slot

from mdstudio.engine.errors import Cancelled, MdError
from mdstudio.engine.progress import Progress

THREADS = 6  # some may wait for a slow service while others answer
_REPORT_SECONDS = 0.04

OnDone = Callable[[Any], None]
OnError = Callable[[MdError], None]
OnProgress = Callable[[int, int, str], None]


class UnexpectedError(MdError):
    """A bug of ours that a job ran into: the window goes on, `details` is the traceback for a report."""

    code = "MD-E099"

    def __init__(self, message: str, *, where: str = "", advice: str = "", details: str = "") -> None:
        super().__init__(message, where=where, advice=advice)
        self.details = details


@dataclass(frozen=True, slots=True)
class ReadReport:
    """What the last finished read cost; `requests` is None where the job does not say, 0 for one from the cache."""

    channel: str
    requests: int | None
    bytes_read: int
    seconds: float


@dataclass(eq=False)
class _Task:
    channel: str
    job: Callable[[Progress], Any]
    on_done: OnDone
    on_error: OnError | None
    on_progress: OnProgress | None
    progress: _TaskProgress = field(init=False)


class _Bridge(QObject):
    wake = Signal()


class _TaskProgress(Progress):
    """Reports to the main thread, at most 25 times a second; the latest numbers win."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__()
        self._tell = tell
        self._told = 0.0

    def report(self) -> None:
        now = time.monotonic()
        if now - self._told >= _REPORT_SECONDS or (self.total and self.done == self.total):
            self._told = now
            self._tell()


class Reader(QObject):
    """Runs jobs in a few threads; main thread only, but for what a job itself does.

    Signals:
        read: a `ReadReport` after each finished job.
        busy_changed: number of channels that wait for an answer.
        progressed: channel, done, total (0: unknown).
    """

    read = Signal(object)
    busy_changed = Signal(int)
    progressed = Signal(str, int, int)

    def __init__(self, parent: QObject | None = None, threads: int = THREADS) -> None:
        super().__init__(parent)
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._messages: queue.SimpleQueue[tuple[_Task, str, Any, float]] = queue.SimpleQueue()
        self._newest: dict[str, _Task] = {}
        self._threads: list[threading.Thread] = []
        self._limit = threads
        self._closed = False
        self._bridge = _Bridge()
        self._bridge.wake.connect(self._drain, Qt.ConnectionType.QueuedConnection)

    def submit(self, channel: str, job: Callable[[Progress], Any], on_done: OnDone, on_error: OnError | None = None,
               on_progress: OnProgress | None = None) -> None:
        """Run `job` on a worker thread. A newer submit on the same channel cancels and silences this one.

        `on_done(result)` or `on_error(MdError)` comes once, later, on the main thread; neither comes when a newer job
        took the channel, when the object of the callback is gone (known of bound methods only), or after `close`.
        A bug in the job arrives as an `UnexpectedError`.
        """
        if self._closed:
            return
        task = _Task(channel, job, on_done, on_error, on_progress)
        task.progress = _TaskProgress(lambda: self._post(task, "progress", None, 0.0))
        older = self._newest.get(channel)
        if older is not None:
            older.progress.cancel()
        self._newest[channel] = task
        self._tasks.put(task)
        if len(self._threads) < self._limit:
            self._start_thread()
        self.busy_changed.emit(len(self._newest))

    def cancel(self, channel: str) -> None:
        """Stop what runs on a channel and tell its `on_error` `Cancelled`, at once; nothing if the channel rests."""
        task = self._newest.pop(channel, None)
        if task is None:
            return
        task.progress.cancel()
        self.busy_changed.emit(len(self._newest))
        self._call(task.on_error, Cancelled("Cancelled."))

    def cancel_all(self, prefix: str = "") -> bool:
        """Cancel every channel that starts with `prefix`; whether there was any."""
        channels = [channel for channel in self._newest if channel.startswith(prefix)]
        for channel in channels:
            self.cancel(channel)
        return bool(channels)

    def busy(self, channel: str = "") -> bool:
        """Whether a channel, or any where none is named, waits for an answer."""
        return channel in self._newest if channel else bool(self._newest)

    def close(self, timeout: float = 2.0) -> bool:
        """Cancel everything, end the threads; False when a job held its thread beyond `timeout` seconds.

        Such a thread is a daemon: it never keeps the process, and its answer is dropped.
        """
        self._closed = True
        for task in self._newest.values():
            task.progress.cancel()
        self._newest.clear()
        with contextlib.suppress(queue.Empty):
            while True:
                self._tasks.get_nowait()
        for _ in self._threads:
            self._tasks.put(None)
        until = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        left = [thread for thread in self._threads if thread.is_alive()]
        self._threads = left
        return not left

    def _start_thread(self) -> None:
        thread = threading.Thread(target=_serve, args=(self._tasks, self._post), daemon=True,
                                  name=f"reader-{len(self._threads)}")
        self._threads.append(thread)
        thread.start()

    def _post(self, task: _Task, kind: str, value: Any, seconds: float) -> None:
        """From any thread: leave a message for the main thread."""
        if self._closed:
            return
        self._messages.put((task, kind, value, seconds))
        with contextlib.suppress(RuntimeError):  # the bridge went with the application
            self._bridge.wake.emit()

    @Slot()
    def _drain(self) -> None:
        with contextlib.suppress(queue.Empty):
            while not self._closed:
                self._deliver(*self._messages.get_nowait())

    def _deliver(self, task: _Task, kind: str, value: Any, seconds: float) -> None:
        if self._newest.get(task.channel) is not task:
            return  # stale: a newer job has the channel, or it was cancelled
        if kind == "progress":
            progress = task.progress
            self.progressed.emit(task.channel, progress.done, progress.total)
            self._call(task.on_progress, progress.done, progress.total, progress.unit)
            return
        del self._newest[task.channel]
        self.busy_changed.emit(len(self._newest))
        if kind == "done":
            self.read.emit(_report(task.channel, value, seconds))
            self._call(task.on_done, value)
        else:
            self._call(task.on_error, value)

    @staticmethod
    def _call(callback: Callable[..., None] | None, *values: Any) -> None:
        owner = getattr(callback, "__self__", None)
        if callback is None or (isinstance(owner, QObject) and not shiboken6.isValid(owner)):
            return
        callback(*values)


def _serve(tasks: queue.SimpleQueue[_Task | None], post: Callable[[_Task, str, Any, float], None]) -> None:
    """A worker thread: run tasks until told to end."""
    while (task := tasks.get()) is not None:
        if task.progress.cancelled:
            continue
        started = time.perf_counter()
        try:
            result = task.job(task.progress)
        except MdError as error:
            post(task, "error", error, 0.0)
        except Exception as error:
            post(task, "error", unexpected(error), 0.0)
        else:
            post(task, "done", result, time.perf_counter() - started)
        del task


def unexpected(error: BaseException) -> UnexpectedError:
    """A bug of ours as an error that a view can show, traceback included for the report."""
    details = "".join(traceback.format_exception(error))
    said = str(error).splitlines()
    text = f"{type(error).__name__}: {said[0]}" if said else type(error).__name__
    return UnexpectedError(f"This is a fault in MD Studio, not in the data ({text}).",
                           advice="Copy the details into a report.", details=details)


def _report(channel: str, result: Any, seconds: float) -> ReadReport:
    """What a result says about its own cost: its `explain`, or its own `requests` and `bytes_read`."""
    said = getattr(result, "explain", result)
    return ReadReport(channel, getattr(said, "requests", None), getattr(said, "bytes_read", 0), seconds)
