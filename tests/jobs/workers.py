"""Jobs that a test's worker process runs in place of an import; a spawned worker imports them by name."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from mdstudio.engine.errors import SourceError
from mdstudio.engine.progress import Progress
from mdstudio.jobs.recipe import Recipe


def count(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    progress.note("counting")
    progress.start(3, "steps")
    for _ in range(3):
        progress.advance()
    return {"dataset": recipe.target, "items": 1}


def until_cancelled(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    progress.start(0, "steps")
    try:
        while True:
            progress.check()
            time.sleep(0.01)
    finally:
        with open(recipe.target, "w") as file:
            file.write("taken back")


def never_heeds(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    progress.start(0, "steps")
    while True:
        time.sleep(1)


def killed(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def crashes(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    os._exit(7)


def refused(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    raise SourceError("It is no NetCDF file.", where="a.nc", advice="Look at it.")


def has_a_bug(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    raise ZeroDivisionError("one of ours")


def chatty(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    for number in range(20_000):
        progress.note(f"line {number}")
    return {"lines": 20_000}
