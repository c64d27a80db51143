"""`mdstudio compare A B`: bit-equal per item and time, or where not."""

from __future__ import annotations

import argparse
from typing import Any

from mdstudio.cli.output import Output
from mdstudio.cli.progress import shown_progress


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "compare", parents=[common], help="two datasets, or a dataset and its source, bit by bit",
        description="Compares the stored bits of every item at every time, coordinates, times and units. Where one\n"
                    "side is float32 and the other float64 (DoubleAsFloat), float32 of the doubles is compared.\n"
                    "Exit status: 0 equal, 3 different.",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", metavar="A", help="a dataset or a source file")
    parser.add_argument("b", metavar="B", nargs="+", help="a dataset or source files (several: joined by time)")
    parser.add_argument("--grid", default="", metavar="NAME", help="which grid of a source that holds several")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.jobs.compare import compare, describe_difference

    with shown_progress(args, "Comparing") as progress:
        result = compare(args.a, args.b[0] if len(args.b) == 1 else args.b, progress, args.grid)
    if out.json:
        out.document(result)
        return 0 if result["equal"] else 3
    out.title("Equal to the bit" if result["equal"] else "Different")
    out.table(
        ("Item", "Equal", ">Times", "First difference"),
        [(i["name"], "yes" if i["equal"] else "no", str(i["times_compared"]),
          describe_difference(i["first_difference"])) for i in result["items"]])
    words = {True: "equal", False: "different"}
    out.facts([
        ("Coordinates", words[result["coordinates_equal"]]),
        ("Times", words[result["times_equal"]]),
        ("Units", words[result["units_equal"]]),
        ("Only in A", ", ".join(result["not_in_b"])),
        ("Only in B", ", ".join(result["not_in_a"])),
    ])
    return 0 if result["equal"] else 3
