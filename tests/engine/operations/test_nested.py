"""A dataset that lies below another one, wherever it is, is not touched by what is done to that one (W1, W3)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mdstudio.engine.health import Summary, check
from mdstudio.engine.layout.metadata import METADATA_BLOB
from mdstudio.engine.layout.names import DATA_NAME
from mdstudio.engine.operations.clean import clean
from mdstudio.engine.operations.relocate import relocate
from mdstudio.engine.operations.remove import remove_times
from mdstudio.engine.storage import BlobStorage, FolderStorage
from tests.engine.made_datasets import HOUR, blobs, item_storage
from tests.engine.operations.growing import append, create, holds, made_values, replace_all, update

OLD, OTHER = made_values(), made_values(seed=3)
KEPT = item_storage("SingleTimestep")
PLACES = ("sub", "2020-waves", "000-plain", "000-plain/L-1", "001-deep/L0001", "001-deep/L0001/S00000000", "002-plain",
          "002-plain/L-1", "077-gone/L0000", "000-plain/000-plain")
OPERATIONS: dict[str, Callable[[BlobStorage, Path], object]] = {
    "append": lambda storage, _: append(storage, OLD, [6, 7]),
    "update": lambda storage, _: update(storage, OLD, [0, 3]),
    "replace": lambda storage, _: replace_all(storage, OLD, [0, 1], item_storage("MultiTimestep")),
    "replace twice": lambda storage, _: [replace_all(storage, OLD, [0, 1], KEPT) for _ in range(2)],
    "remove": lambda storage, _: remove_times(storage, [0, 5 * HOUR]),
    "clean": lambda storage, _: clean(storage, apply=True),
    "relocate": lambda storage, path: relocate(storage, FolderStorage(path)),
    "check": lambda storage, _: list(check(storage, "full")),
}


def own_blobs(storage: BlobStorage) -> dict[str, bytes]:
    """What a dataset has there, without the blobs of another in whose folders it lies."""
    return {name: data for name, data in blobs(storage).items()
            if DATA_NAME.match(name) or name == METADATA_BLOB or name.startswith("domain-")}


@pytest.mark.rule("W1", "W3", "T9", "D6")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_dataset_below_another_is_not_touched(tmp_path: Path, operation: str) -> None:
    storage = FolderStorage(tmp_path / "d")
    create(storage, OLD, range(6), KEPT)
    places = {place: FolderStorage(tmp_path / "d" / place) for place in PLACES}
    for below in places.values():
        create(below, OTHER, range(1), KEPT)
    before = {place: own_blobs(below) for place, below in places.items()}
    (tmp_path / "d" / "000-plain" / "notes.txt").write_text("mine")
    OPERATIONS[operation](storage, tmp_path / "copy")
    for place, below in places.items():
        assert own_blobs(below) == before[place], place
        assert holds(below, OTHER, range(1)), place
    assert (tmp_path / "d" / "000-plain" / "notes.txt").read_text() == "mine"


@pytest.mark.rule("W3")
def test_a_dataset_with_others_below_it_is_not_damaged(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    create(storage, OLD, range(6), KEPT)
    for place in PLACES:
        create(FolderStorage(tmp_path / place), OTHER, range(1), KEPT)
    *findings, summary = check(storage, "full")
    assert findings == []
    assert isinstance(summary, Summary)
    assert summary.status == "clean"
