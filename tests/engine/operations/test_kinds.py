"""Every kind of dataset is appended to, updated and replaced as grids are (K1, W1); legacy meshes; moved meshes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Description
from mdstudio.engine.operations.append import append_times
from mdstudio.engine.operations.mesh_update import update_mesh
from mdstudio.engine.operations.replace import replace_dataset
from mdstudio.engine.operations.update import update_times
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import MapRequest
from mdstudio.engine.spatial.mesh_index import index_mesh
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.times import TimeAxis
from tests.engine.made_datasets import (
    HOUR,
    KINDS,
    STORAGE_TYPES,
    Arrays,
    Made,
    blobs,
    kind_of,
    kind_settings,
    make_kind,
    mesh_parts,
    write_kind,
)

CASES = [(kind, storage_type, compression) for kind in KINDS for storage_type in STORAGE_TYPES
         for compression in ("None", "ZstdAuto")]


def part(made: Made, times: Sequence[int]) -> tuple[Description, Arrays]:
    described = replace(made.description, times=TimeAxis(np.asarray(times, np.int64) * HOUR))
    return described, Arrays({name: values[list(times)] for name, values in made.values.items()})


def doubled(made: Made, times: Sequence[int]) -> Made:
    """With other values at some times."""
    values = {name: array.copy() for name, array in made.values.items()}
    for array in values.values():
        array[list(times)] = array[list(times)] * 2
    return replace(made, values=values)


def same(one: Dataset, two: Dataset) -> bool:
    """Equal in every stored value that a map gives, and in which of them are data."""
    assert one.metadata.times == two.metadata.times
    for item in one.metadata.items:
        for t in range(len(one.metadata.times)):
            for layer in range(len(item.layers)) if item.layers else (None,):
                maps = [dataset.map(MapRequest(item.name, t, layer)) for dataset in (one, two)]
                if maps[0].stored.tobytes() != maps[1].stored.tobytes():
                    return False
    return True


@pytest.mark.rule("W1", "K1", "D7", "D8", "P6", "K9", "K10")
@pytest.mark.parametrize(("kind", "storage_type", "compression"), CASES)
def test_a_dataset_of_any_kind_grows_to_what_one_import_makes(
    tmp_path: Path, kind: str, storage_type: Any, compression: str
) -> None:
    made = kind_of(kind)
    if storage_type not in (made.layouts if compression == "None" else made.compressed):
        pytest.skip("no dataset of this kind is stored so")
    new = doubled(made, [1, 3])
    expected = make_kind(tmp_path / "once", new, storage_type, compression)
    storage = FolderStorage(tmp_path / "grown")
    first, values = part(made, range(2))
    settings = kind_settings(made, storage_type, compression)
    write_kind(storage, replace(made, description=first, values=values.values), settings)
    for times in ((2,), (3, 4)):
        described, reader = part(made, times)
        append_times(storage, described, reader, {}, Progress(), {})
    described, reader = part(new, (1, 3))
    written = update_times(storage, described, reader, {}, Progress(), {})
    found = Dataset.open(storage)
    assert same(found, expected)
    data = [data for name, data in blobs(storage).items() if name.endswith((".dat", ".idx"))]
    assert found.metadata.data_size_bytes == written.stored_bytes == sum(map(len, data))
    described, reader = part(new, range(5))
    replace_dataset(storage, "new", described, reader, settings, Progress(), {})
    assert same(Dataset.open(storage), expected)


@pytest.mark.rule("V2", "D7")
def test_a_legacy_mesh_under_a_flag_is_appended_raw_and_saved_as_such(tmp_path: Path) -> None:
    """The writer of the time set the flag on meshes per timestep, and stored them raw."""
    made = kind_of("mesh")
    storage = FolderStorage(tmp_path / "d")
    first, values = part(made, range(3))
    write_kind(storage, replace(made, description=first, values=values.values), kind_settings(made, "SingleTimestep"))
    path = tmp_path / "d" / "dataset.json"
    document = json.loads(path.read_text())
    document["ItemStorage"]["Compression"] = "LZ4"
    for field in ("LayoutVersion", "CompressedMeshPageSize"):
        document["ItemStorage"].pop(field, None)
    path.write_text(json.dumps(document))
    assert Dataset.open(storage).metadata.storage.compression == "None"
    described, reader = part(made, (3, 4))
    append_times(storage, described, reader, {"Compression": "None"}, Progress(), {})
    kept = json.loads(path.read_text())["ItemStorage"]
    assert (kept["Compression"], kept.get("LayoutVersion")) == ("None", None)
    assert not list(tmp_path.rglob("*.idx"))
    assert same(Dataset.open(storage), make_kind(tmp_path / "once", made, "SingleTimestep"))


@pytest.mark.rule("V13", "W1")
def test_a_mesh_that_was_updated_is_appended_to_from_its_new_source(tmp_path: Path) -> None:
    """Values stay in the order of the old mesh, whatever order the new coordinates would give."""
    x, y, corners = mesh_parts(20, 16)
    made = kind_of("mesh")
    domain = index_mesh(x, y, corners)
    moved = index_mesh(-y * 3, x + 100, corners)
    assert not np.array_equal(domain.element_number, moved.element_number)
    values = {name: array[:, :, :, :domain.elements] for name, array in made.values.items()}
    there = replace(made, values=values, description=replace(made.description, domain=domain))
    storage = FolderStorage(tmp_path / "d")
    first, reader = part(there, range(3))
    write_kind(storage, replace(there, description=first, values=reader.values), kind_settings(there, "MultiTimestep"))
    described, reader = part(replace(there, description=replace(there.description, domain=moved)), (3, 4))
    with pytest.raises(UsageError, match="another mesh"):
        append_times(storage, described, reader, {}, Progress(), {})
    update_mesh(storage, moved)
    append_times(storage, described, reader, {}, Progress(), {})
    dataset = Dataset.open(storage)
    for t in range(5):
        found = dataset.map(MapRequest("v", t))
        number = domain.element_number[found.rows]
        assert np.array_equal(found.stored, values["v"][t, 0, 0][number])


def test_another_mesh_is_refused_by_what_differs(tmp_path: Path) -> None:
    made = kind_of("mesh-layered")
    make_kind(tmp_path, made, "MultiTimestep")
    other = replace(made.description, domain=kind_of("mesh").mesh, times=TimeAxis(np.array([9 * HOUR])))
    with pytest.raises(UsageError, match=r"another mesh: it has \d+ elements"):
        append_times(FolderStorage(tmp_path), other, Arrays({}), {}, Progress(), {})
    shifted = replace(made.mesh, node_x=made.mesh.node_x + 1)
    with pytest.raises(UsageError, match="NodeX differs, first at 0"):
        append_times(FolderStorage(tmp_path), replace(other, domain=shifted), Arrays({}), {}, Progress(), {})
