"""`mdstudio list LOCATION`: the datasets below a folder or a container."""

from __future__ import annotations

import argparse
from typing import Any

from mdstudio.cli.opening import open_place
from mdstudio.cli.output import Output, counted, size
from mdstudio.cli.progress import shown_progress
from mdstudio.engine.errors import MdError


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser("list", parents=[common], help="datasets below a folder or container",
                                 description="Lists the datasets below a location; reads no data.")
    parser.add_argument("location", metavar="LOCATION")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.jobs.listing import find_datasets

    storage = open_place(args.location)
    with shown_progress(args, "Looking") as progress:
        rows = [_row(storage, prefix) for prefix in find_datasets(storage, progress)]
    if out.json:
        out.document({"location": storage.location, "datasets": rows})
        return 0
    if not rows:
        out.text(f"No dataset below {storage.location}.")
        return 0
    out.table(
        ("Dataset", "Kind", "Storage", "Compression", ">Items", ">Times", "First", "Last", ">Stored"),
        [(r["name"], r["error"]) if r["error"] else
         (r["name"], r["kind"], r["storage_type"], r["compression"], str(r["items"]), str(r["times"]["count"]),
          r["times"]["first"], r["times"]["last"], size(r["data_size_bytes"])) for r in rows])
    out.text(f"{counted(len(rows), 'dataset')} below {storage.location}")
    return 0


def _row(storage: Any, prefix: str) -> dict[str, Any]:
    """One dataset from its metadata alone; one that does not load says why and hides no other."""
    from mdstudio.engine.layout.metadata import load_metadata

    child = storage.child(prefix) if prefix else storage
    row: dict[str, Any] = {"location": child.location, "name": prefix or child.location, "error": ""}
    try:
        metadata, _ = load_metadata(child)
    except MdError as error:
        return row | {"error": error.message}
    times = metadata.times
    return row | {
        "kind": metadata.kind,
        "storage_type": metadata.storage.storage_type,
        "compression": metadata.storage.compression,
        "layout_version": metadata.storage.layout_version,
        "items": len(metadata.items),
        "times": {"count": len(times), "first": times.text(0), "last": times.text(len(times) - 1),
                  "calendar": times.calendar},
        "data_size_bytes": metadata.data_size_bytes,
    }
