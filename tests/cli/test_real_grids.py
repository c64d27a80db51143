"""Every real grid file imports, and what was imported is to the bit what netCDF4 itself reads from the file.

The table says, independently of the source's own judgement, what each file holds: per dataset the dimensions of rows,
columns and time ("" where there is none) and the variables. A dimension that is left over is the layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cftime
import netCDF4
import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import Array, Item
from mdstudio.engine.requests import MapRequest
from tests.cli.conftest import Run

pytestmark = pytest.mark.rule("W4")


@dataclass(frozen=True)
class Grid:
    rows: str
    columns: str
    time: str
    variables: str
    name: str = ""
    time_variable: str = ""  # where it is not named as the dimension


CURRENT = Grid("lat", "lon", "time", "eastward_eulerian_current_velocity northward_eulerian_current_velocity")
INDONESIA = Grid("latitude", "longitude", "time", "tcc t2m")
FILES = {
    "20020101000000-GLOBCURRENT-L4-CUReul_hs-ALT_SUM-v02.0-fv01.0.nc": [CURRENT],
    "20020102000000-GLOBCURRENT-L4-CUReul_hs-ALT_SUM-v02.0-fv01.0.nc": [CURRENT],
    "20020103000000-GLOBCURRENT-L4-CUReul_hs-ALT_SUM-v02.0-fv01.0.nc": [CURRENT],
    "20171025_2056.Cloud_Top_Height.nc": [Grid("y", "x", "", "HT DQF")],
    "CMEMS_DutchCoast_2017-10-28.nc": [
        Grid("latitude", "longitude", "time", "VHM0 VMDR VTPK VTM02 VHM0_WW VHM0_SW1 VHM0_SW2")],
    "ERA5_DutchCoast.nc": [Grid("latitude", "longitude", "time", "mwd mwp mp2 pp1d swh")],
    "Nordic_subset.nc": [
        Grid("eta_rho", "xi_rho", "ocean_time", "aice hice salt swrad temp zeta zeta_detided", "eta_rho-xi_rho"),
        Grid("eta_u", "xi_u", "ocean_time", "u ubar uice", "eta_u-xi_u"),
        Grid("eta_v", "xi_v", "ocean_time", "v vbar vice", "eta_v-xi_v"),
        Grid("eta_rho", "xi_rho", "", "angle f h mask_rho pm pn", "eta_rho-xi_rho-static"),
        Grid("eta_psi", "xi_psi", "", "mask_psi", "eta_psi-xi_psi"),
        Grid("eta_u", "xi_u", "", "mask_u", "eta_u-xi_u-static"),
        Grid("eta_v", "xi_v", "", "mask_v", "eta_v-xi_v-static"),
    ],
    "SMALL_total_column_co2.nc": [Grid("latitude", "longitude", "time", "tcco2")],
    "cmems_global-analysis-forecast-phy-001-024.nc": [Grid("latitude", "longitude", "time", "vo uo")],
    "cmems_mod_bal_phy_anfc_P1D.nc": [Grid("latitude", "longitude", "time", "thetao so")],
    "era5_1995-07-14T12.nc": [Grid("latitude", "longitude", "", "u10 v10 d2m t2m sp t2m_C d2m_C")],
    "hgt.nc": [Grid("lat", "lon", "time", "HGT")],
    "indonesia_nc3.nc": [INDONESIA],
    "indonesia_nc4.nc": [INDONESIA],
    "nemo_1m_20150101-20150201_grid-T.nc": [Grid("y", "x", "time_counter", "tos", time_variable="time_centered")],
    "pr_day_HadGEM2-CC_360day_2095.nc": [Grid("lat", "lon", "time", "time_vectors pr")],
    "small_rotPole_precipitation.nc": [Grid("rlat", "rlon", "time", "pr")],
    "small_theta_colpex.nc": [
        Grid("grid_latitude", "grid_longitude", "time", "air_potential_temperature", "time"),
        Grid("grid_latitude", "grid_longitude", "", "surface_altitude", "static"),
    ],
    "sst30e_netcdf.nc": [Grid("latitude", "longitude", "time", "sst")],
    "test_lcc.nc": [Grid("y", "x", "time", "tas")],
}
REFUSED: dict[str, str] = {}  # file -> words of the refusal: none of these files is refused
STORAGE_TYPES = ("SingleTimestep", "MultiTimestep", "TimeSeries")
CASES = [(file, grid, STORAGE_TYPES[n % 3])
         for n, (file, grid) in enumerate((f, g) for f, grids in FILES.items() for g in grids)]
NO_CALENDAR_UNITS = ("hgt.nc", "sst30e_netcdf.nc")  # "months since" and "Month": cftime does not read them either


def test_the_table_names_every_file(shared_data: Path) -> None:
    assert {p.name for p in (shared_data / "grid").glob("*.nc")} == FILES.keys() | REFUSED.keys()


@pytest.mark.parametrize(("file", "grid", "storage_type"), CASES,
                         ids=[f"{f[:24]}-{g.name or g.rows}-{s}" for f, g, s in CASES])
def test_every_item_and_time_is_to_the_bit_what_netcdf4_reads(
    file: str, grid: Grid, storage_type: str, shared_data: Path, tmp_path: Path, run: Run
) -> None:
    source = shared_data / "grid" / file
    target = tmp_path / "dataset"
    words = ["--grid", grid.name] if grid.name else []
    outcome = run("import", source, target, "--set", "Compression=ZstdAuto", "--set", f"StorageType={storage_type}",
                  "--quiet", "--json", *words)
    assert (outcome.status, outcome.err) == (0, "")
    dataset = Dataset.open(str(target))
    assert dataset.metadata.storage.storage_type == storage_type
    assert dataset.metadata.storage.compression == "ZstdAuto"
    assert [i.name for i in dataset.metadata.items] == grid.variables.split()
    with netCDF4.Dataset(source) as original:
        original.set_auto_maskandscale(False)
        for item in dataset.metadata.items:
            _check_item(dataset, item, original[item.name], grid)
        _check_axes(dataset, original, grid)
        if file not in NO_CALENDAR_UNITS:
            _check_times(dataset, original, grid)


def _check_item(dataset: Dataset, item: Item, variable: Any, grid: Grid) -> None:
    values = _in_order(variable, grid)
    assert values.shape == (len(dataset.metadata.times), item.layer_count, *dataset.metadata.shape)
    for time in range(values.shape[0]):
        for layer in range(values.shape[1]):
            result = dataset.map(MapRequest(item.name, time, layer if item.layers else None))
            assert result.mask.all()
            assert _bits(result.stored) == _bits(values[time, layer]), f"{item.name}, time {time}, layer {layer}"


def _in_order(variable: Any, grid: Grid) -> Array:
    """(time, layer, row, column) of the whole variable, whatever its own order; absent ones have length 1."""
    dims = list(variable.dimensions)
    layers = [d for d in dims if d not in (grid.rows, grid.columns, grid.time)]
    assert len(layers) <= 1
    wanted = [*([grid.time] if grid.time in dims else []), *layers, grid.rows, grid.columns]
    values = np.asarray(variable[...]).transpose([dims.index(d) for d in wanted])
    if not layers:
        values = np.expand_dims(values, -3)
    return values if grid.time in dims else values[None]


def _bits(values: Array) -> bytes:
    return values.astype(values.dtype.newbyteorder("<")).tobytes()


def _check_axes(dataset: Dataset, original: Any, grid: Grid) -> None:
    domain = dataset.domain
    if domain.kind == "curvilinear":
        assert domain.longitude is not None
        assert domain.longitude.shape == dataset.metadata.shape
        return
    for name, values in ((grid.rows, domain.y), (grid.columns, domain.x)):
        if name not in original.variables:
            continue  # staggered grids of the ROMS subset: numbers stand in, and are reported
        variable = original[name]
        expected = np.asarray(variable[...])
        if "scale_factor" in variable.ncattrs():  # packed coordinates of the geostationary picture
            expected = expected.astype(np.float64) * variable.scale_factor + variable.add_offset
            np.testing.assert_allclose(values, expected, rtol=1e-6)
        else:
            assert np.array_equal(values, expected)


def _check_times(dataset: Dataset, original: Any, grid: Grid) -> None:
    times = dataset.metadata.times
    if not grid.time:
        assert len(times) == 1
        return
    variable = original[grid.time_variable or grid.time]
    units = variable.units if "units" in variable.ncattrs() else variable.Unit  # the GlobCurrent files
    dates = np.atleast_1d(cftime.num2date(np.asarray(variable[...]), units, getattr(variable, "calendar", "standard")))
    expected = [f"{d.year:04d}-{d.month:02d}-{d.day:02d}T{d.hour:02d}:{d.minute:02d}:{d.second:02d}" for d in dates]
    assert [text.partition(".")[0] for text in times.texts()] == expected


def test_three_days_in_three_files_are_one_dataset(shared_data: Path, tmp_path: Path, run: Run) -> None:
    files = sorted((shared_data / "grid").glob("2002010*.nc"))
    assert len(files) == 3
    outcome = run("import", *files, tmp_path / "d", "--json", "--quiet")
    assert outcome.lines[-1]["summary"]["timesteps"] == 3
    dataset = Dataset.open(str(tmp_path / "d"))
    for time, file in enumerate(files):
        with netCDF4.Dataset(file) as original:
            original.set_auto_maskandscale(False)
            for item in dataset.metadata.items:
                stored = dataset.map(MapRequest(item.name, time)).stored
                assert _bits(stored) == _bits(_in_order(original[item.name], CURRENT)[0, 0])


def test_the_same_data_as_netcdf3_and_netcdf4_is_the_same_dataset(shared_data: Path, tmp_path: Path, run: Run) -> None:
    for kind in ("nc3", "nc4"):
        assert run("import", shared_data / "grid" / f"indonesia_{kind}.nc", tmp_path / kind, "--quiet").status == 0
    outcome = run("compare", tmp_path / "nc3", tmp_path / "nc4", "--json")
    assert outcome.status == 0
    assert outcome.document["equal"] is True


def test_a_real_file_compares_equal_with_its_dataset(shared_data: Path, tmp_path: Path, run: Run) -> None:
    source = shared_data / "grid" / "cmems_mod_bal_phy_anfc_P1D.nc"
    assert run("import", source, tmp_path / "d", "--set", "StorageType=TimeSeries", "--quiet").status == 0
    outcome = run("compare", tmp_path / "d", source, "--json")
    assert (outcome.status, outcome.document["equal"]) == (0, True)
    assert {i["name"]: i["times_compared"] for i in outcome.document["items"]} == {"thetao": 3, "so": 3}


@pytest.mark.rule("W4")
def test_doubles_stored_as_float_compare_with_float32_of_the_source(
    shared_data: Path, tmp_path: Path, run: Run
) -> None:
    source = shared_data / "grid" / "test_lcc.nc"
    assert run("import", source, tmp_path / "d", "--reader", "DoubleAsFloat=true", "--quiet").status == 0
    assert Dataset.open(str(tmp_path / "d")).item("tas").dtype == "float32"
    outcome = run("compare", tmp_path / "d", source, "--json")
    assert (outcome.status, outcome.document["items"][0]["compared_as"]) == (0, "float32")
