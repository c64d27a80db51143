"""Real samples for the codec benchmark: variables of ../shared/data as lists of tiles, runs and series blocks."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import xarray

from mdstudio.engine.model import Array, Hint

TILE, RUN = 128, 16384
LIMIT = 12 << 20  # raw bytes of one sample: the timesteps beyond are left out


@dataclass(frozen=True)
class Sample:
    """One variable.

    Attributes:
        tiles: what the layouts hand to a codec, in the order in which they do.
        hints: what a source knows; the benchmark encodes with and without.
    """

    name: str
    group: str
    tiles: tuple[Array, ...]
    hints: tuple[Hint, ...] = ()
    no_data: int | float | None = None
    raw_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "raw_bytes", sum(tile.nbytes for tile in self.tiles))


GRIDS = {
    "SMALL_total_column_co2.nc": ("tcco2",),
    "ERA5_DutchCoast.nc": ("mwd", "mwp", "swh"),
    "CMEMS_DutchCoast_2017-10-28.nc": ("VHM0", "VMDR", "VTM02"),
    "Nordic_subset.nc": ("salt", "temp", "u"),
    "era5_1995-07-14T12.nc": ("u10", "t2m", "sp", "t2m_C"),
    "20171025_2056.Cloud_Top_Height.nc": ("HT",),
    "indonesia_nc4.nc": ("tcc", "t2m"),
    "cmems_global-analysis-forecast-phy-001-024.nc": ("uo", "vo"),
    "hgt.nc": ("HGT",),
    "sst30e_netcdf.nc": ("sst",),
    "nemo_1m_20150101-20150201_grid-T.nc": ("tos",),
    "small_rotPole_precipitation.nc": ("pr",),
    "pr_day_HadGEM2-CC_360day_2095.nc": ("pr",),
    "small_theta_colpex.nc": ("air_potential_temperature",),
    "cmems_mod_bal_phy_anfc_P1D.nc": ("thetao", "so"),
    "test_lcc.nc": ("tas",),
    "20020101000000-GLOBCURRENT-L4-CUReul_hs-ALT_SUM-v02.0-fv01.0.nc": ("eastward_eulerian_current_velocity",),
}
MESHES = {
    "ADH_SanDiego.nc": ("depth",),
    "ADCIRC_BG_20190910_1t.nc": ("ssh", "u"),
    "tri_grid_example-FVCOM.nc": ("temp", "salinity", "u"),
    "simplebox_hex7_map.nc": ("mesh2d_s1", "mesh2d_u1", "mesh2d_taus"),
    "lfric_ngvat_2D_72t_face_half_levels_main_conv_rain.nc": ("conv_rain",),
    "temp.fesom.1948.nc": ("temp",),
    "cairns.sww": ("stage",),
    "icon-test.nc": ("t2m", "u"),
}
GRIB = (
    "PrecipRate_00.00_20190610-000000.grib2",
    "alternate-scanning.grib",
    "aqm.t12z.ave_1hr_o3-HI-mercator.grib2",
    "era5-2mt-2019-03-uk.grib",
    "era5-levels-members.grib",
    "fields_with_missing_values.grib",
    "gfs.t12z.pgrb2.0p25.f023-PV-TMP-missing.grib2",
    "gfswave.t18z.atlocn.0p16.f001.grib2",
    "hrrr.t06z.wrfsfcf01-TMP.grib2",
    "hrrr.wrfsubhf.sample.grib2",
    "meteofrance.mfwam.arome-SWELL.grib2",
    "s2s_control_2026-08-10T00Z.grib2",
    "safrica.grib2",
)
MISSING = 1e33  # asked of ecCodes for cells without a value
SERIES = {"SMALL_total_column_co2.nc": ("tcco2",), "ERA5_DutchCoast.nc": ("mwp", "swh"), "hgt.nc": ("HGT",)}


def samples(data: Path) -> Iterator[Sample]:
    """All samples below the folder of real files, class by class."""
    for file, names in GRIDS.items():
        for variable, stored in _variables(data / "grid" / file, names):
            yield from _grid(f"{variable.name} ({file[:12]})", variable, stored)
        yield from _as_xarray_unpacks(data / "grid" / file, names)
    yield from grib_samples(data)
    for file, names in MESHES.items():
        for variable, stored in _variables(data / "mesh" / file, names):
            runs = [step[at : at + RUN] for step in _steps(stored, 1) for at in range(0, step.size, RUN)]
            yield Sample(f"{variable.name} ({file[:12]})", "mesh", tuple(runs), no_data=_fill(variable))
    for file, names in SERIES.items():
        for variable, stored in _variables(data / "grid" / file, names):
            yield _series(f"series {variable.name}", variable, stored)


def _as_xarray_unpacks(path: Path, names: tuple[str, ...]) -> Iterator[Sample]:
    """Packed variables as a user of xarray holds them; no hint."""
    with xarray.open_dataset(path, decode_times=False) as file:
        for name in names:
            if "scale_factor" in file[name].encoding:
                values = np.ascontiguousarray(file[name].values)
                steps = _steps(values, 2)
                steps = steps[: max(1, LIMIT // steps[0].nbytes)]
                tiles = tuple(tile for step in steps for tile in tiles_of(step))
                group = f"xarray {values.dtype.name}"
                yield Sample(f"{name} ({path.name[:12]}) by xarray", group, tiles, no_data=float("nan"))


def grib_samples(data: Path) -> Iterator[Sample]:
    """The fields of GRIB files as ecCodes gives them, in float64 and cast to float32: a sample a file; no hint."""
    for name in GRIB:
        tiles = [tile for values in grib_fields(data / "grib" / name) for tile in tiles_of(values)]
        tiles = tiles[: max(1, LIMIT // tiles[0].nbytes)]
        for kind in ("float32", "float64"):
            cast = tuple(tile.astype(kind) for tile in tiles)
            yield Sample(f"{name[:20]} as {kind}", f"GRIB {kind}", cast, no_data=float("nan"))


def grib_fields(path: Path) -> Iterator[Array]:
    """The regular fields of a GRIB file, rows x columns, missing cells NaN, by the files' own order of messages."""
    importlib.import_module("pyproj")  # before ecCodes, whose libproj otherwise breaks that of pyproj
    import eccodes

    with path.open("rb") as file:
        while (message := eccodes.codes_grib_new_from_file(file)) is not None:
            eccodes.codes_set(message, "missingValue", MISSING)
            values = eccodes.codes_get_values(message)
            shape = eccodes.codes_get(message, "Nj"), eccodes.codes_get(message, "Ni")
            eccodes.codes_release(message)
            if values.size == shape[0] * shape[1]:
                yield np.where(values == MISSING, np.nan, values).reshape(shape)


def _variables(path: Path, names: tuple[str, ...]) -> Iterator[tuple[Any, Array]]:
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        for name in names:
            yield file[name], np.ascontiguousarray(file[name][...]).astype(file[name].dtype.newbyteorder("<"))


def _fill(variable: Any) -> int | float | None:
    fill = getattr(variable, "_FillValue", None)
    return None if fill is None else fill.item()


def _steps(stored: Array, dimensions: int) -> Array:
    return stored.reshape(-1, *stored.shape[stored.ndim - dimensions :])


def tiles_of(step: Array) -> list[Array]:
    """A slice cut into tiles of at most 128 x 128 cells."""
    return [
        np.ascontiguousarray(step[row : row + TILE, column : column + TILE])
        for row in range(0, step.shape[0], TILE)
        for column in range(0, step.shape[1], TILE)
    ]


def _grid(name: str, variable: Any, stored: Array) -> Iterator[Sample]:
    steps = _steps(stored, 2)
    steps = steps[: max(1, LIMIT // steps[0].nbytes)]
    tiles = tuple(tile for step in steps for tile in tiles_of(step))
    fill, scale = _fill(variable), getattr(variable, "scale_factor", None)
    if scale is None:
        group = "grid float64" if stored.dtype.itemsize == 8 else "grid float32"
        yield Sample(name, group, tiles, no_data=fill)
        return
    yield Sample(name, "grid int16", tiles, no_data=fill)
    offset = getattr(variable, "add_offset", np.float64(0))
    for target in ("float32", "float64"):
        unpacked = tuple(_unpack(tile, fill, float(scale), float(offset), target) for tile in tiles)
        hint = Hint(1, float(scale), float(offset))
        yield Sample(f"{name} as {target}", f"unpacked {target}", unpacked, (hint,), float("nan"))


def _unpack(tile: Array, fill: int | float | None, scale: float, offset: float, target: str) -> Array:
    values = (tile.astype(np.float64) * scale + offset).astype(target)
    if fill is not None:
        values[tile == fill] = np.nan
    return values


def _series(name: str, variable: Any, stored: Array) -> Sample:
    steps = _steps(stored, 2)
    rows = steps.reshape(steps.shape[0], -1).T  # series x time
    count = max(4, min(256, -(-32768 // (steps.shape[0] * stored.dtype.itemsize))))
    blocks = tuple(np.ascontiguousarray(rows[at : at + count]) for at in range(0, rows.shape[0], count))
    return Sample(name, "series", blocks, no_data=_fill(variable))
