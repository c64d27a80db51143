"""The files that a local commit makes, in which order, and what a reader takes when it was cut off (P19-P22, P25)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mdstudio.engine.errors import BlobChangedError, StorageError
from mdstudio.engine.storage import Block, FolderStorage, files, sidecar
from mdstudio.engine.storage.names import BlobFiles
from tests.engine.storage.conformance import commit

ONE, TWO, THREE = Block("1", 3), Block("2", 3), Block("3", 5)


def tree(root: Path) -> dict[str, bytes]:
    """Every file below the root with its content."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def storage(tmp_path: Path) -> FolderStorage:
    return FolderStorage(tmp_path)


@pytest.fixture
def moves(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The moves that writes make, by file name, in order."""
    seen = []
    move = files.move

    def noted(source: str, target: str) -> None:
        seen.append((os.path.basename(source), os.path.basename(target)))
        move(source, target)

    monkeypatch.setattr(files, "move", noted)
    return seen


def hold(monkeypatch: pytest.MonkeyPatch, held: Path) -> Callable[[], None]:
    """Make `held` a file that a reader has open on Windows: nothing replaces, moves or removes it. Returns its release.

    The one thing here that Linux cannot do for real.
    """
    move, remove = files.move, files.remove
    holding = [str(held)]

    def refuse(*paths: str) -> None:
        if not set(holding).isdisjoint(paths):
            error = PermissionError(13, "the file is in use", paths[0])
            error.winerror = 32
            raise error

    def no_move(source: str, target: str) -> None:
        refuse(source, target)
        move(source, target)

    def no_remove(path: str) -> None:
        refuse(path)
        remove(path)

    monkeypatch.setattr(files, "move", no_move)
    monkeypatch.setattr(files, "remove", no_remove)
    return holding.clear


@pytest.mark.rule("P19")
def test_a_commit_leaves_the_blob_and_its_list_with_the_version_first(storage: FolderStorage, tmp_path: Path) -> None:
    version = commit(storage, "g", {"TS0000000005-ab": b"one", "IDX000000000-cd": b"three"})
    assert set(tree(tmp_path)) == {"g", "g.blocks"}
    first, *rest = (tmp_path / "g.blocks").read_text().splitlines()
    assert version.startswith(first + "-")
    assert rest == ["3 TS0000000005-ab", "5 IDX000000000-cd"]
    assert (tmp_path / "g.blocks").read_bytes().endswith(b"cd\n")


@pytest.mark.rule("P19")
def test_staged_blocks_are_files_next_to_the_blob(storage: FolderStorage, tmp_path: Path) -> None:
    storage.stage_block("g", "1", b"one")
    assert tree(tmp_path) == {os.path.join("g.staged", "31.block"): b"one"}


@pytest.mark.rule("P19")
def test_the_blob_is_moved_into_place_before_its_list(storage: FolderStorage, moves: list[tuple[str, str]]) -> None:
    storage.stage_block("g", "1", b"one")
    del moves[:]
    storage.commit_blocks("g", ["1"])
    assert moves == [("g.commit", "g"), ("g.blocks.commit", "g.blocks")]


@pytest.mark.rule("P22")
def test_a_whole_blob_is_written_next_to_it_and_moved(storage: FolderStorage, moves: list[tuple[str, str]]) -> None:
    storage.write("w", b"whole")
    assert moves == [("w.write", "w")]


@pytest.mark.rule("P19", "P22")
def test_everything_is_forced_to_the_disk_before_and_after_a_move(
    storage: FolderStorage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done: list[str] = []
    flush, flush_folder, move = files.flush, files.flush_folder, files.move

    def noted_flush(descriptor: int) -> None:
        done.append("file")
        flush(descriptor)

    def noted_folder(path: str) -> None:
        done.append("folder")
        monkeypatch.setattr(files, "flush", flush)
        flush_folder(path)
        monkeypatch.setattr(files, "flush", noted_flush)

    def noted_move(source: str, target: str) -> None:
        done.append("move")
        move(source, target)

    storage.stage_block("g", "1", b"one")
    monkeypatch.setattr(files, "flush", noted_flush)
    monkeypatch.setattr(files, "flush_folder", noted_folder)
    monkeypatch.setattr(files, "move", noted_move)
    storage.commit_blocks("g", ["1"])
    assert done == ["file", "file", "move", "folder", "move", "folder"]
    del done[:]
    storage.write("w", b"whole")
    assert done == ["file", "move", "folder"]


def cut_off_between_the_moves(storage: FolderStorage, root: Path) -> str:
    """A blob of ONE, THREE whose commit was killed after the blob was moved; the list in place is of ONE alone."""
    commit(storage, "g", {"1": b"one"})
    old = (root / "g.blocks").read_bytes()
    version = commit(storage, "g", {"1": b"one", "3": b"three"})
    (root / "g.blocks").rename(root / "g.blocks.commit")
    (root / "g.blocks").write_bytes(old)
    return version


@pytest.mark.rule("P20")
def test_a_list_left_in_commit_counts_and_a_reader_moves_nothing(storage: FolderStorage, tmp_path: Path) -> None:
    version = cut_off_between_the_moves(storage, tmp_path)
    before = tree(tmp_path)
    assert storage.block_list("g").blocks == (ONE, THREE)
    assert storage.read("g", version=version).data == b"onethree"
    assert [blob.name for blob in storage.list_blobs()] == ["g"]
    assert tree(tmp_path) == before


@pytest.mark.rule("P20")
def test_the_next_commit_puts_the_list_in_place_first(
    storage: FolderStorage, tmp_path: Path, moves: list[tuple[str, str]]
) -> None:
    version = cut_off_between_the_moves(storage, tmp_path)
    storage.stage_block("g", "2", b"two")
    del moves[:]
    storage.commit_blocks("g", ["3", "2"], if_match=version)
    pending, in_place = ("g.blocks.commit", "g.blocks"), ("g.commit", "g")
    assert moves == [pending, in_place, pending]
    assert storage.block_list("g").blocks == (THREE, TWO)
    assert set(tree(tmp_path)) == {"g", "g.blocks"}


@pytest.mark.rule("P20")
@pytest.mark.parametrize("missing", ["g", "g.blocks", "nothing"])
def test_a_list_next_to_a_blob_still_in_commit_is_ignored(storage: FolderStorage, tmp_path: Path, missing: str) -> None:
    version = commit(storage, "g", {"1": b"one", "2": b"two"})
    shutil.copy(tmp_path / "g.blocks", tmp_path / "saved")
    (tmp_path / "g.commit").write_bytes(b"twoone")
    (tmp_path / "g.blocks.commit").write_bytes(sidecar.encode("other-mark", [TWO, ONE]))  # its sizes add up too
    (tmp_path / missing).unlink(missing_ok=True)
    if missing == "g":
        assert not storage.exists("g")
        storage.stage_block("g", "3", b"three")
        storage.commit_blocks("g", ["3"])
        assert storage.block_list("g").blocks == (THREE,)
        return
    assert storage.block_list("g").blocks == ((ONE, TWO) if missing == "nothing" else ())
    assert storage.read("g", version=version).data == b"onetwo"
    storage.stage_block("g", "3", b"three")
    if missing == "g.blocks":
        with pytest.raises(BlobChangedError):
            storage.commit_blocks("g", ["1", "3"], if_match=version)
    else:
        storage.commit_blocks("g", ["1", "3"], if_match=version)
        assert storage.read("g").data == b"onethree"
    assert not (tmp_path / "g.commit").exists()
    assert not (tmp_path / "g.blocks.commit").exists()


@pytest.mark.rule("P20")
def test_a_list_whose_sizes_do_not_add_up_is_none(storage: FolderStorage, tmp_path: Path) -> None:
    commit(storage, "g", {"1": b"one", "2": b"two"})
    copied = tmp_path / "copied"
    for suffix in ("", ".blocks"):
        shutil.copy(tmp_path / f"g{suffix}", f"{copied}{suffix}")
    assert storage.block_list("copied").blocks == (ONE, TWO)  # a copy by hand stays appendable
    copied.write_bytes(b"onetw")
    assert storage.block_list("copied").blocks == ()
    with pytest.raises(BlobChangedError):
        storage.commit_blocks("copied", ["1"])


@pytest.mark.rule("P20")
def test_a_pending_list_of_a_copy_by_hand_counts_by_its_sizes(storage: FolderStorage, tmp_path: Path) -> None:
    cut_off_between_the_moves(storage, tmp_path)
    shutil.copytree(tmp_path, tmp_path / "copy", copy_function=shutil.copyfile)
    assert storage.child("copy").block_list("g").blocks == (ONE, THREE)


@pytest.mark.rule("P20")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"mark",
        b"mark\n3 1\n3 2",
        b"mark\n3 1\n3\n",
        b"mark\n3 1\n+3 2\n",
        b"mark\n3 1\n 3 2\n",
        b"mark\r\n3 1\r\n3 2\r\n",
        b"mark\n6 %zz\n",
        b"mark\n6 %FF\n",
        "mark\n6 ü\n".encode(),
        b"\xff\xfe",
    ],
)
def test_a_list_that_no_commit_wrote_is_none(storage: FolderStorage, tmp_path: Path, data: bytes) -> None:
    commit(storage, "g", {"1": b"one", "2": b"two"})
    (tmp_path / "g.blocks").write_bytes(data)
    assert storage.block_list("g").blocks == ()


@pytest.mark.rule("P21")
def test_a_commit_while_a_reader_holds_the_list_succeeds_and_the_next_one_fails(
    storage: FolderStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(storage, "g", {"1": b"one"})
    release = hold(monkeypatch, tmp_path / "g.blocks")
    version = commit(storage, "g", {"1": b"one", "2": b"two"})
    assert (tmp_path / "g.blocks.commit").exists()
    assert storage.block_list("g").blocks == (ONE, TWO)

    storage.stage_block("g", "3", b"three")
    before = tree(tmp_path)
    with pytest.raises(StorageError, match="Nothing was changed"):
        storage.commit_blocks("g", ["1", "2", "3"], if_match=version)
    with pytest.raises(StorageError, match="Nothing was changed"):
        storage.write("g", b"whole", if_match=version)
    with pytest.raises(StorageError, match="Nothing was changed"):
        storage.delete("g", if_match=version)
    assert tree(tmp_path) == before
    assert storage.read("g", version=version).data == b"onetwo"

    release()
    storage.commit_blocks("g", ["1", "2", "3"], if_match=version)
    assert storage.block_list("g").blocks == (ONE, TWO, THREE)


@pytest.mark.rule("P21", "P22")
def test_a_whole_write_while_a_reader_holds_the_list_still_takes_it_away(
    storage: FolderStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(storage, "g", {"1": b"one"})
    release = hold(monkeypatch, tmp_path / "g.blocks")
    storage.write("g", b"two")
    assert storage.block_list("g").blocks == ()
    release()
    storage.write("g", b"new")
    assert set(tree(tmp_path)) == {"g"}


@pytest.mark.rule("P19", "P21")
def test_a_commit_that_cannot_replace_the_blob_changes_nothing(
    storage: FolderStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = commit(storage, "g", {"1": b"one", "2": b"two"})
    before = tree(tmp_path)
    hold(monkeypatch, tmp_path / "g")
    with pytest.raises(StorageError):
        storage.commit_blocks("g", ["2", "1"], if_match=version)
    assert tree(tmp_path) == before
    assert storage.block_list("g").version == version


@pytest.mark.rule("P25")
def test_a_commit_drops_the_staged_blocks_of_dead_jobs(storage: FolderStorage, tmp_path: Path) -> None:
    storage.stage_block("g", "0", b"of a job that was killed")
    (tmp_path / "g.staged" / "0123.write").write_bytes(b"half a block")
    commit(storage, "g", {"1": b"one"})
    assert set(tree(tmp_path)) == {"g", "g.blocks"}
    assert not (tmp_path / "g.staged").exists()


@pytest.mark.rule("P22", "P25")
def test_a_delete_leaves_nothing_next_to_the_blob(storage: FolderStorage, tmp_path: Path) -> None:
    commit(storage, "g", {"1": b"one"})
    storage.stage_block("g", "2", b"two")
    for suffix in (".write", ".commit", ".blocks.commit"):
        (tmp_path / f"g{suffix}").write_bytes(b"left")
    storage.delete("g")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.rule("P22", "P25")
def test_what_a_write_left_is_no_blob_and_the_next_write_removes_it(storage: FolderStorage, tmp_path: Path) -> None:
    storage.write("w", b"old")
    for suffix in (".write", ".commit", ".blocks.commit", ".lock"):
        (tmp_path / f"w{suffix}").write_bytes(b"left")
    storage.stage_block("w", "1", b"left")
    assert [(blob.name, blob.length) for blob in storage.list_blobs()] == [("w", 3)]
    assert storage.list_folders()[0] == []
    assert [blob.name for blob in storage.list_folders()[1]] == ["w"]
    storage.write("w", b"new")
    assert tree(tmp_path) == {"w": b"new"}
    assert not (tmp_path / "w.staged").exists()


@pytest.mark.rule("P19")
def test_a_list_comes_back_as_it_was_written() -> None:
    blocks = (Block("a b\n%ü/+", 7), Block("x" * 64, 2**40))
    data = sidecar.encode("1a-2b-3c", blocks)
    assert data.split(b"\n")[1] == b"7 a%20b%0A%25%C3%BC%2F%2B"
    assert sidecar.decode(data) == sidecar.Sidecar("1a-2b-3c", blocks)


def test_the_names_next_to_a_blob_are_as_specified() -> None:
    of = BlobFiles("f/g.dat")
    assert (of.write, of.commit, of.sidecar, of.pending, of.staged, of.lock) == (
        "f/g.dat.write",
        "f/g.dat.commit",
        "f/g.dat.blocks",
        "f/g.dat.blocks.commit",
        "f/g.dat.staged",
        "f/g.dat.lock",
    )
