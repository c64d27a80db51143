"""Every real mesh imports, and what was imported is to the bit what netCDF4 itself reads from the file.

The table says, independently of the source's own judgement, what each file holds: where its nodes and corners are, and
per dataset the dimension of time ("" where there is none) and the variables. A dimension left over is the layers.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import Array, Item, MeshDomain
from tests.cli.conftest import Run

pytestmark = pytest.mark.rule("W4")


@dataclass(frozen=True)
class Mesh:
    """Names of a file's parts: corners as node numbers from `start` in `table`, or as coordinates in `bounds`."""

    parts: tuple[tuple[str, str, str], ...]  # (name, time dimension, variables)
    node_dim: str = ""
    face_dim: str = ""
    x: str = ""
    y: str = ""
    table: str = ""
    start: int = 0
    fill: int | None = None
    bounds: tuple[str, str] | None = None
    radians: bool = False
    mesh_file: str = ""


def _fesom(item: str) -> Mesh:
    return Mesh((("", "time", item),), "nod2", "elem", "lon", "lat", "face_nodes", 1, mesh_file="fesom.mesh.diag.nc")


def _lfric(levels: str, item: str) -> Mesh:
    mesh = f"Mesh2d_{levels}_levels"
    return Mesh((("", "time_counter", item),), f"n{mesh}_node", f"n{mesh}_face", f"{mesh}_node_x", f"{mesh}_node_y",
                f"{mesh}_face_nodes", 0)


FILES = {
    "ADCIRC_BG_20190910_1t.nc": Mesh(
        (("time", "time", "ssh u v"), ("static", "", "bathymetry")),
        "node", "nele", "longitude", "latitude", "element", 1),
    "ADH_SanDiego.nc": Mesh(
        (("time", "time", "depth"), ("static", "", "node elevation")),
        "node", "face", "node_x", "node_y", "face_node_connectivity", 0),
    "cairns.sww": Mesh(
        (("time", "number_of_timesteps", "stage"), ("static", "", "z")),
        "number_of_points", "number_of_volumes", "x", "y", "volumes", 0),
    "fesom.mesh.diag.nc": Mesh(
        (("", "", "elem_area nlevels_nod2D nlevels nod_in_elem2D_num nod_part elem_part zbar_e_bottom zbar_n_bottom "
          "nod_area nod_in_elem2D gradient_sca_x gradient_sca_y"),), "nod2", "elem", "lon", "lat", "face_nodes", 1),
    "icon-test.nc": Mesh(
        (("time", "time", "t2m u v"), ("static", "", "t2m_2d u_2d v_2d")),
        "", "cell", bounds=("clon_bnds", "clat_bnds"), radians=True),
    "lfric_ngvat_2D_72t_face_half_levels_main_conv_rain.nc": _lfric("half", "conv_rain"),
    "lfric_ngvat_3D_1t_full_level_face_grid_main_area_fraction_unit1.nc": _lfric("full", "area_fraction"),
    "results_3di.nc": Mesh(
        (("time", "time", "Mesh2D_s1 Mesh2D_vol Mesh2D_su Mesh2D_ucx Mesh2D_ucy Mesh2D_rain Mesh2D_q_lat"),
         ("static", "", "Mesh2DNode_id Mesh2DFace_zcc Mesh2DFace_sumax Mesh2DNode_type")),
        "", "nMesh2D_nodes", bounds=("Mesh2DContour_x", "Mesh2DContour_y")),
    "simplebox_hex7_map.nc": Mesh(
        (("time", "time", "mesh2d_Numlimdt mesh2d_s1 mesh2d_waterdepth mesh2d_s0 mesh2d_ucx mesh2d_ucy mesh2d_taus "
          "mesh2d_czs"), ("static", "", "mesh2d_node_z mesh2d_flowelem_ba mesh2d_flowelem_bl")),
        "nmesh2d_node", "nmesh2d_face", "mesh2d_node_x", "mesh2d_node_y", "mesh2d_face_nodes", 1, -999),
    "sst.fesom.1948.nc": _fesom("sst"),
    "temp.fesom.1948.nc": _fesom("temp"),
    "tri_grid_example-FVCOM.nc": Mesh(
        (("time", "time", "zeta temp salinity u v uwind_speed vwind_speed wet_nodes wet_cells"),
         ("static", "", "siglay siglev h")), "node", "nele", "lon", "lat", "nv", 1),
}
REFUSED = {  # file -> words of the refusal
    "quad_and_triangle.nc": "holds a mesh (Mesh2) and no values on it",
    "sst.fesom.1948.nc": "'sst' is on the mesh 'fesom_mesh', which the file has not. Name the file that has the mesh",
    "temp.fesom.1948.nc": "'temp' is on the mesh 'fesom_mesh', which the file has not",
}
ELSEWHERE = {"small.dfsu"}  # formats of other sources
STORAGE_TYPES = ("SingleTimestep", "MultiTimestep", "TimeSeries")
LARGE = ("ADH", "ADCIRC", "fesom", "lfric_ngvat_2D", "simplebox", "tri_grid")  # made in one storage type a part
NUMBERED = [(file, part) for file, mesh in FILES.items() for part in mesh.parts]


def cases() -> Iterator[tuple[str, tuple[str, str, str], str]]:
    for number, (file, part) in enumerate(NUMBERED):
        for storage_type in STORAGE_TYPES[number % 3:][:1] if file.startswith(LARGE) else STORAGE_TYPES:
            yield file, part, storage_type


def test_the_table_names_every_file(shared_data: Path) -> None:
    assert {p.name for p in (shared_data / "mesh").iterdir()} == FILES.keys() | REFUSED.keys() | ELSEWHERE


@pytest.mark.parametrize(("file", "words"), REFUSED.items())
def test_what_cannot_be_imported_says_why(file: str, words: str, shared_data: Path, tmp_path: Path, run: Run) -> None:
    outcome = run("import", shared_data / "mesh" / file, tmp_path / "d", "--quiet")
    assert outcome.status == 1
    assert words in outcome.err
    assert len(outcome.err.splitlines()) == 1


@contextmanager
def original_of(path: Path) -> Iterator[Any]:
    with netCDF4.Dataset(path) as original:
        original.set_auto_maskandscale(False)
        yield original


def imported(file: str, part: str, target: Path, shared_data: Path, run: Run, *words: str) -> Dataset:
    mesh = FILES[file]
    folder = shared_data / "mesh"
    sources = [folder / file, *([folder / mesh.mesh_file] if mesh.mesh_file else [])]
    outcome = run("import", *sources, target, "--quiet", "--json", *(["--grid", part] if part else []), *words)
    assert (outcome.status, outcome.err) == (0, "")
    return Dataset.open(str(target))


@pytest.mark.parametrize(("file", "part", "storage_type"), list(cases()),
                         ids=lambda v: v[:24] if isinstance(v, str) else v[0])
def test_every_item_and_time_is_to_the_bit_what_netcdf4_reads(
    file: str, part: tuple[str, str, str], storage_type: str, shared_data: Path, tmp_path: Path, run: Run
) -> None:
    name, time_dim, variables = part
    dataset = imported(file, name, tmp_path / "d", shared_data, run, "--set", "Compression=ZstdAuto", "--set",
                       f"StorageType={storage_type}")
    assert dataset.metadata.storage.storage_type == storage_type
    assert dataset.metadata.storage.compression == "ZstdAuto"
    assert [i.name for i in dataset.metadata.items] == variables.split()
    domain, mesh = dataset.domain, FILES[file]
    assert isinstance(domain, MeshDomain)
    with original_of(shared_data / "mesh" / file) as original:
        for item in dataset.metadata.items:
            _check_item(dataset, item, original[item.name], mesh, time_dim)
        if not mesh.mesh_file:
            _check_corners(domain, original, mesh)
    if mesh.mesh_file:
        with original_of(shared_data / "mesh" / mesh.mesh_file) as original:
            _check_corners(domain, original, mesh)


def _check_item(dataset: Dataset, item: Item, variable: Any, mesh: Mesh, time_dim: str) -> None:
    domain = dataset.domain
    assert isinstance(domain, MeshDomain)
    dim = mesh.node_dim if item.location == "node" else mesh.face_dim
    numbers = domain.node_number if item.location == "node" else domain.element_number
    values = _in_order(variable, dim, time_dim)
    assert values.shape == (len(dataset.metadata.times), item.layer_count, numbers.size)
    for at, layer in enumerate(item.layer_ids()):
        stored = dataset.block(item.name, slice(0, len(values)), layer, slice(0, 1), slice(0, numbers.size))
        assert stored.dtype == np.dtype(item.dtype).newbyteorder("<")
        assert _bits(stored[:, 0]) == _bits(values[:, at][:, numbers]), f"{item.name}, layer {layer}"


def _in_order(variable: Any, dim: str, time_dim: str) -> Array:
    """(time, layer, place) of the whole variable, whatever its own order; absent ones have length 1."""
    dims = list(variable.dimensions)
    layers = [d for d in dims if d not in (dim, time_dim)]
    assert dim in dims
    assert len(layers) <= 1
    wanted = [*([time_dim] if time_dim in dims else []), *layers, dim]
    values = np.asarray(variable[...]).transpose([dims.index(d) for d in wanted])
    if not layers:
        values = np.expand_dims(values, -2)
    return values if time_dim in dims else values[None]


def _bits(values: Array) -> bytes:
    return values.astype(values.dtype.newbyteorder("<")).tobytes()


def _check_corners(domain: MeshDomain, original: Any, mesh: Mesh) -> None:
    """Each element has the coordinates of its corners in turn, to the bit those of the file."""
    expected = _rings(original, mesh)
    assert domain.elements == len(expected)
    for row, number in zip(domain.element_nodes, domain.element_number.tolist(), strict=True):
        at = row[row >= 0]
        found = np.stack([domain.node_x[at], domain.node_y[at]], axis=1)
        if mesh.radians:  # nodes whose longitudes differ by a whole turn are one
            turns = (found - expected[number]) / 360
            np.testing.assert_allclose(turns, np.round(turns), atol=1e-12)
            assert not turns[:, 1].any()
        else:
            assert np.array_equal(found, expected[number])
            assert found.dtype == expected[number].dtype
    if not mesh.bounds:
        x = np.asarray(original[mesh.x][...])
        assert _bits(x[domain.node_number]) == _bits(domain.node_x)


def _rings(original: Any, mesh: Mesh) -> list[Array]:
    if mesh.bounds:
        x, y = (np.asarray(original[name][...]) for name in mesh.bounds)
        x, y = (np.degrees(v) if mesh.radians else v for v in (x, y))
        return [np.stack(ring, axis=1) for ring in zip(x, y, strict=True)]
    x, y = np.asarray(original[mesh.x][...]), np.asarray(original[mesh.y][...])
    table = np.asarray(original[mesh.table][...])
    rows = table if original[mesh.table].dimensions[0] == mesh.face_dim else table.T
    corners = [row[row != mesh.fill] - mesh.start if mesh.fill is not None else row - mesh.start for row in rows]
    return [np.stack([x[at], y[at]], axis=1) for at in corners]


@pytest.mark.parametrize("file", ["simplebox_hex7_map.nc", "tri_grid_example-FVCOM.nc", "icon-test.nc"])
def test_a_real_mesh_compares_equal_with_its_dataset_and_unequal_when_a_bit_is_changed(
    file: str, shared_data: Path, tmp_path: Path, run: Run
) -> None:
    part, _, variables = FILES[file].parts[0]
    imported(file, part, tmp_path / "d", shared_data, run, "--set", "StorageType=TimeSeries")
    copy = tmp_path / file
    shutil.copyfile(shared_data / "mesh" / file, copy)
    assert run("compare", tmp_path / "d", copy, "--json").document["equal"] is True
    name = variables.split()[1]
    with netCDF4.Dataset(copy, "a") as changed:
        changed.set_auto_maskandscale(False)
        row = changed[name][2]
        row.view(f"u{row.itemsize}").flat[-5] ^= 1
        changed[name][2] = row
    outcome = run("compare", tmp_path / "d", copy, "--json")
    assert (outcome.status, outcome.document["coordinates_equal"]) == (3, True)
    found = {i["name"]: i["first_difference"] for i in outcome.document["items"] if not i["equal"]}
    assert list(found) == [name]
    assert found[name]["time_index"] == 2
    assert found[name]["number"] == row.shape[-1] - 5
    place = found[name]["place"]
    assert f"{place} {row.shape[-1] - 5}: " in run("compare", tmp_path / "d", copy).out


def test_a_real_mesh_is_inspected_and_asked(shared_data: Path, tmp_path: Path, run: Run) -> None:
    dataset = imported("simplebox_hex7_map.nc", "time", tmp_path / "d", shared_data, run)
    facts = run("inspect", tmp_path / "d", "--json").document
    assert (facts["kind"], facts["times"]["count"]) == ("mesh", 13)
    domain = dataset.domain
    assert isinstance(domain, MeshDomain)
    ring = domain.element_nodes[100]
    ring = ring[ring >= 0]
    x, y = float(domain.node_x[ring].mean()), float(domain.node_y[ring].mean())
    document = run("query", "series", tmp_path / "d", "--item", "mesh2d_s1", "--point", f"{x},{y}", "--json").document
    number = int(domain.element_number[100])
    assert document["points"][0]["cell"] == [number]
    with original_of(shared_data / "mesh" / "simplebox_hex7_map.nc") as original:
        assert [row[0] for row in document["values"]] == original["mesh2d_s1"][:, number].tolist()
    assert run("query", "map", tmp_path / "d", "--item", "mesh2d_s1", "--time", "#3", "--json").document["cells"] == 810
