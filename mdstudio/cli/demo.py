"""`mdstudio demo`: make the sample dataset, and open it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mdstudio.cli.output import Output
from mdstudio.cli.progress import shown_progress
from mdstudio.engine.errors import NotADatasetError, NotFoundError


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "demo", parents=[common], help="make the sample dataset and open it",
        description="Makes the sample dataset (computed, nothing is fetched) where it is not there yet, and opens it.")
    parser.add_argument("--folder", type=Path, help="where to make it (the user's data folder)")
    parser.add_argument("--no-gui", action="store_true", help="print what it holds and how it is stored; no window")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.cli import inspect
    from mdstudio.cli.window import open_window
    from mdstudio.engine.dataset import Dataset
    from mdstudio.jobs.sample import user_data_folder

    folder = args.folder or user_data_folder()
    location = _made(args, folder)
    if not args.no_gui:
        return open_window(location)
    dataset = Dataset.open(location)
    facts = dataset.inspect()
    if out.json:
        out.document(facts)
    else:
        inspect.print_facts(out, facts, inspect.extent(dataset.metadata))
    return 0


def _made(args: argparse.Namespace, folder: Path) -> str:
    """The location of the sample dataset, made first where it is not there."""
    from mdstudio.engine.dataset import Dataset
    from mdstudio.jobs.run import run_recipe
    from mdstudio.jobs.sample import sample_recipe, write_sample_source

    recipe = sample_recipe(folder)
    try:
        Dataset.open(recipe.target)
    except (NotFoundError, NotADatasetError):
        folder.mkdir(parents=True, exist_ok=True)
        with shown_progress(args, "Making the sample") as progress:
            source = Path(recipe.sources[0])
            if not source.exists():
                progress.note(f"computing {source}")
                write_sample_source(source)
            progress.check()
            run_recipe(recipe, progress)
    return recipe.target
