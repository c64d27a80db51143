"""`mdstudio inspect DATASET`: everything on Overview; `--pages` for the page table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mdstudio.cli.opening import open_dataset
from mdstudio.cli.output import Output, counted, number, size

if TYPE_CHECKING:
    from mdstudio.engine.layout.metadata import Metadata


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "inspect", parents=[common], help="what a dataset holds and how it is stored",
        description="Shows kind, items, times, storage, sizes and guards in force. Reads metadata and listings only.")
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("--pages", action="store_true", help="the page table, from the page index alone")
    parser.add_argument("--item", help="with --pages: one item, by name or number, '#1' (all)")
    parser.add_argument("--time", default="#0", help="with --pages: an ISO 8601 time, '#0', '#-1' (%(default)s)")
    parser.add_argument("--layer", help="with --pages: a layer, by index or value with unit such as 10m (all)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    dataset = open_dataset(args.dataset)
    facts = dict(dataset.inspect())
    if args.pages:
        facts["pages"] = _pages(dataset, args)
    if out.json:
        out.document(facts)
    elif args.pages:
        _print_pages(out, facts["pages"])
    else:
        print_facts(out, facts, extent(dataset.metadata))
    return 0


def extent(metadata: Metadata) -> str:
    """How large a grid or mesh is."""
    if metadata.kind == "grid":
        return f"{metadata.shape[0]:,} x {metadata.shape[1]:,} cells"
    sigma = f", {metadata.element3d_count:,} 3-D elements in sigma layers" if metadata.sigma else ""
    return f"{counted(metadata.cells, 'element')}, {counted(metadata.nodes, 'node')}{sigma}"


def print_facts(out: Output, facts: Mapping[str, Any], extent: str) -> None:
    """The Overview for a person."""
    times = facts["times"]
    out.title(str(facts["location"]))
    span = f", {times['first']} to {times['last']}" if times["first"] else ""
    calendar = f" ({times['calendar']})" if times["calendar"] not in ("standard", "proleptic_gregorian") else ""
    out.facts([
        ("Kind", f"{facts['kind']}, {extent}"),
        ("Times", f"{counted(times['count'], 'time')}{span}{calendar}"),
        ("Storage type", facts["storage_type"]),
        ("Compression", facts["compression"]),
        ("Layout version", _text(facts["layout_version"]) or "none (from before versions)"),
        ("Time group size", _text(facts["time_group_size"])),
        ("Grid tile width", _text(facts["grid_tile_width"], "cells")),
        ("Mesh page size", _text(facts["compressed_mesh_page_size"], "elements")),
        ("Series block rows", _text(facts["time_series_block_rows"])),
        ("Spatial group size", _text(facts["spatial_group_size"], "cells" if facts["kind"] == "grid" else "elements")),
        ("Schema version", _text(facts["schema_version"])),
        ("Size", f"{size(facts['stored_bytes'])} stored, {size(facts['raw_bytes'])} raw"
                 f"{_ratio(facts['ratio'], ', ratio ')}"),
    ])
    out.text()
    out.table(
        ("Item", "Type", "Unit", ">Layers", ">No data", ">Scale", ">Offset", ">Raw", ">Stored", ">Ratio"),
        [(i["name"], i["type"], i["unit"] or "", _text(i["layers"]), number(i["no_data"]), number(i["scale"]),
          number(i["offset"]), size(i["raw_bytes"]), size(i["stored_bytes"]), _ratio(i["ratio"]))
         for i in facts["items"]])
    for guard in facts["guards"]:
        out.text(f"\n! {guard['message']} {guard['advice']}".rstrip())


def _pages(dataset: Any, args: argparse.Namespace) -> list[dict[str, Any]]:
    """The pages of the chosen items and layers at one time, in stored order."""
    from mdstudio.cli.select import layer_index

    metadata = dataset.metadata
    items = [dataset.item(args.item)] if args.item else list(metadata.items)
    time = metadata.times.find(args.time)
    rows: list[dict[str, Any]] = []
    for item in items:
        layers: list[int | None] = list(item.layer_ids()) if item.layers and not item.layers_together else [None]
        if args.layer is not None:
            layers = [layer_index(item, args.layer)]
        for layer in layers:
            rows += _page_rows(dataset.pages(item.name, time, layer), item.name, metadata.times.text(time), layer)
    return rows


def _page_rows(table: Any, item: str, time: str, layer: int | None) -> list[dict[str, Any]]:
    extents: dict[int, list[int]] = {}  # of a TimeSeries block of several rectangles: the box around them
    for at, *box in zip(table.rect_page, table.row0, table.row1, table.column0, table.column1, strict=True):
        row0, row1, column0, column1 = map(int, box)
        known = extents.setdefault(int(at), [row0, row1, column0, column1])
        known[:] = [min(known[0], row0), max(known[1], row1), min(known[2], column0), max(known[3], column1)]
    return [
        {"item": item, "time": time, "layer": layer, "blob": table.blob_of(at), "page": int(table.page[at]),
         "offset": int(table.offset[at]), "length": int(table.length[at]), "raw": int(table.raw[at]),
         "ratio": int(table.length[at]) / int(table.raw[at]), "rows": extents[at][:2], "columns": extents[at][2:]}
        for at in range(len(table))
    ]


def _print_pages(out: Output, pages: list[dict[str, Any]]) -> None:
    out.table(
        ("Item", ">Layer", ">Page", ">Rows", ">Columns", ">Offset", ">Length", ">Raw", ">Ratio", "Blob"),
        [(p["item"], _text(p["layer"]), str(p["page"]), f"{p['rows'][0]}-{p['rows'][1] - 1}",
          f"{p['columns'][0]}-{p['columns'][1] - 1}", str(p["offset"]), str(p["length"]), str(p["raw"]),
          _ratio(p["ratio"]), p["blob"]) for p in pages])
    stored, raw = sum(p["length"] for p in pages), sum(p["raw"] for p in pages)
    time = f" at {pages[0]['time']}" if pages and pages[0]["time"] else ""
    out.text(f"{counted(len(pages), 'page')}{time}, {size(stored)} stored, {size(raw)} raw"
             f"{_ratio(stored / raw, ', ratio ') if raw else ''}")


def _text(value: object, unit: str = "") -> str:
    return "" if value is None else f"{value} {unit}".rstrip()


def _ratio(ratio: float | None, before: str = "") -> str:
    return "" if ratio is None else f"{before}{ratio:.3f}"
