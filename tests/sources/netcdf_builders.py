"""Small NetCDF files for the tests, written with netCDF4 itself and raw (no masks, no scaling)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def new_file(path: Path, format: str = "NETCDF4") -> netCDF4.Dataset:
    """An empty file to write raw values into; close it."""
    dataset = netCDF4.Dataset(path, "w", format=format)
    dataset.set_auto_maskandscale(False)
    return dataset


def add(group: Any, name: str, dims: Sequence[str], values: Any, attributes: Mapping[str, Any] | None = None,
        **create: Any) -> Any:
    """A variable with its values; dimensions that are not there yet are made to fit."""
    array = np.asarray(values)
    scope = group
    known: set[str] = set()
    while scope is not None:
        known |= set(scope.dimensions)
        scope = scope.parent
    for dim, size in zip(dims, array.shape, strict=True):
        if dim not in known:
            group.createDimension(dim, size)
            known.add(dim)
    attributes = dict(attributes or {})
    fill = attributes.pop("_FillValue", None)
    variable = group.createVariable(name, create.pop("dtype", array.dtype), dims, fill_value=fill, **create)
    variable.set_auto_maskandscale(False)
    variable.setncatts(attributes)
    variable[...] = array
    return variable


LON = {"units": "degrees_east", "standard_name": "longitude"}
LAT = {"units": "degrees_north", "standard_name": "latitude"}
HOURS = {"units": "hours since 2000-01-01", "standard_name": "time"}


def add_axes(group: Any, times: Any = (0, 1, 2), rows: int = 4, columns: int = 5, hours: Mapping[str, Any] = HOURS,
             unlimited: bool = False) -> None:
    """lon, lat (descending) and, unless `times` is None, time."""
    group.createDimension("lon", columns)
    group.createDimension("lat", rows)
    add(group, "lon", ["lon"], np.linspace(0, 8, columns, dtype="f4"), LON)
    add(group, "lat", ["lat"], np.linspace(60, 50, rows, dtype="f4"), LAT)
    if times is not None:
        group.createDimension("time", None if unlimited else len(np.atleast_1d(times)))
        stamps = np.asarray(times)
        whole_numbers = not isinstance(times, np.ndarray) and stamps.dtype.kind == "i"
        add(group, "time", ["time"], stamps.astype("i4") if whole_numbers else stamps, hours)  # NetCDF-3 has no int64


def numbered(*shape: int, dtype: str = "i2") -> Array:
    """Values that differ in every cell."""
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


def one_item(path: Path, values: Any = None, attributes: Mapping[str, Any] | None = None, times: Any = (0, 1, 2),
             hours: Mapping[str, Any] = HOURS, name: str = "v", **create: Any) -> Path:
    """A file of one item over time, lat, lon; returns its path."""
    with new_file(path, create.pop("format", "NETCDF4")) as dataset:
        steps = len(np.atleast_1d(times))
        values = numbered(steps, 4, 5) if values is None else np.asarray(values)
        add_axes(dataset, times, *values.shape[-2:], hours)
        add(dataset, name, ["time", "lat", "lon"], values, attributes, **create)
    return path


def whole(source: Any, description: Any, item: str, layer: int = -1) -> Array:
    """Every step of an item in one read."""
    everything = slice(None)
    return source.read(description, item, everything, layer, everything, everything)
