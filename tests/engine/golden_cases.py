"""Writes the golden datasets of every kind that are not there yet; never one that is: a stored format does not change.

    python -m tests.engine.golden_cases

Run it after adding a case to `CASES`, and only then. The bytes of a case are those of the build that first wrote it;
`golden_kinds` says what they hold. Never edit or remove a file of `golden/`: readers of every later build must read it.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mdstudio.engine.model import Array, Description, GridDomain, ItemStorage, StorageType
from mdstudio.engine.operations.append import append_times
from mdstudio.engine.operations.replace import replace_dataset
from mdstudio.engine.operations.update import update_times
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import Settings
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.times import TimeAxis
from mdstudio.engine.writer import create_dataset
from tests.engine.golden_kinds import golden_kind
from tests.engine.made_datasets import Arrays, Made, kind_settings

GOLDEN = Path(__file__).parent / "golden"
SINGLE, MULTI, SERIES = "SingleTimestep", "MultiTimestep", "TimeSeries"


@dataclass(frozen=True)
class Case:
    """A golden dataset.

    Attributes:
        kind: of `golden_kinds`.
        version: layout version; None is a dataset from before versions, or one that lost it.
        label: what else it shows; part of the file's name.
        more: settings that differ, by field of `ItemStorage`.
        change: what is done to the folder after the import.
        listed: times that it lists; None for all of the kind.
        refused: code of the guard that refuses its data.
        writable: whether data may be appended.
        findings: codes that `check` finds.
    """

    kind: str
    storage_type: StorageType
    compression: str
    version: int | None = 3
    label: str = ""
    more: tuple[tuple[str, Any], ...] = ()
    change: Callable[[Path, Case], None] | None = None
    listed: int | None = None
    refused: str = ""
    writable: bool = True
    findings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        parts = (self.kind, self.storage_type, self.compression, str(self.version or "unversioned"), self.label)
        return ".".join(part for part in parts if part).lower()

    @property
    def archive(self) -> Path:
        return GOLDEN / f"{self.name}.zip"

    @property
    def made(self) -> Made:
        return golden_kind(self.kind)

    @property
    def times(self) -> int:
        return len(self.made.description.times) if self.listed is None else self.listed


def extracted(case: Case, folder: Path) -> Path:
    """The folder of a golden dataset, unpacked."""
    with zipfile.ZipFile(case.archive) as packed:
        packed.extractall(folder)
    return folder


def part(made: Made, times: Sequence[int], values: dict[str, Array] | None = None) -> tuple[Description, Arrays]:
    """Description and reader of some times of a kind, with other values where given."""
    axis = made.description.times
    chosen = TimeAxis(axis.microseconds[list(times)], axis.calendar, axis.static)
    source = values or made.values
    return replace(made.description, times=chosen), Arrays({name: a[list(times)] for name, a in source.items()})


def kept(case: Case) -> ItemStorage:
    """The settings that a case is written with."""
    made = case.made
    storage = kind_settings(made, case.storage_type, case.compression, version=case.version or 1,
                            page=700 if case.kind == "mesh-zlevel" else 25).storage
    if isinstance(made.description.domain, GridDomain):
        series = case.storage_type == SERIES
        storage = replace(storage, grid_tile_width=4, spatial_group_size=16 if series else None,
                          time_series_block_rows=6 if series else None)
    else:
        storage = replace(storage, time_series_block_rows=6 if case.storage_type == SERIES else None)
    return replace(storage, **dict(case.more))


def write(case: Case, folder: Path, times: Sequence[int] | None = None, **changed: Any) -> None:
    """Import a case, or some times of it."""
    described, reader = part(case.made, range(len(case.made.description.times)) if times is None else times)
    create_dataset(FolderStorage(folder), "golden", described, reader, Settings(replace(kept(case), **changed), (), {}),
                   Progress(), {})


def make(case: Case, folder: Path) -> None:
    """Write a case as it is stored."""
    if case.change in (grow, replaced):
        case.change(folder, case)  # type: ignore[misc]
    elif case.change is mesh_raw_under_a_flag:
        write(case, folder, compression="None", compressed_mesh_page_size=None)
    else:
        write(case, folder)
    if case.change not in (None, grow, replaced):
        case.change(folder, case)
    if case.version is None:
        edit(folder, lambda document: document["ItemStorage"].pop("LayoutVersion"))


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads((folder / "dataset.json").read_bytes())
    change(document)
    (folder / "dataset.json").write_text(json.dumps(document), encoding="utf-8")


# ------------------------------------------------------------------------------------- what becomes of some of them


def grow(folder: Path, case: Case) -> None:
    """Three times imported, the second of them with other values; the others appended; the second updated."""
    storage, made = FolderStorage(folder), case.made
    other = {name: np.where(array == array, array[::-1], array) for name, array in made.values.items()}
    described, reader = part(made, range(3), {n: np.concatenate([a[:1], other[n][1:2], a[2:]])
                                              for n, a in made.values.items()})
    create_dataset(storage, "golden", described, reader, Settings(kept(case), (), {}), Progress(), {})
    append_times(storage, *part(made, range(3, len(made.description.times))), {}, Progress(), {})
    update_times(storage, *part(made, [1]), {}, Progress(), {})


def replaced(folder: Path, case: Case) -> None:
    """Another dataset first, in whose place this one comes."""
    storage = FolderStorage(folder)
    write(Case("mesh-nodes", SINGLE, "LZ4"), folder)
    replace_dataset(storage, "golden", *part(case.made, range(case.times)), Settings(kept(case), (), {}), Progress(),
                    {})


def unlist(folder: Path, case: Case) -> None:
    """As an append leaves it that was killed before it saved `dataset.json`."""

    def last_times_go(document: dict[str, Any]) -> None:
        document["Times"] |= {"Count": case.listed, "Runs": [[*document["Times"]["Runs"][0][:2], case.listed]]}

    edit(folder, last_times_go)


def mesh_raw_under_a_flag(folder: Path, case: Case) -> None:
    edit(folder, lambda document: document["ItemStorage"].update(Compression=case.compression))


def parameter_lost(folder: Path, case: Case) -> None:
    field = "TimeSeriesBlockRows" if case.storage_type == SERIES else "CompressedMeshPageSize"
    edit(folder, lambda document: document["ItemStorage"].pop(field))


def ordinal(folder: Path, case: Case) -> None:
    """The compression as the number of old metadata."""
    edit(folder, lambda document: document["ItemStorage"].update(Compression=3))


# ------------------------------------------------------------------------------------------------------------ cases

VARIABLE = (("fixed_step", False),)
FIXED = (("fixed_step", True),)
CASES = [
    # every kind in every layout that admits it; every codec in every layout
    Case("grid-vector", SINGLE, "None"), Case("grid-vector", MULTI, "None"), Case("grid-vector", SERIES, "None"),
    Case("mesh-vector", SINGLE, "None"), Case("mesh-vector", MULTI, "None"), Case("mesh-vector", SERIES, "None"),
    Case("mesh-sigma", SINGLE, "None"), Case("mesh-sigma", MULTI, "None"), Case("mesh-sigma", SERIES, "None"),
    Case("mesh-zlevel", SINGLE, "None"), Case("mesh-zlevel", MULTI, "None"),
    Case("mesh", SINGLE, "DeflateFast"), Case("mesh", MULTI, "ZstdFastAuto"), Case("mesh", SERIES, "LZ4"),
    Case("mesh-layered", SINGLE, "DeflateOptimal"), Case("mesh-layered", MULTI, "DeflateOptimal"),
    Case("mesh-layered", SERIES, "DeflateFast"),
    Case("mesh-nodes", SINGLE, "ZstdFastAuto"), Case("mesh-nodes", MULTI, "DeflateFast"),
    Case("mesh-nodes", SERIES, "DeflateOptimal"),
    Case("mesh-zlevel", SINGLE, "ZstdAuto"), Case("mesh-zlevel", MULTI, "DeflateOptimalAuto"),
    Case("grid", SINGLE, "ZstdAuto"), Case("grid", MULTI, "ZstdAuto"),
    Case("grid", SERIES, "ZstdFastAuto", label="variable", more=VARIABLE),
    Case("grid-static", SINGLE, "DeflateOptimalAuto"), Case("grid-static", MULTI, "LZ4"),
    Case("grid-layered", SINGLE, "DeflateOptimalAuto"), Case("grid-layered", MULTI, "LZ4"),
    Case("grid-layered", SERIES, "ZstdAuto", label="fixed", more=FIXED),
    Case("grid-types", SINGLE, "LZ4"), Case("grid-types", MULTI, "ZstdAuto"),
    Case("grid-types", SERIES, "DeflateOptimalAuto", label="variable", more=VARIABLE),
    # past versions
    Case("mesh", SINGLE, "LZ4", 1), Case("mesh-layered", MULTI, "LZ4", 1), Case("mesh-nodes", SERIES, "LZ4", 1),
    Case("mesh-zlevel", SINGLE, "LZ4", 1), Case("mesh-zlevel", MULTI, "ZstdAuto", 2),
    Case("mesh", MULTI, "DeflateOptimalAuto", 1), Case("mesh-layered", SERIES, "ZstdAuto", 2),
    Case("mesh-nodes", SINGLE, "DeflateOptimal", 2), Case("grid-layered", SINGLE, "LZ4", 2),
    Case("grid-types", MULTI, "DeflateOptimal", 1), Case("grid-layered", SERIES, "ZstdFastAuto", 1),
    Case("grid", SERIES, "LZ4", 2, "variable", VARIABLE),
    # from before versions (V3), and their uncompressed kin
    Case("grid", SINGLE, "ZstdAuto", None), Case("grid", SINGLE, "LZ4", None, "ordinal", change=ordinal),
    Case("grid", SINGLE, "None", None), Case("grid", MULTI, "None", None), Case("mesh", SERIES, "None", None),
    Case("mesh-layered", SINGLE, "None", None),
    # legacy meshes (V2) and versions that were dropped (V3)
    Case("mesh-layered", SINGLE, "ZstdAuto", None, "raw-under-a-flag", change=mesh_raw_under_a_flag),
    Case("mesh", SINGLE, "ZstdAuto", None, "lost", change=parameter_lost, refused="MD-G005"),
    Case("mesh", MULTI, "ZstdAuto", None, "lost", change=parameter_lost, refused="MD-G005"),
    Case("grid", SERIES, "LZ4", None, "lost", change=parameter_lost, refused="MD-G005"),
    Case("grid", MULTI, "ZstdFastAuto", None, "lost-version", writable=False, findings=("MD-H002",)),
    # what older builds made (D17)
    Case("grid-layered", MULTI, "ZstdAuto", 1, "group-of-1", (("time_group_size", 1),)),
    Case("grid-layered", SINGLE, "ZstdAuto", 2, "width-1", (("grid_tile_width", 1),)),
    Case("grid-layered", SINGLE, "DeflateOptimalAuto", 1, "width-5000", (("grid_tile_width", 5000),)),
    Case("grid-layered", MULTI, "LZ4", 1, "width-1", (("grid_tile_width", 1),)),
    # after operations
    Case("grid-layered", MULTI, "ZstdAuto", label="grown", change=grow),
    Case("mesh-zlevel", MULTI, "ZstdFastAuto", label="grown", change=grow),
    Case("mesh-nodes", SERIES, "ZstdAuto", label="grown", change=grow),
    Case("grid", SINGLE, "LZ4", None, label="grown", change=grow),
    Case("mesh-layered", SINGLE, "ZstdAuto", label="replaced", change=replaced),
    Case("grid", SERIES, "ZstdAuto", 3, "unlisted", VARIABLE, unlist, 4),
    Case("mesh-nodes", SERIES, "LZ4", 2, "unlisted", VARIABLE, unlist, 4),
    Case("mesh-layered", SERIES, "DeflateOptimalAuto", 3, "unlisted", VARIABLE, unlist, 4),
    Case("mesh-nodes", MULTI, "ZstdAuto", 3, "unlisted", (), unlist, 4, findings=("MD-H051",)),
]


def make_missing() -> None:
    """Write the golden datasets that are not there."""
    GOLDEN.mkdir(exist_ok=True)
    for case in CASES:
        if case.archive.exists():
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "d"
            make(case, folder)
            with zipfile.ZipFile(case.archive, "w") as zipped:
                for path in sorted(folder.rglob("*")):
                    if path.is_file() and path.suffix != ".lock":
                        name = zipfile.ZipInfo(path.relative_to(folder).as_posix())
                        zipped.writestr(name, path.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    make_missing()
