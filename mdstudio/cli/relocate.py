"""`mdstudio relocate A B`: copy a dataset to another folder or container, block lists included."""

from __future__ import annotations

import argparse
from typing import Any

from mdstudio.cli.opening import open_dataset
from mdstudio.cli.output import Output, counted, duration, size
from mdstudio.cli.progress import shown_progress, told_to_the_end


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "relocate", parents=[common], help="copy a dataset to another folder or container",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Copies a dataset with its block lists, dataset.json last; folder or Azure on either side. Each\n"
                    "copied blob is compared with the original by length and block list. Nothing of A changes: delete\n"
                    "it yourself when the copy serves.\n\n"
                    "Refused: a B that is a dataset already, holds other blobs where the copy would come, or lies in\n"
                    "A; and, at the end, to save metadata that this build must not write (a note says so first).\n\n"
                    "A kill, a cancel or an error leaves a copy without dataset.json, which is no dataset: the same\n"
                    "command goes on (whole groups that are there are kept, other blobs are copied again), and\n"
                    "'mdstudio clean B' removes it.")
    parser.add_argument("a", metavar="A", help="the dataset")
    parser.add_argument("b", metavar="B", help="where the copy comes: a folder or prefix that is no dataset")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.engine.operations.relocate import relocate
    from mdstudio.engine.storage import open_storage

    source, target = open_dataset(args.a).storage, open_storage(args.b)
    with shown_progress(args, "Copying") as progress:
        done = relocate(source, target, progress)
    with told_to_the_end():
        if out.json:
            out.document({"source": source.location, "dataset": target.location, "blobs": done.blobs,
                          "bytes": done.bytes, "kept_blobs": done.kept_blobs, "seconds": round(done.seconds, 3)})
        else:
            out.title(f"Relocated to {target.location}")
            out.facts([
                ("Copied", f"{size(done.bytes)} in {counted(done.blobs, 'blob')}"),
                ("Kept", f"{counted(done.kept_blobs, 'blob')} of a copy before" if done.kept_blobs else ""),
                ("Took", duration(done.seconds)),
            ])
    return 0
