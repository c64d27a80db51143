"""Append: later times, in the layout that the dataset has; ended early it leaves the old dataset (D7, P12-P15, W2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import (
    Cancelled,
    DamagedDataError,
    LayoutGuardError,
    MdError,
    StorageError,
    UnknownCompressionError,
    UnsupportedError,
    UnsupportedVersionError,
    UsageError,
)
from mdstudio.engine.model import Dropped, ItemStorage, LayerAxis
from mdstudio.engine.operations.append import append_times
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import Settings
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.times import TimeAxis
from mdstudio.engine.writer import create_dataset
from tests.engine.made_datasets import HOUR, Arrays, Watched, blobs, files, item_storage
from tests.engine.operations.growing import (
    LAYOUTS,
    TYPES,
    append,
    create,
    environ,
    grown,
    holds,
    layout_id,
    left_files,
    listed_bytes,
    made_values,
    part,
    reader_of,
)
from tests.engine.operations.states import states

VALUES = made_values()
ALL = range(9)


# Values


@pytest.mark.rule("D7", "D8", "T4", "W1", "V1", "C4", "D17")
@pytest.mark.parametrize("kept", LAYOUTS, ids=layout_id)
def test_what_was_appended_reads_as_what_was_imported_at_once(tmp_path: Path, kept: ItemStorage) -> None:
    """In pieces that end within groups, at their ends, and beyond the next one; the settings stay as they were."""
    for number, cuts in enumerate(((4,), (3, 6), (1, 2, 8))):
        folder = tmp_path / str(number)
        storage = grown(folder, VALUES, kept, cuts[0])
        for start, stop in zip(cuts, (*cuts[1:], 9), strict=True):
            written = append(storage, VALUES, range(start, stop))
            assert written.timesteps == stop - start
            assert holds(storage, VALUES, range(stop))
            assert written.stored_bytes == listed_bytes(folder)
            assert Dataset.open(storage).metadata.data_size_bytes == written.stored_bytes
        metadata = Dataset.open(storage).metadata
        assert metadata.storage == kept
        assert [entry["file"] for entry in metadata.source] == [
            f"{a}-{b - 1}.nc" for a, b in zip((0, *cuts), (*cuts, 9), strict=True)]


@pytest.mark.rule("D15", "T10")
@pytest.mark.parametrize("kept", [item_storage("TimeSeries", c, version=v, fixed_step=f) for c, v, f in (
    ("ZstdAuto", 3, True), ("ZstdAuto", 3, False), ("LZ4", 1, True), ("None", 3, True))], ids=layout_id)
def test_a_group_of_series_that_was_appended_to_has_the_bytes_of_one_import(tmp_path: Path, kept: ItemStorage) -> None:
    """It is encoded whole in a fresh state, whatever the number of workers."""
    create(FolderStorage(tmp_path / "once"), VALUES, ALL, kept)
    expected = blobs(FolderStorage(tmp_path / "once"))
    for workers in (1, 3):
        storage = grown(tmp_path / str(workers), VALUES, kept)
        append(storage, VALUES, range(4, 9), workers=workers)
        found = blobs(storage)
        assert {name: data for name, data in found.items() if name.endswith(".dat")} == {
            name: data for name, data in expected.items() if name.endswith(".dat")}


@pytest.mark.rule("C6", "D15")
@pytest.mark.parametrize("storage_type", ["SingleTimestep", "MultiTimestep"])
def test_appended_timesteps_are_encoded_in_a_fresh_state(tmp_path: Path, storage_type: Any) -> None:
    """Their bytes depend on what is appended at once, not on what was there."""
    kept = item_storage(storage_type)
    found = []
    for number, seed in enumerate((0, 5)):
        storage = FolderStorage(tmp_path / str(number))
        create(storage, made_values(seed=seed), range(4), kept)
        append(storage, VALUES, range(4, 6), workers=1 + 2 * number)
        dataset = Dataset.open(storage)
        tables = [dataset.pages(name, t, layer) for name, layer in (("plain", None), ("deep", 1)) for t in (4, 5)]
        found.append([storage.read_range(table.blob, int(table.offset[0]), int(table.length.sum())).data
                      for table in tables])
    assert found[0] == found[1]


@pytest.mark.rule("P12", "D9")
def test_an_append_stages_its_own_timesteps_and_the_index_alone(tmp_path: Path) -> None:
    storage = Watched(grown(tmp_path, VALUES, item_storage("MultiTimestep", group=9)))
    append(storage, VALUES, range(4, 6))
    staged = [name for call, name in storage.calls if call == "stage_block"]
    assert len(staged) == 3 * (2 + 1)  # three slices a time, their index
    assert not any(call == "write" and name.endswith(".dat") for call, name in storage.calls)


@pytest.mark.rule("D7")
def test_the_environment_has_no_say(tmp_path: Path) -> None:
    storage = grown(tmp_path, VALUES, item_storage("MultiTimestep", "None"))
    assert environ()["MD_DEFAULT_GRID_COMPRESSION"] == "LZ4"
    append(storage, VALUES, range(4, 9))
    assert Dataset.open(storage).metadata.storage.compression == "None"
    assert holds(storage, VALUES, ALL)


@pytest.mark.rule("V8")
def test_what_this_build_does_not_know_of_the_metadata_survives(tmp_path: Path) -> None:
    storage = grown(tmp_path, VALUES, item_storage("SingleTimestep"))
    path = tmp_path / "dataset.json"
    document = json.loads(path.read_text())
    document["Later"] = {"a": 1}
    document["ItemStorage"]["Other"] = [2]
    document["Items"][1]["Extra"] = "x"
    path.write_text(json.dumps(document))
    append(storage, VALUES, range(4, 9))
    found = json.loads(path.read_text())
    assert (found["Later"], found["ItemStorage"]["Other"], found["Items"][1]["Extra"]) == ({"a": 1}, [2], "x")


@pytest.mark.rule("D7")
def test_what_a_source_left_out_is_kept_with_the_largest_count_and_each_source_once(tmp_path: Path) -> None:
    storage = grown(tmp_path, VALUES, item_storage("MultiTimestep"))
    for times, count in ((range(4, 6), 3), (range(6, 8), 7), (range(8, 9), 5)):
        described = replace(part(VALUES, times), dropped=(Dropped("cells", "outside", count),), source=({"file": "a"},))
        append_times(storage, described, reader_of(VALUES, times), {}, Progress(), environ())
    metadata = Dataset.open(storage).metadata
    assert metadata.dropped == (Dropped("cells", "outside", 7),)
    assert [dict(entry) for entry in metadata.source] == [{"file": "0-3.nc"}, {"file": "a"}]


def test_items_that_the_dataset_has_not_are_left_out_and_said(tmp_path: Path) -> None:
    storage = grown(tmp_path, VALUES, item_storage("MultiTimestep"))
    notes: list[str] = []
    progress = Progress()
    progress.note = notes.append  # type: ignore[method-assign]
    more = {"other": VALUES["plain"], **VALUES}
    described = part(VALUES, range(4, 9))
    described = replace(described, items=(replace(described.items[0], name="other"), *reversed(described.items)))
    written = append_times(storage, described, reader_of(more, range(4, 9)), {}, progress, environ())
    assert notes == ["other: not in the dataset"]
    assert [d.what for d in written.dropped] == ["other"]
    assert [d.what for d in Dataset.open(storage).metadata.dropped] == ["other"]
    assert holds(storage, VALUES, ALL)


@pytest.mark.rule("T4", "T6")
@pytest.mark.parametrize("kept", [kept for kept in LAYOUTS if kept.storage_type == "TimeSeries"], ids=layout_id)
def test_a_reader_of_the_old_metadata_reads_a_group_that_was_appended_to(tmp_path: Path, kept: ItemStorage) -> None:
    """Also where nobody has listed the new times: a kill between the blobs and `dataset.json`."""
    storage = grown(tmp_path, VALUES, kept, 7)
    old, listed = Dataset.open(storage), (tmp_path / "dataset.json").read_bytes()
    append(storage, VALUES, range(7, 9))
    assert holds(old, VALUES, range(7))
    (tmp_path / "dataset.json").write_bytes(listed)
    assert holds(storage, VALUES, range(7))
    details = Dataset.open(storage).page_details("plain", 6, None, 0)
    assert (details.problem, details.values is None) == ("", False)
    append(storage, VALUES, range(7, 8))  # fewer than the one that was killed
    assert holds(storage, VALUES, range(8))


# What is refused


def refused(storage: FolderStorage, description: Any, given: dict[str, Any] | None = None,
            error: type[MdError] = UsageError) -> str:
    """The message of an append that is refused before anything is touched."""
    before = states(Path(storage.location))
    with pytest.raises(error) as raised:
        append_times(storage, description, Arrays({}), given or {}, Progress(), environ())
    assert states(Path(storage.location)) == before
    return str(raised.value)


@pytest.mark.rule("D7")
@pytest.mark.parametrize(("given", "same", "says"), [
    ({"Compression": "LZ4"}, {"Compression": "ZstdAuto"}, ("LZ4", "ZstdAuto")),
    ({"StorageType": "TimeSeries"}, {"StorageType": "MultiTimestep"}, ("TimeSeries", "MultiTimestep")),
    ({"TimeGroupSize": 4}, {"TimeGroupSize": 3}, ("4", "3")),
    ({"GridTileWidth": 32}, {"GridTileWidth": 16}, ("32", "16")),
    ({"LayoutVersion": 2}, {"LayoutVersion": 3}, ("2", "3"))])
def test_another_explicit_parameter_is_refused_and_the_same_one_taken(
    tmp_path: Path, given: dict[str, Any], same: dict[str, Any], says: tuple[str, str]
) -> None:
    storage = grown(tmp_path, VALUES, item_storage("MultiTimestep"))
    message = refused(storage, part(VALUES, range(4, 9)), given)
    assert f"{next(iter(given))} is {says[0]}" in message
    assert f"made with {says[1]}" in message
    append(storage, VALUES, range(4, 9), given=same)
    assert holds(storage, VALUES, ALL)


def test_times_that_are_stored_or_earlier_are_refused_by_name(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    create(storage, VALUES, [1, 2, 4], item_storage("MultiTimestep"))
    message = refused(storage, part(VALUES, range(4, 9)))
    assert "1970-01-01T04:00:00 is stored already" in message
    assert "--update" in message
    assert "1970-01-01T03:00:00 lies before" in refused(storage, part(VALUES, [3, 5]))


def test_another_domain_is_refused_by_what_differs(tmp_path: Path) -> None:
    storage = grown(tmp_path, VALUES, item_storage("MultiTimestep"))
    described = part(VALUES, range(4, 9))
    shifted = replace(described.domain, y=described.domain.y + 1)  # type: ignore[union-attr]
    assert "Y differs, first at 0: 1.0" in refused(storage, replace(described, domain=shifted))
    smaller = replace(described.domain, x=described.domain.x[1:])  # type: ignore[union-attr]
    assert "20 x 17 cells" in refused(storage, replace(described, domain=smaller))
    assert "CRS" in refused(storage, replace(described, domain=replace(described.domain, crs="EPSG:3035")))
    named = replace(described.domain, x_name="lon")
    append_times(storage, replace(described, domain=named), reader_of(VALUES, range(4, 9)), {}, Progress(), environ())
    assert holds(storage, VALUES, ALL)


@pytest.mark.parametrize(("change", "says"), [
    ({"dtype": "int32"}, "another dtype"), ({"no_data": -1}, "another no-data"), ({"no_data": None}, "none, not -999"),
    ({"scale": 0.01}, "another scale"), ({"unit": "cm"}, "another unit"), ({"missing": (3,)}, "another missing"),
    ({"valid_min": 0}, "another valid-min"), ({"valid_max": 9}, "another valid-max"),
    ({"offset": 1.0}, "another offset"), ({"decoded": "float32"}, "another decoded"),
    ({"value_kind": "vector"}, "another value-kind"),
    ({"components": 2}, "another components"), ({"location": "node"}, "another location"),
    ({"layers": LayerAxis("depth", (0.0,))}, "other layers")])
def test_an_item_whose_stored_values_mean_something_else_is_refused_by_name(
    tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    storage = grown(tmp_path, VALUES, item_storage("MultiTimestep"))
    described = part(VALUES, range(4, 9))
    items = (replace(described.items[0], **change), described.items[1])
    message = refused(storage, replace(described, items=items), error=UnsupportedError)
    assert "'plain'" in message
    assert says in message


def test_zeros_of_another_sign_are_another_offset(tmp_path: Path) -> None:
    described = part(VALUES, range(9))
    scaled, negative = (tuple(replace(item, offset=offset) for item in described.items) for offset in (0.0, -0.0))
    storage = FolderStorage(tmp_path)
    create_dataset(storage, "made", replace(described, items=scaled, times=described.times[:4]),
                   reader_of(VALUES, range(4)), Settings(item_storage("MultiTimestep"), (), {}), Progress(), environ())
    later = replace(described, times=described.times[4:9])
    assert "another offset" in refused(storage, replace(later, items=negative), error=UnsupportedError)
    append_times(storage, replace(later, items=scaled), reader_of(VALUES, range(4, 9)), {}, Progress(), environ())


def test_a_source_that_lacks_an_item_is_refused_by_name(tmp_path: Path) -> None:
    storage = grown(tmp_path, VALUES, item_storage("MultiTimestep"))
    described = part(VALUES, range(4, 9))
    assert "the item deep" in refused(storage, replace(described, items=described.items[:1]))


def test_another_calendar_and_data_without_times_are_refused(tmp_path: Path) -> None:
    storage = grown(tmp_path, VALUES, item_storage("MultiTimestep"))
    described = part(VALUES, range(4, 9))
    other = replace(described, times=replace(described.times, calendar="noleap"))
    assert "calendar noleap" in refused(storage, other)
    assert "no times" in refused(storage, replace(described, times=TimeAxis.none()))
    early = TimeAxis(described.times.microseconds - 4_000_000 * HOUR, "proleptic_gregorian")  # before 1582 they differ
    assert "calendar proleptic_gregorian" in refused(storage, replace(described, times=early))
    same = replace(described, times=replace(described.times, calendar="proleptic_gregorian"))
    append_times(storage, same, reader_of(VALUES, range(4, 9)), {}, Progress(), environ())
    assert Dataset.open(storage).metadata.times.calendar == "standard"


@pytest.mark.rule("V4", "V5", "V6", "D7")
@pytest.mark.parametrize(("storage_type", "change", "error"), [
    ("MultiTimestep", {"LayoutVersion": 99}, UnsupportedVersionError),
    ("MultiTimestep", {"Compression": "Brotli"}, UnknownCompressionError),
    ("MultiTimestep", {"LayoutVersion": None}, LayoutGuardError),
    ("TimeSeries", {"TimeSeriesBlockRows": None}, LayoutGuardError)])
def test_a_guarded_dataset_is_refused(
    tmp_path: Path, storage_type: Any, change: dict[str, Any], error: type[MdError]
) -> None:
    storage = grown(tmp_path, VALUES, item_storage(storage_type))
    document = json.loads((tmp_path / "dataset.json").read_text())
    document["ItemStorage"] |= change
    (tmp_path / "dataset.json").write_text(json.dumps(document))
    refused(storage, part(VALUES, range(4, 9)), error=error)


@pytest.mark.rule("T5")
@pytest.mark.parametrize("damage", [
    lambda data: data[:-1], lambda data: data[:6], lambda data: b"\x01" + data[1:],
    lambda data: data[:-9] + bytes((data[-9] ^ 1,)) + data[-8:]], ids=["short", "no header", "length", "bit"])
@pytest.mark.parametrize("fixed", [True, False])
def test_a_series_blob_that_is_not_what_its_header_says_is_refused(
    tmp_path: Path, damage: Callable[[bytes], bytes], fixed: bool
) -> None:
    storage = grown(tmp_path, VALUES, item_storage("TimeSeries", fixed_step=fixed))
    blob = sorted(tmp_path.glob("001-*/L0001/S*/G00000001.dat"))[-1]
    blob.write_bytes(damage(blob.read_bytes()))
    name, damaged = blob.relative_to(tmp_path).as_posix(), blob.read_bytes()
    with pytest.raises(DamagedDataError) as raised:
        append(storage, VALUES, range(4, 9))
    assert raised.value.where.startswith(name)
    assert blob.read_bytes() == damaged
    assert holds(storage, {"plain": VALUES["plain"]}, range(4))
    assert not list(tmp_path.glob("*/L*/S*/G00000002.dat"))


@pytest.mark.rule("T5")
def test_a_raw_series_blob_of_another_length_is_refused(tmp_path: Path) -> None:
    storage = grown(tmp_path, VALUES, item_storage("TimeSeries", "None"))
    blob = next(iter(tmp_path.glob("000-*/L*/S*/G00000001.dat")))
    blob.write_bytes(blob.read_bytes() + b"0")
    with pytest.raises(DamagedDataError, match="are described"):
        append(storage, VALUES, range(4, 9))


@pytest.mark.rule("P17")
@pytest.mark.parametrize("compression", ["ZstdAuto", "None"])
def test_a_group_without_its_block_list_is_refused(tmp_path: Path, compression: str) -> None:
    storage = grown(tmp_path, VALUES, item_storage("MultiTimestep", compression))
    for path in tmp_path.rglob("*.blocks"):
        path.unlink()
    with pytest.raises(StorageError, match="no block list"):
        append(storage, VALUES, range(4, 9))
    assert holds(storage, VALUES, range(4))


# What ends it early


def runs(storage: Any, appended: range = range(4, 9)) -> None:
    append(storage, VALUES, appended)


@pytest.mark.rule("W2", "D15", "P12", "T4")
@pytest.mark.parametrize("kept", [item_storage(t, c, fixed_step=f) for t, c, f in (
    ("SingleTimestep", "ZstdAuto", True), ("MultiTimestep", "ZstdAuto", True), ("MultiTimestep", "None", True),
    ("TimeSeries", "ZstdAuto", True), ("TimeSeries", "DeflateFast", False))], ids=layout_id)
def test_killed_anywhere_it_leaves_the_old_dataset_and_the_same_append_completes_it(
    tmp_path: Path, kept: ItemStorage
) -> None:
    """Every call of the storage in turn is the last one that the process makes."""
    clean = grown(tmp_path / "clean", VALUES, kept)
    runs(clean)
    expected = {name: data for name, data in blobs(clean).items() if name != "dataset.json"}
    number = 0
    while True:
        number += 5
        folder = tmp_path / str(number)
        storage = Watched(grown(folder, VALUES, kept))

        def dies(call: str, name: str, n: int, last: int = number) -> None:
            if n > last:
                raise StorageError("killed")

        storage.before = dies
        try:
            runs(storage)
        except StorageError:
            pass
        else:
            break
        times = len(Dataset.open(folder.as_posix()).metadata.times)
        assert times in (4, 9)
        assert holds(folder, VALUES, range(times))
        if times == 4:
            runs(FolderStorage(folder))
        assert holds(folder, VALUES, ALL)
        found = blobs(FolderStorage(folder))
        assert {name: data for name, data in found.items() if name != "dataset.json"} == expected
        assert left_files(folder) == []
    assert number > 15


@pytest.mark.rule("W2", "P15")
@pytest.mark.parametrize("effect", [False, True], ids=["before", "lost answer"])
@pytest.mark.parametrize("storage_type", TYPES)
def test_a_call_that_fails_leaves_the_old_dataset_or_the_new_one_and_nothing_else_that_is_new(
    tmp_path: Path, storage_type: Any, effect: bool
) -> None:
    kept = item_storage(storage_type, fixed_step=False)
    number, failed = 0, 0
    while True:
        number += 3
        folder = tmp_path / str(number)
        storage = Watched(grown(folder, VALUES, kept))
        before = set(blobs(storage))
        storage.calls.clear()

        def fails(call: str, name: str, n: int, at: int = number) -> None:
            if n == at:
                raise StorageError("no answer")

        setattr(storage, "after" if effect else "before", fails)
        try:
            runs(storage)
        except StorageError:
            failed += 1
        listed = len(Dataset.open(folder.as_posix()).metadata.times)
        assert holds(folder, VALUES, range(listed))
        if listed == 4:
            assert set(blobs(FolderStorage(folder))) == before
            runs(FolderStorage(folder))
        assert holds(folder, VALUES, ALL)
        if len(storage.calls) < number:
            break
    assert failed > 5


@pytest.mark.rule("W2", "G7")
@pytest.mark.parametrize("storage_type", TYPES)
@pytest.mark.parametrize("slices", [0, 1, 7])
def test_cancelled_it_takes_its_new_blobs_back(tmp_path: Path, storage_type: Any, slices: int) -> None:
    storage = grown(tmp_path, VALUES, item_storage(storage_type))
    before = files(tmp_path)

    class Stopping(Progress):
        def report(self) -> None:
            if self.done >= slices:
                self.cancel()

    with pytest.raises(Cancelled):
        append(storage, VALUES, range(4, 9), progress=Stopping())
    assert holds(storage, VALUES, range(4))
    assert files(tmp_path) == before
    append(storage, VALUES, range(4, 9))
    assert holds(storage, VALUES, ALL)


@pytest.mark.rule("W2", "D8", "D15")
def test_what_a_killed_append_committed_is_found_counted_and_not_sent_again(tmp_path: Path) -> None:
    storage = grown(tmp_path, VALUES, item_storage("MultiTimestep"))
    listed = (tmp_path / "dataset.json").read_bytes()
    first = append(storage, VALUES, range(4, 6))
    (tmp_path / "dataset.json").write_bytes(listed)
    again = Watched(storage)
    assert append(again, VALUES, range(4, 6)).stored_bytes == first.stored_bytes
    assert not [call for call, _ in again.calls if call in ("stage_block", "commit_blocks")]
    (tmp_path / "dataset.json").write_bytes(listed)
    other = made_values(seed=9)
    append(storage, other, range(4, 6))  # other data of those times: committed over what nobody lists
    mixed = {name: np.concatenate((VALUES[name][:4], other[name][4:6])) for name in VALUES}
    assert holds(storage, mixed, range(6))
