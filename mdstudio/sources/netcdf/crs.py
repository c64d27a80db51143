"""Coordinate reference systems from grid mappings; pyproj is loaded only when there is one to build."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from mdstudio.engine.model import Array
from mdstudio.sources.netcdf.attributes import json_attributes, number, text

_METRE = re.compile(r'LENGTHUNIT\["met(?:re|er)",\s*1(?:\.0)?(?:,\s*ID\["EPSG",9001\])?\]')
_LENGTHS = {"km": 1000.0, "kilometer": 1000.0, "kilometers": 1000.0, "kilometre": 1000.0, "kilometres": 1000.0}
_ANGLES = {"rad": 1.0, "radian": 1.0, "radians": 1.0, "microradian": 1e-6, "microradians": 1e-6, "urad": 1e-6}


def crs_of(mapping: Mapping[str, Any], unit: str) -> tuple[str, str]:
    """WKT of a grid mapping, and a note when there is none ("" when all is well).

    `unit` is that of x and y: kilometres, and the radians of a geostationary view, become the length unit of the CRS,
    so that the coordinates stay the file's own numbers. A CRS that PROJ cannot make is no reason to refuse data.
    """
    if not mapping:
        return "", ""
    import pyproj
    from pyproj.exceptions import ProjError
    try:
        crs = _from_mapping(mapping, pyproj)
        if crs is None:
            return "", "the grid mapping names no projection that is known"
        return _with_unit(crs.to_wkt(), _unit_factor(mapping, unit), unit), ""
    except (ProjError, KeyError, ValueError, TypeError, AttributeError) as error:
        return "", f"no coordinate system can be made of the grid mapping: {str(error).splitlines()[0]}"


def _from_mapping(mapping: Mapping[str, Any], pyproj: Any) -> Any:
    written = text(mapping, "crs_wkt", "spatial_ref", "esri_pe_string", "wkt")
    if written:
        return pyproj.CRS.from_user_input(written)
    if text(mapping, "grid_mapping_name") and not text(mapping, "grid_mapping_name").lower().startswith("unknown"):
        plain = json_attributes({k: v for k, v in mapping.items() if not k.startswith("_")})
        return pyproj.CRS.from_cf(plain)
    code = re.search(r"(\d{4,6})$", text(mapping, "epsg_code", "epsg", "EPSG_code").strip())
    if code:
        return pyproj.CRS.from_epsg(int(code.group(1)))
    proj = text(mapping, "proj4", "proj4_params", "proj4text", "proj4string")
    return pyproj.CRS.from_user_input(proj) if proj else None


def _unit_factor(mapping: Mapping[str, Any], unit: str) -> float:
    name = unit.strip().lower()
    height = number(mapping, "perspective_point_height")
    if name in _ANGLES and height is not None:
        return float(height) * _ANGLES[name]
    return _LENGTHS.get(name, 1.0)


def _with_unit(wkt: str, factor: float, unit: str) -> str:
    """The same WKT with the metres of its Cartesian axes replaced by a unit of `factor` metres."""
    start = wkt.find("CS[Cartesian")
    if factor == 1.0 or start < 0:
        return wkt
    return wkt[:start] + _METRE.sub(f'LENGTHUNIT["{unit}",{factor!r}]', wkt[start:])


def disagreement(wkt: str, domain_x: Array, domain_y: Array, longitude: Array, latitude: Array) -> float:
    """Degrees by which the places that the CRS gives are off the file's own ones, at the corners and the middle.

    A sphere taken for an ellipsoid makes up to 0.2; 0 where nothing can be compared.
    """
    import pyproj
    from pyproj.exceptions import ProjError

    rows, columns = (np.unique([0, n // 2, n - 1]) for n in longitude.shape)
    x, y = np.meshgrid(domain_x[columns].astype(np.float64), domain_y[rows].astype(np.float64))
    try:
        transform = pyproj.Transformer.from_crs(pyproj.CRS.from_wkt(wkt), "EPSG:4326", always_xy=True)
        found_x, found_y = transform.transform(x, y)
    except ProjError:
        return 0.0
    east = (found_x - longitude[np.ix_(rows, columns)] + 180) % 360 - 180
    east = east * np.cos(np.radians(latitude[np.ix_(rows, columns)]))
    off = np.hypot(east, found_y - latitude[np.ix_(rows, columns)])
    off = off[np.isfinite(off)]
    return float(off.max()) if off.size else 0.0
