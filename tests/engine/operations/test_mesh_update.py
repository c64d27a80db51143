"""Updating a mesh: the domain and SchemaVersion, in the order in which the dataset stores its values (V13, W1)."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import (
    BlobChangedError,
    LayoutGuardError,
    MdError,
    UnsupportedError,
    UnsupportedVersionError,
)
from mdstudio.engine.layout.metadata import load_metadata, save_metadata
from mdstudio.engine.model import Array, MeshDomain, StorageType
from mdstudio.engine.operations.clean import clean
from mdstudio.engine.operations.mesh_update import update_mesh
from mdstudio.engine.requests import MapRequest
from mdstudio.engine.spatial.mesh_index import index_mesh
from tests.engine.made_datasets import KINDS, STORAGE_TYPES, Watched, blobs, kind_of, make_kind, mesh, same_bits
from tests.engine.operations.states import states

pytestmark = pytest.mark.rule("V13", "W1")
MESHES = [kind for kind in KINDS if kind.startswith("mesh")]


def source_parts(domain: MeshDomain) -> tuple[Array, Array, Array]:
    """Coordinates and corners in the order of the source."""
    x, y = np.empty_like(domain.node_x), np.empty_like(domain.node_y)
    x[domain.node_number], y[domain.node_number] = domain.node_x, domain.node_y
    corners = np.empty_like(domain.element_nodes)
    corners[domain.element_number] = np.where(domain.element_nodes < 0, -1, domain.node_number[domain.element_nodes])
    return x, y, corners


def mesh_of(dataset: Dataset) -> MeshDomain:
    """What is stored now."""
    domain = Dataset.open(dataset.storage).domain
    assert isinstance(domain, MeshDomain)
    return domain


def moved(domain: MeshDomain, **more: Any) -> MeshDomain:
    """The mesh mirrored, and so in another stored order."""
    x, y, corners = source_parts(domain)
    found = index_mesh(10.0 - x, y * 2, corners, **more)
    assert not np.array_equal(found.element_number, domain.element_number)
    return found


def in_source_order(dataset: Dataset, item: str, time: int, layer: int | None) -> tuple[Array, Array, Array, Array]:
    """Numbers in the source, stored values, x and y of a whole slice, by number."""
    result = dataset.map(MapRequest(item, time, layer))
    domain = mesh_of(dataset)
    of_nodes = dataset.item(item).location == "node"
    numbers = (domain.node_number if of_nodes else domain.element_number)[result.rows]
    order = np.argsort(numbers)
    return numbers[order], result.stored[order], result.x[order], result.y[order]


@pytest.mark.parametrize("kind", MESHES)
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_values_stay_with_their_elements_and_nothing_else_is_written(
    kind: str, storage_type: StorageType, tmp_path: Path
) -> None:
    made = kind_of(kind)
    if storage_type not in made.layouts:
        pytest.skip("this kind is not stored so")
    dataset = make_kind(tmp_path / "d", made, storage_type, "ZstdAuto" if storage_type in made.compressed else "None")
    names = [(it.name, 1 if it.layers else None) for it in made.description.items]
    before = {name: in_source_order(dataset, name, 1, layer) for name, layer in names}
    document = json.loads(dataset.storage.read("dataset.json").data)
    document["ItemStorage"]["Later"] = 1
    document["SchemaVersion"] = 0
    dataset.storage.write("dataset.json", json.dumps(document).encode())
    files = states(tmp_path / "d")
    done = update_mesh(dataset.storage, moved(made.mesh))
    after = json.loads(dataset.storage.read("dataset.json").data)
    old, new = (found["SpatialDomain"].pop("Blob") for found in (document, after))
    assert (done.replaced, done.domain_blob) == (old, new)
    assert (document.pop("SchemaVersion"), after.pop("SchemaVersion")) == (0, 1)
    assert after == document
    touched = {"dataset.json", old, new}
    assert {n: s for n, s in states(tmp_path / "d").items() if n not in touched} == {
        n: s for n, s in files.items() if n not in touched}
    assert not dataset.storage.exists(old)
    again = Dataset.open(dataset.storage)
    for name, layer in names:
        numbers, stored, x, y = in_source_order(again, name, 1, layer)
        assert np.array_equal(numbers, before[name][0])
        assert same_bits(stored, before[name][1])
        assert np.allclose(x, 10.0 - before[name][2])
        assert np.allclose(y, before[name][3] * 2)
    assert clean(dataset.storage).left_overs == ()


def test_elements_may_be_joined_otherwise(tmp_path: Path) -> None:
    made = kind_of("mesh")
    dataset = make_kind(tmp_path / "d", made, "MultiTimestep")
    x, y, corners = source_parts(made.mesh)
    quad = int(np.flatnonzero(corners[:, 3] >= 0)[0])
    corners[quad] = [*corners[quad, 1:], corners[quad, 0]]
    corners = np.concatenate([corners, np.full((len(corners), 1), -1)], axis=1)  # room for five corners
    update_mesh(dataset.storage, index_mesh(x, y, corners))
    found = source_parts(mesh_of(dataset))
    assert np.array_equal(found[2][:, :4], corners[:, :4])


def refused(dataset: Dataset, new: MeshDomain, error: type[MdError], match: str) -> None:
    before, storage = states(Path(dataset.location)), Watched(dataset.storage)
    with pytest.raises(error, match=match):
        update_mesh(storage, new)
    assert states(Path(dataset.location)) == before
    assert {call for call, _ in storage.calls} <= {"read"}


def test_what_would_not_fit_the_stored_values_is_refused(tmp_path: Path) -> None:
    made = kind_of("mesh-zlevel")
    dataset = make_kind(tmp_path / "z", made, "SingleTimestep")
    x, y, corners = source_parts(made.mesh)
    triangle = int(np.flatnonzero(corners[:, 3] < 0)[0])
    other = corners.copy()
    other[triangle, 0] = next(n for n in range(x.size) if n not in corners[triangle])
    refused(dataset, index_mesh(x, y, other), UnsupportedError, "z-level")
    refused(dataset, mesh(20, 20), UnsupportedError, "elements")
    refused(dataset, index_mesh(np.append(x, 0.0), np.append(y, 0.0), corners), UnsupportedError, "nodes")
    grid = make_kind(tmp_path / "g", kind_of("grid"), "SingleTimestep")
    refused(grid, made.mesh, UnsupportedError, "is a grid")


def test_sigma_layers_are_kept_and_others_are_refused(tmp_path: Path) -> None:
    made = kind_of("mesh-sigma")
    dataset = make_kind(tmp_path / "s", made, "SingleTimestep")
    counts = np.empty(made.mesh.elements, np.int32)
    assert made.mesh.layer_counts is not None
    counts[made.mesh.element_number] = made.mesh.layer_counts
    fewer = counts.copy()
    fewer[[3, 5]] = fewer[[5, 3]] + 1
    refused(dataset, moved(made.mesh, layer_counts=fewer), UnsupportedError, "sigma layers")
    update_mesh(dataset.storage, moved(made.mesh, layer_counts=counts))
    domain = mesh_of(dataset)
    assert domain.layer_counts is not None
    assert np.array_equal(domain.layer_counts, made.mesh.layer_counts)


@pytest.mark.rule("V4", "V5")
@pytest.mark.parametrize(("version", "error"), [(None, LayoutGuardError), (99, UnsupportedVersionError)])
def test_a_guarded_dataset_is_refused(tmp_path: Path, version: int | None, error: type[MdError]) -> None:
    made = kind_of("mesh")
    dataset = make_kind(tmp_path / "d", made, "TimeSeries", "ZstdAuto")
    document = json.loads(dataset.storage.read("dataset.json").data)
    document["ItemStorage"]["LayoutVersion"] = version
    dataset.storage.write("dataset.json", json.dumps(document).encode())
    refused(dataset, moved(made.mesh), error, "Nothing was written")


def test_the_same_mesh_again_changes_nothing(tmp_path: Path) -> None:
    made = kind_of("mesh-nodes")
    dataset = make_kind(tmp_path / "d", made, "MultiTimestep")
    update_mesh(dataset.storage, moved(made.mesh))
    before = states(tmp_path / "d")
    assert update_mesh(dataset.storage, moved(made.mesh)).replaced == ""
    assert states(tmp_path / "d") == before


@pytest.mark.rule("W2")
def test_a_kill_at_any_call_leaves_the_old_mesh_or_the_new(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    made = kind_of("mesh-nodes")
    new = moved(made.mesh)
    number, saved = 0, set()
    while True:
        dataset = make_kind(tmp_path / f"d{number}", made, "MultiTimestep")
        storage = Watched(dataset.storage)

        def kill(call: str, name: str, at: int, last: int = number) -> None:
            if at > last:
                raise Killed

        storage.before = kill
        try:
            update_mesh(storage, new)
        except Killed:
            pass
        else:
            break
        domain = mesh_of(dataset)
        saved.add(is_new := not np.array_equal(domain.node_x, made.mesh.node_x))
        assert np.array_equal(source_parts(domain)[0], source_parts(new if is_new else made.mesh)[0])
        clean(dataset.storage, apply=True)
        assert len([name for name in blobs(dataset.storage) if name.startswith("domain")]) == 1
        assert np.array_equal(mesh_of(dataset).node_x, domain.node_x)
        number += 1
    assert saved == {False, True}


def test_levels_and_codes_of_the_nodes_go_with_their_nodes(tmp_path: Path) -> None:
    made = kind_of("mesh")
    dataset = make_kind(tmp_path, made, "MultiTimestep")
    levels, codes = np.linspace(-9.0, 3.0, made.mesh.nodes), np.arange(made.mesh.nodes) % 7
    update_mesh(dataset.storage, moved(made.mesh, node_z=levels, node_code=codes))
    domain = mesh_of(dataset)
    assert domain.node_z is not None and domain.node_code is not None  # noqa: PT018
    assert np.array_equal(domain.node_z, levels[domain.node_number])
    assert np.array_equal(domain.node_code, codes[domain.node_number])


@pytest.mark.rule("W2")
def test_times_that_another_job_lists_meanwhile_stay_and_another_domain_is_told(tmp_path: Path) -> None:
    made = kind_of("mesh-nodes")
    new = moved(made.mesh)
    for change, told in (({"data_size_bytes": 77}, False), ({"domain_blob": "domain-0123456789abcdef.bin"}, True)):
        dataset = make_kind(tmp_path / str(told), made, "MultiTimestep")
        storage, done = Watched(dataset.storage), []

        def save(call: str, name: str, number: int, change: Any = change, inner: Any = dataset.storage,
                 done: list[str] = done) -> None:
            if call == "write" and name == "dataset.json" and not done:
                done.append(name)
                save_metadata(inner, dataclasses.replace(load_metadata(inner)[0], **change))

        storage.before = save
        if told:
            with pytest.raises(BlobChangedError, match="another domain"):
                update_mesh(storage, new)
            assert load_metadata(dataset.storage)[0].domain_blob == change["domain_blob"]
        else:
            update_mesh(storage, new)
            assert load_metadata(dataset.storage)[0].data_size_bytes == 77
