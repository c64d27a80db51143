"""Datasets that grow: made of the first times of arrays, then appended to, updated or replaced with parts of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import Array, Description, Item, ItemStorage
from mdstudio.engine.operations.append import append_times
from mdstudio.engine.operations.replace import replace_dataset
from mdstudio.engine.operations.update import update_times
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import MapRequest, SeriesRequest
from mdstudio.engine.settings import Settings
from mdstudio.engine.storage import BlobStorage, FolderStorage
from mdstudio.engine.times import TimeAxis
from mdstudio.engine.writer import WriteSummary, create_dataset
from tests.engine.made_datasets import HOUR, Arrays, description, item, item_storage, same_bits, smooth

TYPES: tuple[Any, ...] = ("SingleTimestep", "MultiTimestep", "TimeSeries")
CODECS: tuple[tuple[str, int | None, bool], ...] = (  # compression, layout version, fixed step
    ("None", 3, True), ("None", 3, False), ("ZstdAuto", 3, True), ("ZstdAuto", 3, False), ("LZ4", 1, True),
    ("LZ4", 1, False), ("LZ4", 2, False), ("DeflateFast", 3, False))


def layouts() -> list[Any]:
    """Every storage type with every codec; the fixed step matters for TimeSeries only."""
    found = [(t, item_storage(t, c, version=v, fixed_step=f)) for t in TYPES for c, v, f in CODECS
             if f or t == "TimeSeries"]
    found += [("SingleTimestep", item_storage("SingleTimestep", c, version=None)) for c in ("LZ4", "DeflateOptimal")]
    found += [("MultiTimestep", item_storage("MultiTimestep", "ZstdAuto", group=1)),
              ("SingleTimestep", item_storage("SingleTimestep", "LZ4", width=1, version=1))]  # D17
    return found


def layout_id(kept: ItemStorage) -> str:
    step = "-fixed" if kept.fixed_step else "-variable" if kept.storage_type == "TimeSeries" else ""
    return (f"{kept.storage_type}-{kept.compression}-v{kept.layout_version}{step}-w{kept.grid_tile_width}"
            f"-g{kept.time_group_size}")


LAYOUTS: list[ItemStorage] = [kept for _, kept in layouts()]


def made_values(times: int = 9, seed: int = 0) -> dict[str, Array]:
    """Two items: int16 with pages and a whole timestep of no-data, and layered float32."""
    plain = smooth(times, 1, 20, 18, seed=seed)
    plain[:, :, :16, 16:] = -999
    plain[4] = -999
    return {"plain": plain, "deep": smooth(times, 2, 20, 18, "float32", seed + 1)}


def items_of(values: Mapping[str, Array]) -> tuple[Item, ...]:
    return item("plain", values["plain"], -999, unit="m"), item("deep", values["deep"], layered=True)


def part(values: Mapping[str, Array], times: Sequence[int], first: int = 0, **more: Any) -> Description:
    """The description of some times of the arrays (hours since 1970 from `first`)."""
    chosen = description(values, items_of(values), **more)
    moments = (np.asarray(times, np.int64) + first) * HOUR
    return replace(chosen, times=TimeAxis(moments), source=({"file": f"{times[0]}-{times[-1]}.nc"},))


def reader_of(values: Mapping[str, Array], times: Sequence[int]) -> Arrays:
    return Arrays({name: array[list(times)] for name, array in values.items()})


def environ(workers: int = 2) -> dict[str, str]:
    return {"MD_ENCODE_WORKERS": str(workers), "MD_DEFAULT_GRID_COMPRESSION": "LZ4",
            "MD_DEFAULT_TIMESERIES_COMPRESSION": "DeflateFast"}


def create(storage: BlobStorage, values: Mapping[str, Array], times: Sequence[int], kept: ItemStorage) -> WriteSummary:
    return create_dataset(storage, "made", part(values, times), reader_of(values, times), Settings(kept, (), {}),
                          Progress(), environ())


def grown(folder: Path, values: Mapping[str, Array], kept: ItemStorage, first: int = 4) -> FolderStorage:
    """A dataset of the first times."""
    storage = FolderStorage(folder)
    create(storage, values, range(first), kept)
    return storage


def append(storage: BlobStorage, values: Mapping[str, Array], times: Sequence[int], *, workers: int = 2,
           given: Mapping[str, Any] | None = None, progress: Progress | None = None) -> WriteSummary:
    return append_times(storage, part(values, times), reader_of(values, times), given or {}, progress or Progress(),
                        environ(workers))


def update(storage: BlobStorage, values: Mapping[str, Array], times: Sequence[int], *, workers: int = 2,
           given: Mapping[str, Any] | None = None, progress: Progress | None = None) -> WriteSummary:
    return update_times(storage, part(values, times), reader_of(values, times), given or {}, progress or Progress(),
                        environ(workers))


def replace_all(storage: BlobStorage, values: Mapping[str, Array], times: Sequence[int], kept: ItemStorage, *,
                progress: Progress | None = None) -> WriteSummary:
    return replace_dataset(storage, "new", part(values, times), reader_of(values, times), Settings(kept, (), {}),
                           progress or Progress(), environ())


def holds(dataset: Dataset | BlobStorage | Path, values: Mapping[str, Array], times: Sequence[int],
          among: Sequence[int] | None = None) -> bool:
    """Whether a dataset lists exactly these times (or `among`) and reads them to the bit, as maps and as series."""
    found = dataset if isinstance(dataset, Dataset) else Dataset.open(
        FolderStorage(dataset) if isinstance(dataset, Path) else dataset)
    listed = (found.metadata.times.microseconds // HOUR).tolist()
    if listed != list(times if among is None else among):
        return False
    positions = [listed.index(t) for t in times]
    return all(_reads(found, name, layer, values[name][:, layer], times, positions)
               for name in values for layer in range(values[name].shape[1]))


def _reads(dataset: Dataset, name: str, layer: int, values: Array, times: Sequence[int], positions: list[int]) -> bool:
    asked = layer if dataset.item(name).layers else None
    maps = all(same_bits(dataset.map(MapRequest(name, at, asked)).stored, values[t])
               for t, at in zip(times, positions, strict=True))
    cells = ((0, 0), (19, 17), (7, 3))
    series = dataset.series(SeriesRequest(name, tuple((float(c), float(r)) for r, c in cells), layer=asked)).stored
    wanted = np.stack([values[list(times), r, c] for r, c in cells], axis=1)
    return maps and same_bits(np.ascontiguousarray(series[positions]), np.ascontiguousarray(wanted))


def listed_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.suffix in (".dat", ".idx"))


def left_files(folder: Path) -> list[str]:
    """Files that no blob is: side files of writes."""
    return [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names
            if not name.endswith((".dat", ".idx", ".bin", ".json", ".blocks"))]
