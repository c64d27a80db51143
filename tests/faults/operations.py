"""The operations that write, each on small datasets of every kind and layout, compressed and raw: one row each."""

from __future__ import annotations

import atexit
import contextlib
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import AlreadyExistsError, NotFoundError, UsageError
from mdstudio.engine.model import Array, Description, Item, ItemStorage, LayerAxis, MeshDomain, StorageType, values_of
from mdstudio.engine.operations.append import append_times
from mdstudio.engine.operations.clean import clean
from mdstudio.engine.operations.mesh_update import update_mesh
from mdstudio.engine.operations.relocate import relocate
from mdstudio.engine.operations.remove import remove_times
from mdstudio.engine.operations.replace import replace_dataset
from mdstudio.engine.operations.update import update_times
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import Settings
from mdstudio.engine.storage import BlobStorage
from mdstudio.engine.times import TimeAxis
from mdstudio.engine.writer import create_dataset
from mdstudio.targets.netcdf import export_netcdf
from tests.engine.made_datasets import (
    HOUR,
    PER_STEP,
    STORAGE_TYPES,
    Arrays,
    Made,
    axis,
    description,
    item_storage,
    kind_settings,
    mesh,
    smooth,
)
from tests.faults.campaign import NONE, Operation, Slice, State

ENVIRON = {"MD_ENCODE_WORKERS": "2"}
Do = Callable[[BlobStorage], object]


@dataclass(frozen=True)
class Subject:
    """What operations are done to: five times of a dataset, with the values of before and of after.

    Attributes:
        old, new: (time, layer, row, column) by item name, of a mesh in the order of its source.
        other: how a replace stores the new values, and where they lie.
    """

    name: str
    described: Description
    old: Mapping[str, Array]
    new: Mapping[str, Array]
    kept: ItemStorage
    other: ItemStorage
    elsewhere: Description

    def source(self, values: Mapping[str, Array], times: Sequence[int]) -> tuple[Description, Arrays]:
        """Some times of the values."""
        part = replace(self.described, times=TimeAxis(np.asarray(times, np.int64) * HOUR))
        return part, Arrays({name: array[list(times)] for name, array in values.items()})

    def made(self, times: Sequence[int]) -> Do:
        """A new dataset of some times of the old values."""
        return lambda storage: create_dataset(
            storage, "made", *self.source(self.old, times), Settings(self.kept, (), {}), Progress(), ENVIRON)

    def changed(self, operation: Callable[..., object], values: Mapping[str, Array], times: Sequence[int]) -> Do:
        """An append or update."""
        return lambda storage: operation(storage, *self.source(values, times), {}, Progress(), ENVIRON)

    def replaced(self, storage: BlobStorage) -> object:
        part, reader = self.source(self.new, [0, 1, 2])
        return replace_dataset(storage, "new", replace(part, domain=self.elsewhere.domain), reader,
                               Settings(self.other, (), {}), Progress(), ENVIRON)

    def with_another_mesh(self, storage: BlobStorage) -> object:
        assert isinstance(self.elsewhere.domain, MeshDomain)
        return update_mesh(storage, self.elsewhere.domain)


def grid_subjects() -> list[Subject]:
    """Grids of 6 tiles in 2 time groups of 3; a replace makes each a compressed MultiTimestep dataset."""
    old, new = ({"v": smooth(5, 1, 20, 40, seed=seed)} for seed in (0, 1))
    described = description(old)
    return [
        Subject(f"{storage_type}-{compression}{'' if fixed else '-variable'}", described, old, new,
                item_storage(storage_type, compression, fixed_step=fixed), item_storage("MultiTimestep"), described)
        for storage_type in STORAGE_TYPES
        for compression in ("ZstdAuto", "None")
        for fixed in ((True, False) if storage_type == "TimeSeries" else (True,))
    ]


def mesh_subjects() -> list[Subject]:
    """Meshes of some pages: elements, z-level items (single pairs of blobs in MultiTimestep too, beside elements in
    groups) and sigma items (raw). A replace moves them."""
    depths = LayerAxis("depth", (0.0, 1.0, 2.0), "m")
    elements = Item("e", "int16", no_data=-99)
    zlevel = Item("z", "int16", value_kind="zlevel", location="node", layers=depths)
    sigma = Item("s", "int16", value_kind="sigma", layers=LayerAxis("sigma", (0.0, 1.0, 2.0, 3.0), "1"))
    found = []
    kinds: tuple[tuple[str, tuple[Item, ...], tuple[StorageType, ...], str], ...] = (
        ("mesh", (elements,), STORAGE_TYPES, "ZstdAuto"),
        ("zlevel", (elements, zlevel), PER_STEP, "ZstdAuto"),
        ("sigma", (elements, sigma), STORAGE_TYPES, "None"),
    )
    for kind, items, storage_types, compression in kinds:
        domain = mesh(9, 8, sigma=kind == "sigma")  # 96 elements, 91 nodes
        described = Description(domain, axis(5), items)
        moved = replace(described, domain=replace(domain, node_x=domain.node_x + 1.0))
        old, new = ({item.name: smooth(5, 1, 1, values_of(domain, item), seed=seed + 2 * at)
                     for at, item in enumerate(items)} for seed in (0, 1))
        for storage_type in storage_types:
            kept = kind_settings(Made(described, old), storage_type, compression, page=40).storage
            found.append(Subject(f"{kind}-{storage_type}-{compression}", described, old, new, kept, kept, moved))
    return found


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
        for blob in list(storage.list_blobs("00")):
            folder, _, rest = blob.name.partition("/")
            storage.copy_from(storage, blob.name, f"1{folder[1:]}/{rest}")

    return prepared


# -------------------------------------------------------------------------------------------------------------- export

def without_a_file(prepare: Do) -> Do:
    """A dataset that has not been exported."""

    def prepared(storage: BlobStorage) -> None:
        exported_file(storage).unlink(missing_ok=True)
        prepare(storage)

    return prepared


def exported(storage: BlobStorage) -> object:
    dataset = Dataset.open(storage)
    dataset.sleep = lambda seconds: None
    return export_netcdf(dataset, str(exported_file(storage)))


def exported_file(storage: BlobStorage) -> Path:
    """Beside the folder of the dataset; of one in Azure in a folder of this process."""
    if "://" in storage.location:
        return _exports() / "exported.nc"
    return Path(storage.location).with_name("exported.nc")


@cache
def _exports() -> Path:
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def seen_in_file(storage: BlobStorage) -> State:
    """Every variable of the file; none where there is no file. One that is not whole does not open."""
    path = exported_file(storage)
    if not path.exists():
        return NONE
    found: dict[tuple[str, int, int], Slice] = {}
    with contextlib.closing(netCDF4.Dataset(path)) as file:
        file.set_auto_maskandscale(False)
        for name, variable in file.variables.items():
            values = np.asarray(variable[...])
            found[name, 0, 0] = str(values.dtype), values.shape, values.tobytes()
    return State(("a file",), found)


# ---------------------------------------------------------------------------------------------------------------- rows

def rows_of(subject: Subject) -> list[Operation]:
    name, made = subject.name, subject.made([0, 1, 2, 3, 4])
    found = [
        Operation(f"create-{name}", nothing, subject.made([0, 1, 2, 3]), (AlreadyExistsError,)),
        # Times 2 and 3 fill the stored group, 4 begins the next.
        Operation(f"append-{name}", subject.made([0, 1]), subject.changed(append_times, subject.old, [2, 3, 4]),
                  (UsageError,)),
        Operation(f"update-{name}", made, subject.changed(update_times, subject.new, [1, 2, 3]), by_time=True),
        Operation(f"replace-{name}", subject.made([0, 1, 2]), subject.replaced, kept=False,
                  takes_away=True),
        Operation(f"relocate-{name}", elsewhere(made), relocated, (AlreadyExistsError,),
                  source="source", dataset="target"),
        Operation(f"clean-{name}", with_left_overs(made), cleaned, changes=False),
        Operation(f"export-{name}", without_a_file(made), exported, (AlreadyExistsError,), look=seen_in_file,
                  only_reads=True),
    ]
    if subject.kept.storage_type == "SingleTimestep":
        found.append(Operation(f"remove-{name}", made, removed, (NotFoundError,), leaves_unlisted=True,
                               takes_away=True))
    if isinstance(subject.described.domain, MeshDomain):
        found.append(Operation(f"remesh-{name}", made, subject.with_another_mesh, leaves_unlisted=True,
                               takes_away=True))
    return found


SUBJECTS = grid_subjects() + mesh_subjects()
OPERATIONS = [row for subject in SUBJECTS for row in rows_of(subject)]
BY_NAME: dict[str, Any] = {operation.name: operation for operation in OPERATIONS}
