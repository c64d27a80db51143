"""The datasets that are mutated: small, of every layout, of codecs with and without checksums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdstudio.engine.model import Array
from mdstudio.engine.storage import Block, FolderStorage
from tests.engine.made_datasets import blobs, item, item_storage, make, smooth

LAYOUTS = ("SingleTimestep", "MultiTimestep", "TimeSeries")
FORMS = (("ZstdAuto", 3), ("DeflateOptimalAuto", 3), ("LZ4", 3), ("None", 3), ("LZ4", 1), ("DeflateFast", 2),
         ("ZstdAuto", 2))
TIMES = 3


@dataclass(frozen=True)
class Subject:
    """A sound dataset: its blobs, their block lists, and the stored values (time, layer, row, column) by item."""

    layout: str
    compression: str
    version: int
    blobs: Mapping[str, bytes]
    lists: Mapping[str, tuple[Block, ...]]
    values: Mapping[str, Array]

    @property
    def name(self) -> str:
        return f"{self.layout}-{self.compression}-{self.version}"


def subject(folder: Path, layout: Any, compression: str, version: int) -> Subject:
    """Two items, one layered and with no-data, of 6 tiles at 3 times in groups of 2."""
    values = {"a": smooth(TIMES, 2, 8, 11), "b": smooth(TIMES, 1, 8, 11, "float32")}
    values["a"][:, 0, :4, :4] = -9
    items = (item("a", values["a"], no_data=-9, layered=True, scale=0.5, offset=1.0, missing=(7, 8), valid_min=-100,
                  valid_max=100, attributes={"a": [1, 2.5, {"b": "c"}]}), item("b", values["b"]))
    storage = FolderStorage(folder)
    make(folder, values, item_storage(layout, compression, width=4, group=2, block_rows=4, version=version), items,
         source=({"file": "a.nc", "format": "NETCDF4"},), attributes={"title": "made", "$x": [1]},
         time_attributes={"units": "hours"})
    found = blobs(storage)
    lists = {name: storage.block_list(name).blocks for name in found}
    return Subject(layout, compression, version, found, lists, values)
