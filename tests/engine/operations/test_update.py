"""Update: times that are there are imported again in place; every slice is the old or the new one (P13, P18, T4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import Cancelled, DamagedDataError, MdError, NotFoundError, StorageError, UsageError
from mdstudio.engine.model import Array, ItemStorage
from mdstudio.engine.operations.update import update_times
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import MapRequest
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.times import TimeAxis
from tests.engine.made_datasets import Watched, blobs, description, item_storage, same_bits
from tests.engine.operations.growing import (
    LAYOUTS,
    TYPES,
    append,
    create,
    environ,
    holds,
    items_of,
    layout_id,
    listed_bytes,
    made_values,
    part,
    reader_of,
    update,
)
from tests.engine.operations.states import states

OLD, NEW = made_values(), made_values(seed=7)
ALL = range(9)


def mixed(times: Sequence[int]) -> dict[str, Array]:
    """The old values, at some times the new ones."""
    values = {name: array.copy() for name, array in OLD.items()}
    for name, array in values.items():
        array[list(times)] = NEW[name][list(times)]
    return values


def made(folder: Path, kept: ItemStorage) -> FolderStorage:
    storage = FolderStorage(folder)
    create(storage, OLD, ALL, kept)
    return storage


@pytest.mark.rule("D7", "D8", "T4", "T9", "W1", "V1", "C4", "D17")
@pytest.mark.parametrize("kept", LAYOUTS, ids=layout_id)
def test_what_was_updated_reads_as_new_and_all_else_as_before(tmp_path: Path, kept: ItemStorage) -> None:
    """A time, the end of one group and the start of the next, times with others between them, all."""
    for number, times in enumerate(((4,), (2, 3, 4), (0, 2, 5, 7, 8), tuple(ALL))):
        storage = made(tmp_path / str(number), kept)
        written = update(storage, NEW, times)
        assert written.timesteps == len(times)
        assert holds(storage, mixed(times), ALL)
        assert written.stored_bytes == listed_bytes(tmp_path / str(number))
        assert Dataset.open(storage).metadata.data_size_bytes == written.stored_bytes
        assert Dataset.open(storage).metadata.storage == kept


@pytest.mark.rule("D15")
@pytest.mark.parametrize("storage_type", TYPES)
@pytest.mark.parametrize("fixed", [True, False])
def test_the_same_values_again_change_nothing(tmp_path: Path, storage_type: Any, fixed: bool) -> None:
    storage = made(tmp_path, item_storage(storage_type, fixed_step=fixed))
    before = blobs(storage)
    update(storage, OLD, range(3, 6))  # a whole group
    found = blobs(storage)
    metadata = found.pop("dataset.json"), before.pop("dataset.json")
    if storage_type != "SingleTimestep":  # its unit is longer, and the state starts fresh
        assert found == before
    update(storage, OLD, range(3, 6))
    assert blobs(storage)["dataset.json"] == metadata[0]  # the source stands there already


@pytest.mark.rule("P13")
def test_a_timestep_keeps_its_slot_and_gets_a_new_id_and_length(tmp_path: Path) -> None:
    storage = made(tmp_path, item_storage("MultiTimestep"))
    blob = next(b.name for b in storage.list_blobs() if b.name.endswith("L-1/G00000001.dat"))
    before = storage.block_list(blob).blocks
    values = {name: array * 3 for name, array in NEW.items()}
    update(storage, values, [4])
    after = storage.block_list(blob).blocks
    assert [a == b for a, b in zip(after, before, strict=True)] == [True, False, True, False]
    assert after[1].id[:12] == before[1].id[:12] == "TS0000000004"
    assert after[1].size != before[1].size
    assert after[3].id.startswith("IDX000000000-")


@pytest.mark.rule("P12", "D9")
def test_a_group_of_which_some_times_are_updated_is_committed_once(tmp_path: Path) -> None:
    storage = Watched(made(tmp_path, item_storage("MultiTimestep", group=9)))
    update(storage, NEW, [0, 2, 5, 7])
    assert [call for call, _ in storage.calls].count("commit_blocks") == 3  # one for each layer of each item
    assert [call for call, _ in storage.calls].count("stage_block") == 3 * 5


@pytest.mark.rule("D15", "T10")
@pytest.mark.parametrize("storage_type", TYPES)
def test_the_bytes_do_not_depend_on_the_number_of_workers(tmp_path: Path, storage_type: Any) -> None:
    found = []
    for workers in (1, 3):
        storage = made(tmp_path / str(workers), item_storage(storage_type))
        update(storage, NEW, [1, 4, 5], workers=workers)
        found.append(blobs(storage))
    assert found[0] == found[1]


def test_data_without_times_is_updated_too(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    values = {name: array[:1] for name, array in OLD.items()}
    static = replace(description(values, items_of(values)), times=TimeAxis.none())
    from mdstudio.engine.settings import Settings
    from mdstudio.engine.writer import create_dataset

    create_dataset(storage, "s", static, reader_of(values, [0]), Settings(item_storage("SingleTimestep"), (), {}),
                   Progress(), {})
    update_times(storage, static, reader_of(NEW, [0]), {}, Progress(), environ())
    assert same_bits(Dataset.open(storage).map(MapRequest("plain", 0)).stored, NEW["plain"][0, 0])


# What is refused


def refused(storage: FolderStorage, times: Sequence[int], error: type[MdError], **more: Any) -> str:
    before = states(Path(storage.location))
    with pytest.raises(error) as raised:
        update(storage, NEW, times, **more)
    assert states(Path(storage.location)) == before
    return str(raised.value)


@pytest.mark.rule("D7")
def test_times_that_are_not_there_and_other_parameters_are_refused_before_anything_is_touched(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    create(storage, OLD, [0, 1, 2, 4], item_storage("TimeSeries"))
    message = refused(storage, [2, 3], NotFoundError)
    assert "1970-01-01T03:00:00 is not in the dataset" in message
    assert "--append" in message
    assert "Compression is None; the dataset was made with ZstdAuto" in refused(
        storage, [2], UsageError, given={"Compression": "None"})


@pytest.mark.rule("T5")
@pytest.mark.parametrize("storage_type", ["MultiTimestep", "TimeSeries"])
def test_a_damaged_group_is_refused_in_part_and_repaired_as_a_whole(tmp_path: Path, storage_type: Any) -> None:
    storage = made(tmp_path, item_storage(storage_type))
    for path in tmp_path.glob("000-*/**/G00000001.dat"):
        path.unlink()
        path.with_name(path.name + ".blocks").unlink(missing_ok=True)
    with pytest.raises(DamagedDataError, match="is missing") as raised:
        update(storage, NEW, [4])
    assert "--update" in raised.value.advice
    update(storage, OLD, range(3, 6))
    assert holds(storage, OLD, ALL)


# What ends it early


TILES = [(rows, columns) for rows in (slice(0, 16), slice(16, 20)) for columns in (slice(0, 16), slice(16, 18))]


def slices(folder: Path) -> list[str]:
    """Of every slice, in TimeSeries of every tile of it: "old", "new" or "refused"."""
    found = []
    dataset = Dataset.open(str(folder))
    dataset.sleep = lambda seconds: None
    for name, layer in (("plain", None), ("deep", 0), ("deep", 1)):
        for t in ALL:
            try:
                stored = dataset.map(MapRequest(name, t, layer)).stored
            except DamagedDataError:
                found.append("refused")
                continue
            series = dataset.metadata.storage.storage_type == "TimeSeries"
            for part_ in TILES if series else [(slice(None), slice(None))]:
                old, new = (same_bits(stored[part_], values[name][t, layer or 0][part_]) for values in (OLD, NEW))
                assert old or new
                found.append("both" if old and new else "old" if old else "new")
    return found


@pytest.mark.rule("P13", "P18", "T4", "T9", "W2")
@pytest.mark.parametrize("kept", [item_storage(t, c, fixed_step=f) for t, c, f in (
    ("SingleTimestep", "ZstdAuto", True), ("SingleTimestep", "None", True), ("MultiTimestep", "ZstdAuto", True),
    ("MultiTimestep", "None", True), ("TimeSeries", "ZstdAuto", True), ("TimeSeries", "ZstdAuto", False))],
    ids=layout_id)
def test_killed_anywhere_every_slice_is_old_or_new_and_the_same_update_completes_it(
    tmp_path: Path, kept: ItemStorage
) -> None:
    number, seen = 0, set()
    while True:
        number += 4
        folder = tmp_path / str(number)
        storage = Watched(made(folder, kept))

        def dies(call: str, name: str, n: int, last: int = number) -> None:
            if n > last:
                raise StorageError("killed")

        storage.before = dies
        try:
            update(storage, NEW, [1, 4, 5, 6])
        except StorageError:
            pass
        else:
            break
        found = slices(folder)
        refused_slices = found.count("refused")
        assert refused_slices <= (4 if kept.storage_type == "SingleTimestep" and kept.compression != "None" else 0)
        seen.update(found)
        update(FolderStorage(folder), NEW, [1, 4, 5, 6])
        assert holds(folder, mixed([1, 4, 5, 6]), ALL)
    assert {"old", "new"} <= seen


@pytest.mark.rule("G7")
@pytest.mark.parametrize("storage_type", TYPES)
def test_a_cancel_leaves_whole_slices_and_no_staged_block(tmp_path: Path, storage_type: Any) -> None:
    storage = made(tmp_path, item_storage(storage_type))

    class Stopping(Progress):
        def report(self) -> None:
            if self.done >= 5:
                self.cancel()

    with pytest.raises(Cancelled):
        update(storage, NEW, ALL, progress=Stopping())
    assert "refused" not in slices(tmp_path)
    assert not list(tmp_path.rglob("*.staged"))
    update(storage, NEW, ALL)
    assert holds(storage, NEW, ALL)


@pytest.mark.rule("W2", "T4")
def test_an_update_after_an_append_that_was_killed_keeps_to_what_is_listed(tmp_path: Path) -> None:
    for storage_type, fixed in (("MultiTimestep", True), ("TimeSeries", True), ("TimeSeries", False)):
        folder = tmp_path / f"{storage_type}{fixed}"
        storage = FolderStorage(folder)
        create(storage, OLD, range(4), item_storage(storage_type, fixed_step=fixed))  # type: ignore[arg-type]
        listed = (folder / "dataset.json").read_bytes()
        append(storage, OLD, range(4, 6))
        (folder / "dataset.json").write_bytes(listed)
        update(storage, NEW, [1, 3])
        assert holds(storage, {n: np.where(np.isin(np.arange(9), [1, 3])[:, None, None, None], NEW[n], OLD[n])
                               for n in OLD}, range(4))
        append(storage, OLD, range(4, 9))
        assert holds(storage, mixed([1, 3]), ALL)


def test_the_reader_is_asked_by_the_positions_of_its_own_times(tmp_path: Path) -> None:
    storage = made(tmp_path, item_storage("TimeSeries"))
    reader = reader_of(NEW, [2, 4, 5])
    update_times(storage, part(NEW, [2, 4, 5]), reader, {}, Progress(), environ())
    assert {(asked[1].start, asked[1].stop) for asked in reader.asked} == {(0, 1), (1, 3)}
