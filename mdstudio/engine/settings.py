"""How a new dataset is stored, decided at its creation (D1-D5, D9, D10, D12-D14) and persisted from then on (D7)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from mdstudio.engine.codecs import NAMES
from mdstudio.engine.errors import UnsupportedError, UsageError
from mdstudio.engine.layout.guards import is_compression_supported, unsupported_reason
from mdstudio.engine.layout.metadata import MESH_PAGE_SIZE, TILE_WIDTH
from mdstudio.engine.model import (
    LAYOUT_CURRENT,
    Description,
    GridDomain,
    ItemStorage,
    Kind,
    MeshDomain,
    StorageType,
)
from mdstudio.engine.parameters import Value, parameters
from mdstudio.engine.processors import available_processors
from mdstudio.engine.spatial.mesh_index import zlevel_paged_nodes

BLOB_BYTES = 10_485_760  # what a blob of several timesteps aims at ...
ASSUMED_BYTES = 8  # ... at so many bytes a value, whatever the type (D3)
MAX_GROUP = 49_999  # timesteps: 50 000 blocks a blob, one for the page index (D3)
MIN_TILE_WIDTH, MAX_NEW_TILE_WIDTH = 16, 4096  # of a new dataset (D5)
BLOCK_BYTES, MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 32_768, 4, 256  # of a TimeSeries block (D10)
MAX_ENCODE_WORKERS = 4
CHUNKED_TILES, CHUNKS = 16, 4  # a slice of so many tiles is encoded in so many chunks (D9)
RECOMMENDED_COMPRESSION = "ZstdAuto"

# The default compression of each kind (D1): grids per timestep, meshes per timestep, TimeSeries of both.
DEFAULT_VARIABLES = {
    "grid": "MD_DEFAULT_GRID_COMPRESSION",
    "mesh": "MD_DEFAULT_MESH_COMPRESSION",
    "TimeSeries": "MD_DEFAULT_TIMESERIES_COMPRESSION",
}


@dataclass(frozen=True)
class Settings:
    """What a new dataset gets.

    Attributes:
        storage: the settings to persist.
        notes: sentences for the log: what was skipped or ignored.
        origins: {setting: "parameter" | "variable MD_..." | "default"} (D13).
    """

    storage: ItemStorage
    notes: tuple[str, ...]
    origins: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DefaultCompression:
    """The compression that a kind gets where no parameter says otherwise, and why (D13)."""

    kind: str
    variable: str
    value: str
    origin: str


def choose_settings(
    description: Description, writer_parameters: Mapping[str, Value], environ: Mapping[str, str]
) -> Settings:
    """The settings of a new dataset.

    Args:
        writer_parameters: {name: value} as `parse_parameters` gives them.
        environ: the environment; only the variable that decides the default is looked at, and only where no parameter
            gives the compression (D2, D14).

    Raises `UsageError` for values that are refused (D5) or a bad variable, naming it; `UnsupportedError` for a request
    to compress what cannot be compressed (K4). No I/O.
    """
    given = dict(writer_parameters)
    notes: list[str] = []
    domain = description.domain
    mesh, cells = isinstance(domain, MeshDomain), domain.cells
    width = _in_range(given, "GridTileWidth", MIN_TILE_WIDTH, MAX_NEW_TILE_WIDTH, TILE_WIDTH)
    if mesh and "GridTileWidth" in given:
        notes.append("GridTileWidth is not used: a mesh has no tiles.")
    storage_type = _storage_type(given, cells)
    _refuse_zlevel_series(description, storage_type)
    _refuse_impossible(description)
    series = storage_type == "TimeSeries"
    spatial_group = MESH_PAGE_SIZE if mesh else width * width
    group = _time_group_size(given, storage_type, spatial_group if series else cells)
    if storage_type == "SingleTimestep" and _integer(given, "TimeGroupSize", 1) > 1:
        notes.append("TimeGroupSize is not used: every timestep has a blob of its own in SingleTimestep.")
    compression, compression_origin = _compression(description, given, storage_type, environ, notes)
    storage = ItemStorage(
        storage_type=storage_type,
        compression=compression,
        time_group_size=group,
        grid_tile_width=None if mesh else width,
        compressed_mesh_page_size=MESH_PAGE_SIZE if mesh and not series else None,
        time_series_block_rows=_block_rows(description, group or 1, spatial_group) if series else None,
        spatial_group_size=spatial_group if series else None,
        zlevel_paged_node_count=_paged_node_count(description),
        fixed_step=series and description.times.step() > 0,
        layout_version=_in_range(given, "LayoutVersion", 2, LAYOUT_CURRENT, LAYOUT_CURRENT),
    )
    origins = {name: "parameter" if name in given else "default" for name in parameters("writer")}
    return Settings(storage, tuple(notes), origins | {"Compression": compression_origin})


def _refuse_impossible(description: Description) -> None:
    """`UsageError` for items that the domain cannot have; a fault of the source that described them."""
    domain = description.domain
    counts = domain.layer_counts if isinstance(domain, MeshDomain) else None
    for item in description.items:
        layers = len(item.layers or ())
        if item.layers_together and (isinstance(domain, GridDomain) or not layers):
            raise UsageError(f"The item '{item.name}' is of the kind '{item.value_kind}', which needs a mesh and "
                             "layers.")
        if item.value_kind == "sigma" and (counts is None or layers != int(counts.max())):
            raise UsageError(f"The item '{item.name}' has {layers} sigma layers; the mesh has "
                             f"{0 if counts is None else int(counts.max())}.")
        if item.location == "node" and isinstance(domain, GridDomain):
            raise UsageError(f"The item '{item.name}' has values of nodes, which a grid has not.")
        if (item.components > 1) != (item.value_kind == "vector"):
            raise UsageError(f"The item '{item.name}' has {item.components} components and is of the kind "
                             f"'{item.value_kind}'; vectors, and only they, have more than one.")


def _paged_node_count(description: Description) -> int | None:
    """Values of a z-level item: the nodes of each page of the mesh index, times layers (K1); None without such
    items."""
    layers = {len(item.layers or ()) for item in description.items if item.value_kind == "zlevel"}
    if not layers or not isinstance(description.domain, MeshDomain):
        return None
    if len(layers) > 1:
        raise UnsupportedError(f"The z-level items have {' and '.join(map(str, sorted(layers)))} layers; a dataset "
                               "holds z-level items of one number of layers.",
                               advice="Import them into several datasets.")
    return zlevel_paged_nodes(description.domain) * layers.pop()


def _integer(given: Mapping[str, Value], name: str, default: int) -> int:
    value = given.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{name} is {value!r}; it must be a whole number.")
    return value


def _in_range(given: Mapping[str, Value], name: str, low: int, high: int, default: int) -> int:
    value = _integer(given, name, default)
    if not low <= value <= high:
        raise UsageError(f"{name} is {value}; it must be from {low} to {high}.")
    return value


def _storage_type(given: Mapping[str, Value], cells: int) -> StorageType:
    """D3: the parameter; else by a given TimeGroupSize, 1 or less being SingleTimestep; else by size."""
    if "StorageType" in given:
        return cast(StorageType, parameters("writer")["StorageType"].parse(given["StorageType"]))
    group = _integer(given, "TimeGroupSize", BLOB_BYTES // (ASSUMED_BYTES * cells))
    return "MultiTimestep" if group > 1 else "SingleTimestep"


def _time_group_size(given: Mapping[str, Value], storage_type: StorageType, values: int) -> int | None:
    """D3, D4: the parameter, else how many timesteps of `values` values fit in a blob; None for SingleTimestep."""
    if storage_type == "SingleTimestep":
        return None
    fitting = min(max(BLOB_BYTES // (ASSUMED_BYTES * values), 1), MAX_GROUP)
    return _in_range(given, "TimeGroupSize", 1, MAX_GROUP, fitting)


def _block_rows(description: Description, group: int, spatial_group: int) -> int:
    """D10: the fewest whole series whose raw block reaches 32 KB, within 4-256 and the spatial group."""
    largest = max((item.cell_type.itemsize for item in description.items), default=1)
    reaching = -(-BLOCK_BYTES // (group * largest))
    return min(max(reaching, MIN_BLOCK_ROWS), MAX_BLOCK_ROWS, spatial_group)


def _refuse_zlevel_series(description: Description, storage_type: StorageType) -> None:
    """K5, T8: that layout keeps one row an element, compressed or not."""
    for item in description.items:
        if item.value_kind == "zlevel" and storage_type == "TimeSeries":
            raise UnsupportedError(f"The item '{item.name}' has z-levels, which TimeSeries cannot hold.",
                                   advice="Choose SingleTimestep or MultiTimestep.")


def _compression(
    description: Description, given: Mapping[str, Value], storage_type: StorageType, environ: Mapping[str, str],
    notes: list[str],
) -> tuple[str, str]:
    """The compression and its origin: the parameter, else the variable of the kind, else None (D1, D2, K4, D12)."""
    domain = description.domain
    kind: Kind = "mesh" if isinstance(domain, MeshDomain) else "grid"
    asked = kind, description.items, isinstance(domain, MeshDomain) and domain.sigma, storage_type
    supported, reason = is_compression_supported(*asked), unsupported_reason(*asked)
    if "Compression" in given:
        value = str(parameters("writer")["Compression"].parse(given["Compression"]))
        if value != "None" and not supported:
            raise UnsupportedError(f"{value} was asked for, but {reason}.",
                                   advice='Store it uncompressed ("Compression": "None"), or leave the item out.')
        return value, "parameter"
    variable = DEFAULT_VARIABLES["TimeSeries" if storage_type == "TimeSeries" else kind]
    if not supported:
        if environ.get(variable, "").strip() not in ("", "None"):
            notes.append(f"Stored uncompressed, {variable} does not apply: {reason}.")
        return "None", "default"
    default = default_compression(variable, environ)
    return default, f"variable {variable}" if environ.get(variable, "").strip() else "default"


def default_compression(variable: str, environ: Mapping[str, str]) -> str:
    """The compression in an environment variable, "None" where it is unset or empty; `UsageError` naming the variable
    for a bad value (D14)."""
    value = environ.get(variable, "").strip()
    if value and value not in NAMES:
        raise UsageError(f"The environment variable {variable} is '{value}'; it must be one of {', '.join(NAMES)}.",
                         advice="Correct or unset it, or give the parameter Compression.")
    return value or "None"


def effective_defaults(environ: Mapping[str, str]) -> list[DefaultCompression]:
    """The default of each kind with its origin, for the import dialog, `--help` and the documentation (D13).

    A bad variable is shown as it is: looking never fails (D14).
    """
    rows = []
    for kind, variable in DEFAULT_VARIABLES.items():
        text = environ.get(variable, "").strip()
        value = text if text in NAMES or not text else f"{text} (not a compression)"
        rows.append(DefaultCompression(kind, variable, value or "None", f"variable {variable}" if text else "default"))
    return rows


def encode_workers(environ: Mapping[str, str]) -> int:
    """Threads that encode one slice: one per CPU that the process may use, at most 4; MD_ENCODE_WORKERS sets the count,
    more is clamped. Raises `UsageError` naming the variable for text or a number below 1 (D9)."""
    text = environ.get("MD_ENCODE_WORKERS", "").strip()
    if not text:
        return min(MAX_ENCODE_WORKERS, available_processors())
    if not re.fullmatch(r"\+?[0-9]{1,9}", text) or int(text) < 1:
        raise UsageError(f"The environment variable MD_ENCODE_WORKERS is '{text}'; it must be a whole number from 1.")
    return min(MAX_ENCODE_WORKERS, int(text))


def encode_chunks(tiles: int) -> list[tuple[int, int]]:
    """Half-open tile ranges that a slice is encoded in, each with its own probe state: 4 from 16 tiles on, else one.
    They depend on the number of tiles alone, so the bytes never depend on the workers (D9)."""
    if tiles < CHUNKED_TILES:
        return [(0, tiles)]
    return list(pairwise(i * tiles // CHUNKS for i in range(CHUNKS + 1)))
