"""What a variable or a dimension is for: longitude, row number, depth, time: by CF first, by its name last."""

from __future__ import annotations

import re
from typing import Literal

from mdstudio.sources.netcdf.attributes import text, units
from mdstudio.sources.netcdf.view import Variable

Role = Literal["", "longitude", "latitude", "grid_longitude", "grid_latitude", "projection_x", "projection_y", "x", "y",
               "vertical", "time"]

X_ROLES = ("longitude", "grid_longitude", "projection_x", "x")
Y_ROLES = ("latitude", "grid_latitude", "projection_y", "y")

_EAST = {"degrees_east", "degree_east", "degree_e", "degrees_e", "degreee", "degreese"}
_NORTH = {"degrees_north", "degree_north", "degree_n", "degrees_n", "degreen", "degreesn"}
_STANDARD: dict[str, Role] = {
    "longitude": "longitude", "latitude": "latitude",
    "grid_longitude": "grid_longitude", "grid_latitude": "grid_latitude",
    "projection_x_coordinate": "projection_x", "projection_y_coordinate": "projection_y",
    "projection_x_angular_coordinate": "projection_x", "projection_y_angular_coordinate": "projection_y",
    "time": "time",
}
_COORDINATE_AXIS: dict[str, Role] = {
    "lon": "longitude", "lat": "latitude", "geox": "projection_x", "geoy": "projection_y", "time": "time",
    "height": "vertical", "pressure": "vertical", "geoz": "vertical",
}
_AXIS: dict[str, Role] = {"X": "x", "Y": "y", "Z": "vertical", "T": "time"}
_VERTICAL_STANDARD = re.compile(
    r"(atmosphere|ocean)_.*coordinate|^(depth|height|altitude|air_pressure|sea_water_pressure|model_level_number)"
    r"|_sigma_|sigma_level|^sigma_coordinate|height_above|depth_below", re.IGNORECASE)
_PRESSURE_UNITS = {"pa", "hpa", "kpa", "mb", "mbar", "millibar", "millibars", "bar", "dbar", "level", "layer",
                   "sigma_level"}
_LONGITUDE_NAME = re.compile(r"^(nav_)?lon(gitude)?s?(_\w+)?$|^xlong(_\w+)?$|^glam\w$", re.IGNORECASE)
_LATITUDE_NAME = re.compile(r"^(nav_)?lat(itude)?s?(_\w+)?$|^xlat(_\w+)?$|^gphi\w$", re.IGNORECASE)
_MPAS_PLACE = re.compile(r"^(lon|lat)(Cell|Vertex|Edge)$")  # in radians, which their units say or leave out
_RADIANS = {"", "rad", "radian", "radians"}
_X_NAME = re.compile(
    r"^(x|xi|nx|i|ni|easting|rlon|cols?|columns?|pixels?|west_east(_stag)?|xcoord|xdim|xi_\w+|x_?\w?|xc|.*longitude|lon)$",
    re.IGNORECASE)
_Y_NAME = re.compile(
    r"^(y|eta|ny|j|nj|northing|rlat|rows?|lines?|south_north(_stag)?|ycoord|ydim|eta_\w+|y_?\w?|yc|.*latitude|lat)$",
    re.IGNORECASE)
_VERTICAL_NAME = re.compile(
    r"^(z|nz\d?|lev(el)?s?|depths?|deptht|depthu|depthv|depthw|heights?|altitude|plevs?|pressure|pressure_level|"
    r"isobaric\w*|s_rho|s_w|sigma|layers?|bottom_top(_stag)?|model_level_number|hybrid\w*)$", re.IGNORECASE)
_TIME_NAME = re.compile(r"^(time|times|t|date|month|valid_time|time_counter|ocean_time|nt)$", re.IGNORECASE)
_MONTH_UNITS = re.compile(r"^(months?|mon)$", re.IGNORECASE)
_DEGREES = {"", "degree", "degrees", "deg"}


def is_since(unit: str) -> bool:
    """True for units of a time coordinate: `hours since 1900-01-01`, `day as %Y%m%d.%f`."""
    return re.match(r"\s*\w+\s+(since|after|from|as)\s+\S", unit, re.IGNORECASE) is not None


def role_of(variable: Variable) -> Role:
    """What a coordinate variable stands for; "" when nothing tells."""
    attributes, unit = variable.attributes, units(variable.attributes)
    standard = text(attributes, "standard_name").lower()
    if standard in _STANDARD:
        return _STANDARD[standard]
    if standard == "forecast_reference_time" or standard == "forecast_period":
        return ""
    if unit.lower() in _EAST:
        return "longitude"
    if unit.lower() in _NORTH:
        return "latitude"
    axis_type = text(attributes, "_CoordinateAxisType").lower()
    if axis_type in _COORDINATE_AXIS:
        return _COORDINATE_AXIS[axis_type]
    if is_since(unit) or (_MONTH_UNITS.match(unit) and _TIME_NAME.match(variable.name)):
        return "time"
    if unit.lower() in _DEGREES and variable.dims:
        if _LONGITUDE_NAME.match(variable.name):
            return "longitude"
        if _LATITUDE_NAME.match(variable.name):
            return "latitude"
    if is_in_radians(variable) and _MPAS_PLACE.match(variable.name):
        return "longitude" if variable.name.startswith("lon") else "latitude"
    axis = text(attributes, "axis").upper()
    if axis in _AXIS:
        return _AXIS[axis]
    if (text(attributes, "positive").lower() in ("up", "down") or unit.lower() in _PRESSURE_UNITS
            or _VERTICAL_STANDARD.search(standard)):
        return "vertical"
    return "" if standard else name_role(variable.name)


def is_in_radians(variable: Variable) -> bool:
    """True for a coordinate whose units say so, and for those of MPAS that have none."""
    unit = units(variable.attributes).lower()
    return unit in _RADIANS and (unit != "" or _MPAS_PLACE.match(variable.name) is not None)


def name_role(name: str) -> Role:
    """What the bare name of a dimension or of a coordinate without attributes says."""
    plain = name.rpartition("/")[2]
    for pattern, role in ((_TIME_NAME, "time"), (_X_NAME, "x"), (_Y_NAME, "y"), (_VERTICAL_NAME, "vertical")):
        if pattern.match(plain):
            return role  # type: ignore[return-value]
    return ""


def vertical_meaning(variable: Variable) -> str:
    """The `LayerAxis.meaning` of a vertical coordinate."""
    attributes = variable.attributes
    standard, unit = text(attributes, "standard_name").lower(), units(attributes).lower()
    if "sigma" in standard or "ocean_s_coordinate" in standard:
        return "sigma"
    if "hybrid" in standard:
        return "hybrid"
    if "pressure" in standard or unit in ("pa", "hpa", "kpa", "mb", "mbar", "millibar", "millibars"):
        return "pressure"
    if "depth" in standard or variable.name.lower().startswith("depth"):
        return "depth"
    if any(word in standard for word in ("height", "altitude")) or variable.name.lower() in ("height", "altitude"):
        return "height"
    return "index"
