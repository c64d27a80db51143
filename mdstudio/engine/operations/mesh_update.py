"""Update the mesh of a dataset: a new domain and `SchemaVersion`, nothing else (V13, W1)."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace

import numpy as np

from mdstudio.engine.errors import BlobChangedError, NotFoundError, UnsupportedError
from mdstudio.engine.layout.domain import domain_name, load_domain, store_domain
from mdstudio.engine.layout.guards import require_writable
from mdstudio.engine.layout.metadata import SCHEMA_VERSION, Metadata, load_metadata
from mdstudio.engine.model import Array, MeshDomain
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import CLAIM_WAIT, BlobStorage
from mdstudio.engine.writing.saving import save_change


@dataclass(frozen=True)
class MeshUpdate:
    """What an update did: the domain blob that is in force, and the one that it replaced ("" for the same mesh)."""

    domain_blob: str
    replaced: str
    schema_version: int
    seconds: float


def update_mesh(storage: BlobStorage, mesh: MeshDomain, progress: Progress | None = None) -> MeshUpdate:
    """Give the dataset the coordinates and connectivity of another mesh of as many elements and nodes.

    Element n of the new mesh's source is element n of the dataset's source, and so with nodes: the new mesh is put into
    the order in which the dataset stores its values, which stay where they are. The domain blob is written first, then
    `dataset.json` is saved conditionally, then the old domain blob removed. A kill in between leaves the old mesh or
    the new one, and a blob that `clean` removes. Who has the dataset open keeps the mesh that it has read.

    Raises before anything is written: the error of a guard (V4-V7), `UnsupportedError` for a grid, for another number
    of elements or nodes, for other sigma layers, and for z-level items whose nodes the new elements would change.
    Raises `BlobChangedError` where another job changes the domain meanwhile.
    """
    started = time.monotonic()
    progress = progress or Progress()
    _require_updatable(load_metadata(storage)[0], mesh, storage.location)  # refused before the claim is taken
    with storage.claimed(CLAIM_WAIT, progress.check):
        before, _ = load_metadata(storage)
        _require_updatable(before, mesh, storage.location)
        stored = load_domain(storage, before.domain_blob)
        assert isinstance(stored, MeshDomain)  # the metadata's kind is checked
        updated = _in_stored_order(mesh, stored, before, storage.location)
        name = domain_name(updated)
        if name == before.domain_blob and before.schema_version == SCHEMA_VERSION:
            return MeshUpdate(name, "", SCHEMA_VERSION, time.monotonic() - started)
        progress.check()
        store_domain(storage, updated)
        save_change(storage, lambda metadata: _with_domain(metadata, before.domain_blob, name, storage.location))
        replaced = before.domain_blob if before.domain_blob != name else ""
        if replaced:
            with contextlib.suppress(NotFoundError):
                storage.delete(replaced)
    return MeshUpdate(name, replaced, SCHEMA_VERSION, time.monotonic() - started)


def _with_domain(metadata: Metadata, old: str, new: str, where: str) -> Metadata:
    if metadata.domain_blob not in (old, new):
        raise BlobChangedError("Another job has given the dataset another domain meanwhile.", where=where,
                               advice="Run it again.")
    return replace(metadata, domain_blob=new, schema_version=SCHEMA_VERSION)


def _require_updatable(metadata: Metadata, mesh: MeshDomain, where: str) -> None:
    require_writable(metadata, where)
    if metadata.kind != "mesh":
        raise UnsupportedError("The dataset is a grid; only the mesh of a mesh can be updated. Nothing was changed.",
                               where=where)
    for what, there, given in (("elements", metadata.cells, mesh.elements), ("nodes", metadata.nodes, mesh.nodes)):
        if there != given:
            raise UnsupportedError(f"The new mesh has {given} {what}, the dataset {there}. Nothing was changed.",
                                   where=where, advice="Import the data on its new mesh into a new dataset.")


def _in_stored_order(mesh: MeshDomain, stored: MeshDomain, metadata: Metadata, where: str) -> MeshDomain:
    """The new mesh with elements and nodes in the order of the stored one; raises where stored values would not fit."""
    updated = replace(in_order_of(mesh, stored), layer_counts=_layer_counts(mesh, stored, where),
                      crs=mesh.crs or stored.crs)
    if any(item.value_kind == "zlevel" for item in metadata.items) and not _same_corners(stored, updated):
        raise UnsupportedError(
            "The dataset has z-level items, whose values lie by the nodes of its elements, and the elements of the new "
            "mesh have other nodes. Nothing was changed.", where=where,
            advice="Import the data on its new mesh into a new dataset.")
    return updated


def in_order_of(mesh: MeshDomain, stored: MeshDomain) -> MeshDomain:
    """A mesh with elements and nodes in the order in which another of as many has those of the same source numbers."""

    def nodes(values: Array | None) -> Array | None:
        return None if values is None else _reordered(values, mesh.node_number, stored.node_number)

    place = np.empty(stored.nodes + 1, np.int32)  # of each source node in the stored order; -1 stays -1
    place[stored.node_number], place[-1] = np.arange(stored.nodes, dtype=np.int32), -1
    numbers = np.where(mesh.element_nodes < 0, -1, mesh.node_number[mesh.element_nodes])
    corners = place[_reordered(numbers, mesh.element_number, stored.element_number)]
    node_x, node_y = nodes(mesh.node_x), nodes(mesh.node_y)
    assert node_x is not None and node_y is not None  # noqa: PT018
    counts = mesh.layer_counts
    return replace(
        mesh, node_x=node_x, node_y=node_y, node_z=nodes(mesh.node_z), node_code=nodes(mesh.node_code),
        element_nodes=corners, element_number=stored.element_number, node_number=stored.node_number,
        layer_counts=None if counts is None else _reordered(counts, mesh.element_number, stored.element_number))


def _same_corners(one: MeshDomain, other: MeshDomain) -> bool:
    """Whether the elements have the same nodes in the same turn, however wide the arrays are."""
    width = max(one.element_nodes.shape[1], other.element_nodes.shape[1])
    a, b = (np.pad(mesh.element_nodes, ((0, 0), (0, width - mesh.element_nodes.shape[1])), constant_values=-1)
            for mesh in (one, other))
    return bool(np.array_equal(a, b))


def _layer_counts(mesh: MeshDomain, stored: MeshDomain, where: str) -> Array | None:
    """The sigma layers of the dataset: those of the new mesh must be the same where it has any."""
    if stored.layer_counts is not None and mesh.layer_counts is not None:
        given = _reordered(mesh.layer_counts, mesh.element_number, stored.element_number)
        if not np.array_equal(given, stored.layer_counts):
            element = int(np.argmax(given != stored.layer_counts))
            raise UnsupportedError(
                f"Element {int(stored.element_number[element])} of the new mesh has {int(given[element])} sigma "
                f"layers, in the dataset {int(stored.layer_counts[element])}. Nothing was changed.", where=where,
                advice="Import the data on its new mesh into a new dataset.")
    return stored.layer_counts


def _reordered(values: Array, numbers: Array, wanted: Array) -> Array:
    """Rows that are in the order of `numbers` (source positions) in the order of `wanted`."""
    in_source = np.empty_like(values)
    in_source[numbers] = values
    found: Array = in_source[wanted]
    return found
