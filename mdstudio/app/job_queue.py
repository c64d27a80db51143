"""The queue of jobs: a few run at once in worker processes, never two on one target dataset (design 3, G7).

Main thread only. The workers' events are polled by a timer; a job that waits has no process yet. The queue of the
application is kept on the disk (`keep`): what a crash ended is there at the next start, as interrupted.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QObject, QTimer, Signal

from mdstudio.app.session import short_name
from mdstudio.engine.errors import MdError

if TYPE_CHECKING:
    from mdstudio.jobs.process import JobEvent, JobProcess, Run
    from mdstudio.jobs.queue_store import QueueStore
    from mdstudio.jobs.recipe import Recipe

POLL_MS = 150

JobState = Literal["waiting", "running", "cancelling", "done", "failed", "cancelled", "interrupted"]
LIVE: tuple[JobState, ...] = ("waiting", "running", "cancelling")


@dataclass(eq=False)
class Job:
    """One job of the window.

    Attributes:
        what: the verb: "Import".
        run: the function that the worker calls; None runs the recipe's import.
        done, total, unit: progress; total 0 while it is not known.
        eta: remaining seconds, None where unknown.
        log: what the worker said, a line each.
        summary: of a job that is done; `message` of one that failed.
        key: of the job in the store on the disk, "" where it is not kept.
    """

    recipe: Recipe
    what: str = "Import"
    run: Run | None = field(default=None, repr=False)
    state: JobState = "waiting"
    done: int = 0
    total: int = 0
    unit: str = ""
    eta: float | None = None
    log: list[str] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    code: str = ""
    message: str = ""
    started: float = 0.0
    seconds: float = 0.0
    process: JobProcess | None = field(default=None, repr=False)
    key: str = ""

    @property
    def title(self) -> str:
        sources = self.recipe.sources
        return short_name(sources[0]) + (f" and {len(sources) - 1} more" if len(sources) > 1 else "")

    @property
    def target(self) -> str:
        return self.recipe.target

    @property
    def live(self) -> bool:
        return self.state in LIVE

    @property
    def fraction(self) -> float | None:
        """0 to 1; None while the end is not known."""
        if self.state == "done":
            return 1.0
        return self.done / self.total if self.total else None


class JobQueue(QObject):
    """Signals: `changed` after anything happened, `finished` with a job that has ended."""

    changed = Signal()
    finished = Signal(object)

    def __init__(self, workers: int, parent: QObject | None = None,
                 make: Callable[[Job], JobProcess] | None = None) -> None:
        """`make` gives the process of a job, not started; None makes a worker process."""
        super().__init__(parent)
        self.jobs: list[Job] = []
        self.workers = workers
        self._make = make or _process
        self._store: QueueStore | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self._poll)

    def keep(self, store: QueueStore) -> None:
        """Keep the queue in a store from now on, and show what it holds that nobody runs: interrupted and failed jobs.

        Jobs with a function of their own (the sample, done in seconds) are not kept. A store that cannot be read or
        written is done without. Raises `MdError` where it cannot be read now.
        """
        found = store.jobs()
        self._store = store
        for stored in found:
            if stored.state in ("interrupted", "failed"):
                job = Job(stored.recipe, stored.what, state=stored.state, message=stored.message, key=stored.id)
                job.log = store.log_lines(stored.id)
                self.jobs.append(job)
        for job in self.jobs:
            if job.live and not job.key:
                self._enlist(job)
                self._mark(job)
        self.changed.emit()

    def add(self, recipe: Recipe, what: str = "Import", run: Run | None = None) -> Job:
        """Queue a job; it starts when a worker is free and nothing else writes its target."""
        job = Job(recipe, what, run)
        self.jobs.append(job)
        self._enlist(job)
        self._advance()
        return job

    def retry(self, job: Job) -> Job:
        """Queue the recipe of an ended job again."""
        if job.key:
            self._forget(job)  # the new one stands for it
        return self.add(job.recipe, job.what, job.run)

    def resume(self, job: Job) -> None:
        """Queue an interrupted job again, which goes on by its journal. Raises `UsageError` where another window or
        command runs it meanwhile, `NotFoundError` where one has ended it; it is none of ours then."""
        if job.state != "interrupted" or self._store is None:
            return
        try:
            self._store.take(job.key)
        except MdError:
            self.jobs.remove(job)
            self.changed.emit()
            raise
        job.state, job.message = "waiting", ""
        self._advance()

    def cancel(self, job: Job) -> None:
        """Stop a job; a running worker takes back what it wrote."""
        if job.state == "waiting":
            job.state = "cancelled"
            self._mark(job)
            self.finished.emit(job)
        elif job.process is not None and job.state == "running":
            job.state = "cancelling"
            job.process.cancel()
        self._advance()

    def remove(self, job: Job) -> None:
        """Take an ended job out of the list."""
        if not job.live:
            self.jobs.remove(job)
            self._forget(job)
            self.changed.emit()

    def live(self) -> list[Job]:
        return [job for job in self.jobs if job.live]

    def set_workers(self, count: int) -> None:
        self.workers = count
        self._advance()

    def close(self, seconds: float = 8.0) -> None:
        """Cancel everything and wait for the workers, which take back what they wrote; the next start offers them as
        interrupted."""
        self._timer.stop()
        for job in self.live():
            if job.process is not None:
                job.process.cancel()
        until = time.monotonic() + seconds
        for job in self.live():
            if job.process is not None:
                job.process.wait(max(0.0, until - time.monotonic()))
        if self._store is not None:
            self._store.close()
            self._store = None

    def _advance(self) -> None:
        running = [job for job in self.jobs if job.state in ("running", "cancelling")]
        targets = {job.target for job in running}
        for job in self.jobs:
            if len(running) >= self.workers:
                break
            if job.state == "waiting" and job.target not in targets and not self._busy_elsewhere(job):
                job.process = self._make(job)
                job.process.start()
                job.state, job.started = "running", time.monotonic()
                self._mark(job)
                running.append(job)
                targets.add(job.target)
        if self.live() and not self._timer.isActive():
            self._timer.start()
        self.changed.emit()

    def _poll(self) -> None:
        ended: list[Job] = []
        told = False
        for job in self.jobs:
            if job.process is None or not job.live:
                continue
            for event in job.process.events():
                told = True
                self._take(job, event)
            if not job.live:
                ended.append(job)
        for job in ended:
            self._mark(job)
            self.finished.emit(job)
        if ended or not any(job.process is not None for job in self.live()):  # waits for another window
            self._advance()
        elif told:
            self.changed.emit()
        if not self.live():
            self._timer.stop()

    def _enlist(self, job: Job) -> None:
        if self._store is not None and job.run is None:
            with contextlib.suppress(MdError):
                job.key = self._store.add(job.recipe, job.what).id

    def _mark(self, job: Job) -> None:
        """Tell the store the state of a job; those that are done or cancelled are none of its any more."""
        if self._store is None or not job.key:
            return
        with contextlib.suppress(MdError):
            if job.state in ("done", "cancelled"):
                self._forget(job)
            elif job.state in ("waiting", "running", "failed", "interrupted"):
                self._store.mark(job.key, job.state, job.message)

    def _forget(self, job: Job) -> None:
        if self._store is not None and job.key:
            with contextlib.suppress(MdError):
                self._store.remove(job.key)
            job.key = ""

    def _busy_elsewhere(self, job: Job) -> bool:
        with contextlib.suppress(MdError):
            return self._store is not None and self._store.busy_elsewhere(job.target)
        return False

    def _take(self, job: Job, event: JobEvent) -> None:
        lines = len(job.log)
        job.seconds = time.monotonic() - job.started
        match event.kind:
            case "progress":
                job.done, job.total, job.unit, job.eta = event.done, event.total, event.unit, event.eta
            case "log":
                job.log.append(event.line)
            case "done":
                job.state, job.summary, job.eta = "done", dict(event.summary or {}), None
            case "failed":
                job.state = "cancelled" if event.code == "MD-E003" else "failed"
                job.code, job.message, job.eta = event.code, event.message, None
                job.log.append(f"{event.code} {event.message}")
        if self._store is not None and job.key:
            for line in job.log[lines:]:
                self._store.log(job.key, line)


def _process(job: Job) -> JobProcess:
    from mdstudio.jobs.process import JobProcess

    return JobProcess(job.recipe, job.run)
