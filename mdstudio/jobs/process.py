"""A job in a worker process of its own: progress, log, cancel, and a reason for every end (design 3; G7).

The worker is spawned, so a reader that crashes or leaks never touches the window. One thread in this process drains
the worker's pipe and reaps it: the worker never waits for a slow listener, and no zombie is left behind. If this
process dies, the worker sees the pipe close and ends: an import at once, as if killed, so that a resumed job goes on by
its journal; another function by a cancel.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Literal

from mdstudio.engine.errors import Cancelled, MdError, WorkerError
from mdstudio.engine.progress import Progress
from mdstudio.jobs.eta import Eta, Throttle
from mdstudio.jobs.recipe import Recipe

Run = Callable[[Recipe, Progress], dict[str, Any]]
State = Literal["ready", "running", "cancelling", "done", "failed", "cancelled"]

GRACE_SECONDS = 5.0  # from a cancel to the kill of a worker that does not heed it
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something that a job said.

    Attributes:
        kind: "progress" (done, total, unit, eta), "log" (line), and exactly one last "done" (summary) or "failed"
            (code, message, exit_status).
        total: 0 where unknown.
        eta: remaining seconds, None where unknown.
        code: of the error class; "MD-E003" for a cancelled job, "MD-E070" for a worker that crashed or was killed.
    """

    kind: Literal["progress", "log", "done", "failed"]
    done: int = 0
    total: int = 0
    unit: str = ""
    eta: float | None = None
    line: str = ""
    summary: Mapping[str, Any] | None = None
    code: str = ""
    message: str = ""
    exit_status: int = 0


_CANCELLED = JobEvent("failed", code=Cancelled.code, message="Cancelled.", exit_status=Cancelled.exit_status)


class JobProcess:
    """One run of a recipe in a worker process. Every method may be called from any thread and returns at once."""

    def __init__(self, recipe: Recipe, run: Run | None = None, grace: float = GRACE_SECONDS) -> None:
        """`run` is a function of a module (it is imported again in the worker); None runs the recipe's import."""
        self.recipe = recipe
        self._run = run
        self._grace = grace
        self._events: deque[JobEvent] = deque()
        self._lock = threading.Lock()
        self._state: State = "ready"
        self._kill_at: float | None = None
        self._ended = threading.Event()
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    @property
    def state(self) -> State:
        return self._state

    @property
    def pid(self) -> int | None:
        """The worker's process id; None before `start`."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Spawn the worker (some milliseconds; it imports on its own time)."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, self.recipe, self._run), daemon=True)
        self._state = "running"
        self._process.start()
        theirs.close()
        threading.Thread(target=self._watch, name=f"job-{self._process.pid}", daemon=True).start()

    def events(self) -> list[JobEvent]:
        """What happened since the last call, oldest first."""
        events: list[JobEvent] = []
        with contextlib.suppress(IndexError):
            while True:
                events.append(self._events.popleft())
        return events

    def cancel(self) -> None:
        """Ask the worker to stop and take back what it wrote; it is killed when it does not within the grace."""
        with self._lock:
            if self._state == "ready":
                self._finish("cancelled", _CANCELLED)
            if self._state != "running" or self._pipe is None:
                return
            self._state = "cancelling"
            self._kill_at = time.monotonic() + self._grace
            with contextlib.suppress(OSError):  # it ended a moment ago; the watcher tells
                self._pipe.send("cancel")

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the job has ended and its worker is reaped; False when the timeout passed first."""
        return self._ended.wait(timeout)

    def _watch(self) -> None:
        """Drain the pipe until the worker ends, kill it when it must, reap it, say how it ended."""
        assert self._pipe is not None
        assert self._process is not None
        last: JobEvent | None = None
        with contextlib.suppress(EOFError, OSError):
            while True:
                if self._kill_at is not None and time.monotonic() > self._kill_at:
                    self._process.kill()
                if not self._pipe.poll(_POLL_SECONDS):
                    continue
                event = self._pipe.recv()
                if event.kind in ("done", "failed"):
                    last = event
                    self._kill_at = self._kill_at or time.monotonic() + self._grace  # a worker that cannot even exit
                else:
                    self._events.append(event)
        self._process.join()
        code = self._process.exitcode
        self._process.close()
        self._pipe.close()
        with self._lock:
            if last is None:
                last = self._ended_without_word(code)
            state: State = "cancelled" if last.code == Cancelled.code else last.kind  # type: ignore[assignment]
            self._finish(state, last)

    def _ended_without_word(self, exit_code: int | None) -> JobEvent:
        if self._state == "cancelling":
            self._events.append(JobEvent("log", line="The worker did not heed the cancel and was killed; "
                                                     "what it wrote is no dataset, and a new run goes on from there."))
            return _CANCELLED
        return JobEvent("failed", code=WorkerError.code, message=crash_reason(exit_code),
                        exit_status=WorkerError.exit_status)

    def _finish(self, state: State, event: JobEvent) -> None:
        self._events.append(event)
        self._state = state
        self._ended.set()


def crash_reason(exit_code: int | None) -> str:
    """Why a worker ended without a word, for a person: the signal's name or the exit status."""
    again = "Nothing it wrote is a dataset; run the job again."
    if exit_code is None:
        return f"The worker process was lost. {again}"
    if exit_code >= 0:
        status = f"{exit_code}" if exit_code < 256 else f"{exit_code} (0x{exit_code & 0xFFFFFFFF:08X})"
        return f"The worker process ended with exit status {status} and said nothing. {again}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    why = " (often: the system ran out of memory)" if name == "SIGKILL" else ""
    return f"The worker process was ended by {name}{why}. {again}"


class _PipeProgress(Progress):
    """Progress that goes through the pipe, at most every tenth of a second."""

    def __init__(self, pipe: Connection, resumable: bool) -> None:
        super().__init__()
        self._pipe = pipe
        self._resumable = resumable
        self._send_lock = threading.Lock()
        self._throttle, self._eta = Throttle(), Eta()

    def report(self) -> None:
        with self._send_lock:
            done, total, unit = self.done, self.total, self.unit
            eta = self._eta.seconds(done, total)
            if self._throttle.due(done, total):
                self._send(JobEvent("progress", done, total, unit, eta))

    def note(self, message: str) -> None:
        with self._send_lock:
            self._send(JobEvent("log", line=message))

    def end(self, event: JobEvent) -> None:
        with self._send_lock:
            self._send(event)

    def _send(self, event: JobEvent) -> None:
        try:
            self._pipe.send(event)
        except OSError:
            self.lost()

    def lost(self) -> None:
        """Nobody listens any more: the parent died."""
        if self._resumable:
            os._exit(1)
        self.cancel()


def _work(pipe: Connection, recipe: Recipe, run: Run | None) -> None:
    """The worker's main: run the recipe, send events, end with status 0 whatever happened."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides what it means
    progress = _PipeProgress(pipe, resumable=run is None)
    threading.Thread(target=_obey, args=(pipe, progress), daemon=True).start()
    progress.end(_outcome(recipe, run, progress))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # no library's exit handler may hang or crash a job that has ended


def _outcome(recipe: Recipe, run: Run | None, progress: _PipeProgress) -> JobEvent:
    try:
        from mdstudio.jobs.run import run_recipe

        return JobEvent("done", summary=(run or run_recipe)(recipe, progress))
    except MdError as error:
        return JobEvent("failed", code=error.code, message=str(error), exit_status=error.exit_status)
    except MemoryError:
        return JobEvent("failed", code=MdError.code, message="There was not enough memory.", exit_status=1)
    except Exception as error:  # a bug of ours: the log says where
        for line in traceback.format_exc().splitlines():
            progress.note(line)
        return JobEvent("failed", code=MdError.code, message=f"Internal error: {error!r}", exit_status=1)


def _obey(pipe: Connection, progress: _PipeProgress) -> None:
    """Wait for the word to cancel; a closed pipe means that the parent is gone."""
    try:
        pipe.recv()
    except (EOFError, OSError):
        progress.lost()
    progress.cancel()
