"""What the Overview says, as text from metadata and listing; nothing here reads, nothing is guessed. No Qt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mdstudio.app import formats
from mdstudio.app.plots.units import unit_text
from mdstudio.app.widgets.table import Cell
from mdstudio.engine.layout.metadata import Metadata
from mdstudio.engine.model import (
    LAYOUT_CHECKSUMS,
    LAYOUT_COMPRESSION,
    LAYOUT_CURRENT,
    LAYOUT_LZ4_ELEMENTS,
    Domain,
    GridDomain,
)
from mdstudio.engine.times import TimeAxis

GRID_WORDS = {"regular": "Regular grid", "projected": "Projected grid", "rotated": "Rotated grid",
              "curvilinear": "Curvilinear grid"}
_LAYOUT_WORDS = {LAYOUT_COMPRESSION: "compression", LAYOUT_LZ4_ELEMENTS: "LZ4 by elements",
                 LAYOUT_CHECKSUMS: "page checksums"}
_COMPRESSION_WORDS = {
    "None": "stored as it is", "DeflateFast": "deflate, fast", "DeflateOptimal": "deflate, best", "LZ4": "LZ4",
    "DeflateOptimalAuto": "deflate · best transform", "ZstdAuto": "zstd · best transform",
    "ZstdFastAuto": "zstd, fast · best transform",
}
_STEPS = ((86_400_000_000, "d", "daily"), (3_600_000_000, "h", "hourly"), (60_000_000, "min", ""), (1_000_000, "s", ""))


@dataclass(frozen=True)
class Fact:
    """A value, what it rests on, and a bar of 0 to 1 where there is one."""

    value: str
    note: str
    bar: float | None = None


def kind_fact(metadata: Metadata, domain: Domain | None) -> Fact:
    """The domain is read after the rest: until then the shape alone is said."""
    if metadata.kind != "grid":
        return Fact("Mesh", f"{formats.count(metadata.cells)} elements")
    cells = f"{formats.count(metadata.shape[1])} × {formats.count(metadata.shape[0])} cells"
    if not isinstance(domain, GridDomain):
        return Fact("Grid", cells)
    return Fact(GRID_WORDS.get(domain.kind, "Grid"), cells + _spacing(domain))


def _spacing(domain: GridDomain) -> str:
    if domain.kind == "curvilinear" or domain.columns < 2:
        return ""
    step = abs(float(domain.x[-1]) - float(domain.x[0])) / (domain.columns - 1)
    if domain.kind in ("regular", "rotated"):
        return f" · {formats.number(step, digits=4)}°"
    return f" · {formats.number(step, digits=4)} {unit_text(domain.x_unit)}".rstrip()


def storage_fact(metadata: Metadata) -> Fact:
    storage = metadata.storage
    group = formats.count(storage.time_group_size or 1)
    notes = {"SingleTimestep": "1 blob a timestep" if not metadata.compressed else "1 blob and index a timestep",
             "MultiTimestep": f"{group} timesteps a blob", "TimeSeries": f"{group} timesteps a group"}
    return Fact(storage.storage_type, notes[storage.storage_type])


def layout_fact(metadata: Metadata) -> Fact:
    version = metadata.storage.layout_version
    if version is None:
        return Fact(formats.DASH, "from before versions")
    words = _LAYOUT_WORDS.get(version, "newer than this build")
    return Fact(str(version), f"{words} · current" if version == LAYOUT_CURRENT else words)


def compression_fact(metadata: Metadata) -> Fact:
    name = metadata.storage.compression
    return Fact(name, _COMPRESSION_WORDS.get(name, "not known to this build"))


def ratio_fact(inspection: Mapping[str, Any] | None) -> Fact:
    if inspection is None:
        return Fact(formats.DASH, "listing blobs")
    stored, raw = inspection["stored_bytes"], inspection["raw_bytes"]
    part = inspection["ratio"]
    amounts = [formats.size(value) for value in (stored, raw)]
    units = [text.rsplit(formats.SPACE, 1)[-1] for text in amounts]
    small = amounts[0].rsplit(formats.SPACE, 1)[0] if units[0] == units[1] else amounts[0]
    return Fact(formats.ratio(stored, raw), f"{small} of {amounts[1]}",
                None if part is None else min(1.0, float(part)))


def times_fact(times: TimeAxis) -> Fact:
    if times.static:
        return Fact("1 step", "no time dimension")
    count = formats.plural(len(times), "step")
    first, last = (times.text(i).split(".")[0].replace("T", " ") for i in (0, len(times) - 1))
    if first[:-9] != last[:-9] or len(times) == 1:
        first, last = (text.removesuffix(" 00:00:00") if len(times) == 1 else text[:-9] for text in (first, last))
    elif first.endswith(":00") and last.endswith(":00"):
        first, last = first[:-3], last[:-3]
    calendar = "" if times.calendar in ("standard", "proleptic_gregorian") else f" · {times.calendar}"
    span = first if len(times) == 1 else f"{first} → {_after(first, last)}"
    return Fact(count, span + step_words(times) + calendar)


def _after(first: str, last: str) -> str:
    """The second of two times without the year, or the day, that it shares with the first."""
    if len(first) == len(last) and first[:10] == last[:10] and len(last) > 10:
        return last[11:]
    return last[5:] if first[:5] == last[:5] else last


def step_words(times: TimeAxis) -> str:
    """` · daily`, ` · 6 h`; "" for an uneven axis."""
    step = times.step()
    for size, unit, word in _STEPS:
        if step and step % size == 0:
            count = step // size
            return f" · {word}" if count == 1 and word else f" · {count} {unit}"
    return ""


def layout_parameters(metadata: Metadata) -> str:
    """The persisted parameters that this storage uses, and sizes of a mesh, by name."""
    storage = metadata.storage
    named = (("Nodes", metadata.nodes or None), ("Element3DCount", metadata.element3d_count or None),
             ("GridTileWidth", storage.grid_tile_width if metadata.kind == "grid" else None),
             ("CompressedMeshPageSize", storage.compressed_mesh_page_size if metadata.kind == "mesh" else None),
             ("ZLevelPagedNodeCount", storage.zlevel_paged_node_count),
             ("SpatialGroupSize", storage.spatial_group_size if metadata.kind == "mesh" else None),
             ("SchemaVersion", metadata.schema_version if metadata.kind == "mesh" else None),
             ("TimeGroupSize", storage.time_group_size),
             ("TimeSeriesBlockRows",
              storage.time_series_block_rows if storage.storage_type == "TimeSeries" else None),
             ("FixedStep", True if storage.fixed_step else None))
    return "   ".join(f"{name} {value}" for name, value in named if value is not None)


def item_rows(metadata: Metadata, inspection: Mapping[str, Any] | None) -> list[tuple[Cell, ...]]:
    """A row an item: name, type, unit, layers, no data, scale, raw MB, stored MB, ratio with a bar."""
    listed = {} if inspection is None else {item["name"]: item for item in inspection["items"]}
    rows: list[tuple[Cell, ...]] = []
    for item in metadata.items:
        known = listed.get(item.name)
        scale = "" if item.scale is None else formats.number(item.scale, digits=4)
        if item.offset:
            scale = f"{scale or '1'}, {'+' if item.offset > 0 else ''}{formats.number(item.offset)}"
        ratio = known["ratio"] if known else None
        rows.append((
            Cell(item.name, item.long_name if item.long_name != item.name else "", icon="layers",
                 tip=f"{item.name}: {item.long_name or item.standard_name}".rstrip(": ")),
            Cell(item.dtype), Cell(unit_text(item.unit) or item.unit or formats.DASH, muted=not item.unit),
            Cell(formats.count(len(item.layers)) if item.layers else formats.DASH, muted=not item.layers),
            Cell(formats.DASH if item.no_data is None else _plain(item.no_data), muted=item.no_data is None),
            Cell(scale or formats.DASH, muted=not scale),
            Cell(formats.megabytes(known["raw_bytes"] if known else None), muted=known is None),
            Cell(formats.megabytes(known["stored_bytes"] if known else None), muted=known is None),
            Cell(formats.ratio(ratio) if ratio is not None else formats.DASH, bar=ratio, muted=ratio is None),
        ))
    return rows


def _plain(value: int | float) -> str:
    if isinstance(value, float) and value != value:
        return "NaN"
    return formats.number(float(value), digits=5)
