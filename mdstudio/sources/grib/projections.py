"""The projection of a grid as a CF grid mapping, its coordinates in metres, and its CRS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mdstudio.engine.model import Array
from mdstudio.sources.grib.library import Header, UndecodableError

PROJECTED = ("lambert", "mercator", "polar_stereographic", "lambert_azimuthal_equal_area", "albers")


def earth(header: Header) -> dict[str, float]:
    """The figure of the earth of a message, as CF grid mapping attributes."""
    major, minor = header.real("earthMajorAxisInMetres"), header.real("earthMinorAxisInMetres")
    if header.number("earthIsOblate", 0) and major > minor > 0:
        return {"semi_major_axis": major, "semi_minor_axis": minor}
    radius = header.real("radiusInMetres")
    radius = radius if radius > 0 else header.real("radius")
    if not 6e6 < radius < 7e6:
        radius = major if 6e6 < major < 7e6 else 6371229.0
    return {"earth_radius": radius}


def rotated_mapping(header: Header) -> dict[str, Any]:
    """The grid mapping of a rotated grid: GRIB names the southern pole, CF the northern one.

    The angle of rotation turns the grid about its own axis, clockwise seen from its southern pole (FM 92): a point lies
    as far west in the grid as the grid is turned east.
    """
    south, longitude = (header.real(f"{k}OfSouthernPoleInDegrees") for k in ("latitude", "longitude"))
    return {"grid_mapping_name": "rotated_latitude_longitude", "grid_north_pole_latitude": -south,
            "grid_north_pole_longitude": longitude % 360 - 180,
            "north_pole_grid_longitude": 0.0 - rotation_angle(header), **earth(header)}


def rotation_angle(header: Header) -> float:
    """Degrees by which a rotated grid is turned about its own axis."""
    return header.real("angleOfRotationInDegrees", 0.0)


def projection_mapping(header: Header, kind: str) -> dict[str, Any]:
    """The grid mapping of a projected grid. Raises `UndecodableError` where the header lacks what it takes."""
    figure = earth(header)
    if kind in ("lambert", "albers"):
        parallels = [header.real("Latin1InDegrees"), header.real("Latin2InDegrees")]
        name = "lambert_conformal_conic" if kind == "lambert" else "albers_conical_equal_area"
        mapping: dict[str, Any] = {
            "grid_mapping_name": name, "standard_parallel": parallels[0] if parallels[0] == parallels[1] else parallels,
            "longitude_of_central_meridian": header.real("LoVInDegrees"),
            "latitude_of_projection_origin": parallels[0] if kind == "lambert" else header.real("LaDInDegrees")}
    elif kind == "mercator":
        if header.real("orientationOfTheGridInDegrees", 0.0):
            raise UndecodableError("a turned Mercator grid")
        parallel = header.real("LaDInDegrees")
        mapping = {"grid_mapping_name": "mercator", "longitude_of_projection_origin": 0.0,
                   "standard_parallel": header.real("LatinInDegrees") if np.isnan(parallel) else parallel}
    elif kind == "polar_stereographic":
        south = header.number("projectionCentreFlag", 0) & 128
        parallel = abs(header.real("LaDInDegrees", 60.0))
        mapping = {"grid_mapping_name": "polar_stereographic",
                   "latitude_of_projection_origin": -90.0 if south else 90.0,
                   "straight_vertical_longitude_from_pole": header.real("orientationOfTheGridInDegrees"),
                   "standard_parallel": -parallel if south else parallel}
    else:
        mapping = {"grid_mapping_name": "lambert_azimuthal_equal_area",
                   "latitude_of_projection_origin": header.real("standardParallelInDegrees"),
                   "longitude_of_projection_origin": header.real("centralLongitudeInDegrees")}
    for key, value in mapping.items():
        if not isinstance(value, str) and np.isnan(value).any():
            raise UndecodableError(f"no {key.replace('_', ' ')}")
    return {**mapping, "false_easting": 0.0, "false_northing": 0.0, **figure}


def crs_text(mapping: Mapping[str, Any]) -> str:
    """WKT. Raises `UndecodableError` for a projection that PROJ does not make."""
    import pyproj
    from pyproj.exceptions import ProjError
    try:
        return str(pyproj.CRS.from_cf(dict(mapping)).to_wkt())
    except (ProjError, KeyError, ValueError, TypeError) as error:
        raise UndecodableError(f"no coordinate system: {str(error).splitlines()[0]}") from None


def axes(header: Header, crs: str, rows: int, columns: int) -> tuple[Array, Array]:
    """x and y in metres, in file order: the first point projected, then even steps."""
    import pyproj

    transform = _from_degrees(pyproj, crs)
    first = transform.transform(header.real("longitudeOfFirstGridPointInDegrees"),
                                header.real("latitudeOfFirstGridPointInDegrees"))
    steps = [_metres(header, *names) for names in (("Dx", "Di"), ("Dy", "Dj"))]
    if not np.isfinite([*first, *steps]).all() or not all(s > 0 for s in steps):
        raise UndecodableError("no place or no size of its cells")
    dx = -steps[0] if header.number("iScansNegatively", 0) else steps[0]
    dy = steps[1] if header.number("jScansPositively", 0) else -steps[1]
    return first[0] + dx * np.arange(columns), first[1] + dy * np.arange(rows)


def _metres(header: Header, *names: str) -> float:
    found = [header.real(f"{name}InMetres") for name in names]
    return next((f for f in found if np.isfinite(f)), float("nan"))


def places(crs: str, x: Array, y: Array) -> tuple[Array, Array]:
    """(rows, columns) longitude and latitude of a projected grid."""
    import pyproj

    longitude, latitude = _from_degrees(pyproj, crs).transform(*np.meshgrid(x, y), direction="INVERSE")
    if not np.isfinite(longitude).all() or not np.isfinite(latitude).all():
        raise UndecodableError("a grid that leaves its projection")
    return longitude, latitude


def degrees_off(crs: str, x: Array, y: Array, longitude: Array, latitude: Array) -> float:
    """Degrees of arc by which the CRS is off other places, at the corners and in the middle."""
    rows, columns = (np.unique([0, n // 2, n - 1]) for n in longitude.shape)
    found_x, found_y = places(crs, x[columns], y[rows])
    wanted_y = latitude[np.ix_(rows, columns)]
    east = ((found_x - longitude[np.ix_(rows, columns)] + 180) % 360 - 180) * np.cos(np.radians(wanted_y))
    return float(np.hypot(east, found_y - wanted_y).max())


def _from_degrees(pyproj: Any, crs: str) -> Any:
    """From longitude and latitude on the very earth of the grid: no change of datum moves a point."""
    target = pyproj.CRS.from_wkt(crs)
    return pyproj.Transformer.from_crs(target.source_crs or target.geodetic_crs, target, always_xy=True)
