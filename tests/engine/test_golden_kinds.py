"""Datasets of every kind, layout, codec and version as they were once written are read for ever, by two readers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.codecs import NAMES
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import MdError
from mdstudio.engine.health import Finding, check
from mdstudio.engine.model import Array, Item
from mdstudio.engine.operations.append import append_times
from mdstudio.engine.operations.update import update_times
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import MapRequest, SeriesRequest
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.times import TimeAxis
from tests.engine.codecs.independent_reader import RefusedError
from tests.engine.golden_cases import CASES, SERIES, Case, extracted, part
from tests.engine.golden_kinds import GOLDEN_KINDS
from tests.engine.independent.comparing import same_as_the_values
from tests.engine.independent.geometry import cell, element, touches
from tests.engine.independent.reader import Reader
from tests.engine.made_datasets import STORAGE_TYPES, Made, files

READABLE = [case for case in CASES if not case.refused]
PAST = [case for case in READABLE if (case.version or 0) < 3 and case.writable]


def by_name(case: Case) -> str:
    return case.name


@pytest.mark.rule("D17", "C9", "V1", "V2", "V3", "C4", "K1", "K2", "K5", "K7", "K9", "K10", "P6", "T4", "W2")
@pytest.mark.parametrize("case", READABLE, ids=by_name)
def test_a_golden_dataset_is_read_to_the_bit(tmp_path: Path, case: Case) -> None:
    folder = extracted(case, tmp_path)
    dataset, numbers = Dataset.open(str(folder)), Numbers(Reader(folder))
    assert len(dataset.metadata.times) == case.times
    for item in dataset.metadata.items:
        for time in range(case.times):
            for layer in range(len(item.layers)) if item.layers else (-1,):
                found = dataset.map(MapRequest(item.name, time, None if layer < 0 else layer))
                rows, stored = found.rows, found.stored
                if numbers.mesh:
                    rows, stored = rows[found.mask], stored[found.mask]
                places, wanted = numbers.slice(case.made, item, time, layer)
                assert rows.tolist() == places.tolist()
                assert stored.tobytes() == wanted.tobytes()
                assert stored.shape == wanted.shape


@pytest.mark.rule("D17", "C9", "V1", "V2", "V3", "C4", "K1", "K2", "K5", "K7", "K9", "K10", "P6", "P11", "T4", "W2")
@pytest.mark.parametrize("case", READABLE, ids=by_name)
def test_a_reader_written_from_the_specification_alone_reads_the_same(tmp_path: Path, case: Case) -> None:
    reader = Reader(extracted(case, tmp_path))
    assert reader.times == case.times
    same_as_the_values(reader, case.made)


@pytest.mark.rule("D17", "V2", "V3", "W2")
@pytest.mark.parametrize("case", READABLE, ids=by_name)
def test_a_check_of_a_golden_dataset_finds_what_is_known_of_it(tmp_path: Path, case: Case) -> None:
    found = check(FolderStorage(extracted(case, tmp_path)), "full", sleep=lambda seconds: None)
    assert tuple(sorted({one.code for one in found if isinstance(one, Finding)})) == case.findings


@pytest.mark.rule("V2", "V3", "K6")
@pytest.mark.parametrize("case", [case for case in CASES if case.refused], ids=by_name)
def test_a_dataset_that_lost_its_parameter_is_refused_by_both_readers(tmp_path: Path, case: Case) -> None:
    folder = extracted(case, tmp_path)
    dataset = Dataset.open(str(folder))  # it shows
    assert [guard.code for guard in dataset.guards if guard.blocks_read] == [case.refused]
    with pytest.raises(MdError):
        dataset.map(MapRequest(dataset.metadata.items[0].name))
    with pytest.raises(RefusedError, match=case.refused):
        Reader(folder)


@pytest.mark.rule("V1", "V2", "V3", "C4", "D7", "D17", "T4", "P13")
@pytest.mark.parametrize("case", PAST, ids=by_name)
def test_a_past_version_is_written_in_its_own_layout(tmp_path: Path, case: Case) -> None:
    """The last times go, are appended again, and a time is updated twice: what a second reader finds then."""
    folder = extracted(case, tmp_path)
    before = Reader(folder).document
    made, storage = case.made, FolderStorage(folder)
    later = later_times(case)
    described, values = part(later, range(case.times, case.times + 2))
    append_times(storage, described, values, {}, Progress(), {})
    other = {name: array.copy() for name, array in later.values.items()}
    for array in other.values():
        array[1] = array[0]
    update_times(storage, *part(later, [1], other), {}, Progress(), {})
    reader = Reader(folder, as_written=True)
    assert (reader.document.version, reader.document.compression) == (before.version, before.compression)
    assert reader.times == case.times + 2
    same_as_the_values(reader, Made(later.description, other))
    update_times(storage, *part(made, [1]), {}, Progress(), {})
    same_as_the_values(Reader(folder), later)
    assert not [one.code for one in check(storage, "full") if isinstance(one, Finding)]


@pytest.mark.rule("V3", "V4")
@pytest.mark.parametrize("case", [case for case in READABLE if not case.writable], ids=by_name)
def test_what_is_not_written_any_more_is_refused_before_a_blob_is_touched(tmp_path: Path, case: Case) -> None:
    folder = extracted(case, tmp_path)
    before = {name: (folder / name).read_bytes() for name in files(folder)}
    later = later_times(case)
    with pytest.raises(MdError):
        append_times(FolderStorage(folder), *part(later, range(case.times, case.times + 2)), {}, Progress(), {})
    assert {name: (folder / name).read_bytes() for name in before} == before


@pytest.mark.rule("T7", "T4")
@pytest.mark.parametrize("case", [case for case in READABLE if case.storage_type == SERIES
                                  and case.kind in ("grid", "grid-layered", "grid-types")], ids=by_name)
def test_a_series_of_a_golden_grid_is_that_of_its_cells(tmp_path: Path, case: Case) -> None:
    dataset = Dataset.open(str(extracted(case, tmp_path)))
    for item in dataset.metadata.items:
        layer = 1 if item.layers else None
        domain = case.made.description.domain
        cells = [(0, 0), (8, 5), (3, 6)]
        points = tuple((float(x), float(y)) for x, y in (_centre(domain, r, c) for r, c in cells))
        found = dataset.series(SeriesRequest(item.name, points, layer=layer)).stored
        wanted = np.stack([case.made.values[item.name][:case.times, layer or 0, r, c] for r, c in cells], axis=1)
        assert found.tobytes() == np.ascontiguousarray(wanted).tobytes()


AREAS = {  # triangles; the second only touches a corner or border of what it finds first
    "grid": (((-0.8, 51.3), (1.9, 53.1), (-0.2, 54.9)), ((0.25, 52.25), (0.5, 52.5), (0.25, 52.75))),
    "grid-layered": (((4.1, 51.1), (6.3, 51.6), (5.2, 53.2)), ((5.1875, 50.8125), (5.5, 50.0), (5.3, 49.0))),
    "mesh": (((1.3, 0.2), (6.2, 2.1), (3.4, 4.4)), ((4.5, 1.75), (4.75, 1.5), (4.75, 1.75))),
    "mesh-sigma": (((179.2, 1.2), (-179.3, 2.4), (-179.9, 4.1)), ((179.75, 1.375), (180.0, 1.75), (180.0, 1.875))),
}


@pytest.mark.rule("P3", "P4", "K1")
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("case", [case for case in READABLE if case.kind in AREAS and case.version == 3], ids=by_name)
def test_a_polygon_finds_the_cells_of_a_golden_domain_that_the_specification_says(
    tmp_path: Path, case: Case, number: int
) -> None:
    folder = extracted(case, tmp_path)
    reader, item = Reader(folder), case.made.description.items[0]
    area = AREAS[case.kind][number]
    if case.kind == "mesh-sigma":  # across the date line
        area = tuple((x % 360, y) for x, y in area)
    text = ", ".join(f"{x!r} {y!r}" for x, y in (*area, area[0]))
    found = Dataset.open(str(folder)).map(MapRequest(item.name, layer=0 if item.layers else None,
                                                     polygon=f"POLYGON (({text}))"))
    if reader.document.is_mesh:
        longitudes = bool(reader.header.get("Geographic"))
        wanted = {(n, 0) for n in range(len(reader.arrays["ElementNodes"]))
                  if touches(area, element(reader.arrays, n, longitudes=longitudes), longitudes=longitudes)}
        if case.kind == "mesh-sigma":
            wanted = {(n, 0) for n, _ in wanted if reader.arrays["LayerCounts"][n]}
    else:
        wanted = {(r, c) for r in range(reader.rows) for c in range(reader.columns)
                  if touches(area, cell(reader.arrays, r, c), longitudes=True)}
    rows, columns = found.rows, found.columns
    if reader.document.is_mesh:
        got = {(int(n), 0) for n, in_it in zip(rows, found.mask, strict=True) if in_it}
    else:
        got = {(int(rows[i]), int(columns[j])) for i, j in np.argwhere(found.mask)}
    assert got == wanted
    assert len(wanted) > 1


@pytest.mark.rule("C9", "V1")
def test_the_golden_datasets_cover_every_kind_layout_codec_and_version() -> None:
    assert all(case.archive.exists() for case in CASES)
    for storage_type in STORAGE_TYPES:
        of_type = [case for case in CASES if case.storage_type == storage_type]
        assert {case.compression for case in of_type} >= set(NAMES)
        assert {case.version for case in of_type} == {None, 1, 2, 3}
        current = {case.kind for case in of_type if case.version == 3}
        assert current == {kind for kind in GOLDEN_KINDS if storage_type in case_layouts(kind)}


def case_layouts(kind: str) -> list[str]:
    """Layouts that have a golden dataset of a kind; data without times are no series."""
    return [] if kind not in GOLDEN_KINDS else [
        one for one in GOLDEN_KINDS[kind]().layouts if not (kind == "grid-static" and one == SERIES)]


def later_times(case: Case) -> Made:
    """The case with two more times, an hour and two after the last one, whose values are those of the first two."""
    made = case.made
    axis = made.description.times
    moments = axis.microseconds[: case.times]
    more = moments[-1] + np.array([1, 2]) * 3_600_000_000
    values = {name: np.concatenate([a[: case.times], a[1::-1]]) for name, a in made.values.items()}
    description = replace(made.description, times=TimeAxis(np.append(moments, more), axis.calendar))
    return replace(made, description=description, values=values)


def _centre(domain: Any, row: int, column: int) -> tuple[float, float]:
    if domain.kind == "curvilinear":
        return domain.longitude[row, column], domain.latitude[row, column]
    return domain.x[column], domain.y[row]


class Numbers:
    """What a map of a golden dataset must give, by the domain that it has stored."""

    def __init__(self, reader: Reader) -> None:
        self.mesh, self.arrays = reader.document.is_mesh, reader.arrays

    def slice(self, made: Made, item: Item, time: int, layer: int) -> tuple[Array, Array]:
        """(rows, values) of a map."""
        values = made.values[item.name][time, 0 if item.layers_together else max(layer, 0)]
        if not self.mesh:
            return np.arange(values.shape[0]), np.ascontiguousarray(values)
        values, corners = values[0], self.arrays["ElementNodes"]
        if item.value_kind == "sigma":
            number, counts = self.arrays["ElementNumber"], self.arrays["LayerCounts"]
            in_source = np.zeros(len(counts), np.int64)
            in_source[number] = counts
            first = np.cumsum(in_source) - in_source
            rows = np.flatnonzero(counts > layer)
            return rows, values[first[number[rows]] + layer]
        if item.value_kind == "zlevel":
            rows = np.unique(corners[corners >= 0])  # only those of elements are stored
            return rows, values.reshape(len(self.arrays["NodeX"]), -1)[self.arrays["NodeNumber"][rows], layer]
        if item.location == "node":
            return np.arange(len(values)), values[self.arrays["NodeNumber"]]
        return np.arange(len(corners)), values[self.arrays["ElementNumber"]]

