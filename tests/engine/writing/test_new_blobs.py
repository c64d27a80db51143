"""The blobs of a write: conditional on what was there when it began, whoever holds the claim."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdstudio.engine.errors import BlobChangedError
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.writing.new_blobs import NewBlobs

BLOB = "000-v/L-1/G00000000.dat"


def blobs_of(storage: FolderStorage) -> NewBlobs:
    return NewBlobs(storage, ["000-v"], lambda: True)


@pytest.mark.rule("D15", "T4")
@pytest.mark.parametrize("before", [None, b"of a killed job"])
def test_a_blob_that_another_job_wrote_meanwhile_is_not_written_over(tmp_path: Path, before: bytes | None) -> None:
    storage = FolderStorage(tmp_path)
    if before is not None:
        storage.write(BLOB, before)
    ours = blobs_of(storage)
    storage.write(BLOB, b"another job's")
    with pytest.raises(BlobChangedError):
        ours.put(BLOB, b"ours")
    ours.take_back()
    assert storage.read(BLOB).data == b"another job's"


@pytest.mark.rule("D15")
def test_a_twin_that_wrote_the_same_bytes_is_right_and_stays(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    ours = blobs_of(storage)
    storage.write(BLOB, b"the same")
    ours.put(BLOB, b"the same")
    ours.take_back()
    assert storage.read(BLOB).data == b"the same"


def test_what_was_there_before_is_written_over_and_what_is_ours_is_taken_back(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    storage.write(BLOB, b"of a killed job")
    ours = blobs_of(storage)
    ours.put(BLOB, b"ours")
    assert storage.read(BLOB).data == b"ours"
    assert ours.verified_bytes() == 4
    ours.take_back()
    assert not storage.exists(BLOB)
