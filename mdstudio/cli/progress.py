"""Progress on stderr, and Ctrl-C as a cancel that lets a job take back what it wrote."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from mdstudio.cli.output import json_text
from mdstudio.engine.progress import Progress
from mdstudio.jobs.eta import Eta, Throttle


@contextmanager
def shown_progress(args: argparse.Namespace, what: str) -> Iterator[Progress]:
    """A `Progress` shown as the arguments say; the first Ctrl-C (or SIGTERM) cancels it, the second interrupts."""
    progress = _make(args, what)

    def interrupted(number: int, frame: FrameType | None) -> None:
        if progress.cancelled:
            raise KeyboardInterrupt
        progress.cancel()

    main_thread = threading.current_thread() is threading.main_thread()
    before = {s: signal.signal(s, interrupted) for s in (signal.SIGINT, signal.SIGTERM)} if main_thread else {}
    try:
        with progress:
            yield progress
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def told_to_the_end() -> Iterator[None]:
    """After a job is done a Ctrl-C (or SIGTERM) cancels nothing any more: what the job did is told to the end."""
    main_thread = threading.current_thread() is threading.main_thread()
    before = {s: signal.signal(s, signal.SIG_IGN) for s in (signal.SIGINT, signal.SIGTERM)} if main_thread else {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Silent(Progress):
    """Shows nothing."""

    def __enter__(self) -> _Silent:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


class _Notes(_Silent):
    """Notes only: stderr is a file or a pipe."""

    def note(self, message: str) -> None:
        print(f"note: {message}", file=sys.stderr)


class _JsonLines(_Silent):
    """One JSON object a line: `{"progress": {done, total, unit, eta_seconds}}`, `{"note": ...}`."""

    def __init__(self) -> None:
        super().__init__()
        self._show_lock = threading.Lock()
        self._throttle, self._eta = Throttle(), Eta()

    def report(self) -> None:
        with self._show_lock:
            done, total = self.done, self.total
            eta = self._eta.seconds(done, total)
            if self._throttle.due(done, total):
                self._print({"progress": {"done": done, "total": total, "unit": self.unit,
                                          "eta_seconds": None if eta is None else round(eta, 1)}})

    def note(self, message: str) -> None:
        with self._show_lock:
            self._print({"note": message})

    def _print(self, data: dict[str, Any]) -> None:
        print(json_text(data, sys.stderr), file=sys.stderr, flush=True)


class _Bar(_Silent):
    """A bar with rate and remaining time on a terminal."""

    def __init__(self, what: str) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self._rich = RichProgress(
            TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}", markup=False), TimeElapsedColumn(), TimeRemainingColumn(),
            console=Console(stderr=True, highlight=False), transient=True,
        )
        self._task = self._rich.add_task(what, total=None, unit="")

    def __enter__(self) -> _Bar:
        self._rich.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._rich.stop()

    def report(self) -> None:
        self._rich.update(self._task, completed=self.done, total=self.total or None, unit=self.unit)

    def note(self, message: str) -> None:
        self._rich.console.print(f"note: {message}", markup=False)


def _make(args: argparse.Namespace, what: str) -> _Silent:
    if args.progress == "json":
        return _JsonLines()
    if args.quiet:
        return _Silent()
    if args.progress == "none" or not sys.stderr.isatty():
        return _Notes()
    return _Bar(what)
