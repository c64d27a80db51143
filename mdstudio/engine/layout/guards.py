"""Which datasets this build reads and writes: the compression predicate and the guards V2 to V7.

A guard says in words why data or metadata is left alone and what to do about it; every read, write and metadata save
asks here first. Pure functions of the metadata: no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mdstudio.engine.codecs import is_known
from mdstudio.engine.errors import LayoutGuardError, MdError, UnknownCompressionError, UnsupportedVersionError
from mdstudio.engine.layout.metadata import SCHEMA_VERSION, Metadata
from mdstudio.engine.model import LAYOUT_CURRENT, Item, ItemStorage, Kind

_OF_MESHES = {"zlevel": "z-levels", "sigma": "sigma layers", "single": "values of nodes", "vector": "values of nodes"}
STORAGE_TYPES = ("SingleTimestep", "MultiTimestep", "TimeSeries")


@dataclass(frozen=True, slots=True)
class Guard:
    """One reason to leave a dataset alone.

    Attributes:
        code: stable, "MD-G001" on; also in `inspect`.
        message: what is the matter, in words.
        advice: what to do about it.
        blocks_read, blocks_write, blocks_save: whether data reads, data writes (and removals and domain stores), and
            saves of the metadata are refused.
        error: class of the refusal.
    """

    code: str
    message: str
    advice: str
    blocks_read: bool = True
    blocks_write: bool = True
    blocks_save: bool = True
    error: type[MdError] = LayoutGuardError


def unsupported_reason(kind: Kind, items: Sequence[Item], sigma: bool, storage_type: str) -> str:
    """Why these items cannot be compressed, naming the first that cannot (K3, K4); "" where they can."""
    if sigma:
        return "a mesh with sigma layers cannot be compressed"
    for item in items:
        if item.components > 1 or item.value_kind == "vector":
            return f"the item '{item.name}' has {item.components} values a cell, and only single ones can be compressed"
        if item.value_kind == "sigma":
            return f"the item '{item.name}' has sigma layers, which cannot be compressed"
        if item.value_kind == "zlevel" and (kind == "grid" or storage_type == "TimeSeries"):
            what = "of a grid" if kind == "grid" else "in TimeSeries storage"
            return f"the item '{item.name}' has z-levels, which cannot be compressed {what}"
    return ""


def is_compression_supported(kind: Kind, items: Sequence[Item], sigma: bool, storage_type: str = "") -> bool:
    """The one predicate behind every check (K3, K4): whether such a dataset may be compressed.

    `storage_type` matters for z-level items only: a mesh keeps them compressed per timestep, not as TimeSeries.
    """
    return not unsupported_reason(kind, items, sigma, storage_type)


def missing_layout_parameter(kind: Kind, storage: ItemStorage) -> str | None:
    """The one predicate of K6: the name of the layout parameter that compressed storage of this kind lacks, or None."""
    if storage.compression == "None":
        return None
    if storage.storage_type == "TimeSeries":
        return None if storage.time_series_block_rows else "TimeSeriesBlockRows"
    if kind == "mesh":
        return None if storage.compressed_mesh_page_size else "CompressedMeshPageSize"
    return None


def guards(metadata: Metadata) -> tuple[Guard, ...]:
    """The guards that hold for a dataset, gravest first; empty for one that this build reads and writes (V9)."""
    storage = metadata.storage
    version = storage.layout_version
    found: list[Guard] = []
    if version is not None and version > LAYOUT_CURRENT:
        found.append(Guard(
            "MD-G001", f"The dataset has layout version {version}; this build knows up to {LAYOUT_CURRENT}.",
            "Open it with a newer build; this one neither reads nor writes it.", error=UnsupportedVersionError))
    if not is_known(storage.compression):
        found.append(Guard(
            "MD-G002", f"The compression '{storage.compression}' is not known to this build.",
            "Open it with a build that knows it; this one leaves data and metadata as they are.",
            error=UnknownCompressionError))
    elif metadata.compressed:
        found.extend(_compressed_guards(metadata))
    reason = _not_built(metadata)
    if reason:
        found.append(Guard("MD-G006", f"This build cannot read the data: {reason}.",
                           "Open it with a build that can; this one leaves data and metadata as they are."))
    return tuple(found)


def _compressed_guards(metadata: Metadata) -> list[Guard]:
    storage = metadata.storage
    found: list[Guard] = []
    asked = metadata.kind, metadata.items, metadata.sigma, storage.storage_type
    if not is_compression_supported(*asked):
        reason = unsupported_reason(*asked)
        found.append(Guard("MD-G003", f"The dataset is compressed ({storage.compression}), but {reason}.",
                           "A newer build may have written it; open it with that build."))
    missing = missing_layout_parameter(metadata.kind, storage)
    if missing:
        found.append(Guard("MD-G005", f"The dataset is compressed ({storage.compression}) but lacks {missing}.",
                           "An older build has dropped it from the metadata; restore dataset.json or import again."))
    legacy = metadata.kind == "grid" and storage.storage_type == "SingleTimestep"
    if storage.layout_version is None and not legacy:
        found.append(Guard("MD-G004", f"The dataset is compressed ({storage.compression}) but has no layout version.",
                           "An older build has dropped it from the metadata; restore dataset.json or import again.",
                           blocks_read=False))
    return found


def _not_built(metadata: Metadata) -> str:
    """What of the dataset this build has no reader for; "" where there is nothing."""
    if metadata.storage.storage_type not in STORAGE_TYPES:
        return f"the storage type '{metadata.storage.storage_type}' is not known to it"
    if metadata.sigma and (metadata.kind == "grid" or not metadata.element3d_count):
        return "only a mesh with a count of its 3-D elements has sigma layers"
    return next(filter(None, (_impossible(metadata, item) for item in metadata.items)), "")


def _impossible(metadata: Metadata, item: Item) -> str:
    """Why no dataset can hold such an item; "" where one can."""
    storage = metadata.storage
    if item.components > 1 and item.value_kind != "vector":
        return f"the item '{item.name}' has {item.components} components, but is no vector"
    if metadata.kind == "grid" and (item.layers_together or item.location == "node"):
        return f"the item '{item.name}' has {_OF_MESHES[item.value_kind]}, which only meshes have"
    if item.layers_together and item.layers is None:
        return f"the item '{item.name}' has {_OF_MESHES[item.value_kind]}, but no layers"
    if item.value_kind == "sigma" and not metadata.sigma:
        return f"the item '{item.name}' has sigma layers, but the mesh has none"
    if item.value_kind == "zlevel":
        if storage.storage_type == "TimeSeries":
            return f"the item '{item.name}' has z-levels, which TimeSeries cannot hold"
        if not storage.zlevel_paged_node_count or storage.zlevel_paged_node_count % len(item.layers or ()):
            return (f"the item '{item.name}' has {len(item.layers or ())} z-levels; a ZLevelPagedNodeCount of "
                    f"{storage.zlevel_paged_node_count} is no whole number of nodes")
        if metadata.schema_version > SCHEMA_VERSION:
            return (f"the z-levels of the item '{item.name}' follow version {metadata.schema_version} of the mesh "
                    f"index; it knows {SCHEMA_VERSION}")
    return ""


def require_readable(metadata: Metadata, where: str = "") -> None:
    """Raise the error of the first guard that forbids reading data."""
    _require(metadata, where, "blocks_read", "Its data is not read.")


def require_writable(metadata: Metadata, where: str = "") -> None:
    """Raise the error of the first guard that forbids data writes, removals and domain stores; call it before any blob
    is touched."""
    _require(metadata, where, "blocks_write", "Nothing was written.")


def require_saveable(metadata: Metadata, where: str = "") -> None:
    """Raise the error of the first guard that forbids saving the metadata (V4-V7)."""
    _require(metadata, where, "blocks_save", "The metadata was not saved.")


def _require(metadata: Metadata, where: str, what: str, consequence: str) -> None:
    for guard in guards(metadata):
        if getattr(guard, what):
            raise guard.error(f"{guard.message} {consequence}", where=where, advice=guard.advice)
