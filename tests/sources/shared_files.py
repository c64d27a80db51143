"""Every entry of `../shared/data/MANIFEST.md`, what it becomes here, and how the library of its own format reads it.

`table` is what `shared_files.csv` keeps; written anew by: python -m tests.sources.shared_files
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from mdstudio.engine.errors import MdError
from mdstudio.engine.model import Description, GridDomain, Item
from mdstudio.sources.registry import open_source

TABLE = Path(__file__).with_name("shared_files.csv")
COLUMNS = ("entry", "source", "grid", "kind", "size", "times", "first", "last", "calendar", "raw_bytes", "items",
           "left_out", "refused")
FOLDERS = ("grid", "mesh", "grib", "dfs", "hdf5_filters", "zarr", "odd")
BESIDE = {"mesh/sst.fesom.1948.nc": "mesh/fesom.mesh.diag.nc", "mesh/temp.fesom.1948.nc": "mesh/fesom.mesh.diag.nc"}
SEPARATOR = " + "  # between the files of an entry that are opened together


def manifest(data: Path) -> list[str]:
    """`folder/name` of each entry, as the manifest lists them."""
    found, folder = [], ""
    for line in (data / "MANIFEST.md").read_text("utf-8").splitlines():
        heading = re.match(r"## (\w+)/ ", line)
        if line.startswith("## "):
            folder = heading[1] if heading else ""
        row = re.match(r"\| (\S+) \| *\d+ \|", line)
        if row and folder:
            found.append(f"{folder}/{row[1]}")
    return found


def entries(data: Path) -> list[str]:
    """Those of the manifest, and again beside the file that they need."""
    found = manifest(data)
    return [*found, *(f"{name}{SEPARATOR}{BESIDE[name]}" for name in found if name in BESIDE)]


def paths_of(data: Path, entry: str) -> list[str]:
    return [str(data / part) for part in entry.split(SEPARATOR)]


def rows_of(data: Path, entry: str) -> list[dict[str, str]]:
    """One row for each grid of an entry, or one with its refusal: `source` is the library's family or the error's code,
    `size` rows x columns or elements/nodes. Reads coordinates only."""
    try:
        with open_source(paths_of(data, entry)) as source:
            descriptions = source.descriptions()
            return [_row(data, entry, d) for d in descriptions]
    except MdError as error:
        return [{**dict.fromkeys(COLUMNS, ""), "entry": entry, "source": error.code,
                 "refused": _plain(data, str(error))}]


def _row(data: Path, entry: str, description: Description) -> dict[str, str]:
    domain, times = description.domain, description.times
    size = f"{domain.rows}x{domain.columns}" if isinstance(domain, GridDomain) else (
        f"{domain.elements}/{domain.nodes} corners {domain.element_nodes.shape[1]}")
    place = domain.kind if isinstance(domain, GridDomain) else ("mesh" if not domain.sigma else "sigma mesh")
    crs = domain.crs.split('"')[1] if '"' in domain.crs else domain.crs
    return {
        "entry": entry, "source": str(description.source[0]["format"]), "grid": description.name,
        "kind": f"{place} {crs}".strip(), "size": size, "times": str(len(times)), "first": times.text(0),
        "last": times.text(len(times) - 1), "calendar": "" if times.calendar == "standard" else times.calendar,
        "raw_bytes": str(description.raw_bytes),
        "items": "; ".join(_item(i, isinstance(domain, GridDomain)) for i in description.items),
        "left_out": _plain(data, "; ".join(d.text for d in description.dropped)), "refused": ""}


def _item(item: Item, grid: bool) -> str:
    words = [item.name, item.dtype, *([] if grid else [item.location]), *([f"[{item.unit}]"] if item.unit else [])]
    if item.scale is not None or item.offset is not None:
        words.append("packed")
    if item.layers:
        words.append(f"x{len(item.layers)} {item.layers.meaning}")
    return " ".join(words)


def _plain(data: Path, text: str) -> str:
    """Without the folder that the entries lie in, which is another on each computer."""
    for folder in FOLDERS:
        for separator in "/\\":
            text = text.replace(f"{data / folder}{separator}", "")
    return text


def table(rows: list[dict[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def kept_rows() -> Iterator[dict[str, str]]:
    """The rows of the table as it is kept."""
    yield from csv.DictReader(io.StringIO(TABLE.read_text("utf-8"))) if TABLE.exists() else ()


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[3] / "shared" / "data")
    TABLE.write_text(table([row for entry in entries(folder) for row in rows_of(folder, entry)]), "utf-8")
