"""Meshes of real files: elements against brute force, and every place of the globe in the right element."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import shapely

from mdstudio.engine.model import Array
from mdstudio.engine.spatial.mesh_geometry import MeshGeometry
from mdstudio.engine.spatial.mesh_index import index_mesh
from tests.engine.spatial.brute_force import cell, met, rectangle, wkt
from tests.engine.spatial.made_meshes import Source

FILES = {  # names of longitude, latitude and corners
    "ADCIRC_BG_20190910_1t.nc": ("longitude", "latitude", "element"),
    "tri_grid_example-FVCOM.nc": ("lon", "lat", "nv"),
    "fesom.mesh.diag.nc": ("lon", "lat", "face_nodes"),
    "lfric_ngvat_2D_72t_face_half_levels_main_conv_rain.nc":
        ("Mesh2d_half_levels_node_x", "Mesh2d_half_levels_node_y", "Mesh2d_half_levels_face_nodes"),
}


def read(path: Path) -> Source:
    import netCDF4

    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        if path.name == "icon-test.nc":
            ends = [np.degrees(file[name][:].astype(np.float64)) for name in ("clon_bnds", "clat_bnds")]
            nodes, place = np.unique(np.round(np.stack(ends, axis=-1).reshape(-1, 2), 9), axis=0, return_inverse=True)
            return Source(nodes[:, 0], nodes[:, 1], place.reshape(-1, 3))
        longitude, latitude, corners = FILES[path.name]
        numbers = file[corners][:].astype(np.int64)
        numbers = numbers.T if numbers.shape[0] < 5 else numbers
        return Source(file[longitude][:], file[latitude][:], numbers - numbers.min())


def polygons(source: Source) -> dict[int, shapely.Polygon]:
    """Corners beside their first corner; without those at or around a pole, which are no ring of corners."""
    x, y = source.x.astype(np.float64)[source.corners], source.y.astype(np.float64)[source.corners]
    step = x - x[:, :1]
    x = np.where(np.abs(step) > 180, x - 360 * np.round(step / 360), x)
    apart = np.diff(np.concatenate([x, x[:, :1]], axis=1), axis=1)
    plain = (np.abs(apart) < 180).all(axis=1) & (np.abs(y) < 89.9).all(axis=1)
    return {k: cell(list(zip(x[k].tolist(), y[k].tolist(), strict=True))) for k in np.flatnonzero(plain).tolist()}


@pytest.mark.rule("P3", "P4")
@pytest.mark.parametrize("name", FILES)
def test_areas_find_in_a_real_mesh_what_brute_force_finds(shared_data: Path, name: str) -> None:
    source = read(shared_data / "mesh" / name)
    geometry = MeshGeometry(index_mesh(source.x, source.y, source.corners, geographic=True))
    plain = polygons(source)
    x, y = source.x.astype(np.float64), source.y.astype(np.float64)
    rng = np.random.default_rng(4)
    for _ in range(3):
        a, b, c = rng.integers(0, x.size, 3)  # corners of the mesh
        shapes = [rectangle(x[a], y[a], x[b], y[b]), shapely.Polygon([(x[k], y[k]) for k in (a, b, c)])]
        found = [geometry.select((x[a], y[a], x[b], y[b])), geometry.select(polygon=wkt(shapes[1]))]
        for shape, selection in zip(shapes, found, strict=True):
            elements = set(geometry.domain.element_number[selection.elements].tolist())
            assert elements & plain.keys() == met(plain, shape, wraps=True)


def on_sphere(x: Array, y: Array) -> Array:
    longitude, latitude = np.radians(x), np.radians(y)
    return np.stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], -1)


@pytest.mark.parametrize("name", ["icon-test.nc", "lfric_ngvat_2D_72t_face_half_levels_main_conv_rain.nc"])
def test_every_place_of_the_globe_lies_in_an_element_of_a_global_mesh_poles_included(
    shared_data: Path, name: str
) -> None:
    source = read(shared_data / "mesh" / name)
    geometry = MeshGeometry(index_mesh(source.x, source.y, source.corners, geographic=True))
    x, y = (part.ravel() for part in np.meshgrid(np.arange(-180.0, 360, 7.3), np.arange(-89.9, 90, 4.495)))
    elements = geometry.locate(np.stack([x, y], axis=-1))
    assert (elements >= 0).all()
    corners = geometry.domain.element_nodes[elements]
    places = on_sphere(*geometry.node_positions(corners))
    middle = places.mean(axis=1)
    reach = np.linalg.norm(places - middle[:, None], axis=-1).max(axis=1)
    assert (np.linalg.norm(on_sphere(x, y) - middle, axis=-1) < 1.3 * reach).all()
    centre = on_sphere(*geometry.centres(elements))
    assert (np.linalg.norm(centre - middle, axis=-1) < 0.6 * reach).all()
