"""Imports: bytes that depend on the data alone, memory that does not depend on it, and nothing left of a failed one."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import struct
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine import writer
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import (
    AlreadyExistsError,
    BlobChangedError,
    Cancelled,
    LayoutGuardError,
    MdError,
    SourceError,
    StorageError,
    UsageError,
)
from mdstudio.engine.layout.item_layout import item_layout
from mdstudio.engine.model import Array, Hint
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import MapRequest
from mdstudio.engine.spatial.tiles import TileGrid
from mdstudio.engine.storage import CountingStorage, FolderStorage
from mdstudio.engine.writing import series, steps
from mdstudio.engine.writing.units import units_of
from tests.engine.made_datasets import (
    Arrays,
    Watched,
    blobs,
    description,
    files,
    item,
    item_storage,
    make,
    same_bits,
    smooth,
    write,
)

STORAGE_TYPES = ("SingleTimestep", "MultiTimestep", "TimeSeries")
VALUES = smooth(7, 1, 70, 90)  # 30 tiles of 16 x 16: four encode chunks
SMALL = smooth(4, 1, 8, 20)


def digest(storage: Any) -> str:
    return hashlib.sha256(repr(sorted(blobs(storage).items())).encode()).hexdigest()


# Bytes


@pytest.mark.rule("D9", "C6")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize(("compression", "version"), [("ZstdAuto", 3), ("LZ4", 1), ("DeflateOptimalAuto", 2)])
def test_the_bytes_do_not_depend_on_the_number_of_workers(
    tmp_path: Path, storage_type: Any, compression: str, version: int
) -> None:
    found = set()
    for workers in range(1, 5):
        storage = FolderStorage(tmp_path / f"{workers}")
        write(storage, {"v": VALUES, "w": smooth(7, 1, 70, 90, "float32")},
              item_storage(storage_type, compression, version=version), workers=workers)
        found.add(digest(storage))
    assert len(found) == 1


@pytest.mark.rule("C6", "D15")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_a_unit_has_the_same_bytes_whatever_came_before_it(tmp_path: Path, storage_type: Any) -> None:
    """The second unit alone, after times that have nothing in common, and of an item written after others."""
    steps_ = 32 if storage_type == "SingleTimestep" else 3
    tail = smooth(steps_, 1, 70, 90, seed=3)
    kept = item_storage(storage_type, "ZstdAuto")
    ends = []
    for number, head in enumerate((smooth(steps_, 1, 70, 90), np.full_like(tail, 9), None)):
        storage = FolderStorage(tmp_path / f"{number}")
        values = np.concatenate((tail[:0] if head is None else head, tail))
        write(storage, {"v": values} if head is not None else {"a": smooth(len(values), 1, 70, 90), "v": values}, kept)
        dataset = Dataset.open(storage)
        first = 0 if head is None else steps_
        names = {dataset.pages("v", t).blob_of(i) for t in (first, first + steps_ - 1) for i in (0, -1)}
        assert names
        ends.append([storage.read_range(blob, 0, int(dataset.pages("v", first).length.sum())).data
                     for blob in sorted(names)])
    assert ends[0] == ends[1] == ends[2]


@pytest.mark.rule("C6")
def test_a_unit_of_single_timesteps_is_an_aligned_run_of_32() -> None:
    kept = item_storage("SingleTimestep")
    values = np.zeros((70, 1, 4, 4), np.int16)
    layout = item_layout(item("v", values), "000-v", kept, description({"v": values}).times, TileGrid(4, 4, 16))
    assert [(unit.start, unit.stop) for unit in units_of(layout)] == [(0, 32), (32, 64), (64, 70)]


@pytest.mark.rule("D15")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_what_a_killed_import_left_does_not_change_what_the_next_one_writes(tmp_path: Path, storage_type: Any) -> None:
    """Left-overs of an import with other settings lie under the same names; of the same import, under the same ids."""
    kept = item_storage(storage_type)
    clean = FolderStorage(tmp_path / "clean")
    write(clean, {"v": VALUES}, kept)
    for number, other in enumerate((kept, item_storage(storage_type, "LZ4"), item_storage(storage_type, "None"))):
        storage = FolderStorage(tmp_path / f"{number}")
        write(storage, {"v": VALUES[::-1]}, other)
        storage.delete("dataset.json")
        write(storage, {"v": VALUES}, kept)
        dataset = Dataset.open(storage)
        assert all(same_bits(dataset.map(MapRequest("v", t)).stored, VALUES[t, 0]) for t in range(7))
        expected = blobs(clean)
        found = blobs(storage)
        assert {name: found[name] for name in expected if name != "dataset.json"} == {
            name: data for name, data in expected.items() if name != "dataset.json"}


@pytest.mark.rule("V1")
def test_every_new_dataset_carries_a_layout_version(tmp_path: Path) -> None:
    for number, compression in enumerate(("None", "ZstdAuto")):
        dataset = make(tmp_path / f"{number}", {"v": VALUES}, item_storage("SingleTimestep", compression))
        assert dataset.metadata.storage.layout_version == 3


@pytest.mark.rule("P7", "K9")
@pytest.mark.parametrize("compression", ["None", "DeflateFast"])
def test_single_timestep_blobs_are_named_by_layer_and_time(tmp_path: Path, compression: str) -> None:
    make(tmp_path / "d", {"v": smooth(2, 1, 4, 4), "Bottom T": smooth(2, 2, 4, 4)},
         item_storage("SingleTimestep", compression))
    stems = [f"{folder}/1970010{1}T0{t}0000" for folder in ("000-v/L-1", "001-bottom_t/L0000", "001-bottom_t/L0001")
             for t in (0, 1)]
    suffixes = (".dat",) if compression == "None" else (".dat", ".idx")
    assert [f for f in files(tmp_path / "d") if "/" in f] == sorted(s + suffix for s in stems for suffix in suffixes)


@pytest.mark.rule("P18")
def test_each_index_of_a_timestep_is_written_after_its_data(tmp_path: Path) -> None:
    storage = Watched(FolderStorage(tmp_path / "d"))
    write(storage, {"v": smooth(5, 2, 20, 20)}, item_storage("SingleTimestep"))
    written = [name for call, name in storage.calls if call == "write"]
    pairs = [name.removesuffix(".idx") for name in written if name.endswith(".idx")]
    assert len(pairs) == 10
    assert all(written.index(f"{pair}.dat") < written.index(f"{pair}.idx") for pair in pairs)


@pytest.mark.rule("P1", "K9")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_the_element_order_is_tiles_in_quad_tree_order_row_major_inside(tmp_path: Path, storage_type: Any) -> None:
    """5 x 5 cells in tiles of 2: 00 01 10 11 of the quad tree first, clipped at the edges."""
    values = np.arange(2 * 25, dtype="<u2").reshape(2, 1, 5, 5)
    make(tmp_path / "d", {"v": values}, item_storage(storage_type, "None", width=2, group=2))
    tiles = [(0, 0), (0, 2), (2, 0), (2, 2), (0, 4), (2, 4), (4, 0), (4, 2), (4, 4)]
    parts = [values[:, 0, r:r + 2, c:c + 2].reshape(2, -1) for r, c in tiles]
    stored = [data for name, data in sorted(blobs(FolderStorage(tmp_path / "d")).items()) if "/" in name]
    if storage_type == "TimeSeries":
        assert stored == [np.ascontiguousarray(part.T).tobytes() for part in parts]
    else:
        whole = np.concatenate(parts, axis=1)
        assert b"".join(stored) == whole.tobytes()


@pytest.mark.rule("T1", "T4", "K9")
@pytest.mark.parametrize(("fixed_step", "compression", "columns"), [
    (True, "DeflateFast", 4), (False, "DeflateFast", 2), (True, "None", 4), (False, "None", 4)])
def test_the_last_time_series_group_is_filled_up_with_no_data_or_holds_its_own_count(
    tmp_path: Path, fixed_step: bool, compression: str, columns: int
) -> None:
    values = smooth(6, 1, 4, 4)
    kept = item_storage("TimeSeries", compression, group=4, block_rows=8, fixed_step=fixed_step, version=2)
    make(tmp_path / "d", {"v": values}, kept, (item("v", values, -1),))
    blob = blobs(FolderStorage(tmp_path / "d"))["000-v/L-1/S00000000/G00000001.dat"]
    expected = np.full((16, columns), -1, "<i2")
    expected[:, :2] = values[4:, 0].reshape(2, 16).T
    if compression == "None":
        assert blob == expected.tobytes()
        return
    import zlib

    lengths = np.frombuffer(blob[:8], "<i4")
    blocks = [blob[8:8 + lengths[0]], blob[8 + lengths[0]:]]
    assert len(blob) == 8 + lengths.sum()
    assert b"".join(zlib.decompress(block, -15) for block in blocks) == expected.tobytes()


@pytest.mark.rule("P5")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES[:2])
def test_the_first_page_of_an_all_no_data_timestep_is_stored_all_the_same(tmp_path: Path, storage_type: Any) -> None:
    values = np.full((3, 1, 70, 90), -1, "<i2")
    values[1, 0, 60, 80] = 5
    dataset = make(tmp_path / "d", {"v": values}, item_storage(storage_type), (item("v", values, -1),))
    for time in range(3):
        stored = np.flatnonzero(dataset.pages("v", time).length).tolist()
        assert stored == ([0] if time != 1 else [dataset.layout("v").tiles.page_at(60, 80)])
        assert same_bits(dataset.map(MapRequest("v", time)).stored, values[time, 0])


@pytest.mark.rule("T3")
def test_an_all_no_data_block_has_length_0_in_a_time_series(tmp_path: Path) -> None:
    values = np.full((3, 1, 16, 16), -1, "<i2")
    dataset = make(tmp_path / "d", {"v": values}, item_storage("TimeSeries"), (item("v", values, -1),))
    assert not dataset.pages("v", 0).length.any()
    assert same_bits(dataset.map(MapRequest("v", 2)).stored, values[2, 0])


def test_the_hints_of_the_source_reach_the_codec(tmp_path: Path) -> None:
    values = (smooth(1, 1, 128, 128, "int32") * 0.0123456789 + 17.31234).astype("<f4")
    offset = struct.pack("<d", 17.31234)  # without a hint another one that fits is found
    told = []
    for number, hints in enumerate(({}, {"v": (Hint(1, 0.0123456789, 17.31234),)})):
        storage = FolderStorage(tmp_path / f"{number}")
        write(storage, {"v": values}, item_storage("MultiTimestep", width=128), hints=hints)
        dataset = Dataset.open(storage)
        assert same_bits(dataset.map(MapRequest("v", 0)).stored, values[0, 0])
        told.append(offset in dataset.page_details("v", 0, None, 0).header)
    assert told == [False, True]


# What the caller sees


@pytest.mark.rule("D8")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("compression", ["None", "ZstdAuto"])
def test_the_size_is_listed_from_the_storage(tmp_path: Path, storage_type: Any, compression: str) -> None:
    storage = FolderStorage(tmp_path / "d")
    summary = write(storage, {"v": VALUES}, item_storage(storage_type, compression))
    listed = sum(blob.length for blob in storage.list_blobs("000-v/"))
    assert summary.stored_bytes == Dataset.open(storage).metadata.data_size_bytes == listed
    assert (summary.items, summary.timesteps, summary.raw_bytes) == (1, 7, VALUES.nbytes)


@pytest.mark.rule("D8")
def test_blobs_that_another_run_left_are_counted(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path / "d")
    storage.write("000-v/L-1/19690101T000000.dat", b"left over")
    summary = write(storage, {"v": VALUES}, item_storage("SingleTimestep"))
    assert summary.stored_bytes == sum(blob.length for blob in storage.list_blobs("000-v/"))


@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_progress_counts_the_slices_and_ends_at_their_number(tmp_path: Path, storage_type: Any) -> None:
    seen: list[tuple[int, int]] = []

    class Shown(Progress):
        def report(self) -> None:
            seen.append((self.done, self.total))

    write(FolderStorage(tmp_path), {"v": VALUES, "w": smooth(7, 3, 70, 90)}, item_storage(storage_type),
          progress=Shown())
    assert seen[0] == (0, 28)
    assert seen[-1] == (28, 28)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.rule("W2")
def test_the_metadata_is_the_last_blob_written(tmp_path: Path) -> None:
    for number, storage_type in enumerate(STORAGE_TYPES):
        storage = Watched(FolderStorage(tmp_path / f"{number}"))
        write(storage, {"v": VALUES}, item_storage(storage_type))  # type: ignore[arg-type]
        writes = [name for call, name in storage.calls if call in ("write", "commit_blocks", "stage_block")]
        assert writes[-1] == "dataset.json"
        assert writes.count("dataset.json") == 1


# Memory


class Counted(Arrays):
    """Makes slices on demand and knows how many bytes of them are alive."""

    def __init__(self, shape: tuple[int, int, int, int]) -> None:
        super().__init__({})
        self.shape, self.alive, self.most = shape, 0, 0

    def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        shape = times.stop - times.start, rows.stop - rows.start, columns.stop - columns.start
        values = np.arange(int(np.prod(shape)), dtype="<i2").reshape(shape)
        self.alive += values.nbytes
        self.most = max(self.most, self.alive)
        weakref.finalize(values, self._gone, values.nbytes)
        return values

    def _gone(self, size: int) -> None:
        self.alive -= size


@pytest.mark.parametrize("storage_type", STORAGE_TYPES[:2])
@pytest.mark.parametrize("layers", [1, 20])
def test_an_import_holds_few_slices_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, storage_type: Any, layers: int
) -> None:
    shape = (30 // layers + 2, layers, 70, 90)
    monkeypatch.setattr(steps, "READ_BYTES", 70 * 90 * 2)  # as for large slices
    reader = Counted(shape)
    placeholder = np.zeros(shape, "<i2")
    write(FolderStorage(tmp_path), {"v": placeholder}, item_storage(storage_type), reader=reader)
    gc.collect()
    assert reader.most <= 4 * 70 * 90 * 2
    assert reader.alive == 0


def test_small_slices_are_read_together(tmp_path: Path) -> None:
    reader = Arrays({"v": smooth(40, 2, 8, 8)})
    write(FolderStorage(tmp_path), reader.values, item_storage("MultiTimestep", group=40), reader=reader)
    assert [(asked[1], asked[2]) for asked in reader.asked] == [(slice(0, 40), 0), (slice(0, 40), 1)]


@pytest.mark.parametrize("read_bytes", [10**9, 14 * 16 * 90, 14 * 16 * 90 * 2, 14 * 16 * 16 * 3, 14 * 16, 1])
def test_a_time_series_import_reads_within_its_budget_whatever_the_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_bytes: int
) -> None:
    """Everything at once, bands of tiles, some tiles of a band, rows of a tile: the same bytes from each."""
    monkeypatch.setattr(series, "PART_BYTES", read_bytes)
    monkeypatch.setattr(series, "READ_BYTES", max(1, read_bytes // 3))
    storage = FolderStorage(tmp_path / "d")
    reader = Counted((7, 1, 70, 90))
    write(storage, {"v": VALUES}, item_storage("TimeSeries", group=7), reader=reader)
    assert reader.most <= max(read_bytes, 2 * 14 * 16)
    write(FolderStorage(tmp_path / "e"), {"v": VALUES}, item_storage("TimeSeries", group=7))
    dataset = Dataset.open(FolderStorage(tmp_path / "e"))
    assert all(same_bits(dataset.map(MapRequest("v", t)).stored, VALUES[t, 0]) for t in range(7))
    monkeypatch.undo()
    write(FolderStorage(tmp_path / "f"), {"v": VALUES}, item_storage("TimeSeries", group=7))
    assert digest(FolderStorage(tmp_path / "e")) == digest(FolderStorage(tmp_path / "f"))


# Failure


def before_import(folder: Path) -> list[str]:
    """A folder that holds something already."""
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    FolderStorage(folder).write("000-v/L-1/other.dat", b"was there")
    return files(folder)


@pytest.mark.rule("W2")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("at", [0, 1, 5, 13])
def test_a_cancelled_import_leaves_what_was_there_before(tmp_path: Path, storage_type: Any, at: int) -> None:
    before = before_import(tmp_path / "d")

    class Impatient(Progress):
        def report(self) -> None:
            if self.done >= at:
                self.cancel()

    with pytest.raises(Cancelled):
        write(FolderStorage(tmp_path / "d"), {"v": VALUES, "w": VALUES}, item_storage(storage_type),
              progress=Impatient())
    assert files(tmp_path / "d") == before


def test_a_cancel_takes_effect_within_a_slice(tmp_path: Path) -> None:
    """The pages of a slice are not all encoded once a cancel is asked: the second read is cancelled by itself."""
    progress = Progress()

    class CancelsWhenRead(Arrays):
        def read(self, *place: Any) -> Array:
            values = super().read(*place)
            progress.cancel()
            return values

    reader = CancelsWhenRead({"v": VALUES})
    with pytest.raises(Cancelled):
        write(FolderStorage(tmp_path), {"v": VALUES}, item_storage("SingleTimestep"), reader=reader, progress=progress)
    assert len(reader.asked) == 1
    assert files(tmp_path) == []


def calls_of_an_import(folder: Path, kept: Any) -> int:
    storage = Watched(FolderStorage(folder))
    write(storage, {"v": SMALL}, kept, workers=1)
    return len(storage.calls)


@pytest.mark.rule("W2", "P15")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_storage_that_fails_at_any_call_leaves_nothing_or_a_whole_dataset(
    tmp_path: Path, storage_type: Any, when: str
) -> None:
    """Every call of an import fails once, before or after its effect."""
    kept = item_storage(storage_type)
    done = 0
    for number in range(1, calls_of_an_import(tmp_path / "count", kept) + 1):
        folder = tmp_path / f"{number}"
        storage = Watched(FolderStorage(folder))

        def fail(call: str, name: str, made: int, number: int = number) -> None:
            if made == number:
                raise StorageError("the network is gone", where=name)

        setattr(storage, when, fail)
        try:
            write(storage, {"v": SMALL}, kept, workers=1)
        except StorageError:
            assert files(folder) == []
        else:
            done += 1
            dataset = Dataset.open(FolderStorage(folder))
            assert same_bits(dataset.map(MapRequest("v", 3)).stored, SMALL[3, 0])
    assert done or when == "before"  # an answer that was lost, of a commit or of the metadata, is found out


@pytest.mark.rule("W2")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_a_storage_that_stays_broken_does_not_hide_why(tmp_path: Path, storage_type: Any) -> None:
    storage = Watched(FolderStorage(tmp_path))

    def full(call: str, name: str, number: int) -> None:
        if number > 6:
            raise StorageError("the disk is full", where=name)

    storage.before = full
    with pytest.raises(StorageError, match="the disk is full"):
        write(storage, {"v": VALUES}, item_storage(storage_type))


@pytest.mark.rule("W2")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_a_source_that_fails_half_way_leaves_nothing(tmp_path: Path, storage_type: Any) -> None:
    class Broken(Arrays):
        def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
            if times.stop > 4:
                raise SourceError("truncated")
            return super().read(item, times, layer, rows, columns)

    with pytest.raises(SourceError, match="truncated"):
        write(FolderStorage(tmp_path), {"v": VALUES}, item_storage(storage_type), reader=Broken({"v": VALUES}))
    assert files(tmp_path) == []


@pytest.mark.parametrize("change", [lambda v: v.astype("<i4"), lambda v: v[:, :-1], lambda v: v.astype(">i2")])
def test_a_source_that_gives_something_else_than_it_described_is_refused(
    tmp_path: Path, change: Callable[[Array], Array]
) -> None:
    class Other(Arrays):
        def read(self, *place: Any) -> Array:
            return change(super().read(*place))

    with pytest.raises(SourceError, match="were asked for"):
        write(FolderStorage(tmp_path), {"v": VALUES}, item_storage("SingleTimestep"), reader=Other({"v": VALUES}))
    assert files(tmp_path) == []


def test_a_destination_that_is_a_dataset_is_left_alone(tmp_path: Path) -> None:
    make(tmp_path / "d", {"v": VALUES}, item_storage("MultiTimestep"))
    storage = CountingStorage(FolderStorage(tmp_path / "d"))
    before = digest(storage.inner)
    with pytest.raises(AlreadyExistsError):
        write(storage, {"v": VALUES[::-1]}, item_storage("MultiTimestep"))
    assert digest(storage.inner) == before


@pytest.mark.rule("V4", "K4")
def test_a_guard_refuses_before_a_blob_is_touched(tmp_path: Path) -> None:
    storage = Watched(FolderStorage(tmp_path / "d"))
    missing = replace(item_storage("TimeSeries"), time_series_block_rows=None)
    with pytest.raises(LayoutGuardError):
        write(storage, {"v": VALUES}, missing)
    assert {call for call, _ in storage.calls} <= {"exists"}
    assert files(tmp_path) == []


def test_a_description_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least one item"):
        write(FolderStorage(tmp_path), {"v": VALUES[:0]}, item_storage("SingleTimestep"),
              (item("v", VALUES),))


@pytest.mark.parametrize("workers", ["0", "-1", "two"])
@pytest.mark.rule("D9")
def test_a_bad_number_of_workers_is_refused_before_anything_is_written(tmp_path: Path, workers: str) -> None:
    with pytest.raises(MdError):
        write(FolderStorage(tmp_path), {"v": VALUES}, item_storage("SingleTimestep"), workers=workers)  # type: ignore[arg-type]
    assert files(tmp_path) == []


# Two imports at once


@pytest.mark.rule("D15")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("fails", [False, True])
def test_a_folder_takes_one_import_at_a_time(
    tmp_path: Path, storage_type: Any, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that comes second neither counts on blobs of the first nor writes over them, and can be run again."""
    monkeypatch.setattr(writer, "CLAIM_WAIT", 0.0)
    kept, place, met = item_storage(storage_type), tmp_path / "d", []

    class Busy(Arrays):
        def read(self, *where: Any) -> Array:
            if self.asked:  # the first blobs may be there
                with pytest.raises(BlobChangedError, match="Another job is writing here") as one:
                    write(FolderStorage(place), {"v": SMALL}, kept)
                met.append(one.value.where)
                if fails:
                    raise StorageError("the source is gone")
            return super().read(*where)

    with pytest.raises(StorageError) if fails else contextlib.nullcontext():
        write(Watched(FolderStorage(place)), {"v": SMALL, "w": SMALL}, kept, reader=Busy({"v": SMALL, "w": SMALL}))
    assert set(met) == {str(place)}
    if fails:
        assert not place.exists()
        write(FolderStorage(place), {"v": SMALL}, kept)
    dataset = Dataset.open(FolderStorage(place))
    assert all(same_bits(dataset.map(MapRequest("v", t)).stored, SMALL[t, 0]) for t in range(4))
    assert not any(name.endswith(".lock") for name in files(place))


@pytest.mark.rule("D15", "W2")
def test_an_import_that_ended_just_before_the_other_began_to_write_is_met(tmp_path: Path) -> None:
    storage = Watched(FolderStorage(tmp_path / "d"))
    kept = item_storage("MultiTimestep")
    storage.after = lambda call, name, number: (
        write(FolderStorage(tmp_path / "d"), {"v": SMALL}, kept) if number == 1 else None)
    with pytest.raises(AlreadyExistsError):
        write(storage, {"v": SMALL + 1}, kept)
    assert same_bits(Dataset.open(FolderStorage(tmp_path / "d")).map(MapRequest("v", 0)).stored, SMALL[0, 0])


@pytest.mark.rule("D15", "P14")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("at", [4, 9])
@pytest.mark.parametrize("other", [SMALL, SMALL + 1], ids=["twin", "other data"])
def test_two_imports_of_one_place_leave_a_whole_dataset_of_one_of_them_or_nothing(
    tmp_path: Path, storage_type: Any, at: int, other: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other runs from start to end in the middle of the first; whoever returns has its dataset there.

    In a storage that cannot be claimed, which has the conditions of its writes alone.
    """
    monkeypatch.setattr(FolderStorage, "claimed", lambda *_: contextlib.nullcontext())
    kept = item_storage(storage_type)
    storage = Watched(FolderStorage(tmp_path / "d"))
    done: list[Array] = []

    def run(target: Any, values: Array) -> None:
        with contextlib.suppress(AlreadyExistsError, BlobChangedError):
            write(target, {"v": values}, kept)
            done.append(values)

    storage.before = lambda call, name, number: run(
        FolderStorage(tmp_path / "d"), other) if number == at else None
    run(storage, SMALL)
    assert len(done) <= (2 if other is SMALL else 1)
    if not done:
        assert files(tmp_path / "d") == []
    for values in done:
        dataset = Dataset.open(FolderStorage(tmp_path / "d"))
        assert all(same_bits(dataset.map(MapRequest("v", t)).stored, values[t, 0]) for t in range(4))


@pytest.mark.rule("D15")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_an_import_that_fails_takes_back_only_blobs_that_still_are_its_own(tmp_path: Path, storage_type: Any) -> None:
    """Another import has rewritten some of them, and is still running."""
    kept = item_storage(storage_type)
    mine, other = Watched(FolderStorage(tmp_path / "d")), FolderStorage(tmp_path / "d")
    taken: list[str] = []

    def rewrite(call: str, name: str, number: int) -> None:
        if call in ("write", "commit_blocks") and name.startswith("000-v") and not taken:
            taken.append(name)
            other.write(name, other.read(name).data)
        if len(mine.calls) > 30 and call in ("write", "stage_block"):
            raise StorageError("the network is gone")

    mine.after = rewrite
    with pytest.raises(StorageError):
        write(mine, {"v": VALUES}, kept)
    assert files(tmp_path / "d") == taken
