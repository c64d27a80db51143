"""The moment in which an import becomes a dataset: `dataset.json` is saved on a condition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mdstudio.engine.errors import AlreadyExistsError
from mdstudio.engine.layout.metadata import METADATA_BLOB
from mdstudio.engine.storage import FolderStorage
from tests.engine.made_datasets import Watched, item_storage, smooth, write


@pytest.mark.rule("W2")
@pytest.mark.parametrize("storage_type", ["SingleTimestep", "MultiTimestep", "TimeSeries"])
def test_metadata_that_another_job_saved_a_moment_before_is_never_written_over(
    tmp_path: Path, storage_type: Any
) -> None:
    storage = Watched(FolderStorage(tmp_path / "d"))

    def other_saves(call: str, name: str, number: int) -> None:
        if (call, name) == ("write", METADATA_BLOB):
            storage.inner.write(METADATA_BLOB, b"the other's")

    storage.before = other_saves
    with pytest.raises(AlreadyExistsError):
        write(storage, {"v": smooth(4, 1, 20, 20)}, item_storage(storage_type))
    assert storage.inner.read(METADATA_BLOB).data == b"the other's"
