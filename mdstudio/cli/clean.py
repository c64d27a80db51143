"""`mdstudio clean LOCATION`: what killed jobs left and nothing refers to; a dry run unless told otherwise."""

from __future__ import annotations

import argparse
import dataclasses
from collections import Counter
from typing import TYPE_CHECKING, Any

from mdstudio.cli.opening import open_place
from mdstudio.cli.output import Output, counted, size
from mdstudio.cli.progress import shown_progress, told_to_the_end

if TYPE_CHECKING:
    from mdstudio.engine.operations.clean import Cleaning

WORDS = {
    "no dataset": "blobs without dataset.json", "unreferenced": "data that no listed time refers to",
    "domain": "coordinates that were replaced", "unfinished": "files of unfinished writes",
    "uncommitted": "blocks that no commit took",
}


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "clean", parents=[common], help="left-overs that nothing refers to; a dry run by default",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Finds what killed jobs left in every dataset below a location, and in folders that look like one\n"
                    "but hold no dataset.json (a killed import, a relocation that was refused): blobs that nothing\n"
                    "refers to, coordinates that were replaced, files of unfinished local writes older than an hour,\n"
                    "blocks in Azure that no commit took. Shows them; removes them only with --apply.\n\n"
                    "Left alone: files of other names than a dataset's; a place where another job is writing; a\n"
                    "dataset whose dataset.json is damaged or must not be written by this build.\n\n"
                    "Mind that a dataset whose dataset.json was lost looks like a killed import: look at the dry run\n"
                    "first. A kill leaves the rest for the next time; no dataset's content changes.")
    parser.add_argument("location", metavar="LOCATION")
    parser.add_argument("--apply", action="store_true", help="remove what is found")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.engine.operations.clean import clean
    from mdstudio.jobs.journal import forget_journal

    storage = open_place(args.location)
    with shown_progress(args, "Cleaning") as progress:
        cleaning = clean(storage, args.apply, progress)
    if cleaning.applied:  # what a killed import would have gone on with is gone
        for place in {found.place for found in cleaning.left_overs if found.what == "no dataset"}:
            forget_journal(storage.child(place).location if place else storage.location)
    with told_to_the_end():
        if out.json:
            out.document({
                "location": storage.location, "applied": cleaning.applied, "blobs": len(cleaning.left_overs),
                "bytes": cleaning.bytes, "left_overs": [dataclasses.asdict(found) for found in cleaning.left_overs],
                "skipped": [{"place": place, "reason": reason} for place, reason in cleaning.skipped.items()],
                "seconds": round(cleaning.seconds, 3),
            })
        else:
            _print(out, storage.location, cleaning)
    return 0


def _print(out: Output, location: str, cleaning: Cleaning) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for found in cleaning.left_overs:
        key = found.place, found.what
        counts[key] += 1
        sizes[key] += found.bytes
        first.setdefault(key, found.name)
    if counts:
        out.table(("Place", "What", ">Count", ">Bytes", "First"),
                  [(key[0] or ".", WORDS[key[1]], f"{counts[key]:,}", size(sizes[key]), first[key]) for key in counts])
    for place, reason in cleaning.skipped.items():
        out.text(f"Left alone: {place or '.'}: {reason}")
    if not counts:
        out.text(f"Nothing is left over below {location}.")
        return
    all_of_it = f"{size(cleaning.bytes)} in {counted(len(cleaning.left_overs), 'left-over')} below {location}"
    out.text(f"Removed {all_of_it}." if cleaning.applied else f"{all_of_it}. Nothing was removed: --apply does that.")
