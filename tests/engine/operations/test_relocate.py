"""Relocation: blobs with their block lists, the metadata last, what a kill leaves (P26, W1, V4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import (
    AlreadyExistsError,
    BlobChangedError,
    Cancelled,
    LayoutGuardError,
    StorageError,
    UnsupportedVersionError,
    UsageError,
)
from mdstudio.engine.layout.document import parse_document
from mdstudio.engine.model import Array, StorageType
from mdstudio.engine.operations.clean import clean
from mdstudio.engine.operations.relocate import relocate
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import BlobStorage, FolderStorage, open_storage
from tests.azurite import ACCOUNT, Azurite
from tests.engine.made_datasets import Watched, blobs, files, item, item_storage, make, smooth, write
from tests.engine.operations.states import states

pytestmark = pytest.mark.rule("P26", "W1")
TYPES: list[StorageType] = ["SingleTimestep", "MultiTimestep", "TimeSeries"]


@pytest.fixture
def values() -> dict[str, Array]:
    return {"a": smooth(5, 1, 20, 30), "deep": smooth(5, 2, 20, 30, "float32", 1)}


def made(folder: Path, values: dict[str, Array], storage_type: StorageType = "MultiTimestep", **more: Any) -> Dataset:
    items = (item("a", values["a"], -999), item("deep", values["deep"], layered=True))
    return make(folder, values, item_storage(storage_type, **more), items)


def same_dataset(a: BlobStorage, b: BlobStorage) -> None:
    """Equal in every blob, block list and fact of the metadata."""
    one, other = blobs(a), blobs(b)
    documents = [parse_document(found.pop("dataset.json"), "") for found in (one, other)]
    assert documents[0] == documents[1]
    assert one == other
    for name in one:
        assert a.block_list(name).blocks == b.block_list(name).blocks


@pytest.mark.parametrize("storage_type", TYPES)
@pytest.mark.parametrize("compression", ["ZstdAuto", "None"])
def test_a_dataset_is_copied_with_its_block_lists_and_nothing_of_it_changes(
    tmp_path: Path, values: dict[str, Array], storage_type: StorageType, compression: str
) -> None:
    source = made(tmp_path / "a", values, storage_type, compression=compression)
    before = states(tmp_path / "a")
    progress = Progress()
    done = relocate(source.storage, FolderStorage(tmp_path / "deep" / "b"), progress)
    target = FolderStorage(tmp_path / "deep" / "b")
    same_dataset(source.storage, target)
    assert states(tmp_path / "a") == before
    assert files(tmp_path / "deep" / "b") == files(tmp_path / "a")  # sidecars too, no left-over
    raw = sum(len(data) for name, data in blobs(target).items() if name != "dataset.json")
    assert (done.bytes, done.blobs, done.kept_blobs) == (raw, len(blobs(target)) - 1, 0)
    assert (progress.done, progress.total, progress.unit) == (raw, raw, "bytes")


@pytest.mark.azure
@pytest.mark.parametrize("storage_type", TYPES)
def test_from_a_folder_to_azure_between_containers_and_back(
    azurite: Azurite, tmp_path: Path, values: dict[str, Array], storage_type: StorageType,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
    first = made(tmp_path / "a", values, storage_type).storage
    places = [open_storage(f"az://{ACCOUNT}/{azurite.new_container()}/x/y") for _ in range(2)]
    for before, after in zip([first, *places], [*places, FolderStorage(tmp_path / "b")], strict=True):
        relocate(before, after)
        same_dataset(before, after)
    assert files(tmp_path / "b") == files(tmp_path / "a")


@pytest.mark.rule("V8")
def test_unknown_fields_of_the_metadata_go_along(tmp_path: Path, values: dict[str, Array]) -> None:
    source = made(tmp_path / "a", values)
    document = json.loads(source.storage.read("dataset.json").data) | {"Later": [1, {"x": None}]}
    source.storage.write("dataset.json", json.dumps(document).encode())
    relocate(source.storage, FolderStorage(tmp_path / "b"))
    assert json.loads((tmp_path / "b" / "dataset.json").read_bytes())["Later"] == [1, {"x": None}]


def test_what_nobody_refers_to_in_other_folders_and_other_datasets_stay_behind(
    tmp_path: Path, values: dict[str, Array]
) -> None:
    source = made(tmp_path / "a", values)
    made(tmp_path / "a" / "inner", values)
    (tmp_path / "a" / "notes.txt").write_text("mine")
    relocate(source.storage, FolderStorage(tmp_path / "b"))
    assert not (tmp_path / "b" / "inner").exists()
    assert not (tmp_path / "b" / "notes.txt").exists()


@pytest.mark.rule("W2")
@pytest.mark.parametrize("storage_type", TYPES)
def test_a_kill_at_any_call_leaves_no_dataset_and_the_same_call_completes_it(
    tmp_path: Path, values: dict[str, Array], storage_type: StorageType
) -> None:
    class Killed(BaseException):
        pass

    source = made(tmp_path / "a", values, storage_type)
    number, kept = 0, set()
    while True:
        target = Watched(FolderStorage(tmp_path / f"b{number}"))

        def kill(call: str, name: str, at: int, last: int = number) -> None:
            if at > last:
                raise Killed

        target.before = kill
        try:
            relocate(source.storage, target)
        except Killed:
            assert not (tmp_path / f"b{number}" / "dataset.json").exists()
        else:
            break
        kept.add(relocate(source.storage, FolderStorage(tmp_path / f"b{number}")).kept_blobs)
        same_dataset(source.storage, FolderStorage(tmp_path / f"b{number}"))
        number += 3
    assert number > 10
    assert (max(kept) > 0) == (storage_type == "MultiTimestep")  # what a length alone would have to prove is copied


@pytest.mark.parametrize("storage_type", ["MultiTimestep", "SingleTimestep"])  # with block lists, and without
def test_blobs_of_the_same_length_but_other_content_are_copied_anew(
    tmp_path: Path, values: dict[str, Array], storage_type: StorageType
) -> None:
    """As a killed import of other data leaves them."""
    source = made(tmp_path / "a", values, storage_type=storage_type, compression="None")
    other = made(tmp_path / "b", {name: v + 1 for name, v in values.items()}, storage_type=storage_type,
                 compression="None")
    other.storage.delete("dataset.json")
    assert relocate(source.storage, FolderStorage(tmp_path / "b")).kept_blobs == 0
    for name, data in blobs(source.storage).items():
        if name != "dataset.json":
            assert FolderStorage(tmp_path / "b").read(name).data == data


def test_a_dataset_and_foreign_blobs_at_the_destination_are_refused(tmp_path: Path, values: dict[str, Array]) -> None:
    source = made(tmp_path / "a", values)
    other = made(tmp_path / "b", {"a": values["a"], "deep": values["deep"]}, "SingleTimestep")
    before = blobs(other.storage)
    with pytest.raises(AlreadyExistsError):
        relocate(source.storage, other.storage)
    other.storage.delete("dataset.json")
    del before["dataset.json"]
    with pytest.raises(AlreadyExistsError, match="not of the dataset"):
        relocate(source.storage, other.storage)
    assert blobs(other.storage) == before


@pytest.mark.parametrize("inside", ["a", "a/b", "a/000-a", "link", "."])
def test_a_dataset_is_not_relocated_into_itself(tmp_path: Path, values: dict[str, Array], inside: str) -> None:
    folder = tmp_path / ("000-a" if inside == "." else "a")
    source = made(folder, values)
    if inside == "link":
        (tmp_path / "link").symlink_to(folder, target_is_directory=True)
    before = files(tmp_path)
    with pytest.raises(UsageError, match="into itself"):
        relocate(source.storage, FolderStorage(tmp_path / inside))
    assert files(tmp_path) == before


@pytest.mark.rule("V4", "V5")
@pytest.mark.parametrize(("storage_type", "change", "error"), [
    ("TimeSeries", {"LayoutVersion": None}, LayoutGuardError),
    ("MultiTimestep", {"LayoutVersion": 99}, UnsupportedVersionError),
])
def test_a_refused_save_leaves_a_copy_that_clean_removes(
    tmp_path: Path, values: dict[str, Array], storage_type: StorageType, change: dict[str, Any],
    error: type[Exception],
) -> None:
    source = made(tmp_path / "a", values, storage_type)
    document = json.loads(source.storage.read("dataset.json").data)
    document["ItemStorage"] |= change
    source.storage.write("dataset.json", json.dumps(document).encode())
    notes: list[str] = []
    progress = Progress()
    progress.note = notes.append  # type: ignore[method-assign]
    before, target = blobs(source.storage), FolderStorage(tmp_path / "b")
    with pytest.raises(error, match="not saved"):
        relocate(source.storage, target, progress)
    assert "will not become a dataset" in notes[0]
    assert {**before, "dataset.json": b""} == {**blobs(target), "dataset.json": b""}
    assert not target.exists("dataset.json")
    assert blobs(source.storage) == before
    clean(target, apply=True)
    assert files(tmp_path / "b") == []


@pytest.mark.rule("W2")
@pytest.mark.parametrize("changed", ["blob", "metadata"])
def test_a_change_of_the_dataset_meanwhile_is_found(tmp_path: Path, values: dict[str, Array], changed: str) -> None:
    source = made(tmp_path / "a", values)
    target = Watched(FolderStorage(tmp_path / "b"))
    name = next(iter(blobs(source.storage)))

    def change(call: str, blob: str, number: int) -> None:
        if call == "copy_from" and blob == name:
            other = name if changed == "blob" else "dataset.json"
            data = source.storage.read(other).data
            source.storage.write(other, data[::-1] if changed == "blob" else data)

    target.after = change
    with pytest.raises(BlobChangedError, match="while it was copied"):
        relocate(source.storage, target)
    assert not target.exists("dataset.json")


def test_a_copy_that_is_not_like_the_original_is_found(tmp_path: Path, values: dict[str, Array]) -> None:
    source = made(tmp_path / "a", values)
    inner = FolderStorage(tmp_path / "b")
    target = Watched(inner)

    def spoil(call: str, blob: str, number: int) -> None:
        if call == "copy_from" and blob.endswith("G00000001.dat"):
            inner.write(blob, source.storage.read(blob).data)  # the same bytes, without the block list

    target.after = spoil
    with pytest.raises(StorageError, match="in 0 blocks"):
        relocate(source.storage, target)
    assert not target.exists("dataset.json")


def test_a_cancel_leaves_no_dataset_and_another_job_there_is_not_disturbed(
    tmp_path: Path, values: dict[str, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = made(tmp_path / "a", values)
    target, progress = Watched(FolderStorage(tmp_path / "b")), Progress()
    target.before = lambda call, name, number: progress.cancel() if call == "copy_from" else None
    with pytest.raises(Cancelled):
        relocate(source.storage, target, progress)
    assert not target.exists("dataset.json")
    monkeypatch.setattr("mdstudio.engine.operations.relocate.CLAIM_WAIT", 0.0)
    with FolderStorage(tmp_path / "c").claimed(), pytest.raises(BlobChangedError):
        relocate(source.storage, FolderStorage(tmp_path / "c"))
    assert not (tmp_path / "c").exists()


def test_an_import_that_ends_there_meanwhile_wins(tmp_path: Path, values: dict[str, Array]) -> None:
    source = made(tmp_path / "a", values)
    target = Watched(FolderStorage(tmp_path / "b"))
    other = {"a": values["a"]}

    def finish(call: str, name: str, number: int) -> None:
        if call == "write" and name == "dataset.json":
            write(FolderStorage(tmp_path / "elsewhere"), other, item_storage("MultiTimestep"))
            (tmp_path / "elsewhere" / "dataset.json").rename(tmp_path / "b" / "dataset.json")

    target.before = finish
    with pytest.raises(AlreadyExistsError, match="meanwhile"):
        relocate(source.storage, target)
