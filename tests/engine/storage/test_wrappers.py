"""Counting and caching, beyond the conformance suite."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mdstudio.engine.errors import BlobChangedError, NotFoundError
from mdstudio.engine.storage import BlobStorage, CachingStorage, CountingStorage, FolderStorage


@pytest.fixture
def folder(tmp_path: Path) -> FolderStorage:
    return FolderStorage(tmp_path)


def test_each_call_is_a_request_and_reads_count_their_bytes(folder: FolderStorage) -> None:
    storage = CountingStorage(folder)
    version = storage.write("a/b", b"0123456789")
    storage.properties("a/b")
    storage.read("a/b")
    storage.read_range("a/b", 8, 100, version=version)
    assert (storage.requests, storage.bytes_read) == (4, 12)
    assert storage.wait_ns > 0
    with pytest.raises(NotFoundError):
        storage.read("none")
    list(storage.list_blobs())
    assert (storage.requests, storage.bytes_read) == (6, 12)


def test_a_child_counts_into_the_same_counts_and_a_delta_is_since_its_snapshot(folder: FolderStorage) -> None:
    storage = CountingStorage(folder)
    storage.write("a/b", b"0123456789")
    before = storage.snapshot()
    storage.child("a").read("b")
    delta = storage.delta(before)
    assert (delta.requests, delta.bytes_read) == (1, 10)
    assert before.requests == 1


def test_counts_of_many_threads_add_up(folder: FolderStorage) -> None:
    storage = CountingStorage(folder)
    storage.write("a", b"0123456789")
    threads = [threading.Thread(target=lambda: [storage.read_range("a", 0, 3) for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (storage.requests, storage.bytes_read) == (801, 2400)


@pytest.fixture
def counted(folder: FolderStorage) -> CountingStorage:
    return CountingStorage(folder)


def test_a_range_of_a_version_is_asked_for_once(counted: CountingStorage) -> None:
    storage = CachingStorage(counted, 1000)
    version = storage.write("a", b"0123456789")
    before = counted.snapshot()
    assert storage.read_range("a", 2, 5, version=version).data == b"23456"
    for offset, count, data in ((2, 5, b"23456"), (3, 2, b"34"), (6, 1, b"6")):
        read = storage.read_range("a", offset, count, version=version)
        assert (read.data, read.length, read.version) == (data, 10, version)
    assert counted.delta(before).requests == 1
    assert storage.read_range("a", 6, 2, version=version).data == b"67"
    assert counted.delta(before).requests == 2


def test_a_whole_read_and_a_range_past_the_end_serve_later_ones(counted: CountingStorage) -> None:
    storage = CachingStorage(counted, 1000)
    version = storage.write("a", b"0123456789")
    storage.read("a", version=version)
    before = counted.snapshot()
    assert storage.read("a", version=version).data == b"0123456789"
    assert storage.read_range("a", 8, 100, version=version).data == b"89"
    assert counted.delta(before).requests == 0


def test_a_read_without_a_version_always_asks(counted: CountingStorage, folder: FolderStorage) -> None:
    storage = CachingStorage(counted, 1000)
    storage.write("a", b"old")
    assert storage.read("a").data == b"old"
    folder.write("a", b"new")  # by somebody else
    assert storage.read("a").data == b"new"
    assert storage.read_range("a", 0, 1).data == b"n"


def test_two_versions_are_never_mixed(counted: CountingStorage, folder: FolderStorage) -> None:
    storage = CachingStorage(counted, 1000)
    old = storage.write("a", b"old")
    storage.read("a", version=old)
    new = folder.write("a", b"new")
    assert storage.read_range("a", 0, 3, version=new).data == b"new"
    with pytest.raises(BlobChangedError):
        storage.read_range("a", 0, 3, version="another")
    storage.write("a", b"newer")
    with pytest.raises(BlobChangedError):
        storage.read("a", version=new)


def test_the_cache_keeps_to_its_bytes_and_drops_the_longest_unused(counted: CountingStorage) -> None:
    storage = CachingStorage(counted, 10)
    versions = {name: storage.write(name, name.encode() * 4) for name in "abc"}
    for name in "aba":
        storage.read(name, version=versions[name])
    storage.read("c", version=versions["c"])  # drops b
    before = counted.snapshot()
    storage.read("a", version=versions["a"])
    storage.read("c", version=versions["c"])
    assert counted.delta(before).requests == 0
    storage.read("b", version=versions["b"])
    assert counted.delta(before).requests == 1
    large = storage.write("large", bytes(11))
    storage.read("large", version=large)
    storage.read("large", version=large)
    assert counted.delta(before).requests == 4


def test_a_child_shares_the_cache_and_equal_names_in_two_children_are_two_blobs(counted: CountingStorage) -> None:
    storage = CachingStorage(counted, 1000)
    one, two = storage.child("one"), storage.child("two")
    versions = one.write("a", b"1"), two.write("a", b"2")
    assert (one.read("a", version=versions[0]).data, two.read("a", version=versions[1]).data) == (b"1", b"2")
    before = counted.snapshot()
    assert storage.read("one/a", version=versions[0]).data == b"1"
    assert storage.child("one").read("a", version=versions[0]).data == b"1"
    assert counted.delta(before).requests == 0


@pytest.mark.rule("D15")
@pytest.mark.parametrize("around", [CountingStorage, lambda storage: CachingStorage(storage, 1000)])
def test_a_claimed_folder_is_refused_to_others_through_any_wrapper_until_it_is_given_back(
    folder: FolderStorage, around: Callable[[FolderStorage], BlobStorage]
) -> None:
    with around(folder).claimed():
        with pytest.raises(BlobChangedError, match="Another job"), around(folder).claimed():
            pytest.fail("two imports hold one folder")
        folder.write("a", b"1")  # it keeps nobody from single writes
    with folder.claimed():
        assert [blob.name for blob in folder.list_blobs()] == ["a"]
