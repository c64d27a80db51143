"""The datasets that are mutated: small, of every layout, of codecs with and without checksums, grids and meshes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import Description, Item, LayerAxis
from mdstudio.engine.requests import MapRequest
from mdstudio.engine.storage import BlobStorage, Block, FolderStorage
from tests.engine.made_datasets import (
    Made,
    axis,
    blobs,
    item,
    item_storage,
    make,
    make_kind,
    mesh,
    smooth,
    values_of,
)

LAYOUTS = ("SingleTimestep", "MultiTimestep", "TimeSeries")
FORMS = (("grid", "ZstdAuto", 3), ("grid", "DeflateOptimalAuto", 3), ("grid", "LZ4", 3), ("grid", "None", 3),
         ("grid", "LZ4", 1), ("grid", "DeflateFast", 2), ("grid", "ZstdAuto", 2), ("mesh", "ZstdAuto", 3),
         ("mesh", "None", 3))
TIMES = 3
Slice = tuple[str, int, int | None]  # item, time, layer


@dataclass(frozen=True)
class Subject:
    """A sound dataset: its blobs, their block lists, and the bytes of the stored values of every slice."""

    kind: str
    layout: str
    compression: str
    version: int
    blobs: Mapping[str, bytes]
    lists: Mapping[str, tuple[Block, ...]]
    values: Mapping[Slice, bytes]

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.layout}-{self.compression}-{self.version}"


def subject(folder: Path, kind: str, layout: Any, compression: str, version: int) -> Subject:
    """A dataset at 3 times in groups of 2."""
    storage = FolderStorage(folder)
    if kind == "grid":
        _grid(folder, layout, compression, version)
    else:
        _mesh(folder, layout, compression)
    found = blobs(storage)
    lists = {name: storage.block_list(name).blocks for name in found}
    return Subject(kind, layout, compression, version, found, lists, dict(stored_values(storage)))


def _grid(folder: Path, layout: Any, compression: str, version: int) -> None:
    """Two items, one layered and with no-data, of 6 tiles."""
    values = {"a": smooth(TIMES, 2, 8, 11), "b": smooth(TIMES, 1, 8, 11, "float32")}
    values["a"][:, 0, :4, :4] = -9
    items = (item("a", values["a"], no_data=-9, layered=True, scale=0.5, offset=1.0, missing=(7, 8), valid_min=-100,
                  valid_max=100, attributes={"a": [1, 2.5, {"b": "c"}]}), item("b", values["b"]))
    make(folder, values, item_storage(layout, compression, width=4, group=2, block_rows=4, version=version), items,
         source=({"file": "a.nc", "format": "NETCDF4"},), attributes={"title": "made", "$x": [1]},
         time_attributes={"units": "hours"})


def _mesh(folder: Path, layout: Any, compression: str) -> None:
    """Values of elements, of nodes and, where the layout takes them, z-levels (compressed) or sigma layers."""
    domain = mesh(5, 4, sigma=compression == "None")
    depths = LayerAxis("depth", (0.0, 1.0, 2.0, 3.0))
    items = [Item("a", "int16", no_data=-9), Item("b", "float32", location="node")]
    if compression == "None":
        items.append(Item("c", "float32", value_kind="sigma", layers=depths))
    elif layout != "TimeSeries":
        items.append(Item("c", "float32", value_kind="zlevel", location="node", layers=depths))
    values = {one.name: smooth(TIMES, 1 if one.layers is None else 4, 1, values_of(domain, one), one.dtype)
              for one in items}
    made = Made(Description(domain, axis(TIMES), tuple(items)), values)
    make_kind(folder, made, layout, compression, page=16, group=2)


def stored_values(storage: BlobStorage) -> Mapping[Slice, bytes]:
    """The bytes of every slice, with their type and shape."""
    opened, found = Dataset.open(storage), {}
    for one in opened.metadata.items:
        for layer in range(len(one.layers)) if one.layers else (None,):
            for time in range(len(opened.metadata.times)):
                found[one.name, time, layer] = slice_bytes(opened.map(MapRequest(one.name, time, layer)).stored)
    return found


def slice_bytes(values: Any) -> bytes:
    """What makes two slices the same: type, shape, bits."""
    return f"{values.dtype} {values.shape} ".encode() + values.tobytes()
