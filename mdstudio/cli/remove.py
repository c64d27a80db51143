"""`mdstudio remove DATASET --times ...`: take timesteps out of a SingleTimestep dataset."""

from __future__ import annotations

import argparse
from typing import Any

from mdstudio.cli.opening import open_dataset
from mdstudio.cli.output import Output, counted, duration, size
from mdstudio.cli.progress import shown_progress, told_to_the_end
from mdstudio.cli.select import times_of


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "remove", parents=[common], help="take timesteps out of a dataset",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Takes timesteps out of a SingleTimestep dataset, with all their data, for good.\n"
                    "First dataset.json is saved, so that nobody sees the times any more, then their blobs go.\n\n"
                    "Refused before anything is touched: MultiTimestep and TimeSeries (a blob holds several times);\n"
                    "removing all times (delete the dataset's folder instead); a dataset that this build must not\n"
                    "write; a time that is not there.\n\n"
                    "A kill in between leaves a whole dataset without those times, and blobs that nothing refers to:\n"
                    "'mdstudio clean' removes them. Readers of other times notice nothing.")
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("--times", nargs="+", required=True, metavar="TIME",
                        help="ISO 8601 times, indexes such as '#0' or '#-1', and ranges such as 2019-01-01/2019-01-31 "
                             "or '#2/#5', both ends included")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.engine.operations.remove import remove_times, require_removable

    dataset = open_dataset(args.dataset)
    require_removable(dataset.metadata, dataset.location)
    times = dataset.metadata.times
    moments = times.microseconds[times_of(times, args.times)].tolist()
    with shown_progress(args, "Removing") as progress:
        removal = remove_times(dataset.storage, moments, progress)
    with told_to_the_end():
        if out.json:
            out.document({"dataset": dataset.location, "removed": removal.removed, "times": removal.left,
                          "blobs": removal.blobs, "bytes": removal.bytes, "seconds": round(removal.seconds, 3)})
        else:
            out.title(f"Removed {counted(removal.removed, 'time')} of {dataset.location}")
            out.facts([
                ("Left", counted(removal.left, "time")),
                ("Freed", f"{size(removal.bytes)} in {counted(removal.blobs, 'blob')}"),
                ("Took", duration(removal.seconds)),
            ])
    return 0
