"""Cleaning: only what nothing refers to, only names of ours, never where a job is writing (W1, P25, P26)."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import BlobChangedError, Cancelled
from mdstudio.engine.model import Array, StorageType
from mdstudio.engine.operations.clean import Cleaning, clean
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import FolderStorage, open_storage
from mdstudio.engine.storage import files as fs
from tests.azurite import ACCOUNT, Azurite
from tests.engine.made_datasets import (
    KINDS,
    Watched,
    blobs,
    files,
    item,
    item_storage,
    kind_of,
    make,
    make_kind,
    smooth,
    write,
)
from tests.engine.operations.states import states

pytestmark = pytest.mark.rule("W1")
TYPES: list[StorageType] = ["SingleTimestep", "MultiTimestep", "TimeSeries"]


@pytest.fixture
def values() -> dict[str, Array]:
    return {"a": smooth(5, 1, 20, 30), "deep": smooth(5, 2, 20, 30, "float32", 1)}


def made(folder: Path, values: dict[str, Array], storage_type: StorageType = "MultiTimestep",
         compression: str = "ZstdAuto") -> Dataset:
    items = (item("a", values["a"], -999), item("deep", values["deep"], layered=True))
    return make(folder, values, item_storage(storage_type, compression), items)


def aged(path: Path, hours: float = 2.0) -> Path:
    """The file or folder as if written some hours ago."""
    moment = time.time() - hours * 3600
    os.utime(path, (moment, moment))
    return path


def found(cleaning: Cleaning) -> set[tuple[str, str, str]]:
    return {(left.place, left.what, left.name) for left in cleaning.left_overs}


@pytest.mark.parametrize("storage_type", TYPES)
@pytest.mark.parametrize("compression", ["ZstdAuto", "None"])
def test_nothing_of_a_whole_dataset_is_left_over(
    tmp_path: Path, values: dict[str, Array], storage_type: StorageType, compression: str
) -> None:
    made(tmp_path / "2020-waves", values, storage_type, compression)  # named as an item's folder is
    made(tmp_path / "2020-waves" / "inner", values, storage_type, compression)
    before = states(tmp_path)
    for place in (tmp_path, tmp_path / "2020-waves"):
        cleaning = clean(FolderStorage(place), apply=True)
        assert (cleaning.left_overs, cleaning.skipped) == ((), {})
    assert states(tmp_path) == before


@pytest.mark.parametrize("storage_type", TYPES)
def test_blobs_that_no_listed_time_refers_to_go_and_only_when_asked(
    tmp_path: Path, values: dict[str, Array], storage_type: StorageType
) -> None:
    dataset = made(tmp_path / "d", values, storage_type)
    whole = blobs(dataset.storage)
    orphans = {
        "SingleTimestep": ["000-a/L-1/20991231T000000.dat", "000-a/L-1/20991231T000000.idx"],
        "MultiTimestep": ["000-a/L-1/G00000002.dat", "001-deep/L0001/G00000007.dat"],
        "TimeSeries": ["000-a/L-1/S00000000/G00000002.dat", "000-a/L-1/S00000009/G00000000.dat"],
    }[storage_type] + ["000-a/L0000/G00000000.dat", "001-deep/L0002/G00000000.dat", "002-new/L-1/G00000000.dat",
                       "domain-0123456789abcdef.bin", "000-a/L-1/S00000099/G00000000.dat"]
    theirs = ["notes.txt", "000-a/L-1/readme.md", "000-a/readme.md", "000-a/L-1/G1.dat", "domain-old.bin",
              "000-a/L-1/G00000009.dat.bak", "003-mine/photo.dat", "004-MINE/L-1/G00000000.dat",
              "inner/000-a/L0/G00000000.dat"]
    for name in (*orphans, *theirs):
        dataset.storage.write(name, b"x" * 7)
    dry = clean(FolderStorage(tmp_path))
    assert {name for place, _, name in found(dry)} == set(orphans)
    assert {place for place, _, _ in found(dry)} == {"d"}
    assert {what for _, what, name in found(dry) if "domain" in name} == {"domain"}
    assert dry.bytes == 7 * len(orphans)
    assert not dry.applied
    assert set(blobs(dataset.storage)) == {*whole, *orphans, *theirs}
    assert found(clean(FolderStorage(tmp_path), apply=True)) == found(dry)
    after = blobs(dataset.storage)
    assert set(after) == {*whole, *theirs}
    assert all(after[name] == data for name, data in whole.items())
    assert clean(FolderStorage(tmp_path)).left_overs == ()


@pytest.mark.rule("P26")
@pytest.mark.parametrize("storage_type", TYPES)
def test_what_a_killed_import_left_goes_whenever_it_was_killed(
    tmp_path: Path, values: dict[str, Array], storage_type: StorageType
) -> None:
    class Killed(BaseException):
        pass

    number = 1
    while True:
        folder = tmp_path / f"d{number}"
        storage = Watched(FolderStorage(folder))

        def kill(call: str, name: str, at: int, last: int = number) -> None:
            if at > last:  # and so with every call of taking back
                raise Killed

        storage.before = kill
        try:
            write(storage, values, item_storage(storage_type))
        except Killed:
            assert not (folder / "dataset.json").exists()
        else:
            break
        for path in folder.rglob("*"):
            aged(path)
        cleaning = clean(FolderStorage(tmp_path), apply=True)
        assert {left.what for left in cleaning.left_overs} <= {"no dataset", "unfinished"}
        assert not folder.exists() or not list(folder.rglob("*"))
        number += 4
    assert number > 12


@pytest.mark.rule("P25")
def test_unfinished_local_writes_go_after_an_hour_and_a_pending_block_list_stays(
    tmp_path: Path, values: dict[str, Array]
) -> None:
    dataset = made(tmp_path, values)
    group = tmp_path / "000-a" / "L-1" / "G00000000.dat"
    whole = blobs(dataset.storage)
    lists = {name: dataset.storage.block_list(name).blocks for name in whole}
    group.with_name("G00000000.dat.blocks").rename(group.with_name("G00000000.dat.blocks.commit"))  # a finished commit
    dataset.storage.stage_block("000-a/L-1/G00000001.dat", "a" * 29, b"12345")
    staged = tmp_path / "000-a" / "L-1" / "G00000001.dat.staged"
    (staged / "mine.txt").write_text("not ours")
    old = [group.with_name("G00000001.dat.write"), group.with_name("G00000009.dat.commit"),
           group.with_name("G00000009.dat.blocks.commit"), group.with_name("G00000008.dat.blocks"),
           tmp_path / "dataset.json.write", group.with_name("G00000001.dat.lock"), staged]
    theirs = [group.with_name("letter.write"), tmp_path / "thesis.commit", tmp_path / "yarn.lock"]
    young = group.with_name("G00000000.dat.write")
    for path in (*old, *theirs, young):
        if path != staged:
            path.write_bytes(b"123")
    for path in (*old, *theirs, group.with_name("G00000000.dat.blocks.commit")):
        aged(path)
    dry = clean(FolderStorage(tmp_path))
    assert {name for _, what, name in found(dry) if what == "unfinished"} == {
        str(path.relative_to(tmp_path)) for path in old}
    assert dry.bytes == 5 * 3 + 5 + len("not ours")
    clean(FolderStorage(tmp_path), apply=True)
    assert [path for path in old if path.exists()] == [staged]  # somebody's own file is in it
    assert [path.name for path in staged.iterdir()] == ["mine.txt"]
    assert all(path.exists() for path in (*theirs, young))
    assert blobs(dataset.storage) == whole
    assert {name: dataset.storage.block_list(name).blocks for name in whole} == lists


@pytest.mark.azure
@pytest.mark.rule("P25", "P26")
def test_in_azure_blobs_and_blocks_that_no_commit_took_go(
    azurite: Azurite, tmp_path: Path, values: dict[str, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
    root = open_storage(f"az://{ACCOUNT}/{azurite.new_container()}/x")
    write(root.child("d"), values, item_storage("MultiTimestep"))
    whole = blobs(root)
    root.write("d/000-a/L-1/G00000009.dat", b"1234567")
    root.write("d/notes.txt", b"mine")
    root.write("killed/000-a/L-1/G00000000.dat", b"123")
    root.stage_block("killed/000-a/L-1/G00000001.dat", "a" * 29, b"12345")
    root.stage_block("first/000-a/L-1/G00000000.dat", "a" * 29, b"123456")
    root.stage_block("first/mine.dat", "a" * 29, b"123456")
    expected = {("d", "unreferenced", "000-a/L-1/G00000009.dat"), ("killed", "no dataset", "000-a/L-1/G00000000.dat"),
                ("killed", "uncommitted", "000-a/L-1/G00000001.dat"),
                ("first", "uncommitted", "000-a/L-1/G00000000.dat")}
    for apply in (False, True):
        cleaning = clean(Watched(root), apply)
        assert (found(cleaning), cleaning.bytes, cleaning.skipped) == (expected, 7 + 3 + 5 + 6, {})
    assert blobs(root) == whole | {"d/notes.txt": b"mine"}
    assert clean(root).left_overs == ()


def test_a_place_where_a_job_is_writing_is_left_alone(tmp_path: Path, values: dict[str, Array]) -> None:
    for name in ("a", "b"):
        FolderStorage(tmp_path / name).write("000-a/L-1/G00000000.dat", b"x")
    with FolderStorage(tmp_path / "a").claimed():
        for apply in (False, True):
            cleaning = clean(FolderStorage(tmp_path), apply)
            assert {left.place for left in cleaning.left_overs} == {"b"}
            assert cleaning.skipped.keys() == {"a"}
            assert "Another job" in cleaning.skipped["a"]
    assert (tmp_path / "a" / "000-a").exists()
    assert not (tmp_path / "b").exists()


@pytest.mark.rule("V4", "V5")
@pytest.mark.parametrize("text", ["{", '{"a": 1}', "newer", "dropped"])
def test_where_it_cannot_be_known_what_is_referred_to_nothing_is_removed(
    tmp_path: Path, values: dict[str, Array], text: str
) -> None:
    dataset = made(tmp_path / "d", values, "TimeSeries")
    document = json.loads(dataset.storage.read("dataset.json").data)
    if text == "newer":
        document["ItemStorage"]["LayoutVersion"] = 99
    elif text == "dropped":
        del document["ItemStorage"]["LayoutVersion"]
    dataset.storage.write("dataset.json", (text if text[0] == "{" else json.dumps(document)).encode())
    dataset.storage.write("000-a/L-1/S00000000/G00000009.dat", b"left over")
    before = files(tmp_path)
    cleaning = clean(FolderStorage(tmp_path), apply=True)
    assert cleaning.left_overs == ()
    assert cleaning.skipped.keys() == {"d"}
    assert files(tmp_path) == before


def test_a_blob_that_changes_after_the_listing_stays(tmp_path: Path) -> None:
    inner = FolderStorage(tmp_path)
    inner.write("000-a/L-1/G00000000.dat", b"x")
    storage = Watched(inner)
    storage.before = lambda call, name, number: (
        inner.write("000-a/L-1/G00000000.dat", b"new") and None if call == "delete" else None)
    assert clean(storage, apply=True).left_overs == ()
    assert inner.read("000-a/L-1/G00000000.dat").data == b"new"


def test_a_cancel_and_a_kill_leave_the_rest_for_the_next_time(tmp_path: Path, values: dict[str, Array]) -> None:
    dataset = made(tmp_path, values)
    whole = blobs(dataset.storage)
    for number in range(5):
        dataset.storage.write(f"000-a/L-1/G0000009{number}.dat", b"x")
    storage, progress = Watched(dataset.storage), Progress()
    storage.after = lambda call, name, number: progress.cancel() if call == "delete" else None
    with pytest.raises(Cancelled):
        clean(storage, True, progress)
    left = blobs(dataset.storage)
    assert len(left) == len(whole) + 4
    clean(dataset.storage, apply=True)
    assert blobs(dataset.storage) == whole


def test_a_folder_that_may_only_be_read_is_looked_at(tmp_path: Path) -> None:
    inner = FolderStorage(tmp_path)
    inner.write("000-a/L-1/G00000000.dat", b"x")

    class ReadOnly(Watched):
        def claimed(self, wait: float = 0.0, check: object = None):  # type: ignore[no-untyped-def,override]
            from mdstudio.engine.errors import AccessError

            raise AccessError("No permission.")

    assert len(clean(ReadOnly(inner)).left_overs) == 1
    applied = clean(ReadOnly(inner), apply=True)
    assert (applied.left_overs, list(applied.skipped)) == ((), [""])


def test_an_import_that_begins_while_it_cleans_waits_or_is_told(tmp_path: Path) -> None:
    inner = FolderStorage(tmp_path)
    inner.write("000-a/L-1/G00000000.dat", b"x")
    storage, seen = Watched(inner), []

    def begin(call: str, name: str, number: int) -> None:
        if call == "delete":
            with pytest.raises(BlobChangedError), FolderStorage(tmp_path).claimed():
                pass
            seen.append(name)

    storage.before = begin
    clean(storage, apply=True)
    assert seen == ["000-a/L-1/G00000000.dat"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("storage_type", TYPES)
def test_nothing_of_any_kind_of_dataset_is_left_over(kind: str, storage_type: StorageType, tmp_path: Path) -> None:
    kept = kind_of(kind)
    if storage_type not in kept.layouts:
        pytest.skip("this kind is not stored so")
    for compression in ("None", *(["ZstdAuto"] if storage_type in kept.compressed else [])):
        make_kind(tmp_path / compression, kept, storage_type, compression)
    before = states(tmp_path)
    cleaning = clean(FolderStorage(tmp_path), apply=True)
    assert (cleaning.left_overs, cleaning.skipped) == ((), {})
    assert states(tmp_path) == before


@pytest.mark.rule("P25")
def test_a_write_that_begins_after_its_left_over_was_found_keeps_it(
    tmp_path: Path, values: dict[str, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = made(tmp_path, values)
    blob = next(name for name in files(tmp_path) if name.endswith("G00000001.dat"))
    staged = tmp_path / f"{blob}.staged"
    dataset.storage.stage_block(blob, "TS0000000004-0123456789abcdef", b"x")
    aged(staged)
    locked = fs.locked

    @contextlib.contextmanager
    def taken(path: str) -> Iterator[None]:
        with locked(path):
            os.utime(staged)
            yield

    monkeypatch.setattr(fs, "locked", taken)
    assert not clean(FolderStorage(tmp_path), apply=True).left_overs
    assert len(list(staged.iterdir())) == 1
