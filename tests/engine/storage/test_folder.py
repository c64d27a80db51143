"""The local folder beyond the conformance suite: the disk's errors, names on the disk, folders, locks."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest

from mdstudio.engine.errors import AccessError, CommitUncertainError, NotFoundError, StorageError
from mdstudio.engine.storage import FolderStorage, files
from mdstudio.engine.storage.names import file_name, is_side_file, segment_of
from tests.engine.storage.conformance import STRANGE_NAMES, commit

posix = pytest.mark.skipif(sys.platform == "win32", reason="plain names that Windows cannot hold")


@pytest.fixture
def storage(tmp_path: Path) -> FolderStorage:
    return FolderStorage(tmp_path / "root")


# What the disk may say


def fail_after(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Every file write ends half way with this error."""

    def write_half(path: str, chunks: list[bytes], *, later_than: int = 0) -> os.stat_result:
        with open(path, "wb") as file:
            file.write(b"".join(chunks)[:2])
        raise OSError(code, os.strerror(code), path)

    monkeypatch.setattr(files, "write_file", write_half)


@pytest.mark.rule("P22")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_names_the_blob_and_leaves_the_old_one(
    storage: FolderStorage, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    version = storage.write("a/w", b"old")
    group = commit(storage, "a/g", {"1": b"one"})
    storage.stage_block("a/g", "2", b"two")
    fail_after(monkeypatch, code)
    for call in (lambda: storage.write("a/w", b"newer"), lambda: storage.commit_blocks("a/g", ["1", "2"])):
        with pytest.raises(StorageError, match=r"disk is full.*make room") as caught:
            call()
        assert storage.location in caught.value.where
        assert caught.value.where[-1] in "wg"
    assert storage.read("a/w", version=version).data == b"old"
    assert storage.read("a/g", version=group).data == b"one"
    assert sorted(os.listdir(Path(storage.location, "a"))) == ["g", "g.blocks", "g.staged", "w"]


@pytest.mark.rule("P22")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_disk_that_is_really_full_leaves_the_old_blob(
    storage: FolderStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = storage.write("w", b"old")

    def open_on_the_full_disk(path: str, mode: str) -> IO[bytes]:
        return open("/dev/full" if mode == "wb" else path, mode)

    monkeypatch.setattr(files, "open", open_on_the_full_disk, raising=False)
    with pytest.raises(StorageError, match="disk is full"):
        storage.write("w", b"x" * 100_000)
    assert storage.read("w", version=version).data == b"old"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_a_place_that_takes_no_folder_is_refused_as_such() -> None:
    with pytest.raises(AccessError, match="no folder can be made here"):
        FolderStorage("/proc/md/root").write("a/b", b"x")


def test_a_parent_that_another_process_removes_meanwhile_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir, removed = os.mkdir, []

    def interfered(path: str) -> None:
        if path.endswith("c") and not removed:
            removed.append(path)
            os.rmdir(os.path.dirname(path))
        mkdir(path)

    monkeypatch.setattr(os, "mkdir", interfered)
    files.make_folder(str(tmp_path / "a" / "b" / "c"))
    assert removed
    assert (tmp_path / "a" / "b" / "c").is_dir()


@pytest.mark.rule("P15")
def test_a_disk_that_fails_after_the_move_leaves_open_whether_the_write_lasts(
    storage: FolderStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(storage, "g", {"1": b"one"})
    storage.stage_block("g", "2", b"two")

    def fail(path: str) -> None:
        raise OSError(errno.EIO, "I/O error", path)

    monkeypatch.setattr(files, "flush_folder", fail)
    with pytest.raises(CommitUncertainError, match="before writing again"):
        storage.commit_blocks("g", ["1", "2"])
    with pytest.raises(CommitUncertainError):
        storage.write("w", b"x")
    monkeypatch.undo()
    assert [block.id for block in storage.block_list("g").blocks] == ["1", "2"]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_no_permission_is_an_access_error(storage: FolderStorage, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    fail_after(monkeypatch, code)
    with pytest.raises(AccessError, match="rights"):
        storage.write("w", b"x")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do everything")
def test_a_folder_without_the_right_to_write_is_an_access_error(storage: FolderStorage) -> None:
    Path(storage.location).mkdir(mode=0o500)
    with pytest.raises(AccessError):
        storage.write("w", b"x")


def test_a_file_in_the_way_of_a_folder_and_a_folder_in_the_way_of_a_blob_are_told(storage: FolderStorage) -> None:
    storage.write("a", b"x")
    storage.write("b/c", b"x")
    for name in ("a/b", "a/b/c"):
        with pytest.raises(StorageError, match="needs a folder"):
            storage.write(name, b"x")
        with pytest.raises(StorageError, match="needs a folder"):
            storage.stage_block(name, "1", b"x")
        assert not storage.exists(name)
        with pytest.raises(NotFoundError):
            storage.read(name)
    with pytest.raises(StorageError, match="folder has the name"):
        storage.write("b", b"x")


def test_a_name_too_long_for_the_disk_is_an_error_of_the_storage(storage: FolderStorage) -> None:
    with pytest.raises(StorageError):
        storage.write("x" * 300, b"x")


def test_a_root_that_is_not_there_is_empty(storage: FolderStorage) -> None:
    assert list(storage.list_blobs()) == []
    assert storage.list_folders() == ([], [])
    assert not storage.exists("a")
    with pytest.raises(NotFoundError):
        storage.delete("a")
    assert not Path(storage.location).exists()


@posix
def test_a_read_only_folder_can_be_read(storage: FolderStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(storage, "g", {"1": b"one"})

    def refuse(event: str) -> object:
        def call(*arguments: object, **options: object) -> None:
            raise PermissionError(errno.EROFS, event)

        return call

    for event in ("replace", "unlink", "mkdir", "utime", "rmdir"):
        monkeypatch.setattr(os, event, refuse(event))
    assert storage.read("g").data == b"one"
    assert len(storage.block_list("g").blocks) == 1
    assert len(list(storage.list_blobs())) == 1


# Names on the disk


@pytest.mark.parametrize(
    "name", [*STRANGE_NAMES, "back\\slash", "new\nline", "tab\t", "a%3Ab", "%", "%%41", "x.BLOCKS"]
)
def test_the_file_of_a_name_can_be_on_windows_and_leads_back(name: str) -> None:
    for segment in name.split("/"):
        file = file_name(segment)
        assert segment_of(file) == segment
        assert not set(file) & set('<>:"|?*\\/')
        assert min(file) >= " "
        assert file[-1] not in ". "
        assert file.split(".")[0].upper() not in ("CON", "NUL", "COM1", "LPT9")
        assert not is_side_file(file)


def test_plain_names_stay_as_they_are() -> None:
    for segment in ("dataset.json", "000-wind_speed", "L-1", "G00000000.dat", "2020-01.idx", "Größe"):
        assert file_name(segment) == segment


@posix
def test_files_copied_in_under_a_plain_name_are_found(storage: FolderStorage) -> None:
    for path in ("a:b/c?.dat", "50%/x", "a%20b/x", "CON/x", "end./x"):
        file = Path(storage.location, path)
        file.parent.mkdir(parents=True)
        file.write_bytes(path.encode())
    for path in ("a:b/c?.dat", "50%/x", "a%20b/x", "CON/x", "end./x"):
        assert storage.read(path).data == path.encode()
        folder, name = path.split("/")
        assert storage.child(folder).read(name).data == path.encode()
    assert sorted(storage.list_folders()[0]) == ["50%", "CON", "a%20b", "a:b", "end."]
    assert len(list(storage.list_blobs())) == 5
    storage.write("a:b/c?.dat", b"new")
    assert storage.read("a:b/c?.dat").data == b"new"


@posix
def test_links_are_followed_but_not_round_in_circles(storage: FolderStorage, tmp_path: Path) -> None:
    storage.write("a/b/c", b"x")
    outside = FolderStorage(tmp_path / "outside")
    outside.write("d", b"y")
    os.symlink(Path(storage.location), Path(storage.location, "a", "b", "round"))
    os.symlink(Path(outside.location), Path(storage.location, "link"))
    names = [blob.name for blob in storage.list_blobs()]
    assert "a/b/c" in names
    assert "link/d" in names
    assert len(names) <= 4


@posix
def test_whoever_goes_down_the_folders_comes_to_an_end(storage: FolderStorage) -> None:
    storage.write("a/dataset.json", b"x")
    storage.write("b/c", b"x")
    root = Path(storage.location)
    for link, target in (("round", "."), ("a/up", "../b"), ("b/up", "../a"), ("b/root", ".."), ("self", "self"),
                         ("a/self", "self"), ("gone", "nowhere")):
        (root / link).symlink_to(target)
    found, open_folders = [], [""]
    while open_folders:
        folder = open_folders.pop()
        folders, blobs = storage.list_folders(folder)
        found += [blob.name for blob in blobs]
        open_folders += [f"{folder}/{name}".lstrip("/") for name in folders]
    assert sorted(found) == ["a/dataset.json", "a/up/c", "b/c", "b/up/dataset.json"]
    assert not storage.exists("self")
    names = [blob.name for blob in storage.list_blobs()]
    assert {"a/dataset.json", "b/c"} <= set(names)
    assert not any("self" in name or "gone" in name for name in names)


# Folders


def test_a_delete_removes_the_folders_that_it_empties(storage: FolderStorage, tmp_path: Path) -> None:
    storage.write("a/b/c", b"x")
    storage.write("a/d", b"x")
    storage.delete("a/b/c")
    assert not Path(storage.location, "a", "b").exists()
    storage.delete("a/d")
    assert not Path(storage.location).exists()  # this storage made it
    Path(storage.location).mkdir()
    mine = FolderStorage(storage.location)
    mine.write("a/b", b"x")
    mine.delete("a/b")
    assert os.listdir(storage.location) == []  # a person made it


def test_writes_and_deletes_in_one_folder_at_once_do_not_fail(storage: FolderStorage) -> None:
    errors: list[BaseException] = []

    def churn(number: int) -> None:
        try:
            for turn in range(40):
                storage.write(f"a/b/{number}", b"x")
                commit(storage, f"a/b/g{number}", {"1": b"one"})
                if turn % 2:
                    storage.delete(f"a/b/{number}")
                    storage.delete(f"a/b/g{number}")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=churn, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_relative_root_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    storage = FolderStorage("here")
    storage.write("a", b"x")
    monkeypatch.chdir("/")
    assert storage.read("a").data == b"x"
    assert storage.location == str(tmp_path / "here")


# Locks


HOLDER = """
import sys, time
from mdstudio.engine.storage import files
with files.locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


def holding(path: Path) -> subprocess.Popen[str]:
    """A process that holds the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "held"
    return process


def test_the_lock_of_a_dead_process_holds_nobody_up(storage: FolderStorage) -> None:
    storage.write("a", b"one")
    lock = Path(storage.location, "a.lock")
    with holding(lock) as process:
        process.kill()
        process.wait()
    assert lock.exists()
    storage.write("a", b"two")
    assert not lock.exists()


def test_a_lock_held_for_too_long_is_an_error_that_names_the_blob(
    storage: FolderStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.write("a", b"one")
    with holding(Path(storage.location, "a.lock")) as process:
        monkeypatch.setattr(files, "LOCK_PATIENCE", 0.0)
        with pytest.raises(StorageError, match="Another process") as caught:
            storage.write("a", b"two")
        assert caught.value.where.endswith("a")
        assert storage.read("a").data == b"one"  # readers need no lock
        assert [blob.name for blob in storage.list_blobs()] == ["a"]
        process.kill()
