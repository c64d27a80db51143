"""`mdstudio query line DATASET`: the values along a line, in all layers."""

from __future__ import annotations

import argparse
from typing import Any

from mdstudio.cli import query
from mdstudio.cli.opening import open_dataset
from mdstudio.cli.output import Output, number
from mdstudio.cli.progress import shown_progress
from mdstudio.cli.select import layer_index, line
from mdstudio.targets.files import format_of

FORMATS = (".csv", ".npz")
MOST_ROWS = 60


def add_parser(kinds: Any, common: argparse.ArgumentParser) -> None:
    parser = kinds.add_parser("line", parents=[common], help="values along a line (a transect), in all layers",
                              description="The values of the cells or elements that a line crosses, in the order in\n"
                                          "which it does, with the distance from its start; of all layers or of one.")
    query.common_options(parser)
    parser.add_argument("--line", type=line, required=True, metavar="LINE",
                        help="'x,y x,y ...' in the dataset's coordinates, a LINESTRING as WKT or GeoJSON, or @FILE")
    parser.add_argument("--time", default="#0",
                        help="an ISO 8601 time, or an index: '#0' the first, '#-1' the last (%(default)s)")
    parser.add_argument("--out", metavar="FILE", help=f"write to a file: {', '.join(FORMATS)}")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.engine.requests import LineRequest
    from mdstudio.targets.results import in_source, write_line

    ending = format_of(args.out, FORMATS) if args.out else ""
    dataset = open_dataset(args.dataset)
    item = dataset.item(args.item)
    time = dataset.metadata.times.find(args.time)
    layer = None if args.layer is None else layer_index(item, args.layer)
    with shown_progress(args, "Reading") as progress:
        result = dataset.line(LineRequest(item.name, args.line, layer, time, time + 1), progress)
    if args.out:
        write_line(args.out, ending, result, dataset)
    cells = in_source(dataset, item, result.cells)
    if out.json:
        document = {"dataset": dataset.location, "item": item.name, "unit": item.unit,
                    "time": dataset.metadata.times.text(time), "layers": result.layers,
                    "distance_unit": result.unit, "edges": result.edges, "x": result.x, "y": result.y,
                    "cells": [None if cell[0] < 0 else cell for cell in cells.tolist()], "values": result.values[0],
                    "empty_reason": result.empty_reason, "out": args.out or ""}
        out.document(document | (query.explain_keys(result.explain) if args.explain else {}))
        return 0
    out.title(f"{item.name}{f' [{item.unit}]' if item.unit else ''}")
    if result.empty_reason:
        out.text(f"  Nothing there: {result.empty_reason}")
    out.facts([("Length", f"{number(float(result.edges[-1]))} {result.unit}".strip()),
               (query.places(item, dataset.metadata.kind).capitalize(), f"{int((cells[:, 0] >= 0).sum()):,}"),
               ("Layers", f"{result.layers.size}" if item.layers else ""), ("Written", args.out or "")])
    if not args.out and not result.empty_reason:
        shown = range(min(MOST_ROWS, result.x.size))
        values = result.values[0]
        heads = [f">{item.layers.values[at]:g}" if item.layers else ">Value" for at in result.layers[:8].tolist()]
        out.table((">From", ">To", ">x", ">y", *heads),
                  [(number(float(result.edges[i])), number(float(result.edges[i + 1])), f"{result.x[i]:g}",
                    f"{result.y[i]:g}", *map(query.value_text, values[:len(heads), i])) for i in shown])
        if len(shown) < result.x.size or len(heads) < result.layers.size:
            out.text(f"  ... of {result.x.size:,} stretches and {result.layers.size} layers; --out FILE.csv has all.")
    if args.explain:
        out.facts(query.explain_facts(result.explain))
    return 0
