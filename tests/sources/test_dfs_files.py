"""Every DHI file of the shared data: imported and equal to what mikeio reads to the bit, or refused with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.errors import MdError
from mdstudio.engine.model import GridDomain, MeshDomain
from mdstudio.sources.registry import open_source

mikeio = pytest.importorskip("mikeio", reason="DHI's library does not exist here")

ALL = slice(None)
GRIDS = ["BW_Ronne_Layout1998_rotated.dfs2", "ERA5_DutchCoast.dfs2", "Karup_MIKE_SHE_output.dfs2", "OresundHD.dfs2",
         "europe_wind_long_lat.dfs2", "hd_vertical_slice.dfs2", "test_dfs3.dfs3", "vu_tide_hourly.dfs1",
         "TS_non_ascii.dfs0", "TemporalNeqCal.dfs0"]
MESHES = ["FakeLake.dfsu", "NorthSea_HD_and_windspeed.dfsu", "OdenseHD3D.dfsu", "OresundHD.dfsu",
          "oresund_sigma_z.dfsu", "small.dfsu"]
REFUSED = {
    "area_spectra.dfsu": "wave spectra have directions and frequencies",
    "oresund_vertical_slice.dfsu": r"vertical profile \(transect\)",
    "not_a_mesh_file.mesh": "failed reading mesh file header line",
    "wrong_face_count.mesh": "announces 12 nodes and 9 elements, 23 lines with the two headers; it has 25",
    "wrong_vertex_count.mesh": "failed reading element header line",
}


def find(shared_data: Path, name: str) -> Path:
    return next(p for folder in ("dfs", "mesh", "odd") if (p := shared_data / folder / name).exists())


def natively(path: Path) -> Any:
    """mikeio's dataset; doubles stay doubles only where asked."""
    return mikeio.read(str(path))


def test_every_file_is_looked_at(shared_data: Path) -> None:
    known = {*GRIDS, *MESHES, *REFUSED, "gebco_sound_crop_rotate.dfs2", "odense_rough.mesh", "quad_tri.mesh"}
    files = [*(shared_data / "dfs").iterdir(), *(shared_data / "odd").glob("*.mesh"),
             *(shared_data / "mesh").glob("*.dfsu")]
    assert {p.name for p in files} == known


@pytest.mark.rule("K3")
@pytest.mark.parametrize("name", GRIDS + MESHES)
def test_values_times_and_places_are_those_of_mikeio(shared_data: Path, name: str) -> None:
    path = find(shared_data, name)
    expected = natively(path)
    with open_source([str(path)]) as source:
        description, = source.descriptions()
        assert np.array_equal(description.times.microseconds.view("M8[us]"), expected.time.values.astype("M8[us]"))
        assert [i.name for i in description.items] == [i.name for i in expected.items]
        for item, other in zip(description.items, expected, strict=True):
            layers = range(len(item.layers)) if item.layers and item.value_kind == "single" else [-1]
            found = np.stack([source.read(description, item.name, ALL, n, ALL, ALL) for n in layers], axis=1)
            values = other.to_numpy().astype(found.dtype).reshape(found.shape)
            missing = found == np.asarray(item.no_data, found.dtype)
            assert np.array_equal(missing, np.isnan(values))
            assert found[~missing].tobytes() == values[~missing].tobytes()
    same_place(description.domain, expected.geometry)


def same_place(domain: Any, geometry: Any) -> None:
    """The places of cells, or of nodes and the corners of elements."""
    if isinstance(domain, MeshDomain):
        flat = getattr(geometry, "geometry2d", geometry)
        order = np.argsort(domain.element_number)
        corners = domain.element_nodes[order]
        assert len(corners) == flat.n_elements
        places = flat.node_coordinates
        for mine, other in zip(corners, flat.element_table, strict=True):
            mine = mine[mine >= 0]
            assert np.array_equal(domain.node_x[mine], places[other, 0])
            assert np.array_equal(domain.node_y[mine], places[other, 1])
        if domain.layer_counts is not None:
            assert domain.layer_counts[order].tolist() == np.asarray(geometry.n_layers_per_column).tolist()
        return
    assert isinstance(domain, GridDomain)
    if domain.kind == "curvilinear":
        assert abs(geometry.orientation) > 1
        assert (domain.rows, domain.columns) == (geometry.ny, geometry.nx)
    elif hasattr(geometry, "y"):
        vertical = "vertical" if geometry.projection_string == "NON-UTM" else ""
        assert np.allclose(domain.x, geometry.x, rtol=0, atol=1e-9), vertical
        assert np.allclose(domain.y, geometry.y, rtol=0, atol=1e-9), vertical


def test_a_turned_grid_lies_where_the_sound_is(shared_data: Path) -> None:
    """The mesh and the turned grid are of the same model of the Øresund: the grid's middles cover the mesh's nodes."""
    import pyproj

    with open_source([str(shared_data / "dfs" / "OresundHD.dfs2")]) as source:
        domain = source.descriptions()[0].domain
    with open_source([str(shared_data / "dfs" / "OresundHD.dfsu")]) as source:
        mesh = source.descriptions()[0].domain
    assert isinstance(domain, GridDomain)
    assert isinstance(mesh, MeshDomain)
    x, y = pyproj.Transformer.from_crs(mesh.crs, "EPSG:4326", always_xy=True).transform(mesh.node_x, mesh.node_y)
    longitude, latitude = domain.longitude, domain.latitude
    assert longitude is not None
    assert latitude is not None
    assert longitude.min() < np.median(x) < longitude.max()
    assert latitude.min() < np.median(y) < latitude.max()


def test_a_turned_grid_of_degrees_is_read_where_mikeio_gives_up(shared_data: Path) -> None:
    path = shared_data / "dfs" / "gebco_sound_crop_rotate.dfs2"
    with pytest.raises(ValueError, match="Orientation is not supported"):
        mikeio.open(str(path))
    with open_source([str(path)]) as source:
        description, = source.descriptions()
        values = source.read(description, "Elevation", ALL, -1, ALL, ALL)
    domain = description.domain
    assert isinstance(domain, GridDomain)
    assert domain.longitude is not None
    assert domain.latitude is not None
    assert (domain.longitude[0, 0], domain.latitude[0, 0]) == (12.28541666915018, 55.32708333333332)
    half = np.sqrt(0.5) * 0.0041666701436042786
    assert np.allclose(domain.longitude[0, 1] - domain.longitude[0, 0], half)
    assert np.allclose(domain.latitude[0, 1] - domain.latitude[0, 0], -half)
    assert values.shape == (1, 150, 140)


@pytest.mark.parametrize("name", ["odense_rough.mesh", "quad_tri.mesh"])
def test_a_mesh_file_is_that_of_mikeio(shared_data: Path, name: str) -> None:
    path = shared_data / "dfs" / name
    geometry = mikeio.Mesh(str(path)).geometry
    with open_source([str(path)]) as source:
        description, = source.descriptions()
        levels = source.read(description, "Bathymetry", ALL, -1, ALL, ALL)
    same_place(description.domain, geometry)
    assert levels.ravel().tobytes() == geometry.node_coordinates[:, 2].tobytes()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_imported_says_why(shared_data: Path, name: str) -> None:
    with pytest.raises(MdError, match=REFUSED[name]), open_source([str(find(shared_data, name))]) as source:
        source.descriptions()
