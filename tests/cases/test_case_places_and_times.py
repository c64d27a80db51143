"""The kinds behind cases 7 to 10 of other people's issue trackers: where cells lie and when steps are."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.requests import MapRequest
from tests.cli.conftest import Run, run
from tests.sources.netcdf_builders import add, add_axes, new_file, numbered, one_item

__all__ = ["run"]


@pytest.mark.rule("P3")
@pytest.mark.parametrize("south_first", [False, True])
@pytest.mark.parametrize("reader", ["dataset", "command"])
def test_case_7_bounds_are_order_free_and_an_empty_answer_says_why(
        tmp_path: Path, run: Run, south_first: bool, reader: str) -> None:
    """https://github.com/pydata/xarray/issues/2966, #1613: latitude runs north to south, slice(10, 20) is empty."""
    lat = np.linspace(-40, 40, 9) if south_first else np.linspace(40, -40, 9)
    with new_file(tmp_path / "a.nc") as file:
        add_axes(file, rows=9, columns=5)
        file["lat"][...] = lat
        add(file, "v", ["time", "lat", "lon"], numbered(3, 9, 5))
    assert run("import", tmp_path / "a.nc", tmp_path / "d", "--quiet").status == 0
    expected = numbered(3, 9, 5)[0][(lat >= 10) & (lat <= 20)][:, 1:4]
    for box in ((2.0, 10.0, 6.0, 20.0), (2.0, 20.0, 6.0, 10.0), (6.0, 10.0, 2.0, 20.0), (6.0, 20.0, 2.0, 10.0)):
        if reader == "dataset":
            found = Dataset.open(str(tmp_path / "d")).map(MapRequest("v", 0, bbox=box))
            assert found.values[found.mask].tolist() == expected.ravel().tolist()
            assert found.empty_reason == ""
        else:
            document = run("query", "map", tmp_path / "d", "--json", "--bbox", ",".join(map(str, box))).document
            assert (document["cells"], document["min"], document["max"]) == (6, expected.min(), expected.max())
    nowhere = run("query", "map", tmp_path / "d", "--json", "--bbox", "2,60,6,70")
    assert (nowhere.status, nowhere.document["cells"]) == (0, 0)
    assert "lies north of the grid (y from -45 to 45)" in nowhere.document["empty_reason"]


@pytest.mark.parametrize(("policy", "kept"), [(None, [0, 2, 4, 5]), ("keep-last", [0, 2, 4, 5]),
                                              ("keep-first", [0, 1, 3, 5]), ("fail", None)])
@pytest.mark.parametrize("files", [1, 2])
def test_case_8_repeated_time_steps_follow_the_policy_and_are_counted(
        tmp_path: Path, run: Run, policy: str | None, kept: list[int] | None, files: int) -> None:
    """https://github.com/pydata/xarray/issues/2108: restart files write steps again, within a file or over two."""
    hours, values = np.array([0.0, 1, 1, 2, 2, 3]), numbered(6, 4, 5)
    if files == 1:
        paths = [one_item(tmp_path / "a.nc", values, times=hours)]
    else:  # the second starts again at hours 1 and 2
        first, second = [0, 1, 3], [2, 4, 5]
        paths = [one_item(tmp_path / f"{n}.nc", values[steps], times=hours[steps])
                 for n, steps in enumerate((first, second))]
    words = ["--reader", f"TimePolicy={policy}"] if policy else []
    done = run("import", *paths, tmp_path / "d", "--quiet", "--json", *words)
    if kept is None:
        assert done.status == 1
        assert "2000-01-01T01:00:00" in done.err + done.out
        assert not (tmp_path / "d").exists()
        return
    assert done.status == 0, done.err
    repeated = [d for d in done.lines[-1]["summary"]["dropped"] if "repeated times" in d["reason"]]
    assert [d["count"] for d in repeated] == [2]
    dataset = Dataset.open(str(tmp_path / "d"))
    assert dataset.metadata.times.texts() == [f"2000-01-01T0{n}:00:00" for n in range(4)]
    for time, step in enumerate(kept):
        assert np.array_equal(dataset.map(MapRequest("v", time)).stored, values[step])


def test_case_9_uneven_times_stay_what_they_are(tmp_path: Path, run: Run) -> None:
    """https://github.com/DHI/mikeio/issues/589, #595: every tenth step saved, a file that claims even spacing."""
    hours = np.array([0.0, 10, 20, 25.5, 1000])
    path = one_item(tmp_path / "a.nc", numbered(5, 4, 5), times=hours)
    expected = ["2000-01-01T00:00:00", "2000-01-01T10:00:00", "2000-01-01T20:00:00", "2000-01-02T01:30:00",
                "2000-02-11T16:00:00"]
    for storage in ("SingleTimestep", "MultiTimestep", "TimeSeries"):
        target = tmp_path / storage
        assert run("import", path, target, "--quiet", "--set", f"StorageType={storage}").status == 0
        assert Dataset.open(str(target)).metadata.times.texts() == expected
    assert run("export", tmp_path / "TimeSeries", tmp_path / "out.nc", "--quiet").status == 0
    with netCDF4.Dataset(tmp_path / "out.nc") as out:
        found = netCDF4.num2date(out["time"][...], out["time"].units, only_use_cftime_datetimes=False)
    assert [d.isoformat()[:19] for d in found] == expected


@pytest.mark.parametrize("kind", ["Eq", "NonEq"])
@pytest.mark.parametrize("suffix", ["dfs0", "dfs2"])
def test_case_9_dfs_files_keep_their_own_times(tmp_path: Path, run: Run, kind: str, suffix: str) -> None:
    """https://github.com/DHI/mikeio/issues/589 (dfs0), #595 (dfs2): the axis of the file decides, in hours here."""
    pytest.importorskip("mikecore", reason="DHI's library does not exist here")
    from mikecore.DfsFactory import DfsFactory
    from mikecore.eum import eumUnit

    from tests.sources.dfs_files import START, grid, point, write_dfs

    factory, hours = DfsFactory(), [0.0, 10.0, 20.0, 30.0] if kind == "Eq" else [0.0, 1.0, 10.0, 10.5]
    axis = factory.CreateTemporalEqCalendarAxis(eumUnit.eumUhour, START, 0, 10) if kind == "Eq" else (
        factory.CreateTemporalNonEqCalendarAxis(eumUnit.eumUhour, START))
    shape = () if suffix == "dfs0" else (3, 4)
    values = np.arange(4 * int(np.prod(shape)), dtype="f4").reshape(4, *shape)
    path = write_dfs(tmp_path / f"a.{suffix}", point() if suffix == "dfs0" else grid(4, 3), {"level": (
        "float32", values)}, time=axis, times=hours)
    assert run("import", path, tmp_path / "d", "--quiet").status == 0
    dataset = Dataset.open(str(tmp_path / "d"))
    since = (dataset.metadata.times.microseconds - np.datetime64(START, "us").astype(np.int64)) / 3.6e9
    assert since.tolist() == hours
    assert dataset.map(MapRequest("level", 3)).stored.ravel().tolist() == values[3].ravel().tolist()


@pytest.mark.parametrize(("projection", "origin", "first", "x", "y"), [
    ("NON-UTM", (0.0, 0.0), 0.0, 0.25, 0.25),  # local coordinates: the origin is a corner
    ("NON-UTM", (5.0, 7.0), 0.0, 5.25, 7.25),
    ("NON-UTM", (10.0, 50.0), 10.0, 10.25, 50.25),  # written twice
    ("LONG/LAT", (10.0, 50.0), 0.0, 10.0, 50.0),  # others: the middle of the first cell
    ("LONG/LAT", (10.0, 50.0), 10.0, 10.0, 50.0)])  # an origin that was written twice counts once
def test_case_10_a_dfs2_lies_in_the_same_place_on_every_path(
        tmp_path: Path, run: Run, projection: str, origin: tuple[float, float], first: float, x: float, y: float
) -> None:
    """https://github.com/DHI/mikeio/issues/579, #540, #538, #638: not half a cell off, in the query, the map, a CSV and
    the export alike."""
    pytest.importorskip("mikecore", reason="DHI's library does not exist here")
    from tests.sources.dfs_files import grid, write_dfs

    values = np.arange(12, dtype="f4").reshape(3, 4)
    path = write_dfs(tmp_path / "a.dfs2", grid(4, 3, first=first), {"v": ("float32", [values])}, projection=projection,
                     origin=origin)
    assert run("import", path, tmp_path / "d", "--quiet").status == 0
    columns, rows = [x + 0.5 * n for n in range(4)], [y + 0.5 * n for n in range(3)]
    found = Dataset.open(str(tmp_path / "d")).map(MapRequest("v"))
    assert (found.x.tolist(), found.y.tolist()) == (columns, rows)
    for row, north in enumerate(rows):
        for column, east in enumerate(columns):
            for off in (-0.24, 0.24):  # still the same cell
                document = run("query", "series", tmp_path / "d", "--point", f"{east + off},{north + off}", "--json")
                assert document.document["values"] == [[values[row, column]]]
    run("query", "map", tmp_path / "d", "--out", tmp_path / "map.csv", "--quiet")
    lines = (tmp_path / "map.csv").read_text().splitlines()
    assert lines[1].split(",")[:2] == [str(columns[0]), str(rows[0])]
    assert run("export", tmp_path / "d", tmp_path / "out.nc", "--quiet").status == 0
    with netCDF4.Dataset(tmp_path / "out.nc") as out:
        axes = [v for v in out.variables.values() if v.ndim == 1 and v.dimensions == (v.name,) and v.name != "time"]
        assert sorted(axis[...].tolist() for axis in axes) == sorted([columns, rows])
    assert run("compare", tmp_path / "d", path).status == 0
