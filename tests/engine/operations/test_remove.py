"""Removing timesteps: refused before a blob is touched, the metadata first, what a kill leaves (D6, W1, W2)."""

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
    Cancelled,
    LayoutGuardError,
    MdError,
    NotFoundError,
    StorageError,
    UnknownCompressionError,
    UnsupportedError,
    UnsupportedVersionError,
    UsageError,
)
from mdstudio.engine.health import Finding, check
from mdstudio.engine.layout.metadata import load_metadata, save_metadata
from mdstudio.engine.model import Array, StorageType
from mdstudio.engine.operations.remove import remove_times
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import FolderStorage
from tests.engine.made_datasets import HOUR, Watched, blobs, item, item_storage, make, same_bits, smooth

TIMES = 6
pytestmark = pytest.mark.rule("D6", "W1")


@pytest.fixture
def values() -> dict[str, Array]:
    return {"a": smooth(TIMES, 1, 20, 30), "deep": smooth(TIMES, 3, 20, 30, "float32", 1)}


@pytest.fixture(params=["ZstdAuto", "None"])
def dataset(request: pytest.FixtureRequest, tmp_path: Path, values: dict[str, Array]) -> Dataset:
    items = (item("a", values["a"], -999), item("deep", values["deep"], layered=True))
    return make(tmp_path / "d", values, item_storage("SingleTimestep", request.param), items)


def codes(storage: Any) -> list[str]:
    return [found.code for found in check(storage) if isinstance(found, Finding)]


def block(dataset: Dataset, name: str, layer: int) -> Array:
    return dataset.block(name, slice(0, len(dataset.metadata.times)), layer, slice(0, 20), slice(0, 30))


def test_removed_times_are_gone_with_their_blobs_and_the_others_as_they_were(
    dataset: Dataset, values: dict[str, Array]
) -> None:
    before = blobs(dataset.storage)
    removal = remove_times(dataset.storage, [4 * HOUR, 1 * HOUR, 4 * HOUR])
    after = blobs(dataset.storage)
    gone = before.keys() - after.keys()
    each = 2 if dataset.metadata.compressed else 1
    assert (removal.removed, removal.left, removal.blobs) == (2, 4, len(gone)) == (2, 4, 2 * 4 * each)
    assert removal.bytes == sum(len(before[name]) for name in gone)
    assert all(after[name] == before[name] for name in after if name != "dataset.json")
    again = Dataset.open(dataset.storage)
    assert again.metadata.times.microseconds.tolist() == [0, 2 * HOUR, 3 * HOUR, 5 * HOUR]
    kept = [0, 2, 3, 5]
    assert same_bits(block(again, "a", -1), values["a"][kept, 0])
    assert same_bits(block(again, "deep", 2), np.ascontiguousarray(values["deep"][kept, 2]))
    assert again.metadata.storage == dataset.metadata.storage
    assert again.metadata.data_size_bytes == sum(
        len(data) for name, data in after.items() if not name.startswith(("dataset", "domain")))
    assert codes(dataset.storage) == []


@pytest.mark.parametrize("storage_type", ["MultiTimestep", "TimeSeries"])
@pytest.mark.parametrize("compression", ["ZstdAuto", "None"])
def test_other_storage_types_refuse_before_any_blob_is_touched(
    tmp_path: Path, values: dict[str, Array], storage_type: StorageType, compression: str
) -> None:
    made = make(tmp_path / "d", {"a": values["a"]}, item_storage(storage_type, compression))
    storage = Watched(made.storage)
    with pytest.raises(UnsupportedError, match=f"SingleTimestep .*{storage_type}"):
        remove_times(storage, [HOUR])
    assert storage.calls == [("read", "dataset.json")]


def refused(storage: Watched, moments: list[int], error: type[MdError]) -> None:
    """Refused before a blob is touched: only the metadata was read."""
    storage.calls.clear()
    before = blobs(storage.inner)
    with pytest.raises(error):
        remove_times(storage, moments)
    assert set(storage.calls) == {("read", "dataset.json")}
    assert blobs(storage.inner) == before


def test_all_times_no_time_and_a_time_that_is_not_there_are_refused(dataset: Dataset) -> None:
    storage = Watched(dataset.storage)
    refused(storage, [t * HOUR for t in range(TIMES)], UsageError)
    refused(storage, [], UsageError)
    refused(storage, [HOUR, HOUR // 2], NotFoundError)
    with pytest.raises(NotFoundError, match="1970-01-01T00:30:00"):
        remove_times(storage, [HOUR, HOUR // 2])


@pytest.mark.rule("V4", "V5", "V6")
@pytest.mark.parametrize(("change", "error"), [
    ({"LayoutVersion": 99}, UnsupportedVersionError),
    ({"Compression": "BrotliAuto"}, UnknownCompressionError),
])
def test_a_guarded_dataset_is_refused_before_any_blob_is_touched(
    tmp_path: Path, values: dict[str, Array], change: dict[str, Any], error: type[MdError]
) -> None:
    made = make(tmp_path / "d", {"a": values["a"]}, item_storage("SingleTimestep"))
    document = json.loads(made.storage.read("dataset.json").data)
    document["ItemStorage"].update(change)
    made.storage.write("dataset.json", json.dumps(document).encode())
    refused(Watched(made.storage), [HOUR], error)


@pytest.mark.rule("V4")
def test_a_mesh_whose_layout_version_was_dropped_is_refused(tmp_path: Path, values: dict[str, Array]) -> None:
    made = make(tmp_path / "d", {"a": values["a"]}, item_storage("SingleTimestep"))
    document = json.loads(made.storage.read("dataset.json").data)
    document["Kind"] = "Mesh"
    document["SpatialDomain"] |= {"Elements": 600, "Nodes": 651}
    document["ItemStorage"]["CompressedMeshPageSize"] = 256
    del document["ItemStorage"]["LayoutVersion"]
    made.storage.write("dataset.json", json.dumps(document).encode())
    before = blobs(made.storage)
    with pytest.raises(LayoutGuardError, match="layout version"):
        remove_times(made.storage, [HOUR])
    assert blobs(made.storage) == before


@pytest.mark.rule("V8")
def test_fields_of_other_builds_survive(dataset: Dataset) -> None:
    document = json.loads(dataset.storage.read("dataset.json").data)
    document["Later"] = {"a": 1}
    document["ItemStorage"]["Later"] = 2
    dataset.storage.write("dataset.json", json.dumps(document).encode())
    remove_times(dataset.storage, [HOUR])
    after = json.loads(dataset.storage.read("dataset.json").data)
    assert (after["Later"], after["ItemStorage"]["Later"]) == ({"a": 1}, 2)


@pytest.mark.rule("W2")
def test_the_metadata_comes_first_and_a_kill_at_any_call_leaves_a_whole_dataset(
    tmp_path: Path, values: dict[str, Array]
) -> None:
    class Killed(BaseException):
        pass

    kept = item_storage("SingleTimestep")
    number = 0
    while True:
        made = make(tmp_path / f"d{number}", {"a": values["a"]}, kept)
        storage = Watched(made.storage)

        def kill(call: str, name: str, at: int, last: int = number) -> None:
            if at > last:
                raise Killed

        storage.before = kill
        try:
            remove_times(storage, [HOUR, 2 * HOUR])
        except Killed:
            pass
        else:
            break
        again = Dataset.open(made.storage)
        saved = ("write", "dataset.json") in storage.calls[:number]
        assert len(again.metadata.times) == (TIMES - 2 if saved else TIMES)
        assert saved or not any(call == "delete" for call, _ in storage.calls[:number])
        kept_times = [0, 3, 4, 5] if saved else list(range(TIMES))
        assert same_bits(block(again, "a", -1), values["a"][kept_times, 0])
        assert set(codes(made.storage)) <= {"MD-H050"}  # blobs that nothing refers to
        number += 1
    assert number > 6


@pytest.mark.rule("W2")
def test_times_that_another_job_lists_in_between_stay(dataset: Dataset) -> None:
    """The save is conditional, and made anew from what the other job saved."""
    storage = Watched(dataset.storage)
    metadata, _ = load_metadata(dataset.storage)
    others = dataclasses.replace(metadata.times, microseconds=np.append(metadata.times.microseconds, 99 * HOUR))
    done: list[str] = []

    def append(call: str, name: str, number: int) -> None:
        if call == "write" and not done:
            done.append(name)
            save_metadata(dataset.storage, dataclasses.replace(metadata, times=others))

    storage.before = append
    remove_times(storage, [HOUR])
    assert done == ["dataset.json"]
    left = load_metadata(dataset.storage)[0].times.microseconds.tolist()
    assert left == [0, 2 * HOUR, 3 * HOUR, 4 * HOUR, 5 * HOUR, 99 * HOUR]


def test_a_blob_that_another_job_writes_anew_in_between_is_not_removed(dataset: Dataset) -> None:
    storage = Watched(dataset.storage)
    name = next(blob for blob in blobs(dataset.storage) if "19700101T010000" in blob)

    def write(call: str, blob: str, number: int) -> None:
        if call == "delete" and blob == name:
            dataset.storage.write(name, b"of another job")

    storage.before = write
    remove_times(storage, [HOUR])
    assert dataset.storage.read(name).data == b"of another job"


@pytest.mark.parametrize("lost", [True, False])
def test_a_failed_removal_of_a_blob_says_what_is_left_and_what_to_do(dataset: Dataset, lost: bool) -> None:
    storage, progress = Watched(dataset.storage), Progress()

    def fail(call: str, name: str, number: int) -> None:
        if call == "delete":
            if lost:
                raise StorageError("The network is gone.")
            progress.cancel()

    storage.before = fail
    with pytest.raises(StorageError if lost else Cancelled, match="mdstudio clean"):
        remove_times(storage, [HOUR], progress)
    assert len(Dataset.open(dataset.storage).metadata.times) == TIMES - 1


def test_another_job_that_writes_holds_it_up(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdstudio.engine.operations.remove.CLAIM_WAIT", 0.0)
    before = blobs(dataset.storage)
    with FolderStorage(dataset.location).claimed(), pytest.raises(BlobChangedError):
        remove_times(dataset.storage, [HOUR])
    assert blobs(dataset.storage) == before
