"""Several files as one dataset: sorted by time, overlaps by policy, disagreements refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.errors import SourceError
from mdstudio.sources.netcdf.opening import MAX_OPEN_FILES
from mdstudio.sources.registry import open_source
from tests.sources.netcdf_builders import add, add_axes, new_file, numbered, one_item, whole


def part(folder: Path, file: str, times: list, first: int, **more: Any) -> str:
    """A file whose values tell its number and step: first + step."""
    values = np.arange(first, first + len(times), dtype="i2")[:, None, None] * np.ones((1, 4, 5), "i2")
    return str(one_item(folder / file, values, times=np.array(times), **more))


def steps(paths: list[str], **parameters: Any) -> tuple[list[str], list[int], list[tuple[str, int]]]:
    with open_source(paths, parameters) as source:
        (description,) = source.descriptions()
        values = whole(source, description, "v")
        return [t[11:13] for t in description.times.texts()], values[:, 0, 0].tolist(), [
            (n.reason, n.count) for n in source.dropped()]


def test_files_are_sorted_by_time(tmp_path: Path) -> None:
    paths = [part(tmp_path, "b.nc", [4, 5], 20), part(tmp_path, "c.nc", [2, 3], 10), part(tmp_path, "a.nc", [6], 30)]
    assert steps(paths) == (["02", "03", "04", "05", "06"], [10, 11, 20, 21, 30], [])


def test_overlapping_restarts_keep_last_by_default(tmp_path: Path) -> None:
    # case 8
    paths = [part(tmp_path, "a.nc", [0, 1, 2, 3], 10), part(tmp_path, "b.nc", [2, 3, 4], 20)]
    hours, values, notes = steps(paths)
    assert (hours, values) == (["00", "01", "02", "03", "04"], [10, 11, 20, 21, 22])
    assert notes == [("repeated times of overlapping files (keep-last)", 2)]
    assert steps(paths, TimePolicy="keep-first")[1] == [10, 11, 12, 13, 22]
    with pytest.raises(SourceError, match=r"b\.nc: The time 2000-01-01T02:00:00 is in .*a\.nc too"):
        steps(paths, TimePolicy="fail")


def test_interleaved_files_are_read_step_by_step(tmp_path: Path) -> None:
    paths = [part(tmp_path, "a.nc", [0, 2, 4], 10), part(tmp_path, "b.nc", [1, 3], 20)]
    assert steps(paths)[1] == [10, 20, 11, 21, 12]


def test_times_in_other_units_are_joined(tmp_path: Path) -> None:
    paths = [part(tmp_path, "a.nc", [0, 1], 10),
             part(tmp_path, "b.nc", [120.0, 180.0], 20, hours={"units": "minutes since 2000-01-01"})]
    assert steps(paths)[:2] == (["00", "01", "02", "03"], [10, 11, 20, 21])


def test_files_with_a_scalar_time_each_are_joined(tmp_path: Path) -> None:
    paths = []
    for day in range(2):
        path = tmp_path / f"{day}.nc"
        with new_file(path) as dataset:
            add_axes(dataset, times=None)
            add(dataset, "time", [], np.int32(day), {"units": "days since 2000-01-01"})
            add(dataset, "v", ["lat", "lon"], numbered(4, 5) + 100 * day, {"coordinates": "time"})
        paths.append(str(path))
    with open_source(paths) as source:
        (description,) = source.descriptions()
        assert len(description.times) == 2
        assert np.array_equal(whole(source, description, "v")[1], numbered(4, 5) + 100)


@pytest.mark.parametrize(("change", "reason"), [
    ({"attributes": {"scale_factor": 0.2}}, r"'v' has scale 0\.1 against 0\.2"),
    ({"attributes": {"scale_factor": 0.1, "_FillValue": np.int16(-1)}}, "'v' has no_data None against -1"),
    ({"attributes": {"scale_factor": 0.1}, "name": "w"}, "'v' is in one only"),
    ({"attributes": {"scale_factor": 0.1}, "hours": {"units": "hours since 2000-01-01", "calendar": "noleap"}},
     "calendar standard against noleap"),
])
def test_files_that_disagree_are_refused_with_both_names(tmp_path: Path, change: dict, reason: str) -> None:
    # case 6: each file its own scale: never joined blindly
    paths = [part(tmp_path, "first.nc", [0, 1], 10, attributes={"scale_factor": 0.1}),
             part(tmp_path, "second.nc", [2, 3], 20, **change)]
    with pytest.raises(SourceError, match=reason) as caught:
        open_source(paths)
    assert "first.nc" in str(caught.value)
    assert "second.nc" in str(caught.value)


def test_other_grids_and_types_are_refused(tmp_path: Path) -> None:
    first = part(tmp_path, "first.nc", [0, 1], 10)
    wide = str(one_item(tmp_path / "wide.nc", numbered(1, 4, 6), times=np.array([2])))
    with pytest.raises(SourceError, match="4 x 5 cells against 4 x 6"):
        open_source([first, wide])
    floats = str(one_item(tmp_path / "floats.nc", numbered(1, 4, 5, dtype="f4"), times=np.array([2])))
    with pytest.raises(SourceError, match="dtype int16 against float32"):
        open_source([first, floats])
    moved = tmp_path / "moved.nc"
    with new_file(moved) as dataset:
        add_axes(dataset, times=[2])
        dataset["lat"][0] = 59.999
        add(dataset, "v", ["time", "lat", "lon"], numbered(1, 4, 5))
    with pytest.raises(SourceError, match=r"moved\.nc.*coordinates 'lat' differ"):
        open_source([first, str(moved)])


def test_files_without_times_are_not_joined(tmp_path: Path) -> None:
    paths = []
    for name in ("a.nc", "b.nc"):
        with new_file(tmp_path / name) as dataset:
            add_axes(dataset, times=None)
            add(dataset, "v", ["lat", "lon"], numbered(4, 5))
        paths.append(str(tmp_path / name))
    with pytest.raises(SourceError, match="no time"):
        open_source(paths)


def test_static_items_beside_times_come_from_the_first_file_with_a_note(tmp_path: Path) -> None:
    paths = []
    for n in range(2):
        with new_file(tmp_path / f"{n}.nc") as dataset:
            add_axes(dataset, times=[n])
            add(dataset, "v", ["time", "lat", "lon"], numbered(1, 4, 5))
            add(dataset, "mask", ["lat", "lon"], numbered(4, 5) + n)
        paths.append(str(tmp_path / f"{n}.nc"))
    with open_source(paths) as source:
        timed, static = source.descriptions()
        assert len(timed.times) == 2
        assert static.times.static
        assert np.array_equal(whole(source, static, "mask")[0], numbered(4, 5))
        assert any("first of 2 files" in n.reason for n in source.dropped())


def test_more_files_than_may_be_open_are_read(tmp_path: Path) -> None:
    count = MAX_OPEN_FILES * 2 + 3
    paths = [part(tmp_path, f"{n:03d}.nc", [n], n) for n in range(count)]
    with open_source(paths) as source:
        (description,) = source.descriptions()
        assert whole(source, description, "v")[:, 0, 0].tolist() == list(range(count))
        got = source.read(description, "v", slice(5, 40, 10), -1, slice(0, 1), slice(0, 1))
        assert got.ravel().tolist() == [5, 15, 25]


def test_steps_and_parts_of_a_file_are_read(tmp_path: Path) -> None:
    path = one_item(tmp_path / "a.nc", numbered(9, 4, 5), times=np.arange(9))
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        got = source.read(description, "v", slice(1, 8, 3), -1, slice(1, 4, 2), slice(0, 5, 4))
        assert np.array_equal(got, numbered(9, 4, 5)[1:8:3, 1:4:2, 0:5:4])
        assert source.read(description, "v", slice(3, 3), -1, slice(None), slice(None)).shape == (0, 4, 5)
