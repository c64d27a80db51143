"""The real GRIB files: imported and bit-equal to ecCodes' own decode, or refused for a stated reason.

`grib_files.csv` is what these tests find of each item of each file; a change of it is a change of what is imported.
Written anew by: python -m tests.sources.test_grib_files
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import GridDomain, MeshDomain
from mdstudio.sources.registry import open_source
from tests.sources.grib_builders import eccodes

TABLE = Path(__file__).with_name("grib_files.csv")
NAMES = tuple(dict.fromkeys(row["file"] for row in csv.DictReader(io.StringIO(TABLE.read_text("utf-8"))))) \
    if TABLE.exists() else ()
COLUMNS = ("file", "outcome", "kind", "shape", "times", "first", "last", "item", "unit", "layers", "missing", "notes")
SENTINEL = 9e20


def table_rows(path: Path) -> list[dict[str, str]]:
    """What is found of a file, without its data but for the count of missing points."""
    try:
        source = open_source([str(path)])
    except SourceError as error:
        return [dict.fromkeys(COLUMNS, "") | {"file": path.name, "outcome": f"refused: {error.message}"}]
    rows = []
    with source:
        for description in source.descriptions():
            domain, times = description.domain, description.times
            grid = {"kind": domain.kind, "shape": f"{domain.rows}x{domain.columns}"} if isinstance(
                domain, GridDomain) else {"kind": "mesh", "shape": str(domain.elements)}
            for item in description.items:
                layers = "" if item.layers is None else f"{item.layers.name} " + " ".join(
                    f"{v:g}" for v in item.layers.values)
                missing = sum(int(np.isnan(source.read(description, item.name, slice(t, t + 1), layer, slice(None),
                                                       slice(None))).sum())
                              for t in range(len(times)) for layer in item.layer_ids())
                rows.append({
                    "file": path.name, "outcome": "imported", **grid, "times": str(len(times)),
                    "first": times.text(0), "last": times.text(len(times) - 1), "item": item.name, "unit": item.unit,
                    "layers": layers, "missing": str(missing),
                    "notes": "; ".join(n.text for n in description.dropped)})
    return rows


def written(rows: list[dict[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def test_the_table_names_every_file(shared_data: Path) -> None:
    assert sorted(p.name for p in (shared_data / "grib").iterdir()) == sorted(NAMES)


@pytest.mark.rule("K1")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_found_is_what_the_table_says(shared_data: Path, name: str) -> None:
    kept = [row for row in csv.DictReader(io.StringIO(TABLE.read_text("utf-8"))) if row["file"] == name]
    found = table_rows(shared_data / "grib" / name)
    for row in found:  # the file's folder is named in it
        row["outcome"] = row["outcome"].replace(str(shared_data), "")
    assert found == kept


def messages(path: Path) -> Iterator[dict[str, Any]]:
    """Every message as ecCodes alone reads the file."""
    with path.open("rb") as file:
        while (handle := eccodes.codes_grib_new_from_file(file)) is not None:
            eccodes.codes_set(handle, "missingValue", SENTINEL)
            values = eccodes.codes_get_values(handle)
            date, time = (eccodes.codes_get(handle, f"validity{part}") for part in ("Date", "Time"))
            text = f"{date:08d}"
            yield {"time": f"{text[:4]}-{text[4:6]}-{text[6:]}T{time // 100:02d}:{time % 100:02d}:00",
                   "values": np.where(values == SENTINEL, np.nan, values),
                   "zigzag": eccodes.codes_get(handle, "alternativeRowScanning"),
                   "digest": hashlib.sha256(values.tobytes()).hexdigest()}
            eccodes.codes_release(handle)


@pytest.mark.rule("W4", "K7")
@pytest.mark.parametrize("name", [
    n for n in NAMES if n not in ("spherical_harmonics.grib", "regular_gg_wrong_increment.grib")])
def test_every_message_is_read_to_the_bit_as_eccodes_decodes_it(shared_data: Path, name: str) -> None:
    """Each slice is one of ecCodes' messages of its time, and each message is one slice."""
    path = shared_data / "grib" / name
    left: dict[tuple[str, bytes], int] = {}
    count = 0
    for one in messages(path):
        values = one["values"]
        if one["zigzag"]:
            values = values.reshape(171, 291).copy()
            values[1::2] = values[1::2, ::-1].copy()
        left[one["time"], hashlib.sha256(values.tobytes()).digest()] = left.get(
            (one["time"], hashlib.sha256(values.tobytes()).digest()), 0) + 1
        count += 1
    with open_source([str(path)]) as source:
        for description in source.descriptions():
            assert isinstance(description.domain, GridDomain | MeshDomain)
            absent = sum(n.count for n in description.dropped if "no message" in n.reason)
            for item in description.items:
                for layer in item.layer_ids():
                    for t in range(len(description.times)):
                        got = source.read(description, item.name, slice(t, t + 1), layer, slice(None), slice(None))
                        key = description.times.text(t), hashlib.sha256(got.tobytes()).digest()
                        if key not in left and np.isnan(got).all():
                            absent -= 1
                            continue
                        left[key] -= 1
                        count -= 1
    assert (count, absent) == (0, 0)
    assert not any(left.values())


def test_the_two_that_are_refused_are_refused_by_eccodes_too(shared_data: Path) -> None:
    for name in ("spherical_harmonics.grib", "regular_gg_wrong_increment.grib"):
        with (shared_data / "grib" / name).open("rb") as file:
            handle = eccodes.codes_grib_new_from_file(file)
        with pytest.raises(eccodes.CodesInternalError):
            eccodes.codes_get_array(handle, "latitudes")
        eccodes.codes_release(handle)


if __name__ == "__main__":
    folder = Path(__file__).resolve().parents[3] / "shared" / "data" / "grib"
    TABLE.write_text(written([row for path in sorted(folder.iterdir()) for row in table_rows(path)]), "utf-8")
