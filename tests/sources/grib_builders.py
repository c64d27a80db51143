"""Small GRIB messages for the tests, made with ecCodes itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyproj  # noqa: F401 - before ecCodes, which brings a PROJ of its own

import eccodes  # isort: skip

Array = np.ndarray[Any, np.dtype[Any]]
ROWS, COLUMNS = 6, 8
REGULAR: Mapping[str, Any] = {
    "Ni": COLUMNS, "Nj": ROWS, "latitudeOfFirstGridPointInDegrees": 60.0, "latitudeOfLastGridPointInDegrees": 50.0,
    "longitudeOfFirstGridPointInDegrees": 2.0, "longitudeOfLastGridPointInDegrees": 16.0,
    "iDirectionIncrementInDegrees": 2.0, "jDirectionIncrementInDegrees": 2.0, "scanningMode": 0}
LAMBERT: Mapping[str, Any] = {
    "Nx": COLUMNS, "Ny": ROWS, "latitudeOfFirstGridPointInDegrees": 21.0, "longitudeOfFirstGridPointInDegrees": 240.0,
    "LaDInDegrees": 38.5, "LoVInDegrees": 262.5, "Latin1InDegrees": 33.0, "Latin2InDegrees": 45.0,
    "DxInMetres": 30000.0, "DyInMetres": 20000.0, "scanningMode": 64}
MERCATOR: Mapping[str, Any] = {
    "Ni": COLUMNS, "Nj": ROWS, "latitudeOfFirstGridPointInDegrees": 18.0, "longitudeOfFirstGridPointInDegrees": 198.0,
    "latitudeOfLastGridPointInDegrees": 18.904, "longitudeOfLastGridPointInDegrees": 199.34, "LaDInDegrees": 20.0,
    "DiInMetres": 20000.0, "DjInMetres": 20000.0, "orientationOfTheGridInDegrees": 0.0, "scanningMode": 64}
POLAR: Mapping[str, Any] = {
    "Nx": COLUMNS, "Ny": ROWS, "latitudeOfFirstGridPointInDegrees": 55.0, "longitudeOfFirstGridPointInDegrees": 340.0,
    "LaDInDegrees": 60.0, "orientationOfTheGridInDegrees": 10.0, "DxInMetres": 40000.0, "DyInMetres": 40000.0,
    "projectionCentreFlag": 0, "scanningMode": 64}
ROTATED: Mapping[str, Any] = {
    **REGULAR, "latitudeOfFirstGridPointInDegrees": 5.0, "latitudeOfLastGridPointInDegrees": -5.0,
    "longitudeOfFirstGridPointInDegrees": 350.0, "longitudeOfLastGridPointInDegrees": 4.0,
    "latitudeOfSouthernPoleInDegrees": -39.25, "longitudeOfSouthernPoleInDegrees": 18.0,
    "angleOfRotationInDegrees": 0.0}
GAUSSIAN: Mapping[str, Any] = {
    "N": 32, "Ni": 128, "Nj": 64, "latitudeOfFirstGridPointInDegrees": 87.864,
    "longitudeOfFirstGridPointInDegrees": 0.0,
    "latitudeOfLastGridPointInDegrees": -87.864, "longitudeOfLastGridPointInDegrees": 357.188,
    "iDirectionIncrementInDegrees": 2.812}
GRIDS: Mapping[str, Mapping[str, Any]] = {
    "regular_ll": REGULAR, "lambert": LAMBERT, "mercator": MERCATOR, "polar_stereographic": POLAR,
    "rotated_ll": ROTATED, "regular_gg": GAUSSIAN}


def smooth(rows: int = ROWS, columns: int = COLUMNS, start: float = 280.0) -> Array:
    """Values that differ in every cell and that all packings take; row after row."""
    y, x = np.mgrid[:rows, :columns]
    values: Array = start + 3 * np.sin(x / 5) + y * 0.75 + x * 0.125
    return values


def message(values: Any = None, keys: Mapping[str, Any] | None = None, *, grid: str = "regular_ll", edition: int = 2,
            packing: str = "grid_simple", missing: Any = None, bits: int = 16, **more: Any) -> bytes:
    """One message of float64 values in file order; `missing`: bool, points that the bitmap leaves out.

    `keys` and `more` are set before the values, the grid's own first.
    """
    handle = eccodes.codes_grib_new_from_samples(f"GRIB{edition}")
    try:
        eccodes.codes_set(handle, "gridType", grid)
        for key, value in {**GRIDS.get(grid, {}), **(keys or {}), **more}.items():
            eccodes.codes_set(handle, key, value)
        data = np.asarray(smooth() if values is None else values, np.float64).ravel()
        if missing is not None:
            sentinel = 9e20
            data = np.where(np.asarray(missing).ravel(), sentinel, data)
            eccodes.codes_set(handle, "bitmapPresent", 1)
            eccodes.codes_set(handle, "missingValue", sentinel)
        if edition == 2:
            eccodes.codes_set(handle, "numberOfDataPoints", data.size)
        eccodes.codes_set(handle, "bitsPerValue", bits)
        if packing == "grid_ieee" and edition == 2:
            eccodes.codes_set(handle, "packingType", packing)
            eccodes.codes_set(handle, "precision", 2)  # doubles
        eccodes.codes_set_values(handle, data)
        if packing not in ("grid_simple", "grid_ieee") or edition == 1:
            eccodes.codes_set(handle, "packingType", packing)
        made: bytes = eccodes.codes_get_message(handle)
        return made
    finally:
        eccodes.codes_release(handle)


def managed(values: Array, missing: Array, packing: str) -> bytes:
    """One message of complex packing whose missing points the packing itself leaves out: there is no bitmap."""
    handle = eccodes.codes_grib_new_from_samples("GRIB2")
    eccodes.codes_set(handle, "packingType", packing)
    for name, value in {"Ni": values.shape[1], "Nj": values.shape[0], "numberOfDataPoints": values.size,
                        "missingValueManagementUsed": 1, "missingValue": 9e20}.items():
        eccodes.codes_set(handle, name, value)
    eccodes.codes_set_values(handle, np.where(missing, 9e20, values).ravel())
    made: bytes = eccodes.codes_get_message(handle)
    eccodes.codes_release(handle)
    return made


def temperature(level: int = 0, *, day: int = 1, hour: int = 0, step: int = 0, member: int | None = None,
                start: float = 280.0, **more: Any) -> bytes:
    """A temperature at a pressure level in hPa, of January 2020; level 0: at 2 m."""
    keys: dict[str, Any] = {"dataDate": 20200100 + day, "dataTime": hour * 100}
    if member is not None:
        keys |= {"productDefinitionTemplateNumber": 1, "perturbationNumber": member, "numberOfForecastsInEnsemble": 5}
    keys |= {"discipline": 0, "parameterCategory": 0, "parameterNumber": 0,
             "typeOfFirstFixedSurface": 100 if level else 103, "scaleFactorOfFirstFixedSurface": 0,
             "scaledValueOfFirstFixedSurface": level * 100 or 2, "stepRange": str(step)}
    return message(smooth(start=start), keys, **more)


def rain(start_step: int, end_step: int, *, hour: int = 0, start: float = 1.0) -> bytes:
    """Precipitation that is accumulated between two steps in hours."""
    return message(smooth(start=start), {
        "dataDate": 20200101, "dataTime": hour * 100, "productDefinitionTemplateNumber": 8, "discipline": 0,
        "parameterCategory": 1, "parameterNumber": 52, "typeOfFirstFixedSurface": 1, "typeOfStatisticalProcessing": 1,
        "stepRange": f"{start_step}-{end_step}"})


def write(path: Path, messages: Iterable[bytes]) -> Path:
    path.write_bytes(b"".join(messages))
    return path


def decoded(data: bytes, missing_value: float = 9e20) -> Array:
    """ecCodes' own values of one message, in file order; NaN where they equal a sentinel that none of them has."""
    handle = eccodes.codes_new_from_message(data)
    eccodes.codes_set(handle, "missingValue", missing_value)
    values: Array = eccodes.codes_get_values(handle)
    eccodes.codes_release(handle)
    return np.where(values == missing_value, np.nan, values)


def key(data: bytes, name: str) -> Any:
    handle = eccodes.codes_new_from_message(data)
    value = eccodes.codes_get(handle, name)
    eccodes.codes_release(handle)
    return value
