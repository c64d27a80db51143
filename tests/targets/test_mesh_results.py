"""Results of queries of meshes and vectors as files, and what other programs read of them."""

from __future__ import annotations

import csv
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import Array, MeshDomain
from mdstudio.engine.requests import MapRequest, SeriesRequest
from mdstudio.targets.results import write_map, write_series
from tests.engine.made_datasets import kind_of, make_kind, same_bits

POLYGON = "POLYGON ((3 3, 15 4, 9 14, 3 3))"


def opened(folder: Path, kind: str) -> Dataset:
    return make_kind(folder / kind, kind_of(kind), "SingleTimestep")


def corners_of(file: netCDF4.Dataset) -> tuple[Array, Array]:
    """(face, corner) x and y of a UGRID file, NaN beyond the corners of a face."""
    numbers = np.ma.filled(file["mesh2d_face_nodes"][...].astype(int), -1)
    x, y = (np.append(np.asarray(file[f"mesh2d_node_{axis}"][...]), np.nan) for axis in "xy")
    return x[numbers], y[numbers]


def test_elements_of_a_polygon_are_ugrid_with_their_stored_numbers(tmp_path: Path) -> None:
    dataset = opened(tmp_path, "mesh")
    result = dataset.map(MapRequest("v", 1, polygon=POLYGON))
    write_map(str(tmp_path / "map.nc"), ".nc", result, dataset)
    domain = dataset.domain
    assert isinstance(domain, MeshDomain)
    with netCDF4.Dataset(tmp_path / "map.nc") as file:
        assert (file["v"].mesh, file["v"].location, file["mesh2d"].cf_role) == ("mesh2d", "face", "mesh_topology")
        x, y = corners_of(file)
        file["v"].set_auto_maskandscale(False)
        assert same_bits(np.asarray(file["v"][...]), result.stored)
    assert 0 < result.rows.size < domain.elements
    for axis, found in ((domain.node_x, x), (domain.node_y, y)):
        wanted = np.append(axis, np.nan)[domain.element_nodes[result.rows]]
        assert np.array_equal(found, wanted, equal_nan=True)


@pytest.mark.parametrize("kind", ["mesh-nodes", "mesh-zlevel", "mesh-sigma", "mesh-vector", "grid-vector"])
def test_every_kind_is_a_netcdf_file_of_the_values(tmp_path: Path, kind: str) -> None:
    dataset = opened(tmp_path, kind)
    item = dataset.item("v")
    result = dataset.map(MapRequest("v", 1, layer=1 if item.layers else None, bbox=(2, 2, 12, 9)))
    write_map(str(tmp_path / "map.nc"), ".nc", result, dataset)
    with netCDF4.Dataset(tmp_path / "map.nc") as file:
        found = np.ma.filled(file["v"][...].astype(np.float64), np.nan)
    assert np.array_equal(found, result.values, equal_nan=True)
    assert np.isfinite(found).any()


@pytest.mark.parametrize(("kind", "what"), [("mesh", "element"), ("mesh-nodes", "node")])
def test_a_csv_names_elements_and_nodes_by_their_number_in_the_source(tmp_path: Path, kind: str, what: str) -> None:
    dataset = opened(tmp_path, kind)
    result = dataset.map(MapRequest("v", 0, bbox=(2, 2, 9, 9)))
    write_map(str(tmp_path / "map.csv"), ".csv", result, dataset)
    header, *rows = csv.reader((tmp_path / "map.csv").read_text().splitlines())
    assert header == [what, "x", "y", "value"]
    source = kind_of(kind).values["v"][0, 0, 0]
    no_data = dataset.item("v").no_data
    for number, x, y, value in rows:
        wanted = source[int(number)]
        assert (float(value) == wanted) if value else (wanted == no_data or wanted != wanted)
        assert np.isfinite([float(x), float(y)]).all()
    assert len(rows) == result.rows.size > 10


def test_a_vector_has_a_column_a_component(tmp_path: Path) -> None:
    dataset = opened(tmp_path, "grid-vector")
    write_map(str(tmp_path / "map.csv"), ".csv", dataset.map(MapRequest("v", 0, bbox=(2, 2, 4, 4))), dataset)
    assert (tmp_path / "map.csv").read_text().splitlines()[0] == "x,y,value [0],value [1]"
    series = dataset.series(SeriesRequest("v", ((3, 3), (4, 5))))
    write_series(str(tmp_path / "series.csv"), ".csv", series, dataset)
    header, *rows = csv.reader((tmp_path / "series.csv").read_text().splitlines())
    assert header == ["time", "3 3 [0]", "3 3 [1]", "4 5 [0]", "4 5 [1]"]
    values = kind_of("grid-vector").values["v"]
    assert [float(value or -1.5) for value in rows[1][1:]] == [*values[1, 0, 3, 3], *values[1, 0, 5, 4]]
