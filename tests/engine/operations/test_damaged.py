"""A dataset one file of which was damaged is appended to and updated: the damage does not spread (W1, P17, T5)."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import MdError
from mdstudio.engine.health import Finding, check
from mdstudio.engine.storage import BlobStorage, FolderStorage
from tests.engine.operations.growing import LAYOUTS, append, create, holds, made_values, update

VALUES = made_values(11)
WAYS = ("bit", "short", "gone", "long", "empty", "no block list")


def damaged(storage: BlobStorage) -> set[str]:
    """The blobs of which a full check finds damage."""
    return {found.blob for found in check(storage, "full", sleep=lambda _: None)
            if isinstance(found, Finding) and found.severity == "damage"}


def harm(path: Path, way: str, pick: random.Random) -> None:
    data, block_list = bytearray(path.read_bytes()), path.with_name(path.name + ".blocks")
    if way == "bit":
        data[pick.randrange(len(data))] ^= 1 << pick.randrange(8)
    if way == "no block list":
        block_list.unlink(missing_ok=True)
    elif way == "gone":
        path.unlink()
    else:
        changed = {"short": data[:pick.randrange(len(data))], "long": data + b"xx", "empty": bytearray()}
        path.write_bytes(changed.get(way, data))


def refusal(operation: Callable[[], object]) -> MdError | None:
    try:
        operation()
    except MdError as error:
        return error
    return None


def campaign(folder: Path, way: str, seed: int) -> None:
    pick = random.Random(f"{way}{seed}")
    storage = FolderStorage(folder)
    kept = pick.choice(LAYOUTS)
    create(storage, VALUES, range(8), kept)
    harm(pick.choice(sorted(path for path in folder.rglob("*") if path.suffix in (".dat", ".idx"))), way, pick)
    before, listed = damaged(storage), 8
    error = refusal(lambda: append(storage, VALUES, [8, 9]))
    if error is None:
        listed = 10
    assert error is None or before or way in ("bit", "no block list"), error
    assert len(Dataset.open(storage).metadata.times) == listed
    assert damaged(storage) <= before or (way == "bit" and not before)
    error = refusal(lambda: update(storage, VALUES, range(listed)))
    if error is not None:
        assert "no block list" in error.message
        return
    assert not damaged(storage)
    assert holds(storage, VALUES, range(listed))


@pytest.mark.rule("W1", "P17", "T5", "P13")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("way", WAYS)
def test_damage_of_one_blob_does_not_spread_and_an_update_repairs_it(tmp_path: Path, way: str, seed: int) -> None:
    campaign(tmp_path, way, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3, 60))
@pytest.mark.parametrize("way", WAYS)
def test_damage_of_one_blob_campaign(tmp_path: Path, way: str, seed: int) -> None:
    campaign(tmp_path, way, seed)


@pytest.mark.rule("P12")
@pytest.mark.parametrize("compression", ["None", "ZstdAuto"])
def test_an_empty_last_group_is_refused_by_name(tmp_path: Path, compression: str) -> None:
    kept = next(k for k in LAYOUTS if (k.storage_type, k.compression) == ("MultiTimestep", compression))
    storage = FolderStorage(tmp_path)
    create(storage, VALUES, range(8), kept)
    blob = next(tmp_path.glob("001-*/L0001/G00000002.dat"))
    blob.write_bytes(b"")
    with pytest.raises(MdError, match="empty") as raised:
        append(storage, VALUES, [8, 9])
    assert raised.value.where == blob.relative_to(tmp_path).as_posix()
    update(storage, VALUES, range(8))
    assert holds(storage, VALUES, range(8))
