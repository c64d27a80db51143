"""`compare` of meshes: element by element and node by node of the source, whatever the order that each is stored in."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import mdstudio
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import NotFoundError
from mdstudio.engine.model import MeshDomain
from mdstudio.engine.progress import Progress
from mdstudio.jobs.compare import compare, describe_difference
from tests.cli.sources import write_waves
from tests.engine.made_datasets import kind_of, make_kind
from tests.sources.netcdf_builders import LAT, LON, add, new_file

SIDE = 12  # squares along a side
TIMES = 5


def write_mesh(path: Path, mirrored: bool = False) -> Path:
    """Squares of a plain cut into triangles here and there: `v` on elements, `n` on nodes with layers, `k` packed.

    `mirrored` turns the places over: the same elements and values, stored in quite another order.
    """
    x, y = np.meshgrid(np.arange(SIDE + 1.0), 50.0 + np.arange(SIDE + 1.0))
    corner = np.arange((SIDE + 1) ** 2).reshape(SIDE + 1, SIDE + 1)
    squares = np.stack([corner[:-1, :-1], corner[:-1, 1:], corner[1:, 1:], corner[1:, :-1]], axis=-1).reshape(-1, 4)
    table = np.concatenate([squares[::3], np.insert(squares[1::3][:, :3], 3, -1, 1), squares[2::3]]).astype("i4")
    random = np.random.default_rng(7)
    with new_file(path) as file:
        add(file, "mesh", [], np.int32(0), {
            "cf_role": "mesh_topology", "topology_dimension": np.int32(2), "node_coordinates": "lon lat",
            "face_node_connectivity": "corners"})
        add(file, "lon", ["node"], (SIDE - x if mirrored else x).ravel(), LON)
        add(file, "lat", ["node"], y.ravel(), LAT)
        add(file, "corners", ["face", "four"], table, {"_FillValue": np.int32(-1), "start_index": np.int32(0)})
        add(file, "time", ["time"], np.arange(TIMES, dtype="i4"), {"units": "hours since 2020-01-01"})
        add(file, "v", ["time", "face"], random.random((TIMES, len(table))).astype("f4"), {"units": "m"})
        add(file, "n", ["time", "layer", "node"], random.random((TIMES, 2, x.size)), {"units": "K"})
        add(file, "k", ["time", "face"], random.integers(0, 99, (TIMES, len(table))).astype("i2"), {
            "scale_factor": 0.1, "_FillValue": np.int16(-1)})
    return path


def imported(source: Path, target: Path, **writer: Any) -> Path:
    mdstudio.import_({"sources": [str(source)], "target": str(target), "writerParameters": [
        {"name": n, "value": v} for n, v in ({"Compression": "ZstdAuto"} | writer).items()]})
    return target


def compared(a: Path, b: Path) -> dict[str, Any]:
    return compare(str(a), str(b), Progress())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_mesh(tmp_path / "a.nc")


@pytest.mark.parametrize("storage_type", ["SingleTimestep", "MultiTimestep", "TimeSeries"])
@pytest.mark.parametrize("compression", ["None", "ZstdAuto"])
def test_a_mesh_equals_its_source_either_way_round(storage_type: str, compression: str, source: Path, tmp_path: Path
                                                   ) -> None:
    dataset = imported(source, tmp_path / "d", StorageType=storage_type, Compression=compression)
    for a, b in ((dataset, source), (source, dataset), (dataset, dataset)):
        result = compared(a, b)
        assert [(i["name"], i["equal"], i["times_compared"]) for i in result["items"]] == [
            ("v", True, TIMES), ("n", True, TIMES), ("k", True, TIMES)]
        assert (result["equal"], result["coordinates_equal"]) == (True, True)


def test_datasets_of_different_layouts_are_equal(source: Path, tmp_path: Path) -> None:
    a = imported(source, tmp_path / "a", StorageType="TimeSeries", TimeGroupSize=2)
    b = imported(source, tmp_path / "b", StorageType="MultiTimestep", Compression="None")
    assert compared(a, b)["equal"] is True
    assert compared(b, a)["equal"] is True


Change = Callable[[Any], None]


def one_bit(file: Any) -> None:
    row = file["n"][3, 1]
    row.view("u8")[77] ^= 1
    file["n"][3, 1] = row


def swapped(file: Any) -> None:
    table = file["corners"][:]
    file["corners"][:] = table[[1, 0, *range(2, len(table))]]


def turned(file: Any) -> None:
    first = file["corners"][5]
    file["corners"][5] = np.roll(first, 1)


CHANGES: dict[str, tuple[Change, set[str]]] = {
    "one bit": (one_bit, {"n"}),
    "one packed value": (lambda f: f["k"].__setitem__((4, 10), 77), {"k"}),
    "a later time": (lambda f: f["time"].__setitem__(4, 99), {"times"}),
    "all times": (lambda f: f["time"].setncattr("units", "hours since 2020-01-02"), {"times"}),
    "a unit": (lambda f: f["v"].setncattr("units", "cm"), {"units"}),
    "a scale": (lambda f: f["k"].setncattr("scale_factor", 0.2), {"k"}),
    "two elements swapped": (swapped, {"coordinates"}),
    "an element turned": (turned, {"coordinates"}),
    "a node moved": (lambda f: f["lon"].__setitem__(9, f["lon"][9] + 1e-12), {"coordinates"}),
    "a node far away": (lambda f: f["lon"].__setitem__(9, 100.0), {"coordinates"}),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("storage_type", ["MultiTimestep", "TimeSeries"])
def test_each_change_is_found_and_only_it(name: str, storage_type: str, source: Path, tmp_path: Path) -> None:
    dataset = imported(source, tmp_path / "d", StorageType=storage_type)
    copy = tmp_path / "copy.nc"
    shutil.copyfile(source, copy)
    change, expected = CHANGES[name]
    with netCDF4.Dataset(copy, "a") as file:
        file.set_auto_maskandscale(False)
        change(file)
    other = imported(copy, tmp_path / "other")
    for b in (copy, other):  # against a source, and against another dataset
        result = compared(dataset, b)
        found = {i["name"] for i in result["items"] if not i["equal"]}
        found |= {k for k in ("coordinates", "times", "units") if not result[f"{k}_equal"]}
        assert (result["equal"], found) == (False, expected)


def test_a_difference_is_placed_by_the_number_of_the_source(source: Path, tmp_path: Path) -> None:
    dataset = imported(source, tmp_path / "d")
    with netCDF4.Dataset(source, "a") as file:
        file.set_auto_maskandscale(False)
        one_bit(file)
        file["k"][2, 33] = 98
    items = {i["name"]: i for i in compared(dataset, source)["items"]}
    found = items["n"]["first_difference"]
    assert (found["time_index"], found["layer"], found["place"], found["number"]) == (3, 1, "node", 77)
    assert describe_difference(found).startswith("2020-01-01T03:00:00, layer 1, node 77: ")
    assert describe_difference(items["k"]["first_difference"]).startswith("2020-01-01T02:00:00, element 33: ")
    assert items["n"]["times_different"] == items["k"]["times_different"] == 1


@pytest.mark.parametrize("storage_type", ["SingleTimestep", "TimeSeries"])
def test_the_same_values_stored_in_another_order_are_equal(storage_type: str, source: Path, tmp_path: Path) -> None:
    mirrored = write_mesh(tmp_path / "mirrored.nc", mirrored=True)
    a = imported(source, tmp_path / "a", StorageType=storage_type)
    b = imported(mirrored, tmp_path / "b")
    one, other = Dataset.open(str(a)).domain, Dataset.open(str(b)).domain
    assert isinstance(one, MeshDomain)
    assert isinstance(other, MeshDomain)
    assert (one.element_number != other.element_number).any()
    for right in (b, mirrored):
        result = compared(a, right)
        assert [i["equal"] for i in result["items"]] == [True, True, True]
        assert (result["equal"], result["coordinates_equal"]) == (False, False)
    with netCDF4.Dataset(mirrored, "a") as file:
        file.set_auto_maskandscale(False)
        file["v"][4, 20] = 7
    found = compared(a, mirrored)["items"][0]["first_difference"]
    assert (found["time_index"], found["place"], found["number"], found["b"]) == (4, "element", 20, 7.0)


def test_a_mesh_and_a_grid_and_meshes_of_different_sizes_are_different(source: Path, tmp_path: Path) -> None:
    dataset = imported(source, tmp_path / "d")
    grid = write_waves(tmp_path / "grid.nc")
    with pytest.raises(NotFoundError, match="no item in common"):
        compare(str(source), str(grid), Progress())
    with netCDF4.Dataset(grid, "a") as file:
        file.renameVariable("swh", "v")
    result = compared(dataset, grid)
    (first,) = [i["first_difference"] for i in result["items"] if i["name"] == "v"]
    assert first == {"fact": "kind", "a": "mesh", "b": "grid"}
    assert result["coordinates_equal"] is False


@pytest.mark.parametrize(("kind", "storage_type", "place"), [
    ("mesh", "TimeSeries", "element"), ("mesh-layered", "TimeSeries", "element"),
    ("mesh-nodes", "MultiTimestep", "node"),
    ("mesh-vector", "MultiTimestep", "element"), ("mesh-zlevel", "MultiTimestep", "node"),
    ("mesh-sigma", "TimeSeries", "3-D element")])
def test_every_kind_of_item_is_compared(kind: str, storage_type: Any, place: str, tmp_path: Path) -> None:
    made = kind_of(kind)
    make_kind(tmp_path / "a", made, "SingleTimestep")
    make_kind(tmp_path / "b", made, storage_type)
    result = compared(tmp_path / "a", tmp_path / "b")
    assert (result["equal"], result["coordinates_equal"]) == (True, True)
    name = made.description.items[0].name
    values = made.values[name].copy()
    values[3, 0, 0, 123] += 1
    make_kind(tmp_path / "c", replace(made, values={**made.values, name: values}), storage_type)
    for a, b in (("a", "c"), ("c", "a")):
        result = compared(tmp_path / a, tmp_path / b)
        assert [i["equal"] for i in result["items"]].count(False) == 1
        assert result["items"][0]["times_different"] == 1
        found = result["items"][0]["first_difference"]
        assert (found["time_index"], found["place"]) == (3, place)
        layers = len(made.description.items[0].layers or ()) if kind == "mesh-zlevel" else 1
        assert (found["number"], found["layer"] or 0) == divmod(123, layers)
