"""A grid's coordinates as a `GridDomain`: read once, kept to the bit, brought to rows x columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mdstudio.engine.model import Array, Domain, Dropped, GridDomain, GridKind, MeshDomain
from mdstudio.sources.netcdf.attributes import json_attributes, text, units
from mdstudio.sources.netcdf.crs import crs_of, disagreement
from mdstudio.sources.netcdf.horizontal import Horizontal, NotOnAGridError
from mdstudio.sources.netcdf.mesh_domain import same_mesh
from mdstudio.sources.netcdf.roles import role_of
from mdstudio.sources.netcdf.view import FileView, Variable

MAX_DISAGREEMENT = 0.5  # degrees between a grid mapping and the 2-D longitude and latitude beside it


def domain_of(view: FileView, grid: Horizontal, mapping: Variable | None) -> tuple[GridDomain, list[Dropped]]:
    """The domain of a grid, and notes. Reads its coordinates and bounds, nothing else.

    Coordinates keep their type and bits; packed ones are unpacked to float64, fill values in them become NaN. Raises
    `NotOnAGridError` where coordinates cannot be used.
    """
    notes: list[Dropped] = []
    try:
        longitude, latitude = _plane(view, grid, grid.longitude), _plane(view, grid, grid.latitude)
        if longitude is not None and latitude is not None and _degenerate(longitude, latitude):
            names = ", ".join(v.path for v in (grid.longitude, grid.latitude) if v is not None)
            notes.append(Dropped(names, "2-D coordinates that are the same in every cell: not used"))
            longitude = latitude = None
        x, y = _line(view, grid.x, grid.x_dim), _line(view, grid.y, grid.y_dim)
        attributes = dict(mapping.attributes) if mapping is not None else {}
        kind = _kind(grid, attributes, longitude is not None)
        x_bounds, y_bounds = _line_bounds(view, grid.x), _line_bounds(view, grid.y)
        corners = [_corners(view, grid, v) if longitude is not None else None for v in (grid.longitude, grid.latitude)]
    except ValueError as error:
        raise NotOnAGridError(str(error)) from None
    if kind == "curvilinear" or grid.x is None or grid.y is None:
        if kind != "curvilinear":
            notes.append(Dropped(f"{grid.x_dim}, {grid.y_dim}",
                                 "no coordinates in the file: column and row numbers stand in for them"))
        x, y = (np.arange(view.sizes[d], dtype=np.int32) for d in (grid.x_dim, grid.y_dim))
        x_bounds = y_bounds = None
    if any(c is None for c in corners):
        corners = [None, None]
    # of a curvilinear grid the places are longitude and latitude, whatever projection its rows and columns came from
    crs, note = ("EPSG:4326", "") if kind in ("regular", "curvilinear") else crs_of(attributes, _unit(grid.x))
    if crs and not note and kind != "regular" and longitude is not None and latitude is not None and grid.x and grid.y:
        off = disagreement(crs, x, y, longitude, latitude)
        if off > MAX_DISAGREEMENT:
            crs, note = "", (f"not used: its places are {off:.1f} degrees off the file's own longitude and latitude")
    if note:
        notes.append(Dropped(mapping.path if mapping is not None else "", note))
    return GridDomain(
        kind, x, y, crs, longitude, latitude, x_bounds, y_bounds, corners[0], corners[1],
        _name(grid.x, grid.x_dim), _name(grid.y, grid.y_dim), _unit(grid.x), _unit(grid.y),
        json_attributes(attributes), _coordinate_attributes(grid)), notes


def _name(variable: Variable | None, dim: str) -> str:
    return (variable.path if variable is not None else dim).rpartition("/")[2]


def _unit(variable: Variable | None) -> str:
    return units(variable.attributes) if variable is not None else ""


def _coordinate_attributes(grid: Horizontal) -> dict[str, Any]:
    found = (grid.x, grid.y, grid.longitude, grid.latitude)
    return {v.name: json_attributes(v.attributes) for v in found if v is not None}


def _kind(grid: Horizontal, mapping: Mapping[str, Any], has_plane: bool) -> GridKind:
    roles = tuple(role_of(v) if v is not None else "" for v in (grid.x, grid.y))
    if "grid_longitude" in roles or "grid_latitude" in roles or (
            text(mapping, "grid_mapping_name") == "rotated_latitude_longitude" and "" not in roles):
        return "rotated"
    if roles == ("longitude", "latitude"):
        return "regular"
    if has_plane and not all(_is_measured(v) for v in (grid.x, grid.y)):
        return "curvilinear"
    return "projected"


def _is_measured(variable: Variable | None) -> bool:
    """True for a coordinate in a unit, not a bare number of a row or column."""
    return variable is not None and (role_of(variable) in ("projection_x", "projection_y")
                                     or units(variable.attributes) not in ("", "1"))


def _line(view: FileView, variable: Variable | None, dim: str) -> Array:
    if variable is None:
        return np.empty(0)
    values = np.ascontiguousarray(variable.decoded())
    if values.size and values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"its coordinate '{variable.path}' has missing values")
    if values.size != view.sizes[dim]:
        raise ValueError(f"its coordinate '{variable.path}' has {values.size} values for {view.sizes[dim]} cells")
    return values


def _plane(view: FileView, grid: Horizontal, variable: Variable | None) -> Array | None:
    """2-D coordinates as (rows, columns). With a time dimension they must be the same at all times (checked step by
    step, so that memory stays small)."""
    if variable is None:
        return None
    order = [variable.dims.index(grid.y_dim), variable.dims.index(grid.x_dim)]
    if len(variable.dims) == 2:
        return np.ascontiguousarray(variable.decoded().transpose(order))
    at = next(i for i in range(3) if i not in order)
    steps = [tuple(slice(t, t + 1) if i == at else slice(None) for i in range(3)) for t in range(variable.shape[at])]
    if not steps:
        raise ValueError(f"its coordinate '{variable.path}' is empty")
    first = variable.decoded(steps[0])
    for step in steps[1:]:
        if not np.array_equal(variable.decoded(step), first, equal_nan=True):
            raise ValueError(f"its coordinate '{variable.path}' changes over time: moving grids are not supported")
    return np.ascontiguousarray(first.transpose(*order, at)[..., 0])


def _degenerate(longitude: Array, latitude: Array) -> bool:
    return longitude.size > 1 and bool((longitude == longitude.flat[0]).all() and (latitude == latitude.flat[0]).all())


def _bounds_variable(view: FileView, variable: Variable | None) -> Variable | None:
    return next(iter(view.listed(variable, "bounds")), None) if variable is not None else None


def _line_bounds(view: FileView, variable: Variable | None) -> Array | None:
    bounds = _bounds_variable(view, variable)
    if variable is None or bounds is None or bounds.shape != (*variable.shape, 2) or bounds.kind:
        return None
    return np.ascontiguousarray(bounds.decoded(parent=variable.attributes))


def _corners(view: FileView, grid: Horizontal, variable: Variable | None) -> Array | None:
    """Cell corners as (rows, columns, 4), where the file has four a cell."""
    bounds = _bounds_variable(view, variable)
    if variable is None or bounds is None or bounds.kind or len(bounds.dims) != 3 or bounds.shape[2] != 4:
        return None
    if set(bounds.dims[:2]) != {grid.x_dim, grid.y_dim}:
        return None
    order = [bounds.dims.index(grid.y_dim), bounds.dims.index(grid.x_dim), 2]
    return np.ascontiguousarray(bounds.decoded(parent=variable.attributes).transpose(order))


def same_domain(a: Domain, b: Domain) -> str:
    """"" where two domains are the same to the bit, else what differs. The CRS and attributes are not compared."""
    if isinstance(a, MeshDomain) or isinstance(b, MeshDomain):
        if isinstance(a, MeshDomain) and isinstance(b, MeshDomain):
            return same_mesh(a, b)
        return "one is a grid and one a mesh"
    if a.kind != b.kind:
        return f"the grid is {a.kind} against {b.kind}"
    if (a.rows, a.columns) != (b.rows, b.columns):
        return f"the grid has {a.rows} x {a.columns} cells against {b.rows} x {b.columns}"
    for name in ("x", "y", "longitude", "latitude"):
        one, other = getattr(a, name), getattr(b, name)
        if (one is None) != (other is None):
            return f"one has no {name}"
        if one is not None and (one.dtype != other.dtype or one.tobytes() != other.tobytes()):
            label = {"x": a.x_name, "y": a.y_name}.get(name, name)
            return f"the coordinates '{label}' differ"
    return ""
