"""Coordinates are where ecCodes itself puts the points, whatever the grid; what is no grid is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import GridDomain, MeshDomain
from mdstudio.sources.registry import open_source
from tests.sources.grib_builders import GRIDS, REGULAR, eccodes, key, message, smooth, temperature, write
from tests.sources.netcdf_builders import whole


def described(path: Path) -> tuple[Any, list]:
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        return description.domain, list(source.dropped())


def places(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """ecCodes' longitude and latitude of each point, in file order."""
    handle = eccodes.codes_new_from_message(data)
    found = [eccodes.codes_get_array(handle, name) for name in ("longitudes", "latitudes")]
    eccodes.codes_release(handle)
    return found[0], found[1]


def assert_close(longitude: Any, latitude: Any, data: bytes, tolerance: float = 1e-9) -> None:
    expected = places(data)
    assert np.abs((np.ravel(longitude) - expected[0] + 180) % 360 - 180).max() < tolerance
    assert np.abs(np.ravel(latitude) - expected[1]).max() < tolerance


def values_for(grid: str) -> np.ndarray:
    return smooth(GRIDS[grid].get("Nj", 6), GRIDS[grid].get("Ni", 8))


@pytest.mark.rule("K1")
@pytest.mark.parametrize("edition", [1, 2])
@pytest.mark.parametrize(("grid", "kind"), [
    ("regular_ll", "regular"), ("regular_gg", "regular"), ("rotated_ll", "rotated"), ("lambert", "projected"),
    ("mercator", "projected"), ("polar_stereographic", "projected")])
def test_points_are_where_eccodes_puts_them(tmp_path: Path, grid: str, kind: str, edition: int) -> None:
    keys = dict(GRIDS[grid])
    data = message(values_for(grid), keys, grid=grid) if edition == 2 else _edition_1(grid, keys)
    domain, notes = described(write(tmp_path / "a.grib", [data]))
    assert not notes
    assert domain.kind == kind
    if kind == "regular":
        longitude, latitude = np.meshgrid(domain.x, domain.y)
        assert_close(longitude, latitude, data, 2e-3 if grid == "regular_gg" else 1e-9)  # its header rounds the last
        assert domain.crs == "EPSG:4326"
        return
    assert_close(domain.longitude, domain.latitude, data)
    crs = pyproj.CRS.from_wkt(domain.crs)  # ecCodes rounds the places of rotated grids
    back = pyproj.Transformer.from_crs(crs, crs.source_crs, always_xy=True)
    assert_close(*back.transform(*np.meshgrid(domain.x, domain.y)), data, 2e-6)
    assert domain.grid_mapping["grid_mapping_name"]


def _edition_1(grid: str, keys: dict[str, Any]) -> bytes:
    handle = eccodes.codes_grib_new_from_samples("GRIB1")
    try:
        eccodes.codes_set(handle, "gridType", grid)
        for name, value in keys.items():
            try:
                eccodes.codes_set(handle, name, value)
            except eccodes.CodesInternalError:
                assert name in ("LaDInDegrees", "orientationOfTheGridInDegrees", "scanningMode"), name
        eccodes.codes_set_values(handle, values_for(grid).ravel())
        made: bytes = eccodes.codes_get_message(handle)
        return made
    finally:
        eccodes.codes_release(handle)


@pytest.mark.parametrize(("west", "east", "expected"), [
    (350.0, 4.0, (-10.0, 4.0)), (180.0, 194.0, (180.0, 194.0)), (346.0, 0.0, (-14.0, 0.0)), (2.0, 16.0, (2.0, 16.0)),
    (355.0, 9.0, (-5.0, 9.0))])
def test_columns_that_cross_greenwich_ascend(tmp_path: Path, west: float, east: float, expected: Any) -> None:
    data = temperature(longitudeOfFirstGridPointInDegrees=west, longitudeOfLastGridPointInDegrees=east)
    domain, _ = described(write(tmp_path / "a.grib2", [data]))
    assert (domain.x[0], domain.x[-1]) == expected
    assert (np.diff(domain.x) > 0).all()


def test_an_increment_that_contradicts_the_points_is_noted_and_not_used(tmp_path: Path) -> None:
    data = temperature(iDirectionIncrementInDegrees=3.0)
    domain, notes = described(write(tmp_path / "a.grib2", [data]))
    assert (domain.x[0], domain.x[-1]) == (2.0, 16.0)
    assert "increment 3 of the header is not used" in notes[0].reason


def test_the_earth_of_the_message_is_that_of_the_crs(tmp_path: Path) -> None:
    for shape, expected in ((6, 6371229.0), (4, 6378137.0), (0, 6367470.0)):
        data = message(grid="lambert", keys={**GRIDS["lambert"], "shapeOfTheEarth": shape})
        domain, _ = described(write(tmp_path / "a.grib2", [data]))
        ellipsoid = pyproj.CRS.from_wkt(domain.crs).ellipsoid
        assert ellipsoid.semi_major_metre == expected
        assert_close(domain.longitude, domain.latitude, data, 1e-5)


def reduced(path: Path) -> bytes:
    """A reduced Gaussian grid of ecCodes' own samples, its values numbered."""
    handle = eccodes.codes_grib_new_from_samples("reduced_gg_pl_32_grib2")
    points = eccodes.codes_get(handle, "numberOfDataPoints")
    eccodes.codes_set(handle, "bitsPerValue", 24)
    eccodes.codes_set_values(handle, np.arange(points, dtype=np.float64))
    data: bytes = eccodes.codes_get_message(handle)
    eccodes.codes_release(handle)
    path.write_bytes(data)
    return data


@pytest.mark.rule("K1")
def test_a_reduced_grid_is_a_mesh_of_boxes_around_its_points(tmp_path: Path) -> None:
    data = reduced(tmp_path / "a.grib2")
    longitude, latitude = places(data)
    with open_source([str(tmp_path / "a.grib2")]) as source:
        (description,) = source.descriptions()
        got = whole(source, description, description.items[0].name)
    domain = description.domain
    assert isinstance(domain, MeshDomain)
    assert domain.geographic
    assert got.shape == (1, 1, longitude.size)
    assert np.array_equal(got[0, 0], np.arange(longitude.size))  # in file order
    x, y = domain.node_x[domain.element_nodes], domain.node_y[domain.element_nodes]
    middle = (x.min(1) + x.max(1)) / 2
    assert np.abs((middle - longitude[domain.element_number] + 180) % 360 - 180).max() < 1e-9
    assert ((y.min(1) < latitude[domain.element_number]) & (latitude[domain.element_number] < y.max(1))).all()
    area = ((x.max(1) - x.min(1)) * (np.sin(np.radians(y.max(1))) - np.sin(np.radians(y.min(1))))).sum()
    assert abs(area - 720) < 1e-6  # the whole globe, each place once


def test_what_is_no_grid_is_refused_by_name(tmp_path: Path) -> None:
    handle = eccodes.codes_grib_new_from_samples("sh_ml_grib2")
    data = eccodes.codes_get_message(handle)
    eccodes.codes_release(handle)
    with pytest.raises(SourceError, match=r"a\.grib2: Nothing in this GRIB file can be imported: spherical harmonics"):
        open_source([str(write(tmp_path / "a.grib2", [data]))])
    with open_source([str(write(tmp_path / "b.grib2", [data, temperature()]))]) as source:
        (description,) = source.descriptions()
        assert [i.name for i in description.items] == ["2t"]
        assert [(n.what, n.count) for n in source.dropped()] == [("t", 1)]


def test_a_grid_whose_points_are_not_its_rows_and_columns_is_refused(tmp_path: Path) -> None:
    data = bytearray(temperature())
    at = data.index(b"\0\0\0\x48\3")  # section 3: 72 bytes
    data[at + 6:at + 10] = (50).to_bytes(4, "big")
    with pytest.raises(SourceError, match="whose 50 points are not its 6 rows of 8 columns"):
        open_source([str(write(tmp_path / "a.grib2", [bytes(data)]))])


def test_different_grids_are_descriptions_of_their_own(tmp_path: Path) -> None:
    shifted = {"latitudeOfFirstGridPointInDegrees": 62.0, "latitudeOfLastGridPointInDegrees": 52.0}
    path = write(tmp_path / "a.grib2", [
        temperature(), temperature(hour=6), temperature(**shifted), message(grid="lambert")])
    with open_source([str(path)]) as source:
        found = source.descriptions()
        assert [d.name for d in found] == ["regular_ll-6x8-1", "regular_ll-6x8-2", "lambert-6x8"]
        assert [len(d.times) for d in found] == [2, 1, 1]
        assert isinstance(found[2].domain, GridDomain)


def test_editions_1_and_2_of_one_grid_are_one(tmp_path: Path) -> None:
    one = message(keys={**REGULAR, "indicatorOfParameter": 167, "indicatorOfTypeOfLevel": 1, "dataDate": 20200101,
                        "dataTime": 600}, edition=1)
    path = write(tmp_path / "a.grib", [one, temperature()])
    assert key(one, "edition") == 1
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        assert [s["format"] for s in description.source] == ["GRIB1+2"]
        assert len(description.items) >= 1


@pytest.mark.rule("K1")
def test_a_rotated_grid_that_is_turned_about_its_own_axis_has_its_places_and_crs(tmp_path: Path) -> None:
    """By the words of FM 92, with matrices: turned about its own axis, then tilted, then turned about the earth's."""
    south, east, angle = -39.25, 18.0, 25.0
    data = message(values_for("rotated_ll"), {**GRIDS["rotated_ll"], "angleOfRotationInDegrees": angle},
                   grid="rotated_ll")
    domain, notes = described(write(tmp_path / "a.grib", [data]))

    def about_z(degrees: float) -> Any:
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])

    tilt = np.radians(90 + south)
    about_y = np.array([[np.cos(tilt), 0, np.sin(tilt)], [0, 1, 0], [-np.sin(tilt), 0, np.cos(tilt)]])
    x, y = (np.radians(a) for a in np.meshgrid(domain.x, domain.y))
    point = np.stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)])
    turned = np.einsum("ij,jrc->irc", about_z(east) @ about_y.T @ about_z(angle), point)
    pole = about_z(east) @ about_y.T @ np.array([0, 0, -1])
    assert np.allclose([np.degrees(np.arcsin(pole[2])), np.degrees(np.arctan2(pole[1], pole[0]))], [south, east])
    assert not notes
    assert np.allclose(domain.latitude, np.degrees(np.arcsin(turned[2])), atol=1e-9)
    off = domain.longitude - np.degrees(np.arctan2(turned[1], turned[0]))
    assert np.abs((off + 180) % 360 - 180).max() < 1e-9
    crs = pyproj.CRS.from_wkt(domain.crs)
    assert crs.to_cf()["north_pole_grid_longitude"] == -angle
