"""The operations that write, each on small datasets of every layout, compressed and raw: one row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mdstudio.engine.errors import AlreadyExistsError, NotFoundError, UsageError
from mdstudio.engine.model import Array, Description, ItemStorage
from mdstudio.engine.operations.append import append_times
from mdstudio.engine.operations.clean import clean
from mdstudio.engine.operations.relocate import relocate
from mdstudio.engine.operations.remove import remove_times
from mdstudio.engine.operations.replace import replace_dataset
from mdstudio.engine.operations.update import update_times
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import Settings
from mdstudio.engine.storage import BlobStorage
from mdstudio.engine.times import TimeAxis
from mdstudio.engine.writer import create_dataset
from tests.engine.made_datasets import HOUR, Arrays, description, item_storage, smooth
from tests.faults.campaign import Operation

OLD = smooth(5, 1, 20, 40)  # 6 tiles; 2 time groups of 3
NEW = smooth(5, 1, 20, 40, seed=1)
ENVIRON = {"MD_ENCODE_WORKERS": "2"}
LAYOUTS: dict[str, ItemStorage] = {
    f"{storage_type}-{compression}{'' if fixed else '-variable'}": item_storage(
        storage_type, compression, fixed_step=fixed)
    for storage_type in ("SingleTimestep", "MultiTimestep", "TimeSeries")
    for compression in ("ZstdAuto", "None")
    for fixed in ((True, False) if storage_type == "TimeSeries" else (True,))
}

Do = Callable[[BlobStorage], object]


def source(values: Array, times: Sequence[int]) -> tuple[Description, Arrays]:
    """Some times of the values."""
    whole = replace(description({"v": values}), times=TimeAxis(np.asarray(times, np.int64) * HOUR))
    return whole, Arrays({"v": values[list(times)]})


def make(values: Array, times: Sequence[int], kept: ItemStorage) -> Do:
    return lambda storage: create_dataset(
        storage, "made", *source(values, times), Settings(kept, (), {}), Progress(), ENVIRON)


def change(operation: Callable[..., object], values: Array, times: Sequence[int]) -> Do:
    """An append or update."""
    return lambda storage: operation(storage, *source(values, times), {}, Progress(), ENVIRON)


def replaced(kept: ItemStorage) -> Do:
    return lambda storage: replace_dataset(
        storage, "new", *source(NEW, [0, 1, 2]), Settings(kept, (), {}), Progress(), ENVIRON)


def nothing(storage: BlobStorage) -> None:
    """What is there before an import."""


def removed(storage: BlobStorage) -> object:
    return remove_times(storage, [HOUR, 4 * HOUR])


def cleaned(storage: BlobStorage) -> object:
    return clean(storage, apply=True)


def elsewhere(prepare: Do) -> Do:
    """The same below `source`, from where it is relocated to `target`."""
    return lambda storage: prepare(storage.child("source"))


def relocated(storage: BlobStorage) -> object:
    return relocate(storage.child("source"), storage.child("target"))


def with_left_overs(prepare: Do) -> Do:
    """A dataset and a copy of its blobs that nothing refers to, as a replace leaves it that was killed."""

    def prepared(storage: BlobStorage) -> None:
        prepare(storage)
        for blob in list(storage.list_blobs("000-v/")):
            storage.copy_from(storage, blob.name, blob.name.replace("000-v", "001-v"))

    return prepared


def rows() -> list[Operation]:
    found = []
    for name, kept in LAYOUTS.items():
        made, other = make(OLD, [0, 1, 2, 3, 4], kept), LAYOUTS["MultiTimestep-ZstdAuto"]
        found += [
            Operation(f"create-{name}", nothing, make(OLD, [0, 1, 2, 3], kept), (AlreadyExistsError,)),
            # Times 2 and 3 fill the stored group, 4 begins the next.
            Operation(f"append-{name}", make(OLD, [0, 1], kept), change(append_times, OLD, [2, 3, 4]), (UsageError,)),
            Operation(f"update-{name}", made, change(update_times, NEW, [1, 2, 3]), by_time=True),
            Operation(f"replace-{name}", make(OLD, [0, 1, 2], kept), replaced(other), kept=False),
            Operation(f"relocate-{name}", elsewhere(made), relocated, (AlreadyExistsError,), dataset="target"),
            Operation(f"clean-{name}", with_left_overs(made), cleaned, changes=False),
        ]
        if name.startswith("SingleTimestep"):
            found.append(Operation(f"remove-{name}", made, removed, (NotFoundError,), leaves_unlisted=True))
    return found


OPERATIONS = rows()
BY_NAME: dict[str, Any] = {operation.name: operation for operation in OPERATIONS}
# For CI: each operation in each storage type, compressed, and MultiTimestep raw.
SAMPLE = [
    operation for operation in OPERATIONS
    if operation.name.endswith("ZstdAuto") or operation.name.endswith("MultiTimestep-None")
]
