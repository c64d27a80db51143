"""Results of queries as files: what a reader of the file sees is what the query found."""

from __future__ import annotations

import csv
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import StorageError
from mdstudio.engine.model import Array
from mdstudio.engine.requests import MapRequest, SeriesRequest
from mdstudio.targets.results import write_map, write_series
from tests.engine.made_datasets import item, item_storage, make, same_bits, smooth


@pytest.fixture
def values() -> Array:
    values = smooth(4, 2, 20, 30)
    values[:, :, 3:6, 4:9] = -999
    return values


@pytest.fixture
def dataset(tmp_path: Path, values: Array) -> Dataset:
    described = item("v", values, -999, layered=True, unit="m", scale=0.5, offset=10.0, decoded="float32")
    return make(tmp_path / "d", {"v": values}, item_storage("MultiTimestep"), (described,))


def test_a_map_in_netcdf_is_read_back_to_the_bit_and_decodes_to_the_values(
    tmp_path: Path, dataset: Dataset, values: Array
) -> None:
    result = dataset.map(MapRequest("v", 2, 1, (4.0, 3.0, 12.0, 9.0)))
    write_map(str(tmp_path / "map.nc"), ".nc", result, dataset)
    with netCDF4.Dataset(tmp_path / "map.nc") as file:
        variable = file["v"]
        decoded = np.ma.filled(variable[...].astype(np.float64), np.nan)
        assert np.array_equal(decoded, result.values, equal_nan=True)
        assert (variable.units, file["time"][...], file["depth"][...]) == ("m", 2 * 3600, 1.0)
        assert file["x"][...].tolist() == result.x.tolist()
        variable.set_auto_maskandscale(False)
        assert same_bits(np.asarray(variable[...]), np.ascontiguousarray(values[2, 1, 3:10, 4:13]))


@pytest.mark.parametrize("ending", [".npz", ".csv"])
def test_a_map_as_numbers_holds_the_cells_of_the_request(tmp_path: Path, dataset: Dataset, ending: str) -> None:
    result = dataset.map(MapRequest("v", 0, 0))
    path = tmp_path / f"map{ending}"
    write_map(str(path), ending, result, dataset)
    if ending == ".npz":
        with np.load(path) as found:
            assert sorted(found) == ["mask", "stored", "values", "x", "y"]
            assert same_bits(found["stored"], result.stored)
            assert np.array_equal(found["values"], result.values, equal_nan=True)
        return
    header, *rows = csv.reader(path.read_text().splitlines())
    assert header == ["x", "y", "value (m)"]
    found = np.array([float(value or "nan") for _, _, value in rows]).reshape(result.values.shape)
    assert np.array_equal(found, result.values, equal_nan=True)
    assert [(float(x), float(y)) for x, y, _ in rows[:31]] == [*((float(c), 0.0) for c in range(30)), (0.0, 1.0)]


def test_a_series_has_a_line_a_time_and_a_column_a_point(tmp_path: Path, dataset: Dataset) -> None:
    result = dataset.series(SeriesRequest("v", ((1.0, 2.0), (5.0, 4.0)), 1))
    write_series(str(tmp_path / "points.csv"), ".csv", result, dataset)
    header, *rows = csv.reader((tmp_path / "points.csv").read_text().splitlines())
    assert header == ["time", "1.0 2.0 (m)", "5.0 4.0 (m)"]
    assert [row[0] for row in rows] == result.times.texts()
    assert [float(row[1]) for row in rows] == result.values[:, 0].tolist()
    assert [row[2] for row in rows] == [""] * 4


def test_a_file_that_cannot_be_written_whole_leaves_the_old_one(
    tmp_path: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "map.npz"
    path.write_bytes(b"old")
    result = dataset.map(MapRequest("v", 0, 0))
    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(StorageError, match="The disk is full"):
        write_map(str(path), ".npz", result, dataset)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["map.npz"]
