"""Small NetCDF files that tests make themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

X, Y = np.arange(-6, 6, 0.5), np.arange(60, 50, -0.5)
LAND = (np.abs(X[None, :]) < 1) & (Y[:, None] > 55)


def write_waves(path: Path, times: Any = (0, 6, 12, 18, 24, 30), *, cells: int = 0, **options: Any) -> Path:
    """Packed `swh`, float64 `level`, layered float32 `temp` over land; `cells` asks for a grid of so many columns."""
    x = np.linspace(-10, 10, cells) if cells else X
    land = np.zeros((Y.size, x.size), bool) if cells else LAND
    random = np.random.default_rng(1)
    with netCDF4.Dataset(path, "w", **options) as file:
        for name, size in (("time", len(times)), ("depth", 3), ("latitude", Y.size), ("longitude", x.size)):
            file.createDimension(name, size)
        axis(file, "time", "i4", times, units="hours since 2020-01-01", calendar="standard")
        axis(file, "depth", "f4", (0, 10, 50), units="m", positive="down")
        axis(file, "latitude", "f4", Y, units="degrees_north")
        axis(file, "longitude", "f4", x, units="degrees_east")
        shape = (len(times), Y.size, x.size)
        swh = file.createVariable("swh", "i2", ("time", "latitude", "longitude"), fill_value=np.int16(-32767))
        swh.setncatts({"units": "m", "scale_factor": 0.01, "add_offset": 1.0, "long_name": "wave height"})
        swh.set_auto_maskandscale(False)
        swh[:] = np.where(land, -32767, random.integers(-90, 800, shape))
        level = file.createVariable("level", "f8", ("time", "latitude", "longitude"))
        level.units = "m"
        level[:] = random.standard_normal(shape)
        temp = file.createVariable("temp", "f4", ("time", "depth", "latitude", "longitude"), fill_value=1e20)
        temp.units = "degC"
        temp.set_auto_maskandscale(False)
        temp[:] = np.where(land, np.float32(1e20), random.random((len(times), 3, Y.size, x.size)).astype("f4"))
    return path


def axis(file: Any, name: str, dtype: str, values: Any, **attributes: str) -> None:
    variable = file.createVariable(name, dtype, (name,))
    variable.setncatts(attributes)
    variable[:] = np.asarray(values)


def write_staggered(path: Path) -> Path:
    """Two grids in one file."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", 2)
        axis(file, "time", "i4", (0, 1), units="days since 2020-01-01")
        for x, y, shift in (("lon_u", "lat_u", 0.5), ("lon_v", "lat_v", 0.0)):
            axes = ((x, np.arange(4) + shift, "degrees_east"), (y, np.arange(3) + 50, "degrees_north"))
            for name, values, unit in axes:
                file.createDimension(name, values.size)
                axis(file, name, "f8", values, units=unit)
            file.createVariable(x[-1], "f4", ("time", y, x))[:] = 1
    return path
