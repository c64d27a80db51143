"""`mdstudio query map|series|area|line DATASET`: values as numbers on the screen or in a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np

from mdstudio.cli.opening import open_dataset
from mdstudio.cli.output import Output, counted, number, size
from mdstudio.cli.progress import shown_progress
from mdstudio.cli.select import bbox, layer_index, point, points_of_csv, polygon, time_range
from mdstudio.engine.errors import UsageError
from mdstudio.targets.files import format_of

if TYPE_CHECKING:
    from mdstudio.engine.model import Item
    from mdstudio.engine.requests import Explain

MAP_FORMATS = (".npz", ".csv", ".nc")
SERIES_FORMATS = (".csv", ".npz")
MOST_CELLS = 20  # points whose cells are told


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    from mdstudio.cli import query_area, query_line

    parser = commands.add_parser("query", help="a map, a time series, statistics or a transect out of a dataset",
                                 description="Takes a map, a time series, statistics of an area or a transect\n"
                                             "out of a dataset.")
    kinds = parser.add_subparsers(metavar="map|series|area|line", required=True, parser_class=type(parser))
    one = kinds.add_parser("map", parents=[common], help="one layer of one item at one time",
                           description="One layer of one item at one time: the whole slice, or the cells or elements\n"
                                       "that a rectangle or polygon touches.")
    common_options(one)
    one.add_argument("--time", default="#0",
                     help="an ISO 8601 time, or an index: '#0' the first, '#-1' the last (%(default)s)")
    area_options(one)
    one.add_argument("--out", metavar="FILE", help=f"write to a file: {', '.join(MAP_FORMATS)}")
    one.set_defaults(run=run_map)
    series = kinds.add_parser("series", parents=[common], help="values at points over time",
                              description="The values of one item at points over time.")
    common_options(series)
    series.add_argument("--point", type=point, action="append", default=[], metavar="X,Y",
                        help="a point in the dataset's coordinates; repeatable")
    series.add_argument("--points", metavar="FILE.csv", help="points in the first two columns of a CSV file")
    time_options(series)
    series.add_argument("--out", metavar="FILE", help=f"write to a file: {', '.join(SERIES_FORMATS)}")
    series.set_defaults(run=run_series)
    query_area.add_parser(kinds, common)
    query_line.add_parser(kinds, common)


def area_options(parser: argparse.ArgumentParser) -> None:
    """`--bbox` or `--polygon`."""
    area = parser.add_mutually_exclusive_group()
    area.add_argument("--bbox", type=bbox, metavar="X0,Y0,X1,Y1",
                      help="a rectangle in the dataset's coordinates (the whole slice)")
    area.add_argument("--polygon", type=polygon, metavar="WKT",
                      help="a POLYGON or MULTIPOLYGON in the dataset's coordinates, as WKT, GeoJSON or @FILE of one")


def time_options(parser: argparse.ArgumentParser) -> None:
    """`--from` and `--to`."""
    parser.add_argument("--from", dest="first", metavar="TIME",
                        help="first time: ISO 8601 or an index such as '#3' (the dataset's first)")
    parser.add_argument("--to", dest="last", metavar="TIME", help="last time, included (the dataset's last)")


def common_options(parser: argparse.ArgumentParser) -> None:
    """The dataset, `--item`, `--layer`, `--explain`."""
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("--item", default="#0", help="an item, by name or number, '#1' (%(default)s)")
    parser.add_argument("--layer", help="a layer: an index from 0, or a value with its unit such as 10m (the first)")
    parser.add_argument("--explain", action="store_true", help="what the query cost: pages, requests, bytes, time")


def run_map(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.engine.requests import MapRequest
    from mdstudio.targets.results import write_map

    ending = format_of(args.out, MAP_FORMATS) if args.out else ""
    dataset = open_dataset(args.dataset)
    item = dataset.item(args.item)
    time = dataset.metadata.times.find(args.time)
    layer = None if args.layer is None else layer_index(item, args.layer)
    with shown_progress(args, "Reading") as progress:
        result = dataset.map(MapRequest(item.name, time, layer, args.bbox, args.polygon or ""), progress)
    if args.out:
        write_map(args.out, ending, result, dataset)
    finite = result.values[np.isfinite(result.values)]
    document: dict[str, Any] = {
        "dataset": dataset.location, "item": item.name, "unit": item.unit, "time": dataset.metadata.times.text(time),
        "layer": (layer or 0) if item.layers else None,
        "rows": result.rows.size, "columns": result.columns.size,
        "cells": int(result.mask.sum()), "valid": int(finite.size),
        "min": float(finite.min()) if finite.size else None, "max": float(finite.max()) if finite.size else None,
        "mean": float(finite.mean()) if finite.size else None,
        "empty_reason": result.empty_reason, "out": args.out or "",
    }
    if out.json:
        out.document(document | (explain_keys(result.explain) if args.explain else {}))
        return 0
    out.title(f"{item.name}{_time(document['time'])}{layer_text(item, document['layer'])}")
    if result.empty_reason:
        out.text(f"  No cells: {result.empty_reason}")
    what = places(item, dataset.metadata.kind)
    across = "" if dataset.metadata.kind == "mesh" else f" x {document['columns']:,}"
    out.facts([
        (what.capitalize(), f"{document['cells']:,} of {document['rows']:,}{across}, {finite.size:,} "
                            f"{'values' if item.components > 1 else 'with data'}"),
        ("Range", f"{number(document['min'])} to {number(document['max'])} {item.unit}, "
                  f"mean {number(document['mean'])}" if finite.size else "no data"),
        ("Written", args.out or ""),
        *(explain_facts(result.explain) if args.explain else []),
    ])
    return 0


def run_series(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.engine.requests import SeriesRequest
    from mdstudio.targets.results import in_source, write_series

    ending = format_of(args.out, SERIES_FORMATS) if args.out else ""
    points = (*args.point, *(points_of_csv(args.points) if args.points else ()))
    if not points:
        raise UsageError("A series needs at least one point.", advice="Give --point x,y or --points FILE.csv.")
    dataset = open_dataset(args.dataset)
    item = dataset.item(args.item)
    layer = None if args.layer is None else layer_index(item, args.layer)
    start, stop = time_range(dataset.metadata.times, args.first, args.last)
    with shown_progress(args, "Reading") as progress:
        result = dataset.series(SeriesRequest(item.name, points, layer, start, stop), progress)
    if args.out:
        write_series(args.out, ending, result, dataset)
    layer = (layer or 0) if item.layers else None
    cells = [None if cell[0] < 0 else cell for cell in in_source(dataset, item, result.cells).tolist()]
    if out.json:
        document = {
            "dataset": dataset.location, "item": item.name, "unit": item.unit, "layer": layer,
            "points": [{"x": p[0], "y": p[1], "cell": cell, "cell_x": result.x[i], "cell_y": result.y[i]}
                       for i, (p, cell) in enumerate(zip(points, cells, strict=True))],
            "times": result.times.texts(), "values": result.values, "out": args.out or "",
        }
        out.document(document | (explain_keys(result.explain) if args.explain else {}))
        return 0
    out.title(f"{item.name}{f' [{item.unit}]' if item.unit else ''}{layer_text(item, layer)}")
    outside = [f"{p[0]:g},{p[1]:g}" for p, cell in zip(points, cells, strict=True) if cell is None]
    if outside:
        out.text(f"  Outside the {dataset.metadata.kind}: {'; '.join(outside)}")
    if len(outside) < len(points) <= MOST_CELLS:
        what = places(item, dataset.metadata.kind)
        out.facts([(f"{p[0]:g},{p[1]:g}", f"{what.removesuffix('s')} at {x:g},{y:g} ({_numbered(cell)})")
                   for p, x, y, cell in zip(points, result.x, result.y, cells, strict=True) if cell])
    if args.out:
        out.facts([("Times", f"{len(result.times):,}"), ("Points", f"{len(points):,}"), ("Written", args.out)])
    elif len(outside) < len(points):
        out.table(("Time", *(f">{x:g},{y:g}" for x, y in points)),
                  [(time or "-", *map(value_text, row)) for time, row in zip(result.times.texts(), result.values,
                                                                         strict=True)])
    if args.explain:
        out.facts(explain_facts(result.explain))
    return 0


def places(item: Item, kind: str) -> str:
    """What the values of an item belong to."""
    return "cells" if kind == "grid" else "nodes" if item.location == "node" else "elements"


def _numbered(cell: list[int]) -> str:
    return f"row {cell[0]}, column {cell[1]}" if len(cell) == 2 else f"number {cell[0]}"


def value_text(value: Any) -> str:
    """One value, or the components of a vector."""
    return " ".join(number(float(v)) if np.isfinite(v) else "" for v in np.atleast_1d(value))


def explain_keys(explain: Explain) -> dict[str, int]:
    keys = ("pages_touched", "pages_decoded", "requests", "bytes_read", "read_us", "decode_us")
    return {key: int(getattr(explain, key)) for key in keys}


def explain_facts(explain: Explain) -> list[tuple[str, str]]:
    return [
        ("Pages", f"{explain.pages_touched:,} touched, {explain.pages_decoded:,} decoded"),
        ("Read", f"{size(explain.bytes_read)} in {counted(explain.requests, 'request')}, "
                 f"{explain.read_us / 1000:.1f} ms"),
        ("Decoded", f"{explain.decode_us / 1000:.1f} ms"),
    ]


def _time(text: str) -> str:
    return f" at {text}" if text else ""


def layer_text(item: Any, layer: int | None) -> str:
    return "" if layer is None else f", layer {layer} ({f'{item.layers.values[layer]:g} {item.layers.unit}'.strip()})"
