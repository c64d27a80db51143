"""Jobs that a test's worker process runs in place of an import; a spawned worker imports them by name."""

from __future__ import annotations

import os
import time
from typing import Any

from mdstudio.engine.progress import Progress
from mdstudio.jobs.recipe import Recipe


def until_cancelled(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    progress.start(10, "slices")
    time.sleep(0.2)  # progress is told every tenth of a second
    progress.advance(3)
    progress.note("three are done")
    while True:
        progress.check()
        time.sleep(0.01)


def crash(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    os._exit(9)


def at_once(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    progress.start(1, "slices")
    progress.advance()
    return {"dataset": recipe.target, "seconds": 0.5}
