"""Results of queries as files: NumPy archives, CSV and NetCDF (keys of design 5a)."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mdstudio.engine.model import Array, require_grid
from mdstudio.engine.requests import MapResult, SeriesResult
from mdstudio.targets.files import whole_file

if TYPE_CHECKING:
    from mdstudio.engine.dataset import Dataset

_OTHERS = ("scale_factor", "add_offset", "_FillValue",  # set by name, or naming variables that are not written
           "coordinates", "grid_mapping", "bounds", "cell_measures", "ancillary_variables")


def write_map(path: str, ending: str, result: MapResult, dataset: Dataset) -> None:
    """`.npz`: stored, values, x, y, mask. `.csv`: x, y, value, a line a cell. `.nc`: CF, as stored."""
    if ending == ".nc":
        require_grid(dataset.domain, dataset.location)
    with whole_file(Path(path)) as part:
        if ending == ".npz":
            with part.open("wb") as file:
                np.savez_compressed(file, stored=result.stored, values=result.values, x=result.x, y=result.y,
                                    mask=result.mask)
        elif ending == ".csv":
            _map_csv(part, result)
        else:
            _map_netcdf(part, result, dataset)


def write_series(path: str, ending: str, result: SeriesResult) -> None:
    """`.npz`: time, values, stored, cells. `.csv`: time, then a column a point named "x y"; empty for no data."""
    with whole_file(Path(path)) as part:
        if ending == ".npz":
            with part.open("wb") as file:
                np.savez_compressed(file, time=np.array(result.times.texts()), values=result.values,
                                    stored=result.stored, cells=result.cells)
            return
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["time", *(f"{x!r} {y!r}" for x, y in result.request.points)])
            for time, row in zip(result.times.texts(), result.values.tolist(), strict=True):
                writer.writerow([time, *map(_cell, row)])


def _map_csv(path: Path, result: MapResult) -> None:
    x, y = result.x, result.y
    if x.ndim == 1:
        x, y = np.broadcast_to(x, result.mask.shape), np.broadcast_to(y[:, None], result.mask.shape)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["x", "y", "value"])
        for row in range(result.mask.shape[0]):
            at = result.mask[row]
            values = map(_cell, result.values[row][at].tolist())
            writer.writerows(zip(x[row][at].tolist(), y[row][at].tolist(), values, strict=True))


def _cell(value: float) -> str:
    return "" if value != value else repr(value)


def _map_netcdf(path: Path, result: MapResult, dataset: Dataset) -> None:
    """The stored numbers with their CF packing, so that a reader sees values; coordinates as the source had them."""
    import netCDF4

    item, domain = result.item, dataset.grid
    with netCDF4.Dataset(path, "w") as file:
        file.setncattr("Conventions", "CF-1.8")
        file.setncattr("source", f"{dataset.location}")
        plane = result.x.ndim == 2
        row_name, column_name = ("row", "column") if plane else (domain.y_name, domain.x_name)
        if row_name == column_name:
            row_name, column_name = "y", "x"
        file.createDimension(row_name, result.stored.shape[0])
        file.createDimension(column_name, result.stored.shape[1])
        names = ("latitude", "longitude") if plane else (row_name, column_name)
        for name, values, own in ((names[0], result.y, domain.y_name), (names[1], result.x, domain.x_name)):
            dims = (row_name, column_name) if plane else (name,)
            variable = file.createVariable(name, np.asarray(values).dtype, dims)
            attributes = domain.coordinate_attributes.get(name if plane else own, {})
            if plane:
                attributes = {"units": "degrees_north" if name == "latitude" else "degrees_east"}
            _set(variable, attributes)
            variable.set_auto_maskandscale(False)
            variable[...] = values
        _moment(file, result, dataset)
        variable = file.createVariable(
            _netcdf_name(item.name, set(file.variables)), np.dtype(item.dtype), (row_name, column_name), zlib=True,
            complevel=4, shuffle=True, fill_value=False if item.no_data is None else item.numpy.type(item.no_data))
        variable.set_auto_maskandscale(False)
        _set(variable, item.attributes)
        if item.scale is not None or item.offset is not None:
            packed = np.dtype(item.decoded).type
            variable.setncattr("scale_factor", packed(1.0 if item.scale is None else item.scale))
            variable.setncattr("add_offset", packed(item.offset or 0.0))
        if item.unit:
            variable.setncattr("units", item.unit)
        scalars = [name for name, v in file.variables.items() if not v.dimensions]
        if plane or scalars:
            variable.setncattr("coordinates", " ".join([*(names[::-1] if plane else ()), *scalars]))
        if domain.grid_mapping:
            mapping = file.createVariable("crs", "i4")
            _set(mapping, domain.grid_mapping)
            variable.setncattr("grid_mapping", "crs")
        variable[...] = _outside_as_no_data(result)


def _moment(file: Any, result: MapResult, dataset: Dataset) -> None:
    """The time and the layer of the slice as scalar coordinates."""
    times, item, request = dataset.metadata.times, result.item, result.request
    if not times.static:
        time = file.createVariable("time", "f8", ())
        time.setncatts({"units": "seconds since 1970-01-01 00:00:00", "calendar": times.calendar,
                        "standard_name": "time"})
        time[...] = int(times.microseconds[request.time]) / 1e6
    if item.layers:
        layer = file.createVariable(_netcdf_name(item.layers.name, set(file.variables)), "f8", ())
        layer.setncatts({key: value for key, value in (("units", item.layers.unit), ("positive", item.layers.positive))
                         if value})
        layer[...] = item.layers.values[request.layer or 0]


def _outside_as_no_data(result: MapResult) -> Array:
    if result.item.no_data is None:
        return result.stored
    return np.where(result.mask, result.stored, result.item.numpy.type(result.item.no_data))


def _netcdf_name(name: str, taken: set[str]) -> str:
    name = name.replace("/", "_").strip() or "value"
    return f"{name}_value" if name in taken else name


def _set(variable: Any, attributes: Any) -> None:
    """Attributes that NetCDF can hold; those of packing and of other variables are set by the caller."""
    for name, value in attributes.items():
        if name not in _OTHERS and isinstance(value, str | int | float | list) and value != []:
            variable.setncattr(name, value)
