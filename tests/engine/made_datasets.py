"""Small datasets made from arrays: the array itself is the oracle of every read. Deterministic, all of it.

Grids: `description`, `item_storage`, `write`, `make` of (time, layer, row, column) arrays by item name.

Every kind of dataset (K1): `KINDS` names them, `kind_of(name)` makes one as `Made` (a description, the arrays in
source order, what compression it admits), `write_kind` and `make_kind` write it in a storage type with a compression.
Arrays of meshes are (time, layer, 1, values in source order), of vectors (..., components). `mesh(...)` makes a mesh
alone, `mesh_parts(...)` its arrays in source order; `expected_values(made, item, time, layer)` gives each element or
node its value by its number in the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import (
    LAYOUT_CURRENT,
    Array,
    Description,
    GridDomain,
    Item,
    ItemStorage,
    LayerAxis,
    MeshDomain,
    StorageType,
    values_of,
)
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import Settings, choose_settings
from mdstudio.engine.spatial.mesh_index import index_mesh
from mdstudio.engine.storage import BlobStorage, FolderStorage, Wrapper
from mdstudio.engine.times import TimeAxis
from mdstudio.engine.writer import WriteSummary, create_dataset

HOUR = 3_600_000_000


@dataclass
class Arrays:
    """A slice reader over (time, layer, row, column) arrays by item name; keeps what it was asked for."""

    values: Mapping[str, Array]
    asked: list[tuple[str, slice, int, slice, slice]] = field(default_factory=list)

    def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        self.asked.append((item, times, layer, rows, columns))
        return np.ascontiguousarray(self.values[item][times, max(layer, 0), rows, columns])


class Watched(Wrapper):
    """A storage that calls `before` and `after` with (call, blob, number of the call) around every request.

    What they raise is the request's failure: before its effect, or after it, as a lost answer is.
    """

    def __init__(self, inner: BlobStorage) -> None:
        super().__init__(inner)
        self.before: Callable[[str, str, int], None] = lambda call, name, number: None
        self.after: Callable[[str, str, int], None] = lambda call, name, number: None
        self.calls: list[tuple[str, str]] = []

    def _request(self, call: str, name: str, request: Callable[[], Any]) -> Any:
        self.calls.append((call, name))
        number = len(self.calls)
        self.before(call, name, number)
        result = request()
        self.after(call, name, number)
        return result


def axis(count: int, *, irregular: bool = False) -> TimeAxis:
    """Hours since 1970; with a gap after the first when irregular."""
    hours = np.arange(count, dtype=np.int64)
    return TimeAxis((hours + (hours > 0) * irregular) * HOUR)


def item(name: str, values: Array, no_data: float | int | None = None, layered: bool = False, **more: Any) -> Item:
    layers = LayerAxis("depth", tuple(float(i) for i in range(values.shape[1])), "m") if layered else None
    return Item(name, values.dtype.newbyteorder("=").name, no_data=no_data, layers=layers, **more)


def description(values: Mapping[str, Array], items: tuple[Item, ...] | None = None, *, irregular: bool = False,
                **more: Any) -> Description:
    """A projected grid of cells of 1 x 1 whose centre (row r, column c) is x = c, y = r."""
    first = next(iter(values.values()))
    domain = GridDomain("projected", np.arange(first.shape[3], dtype=np.float64),
                        np.arange(first.shape[2], dtype=np.float64))
    return Description(domain, axis(len(first), irregular=irregular),
                       items or tuple(item(n, v, layered=v.shape[1] > 1) for n, v in values.items()), **more)


def item_storage(
    storage_type: StorageType, compression: str = "ZstdAuto", *, width: int = 16, group: int = 3, block_rows: int = 5,
    version: int | None = LAYOUT_CURRENT, fixed_step: bool = True,
) -> ItemStorage:
    series = storage_type == "TimeSeries"
    return ItemStorage(
        storage_type, compression, None if storage_type == "SingleTimestep" else group, width,
        time_series_block_rows=block_rows if series else None, spatial_group_size=width * width if series else None,
        fixed_step=fixed_step and series, layout_version=version)


def write(
    storage: BlobStorage, values: Mapping[str, Array], kept: ItemStorage, items: tuple[Item, ...] | None = None, *,
    progress: Progress | None = None, workers: int = 2, reader: Arrays | None = None, **more: Any,
) -> WriteSummary:
    """Write a dataset of arrays."""
    return create_dataset(storage, "made", description(values, items, **more), reader or Arrays(values),
                          Settings(kept, (), {}), progress or Progress(), {"MD_ENCODE_WORKERS": str(workers)})


def make(folder: Path, values: Mapping[str, Array], kept: ItemStorage, items: tuple[Item, ...] | None = None,
         **more: Any) -> Dataset:
    """Write a dataset of arrays into a folder and open it."""
    storage = FolderStorage(folder)
    write(storage, values, kept, items, **more)
    return Dataset.open(storage)


def smooth(times: int, layers: int, rows: int, columns: int, dtype: str = "int16", seed: int = 0) -> Array:
    """A random walk over space that changes a little with time."""
    random = np.random.default_rng(seed)
    field_ = random.integers(-3, 4, (times, layers, rows, columns)).cumsum(axis=2).cumsum(axis=3)
    return (field_ * 0.1 if dtype.startswith("float") else field_).astype(dtype)


def same_bits(left: Array, right: Array) -> bool:
    """Equal in type, shape and every bit."""
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def blobs(storage: BlobStorage) -> dict[str, bytes]:
    """Every blob with its bytes."""
    return {blob.name: storage.read(blob.name).data for blob in storage.list_blobs()}


def files(folder: Path) -> list[str]:
    """Every file below a folder, left-overs of writes included."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# ------------------------------------------------------------------------------------------------------ every kind

STORAGE_TYPES: tuple[StorageType, ...] = ("SingleTimestep", "MultiTimestep", "TimeSeries")
TIMES = 5


@dataclass(frozen=True)
class Made:
    """A dataset of one kind, not written yet.

    Attributes:
        values: by item name, (time, layer, row, column) of a grid, (time, layer, 1, value) of a mesh in source order;
            vectors with one axis more.
        compressed: the storage types in which it may be compressed (K3).
        layouts: the storage types in which it may be stored at all (K5).
    """

    description: Description
    values: Mapping[str, Array]
    compressed: tuple[StorageType, ...] = STORAGE_TYPES
    layouts: tuple[StorageType, ...] = STORAGE_TYPES

    @property
    def mesh(self) -> MeshDomain:
        assert isinstance(self.description.domain, MeshDomain)
        return self.description.domain


def mesh_parts(columns: int = 48, rows: int = 40, seed: int = 1) -> tuple[Array, Array, Array]:
    """(node x, node y, element nodes) in source order: a bent lattice, two of three of its cells quads, the others two
    triangles; nodes and elements shuffled. One node that no element has."""
    random = np.random.default_rng(seed)
    at = np.stack(np.meshgrid(np.arange(columns + 1.0), np.arange(rows + 1.0)), axis=-1).reshape(-1, 2)
    at += random.uniform(-0.2, 0.2, at.shape)
    elements: list[list[int]] = []
    for row in range(rows):
        for column in range(columns):
            a = row * (columns + 1) + column
            b, c, d = a + 1, a + columns + 2, a + columns + 1
            elements += [[a, b, c, d]] if (row + column) % 3 else [[a, b, c, -1], [a, c, d, -1]]
    at = np.concatenate([at, [[-5.0, -5.0]]])
    order = random.permutation(len(at))
    number = np.empty(len(at) + 1, np.int32)
    number[order], number[-1] = np.arange(len(at)), -1
    corners = number[np.array(elements)][random.permutation(len(elements))]
    return at[order, 0], at[order, 1], corners


def mesh(columns: int = 48, rows: int = 40, *, sigma: bool = False, seed: int = 1, **more: Any) -> MeshDomain:
    """`mesh_parts` in stored order: of the default size 2 560 elements, three pages of the mesh index; with one to four
    layers an element where `sigma`."""
    x, y, corners = mesh_parts(columns, rows, seed)
    random = np.random.default_rng(seed)
    counts = random.integers(1, 5, len(corners)).astype(np.int32) if sigma else None
    return index_mesh(x, y, corners, node_z=x * -0.5, node_code=(np.arange(x.size) % 3).astype(np.int32),
                      layer_counts=counts, x_name="lon", y_name="lat", attributes={"source": "made"}, **more)


def _numbers(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """A random walk along the values, different at every time."""
    random = np.random.default_rng(seed)
    walk = random.integers(-3, 4, shape).cumsum(axis=3)
    return np.asarray(walk * 0.25 if dtype.startswith("float") else walk).astype(dtype)


def _made_grid(**items: tuple[Item, Array]) -> Made:
    described = description({name: values[..., 0] if it.value_kind == "vector" else values
                             for name, (it, values) in items.items()}, tuple(it for it, _ in items.values()))
    vectors = any(it.value_kind == "vector" for it, _ in items.values())
    return Made(described, {name: values for name, (_, values) in items.items()}, () if vectors else STORAGE_TYPES)


def _made_mesh(domain: MeshDomain, *items: Item, times: int = TIMES, **more: Any) -> Made:
    values = {}
    for seed, it in enumerate(items):
        shape = times, it.layer_count, 1, values_of(domain, it)
        values[it.name] = _numbers(shape + ((it.components,) if it.value_kind == "vector" else ()), it.dtype, seed)
        if it.no_data is not None:
            values[it.name][:, :, :, ::7] = it.no_data
            values[it.name][2] = it.no_data  # one time without any data (P5)
    return Made(Description(domain, axis(times), items), values, **more)


def _depths(count: int, name: str = "depth") -> LayerAxis:
    return LayerAxis(name, tuple(float(i) for i in range(count)), "m")


PER_STEP: tuple[StorageType, ...] = ("SingleTimestep", "MultiTimestep")
KINDS: Mapping[str, Callable[[], Made]] = {
    "grid": lambda: _made_grid(v=(Item("v", "int16", no_data=-99), smooth(TIMES, 1, 40, 70))),
    "grid-layered": lambda: _made_grid(
        v=(Item("v", "float32", layers=_depths(3)), smooth(TIMES, 3, 40, 30, "float32"))),
    "grid-vector": lambda: _made_grid(
        s=(Item("s", "int32"), smooth(TIMES, 1, 40, 30, "int32")),
        v=(Item("v", "float32", no_data=-1.5, value_kind="vector", components=2),
           _numbers((TIMES, 1, 40, 30, 2), "float32", 3))),
    "mesh": lambda: _made_mesh(mesh(), Item("v", "float64", no_data=-7.0), Item("w", "uint8")),
    "mesh-layered": lambda: _made_mesh(mesh(20, 20), Item("v", "int16", layers=_depths(3), no_data=-99)),
    "mesh-nodes": lambda: _made_mesh(mesh(30, 30), Item("v", "float32", location="node", no_data=float("nan")),
                                     Item("e", "float32")),
    "mesh-vector": lambda: _made_mesh(
        mesh(20, 20), Item("v", "float32", no_data=-1.5, value_kind="vector", components=3),
        Item("n", "int16", value_kind="vector", components=2, location="node", layers=_depths(2)), compressed=()),
    "mesh-zlevel": lambda: _made_mesh(
        mesh(), Item("v", "float32", no_data=-7.0, value_kind="zlevel", location="node", layers=_depths(5)),
        Item("w", "int16", value_kind="zlevel", location="node", layers=_depths(5, "height")),
        Item("e", "float64"), compressed=PER_STEP, layouts=PER_STEP),
    "mesh-sigma": lambda: _made_mesh(
        mesh(sigma=True), Item("v", "float32", value_kind="sigma", layers=_depths(4, "sigma"), no_data=-7.0),
        Item("e", "int16"), compressed=()),
}


@cache
def kind_of(name: str) -> Made:
    """The dataset of a kind in `KINDS`."""
    return KINDS[name]()


def kind_settings(
    made: Made, storage_type: StorageType, compression: str = "None", *, version: int | None = LAYOUT_CURRENT,
    page: int = 500, group: int = 3, width: int = 16,
) -> Settings:
    """The settings of a new dataset, with pages (TimeSeries: spatial groups) of `page` values instead of 16 384."""
    given = {"StorageType": storage_type, "Compression": compression, "GridTileWidth": width}
    chosen = choose_settings(made.description, given | ({} if storage_type == "SingleTimestep" else
                                                        {"TimeGroupSize": group}), {})
    kept = replace(chosen.storage, layout_version=version)
    if isinstance(made.description.domain, MeshDomain):
        series = storage_type == "TimeSeries"
        kept = replace(kept, compressed_mesh_page_size=None if series else page,
                       spatial_group_size=page if series else None,
                       time_series_block_rows=7 if series else None)
    return Settings(kept, chosen.notes, chosen.origins)


def write_kind(storage: BlobStorage, made: Made, settings: Settings, *, workers: int = 2) -> WriteSummary:
    """Write a dataset of any kind."""
    return create_dataset(storage, "made", made.description, Arrays(made.values), settings, Progress(),
                          {"MD_ENCODE_WORKERS": str(workers)})


def make_kind(folder: Path, made: Made, storage_type: StorageType, compression: str = "None", *, workers: int = 2,
              **more: Any) -> Dataset:
    """Write a dataset of any kind into a folder and open it; `more` as `kind_settings`."""
    storage = FolderStorage(folder)
    write_kind(storage, made, kind_settings(made, storage_type, compression, **more), workers=workers)
    return Dataset.open(storage)


def expected_values(made: Made, item: Item, time: int, layer: int) -> dict[int, Array]:
    """{stored number of an element (node; z-level: node): its value at a time in a layer}, one by one by its number in
    the source; an element without that sigma layer is left out."""
    domain, values = made.mesh, made.values[item.name][time, 0 if item.layers_together else max(layer, 0), 0]
    if item.value_kind == "sigma":
        counts = np.empty(domain.elements, np.int64)
        assert domain.layer_counts is not None
        counts[domain.element_number] = domain.layer_counts
        return {number: values[int(counts[:source].sum()) + layer]
                for number, source in enumerate(domain.element_number.tolist()) if layer < counts[source]}
    if item.value_kind == "zlevel":
        layers = len(item.layers or ())
        used = set(domain.element_nodes[domain.element_nodes >= 0].tolist())
        return {number: values[source * layers + layer]
                for number, source in enumerate(domain.node_number.tolist()) if number in used}
    numbers = domain.node_number if item.location == "node" else domain.element_number
    return {number: values[source] for number, source in enumerate(numbers.tolist())}
