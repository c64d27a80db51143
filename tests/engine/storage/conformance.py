"""What every blob storage does alike: subclass `StorageConformance` and give it a `storage`."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import pytest

from mdstudio.engine.errors import (
    BlobChangedError,
    Cancelled,
    MdError,
    NotFoundError,
    RangeError,
    UnsupportedError,
    UsageError,
)
from mdstudio.engine.storage import MAX_BLOCKS, MUST_NOT_EXIST, BlobStorage, Block, FolderStorage

STRANGE_NAMES = [
    "plain.dat",
    "With Space/and+plus.dat",
    "percent%20/100%.dat",
    "a:b/c?d*e.dat",
    'quote"<less>|pipe.dat',
    "CON/nul.txt",
    "com1/LPT9.dat/x",
    "trailing /dot./x",
    "Größe/温度/δ.dat",
    "a.blocks/b.commit/c.write",
    "x.lock",
    "x.staged",
    "x.blocks.commit",
    "#hash&amp;=",
    "L-1/2020-01-01T00:00:00.dat",
]
REFUSED_NAMES = ["", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a/..", "a\0b", "a\ud800b", "x" * 1025]


def commit(storage: BlobStorage, name: str, blocks: dict[str, bytes], **conditions: str | None) -> str:
    """Stage all of the blocks and commit them in this order."""
    for block_id, data in blocks.items():
        storage.stage_block(name, block_id, data)
    return storage.commit_blocks(name, list(blocks), **conditions)


class StorageConformance:
    """The contract of `BlobStorage`."""

    @pytest.fixture
    def storage(self) -> BlobStorage:
        raise NotImplementedError

    # Whole blobs

    def test_what_was_written_is_read(self, storage: BlobStorage) -> None:
        version = storage.write("a/b.dat", b"hello")
        read = storage.read("a/b.dat")
        assert (read.data, read.length, read.version) == (b"hello", 5, version)
        properties = storage.properties("a/b.dat")
        assert (properties.name, properties.length, properties.version) == ("a/b.dat", 5, version)
        assert properties.modified > 1.6e9
        assert storage.exists("a/b.dat")

    def test_an_empty_blob_is_a_blob(self, storage: BlobStorage) -> None:
        version = storage.write("empty", b"")
        assert storage.read("empty").data == b""
        assert storage.properties("empty").length == 0
        assert [blob.name for blob in storage.list_blobs()] == ["empty"]
        assert storage.block_list("empty").version == version
        with pytest.raises(RangeError):
            storage.read_range("empty", 0, 1)

    def test_a_blob_that_is_not_there_is_named(self, storage: BlobStorage) -> None:
        assert not storage.exists("a/none.dat")
        for call in (
            storage.properties,
            storage.read,
            lambda name: storage.read_range(name, 0, 1),
            storage.block_list,
            storage.delete,
        ):
            with pytest.raises(NotFoundError) as caught:
                call("a/none.dat")
            assert "none.dat" in caught.value.where

    def test_a_folder_is_no_blob(self, storage: BlobStorage) -> None:
        storage.write("a/b/c.dat", b"x")
        assert not storage.exists("a/b")
        for call in (storage.properties, storage.read, storage.block_list):
            with pytest.raises(NotFoundError):
                call("a/b")

    def test_a_large_blob_is_read_whole(self, storage: BlobStorage) -> None:
        data = bytes(range(256)) * 4096 * 34  # more than the 32 MB that the Azure SDK reads at first
        version = storage.write("large", data)
        read = storage.read("large", version=version)
        assert read.data == data
        assert (read.length, read.version) == (len(data), version)

    # Ranges

    def test_a_range_comes_with_length_and_version_of_the_blob(self, storage: BlobStorage) -> None:
        version = storage.write("a", b"0123456789")
        read = storage.read_range("a", 3, 4)
        assert (read.data, read.length, read.version) == (b"3456", 10, version)
        assert storage.read_range("a", 0, 10, version=version).data == b"0123456789"

    def test_a_range_past_the_end_comes_back_short(self, storage: BlobStorage) -> None:
        storage.write("a", b"0123456789")
        assert storage.read_range("a", 8, 100).data == b"89"

    def test_a_range_that_starts_past_the_end_is_refused(self, storage: BlobStorage) -> None:
        storage.write("a", b"0123456789")
        for offset in (10, 11, 5000):
            with pytest.raises(RangeError):
                storage.read_range("a", offset, 1)

    def test_a_range_from_the_end_or_of_nothing_is_refused(self, storage: BlobStorage) -> None:
        storage.write("a", b"0123456789")
        for offset, count in ((-1, 1), (0, 0), (2, -1)):
            with pytest.raises(UsageError):
                storage.read_range("a", offset, count)

    # Versions and conditions

    @pytest.mark.rule("P14", "P16")
    def test_every_write_has_a_version_of_its_own(self, storage: BlobStorage) -> None:
        versions = [storage.write("a", b"same") for _ in range(20)]
        versions += [commit(storage, "a", {"b": b"same"}) for _ in range(5)]
        storage.delete("a")
        versions += [storage.write("a", b"same") for _ in range(5)]
        assert len(set(versions)) == len(versions)

    @pytest.mark.rule("P14", "P16")
    def test_a_read_of_an_older_version_fails(self, storage: BlobStorage) -> None:
        old = storage.write("a", b"old")
        storage.read_range("a", 0, 1, version=old)
        new = storage.write("a", b"new")
        for call in (
            lambda: storage.read("a", version=old),
            lambda: storage.read_range("a", 0, 3, version=old),
            lambda: storage.read_range("a", 1, 1, version=old),
        ):
            with pytest.raises(BlobChangedError):
                call()
        assert storage.read("a", version=new).data == b"new"

    @pytest.mark.rule("P14")
    def test_every_call_tells_the_same_version(self, storage: BlobStorage) -> None:
        for make in (lambda: storage.write("a", b"x"), lambda: commit(storage, "a", {"id": b"y"})):
            version = make()
            told = {
                storage.properties("a").version,
                storage.read("a").version,
                storage.read_range("a", 0, 1).version,
                storage.block_list("a").version,
                next(iter(storage.list_blobs())).version,
                storage.list_folders()[1][0].version,
            }
            assert told == {version}

    @pytest.mark.rule("P14")
    def test_a_conditional_write_needs_its_version(self, storage: BlobStorage) -> None:
        with pytest.raises(BlobChangedError):
            storage.write("a", b"x", if_match="no-such-version")
        first = storage.write("a", b"one", if_none_match=MUST_NOT_EXIST)
        with pytest.raises(BlobChangedError):
            storage.write("a", b"two", if_none_match=MUST_NOT_EXIST)
        second = storage.write("a", b"two", if_match=first)
        with pytest.raises(BlobChangedError):
            storage.write("a", b"three", if_match=first)
        assert storage.read("a", version=second).data == b"two"

    @pytest.mark.rule("P14")
    def test_a_conditional_commit_needs_its_version_and_keeps_the_staged_blocks(self, storage: BlobStorage) -> None:
        first = commit(storage, "g", {"1": b"one"}, if_none_match=MUST_NOT_EXIST)
        storage.stage_block("g", "2", b"two")
        for conditions in ({"if_none_match": MUST_NOT_EXIST}, {"if_match": "0x0"}):
            with pytest.raises(BlobChangedError):
                storage.commit_blocks("g", ["1", "2"], **conditions)
        assert storage.read("g", version=first).data == b"one"
        storage.commit_blocks("g", ["1", "2"], if_match=first)
        assert storage.read("g").data == b"onetwo"

    @pytest.mark.rule("P14")
    def test_a_commit_on_a_blob_that_is_gone_fails(self, storage: BlobStorage) -> None:
        version = commit(storage, "g", {"1": b"one"})
        storage.delete("g")
        storage.stage_block("g", "1", b"one")
        with pytest.raises(BlobChangedError):
            storage.commit_blocks("g", ["1"], if_match=version)
        assert not storage.exists("g")

    def test_a_conditional_delete_needs_its_version(self, storage: BlobStorage) -> None:
        old = storage.write("a", b"old")
        new = storage.write("a", b"new")
        with pytest.raises(BlobChangedError):
            storage.delete("a", if_match=old)
        storage.delete("a", if_match=new)
        assert not storage.exists("a")

    def test_another_condition_than_must_not_exist_is_refused(self, storage: BlobStorage) -> None:
        with pytest.raises(UsageError):
            storage.write("a", b"x", if_none_match="0x1")

    # Blocks

    @pytest.mark.rule("P19")
    def test_blocks_make_the_blob_in_the_order_of_the_commit(self, storage: BlobStorage) -> None:
        for block_id, data in (("TS0", b"zero"), ("TS1", b"one"), ("IDX", b"index")):
            storage.stage_block("g", block_id, data)
        version = storage.commit_blocks("g", ["TS1", "TS0", "IDX"])
        assert storage.read("g").data == b"onezeroindex"
        found = storage.block_list("g")
        assert found.blocks == (Block("TS1", 3), Block("TS0", 4), Block("IDX", 5))
        assert (found.length, found.version) == (12, version)

    @pytest.mark.rule("P14", "P19")
    def test_a_commit_takes_committed_blocks_again_in_any_order(self, storage: BlobStorage) -> None:
        commit(storage, "g", {"1": b"one", "2": b"two", "3": b"three"})
        storage.stage_block("g", "4", b"four")
        storage.commit_blocks("g", ["3", "4", "1"])
        assert storage.read("g").data == b"threefourone"
        assert [block.id for block in storage.block_list("g").blocks] == ["3", "4", "1"]

    def test_a_block_may_stand_twice(self, storage: BlobStorage) -> None:
        commit(storage, "g", {"1": b"one", "2": b"two"})
        storage.commit_blocks("g", ["1", "2", "1"])
        assert storage.read("g").data == b"onetwoone"
        assert storage.block_list("g").blocks == (Block("1", 3), Block("2", 3), Block("1", 3))

    @pytest.mark.rule("P14")
    def test_a_block_staged_again_replaces_the_staged_and_the_committed_one(self, storage: BlobStorage) -> None:
        storage.stage_block("g", "1", b"first")
        storage.stage_block("g", "1", b"second")
        storage.commit_blocks("g", ["1"])
        assert storage.read("g").data == b"second"
        storage.stage_block("g", "1", b"third")
        storage.commit_blocks("g", ["1"])
        assert storage.read("g").data == b"third"

    @pytest.mark.rule("P25", "P14")
    def test_staged_blocks_that_a_commit_did_not_take_are_dropped(self, storage: BlobStorage) -> None:
        for block_id in ("1", "2"):
            storage.stage_block("g", block_id, b"data" + block_id.encode())
        version = storage.commit_blocks("g", ["1"])
        with pytest.raises(BlobChangedError):
            storage.commit_blocks("g", ["1", "2"])
        assert storage.read("g", version=version).data == b"data1"

    @pytest.mark.rule("P22")
    def test_staged_blocks_are_no_blob(self, storage: BlobStorage) -> None:
        storage.stage_block("a/g", "1", b"one")
        assert not storage.exists("a/g")
        assert list(storage.list_blobs()) == []
        assert storage.list_folders("a") == ([], [])
        with pytest.raises(NotFoundError):
            storage.block_list("a/g")
        commit(storage, "a/h", {"1": b"one"})
        storage.stage_block("a/h", "2", b"two")
        assert [(blob.name, blob.length) for blob in storage.list_blobs()] == [("a/h", 3)]
        assert storage.list_folders()[0] == ["a"]
        assert [blob.name for blob in storage.list_folders("a")[1]] == ["a/h"]

    def test_a_whole_write_takes_the_block_list_away(self, storage: BlobStorage) -> None:
        commit(storage, "g", {"1": b"one"})
        storage.write("g", b"two")  # of the same length, so that only the list could tell
        assert storage.block_list("g").blocks == ()
        with pytest.raises(BlobChangedError):
            storage.commit_blocks("g", ["1"])
        assert storage.read("g").data == b"two"

    def test_a_blob_of_no_blocks_is_empty(self, storage: BlobStorage) -> None:
        commit(storage, "g", {"1": b"one"})
        storage.commit_blocks("g", [])
        assert storage.read("g").data == b""
        assert storage.block_list("g").blocks == ()

    def test_what_azure_would_not_take_is_refused_before_anything_is_done(self, storage: BlobStorage) -> None:
        version = commit(storage, "g", {"1": b"one"})
        for block_id, data in (("2", b""), ("", b"x"), ("x" * 65, b"x"), ("é" * 33, b"x")):
            with pytest.raises(UsageError):
                storage.stage_block("g", block_id, data)
        for ids in (["1"] * (MAX_BLOCKS + 1), ["1", "10"], [""], ["x" * 65]):
            with pytest.raises(UsageError):
                storage.commit_blocks("g", ids)
        storage.stage_block("g", "22", b"x")
        with pytest.raises(UsageError):
            storage.stage_block("g", "333", b"x")
        assert storage.properties("g").version == version

    def test_block_ids_hold_any_text_of_64_bytes(self, storage: BlobStorage) -> None:
        names = ["TS0000000005-0123456789abcdef", "IDX000000000-0123456789abcdef"]
        for ids in (names, ["a b/%", "A\n:*\\"], ["ü" * 32]):
            commit(storage, "g", {block_id: block_id.encode() for block_id in ids})
            assert [block.id for block in storage.block_list("g").blocks] == ids
            assert storage.read("g").data == "".join(ids).encode()

    @pytest.mark.rule("P14")
    def test_commits_of_several_threads_lose_nothing(self, storage: BlobStorage) -> None:
        commit(storage, "g", {"00": b"00"})

        def add(number: int) -> None:
            while True:
                base = storage.block_list("g")
                storage.stage_block("g", f"{number:02}", b"%02d" % number)
                try:
                    ids = [block.id for block in base.blocks]
                    storage.commit_blocks("g", [*ids, f"{number:02}"], if_match=base.version)
                    return
                except BlobChangedError:
                    continue

        threads = [threading.Thread(target=lambda n=n: [add(i) for i in range(n, 16, 4)]) for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = storage.block_list("g")
        assert sorted(block.id for block in found.blocks) == [f"{n:02}" for n in range(16)]
        assert storage.read("g").data == "".join(block.id for block in found.blocks).encode()

    # Listing and names

    def test_a_listing_holds_every_depth_by_name(self, storage: BlobStorage) -> None:
        names = ["a", "a-b/x", "a.b", "a/b", "a/b-c", "a/b/c", "ab", "b/1/2/3", "B"]
        for name in names:
            storage.write(name, b"x") if name not in ("a", "a/b") else None
        listed = [blob.name for blob in storage.list_blobs()]
        assert listed == sorted(set(names) - {"a", "a/b"})
        assert [blob.name for blob in storage.list_blobs("a/")] == ["a/b-c", "a/b/c"]
        assert [blob.name for blob in storage.list_blobs("a")] == [name for name in listed if name.startswith("a")]
        assert [blob.name for blob in storage.list_blobs("b/1/2/")] == ["b/1/2/3"]
        assert list(storage.list_blobs("none/")) == []

    def test_one_level_holds_its_folders_and_blobs(self, storage: BlobStorage) -> None:
        for name in ("top", "a/one", "a/two", "a/in/x", "a/in/y", "a/out/x", "b/c/d"):
            storage.write(name, b"12")
        folders, blobs = storage.list_folders()
        assert (folders, [(blob.name, blob.length) for blob in blobs]) == (["a", "b"], [("top", 2)])
        folders, blobs = storage.list_folders("a")
        assert (folders, [blob.name for blob in blobs]) == (["in", "out"], ["a/one", "a/two"])
        assert storage.list_folders("a/") == storage.list_folders("a")
        assert storage.list_folders("none") == ([], [])

    @pytest.mark.parametrize("name", STRANGE_NAMES)
    def test_a_name_may_hold_any_character(self, storage: BlobStorage, name: str) -> None:
        version = storage.write(name, b"x")
        assert storage.read(name, version=version).data == b"x"
        commit(storage, name, {"1": b"one"})
        assert storage.block_list(name).blocks == (Block("1", 3),)
        assert [blob.name for blob in storage.list_blobs()] == [name]
        folder, _, last = name.rpartition("/")
        assert [blob.name for blob in storage.list_folders(folder)[1]] == [name]
        assert storage.list_folders()[0] == ([name.split("/")[0]] if folder else [])
        if folder:
            assert storage.child(folder).read(last).data == b"one"
        storage.delete(name)
        assert list(storage.list_blobs()) == []

    @pytest.mark.parametrize("name", REFUSED_NAMES)
    def test_a_name_that_leads_elsewhere_is_refused(self, storage: BlobStorage, name: str) -> None:
        for call in (
            storage.properties,
            storage.exists,
            storage.read,
            storage.block_list,
            storage.delete,
            lambda name: storage.write(name, b"x"),
            lambda name: storage.stage_block(name, "1", b"x"),
            lambda name: storage.commit_blocks(name, []),
        ):
            with pytest.raises(UsageError):
                call(name)
        if name.rstrip("/") and not name.endswith("/"):
            with pytest.raises(UsageError):
                list(storage.list_blobs(name + "/"))
            with pytest.raises(UsageError):
                storage.child(name)

    def test_a_child_sees_the_blobs_below_its_prefix(self, storage: BlobStorage) -> None:
        storage.write("a/b/c", b"x")
        child = storage.child("a/b")
        assert child.read("c").data == b"x"
        assert [blob.name for blob in child.list_blobs()] == ["c"]
        child.write("d/e", b"y")
        assert storage.read("a/b/d/e").data == b"y"
        assert storage.child("a").child("b").list_folders() == child.list_folders()
        assert storage.child("").read("a/b/c").data == b"x"
        assert child.location.startswith(storage.location)
        assert child.location.replace("\\", "/").endswith("/a/b")

    # Deleting and copying

    def test_a_deleted_blob_is_gone_with_its_block_list(self, storage: BlobStorage) -> None:
        commit(storage, "a/g", {"1": b"one"})
        storage.delete("a/g")
        assert not storage.exists("a/g")
        assert storage.list_folders() == ([], [])
        storage.write("a/g", b"two")
        assert storage.block_list("a/g").blocks == ()

    @pytest.mark.rule("P26")
    def test_a_copy_holds_the_block_list(self, storage: BlobStorage) -> None:
        commit(storage, "g", {"1": b"one", "2": b"three"})
        storage.write("w", b"whole")
        target = storage.child("copy")
        for name in ("g", "w"):
            version = target.copy_from(storage, name)
            assert target.read(name, version=version).data == storage.read(name).data
            assert target.block_list(name).blocks == storage.block_list(name).blocks
        storage.copy_from(storage, "g", "h")
        storage.stage_block("h", "3", b"!")
        storage.commit_blocks("h", ["2", "3"])
        assert storage.read("h").data == b"three!"
        assert storage.read("g").data == b"onethree"
        with pytest.raises(NotFoundError):
            target.copy_from(storage, "none")

    @pytest.mark.rule("P26")
    def test_a_copy_between_storages_holds_the_block_list(self, storage: BlobStorage, tmp_path: Path) -> None:
        other = FolderStorage(tmp_path / "other")
        commit(other, "g", {"1": b"one", "2": b"three"})
        storage.copy_from(other, "g")
        other.copy_from(storage, "g", "back/g")
        for place, name in ((storage, "g"), (other, "back/g")):
            assert place.read(name).data == b"onethree"
            assert place.block_list(name).blocks == (Block("1", 3), Block("2", 5))

    # Holding a place

    @pytest.mark.rule("D15")
    def test_a_place_is_held_by_one_job_at_a_time(self, storage: BlobStorage) -> None:
        place = storage.child("place")
        with place.claimed():
            with pytest.raises(BlobChangedError, match="Another job") as caught, place.claimed():
                pytest.fail("two jobs hold one place")
            assert place.location in caught.value.where
            with storage.claimed(), place.child("inside").claimed():
                pass  # what lies above and below is not held
        with pytest.raises(UnsupportedError), place.claimed():
            raise UnsupportedError("the job failed")
        with place.claimed():
            pass

    @pytest.mark.rule("D15", "P22")
    def test_what_holds_a_place_is_no_blob(self, storage: BlobStorage) -> None:
        storage.write("place/a", b"x")
        with storage.child("place").claimed(), storage.claimed():
            assert [blob.name for blob in storage.list_blobs()] == ["place/a"]
            assert storage.list_folders() == (["place"], [])
            assert [blob.name for blob in storage.list_folders("place")[1]] == ["place/a"]
            storage.write("place/b", b"y")
        storage.delete("place/a")
        storage.delete("place/b")
        assert storage.list_folders() == ([], [])
        for call in (storage.read, storage.exists, storage.delete, lambda name: storage.write(name, b"x")):
            with pytest.raises(UsageError):
                call("place/dataset.lock")

    @pytest.mark.rule("D15")
    def test_a_job_waits_for_the_place_as_long_as_it_says(self, storage: BlobStorage) -> None:
        ended = threading.Event()
        with contextlib.ExitStack() as held:
            held.enter_context(storage.claimed())
            with pytest.raises(BlobChangedError, match="Another job"), storage.claimed(0.2):
                pytest.fail("two jobs hold one place")
            timer = threading.Timer(0.3, lambda: (ended.set(), held.close()))
            timer.start()
            with storage.claimed(60):
                assert ended.is_set()
            timer.join()

    def test_a_job_that_waits_can_be_cancelled(self, storage: BlobStorage) -> None:
        checks = []

        def cancel() -> None:
            checks.append(1)
            if len(checks) == 3:
                raise Cancelled("enough")

        with storage.claimed(), pytest.raises(Cancelled), storage.claimed(60, cancel):
            pytest.fail("two jobs hold one place")

    def test_an_error_names_the_blob(self, storage: BlobStorage) -> None:
        with pytest.raises(MdError) as caught:
            storage.read("folder/some.dat")
        assert "some.dat" in str(caught.value)
        assert storage.location in str(caught.value)
