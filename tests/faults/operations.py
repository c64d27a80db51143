"""The operations that write, each on small datasets of every layout, compressed and raw: one row each."""

from __future__ import annotations

from typing import get_args

from mdstudio.engine.errors import AlreadyExistsError
from mdstudio.engine.model import StorageType
from mdstudio.engine.storage import BlobStorage
from tests.engine.made_datasets import item_storage, smooth, write
from tests.faults.campaign import Operation

VALUES = smooth(4, 1, 20, 40)  # 6 tiles, 2 time groups


def nothing_there(storage: BlobStorage) -> None:
    """The destination of an import."""


def create(storage_type: StorageType, compression: str) -> Operation:
    return Operation(
        f"create-{storage_type}-{compression}",
        nothing_there,
        lambda storage: write(storage, {"v": VALUES}, item_storage(storage_type, compression)),
        refused_when_done=(AlreadyExistsError,),
    )


OPERATIONS = [
    create(storage_type, compression) for storage_type in get_args(StorageType) for compression in ("ZstdAuto", "None")
]
BY_NAME = {operation.name: operation for operation in OPERATIONS}
