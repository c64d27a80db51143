"""`dataset.json` as JSON: made from `Metadata`, and read back with every field checked (format.md, "dataset.json")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from mdstudio.engine.codecs import compression_name
from mdstudio.engine.errors import DamagedDataError, MdError, NotADatasetError, UnsupportedVersionError
from mdstudio.engine.layout.fields import Fields, Json, encode_free, encode_number, from_bytes, merged, to_bytes
from mdstudio.engine.layout.metadata import Metadata, page_width
from mdstudio.engine.model import (
    DTYPES,
    LAYOUT_CURRENT,
    Array,
    Dropped,
    Item,
    ItemStorage,
    Kind,
    LayerAxis,
    Location,
    StorageType,
    ValueKind,
)
from mdstudio.engine.spatial.tiles import MAX_PAGES, MAX_TILE_WIDTH
from mdstudio.engine.times import CALENDARS, TimeAxis

KINDS: Mapping[str, Kind] = {"Grid": "grid", "Mesh": "mesh"}
LOCATIONS: Mapping[str, Location] = {"Cell": "cell", "Node": "node"}
VALUE_KINDS: Mapping[str, ValueKind] = {"Single": "single", "Vector": "vector", "ZLevel": "zlevel", "Sigma": "sigma"}
_MAX_INT = 2**31 - 1
_MAX_CELLS = 2**40
_MAX_TIMES = 2**24  # 128 MB of memory that one line of the document may claim

# The fields that this build knows, of each object; others are kept as they stand (V8).
_TOP = frozenset([
    "SchemaVersion", "Name", "Kind", "ItemStorage", "Items", "Times", "SpatialDomain", "DataSizeBytes", "Source",
    "Attributes", "TimeAttributes", "Dropped",
])
_STORAGE = frozenset([
    "StorageType", "Compression", "LayoutVersion", "TimeGroupSize", "GridTileWidth", "CompressedMeshPageSize",
    "TimeSeriesBlockRows", "SpatialGroupSize", "ZLevelPagedNodeCount", "FixedStep",
])
_ITEM = frozenset([
    "Name", "Folder", "DataType", "Unit", "LongName", "StandardName", "NoData", "Missing", "ValidMin", "ValidMax",
    "Scale", "Offset", "Decoded", "Layers", "ValueKind", "Components", "Location", "Attributes",
])
_LAYERS = frozenset(["Name", "Values", "Unit", "Positive", "Meaning", "DataType", "Attributes"])
_TIMES = frozenset(["Calendar", "Static", "Count", "Runs"])
_DOMAIN = frozenset(["Blob", "Rows", "Columns", "Elements", "Nodes", "Element3DCount", "Sigma"])
_DROPPED = frozenset(["What", "Reason", "Count"])


# ---------------------------------------------------------------------------------------------------------- writing

def render_document(metadata: Metadata) -> bytes:
    """The bytes of `dataset.json`: UTF-8 JSON, PascalCase keys, numbers exact to the bit."""
    raw = metadata.raw
    known: dict[str, Json] = {
        "SchemaVersion": metadata.schema_version,
        "Name": metadata.name,
        "Kind": _name_of(KINDS, metadata.kind),
        "ItemStorage": merged(raw.get("ItemStorage"), _storage_json(metadata.storage), _STORAGE),
        "Items": [_item_json(item, metadata.folders[item.name], raw_item)
                  for item, raw_item in _with_raw(metadata.items, raw.get("Items"))],
        "Times": merged(raw.get("Times"), _times_json(metadata.times), _TIMES),
        "SpatialDomain": merged(raw.get("SpatialDomain"), _domain_json(metadata), _DOMAIN),
        "DataSizeBytes": metadata.data_size_bytes,
        "Source": [encode_free(dict(entry), "Source") for entry in metadata.source],
        "Attributes": encode_free(dict(metadata.attributes), "Attributes"),
        "TimeAttributes": encode_free(dict(metadata.time_attributes), "TimeAttributes"),
        "Dropped": [_dropped_json(part, raw.get("Dropped")) for part in metadata.dropped],
    }
    return to_bytes(merged(raw, known, _TOP))


def _name_of(names: Mapping[str, Any], value: object) -> str:
    return next((name for name, known in names.items() if known == value), str(value))


def _storage_json(storage: ItemStorage) -> dict[str, Json]:
    known: dict[str, Json] = {
        "StorageType": storage.storage_type,
        "Compression": storage.compression,
        "LayoutVersion": storage.layout_version,
        "TimeGroupSize": storage.time_group_size,
        "GridTileWidth": storage.grid_tile_width,
        "CompressedMeshPageSize": storage.compressed_mesh_page_size,
        "TimeSeriesBlockRows": storage.time_series_block_rows,
        "SpatialGroupSize": storage.spatial_group_size,
        "ZLevelPagedNodeCount": storage.zlevel_paged_node_count,
        "FixedStep": storage.fixed_step,
    }
    return {key: value for key, value in known.items() if value is not None}


def _with_raw(items: tuple[Item, ...], raw: Json) -> list[tuple[Item, Json]]:
    """Each item with the JSON object that it was loaded from, matched by name."""
    by_name = {entry.get("Name"): entry for entry in raw if isinstance(entry, dict)} if isinstance(raw, list) else {}
    return [(item, by_name.get(item.name)) for item in items]


def _item_json(item: Item, folder: str, raw: Json) -> dict[str, Json]:
    known: dict[str, Json] = {
        "Name": item.name,
        "Folder": folder,
        "DataType": item.dtype,
        "Unit": item.unit,
        "LongName": item.long_name,
        "StandardName": item.standard_name,
        "NoData": encode_number(item.no_data),
        "Missing": [encode_number(value) for value in item.missing],
        "ValidMin": encode_number(item.valid_min),
        "ValidMax": encode_number(item.valid_max),
        "Scale": encode_number(item.scale),
        "Offset": encode_number(item.offset),
        "Decoded": item.decoded,
        "Layers": _layers_json(item.layers, raw.get("Layers") if isinstance(raw, dict) else None),
        "ValueKind": _name_of(VALUE_KINDS, item.value_kind),
        "Components": item.components,
        "Location": _name_of(LOCATIONS, item.location),
        "Attributes": encode_free(dict(item.attributes), f"the attributes of {item.name}"),
    }
    return merged(raw, {key: value for key, value in known.items() if value is not None}, _ITEM)


def _layers_json(layers: LayerAxis | None, raw: Json) -> Json:
    if layers is None:
        return None
    return merged(raw, {
        "Name": layers.name,
        "Values": [encode_number(value) for value in layers.values],
        "Unit": layers.unit,
        "Positive": layers.positive,
        "Meaning": layers.meaning,
        "DataType": layers.dtype,
        "Attributes": encode_free(dict(layers.attributes), f"the attributes of {layers.name}"),
    }, _LAYERS)


def _times_json(times: TimeAxis) -> dict[str, Json]:
    return {"Calendar": times.calendar, "Static": times.static, "Count": len(times), "Runs": _runs(times.microseconds)}


def _runs(values: Array) -> list[list[int]]:
    """Greedy runs of equal step, [first, step, count]: one for an equidistant axis, whatever its length."""
    if not values.size:
        return []
    steps = np.diff(values)
    changes = [*(np.flatnonzero(np.diff(steps)) + 1).tolist(), steps.size]  # first step of each stretch but the first
    runs, start, size = [], 0, int(values.size)
    for change in changes:
        if change <= start and start:  # the run before took this stretch's first time
            continue
        end = min(size, change + 1)
        runs.append([int(values[start]), int(steps[start]) if end - start > 1 else 0, end - start])
        start = end
        if start >= size:
            break
    if start < size:
        runs.append([int(values[start]), 0, size - start])
    return runs


def _domain_json(metadata: Metadata) -> dict[str, Json]:
    known: dict[str, Json] = {"Blob": metadata.domain_blob}
    if metadata.kind == "grid":
        return known | {"Rows": metadata.shape[0], "Columns": metadata.shape[1]}
    known |= {"Elements": metadata.cells, "Nodes": metadata.nodes}
    return known | ({"Element3DCount": metadata.element3d_count, "Sigma": True} if metadata.sigma else {})


def _dropped_json(part: Dropped, raw: Json) -> dict[str, Json]:
    before = next((entry for entry in (raw if isinstance(raw, list) else []) if isinstance(entry, dict)
                   and entry.get("What") == part.what and entry.get("Reason") == part.reason), None)
    return merged(before, {"What": part.what, "Reason": part.reason, "Count": part.count}, _DROPPED)


# ---------------------------------------------------------------------------------------------------------- reading

def parse_document(data: bytes, where: str) -> Metadata:
    """The metadata in the bytes of `dataset.json`.

    Raises `DamagedDataError` naming the key, what was expected and what was found; `NotADatasetError` for JSON that is
    something else; `UnsupportedVersionError` instead of either where the layout version is newer than this one's (V5).
    """
    raw = from_bytes(data, where)
    if not any(key in raw for key in ("ItemStorage", "Items", "SpatialDomain")):
        raise NotADatasetError("This is JSON, but no MD metadata: it has neither ItemStorage nor Items.", where=where)
    try:
        return _parse(Fields(raw, "", where))
    except MdError as error:
        version = raw["ItemStorage"].get("LayoutVersion") if isinstance(raw.get("ItemStorage"), dict) else None
        if isinstance(version, int) and version > LAYOUT_CURRENT:
            raise UnsupportedVersionError(
                f"The dataset has layout version {version}, this build knows up to {LAYOUT_CURRENT} ({error.message})",
                where=where, advice="Open it with a newer build.") from None
        raise


def _parse(top: Fields) -> Metadata:
    kind = top.choice("Kind", KINDS)
    domain = top.object("SpatialDomain")
    storage = _parse_storage(top.object("ItemStorage"), kind)
    items, folders = _parse_items(top)
    metadata = Metadata(
        kind=kind,
        name=top.text("Name", ""),
        shape=_parse_shape(domain, kind),
        items=items,
        times=_parse_times(top.object("Times")),
        storage=storage,
        domain_blob=_blob_name(domain, "Blob"),
        folders=folders,
        data_size_bytes=top.integer("DataSizeBytes", 0, 2**63 - 1, None),
        schema_version=top.integer("SchemaVersion", 0, _MAX_INT, 1),
        sigma=domain.flag("Sigma", False),
        nodes=domain.integer("Nodes", 1, _MAX_INT) if kind == "mesh" else 0,
        element3d_count=domain.integer("Element3DCount", 1, _MAX_CELLS, 0),
        attributes=top.free("Attributes"),
        source=tuple(_free(entry) for entry in top.objects("Source", ())),
        dropped=tuple(Dropped(d.text("What"), d.text("Reason"), d.integer("Count", 0, 2**63 - 1, 1))
                      for d in top.objects("Dropped", ())),
        time_attributes=top.free("TimeAttributes"),
        raw=top.data,
    )
    _check_pages(metadata, top.where)
    return metadata


def _free(entry: Fields) -> dict[str, Any]:
    return Fields({"": entry.data}, entry.path, entry.where).free("")


def _blob_name(fields: Fields, key: str) -> str:
    """A name of a blob or folder directly below the dataset: never a path that leads elsewhere."""
    name = fields.text(key)
    if not name or len(name) > 200 or any(c in '/\\:*?"<>|' or ord(c) < 32 for c in name) or set(name) == {"."}:
        raise fields.damaged(key, "the name of a blob or folder")
    return name


def _parse_shape(domain: Fields, kind: Kind) -> tuple[int, int]:
    if kind == "mesh":
        return 1, domain.integer("Elements", 1, _MAX_INT)
    return domain.integer("Rows", 1, _MAX_INT), domain.integer("Columns", 1, _MAX_INT, 1)


def _check_pages(metadata: Metadata, where: str) -> None:
    """Refuse sizes that no dataset has, before anything is sized by them."""
    shapes = {(1, metadata.values_of(item)) for item in metadata.items} if metadata.kind == "mesh" else set()
    width = page_width(metadata)
    for rows, columns in (metadata.shape, *shapes):
        if rows * columns > _MAX_CELLS or -(-rows // width) * -(-columns // width) > MAX_PAGES:
            raise DamagedDataError(f"SpatialDomain: expected at most 2^40 cells in at most {MAX_PAGES} pages, found "
                                   f"{rows} x {columns} cells in pages of width {width}.", where=where)


def _parse_storage(fields: Fields, kind: Kind) -> ItemStorage:
    """The settings; a storage type or compression that this build does not know is kept, for the guards to refuse."""
    compression = fields.data.get("Compression", "None")
    if isinstance(compression, bool) or not isinstance(compression, str | int) or compression == "":
        raise fields.damaged("Compression", "the name of a compression")
    storage_type = fields.text("StorageType")
    grouped = storage_type in ("MultiTimestep", "TimeSeries")
    width = fields.integer("GridTileWidth", 1, MAX_TILE_WIDTH, 128 if kind == "grid" else None)
    return ItemStorage(
        storage_type=cast(StorageType, storage_type),
        compression=compression_name(compression),
        time_group_size=fields.integer("TimeGroupSize", 1, _MAX_INT, *(() if grouped else (None,))),
        grid_tile_width=width,
        compressed_mesh_page_size=fields.integer("CompressedMeshPageSize", 1, MAX_TILE_WIDTH, None),
        time_series_block_rows=fields.integer("TimeSeriesBlockRows", 1, _MAX_INT, None),
        spatial_group_size=fields.integer("SpatialGroupSize", 1, MAX_TILE_WIDTH if kind == "mesh" else _MAX_INT, None),
        zlevel_paged_node_count=fields.integer("ZLevelPagedNodeCount", 1, 2**62, None),
        fixed_step=fields.flag("FixedStep", False),
        layout_version=fields.integer("LayoutVersion", 1, _MAX_INT, None),
    )


def _parse_items(top: Fields) -> tuple[tuple[Item, ...], dict[str, str]]:
    items: list[Item] = []
    folders: dict[str, str] = {}
    for fields in top.objects("Items"):
        item = _parse_item(fields)
        folder = _blob_name(fields, "Folder")
        if item.name in folders:
            raise fields.damaged("Name", "a name that no other item has")
        if folder in folders.values():
            raise fields.damaged("Folder", "a folder that no other item has")
        items.append(item)
        folders[item.name] = folder
    return tuple(items), folders


def _parse_item(fields: Fields) -> Item:
    name = fields.text("Name")
    if not name:
        raise fields.damaged("Name", "a name")
    return Item(
        name=name,
        dtype=fields.choice("DataType", {name: name for name in DTYPES}),
        unit=fields.text("Unit", ""),
        long_name=fields.text("LongName", ""),
        standard_name=fields.text("StandardName", ""),
        no_data=fields.number("NoData", None),
        missing=fields.numbers("Missing", ()),
        valid_min=fields.number("ValidMin", None),
        valid_max=fields.number("ValidMax", None),
        scale=_float(fields, "Scale"),
        offset=_float(fields, "Offset"),
        decoded=fields.choice("Decoded", {"float32": "float32", "float64": "float64"}, "float64"),
        layers=_parse_layers(fields),
        value_kind=fields.choice("ValueKind", VALUE_KINDS, "single"),
        components=fields.integer("Components", 1, 1_000_000, 1),
        location=fields.choice("Location", LOCATIONS, "cell"),
        attributes=fields.free("Attributes"),
    )


def _float(fields: Fields, key: str) -> float | None:
    value = fields.number(key, None)
    return None if value is None else float(value)


def _parse_layers(fields: Fields) -> LayerAxis | None:
    if fields.data.get("Layers") is None:
        return None
    layers = fields.object("Layers")
    values = tuple(float(value) for value in layers.numbers("Values"))
    if not 1 <= len(values) <= 10_000:
        raise layers.damaged("Values", "1 to 10000 layers")
    return LayerAxis(
        name=layers.text("Name", ""), values=values, unit=layers.text("Unit", ""), positive=layers.text("Positive", ""),
        meaning=layers.text("Meaning", "index"), dtype=layers.text("DataType", "float64"),
        attributes=layers.free("Attributes"),
    )


def _parse_times(fields: Fields) -> TimeAxis:
    expected = "runs [first, step, count] of strictly increasing microseconds"
    count = fields.integer("Count", 0, _MAX_TIMES)
    total, last, runs = 0, -2**62, fields.items("Runs")
    for run in runs:
        if not isinstance(run, list) or len(run) != 3 or any(type(n) is not int for n in run):
            raise fields.damaged("Runs", expected)
        first, step, length = run
        total += length
        increasing = first > last and (step > 0 or length == 1)
        last = first + step * (length - 1)
        if length < 1 or total > count or not increasing or max(abs(first), abs(last), abs(step)) >= 2**62:
            raise fields.damaged("Runs", f"{expected}, {count} in all")
    if total != count:
        raise fields.damaged("Runs", f"{expected}, {count} in all")
    try:
        values = _expanded(runs)
    except MemoryError:
        raise fields.damaged("Count", "times that fit in memory") from None
    return TimeAxis(values, fields.choice("Calendar", {name: name for name in CALENDARS}, "standard"),
                    fields.flag("Static", False))


def _expanded(runs: list[list[int]]) -> Array:
    """(times,) int64 of runs [first, step, count], in one array: differences, then their sums."""
    if not runs:
        return np.zeros(0, np.int64)
    first, step, count = np.array(runs, np.int64).T
    values: Array = np.repeat(step, count)
    values[0] = first[0]
    values[np.cumsum(count)[:-1]] = first[1:] - (first + step * (count - 1))[:-1]
    return np.cumsum(values, out=values)
