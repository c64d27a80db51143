"""`mdstudio query area DATASET`: statistics over an area at each time."""

from __future__ import annotations

import argparse
from typing import Any

from mdstudio.cli import query
from mdstudio.cli.opening import open_dataset
from mdstudio.cli.output import Output
from mdstudio.cli.progress import shown_progress
from mdstudio.cli.select import layer_index, time_range
from mdstudio.targets.files import format_of

FORMATS = (".csv", ".npz")
COLUMNS = ("count", "minimum", "maximum", "mean", "area_mean", "deviation", "total")
_WEIGHTS = {"sphere": "areas on the sphere", "plane": "areas in the plane", "": "no areas: values of nodes"}


def add_parser(kinds: Any, common: argparse.ArgumentParser) -> None:
    parser = kinds.add_parser("area", parents=[common], help="statistics over an area at each time",
                              description="Statistics of the cells or elements that a rectangle or polygon touches,\n"
                                          "at each time: how many have data, extremes, mean, mean weighted by\n"
                                          "area, standard deviation, sum.")
    query.common_options(parser)
    query.area_options(parser)
    query.time_options(parser)
    parser.add_argument("--out", metavar="FILE", help=f"write to a file: {', '.join(FORMATS)}")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.engine.requests import AreaRequest
    from mdstudio.targets.results import write_area

    ending = format_of(args.out, FORMATS) if args.out else ""
    dataset = open_dataset(args.dataset)
    item = dataset.item(args.item)
    layer = None if args.layer is None else layer_index(item, args.layer)
    start, stop = time_range(dataset.metadata.times, args.first, args.last)
    with shown_progress(args, "Reading") as progress:
        result = dataset.area(AreaRequest(item.name, args.bbox, args.polygon or "", layer, start, stop), progress)
    if args.out:
        write_area(args.out, ending, result)
    layer = (layer or 0) if item.layers else None
    if out.json:
        document = {"dataset": dataset.location, "item": item.name, "unit": item.unit, "layer": layer,
                    "cells": result.cells, "weights": result.weights, "times": result.times.texts(),
                    **{name: getattr(result, name) for name in COLUMNS}, "empty_reason": result.empty_reason,
                    "out": args.out or ""}
        out.document(document | (query.explain_keys(result.explain) if args.explain else {}))
        return 0
    out.title(f"{item.name}{f' [{item.unit}]' if item.unit else ''}{query.layer_text(item, layer)}")
    if result.empty_reason:
        out.text(f"  Nothing to count: {result.empty_reason}")
    out.facts([(query.places(item, dataset.metadata.kind).capitalize(), f"{result.cells:,}"),
               ("Weights", _WEIGHTS[result.weights]), ("Written", args.out or "")])
    if not args.out and result.cells:
        rows = zip(result.times.texts(), *(getattr(result, name) for name in COLUMNS), strict=True)
        out.table(("Time", *(f">{name.replace('_', ' ').capitalize()}" for name in COLUMNS)),
                  [(time or "-", *map(query.value_text, row)) for time, *row in rows])
    if args.explain:
        out.facts(query.explain_facts(result.explain))
    return 0
