"""What the window has done in worker processes beside imports. No Qt here: a worker imports this module anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mdstudio.engine.errors import MdError
from mdstudio.engine.model import Description
from mdstudio.engine.progress import Progress
from mdstudio.jobs.process import JobProcess
from mdstudio.jobs.recipe import Recipe

_WAIT_SECONDS = 0.05


def describe_source(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    """In the worker: {"descriptions": ...} of the recipe's sources, or {"error": the `MdError`}. No data is read."""
    from mdstudio.sources.registry import open_source

    try:
        with open_source(recipe.sources, recipe.reader_parameters) as source:
            return {"descriptions": tuple(source.descriptions())}
    except MdError as error:
        return {"error": error}


def make_sample(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    """In the worker: compute the sample's source where it is not there yet, then import it."""
    from mdstudio.jobs.run import run_recipe
    from mdstudio.jobs.sample import write_sample_source

    source = Path(recipe.sources[0])
    if not source.exists():
        source.parent.mkdir(parents=True, exist_ok=True)
        progress.note(f"computing {source}")
        write_sample_source(source)
    progress.check()
    return run_recipe(recipe, progress)


def descriptions(recipe: Recipe, progress: Progress) -> tuple[Description, ...]:
    """In a reader thread: what the sources hold, asked in a process of its own, so that a file that crashes its library
    does not take the window along. Raises the worker's `MdError`, or `MdError` for a worker that died."""
    process = JobProcess(recipe, run=describe_source, grace=0.5)
    process.start()
    while not process.wait(_WAIT_SECONDS):
        if progress.cancelled:
            process.cancel()
            progress.check()
    for event in process.events():
        if event.kind == "done" and event.summary is not None:
            if "error" in event.summary:
                raise event.summary["error"]
            found: tuple[Description, ...] = event.summary["descriptions"]
            return found
        if event.kind == "failed":
            raise MdError(event.message, where=", ".join(recipe.sources))
    raise MdError("The file could not be described.", where=", ".join(recipe.sources))
