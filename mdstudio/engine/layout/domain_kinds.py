"""What the domain blob holds of each kind of domain: the names of its arrays and fields, and what must be true of them.

The blob itself is made and taken apart in `layout.domain`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.layout.fields import Fields, Json, encode_free
from mdstudio.engine.model import Array, Domain, GridDomain, MeshDomain

MESH = "Mesh"
_GRID_KINDS = {name.capitalize(): name for name in ("regular", "projected", "rotated", "curvilinear")}
_TEXTS = {"crs": "Crs", "x_name": "XName", "y_name": "YName", "x_unit": "XUnit", "y_unit": "YUnit"}
_GRID_ARRAYS = {
    "x": "X", "y": "Y", "longitude": "Longitude", "latitude": "Latitude", "x_bounds": "XBounds", "y_bounds": "YBounds",
    "corner_longitude": "CornerLongitude", "corner_latitude": "CornerLatitude",
}
_MESH_ARRAYS = {
    "node_x": "NodeX", "node_y": "NodeY", "node_z": "NodeZ", "node_code": "NodeCode", "node_number": "NodeNumber",
    "element_nodes": "ElementNodes", "element_number": "ElementNumber", "layer_counts": "LayerCounts",
}
_COUNTS = ("node_code", "node_number", "element_nodes", "element_number", "layer_counts")  # int32 all of them


def array_names(domain: Domain) -> Mapping[str, str]:
    """{attribute: stored name} of the arrays, in stored order."""
    return _MESH_ARRAYS if isinstance(domain, MeshDomain) else _GRID_ARRAYS


def header_fields(domain: Domain) -> tuple[dict[str, Json], dict[str, Json]]:
    """The header's fields before the list of arrays, and after it."""
    kind = MESH if isinstance(domain, MeshDomain) else domain.kind.capitalize()
    before: dict[str, Json] = {"Kind": kind, **{name: getattr(domain, field) for field, name in _TEXTS.items()}}
    if isinstance(domain, MeshDomain):
        return before | {"Geographic": domain.geographic}, {
            "Attributes": encode_free(dict(domain.attributes), "the attributes of the mesh")}
    return before, {
        "GridMapping": encode_free(dict(domain.grid_mapping), "the grid mapping"),
        "CoordinateAttributes": encode_free(dict(domain.coordinate_attributes), "the attributes of the coordinates"),
    }


def make_domain(fields: Fields, arrays: Mapping[str, Array]) -> Domain:
    """The domain of a header and its arrays by stored name; raises `DamagedDataError` for what cannot be one."""
    texts: dict[str, Any] = {field: fields.text(name, "") for field, name in _TEXTS.items()}
    if fields.data.get("Kind") == MESH:
        _require(arrays, ("NodeX", "NodeY", "NodeNumber", "ElementNodes", "ElementNumber"), fields.where)
        mesh = MeshDomain(**texts, **_by_attribute(_MESH_ARRAYS, arrays), geographic=fields.flag("Geographic", False),
                          attributes=fields.free("Attributes"))
        check_mesh(mesh, fields.where)
        return mesh
    kind = fields.choice("Kind", _GRID_KINDS | {MESH: MESH})
    _require(arrays, ("X", "Y"), fields.where)
    grid = GridDomain(kind=kind, **texts, **_by_attribute(_GRID_ARRAYS, arrays),
                      grid_mapping=fields.free("GridMapping"),
                      coordinate_attributes=fields.free("CoordinateAttributes"))
    _check_grid(grid, fields.where)
    return grid


def _by_attribute(names: Mapping[str, str], arrays: Mapping[str, Array]) -> dict[str, Any]:
    return {field: arrays[name] for field, name in names.items() if name in arrays}


def _require(arrays: Mapping[str, Array], names: tuple[str, ...], where: str) -> None:
    missing = [name for name in names if name not in arrays]
    if missing:
        raise DamagedDataError(f"Arrays: expected {' and '.join(names)} among them, found no {missing[0]}.",
                               where=where)


def _check_grid(domain: GridDomain, where: str) -> None:
    if domain.x.ndim != 1 or domain.y.ndim != 1:
        raise DamagedDataError(f"X and Y have {domain.x.ndim} and {domain.y.ndim} dimensions, not one.", where=where)
    rows, columns = domain.rows, domain.columns
    expected = {
        "longitude": (rows, columns), "latitude": (rows, columns), "x_bounds": (columns, 2), "y_bounds": (rows, 2),
        "corner_longitude": (rows, columns, 4), "corner_latitude": (rows, columns, 4),
    }
    _check_shapes(domain, expected, where)
    if domain.kind == "curvilinear" and (domain.longitude is None or domain.latitude is None):
        raise DamagedDataError("A curvilinear grid needs Longitude and Latitude.", where=where)


def _check_shapes(domain: Domain, expected: Mapping[str, tuple[int, ...]], where: str) -> None:
    for field, shape in expected.items():
        values: Array | None = getattr(domain, field)
        if values is not None and values.shape != shape:
            raise DamagedDataError(f"{array_names(domain)[field]}: expected the shape {shape}, found {values.shape}.",
                                   where=where)


def check_mesh(domain: MeshDomain, where: str = "") -> None:
    """Raise `DamagedDataError` for a mesh that cannot be one: shapes, types, corners that are no nodes, numbers that
    are no permutation, negative layer counts. Cost: a few passes over its arrays."""
    shape = domain.element_nodes.shape
    if len(shape) != 2 or shape[0] < 1 or shape[1] < 3:
        raise DamagedDataError(f"ElementNodes: expected elements x 3 or more corners, found the shape {shape}.",
                               where=where)
    elements, nodes = (shape[0],), (domain.nodes,)
    _check_shapes(domain, {"node_x": nodes, "node_y": nodes, "node_z": nodes, "node_code": nodes, "node_number": nodes,
                           "element_number": elements, "layer_counts": elements}, where)
    for field in _COUNTS:
        values: Array | None = getattr(domain, field)
        if values is not None and values.dtype != np.int32:
            raise DamagedDataError(f"{_MESH_ARRAYS[field]}: expected int32, found {values.dtype}.", where=where)
    for field in ("node_x", "node_y"):
        if getattr(domain, field).dtype.kind != "f":
            raise DamagedDataError(f"{_MESH_ARRAYS[field]}: expected floats, found {getattr(domain, field).dtype}.",
                                   where=where)
    _check_corners(domain.element_nodes, domain.nodes, where)
    _check_permutation("ElementNumber", domain.element_number, where)
    _check_permutation("NodeNumber", domain.node_number, where)
    if domain.layer_counts is not None and (int(domain.layer_counts.min()) < 0 or not domain.element3d_count):
        raise DamagedDataError(f"LayerCounts: expected numbers from 0 and some above, found "
                               f"{int(domain.layer_counts.min())} to {int(domain.layer_counts.max())}.", where=where)


def _check_corners(corners: Array, nodes: int, where: str) -> None:
    """Three nodes or more each, no -1 between them."""
    absent = corners == -1
    wrong = (corners < -1) | (corners >= nodes)
    wrong[:, :3] |= absent[:, :3]
    wrong[:, 1:] |= absent[:, :-1] & ~absent[:, 1:]
    if wrong.any():
        element = int(np.argmax(wrong.any(axis=1)))
        raise DamagedDataError(f"ElementNodes: expected three or more of {nodes} nodes, then -1, found "
                               f"{corners[element].tolist()} for element {element}.", where=where)


def _check_permutation(name: str, numbers: Array, where: str) -> None:
    inside = bool((numbers >= 0).all() and (numbers < numbers.size).all())
    if not inside or np.bincount(numbers, minlength=numbers.size).max() != 1:
        raise DamagedDataError(f"{name}: expected each number from 0 to {numbers.size - 1} once.", where=where)
