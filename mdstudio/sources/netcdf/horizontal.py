"""Which two dimensions of a variable are the grid's rows and columns, and which coordinates go with them."""

from __future__ import annotations

from dataclasses import dataclass

from mdstudio.sources.netcdf.roles import X_ROLES, Y_ROLES, Role, name_role, role_of
from mdstudio.sources.netcdf.view import FileView, Variable

_NO_COORDINATES = ("Add the coordinates of rows and columns (longitude and latitude, or x and y), with xarray for "
                   "instance, and import the file with them.")


class NotOnAGridError(Exception):
    """Why a variable is not on a grid that can be imported; `quiet` where it is no data, `advice` what to do."""

    def __init__(self, reason: str, *, quiet: bool = False, advice: str = "") -> None:
        super().__init__(reason)
        self.quiet = quiet
        self.advice = advice


@dataclass(frozen=True)
class Horizontal:
    """The grid of a variable: dimension names, 1-D coordinates where there are, 2-D longitude and latitude likewise."""

    x_dim: str
    y_dim: str
    x: Variable | None
    y: Variable | None
    longitude: Variable | None
    latitude: Variable | None

    @property
    def key(self) -> tuple[str, ...]:
        """Two variables with the same key are on the same grid of this file."""
        pair = (self.longitude.path, self.latitude.path) if self.longitude and self.latitude else ("", "")
        return (self.x_dim, self.y_dim, *pair)


def is_mesh_variable(variable: Variable) -> bool:
    """True for data and parts of a UGRID mesh."""
    role = str(variable.attributes.get("cf_role", ""))
    return role == "mesh_topology" or "connectivity" in role or (
        "mesh" in variable.attributes and "location" in variable.attributes)


def horizontal_of(view: FileView, variable: Variable, time_dims: frozenset[str]) -> Horizontal:
    """The grid that a variable lies on. Raises `NotOnAGridError` with the reason; reads no values."""
    if is_mesh_variable(variable):
        raise NotOnAGridError("on a mesh that cannot be made out")
    dims = [d for d in variable.dims if d not in time_dims]
    if len(dims) < 2:
        _refuse_unstructured(view, variable, dims)
        if dims and dims[0].rpartition("/")[2] == "NumCells3D":
            raise NotOnAGridError("in the layers of TUFLOW FV, of which each column has a number of its own: values of "
                                  "whole columns are kept", advice="Take depth averages or single layers out of it.")
        raise NotOnAGridError("not on a grid: fewer than two dimensions beside time", quiet=True)
    pair = _two_dimensional(view, variable, dims, time_dims)
    if pair is not None:
        longitude, latitude = pair
        plane = [d for d in longitude.dims if d not in time_dims]
        x_dim, y_dim = _orient(view, variable, plane)
        return Horizontal(x_dim, y_dim, _along(view, variable, x_dim, X_ROLES), _along(view, variable, y_dim, Y_ROLES),
                          longitude, latitude)
    return _one_dimensional(view, variable, dims)


def _two_dimensional(view: FileView, variable: Variable, dims: list[str],
                     time_dims: frozenset[str]) -> tuple[Variable, Variable] | None:
    """Longitude and latitude over two of the dimensions (and perhaps time): those that `coordinates` names, else the
    only such pair of the file."""
    named = list(view.listed(variable, "coordinates"))
    longitudes, latitudes = (_with_role(named, role, dims, time_dims) for role in ("longitude", "latitude"))
    for longitude in longitudes:
        for latitude in latitudes:
            if set(longitude.dims) == set(latitude.dims):
                return longitude, latitude
    for coordinate in named:  # named, but over more than a plane: the faces of a cubed sphere
        extra = [d for d in coordinate.dims if d not in time_dims]
        if len(extra) > 2 and role_of(coordinate) in ("longitude", "latitude"):
            raise NotOnAGridError(f"its coordinate '{coordinate.path}' varies over more than rows and columns "
                             f"({', '.join(coordinate.dims)}): several grids in one variable are not supported",
                                  advice="Write each grid (of a cubed sphere each face) into a file of its own.")
    if longitudes or latitudes:
        return None
    rest = [v for v in view.variables.values() if not v.kind and v.path not in view.helpers]
    longitudes, latitudes = (_with_role(rest, role, dims, time_dims) for role in ("longitude", "latitude"))
    if len(longitudes) == len(latitudes) == 1 and set(longitudes[0].dims) == set(latitudes[0].dims):
        return longitudes[0], latitudes[0]
    return None


def _with_role(variables: list[Variable], role: Role, dims: list[str], time_dims: frozenset[str]) -> list[Variable]:
    found = []
    for v in variables:
        plane = [d for d in v.dims if d not in time_dims]
        if len(plane) == 2 and set(plane) <= set(dims) and len(v.dims) <= 3 and role_of(v) == role:
            found.append(v)
    return found


def _orient(view: FileView, variable: Variable, plane: list[str]) -> tuple[str, str]:
    """(columns, rows) of two dimensions: by their coordinates or names, else the variable's last one is the columns."""
    first, last = sorted(plane, key=variable.dims.index)
    for dim, other in ((first, last), (last, first)):
        roles = _dim_role(view, variable, dim), _dim_role(view, variable, other)
        if roles[0] in X_ROLES and roles[1] not in X_ROLES:
            return dim, other
        if roles[0] in Y_ROLES and roles[1] not in Y_ROLES:
            return other, dim
    return last, first


def _dim_role(view: FileView, variable: Variable, dim: str) -> Role:
    coordinate = _along(view, variable, dim, (*X_ROLES, *Y_ROLES))
    return role_of(coordinate) if coordinate is not None else name_role(dim)


def _along(view: FileView, variable: Variable, dim: str, roles: tuple[str, ...]) -> Variable | None:
    """The 1-D coordinate of a dimension: the one of its name; else one that `coordinates` names; else the only one."""
    own = view.coordinate(dim)
    if own is not None:
        return own if not own.kind and role_of(own) in roles else None
    named = [v for v in view.listed(variable, "coordinates") if v.dims == (dim,) and role_of(v) in roles]
    if named:
        return named[0]
    found = [v for v in view.over(dim) if not v.kind and role_of(v) in roles and v.path not in view.helpers]
    return found[0] if len(found) == 1 else None


def _one_dimensional(view: FileView, variable: Variable, dims: list[str]) -> Horizontal:
    columns = [(d, _along(view, variable, d, X_ROLES)) for d in dims]
    rows = [(d, _along(view, variable, d, Y_ROLES)) for d in dims]
    columns = [c for c in columns if c[1] is not None] or [(d, None) for d in dims if _bare(view, d) == "x"]
    rows = [r for r in rows if r[1] is not None] or [(d, None) for d in dims if _bare(view, d) == "y"]
    columns = [c for c in columns if c[0] not in {r[0] for r in rows}] or columns
    rows = [r for r in rows if r[0] not in {c[0] for c in columns}]
    if not columns or not rows:
        _refuse_unstructured(view, variable, dims)
        raise NotOnAGridError(f"not on a grid: no coordinates for two of its dimensions ({', '.join(variable.dims)})"
                              + _absent(view, variable), advice=_NO_COORDINATES)
    (x_dim, x), (y_dim, y) = columns[-1], rows[-1]
    return Horizontal(x_dim, y_dim, x, y, None, None)


def _bare(view: FileView, dim: str) -> Role:
    """The role by its name of a dimension that has no coordinate variable."""
    return "" if view.coordinate(dim) is not None else name_role(dim)


def _absent(view: FileView, variable: Variable) -> str:
    named = str(variable.attributes.get("coordinates", "")).split()
    absent = [n for n in named if view.find(n, variable.group) is None]
    return f"; it names {', '.join(absent)}, which the file has not" if absent else ""


def _refuse_unstructured(view: FileView, variable: Variable, dims: list[str]) -> None:
    for dim in dims:
        if view.sizes.get(dim, 0) < 2:
            continue
        roles = {role_of(v) for v in view.over(dim)}
        if {"longitude", "latitude"} <= roles or {"projection_x", "projection_y"} <= roles or (
                view.coordinate(dim) is None and _has_xy(view, dim)):
            raise NotOnAGridError(f"on points of their own: '{dim}' has both x and y, and no elements of a mesh")


def _has_xy(view: FileView, dim: str) -> bool:
    names = {v.name.lower() for v in view.over(dim)}
    return {"x", "y"} <= names or {"lon", "lat"} <= names or {"longitude", "latitude"} <= names
