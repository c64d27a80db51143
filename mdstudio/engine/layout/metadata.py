"""The metadata document of a dataset, `dataset.json`: what is stored, how, and at which times.

A folder or prefix that holds it is a dataset (W3). It is written last, through `save_metadata` alone, which calls the
guards (V4-V7); fields that this build does not know survive a load and save unchanged (V8). The JSON itself is made and
checked in `layout.document`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mdstudio.engine.errors import NotADatasetError, NotFoundError
from mdstudio.engine.model import NO_LAYER, Dropped, Item, ItemStorage, Kind
from mdstudio.engine.storage import BlobStorage, write_resolved
from mdstudio.engine.times import TimeAxis

METADATA_BLOB = "dataset.json"
SCHEMA_VERSION = 1
TILE_WIDTH = 128  # of a grid that does not say
MESH_PAGE_SIZE = 16_384  # of a mesh that does not say


@dataclass(frozen=True)
class Metadata:
    """What `dataset.json` says.

    Attributes:
        shape: (rows, columns) of a grid; (1, elements) of a mesh.
        items: in stored order.
        times: the times that readers see, strictly increasing.
        folders: {item name: its folder in blob names}.
        data_size_bytes: of all data blobs, indexes included (D8); None where nobody counted yet.
        schema_version: of the mesh index; nothing to do with the layout version.
        domain_blob: name of the blob that holds the coordinates.
        sigma: True for a mesh with sigma layers (K3).
        nodes: of a mesh; 0 of a grid.
        element3d_count: 3-D elements of a mesh with sigma layers; 0 of others.
        attributes, time_attributes: of the source, as they were.
        source: where the data comes from, one entry a file.
        raw: the JSON object as loaded; holds the fields that this build does not know.
    """

    kind: Kind
    name: str
    shape: tuple[int, int]
    items: tuple[Item, ...]
    times: TimeAxis
    storage: ItemStorage
    domain_blob: str
    folders: Mapping[str, str]
    data_size_bytes: int | None = None
    schema_version: int = SCHEMA_VERSION
    sigma: bool = False
    nodes: int = 0
    element3d_count: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    source: tuple[Mapping[str, Any], ...] = ()
    dropped: tuple[Dropped, ...] = ()
    time_attributes: Mapping[str, Any] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def cells(self) -> int:
        """Cells or elements of one layer."""
        return self.shape[0] * self.shape[1]

    def values_of(self, item: Item) -> int:
        """Stored values of one slice of an item: one time of one layer; of all layers where they lie together."""
        if self.kind == "grid":
            return self.cells
        if item.value_kind == "sigma":
            return self.element3d_count
        if item.value_kind == "zlevel":
            return self.storage.zlevel_paged_node_count or 0
        return self.nodes if item.location == "node" else self.cells

    def raw_bytes(self, item: Item) -> int:
        """Raw bytes of one time of an item, all layers."""
        return item.raw_bytes(self.values_of(item))

    @property
    def compressed(self) -> bool:
        return self.storage.compression != "None"


def page_width(metadata: Metadata) -> int:
    """Cells along the side of a tile of a grid; values of a page of a mesh, in TimeSeries of a spatial group (D10)."""
    storage = metadata.storage
    if metadata.kind == "grid":
        return storage.grid_tile_width or TILE_WIDTH
    series = storage.storage_type == "TimeSeries"
    return (storage.spatial_group_size if series else storage.compressed_mesh_page_size) or MESH_PAGE_SIZE


def most_pages(metadata: Metadata) -> int:
    """Pages of a slice of the item that has most of them (TimeSeries: spatial groups)."""
    width = page_width(metadata)
    rows, columns = metadata.shape
    if metadata.kind == "grid":
        return -(-rows // width) * -(-columns // width)
    return max((-(-metadata.values_of(item) // width) for item in metadata.items), default=0)


def item_folders(names: Sequence[str], first: int = 0) -> dict[str, str]:
    """{item name: folder}: the ordinal, from `first`, in at least three digits, then what of the name any file system
    takes."""
    safe = (re.sub(r"[^a-z0-9_-]", "_", name.lower())[:40] for name in names)
    return {name: f"{ordinal:03d}-{part}" for ordinal, (name, part) in enumerate(zip(names, safe, strict=True), first)}


def load_metadata(storage: BlobStorage) -> tuple[Metadata, str]:
    """The metadata and the version of its blob, for a conditional save.

    Cost: one blob is read; a compression flag without a layout version on a mesh per timestep costs one or two
    existence checks more (V2). Raises `NotFoundError` where nothing is, `NotADatasetError` where something else is, and
    `DamagedDataError` naming the key for a document that is not what it should be.
    """
    from mdstudio.engine.layout.document import parse_document

    try:
        blob = storage.read(METADATA_BLOB)
    except NotFoundError:
        raise _no_dataset(storage) from None
    metadata = parse_document(blob.data, METADATA_BLOB)
    if _is_legacy_flag(metadata) and not _has_index(storage, metadata):
        metadata = dataclasses.replace(metadata, storage=dataclasses.replace(metadata.storage, compression="None"))
    return metadata, blob.version


def save_metadata(
    storage: BlobStorage, metadata: Metadata, *, if_match: str | None = None, if_none_match: str | None = None
) -> str:
    """Write `dataset.json`, the one way to do it; returns its new version.

    Refuses under the guards V4 to V7 before anything is written; raises `BlobChangedError` when a condition fails.
    """
    from mdstudio.engine.layout.document import render_document
    from mdstudio.engine.layout.guards import require_saveable

    require_saveable(metadata)
    document = render_document(metadata)
    return write_resolved(storage, METADATA_BLOB, document, if_match=if_match, if_none_match=if_none_match)


def _no_dataset(storage: BlobStorage) -> NotFoundError | NotADatasetError:
    """Why there is no dataset: nothing there at all, or no `dataset.json` in what is there."""
    try:
        folders, blobs = storage.list_folders()
    except NotFoundError:
        folders, blobs = [], []
    if folders or blobs:
        return NotADatasetError(f"This is no MD dataset: it holds no {METADATA_BLOB}.", where=storage.location,
                                advice="List the datasets below it with 'mdstudio list'.")
    return NotFoundError("There is nothing here.", where=storage.location)


def _is_legacy_flag(metadata: Metadata) -> bool:
    """V2: the writers of the time set the flag on meshes per timestep without compressing them."""
    storage = metadata.storage
    return metadata.kind == "mesh" and metadata.compressed and storage.layout_version is None \
        and storage.storage_type == "SingleTimestep"


def _has_index(storage: BlobStorage, metadata: Metadata) -> bool:
    """V2: whether the first timestep of the first item has a page index, at layer -1 or 0."""
    if not metadata.items or not len(metadata.times):
        return False
    folder, key = metadata.folders[metadata.items[0].name], metadata.times.key(0)
    return any(storage.exists(f"{folder}/{layer_folder(layer)}/{key}.idx") for layer in (NO_LAYER, 0))


def layer_folder(layer: int) -> str:
    """The folder of a layer in blob names: "L-1" for an item without layers (P7), "L0000" on."""
    return "L-1" if layer == NO_LAYER else f"L{layer:04d}"
