"""`mdstudio export DATASET TARGET`: a dataset, or items and times of it, as a file of another format."""

from __future__ import annotations

import argparse
from typing import Any

from mdstudio.cli.opening import open_dataset
from mdstudio.cli.output import Output, counted, duration, size
from mdstudio.cli.progress import shown_progress, told_to_the_end
from mdstudio.cli.select import split_names, time_range
from mdstudio.engine.errors import UnsupportedError
from mdstudio.targets.files import format_of

LATER = ("zarr2", "zarr3", "icechunk")


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "export", parents=[common], help="a dataset as NetCDF-4",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Writes a whole dataset, or items and times of it, to a NetCDF-4 file: CF for grids, UGRID for\n"
                    "meshes. Stored numbers stay as they are to the bit, with their packing, no-data and attributes;\n"
                    "coordinates, bounds, grid mapping, times with unit and calendar too. Shuffle and deflate 4.\n"
                    "Memory does not grow with the dataset, which is not changed.\n\n"
                    "Refused: a TARGET that is there already, a dataset that this build cannot read, other formats\n"
                    "(Zarr and Icechunk come with a later release).\n\n"
                    "A failed or cancelled export leaves no file; a killed one a hidden file that ends in .part.")
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("target", metavar="TARGET", help="the file to make, such as out.nc")
    parser.add_argument("--format", choices=("netcdf", *LATER), default="netcdf", help="(%(default)s)")
    parser.add_argument("--items", metavar="A,B", help="the items to take, by name or number, '#1' (all)")
    parser.add_argument("--from", dest="first", metavar="TIME",
                        help="first time: ISO 8601 or an index such as '#3' (the dataset's first)")
    parser.add_argument("--to", dest="last", metavar="TIME", help="last time, included (the dataset's last)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.targets.netcdf import export_netcdf

    if args.format in LATER:
        raise UnsupportedError(f"Export to {args.format} comes with a later release.",
                               advice="Export to NetCDF-4 meanwhile: --format netcdf.")
    format_of(args.target, (".nc", ".nc4"))
    dataset = open_dataset(args.dataset)
    start, stop = time_range(dataset.metadata.times, args.first, args.last)
    items = split_names(args.items, "--items") if args.items is not None else []
    with shown_progress(args, "Exporting") as progress:
        done = export_netcdf(dataset, args.target, items, start, stop, progress)
    with told_to_the_end():
        if out.json:
            out.document({"dataset": dataset.location, "target": args.target, "format": args.format,
                          "items": list(done.items), "timesteps": done.timesteps, "bytes": done.bytes,
                          "seconds": round(done.seconds, 3)})
        else:
            out.title(f"Exported to {args.target}")
            out.facts([
                ("Holds", f"{counted(len(done.items), 'item')} x {counted(done.timesteps, 'time')}"),
                ("Size", size(done.bytes)),
                ("Took", duration(done.seconds)),
            ])
    return 0
