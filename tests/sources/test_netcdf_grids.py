"""Grids: dimension order, directions, layers, staggered and split items, projections, groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mdstudio.engine.errors import SourceError
from mdstudio.sources.registry import open_source
from tests.sources.netcdf_builders import HOURS, LAT, LON, add, add_axes, new_file, numbered, one_item, whole


def test_longitude_before_latitude_is_transposed_on_reading(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    values = numbered(3, 5, 4)
    with new_file(path) as dataset:
        add_axes(dataset)
        add(dataset, "v", ["time", "lon", "lat"], values)
        add(dataset, "last", ["lat", "lon", "time"], numbered(4, 5, 3))
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        assert (description.domain.rows, description.domain.columns) == (4, 5)
        assert np.array_equal(whole(source, description, "v"), values.transpose(0, 2, 1))
        assert np.array_equal(whole(source, description, "last"), numbered(4, 5, 3).transpose(2, 0, 1))
        part = source.read(description, "v", slice(1, 3), -1, slice(1, 3), slice(2, 5))
        assert np.array_equal(part, values.transpose(0, 2, 1)[1:3, 1:3, 2:5])
        assert part.flags.c_contiguous


def test_descending_latitude_and_0_360_longitude_are_kept(tmp_path: Path) -> None:
    # case 7: order of the source, never turned
    path = tmp_path / "a.nc"
    longitude, latitude = np.arange(0, 360, 30, "f8"), np.arange(80, -81, -40, "i4")
    with new_file(path) as dataset:
        add(dataset, "lon", ["lon"], longitude, LON)
        add(dataset, "lat", ["lat"], latitude, LAT)
        add(dataset, "v", ["lat", "lon"], numbered(5, 12))
    with open_source([str(path)]) as source:
        domain = source.descriptions()[0].domain
    assert (domain.kind, domain.crs, domain.x_name, domain.y_unit) == ("regular", "EPSG:4326", "lon", "degrees_north")
    assert domain.x.tobytes() == longitude.tobytes()
    assert domain.y.tobytes() == latitude.tobytes()


def test_data_without_times_is_static(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_axes(dataset, times=None)
        add(dataset, "v", ["lat", "lon"], numbered(4, 5))
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        assert description.times.static
        assert len(description.times) == 1
        assert np.array_equal(whole(source, description, "v"), numbered(1, 4, 5))


def test_unlimited_dimension_and_netcdf_3(tmp_path: Path) -> None:
    for format in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4_CLASSIC", "NETCDF4"):
        path = tmp_path / f"{format}.nc"
        with new_file(path, format) as dataset:
            add_axes(dataset, times=[0.0, 1.5], unlimited=True)
            add(dataset, "v", ["time", "lat", "lon"], numbered(2, 4, 5))
            add(dataset, "odd", ["time", "lat", "lon"], numbered(2, 4, 5, dtype="i1"))
        with open_source([str(path)]) as source:
            (description,) = source.descriptions()
            assert description.source[0]["format"] == format
            assert description.times.text(1) == "2000-01-01T01:30:00"
            assert np.array_equal(whole(source, description, "odd"), numbered(2, 4, 5, dtype="i1"))


@pytest.mark.parametrize(("attributes", "meaning"), [
    ({"units": "m", "positive": "down", "standard_name": "depth"}, "depth"),
    ({"units": "hPa"}, "pressure"), ({"axis": "Z", "standard_name": "height", "units": "m"}, "height"),
    ({"standard_name": "ocean_sigma_coordinate"}, "sigma"), ({"units": "1"}, "index"),
    ({"standard_name": "atmosphere_hybrid_sigma_pressure_coordinate"}, "sigma"),
])
def test_levels_are_layers_with_their_meaning(tmp_path: Path, attributes: dict, meaning: str) -> None:
    path = tmp_path / "a.nc"
    values = numbered(2, 3, 4, 5)
    with new_file(path) as dataset:
        add_axes(dataset, times=[0, 1])
        add(dataset, "level", ["level"], np.array([1.5, 10, 100], "f4"), attributes)
        add(dataset, "v", ["time", "level", "lat", "lon"], values)
        add(dataset, "surface", ["time", "lat", "lon"], numbered(2, 4, 5))
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        layers = description.items[0].layers
        assert layers is not None
        assert (layers.name, layers.values, layers.dtype) == ("level", (1.5, 10.0, 100.0), "float32")
        assert layers.meaning == meaning
        assert description.items[1].layers is None
        for layer in range(3):
            assert np.array_equal(whole(source, description, "v", layer), values[:, layer])


def test_a_further_dimension_is_the_layers_and_two_split_the_item(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_axes(dataset, times=[0, 1])
        add(dataset, "member", ["member"], np.array([3, 7], "i4"))
        add(dataset, "depth", ["depth"], np.array([0, 5, 9], "f4"), {"units": "m", "positive": "down"})
        add(dataset, "one", ["member", "time", "lat", "lon"], numbered(2, 2, 4, 5))
        add(dataset, "two", ["time", "depth", "member", "lat", "lon"], numbered(2, 3, 2, 4, 5))
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        assert [i.name for i in description.items] == ["one", "two[member=3]", "two[member=7]"]
        layers = description.items[0].layers
        assert layers is not None
        assert (layers.name, layers.values, layers.meaning) == ("member", (3.0, 7.0), "index")
        for layer in range(2):
            assert np.array_equal(whole(source, description, "one", layer), numbered(2, 2, 4, 5)[layer])
        for layer in range(3):
            for m, member in enumerate((3, 7)):
                got = whole(source, description, f"two[member={member}]", layer)
                assert np.array_equal(got, numbered(2, 3, 2, 4, 5)[:, layer, m])


def test_a_variable_that_would_split_into_too_many_items_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_axes(dataset, times=None, rows=2, columns=2)
        add(dataset, "v", ["frequency", "direction", "lat", "lon"], np.zeros((1500, 2, 2, 2), "i1"))
    with pytest.raises(SourceError, match="1500 items"):
        open_source([str(path)])


def test_staggered_grids_are_a_choice_of_descriptions(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add(dataset, "time", ["time"], np.arange(2), HOURS)
        for name, rows, columns in (("rho", 4, 5), ("u", 4, 4), ("v", 3, 5)):
            x, y = np.meshgrid(np.arange(columns, dtype="f8"), np.arange(rows, dtype="f8"))
            dims = [f"eta_{name}", f"xi_{name}"]
            add(dataset, f"lon_{name}", dims, x, LON)
            add(dataset, f"lat_{name}", dims, y, LAT)
            add(dataset, f"q_{name}", ["time", *dims], numbered(2, rows, columns), {
                "coordinates": f"lon_{name} lat_{name}"})
        add(dataset, "h", ["eta_rho", "xi_rho"], numbered(4, 5))
    with open_source([str(path)]) as source:
        found = source.descriptions()
        assert [(d.name, [i.name for i in d.items]) for d in found] == [
            ("eta_rho-xi_rho", ["q_rho"]), ("eta_u-xi_u", ["q_u"]), ("eta_v-xi_v", ["q_v"]),
            ("eta_rho-xi_rho-static", ["h"])]
        assert [d.domain.kind for d in found] == ["curvilinear"] * 4
        assert found[3].domain.longitude is not None  # h names no coordinates: those of its dimensions are taken
        for d in found:
            assert np.array_equal(whole(source, d, d.items[0].name)[0], numbered(d.domain.rows, d.domain.columns))


def test_curvilinear_places_and_corners_are_kept_and_turned_with_the_data(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    x, y = np.meshgrid(np.arange(5, dtype="f4"), np.arange(4, dtype="f4"), indexing="ij")
    corners = np.stack([x, x + 1, x + 1, x], -1)
    with new_file(path) as dataset:
        add(dataset, "lon", ["x", "y"], x, {**LON, "bounds": "lon_b"})
        add(dataset, "lat", ["x", "y"], y, {**LAT, "bounds": "lat_b"})
        add(dataset, "lon_b", ["x", "y", "four"], corners)
        add(dataset, "lat_b", ["x", "y", "four"], corners + 10)
        add(dataset, "v", ["x", "y"], numbered(5, 4), {"coordinates": "lon lat"})
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        domain = description.domain
        assert (domain.kind, domain.rows, domain.columns) == ("curvilinear", 4, 5)
        assert np.array_equal(domain.longitude, x.T)
        assert np.array_equal(domain.latitude, y.T)
        assert np.array_equal(domain.corner_longitude, corners.transpose(1, 0, 2))
        assert np.array_equal(domain.corner_latitude, corners.transpose(1, 0, 2) + 10)
        assert np.array_equal(whole(source, description, "v")[0], numbered(5, 4).T)
        assert [i.name for i in description.items] == ["v"]


def test_places_that_repeat_over_time_are_taken_and_moving_ones_refused(tmp_path: Path) -> None:
    for name, drift in (("still", 0.0), ("moving", 1.0)):
        path = tmp_path / f"{name}.nc"
        x, y = np.meshgrid(np.arange(5, dtype="f4"), np.arange(4, dtype="f4"))
        with new_file(path) as dataset:
            add(dataset, "time", ["time"], np.arange(3), HOURS)
            add(dataset, "XLONG", ["time", "south_north", "west_east"], np.stack([x, x, x + np.float32(drift)]), LON)
            add(dataset, "XLAT", ["time", "south_north", "west_east"], np.stack([y, y, y]), LAT)
            add(dataset, "T2", ["time", "south_north", "west_east"], numbered(3, 4, 5), {"coordinates": "XLONG XLAT"})
        if drift:
            with pytest.raises(SourceError, match="changes over time"):
                open_source([str(path)])
        else:
            with open_source([str(path)]) as source:
                assert np.array_equal(source.descriptions()[0].domain.longitude, x)


def test_bounds_and_scalars_are_understood_and_text_is_dropped_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add(dataset, "time", ["time"], np.arange(2.0), {**HOURS, "bounds": "time_bnds"})
        add(dataset, "time_bnds", ["time", "two"], np.zeros((2, 2)))
        add(dataset, "lon", ["lon"], np.arange(5.0), {**LON, "bounds": "lon_bnds"})
        add(dataset, "lon_bnds", ["lon", "two"], np.stack([np.arange(5.0) - 0.5, np.arange(5.0) + 0.5], 1))
        add(dataset, "lat", ["lat"], np.arange(4.0), LAT)
        add(dataset, "v", ["time", "lat", "lon"], numbered(2, 4, 5))
        add(dataset, "pi", [], np.float64(3.14))
        add(dataset, "track", ["station"], np.arange(7.0))
        dataset.createVariable("label", str, ("time",))[:] = np.array(["a", "b"], object)
        dataset.createDimension("chars", 3)
        dataset.createVariable("letters", "S1", ("time", "lat", "lon"))
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        assert [i.name for i in description.items] == ["v"]
        assert description.domain.x_bounds is not None
        assert description.domain.x_bounds[0].tolist() == [-0.5, 0.5]
        notes = {n.reason: n.what for n in source.dropped()}
    assert notes["text values"] == "label, letters"
    assert notes["single numbers, not on a grid"] == "pi"
    assert notes["bounds of times are not kept"] == "time_bnds"
    assert "track" in notes.values()


def test_groups_on_one_grid_are_one_dataset(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_axes(dataset)
        add(dataset, "v", ["time", "lat", "lon"], numbered(3, 4, 5))
        group = dataset.createGroup("model").createGroup("run")
        add(group, "v", ["time", "lat", "lon"], numbered(3, 4, 5) + 100)
        other = dataset.createGroup("fine")
        add_axes(other, rows=6, columns=7)
        add(other, "v", ["time", "lat", "lon"], numbered(3, 6, 7))
    with open_source([str(path)]) as source:
        coarse, fine = source.descriptions()
        assert [i.name for i in coarse.items] == ["v", "model/run/v"]
        assert (fine.name, [i.name for i in fine.items], fine.domain.columns) == ("fine.lat-fine.lon", ["fine/v"], 7)
        assert np.array_equal(whole(source, coarse, "model/run/v"), numbered(3, 4, 5) + 100)
        assert np.array_equal(whole(source, fine, "fine/v"), numbered(3, 6, 7))


def test_projected_kilometres_become_the_unit_of_the_crs(tmp_path: Path) -> None:
    import pyproj

    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add(dataset, "x", ["x"], np.arange(5.0) * 10, {"units": "km", "standard_name": "projection_x_coordinate"})
        add(dataset, "y", ["y"], np.arange(4.0) * 10, {"units": "km", "standard_name": "projection_y_coordinate"})
        crs = dataset.createVariable("crs", "i4", ())
        crs.setncatts(pyproj.CRS.from_epsg(3035).to_cf())
        add(dataset, "v", ["y", "x"], numbered(4, 5), {"grid_mapping": "crs: x y"})
    with open_source([str(path)]) as source:
        domain = source.descriptions()[0].domain
    assert (domain.kind, domain.x_unit) == ("projected", "km")
    assert domain.x.tolist() == [0, 10, 20, 30, 40]
    to_metres = pyproj.Transformer.from_crs(pyproj.CRS.from_wkt(domain.crs), 3035, always_xy=True)
    assert np.allclose(to_metres.transform(4321, 3210), (4_321_000, 3_210_000))
    assert domain.grid_mapping["grid_mapping_name"] == "lambert_azimuthal_equal_area"


def test_a_grid_mapping_that_makes_no_crs_is_a_note_not_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add(dataset, "x", ["x"], np.arange(5.0), {"units": "m", "axis": "X"})
        add(dataset, "y", ["y"], np.arange(4.0), {"units": "m", "axis": "Y"})
        dataset.createVariable("crs", "i4", ()).grid_mapping_name = "flat_earth"
        add(dataset, "v", ["y", "x"], numbered(4, 5), {"grid_mapping": "crs"})
    with open_source([str(path)]) as source:
        assert source.descriptions()[0].domain.crs == ""
        assert [n.what for n in source.dropped()] == ["crs"]


def test_dimensions_named_like_a_grid_without_coordinates_get_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add(dataset, "v", ["time", "y", "x"], numbered(3, 4, 5))
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        assert (description.domain.kind, description.domain.x.tolist()) == ("projected", [0, 1, 2, 3, 4])
        assert len(description.times) == 3
        reasons = " ".join(n.reason for n in source.dropped())
        assert "column and row numbers" in reasons
        assert "no times in the file" in reasons


def test_attributes_are_kept(tmp_path: Path) -> None:
    path = one_item(tmp_path / "a.nc", attributes={"units": "K", "long_name": "Wärme", "list": np.array([1, 2], "i2")})
    with new_file(tmp_path / "b.nc") as dataset:
        dataset.title = "a title"
        add_axes(dataset)
        add(dataset, "v", ["time", "lat", "lon"], numbered(3, 4, 5))
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        item = description.items[0]
        assert (item.unit, item.long_name, item.attributes["list"]) == ("K", "Wärme", [1, 2])
        assert description.time_attributes["units"] == HOURS["units"]
        assert description.domain.coordinate_attributes["lat"]["units"] == "degrees_north"
    with open_source([str(tmp_path / "b.nc")]) as source:
        assert source.descriptions()[0].attributes == {"title": "a title"}
