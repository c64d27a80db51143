"""Datasets in Azure Blob Storage (the emulator): the same bytes, requests and refusals as in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import AlreadyExistsError, SourceError, StorageError
from mdstudio.engine.model import Array
from mdstudio.engine.requests import MapRequest, SeriesRequest
from mdstudio.engine.storage import BlobStorage, FolderStorage, open_storage
from tests.azurite import Azurite
from tests.engine.made_datasets import Arrays, Watched, blobs, item_storage, same_bits, smooth, write

pytestmark = pytest.mark.azure
STORAGE_TYPES = ("SingleTimestep", "MultiTimestep", "TimeSeries")
VALUES = smooth(4, 1, 20, 40)


@pytest.fixture
def storage(azurite: Azurite, monkeypatch: pytest.MonkeyPatch) -> BlobStorage:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
    return open_storage(f"az://devstoreaccount1/{azurite.new_container()}/some/dataset")


@pytest.mark.rule("P9", "P11", "T7")
@pytest.mark.parametrize(("storage_type", "map_requests"), [
    ("SingleTimestep", 2), ("MultiTimestep", 3), ("TimeSeries", 2)])
def test_a_dataset_has_the_same_bytes_and_costs_the_same_requests(
    storage: BlobStorage, tmp_path: Path, storage_type: Any, map_requests: int
) -> None:
    write(storage, {"v": VALUES}, item_storage(storage_type))
    write(FolderStorage(tmp_path), {"v": VALUES}, item_storage(storage_type))
    assert blobs(storage) == blobs(FolderStorage(tmp_path))
    dataset = Dataset.open(storage)
    for time in range(4):
        assert same_bits(dataset.map(MapRequest("v", time)).stored, VALUES[time, 0])
    found = dataset.map(MapRequest("v", 1, bbox=(1, 1, 5, 5)))
    assert found.explain.requests == map_requests
    series = dataset.series(SeriesRequest("v", ((3.0, 2.0),)))
    assert series.stored.ravel().tolist() == VALUES[:, 0, 2, 3].tolist()
    assert len(dataset.pages("v", 3)) > 0
    assert dataset.inspect()["stored_bytes"] == int(dataset.sizes().stored.sum())


@pytest.mark.rule("W2", "P25")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_a_failed_import_leaves_nothing_and_run_again_succeeds(storage: BlobStorage, storage_type: Any) -> None:
    class Broken(Arrays):
        def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
            if times.stop > 3:
                raise SourceError("truncated")
            return super().read(item, times, layer, rows, columns)

    with pytest.raises(SourceError):
        write(storage, {"v": VALUES}, item_storage(storage_type), reader=Broken({"v": VALUES}))
    assert blobs(storage) == {}
    write(storage, {"v": VALUES}, item_storage(storage_type))
    with pytest.raises(AlreadyExistsError):
        write(storage, {"v": VALUES}, item_storage(storage_type))
    assert same_bits(Dataset.open(storage).map(MapRequest("v", 3)).stored, VALUES[3, 0])


@pytest.mark.rule("P15")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("call", ["commit_blocks", "write"])
def test_a_lost_answer_of_any_write_is_found_out_or_taken_back(
    storage: BlobStorage, storage_type: Any, call: str
) -> None:
    watched = Watched(storage)
    lost: list[str] = []

    def lose(made: str, name: str, number: int) -> None:
        if made == call and name.startswith("000-v") and not lost:
            lost.append(name)
            raise StorageError("no answer", where=name)

    watched.after = lose
    try:
        write(watched, {"v": VALUES}, item_storage(storage_type))
    except StorageError:
        assert lost
        assert blobs(storage) == {}
    else:
        found = np.stack([Dataset.open(storage).map(MapRequest("v", t)).stored for t in range(4)])
        assert same_bits(found, np.ascontiguousarray(VALUES[:, 0]))


@pytest.mark.rule("D15", "P25")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_left_overs_of_a_killed_import_are_written_over(storage: BlobStorage, storage_type: Any) -> None:
    write(storage, {"v": VALUES[::-1]}, item_storage(storage_type, "LZ4"))
    storage.delete("dataset.json")
    write(storage, {"v": VALUES}, item_storage(storage_type))
    assert same_bits(Dataset.open(storage).map(MapRequest("v", 3)).stored, VALUES[3, 0])
