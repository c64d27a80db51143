"""The grid of a message as a domain, and how its points are scanned; no data is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mdstudio.engine.errors import MdError
from mdstudio.engine.model import Array, Domain, GridDomain, GridKind, MeshDomain
from mdstudio.sources.grib.library import MISSING, Header, UndecodableError, gaussian_latitudes
from mdstudio.sources.grib.projections import (
    PROJECTED,
    axes,
    crs_text,
    degrees_off,
    places,
    projection_mapping,
    rotated_mapping,
    rotation_angle,
)
from mdstudio.sources.grib.reduced import reduced_mesh
from mdstudio.sources.grib.scanning import Scanning

MAX_OFF = 1e-3  # degrees between a rotation and ecCodes' own longitude and latitude
_NO_GRID = {
    "sh": "spherical harmonics: coefficients, no values at places", "unstructured_grid": (
        "an unstructured grid, whose coordinates are in another file"),
    "healpix": "a HEALPix grid, whose cells have no corners in the file",
}
_AXES = {
    "regular": ("longitude", "latitude", "degrees_east", "degrees_north"),
    "rotated": ("rlon", "rlat", "degrees", "degrees"),
    "projected": ("x", "y", "m", "m"),
    "curvilinear": ("x", "y", "", ""),
}


@dataclass(frozen=True)
class Grid:
    """A grid of a file.

    Attributes:
        kind: ecCodes' name of it, such as `regular_ll`.
        scanning: None for a mesh, whose values stay in the file's order.
        notes: what of it is not as the file says.
    """

    kind: str
    domain: Domain
    scanning: Scanning | None
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        if isinstance(self.domain, MeshDomain):
            return f"{self.kind}-{self.domain.elements}"
        return f"{self.kind}-{self.domain.rows}x{self.domain.columns}"

    @property
    def points(self) -> int:
        return self.domain.cells


def needs_data(header: Header) -> bool:
    """Whether ecCodes tells the places of a grid only with the data there: reduced grids."""
    return bool(header.number("PLPresent", 0)) or header.text("gridType").startswith("reduced")


def grid_of(header: Header) -> Grid:
    """Raises `UndecodableError` with the reason, for grids that are not imported and headers that contradict
    themselves."""
    kind = header.text("gridType") or f"template {header.number('gridDefinitionTemplateNumber', -1)}"
    reason = next((why for name, why in _NO_GRID.items() if kind == name or kind.endswith("_" + name)), "")
    if reason:
        raise UndecodableError(reason)
    if needs_data(header):
        try:
            mesh = reduced_mesh(header, kind)
        except MdError as error:
            raise UndecodableError(f"a reduced grid that is no mesh: {error.message}") from None
        if mesh.elements != header.number("numberOfDataPoints"):
            raise UndecodableError(f"its {header.number('numberOfDataPoints')} points are not the {mesh.elements} of "
                                   "its rows")
        return Grid(kind, mesh, None)
    return _rectangular(header, kind)


def _rectangular(header: Header, kind: str) -> Grid:
    columns, rows = (_count(header, *names) for names in (("Ni", "Nx"), ("Nj", "Ny")))
    points = header.number("numberOfDataPoints")
    if columns * rows != points and header.number("edition") == 2:  # GRIB1 does not say
        raise UndecodableError(f"a grid whose {points} points are not its {rows} rows of {columns} columns ({kind})")
    if header.number("scanningMode", 0) & 0x0F:
        raise UndecodableError(f"a grid whose rows are shifted against each other ({kind})")
    scanning = Scanning(rows, columns, bool(header.number("jPointsAreConsecutive", 0)),
                        bool(header.number("alternativeRowScanning", 0)))
    if kind in ("regular_ll", "regular_gg"):
        return _regular(header, kind, scanning)
    if kind in ("rotated_ll", "rotated_gg"):
        return _rotated(header, kind, scanning)
    if kind in PROJECTED:
        return _projected(header, kind, scanning)
    return _curvilinear(header, kind, scanning)


def _count(header: Header, *names: str) -> int:
    found = next((n for n in (header.number(name) for name in names) if n != MISSING), 0)
    if found < 1:
        raise UndecodableError("a grid without a number of rows or columns")
    return found


def _regular(header: Header, kind: str, scanning: Scanning) -> Grid:
    x, y = _degrees(header, kind, scanning)
    notes = _increments(header, x, y) if kind == "regular_ll" else ()
    return Grid(kind, _domain("regular", x, y, crs="EPSG:4326"), scanning, notes)


def _degrees(header: Header, kind: str, scanning: Scanning) -> tuple[Array, Array]:
    """Longitudes and latitudes of a regular grid in file order: even steps from the first point to the last, so that a
    rounded or wrong increment does no harm; Gaussian latitudes by their number."""
    west, east = (header.real(f"longitudeOf{which}GridPointInDegrees") for which in ("First", "Last"))
    north, south = (header.real(f"latitudeOf{which}GridPointInDegrees") for which in ("First", "Last"))
    if not np.isfinite([west, east, north, south]).all():
        raise UndecodableError("a grid without a first or last point")
    if header.number("iScansNegatively", 0):
        east -= 360 * max(0, np.ceil((east - west) / 360))
    else:
        west -= 360 * max(0, np.ceil((west - east) / 360))
    x = np.linspace(west, east, scanning.columns)
    if kind.endswith("_gg"):
        return x, _gaussian(header.number("N"), north, south, scanning.rows)
    if header.number("jScansPositively", 0) != (south > north) and scanning.rows > 1:
        raise UndecodableError("a grid whose scanning mode contradicts its first and last latitude")
    return x, np.linspace(north, south, scanning.rows)


def _gaussian(number: int, first: float, last: float, rows: int) -> Array:
    """The Gaussian latitudes from the first to the last. Raises `UndecodableError` where they are not among them."""
    every = gaussian_latitudes(number)[::1 if first >= last else -1]
    start = int(np.abs(every - first).argmin())
    found = every[start:start + rows]
    if found.size != rows or abs(found[0] - first) > 0.01 or abs(found[-1] - last) > 0.01:
        raise UndecodableError(f"a grid whose first and last latitude are not those of {rows} rows of N{number}")
    return found


def _increments(header: Header, x: Array, y: Array) -> tuple[str, ...]:
    """A note where the increments of the header are not those between first and last point."""
    for name, axis in (("i", x), ("j", y)):
        told = header.real(f"{name}DirectionIncrementInDegrees")
        step = abs(axis[-1] - axis[0]) / max(axis.size - 1, 1)
        if header.number(f"{name}DirectionIncrementGiven", 1) and 0 < told < 360 and axis.size > 1 and (
                abs(told - step) * (axis.size - 1) > step / 2):
            return (f"the increment {told:g} of the header is not used: first and last point say {step:g}",)
    return ()


def _rotated(header: Header, kind: str, scanning: Scanning) -> Grid:
    """With the true longitude and latitude of ecCodes, and a CRS where that says the same. Of a grid that is turned
    about its own axis both are by the CRS: ecCodes turns it about the axis of the earth instead."""
    x, y = _degrees(header, kind, scanning)
    mapping = rotated_mapping(header)
    crs = crs_text(mapping)
    if rotation_angle(header):
        longitude, latitude = places(crs, x, y)
        return Grid(kind, _domain("rotated", x, y, crs=crs, longitude=longitude, latitude=latitude,
                                  grid_mapping=mapping), scanning)
    longitude, latitude = _plane(header, scanning)
    off = degrees_off(crs, x, y, longitude, latitude)
    notes: tuple[str, ...] = ()
    if off > MAX_OFF:
        crs, notes = "", (f"its rotation is not used: it is {off:.2g} degrees off ecCodes' longitude and latitude",)
    return Grid(kind, _domain("rotated", x, y, crs=crs, longitude=longitude, latitude=latitude,
                              grid_mapping=mapping), scanning, notes)


def _projected(header: Header, kind: str, scanning: Scanning) -> Grid:
    """By the first point, as FM 92 has it: the first one scanned. ecCodes takes it for the south-western corner in any
    scanning mode, so its longitude and latitude are not used; where rows run east and north they are the same."""
    mapping = projection_mapping(header, kind)
    crs = crs_text(mapping)
    x, y = axes(header, crs, scanning.rows, scanning.columns)
    longitude, latitude = places(crs, x, y)
    return Grid(kind, _domain("projected", x, y, crs=crs, longitude=longitude, latitude=latitude,
                              grid_mapping=mapping), scanning)


def _curvilinear(header: Header, kind: str, scanning: Scanning) -> Grid:
    """Any other grid of rows and columns, by the longitude and latitude that ecCodes gives of each point; their order
    is certain only where rows run east and north."""
    plain = header.number("jScansPositively", 0) and not header.number("iScansNegatively", 0)
    try:
        if not plain or scanning.by_column or scanning.alternating:
            raise UndecodableError("scanned in another order")
        longitude, latitude = _plane(header, scanning)
    except UndecodableError:
        raise UndecodableError(f"a grid of which the places are not known ({kind})") from None
    x, y = np.arange(scanning.columns, dtype=np.int32), np.arange(scanning.rows, dtype=np.int32)
    return Grid(kind, _domain("curvilinear", x, y, crs="EPSG:4326", longitude=longitude, latitude=latitude),
                scanning)


def _plane(header: Header, scanning: Scanning) -> tuple[Array, Array]:
    """(rows, columns) longitude and latitude, of ecCodes, which gives them as if no line ran the other way."""
    found = [header.array(name) for name in ("longitudes", "latitudes")]
    if any(f.size != scanning.rows * scanning.columns for f in found):
        raise UndecodableError("ecCodes gives other places than its rows and columns")
    longitude, latitude = (replace(scanning, alternating=False).placed(f) for f in found)
    return longitude, latitude


def _domain(model: GridKind, x: Array, y: Array, **more: Any) -> GridDomain:
    x_name, y_name, x_unit, y_unit = _AXES[model]
    standard = {"regular": ("longitude", "latitude"), "rotated": ("grid_longitude", "grid_latitude"),
                "projected": ("projection_x_coordinate", "projection_y_coordinate")}.get(model)
    attributes = {} if standard is None else {
        name: {"standard_name": standard_name, "units": unit}
        for name, standard_name, unit in zip((x_name, y_name), standard, (x_unit, y_unit), strict=True)}
    return GridDomain(model, x, y, x_name=x_name, y_name=y_name, x_unit=x_unit, y_unit=y_unit,
                      coordinate_attributes=attributes, **more)


def same_places(a: Domain, b: Domain) -> bool:
    """Whether two grids have their points at the same places, to the bit."""
    if type(a) is not type(b) or a.cells != b.cells:
        return False
    names = ("node_x", "node_y", "element_number", "element_nodes") if isinstance(a, MeshDomain) else (
        "x", "y", "longitude", "latitude")
    if isinstance(a, GridDomain) and isinstance(b, GridDomain) and (a.kind, a.crs) != (b.kind, b.crs):
        return False
    return all(np.array_equal(getattr(a, n), getattr(b, n)) for n in names)
