"""Replace: the new dataset is made beside the old one, which is whole until `dataset.json` is switched (T9, W1, W2)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import (
    BlobChangedError,
    Cancelled,
    NotFoundError,
    StorageError,
    UnsupportedVersionError,
)
from mdstudio.engine.layout.metadata import METADATA_BLOB
from mdstudio.engine.model import GridDomain, ItemStorage
from mdstudio.engine.operations.clean import clean
from mdstudio.engine.operations.replace import replace_dataset
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import Settings
from mdstudio.engine.storage import FolderStorage
from tests.engine.made_datasets import Arrays, Watched, blobs, files, item, item_storage, smooth
from tests.engine.operations.growing import (
    LAYOUTS,
    TYPES,
    append,
    create,
    environ,
    holds,
    layout_id,
    left_files,
    listed_bytes,
    made_values,
    part,
    reader_of,
    replace_all,
)

OLD, NEW = made_values(), made_values(6, seed=7)


def made(folder: Path, kept: ItemStorage) -> FolderStorage:
    storage = FolderStorage(folder)
    create(storage, OLD, range(9), kept)
    return storage


@pytest.mark.rule("T9", "W1", "W2", "D8")
@pytest.mark.parametrize("kept", LAYOUTS[::2], ids=layout_id)
def test_the_new_dataset_alone_is_there_with_settings_of_its_own(tmp_path: Path, kept: ItemStorage) -> None:
    storage = made(tmp_path, item_storage("TimeSeries", "DeflateFast", fixed_step=False))
    for round_, values in enumerate((NEW, made_values(6, seed=3)), 1):
        if kept.layout_version is None:  # what no build makes any more
            kept = replace(kept, layout_version=1)
        written = replace_all(storage, values, range(6), kept)
        metadata = Dataset.open(storage).metadata
        assert (metadata.storage, metadata.name) == (kept, "new")
        assert sorted(metadata.folders.values()) == [f"{2 * round_:03d}-plain", f"{2 * round_ + 1:03d}-deep"]
        assert holds(storage, values, range(6))
        assert metadata.data_size_bytes == written.stored_bytes == listed_bytes(tmp_path)
        assert {name.split("/")[0] for name in blobs(storage)} == {
            *metadata.folders.values(), metadata.domain_blob, METADATA_BLOB}
        assert clean(storage).left_overs == ()
    append(storage, {n: np.concatenate((a, OLD[n][6:])) for n, a in values.items()}, range(6, 9))
    assert clean(storage).left_overs == ()


def test_another_grid_and_other_items_take_the_place_of_the_old_ones(tmp_path: Path) -> None:
    storage = made(tmp_path, item_storage("MultiTimestep"))
    values = {"other": smooth(2, 1, 30, 40)}
    described = replace(part({**values, **NEW}, [3, 5]), items=(item("other", values["other"]),),
                        domain=GridDomain("projected", np.arange(40.0), np.arange(30.0)))
    replace_dataset(storage, "n", described, Arrays(values), Settings(item_storage("SingleTimestep"), (), {}),
                    Progress(), environ())
    assert holds(storage, {"other": np.repeat(values["other"], 3, axis=0)[[0, 0, 0, 0, 0, 5]]}, [3, 5])
    assert len([name for name in files(tmp_path) if name.startswith("domain-")]) == 1


@pytest.mark.rule("T9", "W2")
@pytest.mark.parametrize("kept", [item_storage(t, fixed_step=f) for t, f in (
    ("SingleTimestep", True), ("MultiTimestep", True), ("TimeSeries", True), ("TimeSeries", False))], ids=layout_id)
def test_killed_anywhere_one_of_the_two_is_whole_and_the_same_replace_completes_it(
    tmp_path: Path, kept: ItemStorage
) -> None:
    number, seen = 0, set()
    while True:
        number += 6
        folder = tmp_path / str(number)
        storage = Watched(made(folder, kept))

        def dies(call: str, name: str, n: int, last: int = number) -> None:
            if n > last:
                raise StorageError("killed")

        storage.before = dies
        notes: list[str] = []
        progress = Progress()
        progress.note = notes.append  # type: ignore[method-assign]
        try:
            replace_all(storage, NEW, range(6), kept, progress=progress)
        except StorageError:
            assert not notes
        old = len(Dataset.open(str(folder)).metadata.times) == 9
        seen.add((old, bool(notes)))
        assert holds(folder, OLD if old else NEW, range(9 if old else 6))
        if not old and not notes:
            break
        replace_all(FolderStorage(folder), NEW, range(6), kept)
        assert holds(folder, NEW, range(6))
        assert clean(FolderStorage(folder)).left_overs == ()
        assert left_files(folder) == []
    assert seen == {(True, False), (False, True), (False, False)}


@pytest.mark.rule("W2")
@pytest.mark.parametrize("storage_type", TYPES)
def test_a_replace_that_fails_takes_back_what_it_made(tmp_path: Path, storage_type: Any) -> None:
    storage = made(tmp_path, item_storage(storage_type))
    before = blobs(storage)

    class Stopping(Progress):
        def report(self) -> None:
            if self.done >= 7:
                self.cancel()

    with pytest.raises(Cancelled):
        replace_all(storage, NEW, range(6), item_storage(storage_type), progress=Stopping())
    assert blobs(storage) == before


@pytest.mark.rule("W2", "P15")
def test_a_save_whose_answer_was_lost_is_read_back(tmp_path: Path) -> None:
    storage = Watched(made(tmp_path, item_storage("MultiTimestep")))

    def lost(call: str, name: str, number: int) -> None:
        if (call, name) == ("write", METADATA_BLOB):
            raise BlobChangedError("it was sent twice")

    storage.after = lost
    replace_all(storage, NEW, range(6), item_storage("MultiTimestep"))
    assert holds(tmp_path, NEW, range(6))
    assert clean(FolderStorage(tmp_path)).left_overs == ()


def test_a_replace_of_another_job_in_between_fails_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a claim: the new blobs of the other are the dataset's, and stay."""
    import contextlib

    monkeypatch.setattr(FolderStorage, "claimed", lambda *_: contextlib.nullcontext())
    storage, done = Watched(made(tmp_path, item_storage("TimeSeries"))), []

    def other(call: str, name: str, number: int) -> None:
        if call == "write" and name.startswith("003") and not done:
            done.append(replace_all(FolderStorage(tmp_path), NEW, range(6), item_storage("MultiTimestep")))

    storage.before = other
    with pytest.raises(BlobChangedError):
        replace_all(storage, NEW, range(6), item_storage("TimeSeries"))
    assert holds(tmp_path, NEW, range(6))
    assert Dataset.open(str(tmp_path)).metadata.storage.storage_type == "MultiTimestep"


@pytest.mark.rule("V5")
def test_what_is_guarded_or_no_dataset_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        replace_all(FolderStorage(tmp_path / "none"), NEW, range(6), item_storage("MultiTimestep"))
    storage = made(tmp_path / "d", item_storage("MultiTimestep"))
    document = json.loads((tmp_path / "d" / "dataset.json").read_text())
    document["ItemStorage"]["LayoutVersion"] = 99
    (tmp_path / "d" / "dataset.json").write_text(json.dumps(document))
    before = blobs(storage)
    with pytest.raises(UnsupportedVersionError):
        replace_all(storage, NEW, range(6), item_storage("MultiTimestep"))
    assert blobs(storage) == before


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    storage = made(tmp_path, item_storage("MultiTimestep"))
    for name in ("README.txt", "000-plain-notes/a.txt", "notes/000-x/L-1/G00000000.dat"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("mine")
    replace_all(storage, NEW, range(6), item_storage("MultiTimestep"))
    assert {"README.txt", "000-plain-notes/a.txt", "notes/000-x/L-1/G00000000.dat"} <= set(files(tmp_path))


def test_the_reader_of_the_new_dataset_is_that_of_a_new_import(tmp_path: Path) -> None:
    """Bytes and all: only the folders' numbers differ."""
    storage = made(tmp_path / "a", item_storage("TimeSeries", fixed_step=False))
    replace_all(storage, NEW, range(6), item_storage("MultiTimestep"))
    create(FolderStorage(tmp_path / "b"), NEW, range(6), item_storage("MultiTimestep"))
    found = {name.replace("002-", "000-").replace("003-", "001-"): data for name, data in blobs(storage).items()}
    expected = blobs(FolderStorage(tmp_path / "b"))
    assert found.keys() == expected.keys()
    assert all(found[name] == expected[name] for name in found if name != METADATA_BLOB)
    assert reader_of(NEW, [0]).asked == []
