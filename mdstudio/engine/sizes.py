"""Stored bytes of items and times from listings and indexes, and the facts of `inspect`; no page is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdstudio.engine.layout import multi, names
from mdstudio.engine.layout.guards import Guard
from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.layout.metadata import Metadata
from mdstudio.engine.model import Array
from mdstudio.engine.progress import Progress
from mdstudio.engine.reading.again import once_more
from mdstudio.engine.reading.threads import read_all
from mdstudio.engine.storage import BlobStorage


@dataclass(frozen=True)
class Sizes:
    """Stored and raw bytes of a dataset.

    Attributes:
        items: names.
        stored: (item, time) int64, indexes included: the index block of a group, and the bytes of a TimeSeries group,
            are spread evenly over its times. Sums up to what lies in the item's blobs of listed times.
        raw: (item,) int64 raw bytes of one time.
        other_bytes: metadata, domain and data blobs of no listed time.
    """

    items: tuple[str, ...]
    stored: Array
    raw: Array
    other_bytes: int


def read_sizes(
    storage: BlobStorage, metadata: Metadata, layouts: Sequence[ItemLayout], progress: Progress | None = None
) -> Sizes:
    """The sizes of a dataset: one listing, and for a compressed MultiTimestep the index of each group.

    `progress` counts groups. Raises as reading the indexes does.
    """
    progress = progress or Progress()
    blobs = {blob.name: blob.length for blob in storage.list_blobs()}
    stored = np.zeros((len(layouts), len(metadata.times)), np.int64)
    progress.start(sum(layout.item.layer_count * layout.groups for layout in layouts), "groups")
    for row, layout in zip(stored, layouts, strict=True):
        jobs = [(layer, group) for layer in layout.item.layer_ids() for group in range(layout.groups)]

        def add(job: tuple[int, int], row: Array = row, layout: ItemLayout = layout) -> tuple[int, int, Array]:
            start, stop = layout.group_times(job[1])
            found = _group_bytes(storage, layout, *job, blobs)
            progress.advance()
            return start, stop, found

        for start, stop, found in read_all(add, jobs):
            row[start:stop] += found
    raw = np.array([metadata.raw_bytes(item) for item in metadata.items], np.int64)
    return Sizes(tuple(layout.item.name for layout in layouts), stored, raw,
                 sum(blobs.values()) - int(stored.sum()))


def _group_bytes(
    storage: BlobStorage, layout: ItemLayout, layer: int, group: int, blobs: Mapping[str, int]
) -> Array:
    """(times,) bytes of each time of one layer's group."""
    start, stop = layout.group_times(group)
    match layout.stored_as:
        case "SingleTimestep":
            blob = layout.step_blob(layer, start)
            return np.array([blobs.get(blob, 0) + blobs.get(names.index_blob(blob), 0)], np.int64)
        case "MultiTimestep":
            length = blobs.get(layout.group_blob(layer, group), 0)
            if not layout.format.compressed:
                return _spread(length, stop - start)
            index = once_more(lambda: multi.read_index(storage, layout, layer, group))
            found: Array = index.lengths[:stop - start].sum(axis=1, dtype=np.int64)
            return found + _spread(index.length - int(index.lengths.sum(dtype=np.int64)), stop - start)
        case _:
            total = sum(blobs.get(layout.series_blob(layer, page, group), 0) for page in range(layout.tiles.pages))
            return _spread(total, stop - start)


def _spread(total: int, parts: int) -> Array:
    """(parts,) int64 that add up to a total, as even as whole numbers are."""
    bounds = np.array([total * i // parts for i in range(parts + 1)], np.int64)
    return np.diff(bounds)


def stored_by_item(storage: BlobStorage, metadata: Metadata) -> dict[str, int]:
    """The bytes in each item's folder, from a listing."""
    return {item.name: sum(blob.length for blob in storage.list_blobs(metadata.folders[item.name] + "/"))
            for item in metadata.items}


def inspection(storage: BlobStorage, metadata: Metadata, guards: Iterable[Guard]) -> dict[str, Any]:
    """The document of `inspect --json` (design 5a)."""
    stored = stored_by_item(storage, metadata)
    kept, times = metadata.storage, metadata.times
    items: list[dict[str, Any]] = []
    for item in metadata.items:
        raw = metadata.raw_bytes(item) * len(times)
        items.append({
            "name": item.name, "type": item.dtype, "unit": item.unit, "no_data": item.no_data,
            "scale": item.scale, "offset": item.offset,
            "layers": len(item.layers) if item.layers else None,
            "raw_bytes": raw, "stored_bytes": stored[item.name], "ratio": _ratio(stored[item.name], raw),
        })
    raw_bytes, stored_bytes = sum(i["raw_bytes"] for i in items), sum(stored.values())
    count = len(times)
    return {
        "location": storage.location,
        "kind": metadata.kind,
        "storage_type": kept.storage_type,
        "layout_version": kept.layout_version,
        "compression": kept.compression,
        "time_group_size": kept.time_group_size,
        "grid_tile_width": kept.grid_tile_width,
        "compressed_mesh_page_size": kept.compressed_mesh_page_size,
        "time_series_block_rows": kept.time_series_block_rows,
        "spatial_group_size": kept.spatial_group_size,
        "schema_version": metadata.schema_version,
        "data_size_bytes": metadata.data_size_bytes,
        "times": {"count": count, "first": times.text(0) if count else "",
                  "last": times.text(count - 1) if count else "", "calendar": times.calendar},
        "items": items,
        "raw_bytes": raw_bytes,
        "stored_bytes": stored_bytes,
        "ratio": _ratio(stored_bytes, raw_bytes),
        "guards": [{"code": guard.code, "message": guard.message, "advice": guard.advice} for guard in guards],
    }


def _ratio(stored: int, raw: int) -> float | None:
    return stored / raw if raw else None
