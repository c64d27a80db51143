"""DHI files: values to the bit, no data, times, places, and what is refused, on files made here with DHI's library."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.errors import SourceError, UnsupportedError, UsageError
from mdstudio.engine.model import GridDomain, MeshDomain, require_grid
from mdstudio.sources.registry import open_source

pytest.importorskip("mikecore", reason="DHI's library does not exist here")

from tests.cli.conftest import Run, run
from tests.sources.dfs_files import START, grid, point, write_dfs

__all__ = ["run"]
ALL = slice(None)
VALUES = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)


def described(path: Path, **parameters: Any) -> Any:
    with open_source([str(path)], parameters) as source:
        return source.descriptions()[0]


def values(path: Path, item: str, layer: int = -1, rows: slice = ALL, columns: slice = ALL, **parameters: Any) -> Any:
    with open_source([str(path)], parameters) as source:
        return source.read(source.descriptions()[0], item, ALL, layer, rows, columns)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_values_are_the_files_own_first_row_in_the_south(tmp_path: Path, dtype: str) -> None:
    path = write_dfs(tmp_path / "a.dfs2", grid(4, 3), {"level": (dtype, VALUES)})
    found = values(path, "level")
    assert found.dtype == np.dtype(dtype)
    assert found.tobytes() == VALUES.astype(dtype).tobytes()
    assert np.array_equal(values(path, "level", rows=slice(1, 3), columns=slice(0, 4, 2)), VALUES[:, 1:3, ::2])


def test_delete_values_are_the_no_data_of_their_type(tmp_path: Path) -> None:
    holed = VALUES.copy()
    holed[1, 1, 2] = np.float32(-1e-35)
    doubles = VALUES.astype(np.float64)
    doubles[0, 0, 0] = -1e-255
    path = write_dfs(tmp_path / "a.dfs2", grid(4, 3), {"f": ("float32", holed), "d": ("float64", doubles)})
    f, d = described(path).items
    assert (np.float32(f.no_data), d.no_data) == (np.float32(-1e-35), -1e-255)
    single = described(path, DoubleAsFloat=True).items[1]
    found = values(path, "d", DoubleAsFloat=True)
    assert (single.dtype, found.dtype) == ("float32", np.float32)
    assert found[0, 0, 0] == np.float32(single.no_data)  # not -0, which the double's delete value would become
    assert np.array_equal(found.ravel()[1:], VALUES.ravel()[1:])


@pytest.mark.parametrize("kind", ["EqCalendar", "NonEqCalendar", "Eq", "NonEq"])
def test_times_are_what_the_file_says(tmp_path: Path, kind: str) -> None:
    """Every tenth step saved (case 9, https://github.com/DHI/mikeio/issues/589): nothing evens the times out."""
    from mikecore.DfsFactory import DfsFactory
    from mikecore.eum import eumUnit

    factory, uneven = DfsFactory(), [0.0, 1.0, 10.0, 10.5]
    made = {"EqCalendar": lambda: factory.CreateTemporalEqCalendarAxis(eumUnit.eumUhour, START, 0, 10),
            "NonEqCalendar": lambda: factory.CreateTemporalNonEqCalendarAxis(eumUnit.eumUhour, START),
            "Eq": lambda: factory.CreateTemporalEqTimeAxis(eumUnit.eumUhour, 0, 10),
            "NonEq": lambda: factory.CreateTemporalNonEqTimeAxis(eumUnit.eumUhour)}[kind]()
    path = write_dfs(tmp_path / "a.dfs0", point(), {"level": ("float32", np.arange(4.0))}, time=made, times=uneven)
    description = described(path)
    hours = np.array([0, 10, 20, 30.0] if kind.startswith("Eq") else uneven)
    start = np.datetime64(START if kind.endswith("Calendar") else "1970-01-01", "us").astype(np.int64)
    assert np.array_equal(description.times.microseconds, start + (hours * 3.6e9).astype(np.int64))
    assert any("without a date" in n.reason for n in description.dropped) == (not kind.endswith("Calendar"))
    assert values(path, "level").ravel().tolist() == [0, 1, 2, 3]


def test_times_that_go_back_are_refused(tmp_path: Path) -> None:
    from mikecore.DfsFactory import DfsFactory
    from mikecore.eum import eumUnit

    axis = DfsFactory().CreateTemporalNonEqCalendarAxis(eumUnit.eumUhour, START)
    path = write_dfs(tmp_path / "a.dfs0", point(), {"v": ("float32", np.arange(3.0))}, time=axis, times=[0, 5, 5])
    with pytest.raises(SourceError, match="step 2 is not after step 1"):
        described(path)


@pytest.mark.parametrize(("projection", "first", "x", "y"), [
    ("NON-UTM", 0.0, 0.25, 0.25),  # the origin is a corner: case 10, https://github.com/DHI/mikeio/issues/579
    ("LONG/LAT", 0.0, 10.0, 50.0),  # the origin is the middle of the first cell
    ("LONG/LAT", 10.0, 10.0, 50.0)])  # an origin that was written twice counts once
def test_the_origin_is_a_corner_of_local_coordinates_and_a_middle_of_others(
        tmp_path: Path, projection: str, first: float, x: float, y: float) -> None:
    origin = (0.0, 0.0) if projection == "NON-UTM" else (10.0, 50.0)
    path = write_dfs(tmp_path / "a.dfs2", grid(4, 3, first=first), {"v": ("float32", VALUES)}, projection=projection,
                     origin=origin)
    domain = require_grid(described(path).domain)
    assert domain.x.tolist() == [x, x + 0.5, x + 1, x + 1.5]
    assert domain.y.tolist() == [y, y + 0.5, y + 1]
    assert (domain.kind, domain.crs) == (("projected", "") if projection == "NON-UTM" else ("regular", "EPSG:4326"))


@pytest.mark.parametrize("projection", ["UTM-33", "LONG/LAT"])
def test_a_turned_grid_lies_where_dhis_own_cartography_puts_it(tmp_path: Path, projection: str) -> None:
    from mikecore.Projections import Cartography

    step = 900.0 if projection == "UTM-33" else 0.01
    path = write_dfs(tmp_path / "a.dfs2", grid(4, 3, step), {"v": ("float32", VALUES)}, projection=projection,
                     origin=(12.4, 55.2), orientation=-33.0)
    domain = require_grid(described(path).domain)
    assert domain.kind == "curvilinear"
    place = Cartography.CreateGeoOrigin(projection, 12.4, 55.2, -33.0)
    for row in range(3):
        for column in range(4):
            expected = place.Xy2Geo(column * step, row * step)
            assert np.allclose((domain.longitude[row, column], domain.latitude[row, column]), expected, atol=1e-7)
    expected = place.Xy2Geo(-step / 2, -step / 2)
    assert np.allclose((domain.corner_longitude[0, 0, 0], domain.corner_latitude[0, 0, 0]), expected, atol=1e-7)


def test_a_file_of_three_dimensions_has_layers_from_the_bottom(tmp_path: Path) -> None:
    from mikecore.DfsFactory import DfsFactory
    from mikecore.eum import eumUnit

    axis = DfsFactory().CreateAxisEqD3(eumUnit.eumUmeter, 4, 0, 0.5, 3, 0, 0.5, 2, -10.0, 5.0)
    data = np.arange(2 * 2 * 3 * 4, dtype=np.float32).reshape(2, 2, 3, 4)
    path = write_dfs(tmp_path / "a.dfs3", axis, {"v": ("float32", data)})
    item, = described(path).items
    assert (item.layers.values, item.layers.positive) == ((-10.0, -5.0), "up")
    for layer in range(2):
        assert np.array_equal(values(path, "v", layer), data[:, layer])


@pytest.mark.parametrize("name", ["a.dfs2", "a.dfs0"])
def test_a_file_that_is_cut_off_says_what_can_be_read(tmp_path: Path, name: str) -> None:
    axis, shape = (grid(4, 3), (9, 3, 4)) if name == "a.dfs2" else (point(), (9,))
    path = write_dfs(tmp_path / name, axis, {"v": ("float32", np.zeros(shape))})
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(SourceError, match=r"the item 'v' at time step \d is not in it; the first \d of 9"):
        values(path, "v")


def test_text_that_is_no_file_of_dhi_is_named(tmp_path: Path) -> None:
    for name in ("a.dfs2", "a.dfsu", "a.mesh"):
        (tmp_path / name).write_text("hello\n" * 200)
        with pytest.raises(SourceError, match=name):
            described(tmp_path / name)
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(SourceError, match="empty"):
            described(tmp_path / name)


def test_several_files_and_systems_without_the_library_are_refused(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_dfs(tmp_path / "a.dfs2", grid(4, 3), {"v": ("float32", VALUES)})
    with pytest.raises(UsageError, match="--append"), open_source([str(path), str(path)]) as source:
        source.descriptions()
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(UnsupportedError, match="does not exist for macOS"):
        described(path)


MESH = ("100079 1000 5 LONG/LAT\n1 0 0 -1 1\n2 1 0 -2 1\n3 1 1 -3 0\n4 0 1 -4 1\n5 2 1 -5 2\n"
        "2 4 25\n1 1 2 3 4\n2 2 5 3 0\n")


def test_a_mesh_gives_the_level_of_its_nodes(tmp_path: Path) -> None:
    (tmp_path / "a.mesh").write_text(MESH)
    description = described(tmp_path / "a.mesh")
    domain = description.domain
    assert isinstance(domain, MeshDomain)
    assert (domain.elements, domain.nodes, domain.geographic) == (2, 5, True)
    assert values(tmp_path / "a.mesh", "Bathymetry").ravel().tolist() == [-1, -2, -3, -4, -5]
    assert domain.node_code is not None
    assert domain.node_code[np.argsort(domain.node_number)].tolist() == [1, 1, 0, 1, 2]


@pytest.mark.parametrize(("change", "error"), [
    (("\n2 4 25", "\n1 4 25"), "announces 5 nodes and 1 elements"),
    (("\n2 4 25", "\n3 4 25"), "failed reading elements"),
    (("2 2 5 3 0", "2 2 6 3 0"), "Node number"), (("5 LONG", "4 LONG"), "failed reading element")])
def test_a_mesh_whose_counts_are_wrong_is_refused(tmp_path: Path, change: tuple[str, str], error: str) -> None:
    (tmp_path / "a.mesh").write_text(MESH.replace(*change))
    with pytest.raises(SourceError, match=error):
        described(tmp_path / "a.mesh")


@pytest.mark.parametrize("storage", ["SingleTimestep", "MultiTimestep", "TimeSeries"])
def test_an_import_equals_its_file_to_the_bit(tmp_path: Path, run: Run, storage: str) -> None:
    path = write_dfs(tmp_path / "a.dfs2", grid(4, 3), {"v": ("float32", VALUES), "d": ("float64", VALUES)},
                     projection="UTM-33", orientation=20.0)
    assert run("import", path, tmp_path / "d", "--quiet", "--set", f"StorageType={storage}").status == 0
    found = run("compare", tmp_path / "d", path, "--json")
    assert (found.status, found.document["equal"]) == (0, True)
    assert isinstance(described(path).domain, GridDomain)
