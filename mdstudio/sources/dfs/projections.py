"""The projection of a DHI file: its text as a CRS, and where the cells of a grid lie in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mdstudio.engine.model import Array, GridDomain
from mdstudio.sources.dfs.library import reading

LONG_LAT = "LONG/LAT"
LOCAL = ("NON-UTM", "")
UNTURNED = 1e-5  # degrees; less is a rounding of the convergence of the meridians
_UTM = re.compile(r"UTM-(\d{1,2})")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file's data lies: its projection as the file writes it, as CRS, and the origin of a grid in it.

    Attributes:
        text: of the file: "LONG/LAT", "NON-UTM", "UTM-33" or WKT.
        crs: WKT or "EPSG:n"; "" for local coordinates and where no CRS can be made of `text` (`note` says so).
        origin: (longitude, latitude) of the middle of the first cell; local coordinates: its corner.
        orientation: degrees of the grid's y axis from true north, clockwise.
    """

    text: str
    crs: str
    geographic: bool
    note: str = ""
    origin: tuple[float, float] = (0.0, 0.0)
    orientation: float = 0.0

    @property
    def local(self) -> bool:
        return self.text in LOCAL

    @property
    def unit(self) -> str:
        return "degrees" if self.geographic else "m"


def place_of(text: str, origin: tuple[float, float] = (0.0, 0.0), orientation: float = 0.0) -> Place:
    """The place of a projection's text. UTM-n is WGS 84 on the northern half, as DHI's own library has it."""
    crs, geographic, note = _crs(text.strip())
    return Place(text.strip(), crs, geographic, note, origin, orientation)


@lru_cache(maxsize=32)
def _crs(text: str) -> tuple[str, bool, str]:
    if text == LONG_LAT:
        return "EPSG:4326", True, ""
    if text in LOCAL:
        return "", False, ""
    utm = _UTM.fullmatch(text)
    import pyproj
    from pyproj.exceptions import ProjError

    try:
        crs = pyproj.CRS.from_epsg(32600 + int(utm.group(1))) if utm else pyproj.CRS.from_wkt(text)
    except ProjError as error:
        return "", False, f"no coordinate system can be made of '{text[:60]}': {str(error).splitlines()[0]}"
    return crs.to_wkt(), bool(crs.is_geographic), ""


def grid_domain(place: Place, columns: tuple[int, float], rows: tuple[int, float], path: str) -> GridDomain:
    """The grid of a dfs2 or dfs3: (number, step) of its columns and of its rows, ascending as the file has them.

    The origin of the projection is the middle of the first cell, in local coordinates (NON-UTM) its corner, so there
    the middles are half a cell further; the origin of the axes is not added, programs that fill it repeat the
    projection's (case 10). A turned grid is curvilinear: the true longitude and latitude of every middle and corner.
    """
    from mikecore.Projections import Cartography

    (count_x, step_x), (count_y, step_y) = columns, rows
    x, y = (np.linspace(0.0, step * (count - 1), count) for count, step in (columns, rows))
    mapping: dict[str, Any] = {"dhi_projection": place.text, "dhi_longitude": place.origin[0],
                               "dhi_latitude": place.origin[1], "dhi_orientation": place.orientation}
    if place.local:
        facts = {"x_unit": "m", "y_unit": "m", "grid_mapping": mapping}
        east, north = place.origin  # local as well: nearly always 0
        return GridDomain("projected", x + east + step_x / 2, y + north + step_y / 2, **facts)  # type: ignore[arg-type]
    with reading(path, "The projection"):
        cartography = Cartography.CreateGeoOrigin(place.text, *place.origin, place.orientation)
        east, north = (float(v) for v in cartography.Geo2Proj(*place.origin))
        turn = float(place.orientation if place.geographic else cartography.OrientationProj)
    turn = (turn + 180.0) % 360.0 - 180.0
    if not place.geographic:
        east, north = round(east, 6), round(north, 6)
    names = ("longitude", "latitude") if place.geographic else ("x", "y")
    if abs(turn) <= UNTURNED:
        return GridDomain("regular" if place.geographic else "projected", x + east, y + north, place.crs,
                          x_name=names[0], y_name=names[1], x_unit=place.unit, y_unit=place.unit, grid_mapping=mapping)
    mapping["dhi_orientation_in_projection"] = turn
    longitude, latitude = _turned(place, x, y, (east, north), turn, cartography)
    half_x, half_y = ((np.arange(n + 1) - 0.5) * step for n, step in (columns, rows))
    corners = [_rings(c) for c in _turned(place, half_x, half_y, (east, north), turn, cartography)]
    return GridDomain("curvilinear", np.arange(count_x, dtype=np.float64), np.arange(count_y, dtype=np.float64),
                      "EPSG:4326", longitude=longitude, latitude=latitude, corner_longitude=corners[0],
                      corner_latitude=corners[1], grid_mapping=mapping)


def _turned(place: Place, x: Array, y: Array, origin: tuple[float, float], turn: float, cartography: Any
            ) -> tuple[Array, Array]:
    """(rows, columns) longitude and latitude of points of the turned grid: turned clockwise in the projection."""
    angle = np.radians(turn)
    across, along = np.meshgrid(x, y)
    east = origin[0] + across * np.cos(angle) + along * np.sin(angle)
    north = origin[1] - across * np.sin(angle) + along * np.cos(angle)
    if place.geographic:
        return east, north
    if place.crs:
        import pyproj

        crs = pyproj.CRS.from_user_input(place.crs)
        return tuple(pyproj.Transformer.from_crs(crs, crs.geodetic_crs, always_xy=True).transform(east, north))
    found = np.array([cartography.Proj2Geo(e, n) for e, n in zip(east.ravel(), north.ravel(), strict=True)])
    return found[:, 0].reshape(east.shape), found[:, 1].reshape(east.shape)


def _rings(lattice: Array) -> Array:
    """(rows, columns, 4) corners of each cell, in turn, from those of all, (rows + 1, columns + 1)."""
    return np.stack([lattice[:-1, :-1], lattice[:-1, 1:], lattice[1:, 1:], lattice[1:, :-1]], axis=-1)
