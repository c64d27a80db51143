"""The real grids: described right, and read to the bit as netCDF4 itself reads them."""

from __future__ import annotations

from pathlib import Path

import cftime
import netCDF4
import numpy as np
import pytest

from mdstudio.sources.registry import open_source

# file: of each description its name, kind, rows, columns, times, calendar, dtype of x, {item: (dtype, dimensions)}
# dimensions: t time, l layer, y row, x column, in the file's own order
TYX, LYX, YX = "t y x", "t l y x", "y x"
FILES: dict[str, list[tuple[str, str, int, int, int, str, str, dict[str, tuple[str, str]]]]] = {
    **{f"2002010{d}000000-GLOBCURRENT-L4-CUReul_hs-ALT_SUM-v02.0-fv01.0.nc": [
        ("", "regular", 41, 81, 1, "standard", "float64",
         {"eastward_eulerian_current_velocity": ("float64", TYX),
          "northward_eulerian_current_velocity": ("float64", TYX)})] for d in (1, 2, 3)},
    "20171025_2056.Cloud_Top_Height.nc": [
        ("", "projected", 300, 500, 1, "standard", "float64", {"HT": ("uint16", YX), "DQF": ("uint8", YX)})],
    "CMEMS_DutchCoast_2017-10-28.nc": [
        ("", "regular", 27, 51, 8, "standard", "float32",
         dict.fromkeys(("VHM0", "VMDR", "VTPK", "VTM02", "VHM0_WW", "VHM0_SW1", "VHM0_SW2"), ("int16", TYX)))],
    "ERA5_DutchCoast.nc": [
        ("", "regular", 11, 20, 67, "standard", "float32",
         dict.fromkeys(("mwd", "mwp", "mp2", "pp1d", "swh"), ("int16", TYX)))],
    "Nordic_subset.nc": [
        ("eta_rho-xi_rho", "curvilinear", 21, 31, 3, "standard", "int32",
         {"aice": ("int16", TYX), "hice": ("int16", TYX), "salt": ("int16", LYX), "swrad": ("int16", TYX),
          "temp": ("int16", LYX), "zeta": ("int16", TYX), "zeta_detided": ("int16", TYX)}),
        ("eta_u-xi_u", "projected", 21, 31, 3, "standard", "int32",
         {"u": ("int16", LYX), "ubar": ("int16", TYX), "uice": ("int16", TYX)}),
        ("eta_v-xi_v", "projected", 21, 31, 3, "standard", "int32",
         {"v": ("int16", LYX), "vbar": ("int16", TYX), "vice": ("int16", TYX)}),
        ("eta_rho-xi_rho-static", "curvilinear", 21, 31, 1, "standard", "int32",
         dict.fromkeys(("angle", "f", "h", "mask_rho", "pm", "pn"), ("int16", YX))),
        ("eta_psi-xi_psi", "projected", 21, 31, 1, "standard", "int32", {"mask_psi": ("int16", YX)}),
        ("eta_u-xi_u-static", "projected", 21, 31, 1, "standard", "int32", {"mask_u": ("int16", YX)}),
        ("eta_v-xi_v-static", "projected", 21, 31, 1, "standard", "int32", {"mask_v": ("int16", YX)})],
    "SMALL_total_column_co2.nc": [
        ("", "regular", 161, 320, 31, "standard", "float32", {"tcco2": ("int16", TYX)})],
    "cmems_global-analysis-forecast-phy-001-024.nc": [
        ("", "regular", 181, 241, 3, "standard", "float32", {"vo": ("float32", LYX), "uo": ("float32", LYX)})],
    "cmems_mod_bal_phy_anfc_P1D.nc": [
        ("", "regular", 54, 15, 3, "standard", "float32", {"thetao": ("float32", LYX), "so": ("float32", LYX)})],
    "era5_1995-07-14T12.nc": [
        ("", "regular", 105, 237, 1, "standard", "float32",
         {**dict.fromkeys(("u10", "v10", "d2m", "t2m", "sp"), ("int16", YX)),
          **dict.fromkeys(("t2m_C", "d2m_C"), ("float32", YX))})],
    "hgt.nc": [("", "regular", 73, 144, 21, "standard", "float32", {"HGT": ("float32", TYX)})],
    **{f"indonesia_nc{n}.nc": [
        ("", "regular", 9, 26, 31, "standard", "float32", {"tcc": ("int16", TYX), "t2m": ("int16", TYX)})]
       for n in (3, 4)},
    "nemo_1m_20150101-20150201_grid-T.nc": [
        ("", "curvilinear", 330, 360, 1, "360_day", "int32", {"tos": ("float32", TYX)})],
    "pr_day_HadGEM2-CC_360day_2095.nc": [
        ("", "regular", 36, 36, 360, "360_day", "float32",
         {"time_vectors": ("float64", "t l x y"), "pr": ("float32", TYX)})],
    "small_rotPole_precipitation.nc": [
        ("", "rotated", 190, 174, 4, "standard", "float32", {"pr": ("float32", TYX)})],
    "small_theta_colpex.nc": [
        ("time", "rotated", 83, 83, 6, "standard", "float32", {"air_potential_temperature": ("float32", LYX)}),
        ("static", "rotated", 83, 83, 1, "standard", "float32", {"surface_altitude": ("float32", "x y")})],
    "sst30e_netcdf.nc": [("", "regular", 91, 181, 12, "standard", "float32", {"sst": ("float32", TYX)})],
    "test_lcc.nc": [("", "projected", 60, 60, 12, "standard", "int32", {"tas": ("float64", TYX)})],
}


def raw_variable(path: Path, name: str, dtype: str, dims: str) -> np.ndarray:
    """(time, layer, row, column) of the whole variable, read by netCDF4 alone."""
    with netCDF4.Dataset(path) as dataset:
        dataset.set_auto_maskandscale(False)
        values = np.asarray(dataset[name][...])
    order = dims.split()
    if dtype.startswith("uint") and values.dtype.kind == "i":  # _Unsigned
        values = values.view(dtype)
    for dim in "tlyx":
        if dim not in order:
            values, order = values[np.newaxis], [dim, *order]
    return values.transpose([order.index(d) for d in "tlyx"])


def test_the_table_names_every_file(shared_data: Path) -> None:
    assert sorted(p.name for p in (shared_data / "grid").iterdir()) == sorted(FILES)


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.rule("K1")
def test_description_is_right(shared_data: Path, name: str) -> None:
    with open_source([str(shared_data / "grid" / name)]) as source:
        found = source.descriptions()
    assert [(d.name, d.domain.kind, d.domain.rows, d.domain.columns, len(d.times), d.times.calendar,
             d.domain.x.dtype.name) for d in found] == [row[:7] for row in FILES[name]]
    assert [{i.name: i.dtype for i in d.items} for d in found] == [
        {n: dtype for n, (dtype, _) in row[7].items()} for row in FILES[name]]


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.rule("W4", "K7")
def test_every_slice_equals_what_netcdf_reads(shared_data: Path, name: str) -> None:
    path = shared_data / "grid" / name
    with open_source([str(path)]) as source:
        for description, row in zip(source.descriptions(), FILES[name], strict=True):
            for item in description.items:
                dtype, dims = row[7][item.name]
                expected = raw_variable(path, item.name, dtype, dims)
                assert expected.shape == (len(description.times), item.layer_count, description.domain.rows,
                                          description.domain.columns)
                for layer in item.layer_ids():
                    for t in range(len(description.times)):
                        got = source.read(description, item.name, slice(t, t + 1), layer, slice(None), slice(None))
                        assert got.dtype == item.numpy
                        assert got.flags.c_contiguous
                        assert got.tobytes() == expected[t, max(layer, 0)].tobytes(), (item.name, t, layer)


@pytest.mark.parametrize("name", sorted(set(FILES) - {"hgt.nc", "sst30e_netcdf.nc"}))
def test_times_equal_those_of_cftime(shared_data: Path, name: str) -> None:
    path = shared_data / "grid" / name
    with open_source([str(path)]) as source:
        description = source.descriptions()[0]
    with netCDF4.Dataset(path) as dataset:
        dataset.set_auto_maskandscale(False)
        variable = next(dataset[n] for n in ("time_centered", "ocean_time", "t", "time") if n in dataset.variables)
        unit = getattr(variable, "units", None) or variable.Unit
        dates = cftime.num2date(np.atleast_1d(variable[...]), unit, getattr(variable, "calendar", "standard"))
    for i, date in enumerate(dates.tolist()):
        fraction = f".{date.microsecond:06d}".rstrip("0") if date.microsecond else ""
        assert description.times.text(i) == date.strftime("%Y-%m-%dT%H:%M:%S") + fraction


def test_months_are_calendar_months_and_say_so(shared_data: Path) -> None:
    with open_source([str(shared_data / "grid" / "hgt.nc")]) as source:
        times = source.descriptions()[0].times
        assert [times.text(i) for i in (0, 1, 2, 20)] == [
            "1958-01-01T00:00:00", "1958-02-01T00:00:00", "1959-02-01T00:00:00", "1977-02-01T00:00:00"]
        assert any("calendar" in n.reason and n.what == "time" for n in source.dropped())
    with open_source([str(shared_data / "grid" / "sst30e_netcdf.nc")]) as source:
        times = source.descriptions()[0].times
        assert [times.text(i)[5:10] for i in range(12)] == [f"{m:02d}-01" for m in range(1, 13)]
        assert any("month 1 is taken as January" in n.reason for n in source.dropped())


@pytest.mark.parametrize(("name", "variable", "field"), [
    ("SMALL_total_column_co2.nc", "latitude", "y"), ("SMALL_total_column_co2.nc", "longitude", "x"),
    ("sst30e_netcdf.nc", "lat", "y"), ("test_lcc.nc", "x", "x"), ("test_lcc.nc", "lat", "latitude"),
    ("small_rotPole_precipitation.nc", "lon", "longitude"), ("small_rotPole_precipitation.nc", "rlat", "y"),
    ("nemo_1m_20150101-20150201_grid-T.nc", "nav_lon", "longitude"),
    ("nemo_1m_20150101-20150201_grid-T.nc", "bounds_lat", "corner_latitude"),
    ("small_theta_colpex.nc", "grid_latitude_bnds", "y_bounds"),
    ("cmems_global-analysis-forecast-phy-001-024.nc", "latitude", "y"),
])
def test_coordinates_are_kept_to_the_bit(shared_data: Path, name: str, variable: str, field: str) -> None:
    path = shared_data / "grid" / name
    with open_source([str(path)]) as source:
        found = getattr(source.descriptions()[0].domain, field)
    with netCDF4.Dataset(path) as dataset:
        dataset.set_auto_maskandscale(False)
        expected = np.asarray(dataset[variable][...])
    assert found.dtype == expected.dtype.newbyteorder("=")
    assert np.array_equal(found, expected)


def test_the_packed_coordinates_of_goes_place_it_where_it_is(shared_data: Path) -> None:
    import pyproj

    with open_source([str(shared_data / "grid" / "20171025_2056.Cloud_Top_Height.nc")]) as source:
        domain = source.descriptions()[0].domain
    assert abs(domain.x[0] + 0.0749) < 1e-8
    assert domain.y[0] > domain.y[-1]
    to_degrees = pyproj.Transformer.from_crs(pyproj.CRS.from_wkt(domain.crs), 4326, always_xy=True)
    longitude, latitude = to_degrees.transform(domain.x[250], domain.y[150])
    assert -110 < longitude < -70  # GOES-16 over the United States, from the file's own extent
    assert 14 < latitude < 53


def test_projected_coordinates_agree_with_the_files_own_places(shared_data: Path) -> None:
    import pyproj

    with open_source([str(shared_data / "grid" / "test_lcc.nc")]) as source:
        domain = source.descriptions()[0].domain
    transform = pyproj.Transformer.from_crs(pyproj.CRS.from_wkt(domain.crs), 4326, always_xy=True)
    longitude, latitude = transform.transform(*np.meshgrid(domain.x, domain.y))
    assert np.abs(latitude - domain.latitude).max() < 0.2  # a sphere in one, an ellipsoid in the other
    assert np.abs((longitude - domain.longitude + 180) % 360 - 180).max() < 0.2


def test_a_grid_mapping_that_contradicts_the_files_places_is_not_used(shared_data: Path) -> None:
    with open_source([str(shared_data / "grid" / "small_rotPole_precipitation.nc")]) as source:
        domain = source.descriptions()[0].domain
        notes = [n for n in source.dropped() if n.what == "rotated_pole"]
    assert domain.crs == ""
    assert domain.grid_mapping["grid_north_pole_latitude"] == 18.0  # the places are those of a pole at 39.25, -162
    assert "degrees off" in notes[0].reason


def test_the_same_data_in_netcdf_3_and_4_are_the_same(shared_data: Path) -> None:
    sources = [open_source([str(shared_data / "grid" / f"indonesia_nc{n}.nc")]) for n in (3, 4)]
    one, other = (s.descriptions()[0] for s in sources)
    assert one.items == other.items
    assert one.times == other.times
    for item in one.items:
        a, b = (s.read(d, item.name, slice(None), -1, slice(None), slice(None))
                for s, d in zip(sources, (one, other), strict=True))
        assert a.tobytes() == b.tobytes()
    for source in sources:
        source.close()


def test_daily_files_become_one_dataset(shared_data: Path) -> None:
    paths = sorted((shared_data / "grid").glob("2002010*.nc"), reverse=True)
    with open_source([str(p) for p in paths]) as source:
        (description,) = source.descriptions()
        assert description.times.texts() == [f"2002-01-0{d}T00:00:00" for d in (1, 2, 3)]
        assert len(description.source) == 3
        for item in description.items:
            got = source.read(description, item.name, slice(None), -1, slice(None), slice(None))
            for t, path in enumerate(reversed(paths)):
                expected = raw_variable(path, item.name, "float64", TYX)[0, 0]
                assert got[t].tobytes() == expected.tobytes()


def test_encodings_of_real_files(shared_data: Path) -> None:
    def items(name: str) -> dict:
        with open_source([str(shared_data / "grid" / name)]) as source:
            return {i.name: i for d in source.descriptions() for i in d.items}

    co2 = items("SMALL_total_column_co2.nc")["tcco2"]
    assert (co2.dtype, co2.no_data, co2.missing, co2.scale, co2.offset, co2.decoded) == (
        "int16", -32767, (), 0.0013179950193703076, 389.63283727841815, "float64")
    height = items("20171025_2056.Cloud_Top_Height.nc")["HT"]
    assert (height.dtype, height.no_data, height.valid_min, height.valid_max, height.decoded) == (
        "uint16", 65535, 0, 65530, "float32")
    assert height.scale == float(np.float32(0.3052037))
    temperature = items("cmems_mod_bal_phy_anfc_P1D.nc")["thetao"]
    assert np.isnan(temperature.no_data)
    assert temperature.missing == (-999.0,)
    assert (temperature.layers.meaning, temperature.layers.positive, len(temperature.layers)) == ("depth", "down", 29)
    nordic = items("Nordic_subset.nc")["salt"]
    assert (nordic.no_data, nordic.decoded, nordic.layers.meaning) == (None, "float32", "sigma")
    current = items("20020101000000-GLOBCURRENT-L4-CUReul_hs-ALT_SUM-v02.0-fv01.0.nc")
    assert current["eastward_eulerian_current_velocity"].unit == "m s-1"  # the file says Unit, not units
