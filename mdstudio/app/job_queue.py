"""The queue of jobs: a few run at once in worker processes, never two on one target dataset (design 3, G7).

Main thread only. The workers' events are polled by a timer; a job that waits has no process yet.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QObject, QTimer, Signal

from mdstudio.app.session import short_name

if TYPE_CHECKING:
    from mdstudio.jobs.process import JobEvent, JobProcess, Run
    from mdstudio.jobs.recipe import Recipe

POLL_MS = 150

JobState = Literal["waiting", "running", "cancelling", "done", "failed", "cancelled"]
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
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self._poll)

    def add(self, recipe: Recipe, what: str = "Import", run: Run | None = None) -> Job:
        """Queue a job; it starts when a worker is free and nothing else writes its target."""
        job = Job(recipe, what, run)
        self.jobs.append(job)
        self._advance()
        return job

    def retry(self, job: Job) -> Job:
        """Queue the recipe of an ended job again."""
        return self.add(job.recipe, job.what, job.run)

    def cancel(self, job: Job) -> None:
        """Stop a job; a running worker takes back what it wrote."""
        if job.state == "waiting":
            job.state = "cancelled"
            self.finished.emit(job)
        elif job.process is not None and job.state == "running":
            job.state = "cancelling"
            job.process.cancel()
        self._advance()

    def remove(self, job: Job) -> None:
        """Take an ended job out of the list."""
        if not job.live:
            self.jobs.remove(job)
            self.changed.emit()

    def live(self) -> list[Job]:
        return [job for job in self.jobs if job.live]

    def set_workers(self, count: int) -> None:
        self.workers = count
        self._advance()

    def close(self, seconds: float = 8.0) -> None:
        """Cancel everything and wait for the workers, which take back what they wrote."""
        self._timer.stop()
        for job in self.live():
            if job.process is not None:
                job.process.cancel()
        until = time.monotonic() + seconds
        for job in self.live():
            if job.process is not None:
                job.process.wait(max(0.0, until - time.monotonic()))

    def _advance(self) -> None:
        running = [job for job in self.jobs if job.state in ("running", "cancelling")]
        targets = {job.target for job in running}
        for job in self.jobs:
            if len(running) >= self.workers:
                break
            if job.state == "waiting" and job.target not in targets:
                job.process = self._make(job)
                job.process.start()
                job.state, job.started = "running", time.monotonic()
                running.append(job)
                targets.add(job.target)
        if running and not self._timer.isActive():
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
            self.finished.emit(job)
        if ended:
            self._advance()
        elif told:
            self.changed.emit()
        if not any(job.state in ("running", "cancelling") for job in self.jobs):
            self._timer.stop()

    @staticmethod
    def _take(job: Job, event: JobEvent) -> None:
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


def _process(job: Job) -> JobProcess:
    from mdstudio.jobs.process import JobProcess

    return JobProcess(job.recipe, job.run)
