"""Groups of timesteps: block ids, one commit, kept blocks, lost answers, other jobs in between."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.errors import BlobChangedError, DamagedDataError, StorageError, UsageError
from mdstudio.engine.layout.encoding import EncodedStep
from mdstudio.engine.layout.item_layout import ItemLayout, item_layout
from mdstudio.engine.layout.multi import GroupBase, GroupWriter, empty_base, read_index, step_pages, stored_base
from mdstudio.engine.model import Array
from mdstudio.engine.spatial.tiles import TileGrid
from mdstudio.engine.storage import FolderStorage
from tests.engine.made_datasets import Watched, axis, item, item_storage

BLOB = "000-v/L-1/G00000001.dat"


def layout_of(compression: str = "DeflateFast", times: int = 8, group: int = 4) -> ItemLayout:
    """A row of two pages of two cells; group 1 holds times 4 to 7."""
    kept = item_storage("MultiTimestep", compression, width=2, group=group, version=2)
    values = np.zeros((1, 1, 1, 1), np.int16)
    return item_layout(item("v", values, 0), "000-v", kept, axis(times), TileGrid(1, 4, 2))


def step(*pages: bytes) -> EncodedStep:
    return EncodedStep(b"".join(pages), np.array([len(page) for page in pages], np.int32))


def writer(storage: Any, base: GroupBase, layout: ItemLayout | None = None) -> GroupWriter:
    return GroupWriter(storage, layout or layout_of(), -1, 1, base, lambda blob, block_id: None)


def fresh(storage: Any, *steps: EncodedStep, layout: ItemLayout | None = None) -> str:
    """Commit a whole new group 1."""
    layout = layout or layout_of()
    version = storage.properties(BLOB).version if storage.exists(BLOB) else None
    group = writer(storage, empty_base(layout, version), layout)
    for time, one in enumerate(steps, 4):
        stage(group, time, one)
    return group.commit()


def stage(group: GroupWriter, time: int, one: EncodedStep) -> None:
    """Place and upload one timestep."""
    group.upload(group.place(time, one), one.data)


def ids(storage: Any) -> list[str]:
    return [block.id for block in storage.block_list(BLOB).blocks]


@pytest.fixture
def storage(tmp_path: Path) -> Watched:
    return Watched(FolderStorage(tmp_path))


@pytest.mark.rule("P8", "P11")
def test_a_group_is_its_timesteps_and_the_index_one_block_each(storage: Watched) -> None:
    fresh(storage, step(b"abc", b"de"), step(b"f", b""))
    index = struct.pack("<4i", 3, 2, 1, 0) + struct.pack("<i", 16) + b"MDPI"
    assert storage.read(BLOB).data == b"abcdef" + index
    digest = [hashlib.sha256(block).hexdigest()[:16] for block in (b"abcde", b"f", index)]
    assert ids(storage) == [f"TS0000000004-{digest[0]}", f"TS0000000005-{digest[1]}", f"IDX000000000-{digest[2]}"]
    assert {len(block_id) for block_id in ids(storage)} == {29}


@pytest.mark.rule("K9")
def test_an_uncompressed_group_has_one_block_a_timestep_and_no_index(storage: Watched) -> None:
    layout = layout_of("None")
    fresh(storage, step(b"abcd", b"efgh"), step(b"ijkl", b"mnop"), layout=layout)
    assert storage.read(BLOB).data == b"abcdefghijklmnop"
    assert [re.sub("-.*", "", block_id) for block_id in ids(storage)] == ["TS0000000004", "TS0000000005"]
    pages = step_pages(storage, layout, -1, 5)
    assert (pages.offsets.tolist(), pages.lengths.tolist()) == ([8, 12], [4, 4])


@pytest.mark.rule("P12")
def test_a_write_keeps_the_stored_blocks_and_commits_once(storage: Watched) -> None:
    fresh(storage, step(b"abc", b"de"))
    before = ids(storage)
    storage.calls.clear()
    group = writer(storage, stored_base(storage, layout_of(), -1, 1))
    stage(group, 5, step(b"f", b"gh"))
    group.commit()
    assert ids(storage)[0] == before[0]
    assert storage.read(BLOB).data[:8] == b"abcdefgh"
    assert read_index(storage, layout_of(times=6), -1, 1).lengths.tolist() == [[3, 2], [1, 2]]
    assert [call for call, _ in storage.calls].count("commit_blocks") == 1
    staged = [call for call, _ in storage.calls].count("stage_block")
    assert staged == 2  # its own timestep and the index: nothing that is kept is written again


@pytest.mark.rule("P12")
def test_a_job_killed_before_the_commit_leaves_the_group_as_it_was(storage: Watched) -> None:
    fresh(storage, step(b"abc", b"de"))
    before, listed = storage.read(BLOB), ids(storage)
    group = writer(storage, stored_base(storage, layout_of(), -1, 1))
    stage(group, 4, step(b"other", b"!"))
    stage(group, 5, step(b"f", b"gh"))
    assert storage.read(BLOB) == before
    assert ids(storage) == listed


@pytest.mark.rule("P13")
def test_a_reimport_replaces_its_block_in_place(storage: Watched) -> None:
    fresh(storage, step(b"abc", b"de"), step(b"f", b"g"), step(b"h", b""))
    before = ids(storage)
    group = writer(storage, stored_base(storage, layout_of(), -1, 1))
    stage(group, 5, step(b"longer", b""))
    group.commit()
    after = ids(storage)
    assert (after[0], after[2]) == (before[0], before[2])
    assert after[1].startswith("TS0000000005-")
    assert after[1] != before[1]
    assert storage.read(BLOB).data[:12] == b"abcdelongerh"
    assert read_index(storage, layout_of(times=7), -1, 1).lengths.tolist() == [[3, 2], [6, 0], [1, 0]]


@pytest.mark.rule("P8")
def test_a_write_beyond_the_next_slot_is_refused_and_stages_nothing(storage: Watched) -> None:
    fresh(storage, step(b"abc", b"de"))
    group = writer(storage, stored_base(storage, layout_of(), -1, 1))
    storage.calls.clear()
    with pytest.raises(UsageError, match="gap"):
        stage(group, 6, step(b"x", b"y"))
    assert storage.calls == []


@pytest.mark.rule("P14")
def test_a_commit_of_another_job_in_between_fails_the_write_and_run_again_it_holds_both(storage: Watched) -> None:
    fresh(storage, step(b"abc", b"de"))
    mine = writer(storage, stored_base(storage, layout_of(), -1, 1))
    stage(mine, 4, step(b"mine", b""))
    other = writer(storage, stored_base(storage, layout_of(), -1, 1))
    stage(other, 5, step(b"other", b""))
    other.commit()
    with pytest.raises(BlobChangedError):
        mine.commit()
    again = writer(storage, stored_base(storage, layout_of(), -1, 1))
    stage(again, 4, step(b"mine", b""))
    again.commit()
    assert storage.read(BLOB).data[:9] == b"mineother"


@pytest.mark.rule("P14")
def test_blocks_staged_after_the_commit_of_another_job_do_not_replace_it(storage: Watched) -> None:
    """The other commit cannot have dropped them: the condition alone tells."""
    fresh(storage, step(b"abc", b"de"))
    mine = writer(storage, stored_base(storage, layout_of(), -1, 1))
    other = writer(storage, stored_base(storage, layout_of(), -1, 1))
    stage(other, 5, step(b"other", b""))
    other.commit()
    stage(mine, 4, step(b"mine", b""))
    with pytest.raises(BlobChangedError):
        mine.commit()
    assert storage.read(BLOB).data[:10] == b"abcdeother"


@pytest.mark.rule("P14")
def test_two_jobs_that_make_a_new_group_do_not_overwrite_one_another(storage: Watched) -> None:
    layout = layout_of()
    first, second = (writer(storage, empty_base(layout, None)) for _ in range(2))
    stage(first, 4, step(b"a", b"b"))
    first.commit()
    stage(second, 4, step(b"c", b"d"))
    with pytest.raises(BlobChangedError):
        second.commit()
    assert storage.read(BLOB).data[:2] == b"ab"


@pytest.mark.rule("P14")
def test_the_stored_index_is_read_from_the_version_of_the_block_list(storage: Watched) -> None:
    fresh(storage, step(b"abc", b"de"))

    def commit_in_between(call: str, name: str, number: int) -> None:
        if call == "block_list":
            storage.after = lambda *_: None
            fresh(storage, step(b"new", b""))

    storage.after = commit_in_between
    with pytest.raises(BlobChangedError):
        stored_base(storage, layout_of(), -1, 1)


@pytest.mark.rule("P15")
@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("error", [StorageError("no answer"), BlobChangedError("412 or 409")])
def test_a_commit_whose_answer_was_lost_is_taken_for_what_it_is(
    storage: Watched, new: bool, error: StorageError
) -> None:
    if not new:
        fresh(storage, step(b"abc", b"de"))
    storage.after = failing_once("commit_blocks", error)
    version = fresh(storage, step(b"mine", b"!"))
    assert storage.read(BLOB).data[:5] == b"mine!"
    assert version == storage.properties(BLOB).version


@pytest.mark.rule("P15")
@pytest.mark.parametrize("new", [True, False])
def test_a_commit_that_never_arrived_is_sent_again(storage: Watched, new: bool) -> None:
    if not new:
        fresh(storage, step(b"abc", b"de"))
    storage.before = failing_once("commit_blocks", StorageError("no answer"))
    fresh(storage, step(b"mine", b"!"))
    assert storage.read(BLOB).data[:5] == b"mine!"


@pytest.mark.rule("P15")
def test_a_lost_answer_with_another_list_in_its_place_fails(storage: Watched) -> None:
    fresh(storage, step(b"abc", b"de"))
    mine = writer(storage, stored_base(storage, layout_of(), -1, 1))
    stage(mine, 5, step(b"mine", b""))

    def overtaken(call: str, name: str, number: int) -> None:
        if call == "commit_blocks":
            storage.before = lambda *_: None
            fresh(storage, step(b"other", b""))
            raise StorageError("no answer")

    storage.before = overtaken
    with pytest.raises(BlobChangedError, match="Another job committed"):
        mine.commit()
    assert storage.read(BLOB).data[:5] == b"other"


@pytest.mark.rule("P15")
def test_a_commit_that_fails_for_good_says_why(storage: Watched) -> None:
    def full(call: str, name: str, number: int) -> None:
        if call == "commit_blocks":
            raise StorageError("the disk is full")

    storage.before = full
    with pytest.raises(StorageError, match="disk is full"):
        fresh(storage, step(b"mine", b"!"))
    assert not storage.exists(BLOB)


@pytest.mark.rule("P17")
def test_a_blob_with_content_but_no_block_list_is_not_written_to(storage: Watched) -> None:
    storage.write(BLOB, b"copied")
    with pytest.raises(StorageError, match="no block list"):
        stored_base(storage, layout_of(), -1, 1)


@pytest.mark.rule("P10", "P12")
def test_an_index_that_does_not_fit_the_blocks_is_not_built_on(storage: Watched) -> None:
    fresh(storage, step(b"abc", b"de"), step(b"f", b"g"))
    data = storage.read(BLOB).data
    blocks = [data[:4], data[4:7], data[7:]]
    for number, block in enumerate(blocks):
        storage.stage_block(BLOB, f"X{number}", block)
    storage.commit_blocks(BLOB, ["X0", "X1", "X2"])
    assert read_index(storage, layout_of(times=6), -1, 1).lengths.tolist() == [[3, 2], [1, 1]]
    with pytest.raises(DamagedDataError, match="does not fit the blocks"):
        stored_base(storage, layout_of(), -1, 1)


@pytest.mark.rule("P10")
def test_a_group_of_fewer_timesteps_than_the_dataset_lists_is_refused(storage: Watched) -> None:
    fresh(storage, step(b"abc", b"de"))
    with pytest.raises(DamagedDataError, match="holds 1 timesteps; the dataset lists 2"):
        read_index(storage, layout_of(times=6), -1, 1)


@pytest.mark.rule("P10")
def test_a_byte_copy_of_a_group_is_read(storage: Watched) -> None:
    fresh(storage, step(b"abc", b"de"), step(b"f", b""))
    storage.write(BLOB, storage.read(BLOB).data)
    assert storage.block_list(BLOB).blocks == ()
    assert read_index(storage, layout_of(times=6), -1, 1).lengths.tolist() == [[3, 2], [1, 0]]


def failing_once(call: str, error: Exception) -> Callable[[str, str, int], None]:
    failed: list[Array] = []

    def fail(made: str, name: str, number: int) -> None:
        if made == call and not failed:
            failed.append(np.zeros(0))
            raise error

    return fail
