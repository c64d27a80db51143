"""A NetCDF file for the tests of the shell."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write_source(path: Path, items: tuple[str, ...] = ("temperature", "wind")) -> Path:
    """A NetCDF file as small as it can be: 3 times, 20 x 30 cells, packed and float."""
    import netCDF4

    path.parent.mkdir(parents=True, exist_ok=True)
    with netCDF4.Dataset(path, "w") as file:
        for name, size in (("time", 3), ("lat", 20), ("lon", 30)):
            file.createDimension(name, size)
        for name, dtype, values, units in (
            ("time", "f8", np.arange(3.0), "days since 2020-01-01"),
            ("lat", "f4", np.linspace(60, 50, 20), "degrees_north"),
            ("lon", "f4", np.linspace(0, 15, 30), "degrees_east"),
        ):
            variable = file.createVariable(name, dtype, (name,))
            variable.units = units
            variable[:] = values
        for number, name in enumerate(items):
            variable = file.createVariable(name, "f4", ("time", "lat", "lon"))
            variable.units = "m"
            variable[:] = np.arange(1800, dtype=np.float32).reshape(3, 20, 30) / 7 + number
    return path
