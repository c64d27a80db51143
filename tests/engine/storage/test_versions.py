"""The version of a local blob: no rewrite repeats it, and nothing but a rewrite changes it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mdstudio.engine.errors import BlobChangedError
from mdstudio.engine.storage import FolderStorage, files
from tests.engine.storage.conformance import commit


@pytest.fixture
def storage(tmp_path: Path) -> FolderStorage:
    return FolderStorage(tmp_path)


@pytest.mark.rule("P14", "P16")
def test_no_rewrite_repeats_a_version_even_at_one_and_the_same_time(
    storage: FolderStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now)  # a clock that stands still: every write in one tick
    versions = [storage.write("a", b"same") for _ in range(300)]
    versions += [commit(storage, "a", {"1": b"same"}) for _ in range(20)]
    monkeypatch.setattr(time, "time_ns", lambda: now - 10**12)  # and one that was set back
    versions += [storage.write("a", b"same") for _ in range(100)]
    assert len(set(versions)) == len(versions)


@pytest.mark.rule("P14")
@pytest.mark.parametrize("resolution", [100, 10**9, 2 * 10**9])
def test_a_coarse_file_system_does_not_repeat_a_version(
    storage: FolderStorage, monkeypatch: pytest.MonkeyPatch, resolution: int
) -> None:
    utime = os.utime

    def coarse(path: str, ns: tuple[int, int]) -> None:
        utime(path, ns=(ns[0] // resolution * resolution, ns[1] // resolution * resolution))

    monkeypatch.setattr(os, "utime", coarse)
    marks = []
    for _ in range(10):
        storage.write("a", b"same")
        status = os.stat(Path(storage.location, "a"))
        marks.append((status.st_mtime_ns, status.st_size))  # without the file number, which could come back
    assert len(set(marks)) == len(marks)


@pytest.mark.rule("P14")
def test_a_rewrite_in_place_that_restores_the_time_is_seen(storage: FolderStorage, tmp_path: Path) -> None:
    version = storage.write("a", b"one")
    status = os.stat(tmp_path / "a")
    time.sleep(0.02)  # past a tick of the kernel's clock
    with open(tmp_path / "a", "r+b") as file:
        file.write(b"two")
    os.utime(tmp_path / "a", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert storage.properties("a").version != version
    with pytest.raises(BlobChangedError):
        storage.read("a", version=version)


def test_a_file_copied_in_by_hand_has_a_version(storage: FolderStorage, tmp_path: Path) -> None:
    storage.write("a", b"one")
    shutil.copy2(tmp_path / "a", tmp_path / "b")
    version = storage.properties("b").version
    assert version != storage.properties("a").version
    assert storage.read("b", version=version).data == b"one"
    assert storage.write("b", b"two", if_match=version) != version


def test_a_version_lasts_beyond_the_process_and_does_not_move_by_itself(storage: FolderStorage, tmp_path: Path) -> None:
    version = storage.write("a", b"one")
    storage.write("b", b"other")
    storage.read("a")
    list(storage.list_blobs())
    code = "import sys\nfrom mdstudio.engine.storage import FolderStorage\n"
    code += "print(FolderStorage(sys.argv[1]).properties('a').version)"
    told = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == version
    assert FolderStorage(tmp_path).properties("a").version == version


def test_a_file_that_changes_while_it_is_read_is_not_taken(
    storage: FolderStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.write("a", b"0123456789")
    fstat, calls = os.fstat, []

    def fstat_then_change(descriptor: int) -> os.stat_result:
        status = fstat(descriptor)
        if not calls:
            calls.append(descriptor)
            with open(tmp_path / "a", "r+b") as file:
                file.write(b"xx")
        return status

    monkeypatch.setattr(files.os, "fstat", fstat_then_change)
    with pytest.raises(BlobChangedError, match="while it was read"):
        storage.read("a")


def test_a_read_that_began_before_a_rewrite_gets_the_old_blob_whole(storage: FolderStorage, tmp_path: Path) -> None:
    storage.write("a", b"old" * 1000)
    with open(tmp_path / "a", "rb") as reader:
        storage.write("a", b"new" * 1000)
        assert reader.read() == b"old" * 1000
