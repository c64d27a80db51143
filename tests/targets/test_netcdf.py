"""Export to NetCDF-4: what netCDF4 and xarray read back is what is stored, to the bit (W1, N5)."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import xarray as xr

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import AlreadyExistsError, Cancelled, MdError, NotFoundError, UnsupportedVersionError
from mdstudio.engine.model import Array, Description, GridDomain, LayerAxis, MeshDomain, StorageType
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import Settings
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.times import TimeAxis
from mdstudio.engine.writer import create_dataset
from mdstudio.targets import netcdf_frame, netcdf_grid, netcdf_mesh
from mdstudio.targets.netcdf import export_netcdf
from mdstudio.targets.netcdf_cf import time_coordinate
from mdstudio.targets.netcdf_frame import ranges
from tests.engine.made_datasets import (
    HOUR,
    KINDS,
    Arrays,
    Made,
    Watched,
    item,
    item_storage,
    kind_of,
    make,
    make_kind,
    same_bits,
    smooth,
)

pytestmark = pytest.mark.rule("W1")
TYPES: list[StorageType] = ["SingleTimestep", "MultiTimestep", "TimeSeries"]


@pytest.fixture
def values() -> dict[str, Array]:
    deep = smooth(7, 2, 20, 30, "float32", 1)
    deep[2, 1, 3:5] = np.frombuffer(b"\x01\x00\xc0\x7f", "<f4")[0]  # a NaN of its own
    deep[3, 0, 0, 0] = -0.0
    return {"a": smooth(7, 1, 20, 30), "deep": deep, "u": smooth(7, 1, 20, 30, "uint8", 2)}


@pytest.fixture
def dataset(tmp_path: Path, values: dict[str, Array], request: pytest.FixtureRequest) -> Dataset:
    storage_type = getattr(request, "param", "MultiTimestep")
    items = (item("a", values["a"], -999, unit="m", scale=0.5, offset=10.0, decoded="float32", missing=(-998,),
                  valid_min=-900, attributes={"long_name": "wave height", "flag": [1, 2], "scale_factor": 9.0}),
             item("deep", values["deep"], float("nan"), layered=True), item("u", values["u"]))
    return make(tmp_path / "d", values, item_storage(storage_type), items)


def stored(path: Path, name: str) -> Array:
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        return np.asarray(file[name][...])


@pytest.mark.rule("N5")
@pytest.mark.parametrize("dataset", TYPES, indirect=True)
@pytest.mark.parametrize("small", [False, True])
def test_stored_values_are_read_back_to_the_bit(
    dataset: Dataset, values: dict[str, Array], tmp_path: Path, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if small:  # many blocks and chunks
        for module in (netcdf_frame, netcdf_grid):
            monkeypatch.setattr(module, "BLOCK_BYTES", 1500)
            monkeypatch.setattr(module, "CHUNK_BYTES", 400)
        monkeypatch.setattr(netcdf_grid, "CHUNK_SIDE", 16)
    path, progress = tmp_path / "out.nc", Progress()
    done = export_netcdf(dataset, str(path), progress=progress)
    assert (done.items, done.timesteps, done.bytes) == (("a", "deep", "u"), 7, path.stat().st_size)
    raw = sum(v.nbytes for v in values.values())
    assert (progress.done, progress.total) == (raw, raw)
    assert same_bits(stored(path, "a"), values["a"][:, 0])
    assert same_bits(stored(path, "deep"), values["deep"])
    assert same_bits(stored(path, "u"), values["u"][:, 0])
    with xr.open_dataset(path, mask_and_scale=False) as opened:
        assert same_bits(opened["deep"].values, values["deep"])
        assert opened["a"].dims == ("time", "y", "x")
        assert opened["deep"].dims == ("time", "depth", "y", "x")
        assert opened["depth"].units == "m"
        assert opened["time"].values.tolist() == [t * HOUR * 1000 for t in range(7)]  # nanoseconds
    with pytest.warns(xr.SerializationWarning, match="multiple fill values"):  # as CF allows
        opened = xr.open_dataset(path)
    with opened:
        decoded = np.where(values["a"][:, 0] <= -900, np.nan, values["a"][:, 0] * 0.5 + 10)
        assert np.array_equal(opened["a"].values[decoded == decoded], decoded[decoded == decoded].astype("f4"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d", "out.nc"]


def test_packing_and_attributes_are_kept_each_of_its_type(dataset: Dataset, tmp_path: Path) -> None:
    export_netcdf(dataset, str(tmp_path / "out.nc"))
    with netCDF4.Dataset(tmp_path / "out.nc") as file:
        a = file["a"]
        assert (a._FillValue, a._FillValue.dtype) == (-999, np.int16)
        assert (a.missing_value, a.missing_value.dtype, a.valid_min) == (-998, np.int16, -900)
        assert (a.scale_factor, a.scale_factor.dtype, a.add_offset) == (0.5, np.float32, 10)
        assert (a.units, a.long_name, a.flag.tolist()) == ("m", "wave height", [1, 2])
        assert a.filters() | {"zlib": True, "shuffle": True, "complevel": 4} == a.filters()
        assert np.isnan(file["deep"]._FillValue)
        assert "_FillValue" not in file["u"].ncattrs()
        assert "scale_factor" not in file["u"].ncattrs()
        assert file.Conventions == "CF-1.8"
        assert file["x"].standard_name == "projection_x_coordinate"


@pytest.mark.parametrize("dataset", TYPES, indirect=True)
def test_items_and_times_can_be_chosen(dataset: Dataset, values: dict[str, Array], tmp_path: Path) -> None:
    done = export_netcdf(dataset, str(tmp_path / "out.nc"), ["#2", "deep", "u"], 2, 6)
    assert (done.items, done.timesteps) == (("u", "deep"), 4)
    assert same_bits(stored(tmp_path / "out.nc", "deep"), np.ascontiguousarray(values["deep"][2:6]))
    assert stored(tmp_path / "out.nc", "time").tolist() == [2, 3, 4, 5]
    with netCDF4.Dataset(tmp_path / "out.nc") as file:
        assert "a" not in file.variables
        assert file["time"].units == "hours since 1970-01-01 00:00:00"


@pytest.mark.parametrize(("calendar", "units", "micros", "values", "written"), [
    ("360_day", "days since 2000-01-01", [10957 * 0, 86_400_000_000], None, "days since 2000-01-01"),
    ("noleap", "hours since 1850-01-01 12:00:00", [0, 3 * HOUR, 3 * HOUR + 60_000_000], None,
     "minutes since 1850-01-01 12:00:00"),
    ("standard", "months since 2000-01-01", [0, 24 * HOUR], [0, 24], "hours since 1970-01-01 00:00:00"),
    ("standard", "", [0, 1], [0, 1], "microseconds since 1970-01-01 00:00:00"),
    ("proleptic_gregorian", "seconds since 1970-01-01T00:00:00Z", [0, 1_500_000], [0, 1500],
     "milliseconds since 1970-01-01T00:00:00Z"),
])
def test_times_are_whole_numbers_in_the_units_of_the_source_where_they_can_be(
    calendar: str, units: str, micros: list[int], values: list[int] | None, written: str
) -> None:
    import cftime

    times = TimeAxis(np.array(micros, np.int64), calendar)
    found, attributes = time_coordinate(times, {"units": units, "long_name": "t", "bounds": "time_bnds"})
    assert found.dtype == np.int64
    assert attributes == {"standard_name": "time", "axis": "T", "long_name": "t", "units": written,
                          "calendar": calendar}
    assert values is None or found.tolist() == values
    dates = cftime.num2date(found, written.replace("T", " ").replace("Z", ""), calendar)
    assert [date.strftime("%Y-%m-%dT%H:%M:%S") for date in dates] == [t.partition(".")[0] for t in times.texts()]


def test_coordinates_bounds_and_grid_mapping_of_every_kind_of_grid(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    x, y = np.arange(5, dtype="f4"), np.arange(4, 0, -1).astype("f8")
    plane = {"longitude": random.random((4, 5)), "latitude": random.random((4, 5)).astype("f4")}
    bounds = {"x_bounds": np.stack([x - 0.5, x + 0.5], 1), "y_bounds": np.stack([y + 0.5, y - 0.5], 1)}
    corners = {"corner_longitude": random.random((4, 5, 4)), "corner_latitude": random.random((4, 5, 4))}
    mapping = {"grid_mapping_name": "rotated_latitude_longitude", "grid_north_pole_latitude": 39.25}
    numbers = {"x": np.arange(5, dtype="i4"), "y": np.arange(4, dtype="i4")}
    own = {"lon": {"units": "degrees_east", "bounds": "lon_vertices"}, "lat": {"units": "degrees_north"}}
    domains = {
        "regular": GridDomain("regular", x, y, "EPSG:4326", **bounds, x_name="lon", y_name="lat"),
        "projected": GridDomain("projected", x, y, "EPSG:25832", x_name="x", y_name="y", **plane,
                                coordinate_attributes={"x": {"units": "km"}, "y": {"units": "km"}, **own}),
        "rotated": GridDomain("rotated", x, y, x_name="rlon", y_name="rlat", grid_mapping=mapping, **plane),
        "curvilinear": GridDomain("curvilinear", **numbers, crs="EPSG:4326", x_name="lon", y_name="lat", **plane,
                                  **corners, coordinate_attributes=own),
    }
    values = smooth(2, 1, 4, 5)
    for kind, domain in domains.items():
        described = Description(domain, TimeAxis(np.array([0, HOUR])), (item("v", values),))
        storage = FolderStorage(tmp_path / kind)
        create_dataset(storage, kind, described, Arrays({"v": values}), Settings(item_storage("MultiTimestep"), (), {}),
                       Progress(), {})
        path = tmp_path / f"{kind}.nc"
        export_netcdf(Dataset.open(storage), str(path))
        assert same_bits(stored(path, "v"), values[:, 0])
        with netCDF4.Dataset(path) as file, xr.open_dataset(path, decode_coords="all") as opened:
            v = file["v"]
            if kind != "curvilinear":
                assert same_bits(np.asarray(file[domain.x_name][...]), x)
                assert same_bits(np.asarray(file[domain.y_name][...]), y)
            else:
                assert v.dimensions == ("time", "y", "x")
                assert set(file.variables) == {"time", "lat", "lon", "lat_bnds", "lon_vertices", "v"}
                assert same_bits(np.asarray(file[file["lon"].bounds][...]), corners["corner_longitude"])
                assert same_bits(np.asarray(file[file["lat"].bounds][...]), corners["corner_latitude"])
            if domain.longitude is not None:
                names = {"projected": "lat lon", "curvilinear": "lat lon"}.get(kind, "latitude longitude")
                assert v.coordinates == names
                assert same_bits(np.asarray(file[names.split()[1]][...]), plane["longitude"])
                assert same_bits(np.asarray(file[names.split()[0]][...]), plane["latitude"])
            if kind == "regular":
                assert same_bits(np.asarray(file[file["lon"].bounds][...]), bounds["x_bounds"])
                assert same_bits(np.asarray(file[file["lat"].bounds][...]), bounds["y_bounds"])
                assert (file["lon"].units, file["lat"].standard_name) == ("degrees_east", "latitude")
                assert "grid_mapping" not in v.ncattrs()
            if kind == "rotated":
                assert file[v.grid_mapping].grid_north_pole_latitude == 39.25
            if kind == "projected":
                assert "25832" in file[v.grid_mapping].crs_wkt
                assert file["x"].units == "km"
            assert opened["v"].shape == (2, 4, 5)


def test_layers_are_shared_and_names_that_netcdf_cannot_hold_are_changed(tmp_path: Path) -> None:
    values = {name: smooth(2, 3, 4, 5) for name in ("group/v", "w", "time", "other", "bare")}
    depth = LayerAxis("depth", (0.0, 10.0, 50.0), "m", "down", "depth", "float32", {
        "auxiliary": {"height": {"values": [1.0, 2.0, 3.0], "attributes": {"units": "m"}}}})
    axes = {"other": dataclasses.replace(depth, values=(1.0, 2.0, 3.0)),
            "bare": LayerAxis("member", (0.0, 1.0, 2.0), dtype="int32")}
    items = tuple(dataclasses.replace(item(name, v), layers=axes.get(name, depth)) for name, v in values.items())
    made = make(tmp_path / "d", values, item_storage("SingleTimestep"), items)
    export_netcdf(made, str(tmp_path / "out.nc"))
    with netCDF4.Dataset(tmp_path / "out.nc") as file:
        assert file["group_v"].dimensions == file["w"].dimensions == ("time", "depth", "y", "x")
        assert file["other"].dimensions[1] == "depth_2"
        assert file["bare"].dimensions[1] == "member"
        assert "member" not in file.variables
        assert same_bits(np.asarray(file["depth"][...]), np.array([0, 10, 50], "f4"))
        assert (file["depth"].units, file["depth"].positive, file["w"].coordinates) == ("m", "down", "height")
        assert file["height"][...].tolist() == [1, 2, 3]
        assert same_bits(np.asarray(file["time_2"][...]), values["time"])


def test_data_without_times_has_no_time(tmp_path: Path) -> None:
    values = smooth(1, 1, 4, 5)
    described = Description(GridDomain("projected", np.arange(5.0), np.arange(4.0)), TimeAxis.none(),
                            (item("v", values, -1),))
    storage = FolderStorage(tmp_path / "d")
    create_dataset(storage, "d", described, Arrays({"v": values}), Settings(item_storage("SingleTimestep"), (), {}),
                   Progress(), {})
    export_netcdf(Dataset.open(storage), str(tmp_path / "out.nc"))
    assert same_bits(stored(tmp_path / "out.nc", "v"), values[0, 0])
    with netCDF4.Dataset(tmp_path / "out.nc") as file:
        assert "time" not in file.dimensions


def test_a_scale_alone_stays_alone(tmp_path: Path) -> None:
    values = smooth(1, 1, 4, 5)
    items = item("s", values, scale=0.5), item("o", values, offset=2.0)
    made = make(tmp_path / "d", {"s": values, "o": values}, item_storage("MultiTimestep"), items)
    export_netcdf(made, str(tmp_path / "out.nc"))
    with netCDF4.Dataset(tmp_path / "out.nc") as file:
        assert (file["s"].ncattrs(), file["o"].ncattrs()) == (["scale_factor"], ["add_offset"])


def test_times_made_of_a_reference_time_are_called_times() -> None:
    told = {"standard_name": "forecast_reference_time", "long_name": "reference", "units": "hours since 1970-01-01"}
    assert time_coordinate(TimeAxis(np.array([HOUR])), told)[1] == {
        "standard_name": "time", "axis": "T", "units": "hours since 1970-01-01", "calendar": "standard"}


@pytest.mark.parametrize("no_data", [0.5, 1000, float("nan")])
def test_a_no_data_value_that_the_type_cannot_hold_is_left_out(tmp_path: Path, no_data: float) -> None:
    values = smooth(1, 1, 4, 5, "uint8")
    made = make(tmp_path / "d", {"v": values}, item_storage("MultiTimestep"), (item("v", values, no_data),))
    export_netcdf(made, str(tmp_path / "out.nc"))
    with netCDF4.Dataset(tmp_path / "out.nc") as file:
        assert "_FillValue" not in file["v"].ncattrs()


def test_attributes_that_netcdf_cannot_hold_are_left_out(tmp_path: Path, values: dict[str, Array]) -> None:
    wild: dict[str, Any] = {"good": "x", "none": None, "nested": {"a": 1}, "empty": [], "mixed": [1, "a"], "flag": True,
                            "a/b": 1, "texts": ["a", "b"], "huge": 2**70, "_NCProperties": "version=2"}
    made = make(tmp_path / "d", {"a": values["a"]}, item_storage("MultiTimestep"),
                (item("a", values["a"], attributes=wild),), attributes={"title": "mine", "history": "h"} | wild)
    export_netcdf(made, str(tmp_path / "out.nc"))
    with netCDF4.Dataset(tmp_path / "out.nc") as file:
        assert set(file["a"].ncattrs()) == {"good", "flag", "texts"}
        assert (file.title, file.history, file.texts) == ("mine", "h", ["a", "b"])


def test_a_file_that_is_there_an_item_or_time_that_is_not_and_a_guard_are_refused(
    dataset: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "out.nc"
    path.write_text("mine")
    with pytest.raises(AlreadyExistsError):
        export_netcdf(dataset, str(path))
    assert path.read_text() == "mine"
    for words in ({"items": ["nope"]}, {"start": 5, "stop": 99}, {"start": 3, "stop": 3}):
        with pytest.raises(NotFoundError):
            export_netcdf(dataset, str(tmp_path / "b.nc"), **words)  # type: ignore[arg-type]
    document = json.loads(dataset.storage.read("dataset.json").data)
    document["ItemStorage"]["LayoutVersion"] = 99
    dataset.storage.write("dataset.json", json.dumps(document).encode())
    with pytest.raises(UnsupportedVersionError):
        export_netcdf(Dataset.open(dataset.storage), str(tmp_path / "b.nc"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d", "out.nc"]


def test_what_ends_early_leaves_no_file(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "out.nc"
    progress = Progress()
    progress.report = lambda: progress.cancel() if progress.done else None  # type: ignore[method-assign]
    with pytest.raises(Cancelled):
        export_netcdf(dataset, str(path), progress=progress)
    dataset.storage.delete("001-deep/L0001/G00000001.dat")
    with pytest.raises(MdError):
        export_netcdf(dataset, str(path))
    assert [p.name for p in tmp_path.iterdir()] == ["d"]


@pytest.mark.parametrize(("asked", "cuts"), [
    ((3, 20, 8, 100), [3, 8, 16, 20]),  # at the borders of groups, wherever the export begins
    ((3, 20, 8, 100, 3), [3, 11, 19, 20]),
    ((3, 20, 8, 4), [3, 7, 8, 12, 16, 20]),
    ((5, 5, 8, 4), [5]),
])
def test_ranges_end_at_multiples_of_their_unit(asked: tuple[int, ...], cuts: list[int]) -> None:
    found = list(ranges(*asked))
    assert [part.start for part in found] == cuts[:-1]
    assert [part.stop for part in found] == cuts[1:]


@pytest.mark.parametrize("dataset", TYPES, indirect=True)
def test_each_stored_page_is_read_once(dataset: Dataset, tmp_path: Path) -> None:
    storage = Watched(dataset.storage)
    watched = Dataset(storage, dataset.metadata, dataset.metadata_version)
    export_netcdf(watched, str(tmp_path / "out.nc"), ["a"])
    read = [name for call, name in storage.calls if call in ("read", "read_range") and name.endswith(".dat")]
    most = {"SingleTimestep": 1, "MultiTimestep": 2 * 3, "TimeSeries": 2}[dataset.metadata.storage.storage_type]
    assert max(read.count(name) for name in read) <= most


MESHES = [kind for kind in KINDS if kind.startswith("mesh")]


def in_source_order(made: Made, name: str) -> Array:
    """(time, layer, value) as the file must hold it: z-levels by node, sigma layers with fill where there are none."""
    (described,) = (it for it in made.description.items if it.name == name)
    values, domain = made.values[name], made.mesh
    layers = len(described.layers or ())
    if described.value_kind == "zlevel":
        return values[:, 0, 0].reshape(len(values), domain.nodes, layers).transpose(0, 2, 1)
    if described.value_kind == "sigma":
        assert domain.layer_counts is not None
        counts = np.empty(domain.elements, np.int64)
        counts[domain.element_number] = domain.layer_counts
        cube = np.full((len(values), layers, domain.elements), -7, values.dtype)
        at = 0
        for face, count in enumerate(counts):
            cube[:, :count, face] = values[:, 0, 0, at:at + count]
            at += count
        return cube
    return values[:, :, 0] if described.layers else values[:, 0, 0]


@pytest.mark.rule("N5")
@pytest.mark.parametrize("kind", MESHES)
@pytest.mark.parametrize("storage_type", TYPES)
@pytest.mark.parametrize("small", [False, True])
def test_meshes_are_ugrid_in_the_order_of_their_source(
    kind: str, storage_type: StorageType, small: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = kind_of(kind)
    if storage_type not in made.layouts:
        pytest.skip("this kind is not stored so")
    if small:
        monkeypatch.setattr(netcdf_mesh, "BLOCK_BYTES", 5000)
    compression = "ZstdAuto" if storage_type in made.compressed else "None"
    dataset = make_kind(tmp_path / "d", made, storage_type, compression)
    path = tmp_path / "out.nc"
    export_netcdf(dataset, str(path))
    x, y, corners = _source_parts(made.mesh)
    unused = np.setdiff1d(np.arange(x.size), corners[corners >= 0])
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        topology = file["mesh2d"]
        assert (topology.cf_role, topology.topology_dimension) == ("mesh_topology", 2)
        assert int(topology[...]) == 0  # not what was in memory: the same dataset gives the same file
        names = topology.node_coordinates.split()
        assert same_bits(np.asarray(file[names[0]][...]), x)
        assert same_bits(np.asarray(file[names[1]][...]), y)
        connectivity = file[topology.face_node_connectivity]
        assert (connectivity.start_index, connectivity._FillValue) == (0, -1)
        assert np.array_equal(connectivity[...], corners)
        assert same_bits(np.asarray(file["mesh2d_node_z"][...]), x * -0.5)
        for described in made.description.items:
            variable = file[described.name]
            of_nodes = described.location == "node"
            assert (variable.mesh, variable.location) == ("mesh2d", "node" if of_nodes else "face")
            assert ("mesh2d_nNodes" if of_nodes else "mesh2d_nFaces") in variable.dimensions
            found, expected = np.asarray(variable[...]), in_source_order(made, described.name)
            if described.value_kind == "zlevel":  # a node of no element holds no value
                found, expected = np.delete(found, unused, 2), np.delete(expected, unused, 2)
            assert same_bits(np.ascontiguousarray(found), np.ascontiguousarray(expected))
    with xr.open_dataset(path) as opened:
        assert "UGRID" in opened.Conventions


def _source_parts(domain: MeshDomain) -> tuple[Array, Array, Array]:
    x, y = np.empty_like(domain.node_x), np.empty_like(domain.node_y)
    x[domain.node_number], y[domain.node_number] = domain.node_x, domain.node_y
    corners = np.empty_like(domain.element_nodes)
    corners[domain.element_number] = np.where(domain.element_nodes < 0, -1, domain.node_number[domain.element_nodes])
    return x, y, corners


@pytest.mark.rule("N5")
@pytest.mark.parametrize("storage_type", TYPES)
def test_vectors_of_a_grid_have_a_dimension_of_components(storage_type: StorageType, tmp_path: Path) -> None:
    made = kind_of("grid-vector")
    dataset = make_kind(tmp_path / "d", made, storage_type)
    export_netcdf(dataset, str(tmp_path / "out.nc"))
    assert same_bits(stored(tmp_path / "out.nc", "v"), np.ascontiguousarray(made.values["v"][:, 0]))
    with netCDF4.Dataset(tmp_path / "out.nc") as file:
        assert file["v"].dimensions == ("time", "y", "x", "v_component")
