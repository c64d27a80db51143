"""Datasets are found by their `dataset.json`, without looking into them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdstudio.engine.errors import Cancelled
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import CountingStorage, FolderStorage
from mdstudio.jobs.listing import find_datasets

pytestmark = pytest.mark.rule("W3")


def make(root: Path, *datasets: str) -> None:
    for name in datasets:
        folder = root / name / "000-item" / "L-1"
        folder.mkdir(parents=True)
        (folder / "G00000000.dat").write_bytes(b"x")
        (root / name / "dataset.json").write_text("{}")


def test_datasets_at_any_depth_are_found_by_name(tmp_path: Path) -> None:
    make(tmp_path, "b", "a/deep/er", "a/second")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "dataset.txt").touch()
    assert list(find_datasets(FolderStorage(tmp_path))) == ["a/deep/er", "a/second", "b"]


def test_the_root_may_be_a_dataset_itself(tmp_path: Path) -> None:
    make(tmp_path, "d")
    assert list(find_datasets(FolderStorage(tmp_path / "d"))) == [""]


def test_datasets_beside_the_items_of_a_dataset_are_found_too(tmp_path: Path) -> None:
    make(tmp_path, ".", "below", "below/deeper/inner")
    assert list(find_datasets(FolderStorage(tmp_path))) == ["", "below", "below/deeper/inner"]


@pytest.mark.rule("G1")
def test_a_dataset_is_not_looked_into_and_no_byte_is_read(tmp_path: Path) -> None:
    make(tmp_path, "d", "d/000-item/inner")
    storage = CountingStorage(FolderStorage(tmp_path))
    assert list(find_datasets(storage)) == ["d"]
    assert storage.bytes_read == 0
    assert storage.requests == 2


def test_a_cancel_stops_the_search(tmp_path: Path) -> None:
    make(tmp_path, "d")
    progress = Progress()
    progress.cancel()
    with pytest.raises(Cancelled):
        list(find_datasets(FolderStorage(tmp_path), progress))
