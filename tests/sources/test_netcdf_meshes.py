"""Meshes as UGRID and the models write them: which nodes and elements, where the values lie, what is left out."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import Hint, MeshDomain
from mdstudio.sources.registry import open_source
from tests.sources.netcdf_builders import LAT, LON, add, add_axes, new_file, numbered, whole
from tests.sources.netcdf_meshes import (
    ELEMENTS,
    METRES_X,
    METRES_Y,
    TOPOLOGY,
    X,
    Y,
    add_time,
    add_topology,
    add_values,
    corners,
    described,
    elements_of,
    mesh_file,
    mesh_of,
    rings_of,
)

NAN = np.nan
TABLES: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
    "from-0": (corners(0, -1), {"_FillValue": np.int32(-1), "start_index": np.int32(0)}),
    "from-1": (corners(1, -999), {"_FillValue": np.int32(-999), "start_index": np.int32(1)}),
    "0-is-no-node-from-1": (corners(1, 0), {"start_index": np.int32(1)}),
    "minus-1-is-no-node-from-1": (corners(1, -1), {"start_index": np.int32(1)}),
    "never-written": (corners(0, -2147483647), {}),
    "missing-value": (corners(0, 99), {"missing_value": np.int32(99)}),
    "start-not-told-from-1": (corners(1, -1), {"_FillValue": np.int32(-1)}),
    "start-as-float": (corners(1, -1), {"_FillValue": np.int32(-1), "start_index": 1.0}),
    "doubles": (corners(1, NAN, "f8"), {"_FillValue": NAN, "start_index": np.int32(1)}),
    "last-corner-repeated": (corners(0, 6), {"start_index": np.int32(0)}),
    "first-corner-repeated": (corners(0, 2), {"start_index": np.int32(0)}),
    "doubles-never-written": (corners(0, 9.969209968386869e36, "f8"), {}),
    "start-is-no-number": (corners(0, -1), {"_FillValue": np.int32(-1), "start_index": NAN}),
    "int64": (corners(1, -1, "i8"), {"_FillValue": np.int64(-1), "start_index": np.int64(1)}),
    "unsigned": (corners(0, 4294967295, "u4"), {"_FillValue": np.uint32(4294967295)}),
}


@pytest.mark.parametrize("name", TABLES)
def test_corners_are_read_however_they_are_counted_and_filled_up(name: str, tmp_path: Path) -> None:
    mesh = mesh_of(mesh_file(tmp_path / "a.nc", *TABLES[name]))
    assert elements_of(mesh) == list(ELEMENTS)
    assert mesh.node_x[np.argsort(mesh.node_number)].tolist() == X.tolist()
    assert (mesh.geographic, mesh.crs) == (True, "EPSG:4326")


@pytest.mark.parametrize("told", [True, False])
def test_a_table_may_be_the_other_way_round(told: bool, tmp_path: Path) -> None:
    topology = TOPOLOGY | ({"face_dimension": "face"} if told else {})
    table = corners(0, -1)
    path = mesh_file(tmp_path / "a.nc", table.T.copy(), {"_FillValue": np.int32(-1)}, topology=topology,
                     dims=("corner", "face"))
    assert elements_of(mesh_of(path)) == list(ELEMENTS)


def damaged(name: str) -> tuple[np.ndarray, dict[str, Any], dict[str, Any]]:
    table, attributes = corners(0, -1), {"_FillValue": np.int32(-1), "start_index": np.int32(0)}
    more: dict[str, Any] = {}
    if name == "too many":
        table[1, 2] = 7
    elif name == "from 0 as from 1":
        attributes["start_index"] = np.int32(1)
    elif name == "negative":
        table[1, 2] = -5
    elif name == "two corners":
        table[2] = (2, 3, -1, -1)
    elif name == "gap":
        table[0] = (0, -1, 5, 4)
    elif name == "fractions":
        table, attributes = table + 0.5, {}
    elif name == "nowhere":
        more = {"x": np.where(np.arange(7) == 2, NAN, X)}
    elif name == "no elements":
        table[:] = -1
    return table, attributes, more


@pytest.mark.parametrize(("name", "words"), [
    ("too many", "element #1 of 'face_nodes' has the node 7; the nodes are 0 .. 6"),
    ("from 0 as from 1", "-1 between their corners, the first is #0"),
    ("negative", "element #1 of 'face_nodes' has the node -5; the nodes are 0 .. 6"),
    ("two corners", "1 elements have fewer than three corners, the first is #2"),
    ("gap", "-1 between their corners, the first is #0"),
    ("fractions", "'face_nodes' has node numbers that are no whole numbers"),
    ("nowhere", "2 elements have a corner without coordinates, the first is #1"),
    ("no elements", "'face_nodes' has no elements"),
])
def test_a_damaged_mesh_is_refused_with_what_and_where(name: str, words: str, tmp_path: Path) -> None:
    table, attributes, more = damaged(name)
    path = mesh_file(tmp_path / "a.nc", table, attributes, **more)
    with pytest.raises(SourceError) as error:
        described(path)
    assert words in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(("change", "words"), [
    ({"node_coordinates": "lost_x lost_y"}, "whose nodes have no coordinates: it names lost_x lost_y, of which"),
    ({"node_coordinates": "node_x lost_y"}, "of which the file has one"),
    ({"face_node_connectivity": "lost"}, "whose elements are not there: it names 'lost', which is no table in"),
    ({"face_node_connectivity": None}, "whose elements are not there"),
    ({"topology_dimension": np.int32(1)}, "a network of lines without elements"),
])
def test_a_topology_that_lacks_something_says_what(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    topology = {k: v for k, v in (TOPOLOGY | change).items() if v is not None}
    with pytest.raises(SourceError) as error:
        described(mesh_file(tmp_path / "a.nc", topology=topology))
    assert words in str(error.value)


def test_values_on_nodes_and_elements_are_one_dataset_and_edges_are_told(tmp_path: Path) -> None:
    path = mesh_file(tmp_path / "a.nc")
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        assert [(i.name, i.location) for i in description.items] == [("v", "cell"), ("n", "node")]
        assert whole(source, description, "v").tolist() == np.arange(9.0).reshape(3, 1, 3).tolist()
        assert whole(source, description, "n").shape == (3, 1, 7)
        assert source.read(description, "n", slice(1, 2), -1, slice(0, 1), slice(2, 5)).tolist() == [[[9, 10, 11]]]
    import netCDF4
    with netCDF4.Dataset(path, "a") as dataset:
        dataset["mesh"].setncatts({"edge_node_connectivity": "edge_nodes", "face_coordinates": "face_x face_y"})
        add(dataset, "edge_nodes", ["edge", "two"], np.zeros((9, 2), "i4"), {"cf_role": "edge_node_connectivity"})
        add(dataset, "q", ["time", "edge"], np.zeros((3, 9)), {"mesh": "mesh", "location": "edge"})
        add(dataset, "face_x", ["face"], np.zeros(3), LON)
        add(dataset, "face_y", ["face"], np.zeros(3), LAT)
    (description,) = described(path)
    assert [i.name for i in description.items] == ["v", "n"]
    left = {d.what: (d.reason, d.count) for d in description.dropped}
    assert left == {
        "q": ("on the edges of a mesh: values of nodes and elements are kept", 1),
        "face_x, face_y": ("coordinates beside those of the nodes are not kept", 2),
        "edge_nodes": ("neighbours, edges and the like of a mesh are not kept", 1)}


def test_packed_values_of_a_mesh_keep_their_codes_limits_and_hints_as_those_of_a_grid(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_topology(dataset)
        add_time(dataset)
        raw = np.array([[1, 2, -99], [-1, 5, 6], [7, 8, 9]], "i2")
        add(dataset, "packed", ["time", "face"], raw, {
            "_FillValue": np.int16(-99), "missing_value": np.int16(-1), "scale_factor": 0.01, "add_offset": 20.0,
            "valid_min": np.int16(0), "units": "degC", "mesh": "mesh", "location": "face"})
        add(dataset, "unsigned", ["time", "face"], raw.astype("i1"), {"_Unsigned": "true"})
        add(dataset, "plain", ["time", "face"], raw / np.float32(100), {"least_significant_digit": np.int32(2)})
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        packed, unsigned, plain = description.items
        assert (packed.dtype, packed.no_data, packed.missing, packed.scale, packed.offset, packed.valid_min) == (
            "int16", -99, (-1,), 0.01, 20.0, 0)
        assert (unsigned.dtype, plain.dtype) == ("uint8", "float32")
        assert description.hints["plain"][0] == Hint(1, 2.0**-7)
        assert whole(source, description, "packed")[:, 0].tolist() == raw.tolist()
        assert whole(source, description, "unsigned")[0, 0].tolist() == [1, 2, 157]


def test_layers_are_found_by_their_coordinate_or_their_dimensions_name(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_topology(dataset)
        add_time(dataset)
        add(dataset, "mesh_layer_sigma", ["mesh_nLayers"], np.array([-0.75, -0.25]),
            {"standard_name": "ocean_sigma_coordinate", "positive": "up"})
        values = numbered(3, 3, 2, dtype="f4")
        add(dataset, "sal", ["time", "face", "mesh_nLayers"], values, {"mesh": "mesh", "location": "face"})
        velocity = numbered(3, 3, 4, 2, dtype="f4")
        add(dataset, "hvel", ["time", "face", "nVgrid_layers", "two"], velocity, {"mesh": "mesh", "location": "face"})
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        sal, *hvel = description.items
        assert sal.layers is not None
        assert (sal.layers.values, sal.layers.positive, sal.layers.meaning) == ((-0.75, -0.25), "up", "sigma")
        assert [(i.name, len(i.layers or ())) for i in hvel] == [("hvel[two=0]", 4), ("hvel[two=1]", 4)]
        assert whole(source, description, "sal", 1)[:, 0].tobytes() == np.ascontiguousarray(values[:, :, 1]).tobytes()
        assert whole(source, description, "hvel[two=1]", 2)[:, 0].tolist() == velocity[:, :, 2, 1].tolist()


def test_sigma_layers_that_differ_from_place_to_place_are_numbered_and_keep_what_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    sigma = np.array([[-0.2, -0.3], [-0.7, -0.8]], "f4")[:, [0, 1, 0, 1, 0, 1, 0]]
    with new_file(path) as dataset:
        add(dataset, "lon", ["node"], X, LON)
        add(dataset, "lat", ["node"], Y, LAT)
        add(dataset, "nv", ["three", "nele"], np.array([[1, 2, 3], [2, 3, 4], [5, 6, 7]], "i4"))
        add(dataset, "siglay", ["siglay", "node"], sigma, {"standard_name": "ocean_s_coordinate", "positive": "up"})
        add(dataset, "temp", ["siglay", "node"], numbered(2, 7, dtype="f4"))
    (description,) = described(path)
    assert [i.name for i in description.items] == ["siglay", "temp"]
    layers = description.items[1].layers
    assert layers is not None
    assert (layers.values, layers.meaning) == ((0.0, 1.0), "index")
    assert layers.attributes["standard_name"] == "ocean_s_coordinate"


def test_several_meshes_and_a_grid_are_a_description_each(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_axes(dataset)
        add(dataset, "g", ["time", "lat", "lon"], numbered(3, 4, 5))
        for prefix, shift in (("one_", 0), ("two_", 10)):
            add_topology(dataset, x=X + shift, prefix=prefix)
            add_values(dataset, f"{prefix}v", dim=f"{prefix}face", mesh=f"{prefix}mesh")
        add(dataset, "net", [], np.int32(0), {"cf_role": "mesh_topology", "topology_dimension": np.int32(1),
                                              "node_coordinates": "net_x net_y"})
        add(dataset, "net_x", ["net_node"], np.arange(4.0), LON)
        add(dataset, "net_y", ["net_node"], np.arange(4.0), LAT)
        add(dataset, "flow", ["time", "net_node"], np.zeros((3, 4)), {"mesh": "net", "location": "node"})
    found = described(path)
    assert [(d.name, [i.name for i in d.items]) for d in found] == [
        ("lat-lon", ["g"]), ("one_mesh", ["one_v"]), ("two_mesh", ["two_v"])]
    assert [type(d.domain) is MeshDomain for d in found] == [False, True, True]
    assert ("flow", "on 'net', a network of lines without elements") in {(d.what, d.reason) for d in found[0].dropped}


def test_meshes_over_the_same_dimensions_are_told_apart_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_topology(dataset)
        add_time(dataset)
        add(dataset, "other", [], np.int32(0), TOPOLOGY | {"node_coordinates": "other_x other_y"})
        add(dataset, "other_x", ["node"], X * 2, LON)
        add(dataset, "other_y", ["node"], Y, LAT)
        add_values(dataset, "a", mesh="mesh")
        add_values(dataset, "b", mesh="other")
    found = described(path)
    assert [(d.name, [i.name for i in d.items]) for d in found] == [("mesh", ["a"]), ("other", ["b"])]
    assert [float(d.domain.node_x.max()) for d in found] == [3.0, 6.0]  # type: ignore[union-attr]


def test_a_projected_mesh_keeps_its_projection(tmp_path: Path) -> None:
    for number, attributes in enumerate(({"epsg_code": "EPSG:28992"}, {"grid_mapping_name": "Unknown projected",
                                                                     "EPSG_code": "EPGS:28992"})):
        path = tmp_path / f"{number}.nc"
        with new_file(path) as dataset:
            add_topology(dataset, x=X * 1000, y=Y * 1000, axes=(METRES_X, METRES_Y))
            add_time(dataset)
            add_values(dataset)
            add(dataset, "projected_coordinate_system", [], np.int32(0), attributes)
        mesh = mesh_of(path)
        assert "Amersfoort / RD New" in mesh.crs
        assert (mesh.geographic, mesh.x_unit) == (False, "m")
        assert mesh.attributes["grid_mapping"] == attributes


SQUARE = np.array([[0.0, 1, 1, 0], [1, 2, 2, 1], [359, 360, 360, 359]])


def bounds_file(path: Path, x: np.ndarray, y: np.ndarray, units: tuple[str, str] = ("degrees_east", "degrees_north"),
                fill: float | None = None) -> Path:
    with new_file(path) as dataset:
        extra = {} if fill is None else {"_FillValue": fill}
        add(dataset, "clon", ["cell"], x[:, 0].copy(), {"standard_name": "longitude", "units": units[0],
                                                        "bounds": "clon_bnds"})
        add(dataset, "clat", ["cell"], y[:, 0].copy(), {"standard_name": "latitude", "units": units[1],
                                                        "bounds": "clat_bnds"})
        add(dataset, "clon_bnds", ["cell", "nv"], x, extra)
        add(dataset, "clat_bnds", ["cell", "nv"], y, extra)
        add(dataset, "t", ["cell"], np.arange(len(x), dtype="f4"), {"coordinates": "clon clat"})
    return path


def test_cells_given_by_their_corners_share_the_nodes_that_are_equal_to_the_bit(tmp_path: Path) -> None:
    y = np.array([[0.0, 0, 1, 1]] * 3)
    mesh = mesh_of(bounds_file(tmp_path / "a.nc", SQUARE, y))
    assert (mesh.elements, mesh.nodes) == (3, 8)  # 0 and 360 are one place on a globe: the first one's bits stay
    rings = rings_of(mesh)
    assert rings[:2] == [list(zip(x, y[0], strict=True)) for x in SQUARE[:2].tolist()]
    assert rings[2] == [(359, 0), (0, 0), (0, 1), (359, 1)]
    nearly = SQUARE.copy()
    nearly[1, 0] = np.nextafter(1.0, 2)
    assert mesh_of(bounds_file(tmp_path / "b.nc", nearly, y)).nodes == 9


def test_corners_that_are_filled_up_or_in_radians(tmp_path: Path) -> None:
    x, y = np.array([[0.0, 1, 1, -1], [1, 2, 2, 2]]), np.array([[0.0, 0, 1, -1], [0, 0, 1, 1]])
    filled = mesh_of(bounds_file(tmp_path / "a.nc", x, y, fill=-1.0))
    assert [len(r) for r in rings_of(filled)] == [3, 3]
    radians = mesh_of(bounds_file(tmp_path / "b.nc", np.radians(SQUARE), np.radians([[0.0, 0, 1, 1]] * 3),
                                  ("radian", "radian")))
    assert (radians.nodes, radians.x_unit) == (8, "degrees")
    np.testing.assert_allclose(rings_of(radians)[1], [(1, 0), (2, 0), (2, 1), (1, 1)], atol=1e-12)


@pytest.mark.parametrize(("table", "x", "y", "start"), [
    ("element", "x", "y", 1), ("volumes", "x", "y", 0), ("cell_node", "node_X", "node_Y", 1),
    ("SCHISM_hgrid_face_nodes", "SCHISM_hgrid_node_x", "SCHISM_hgrid_node_y", 1), ("vertex_of_cell", "vlon", "vlat", 1),
])
def test_models_are_known_by_their_names_without_a_topology(table: str, x: str, y: str, start: int, tmp_path: Path
                                                           ) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add(dataset, x, ["points"], X)
        add(dataset, y, ["points"], Y)
        add(dataset, table, ["cells", "k"], corners(start, start - 1))
        add(dataset, "v", ["cells"], np.arange(3.0))
        add(dataset, "n", ["points"], np.arange(7.0))
    (description,) = described(path)
    assert [(i.name, i.location) for i in description.items] == [("v", "cell"), ("n", "node")]
    assert isinstance(description.domain, MeshDomain)
    assert elements_of(description.domain) == list(ELEMENTS)


def test_fvcom_in_metres_leaves_longitudes_of_nought_aside(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        for name, values, attributes in (("lon", X * 0, LON), ("lat", X * 0, LAT), ("x", X, {"units": "meters"}),
                                         ("y", Y, {"units": "meters"})):
            add(dataset, name, ["node"], values, attributes)
        add(dataset, "nv", ["three", "nele"], np.array([[1, 2, 3], [2, 3, 4], [5, 6, 7]], "i4"))
        add(dataset, "h", ["node"], X.astype("f4"))
    mesh = mesh_of(path)
    assert (mesh.geographic, mesh.x_name, mesh.node_x.max()) == (False, "x", 3.0)


def test_anuga_counts_seconds_from_its_start_and_metres_from_its_corner(tmp_path: Path) -> None:
    path = tmp_path / "a.sww"
    with new_file(path, "NETCDF3_CLASSIC") as dataset:
        dataset.setncatts({"starttime": 86400, "xllcorner": 500.0, "yllcorner": 7000.0})
        add(dataset, "x", ["points"], X.astype("f4"))
        add(dataset, "y", ["points"], Y.astype("f4"))
        add(dataset, "volumes", ["cells", "three"], np.array([[0, 1, 5], [1, 2, 6]], "i4"))
        add(dataset, "time", ["steps"], np.array([0.0, 60]))
        add(dataset, "stage", ["steps", "points"], np.zeros((2, 7), "f4"))
    (description,) = described(path)
    assert description.times.texts() == ["1970-01-02T00:00:00", "1970-01-02T00:01:00"]
    assert description.domain.node_x.max() == 503.0  # type: ignore[union-attr]


def test_files_of_one_mesh_are_joined_by_time_and_others_refused(tmp_path: Path) -> None:
    first = mesh_file(tmp_path / "1.nc", hours=(0, 1))
    second = mesh_file(tmp_path / "2.nc", hours=(2, 3))
    (description,) = described(second, first)
    assert len(description.times) == 4
    moved = mesh_file(tmp_path / "3.nc", hours=(4, 5), x=X + np.where(np.arange(7) == 3, 1e-9, 0))
    with pytest.raises(SourceError, match="the coordinates of the nodes differ"):
        described(first, moved)
    table = corners(0, -1)
    table[[0, 1]] = table[[1, 0]]
    swapped = mesh_file(tmp_path / "4.nc", table, {"_FillValue": np.int32(-1)}, hours=(6, 7))
    with pytest.raises(SourceError, match="differ"):
        described(first, swapped)


def values_only(path: Path, hours: tuple[int, ...], nodes: int = 7) -> Path:
    with new_file(path) as dataset:
        add_time(dataset, hours)
        add_values(dataset, "n", len(hours), "node", nodes)
    return path


def test_a_mesh_in_a_file_of_its_own_is_taken_from_there(tmp_path: Path) -> None:
    mesh = tmp_path / "mesh.nc"
    with new_file(mesh) as dataset:
        add_topology(dataset)
    later, first = values_only(tmp_path / "b.nc", (3, 4)), values_only(tmp_path / "a.nc", (0, 1))
    with pytest.raises(SourceError, match="on the mesh 'mesh', which the file has not"):
        described(first)
    with open_source([str(p) for p in (later, mesh, first)]) as source:
        (description,) = source.descriptions()
        assert len(description.times) == 4
        assert whole(source, description, "n")[3, 0].tolist() == list(range(7, 14))
        assert str(mesh) in {d.what for d in source.dropped()}
    with pytest.raises(SourceError, match="on the mesh 'mesh', but neither over its nodes nor its elements"):
        described(values_only(tmp_path / "c.nc", (0, 1), nodes=8), mesh)
    with pytest.raises(SourceError, match="on the mesh 'mesh'"):
        described(first, later)


def test_a_file_with_a_mesh_and_times_lends_the_mesh_and_stays(tmp_path: Path) -> None:
    first = tmp_path / "a.nc"
    with new_file(first) as dataset:
        add_topology(dataset)
        add_time(dataset, (0, 1))
        add_values(dataset, "n", 2, "node", 7)
    (description,) = described(first, values_only(tmp_path / "b.nc", (2, 3)))
    assert len(description.times) == 4


def test_a_mesh_that_moves_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_time(dataset)
        add(dataset, "mesh", [], np.int32(0), TOPOLOGY)
        for name, values, attributes in (("node_x", X, LON), ("node_y", Y, LAT)):
            add(dataset, name, ["time", "node"], np.stack([values] * 3), attributes)
        add(dataset, "face_nodes", ["face", "corner"], corners(0, -1), {"cf_role": "face_node_connectivity"})
        add_values(dataset)
    with pytest.raises(SourceError, match="are not one number a node"):
        described(path)


def test_a_step_is_read_without_the_rest_of_the_variable(tmp_path: Path) -> None:
    path, nodes, steps = tmp_path / "a.nc", 40_000, 100
    with new_file(path) as dataset:
        strip = np.arange(nodes - 2)
        x, y = np.arange(nodes) // 2 * 1e-3, 50.0 + np.arange(nodes) % 2
        add_topology(dataset, np.stack([strip, strip + 1, strip + 2], axis=1).astype("i4"), {}, x=x, y=y)
        add_time(dataset, range(steps))
        add(dataset, "n", ["time", "node"], np.random.default_rng(1).random((steps, nodes)),
            chunksizes=(1, nodes), zlib=True, complevel=1)
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        tracemalloc.start()
        try:
            for step in range(steps):
                source.read(description, "n", slice(step, step + 1), -1, slice(0, 1), slice(0, nodes))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 4 * 8 * nodes
