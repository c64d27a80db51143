"""A mesh of a file as a `MeshDomain`: coordinates read once and kept to the bit, corners checked, the CRS found."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Array, Dropped, MeshDomain
from mdstudio.engine.spatial.mesh_index import index_mesh
from mdstudio.sources.netcdf.attributes import json_attributes, number, text, units
from mdstudio.sources.netcdf.crs import crs_of
from mdstudio.sources.netcdf.horizontal import NotOnAGridError
from mdstudio.sources.netcdf.mesh_corners import joined_corners, numbered_corners
from mdstudio.sources.netcdf.mesh_topology import Mesh, in_degrees
from mdstudio.sources.netcdf.roles import is_in_radians
from mdstudio.sources.netcdf.view import FileView, Variable

_MAPPING_WORDS = ("grid_mapping_name", "crs_wkt", "spatial_ref", "proj4", "epsg_code", "epsg")


class MeshDomains:
    """Meshes that were made before: files of one run have the same one, which is put in order once."""

    def __init__(self) -> None:
        self._made: dict[bytes, MeshDomain] = {}

    def make(self, x: Array, y: Array, corners: Array, **facts: Any) -> MeshDomain:
        """`index_mesh` of these, or the equal mesh that was made before."""
        digest = hashlib.sha256(repr([(k, v) for k, v in facts.items() if not isinstance(v, np.ndarray)]).encode())
        for values in (x, y, corners, *(v for v in facts.values() if isinstance(v, np.ndarray))):
            digest.update(f"{values.dtype} {values.shape}".encode())
            digest.update(np.ascontiguousarray(values))
        key = digest.digest()
        if key not in self._made:
            self._made[key] = index_mesh(x, y, corners, **facts)
        return self._made[key]


def mesh_domain(view: FileView, mesh: Mesh, mapping: Variable | None, made: MeshDomains
                ) -> tuple[MeshDomain, list[Dropped]]:
    """The domain of a mesh without a fault, and notes. Reads its coordinates and corners, nothing else.

    Coordinates keep their type and bits; packed ones and radians become float64, those with an origin of their own
    (ANUGA) are moved by it. Raises `NotOnAGridError` where they make no mesh.
    """
    if mesh.domain is not None:
        return mesh.domain, []
    assert mesh.x is not None  # a mesh without a fault has both
    assert mesh.y is not None
    geographic = in_degrees(mesh.x) and in_degrees(mesh.y)
    try:
        if mesh.bounds is not None:
            x, y = (_values(view, bound, centre) for bound, centre in
                    zip(mesh.bounds, (mesh.x, mesh.y), strict=True))
            if x.shape != y.shape:
                raise ValueError(f"its bounds '{mesh.bounds[0].path}' and '{mesh.bounds[1].path}' differ in shape")
            x, y, corners = joined_corners(x, y, geographic)
        else:
            assert mesh.connectivity is not None
            x, y = _values(view, mesh.x), _values(view, mesh.y)
            corners = numbered_corners(mesh.connectivity, mesh.face_dim, mesh.start, x.size)
        mapping = mapping or _only_mapping(view)
        attributes = dict(mapping.attributes) if mapping is not None else {}
        unit_x, unit_y = ("degrees" if geographic and is_in_radians(v) else units(v.attributes)
                          for v in (mesh.x, mesh.y))
        crs, note = ("EPSG:4326", "") if geographic else crs_of(attributes, unit_x)
        domain = made.make(
            x, y, corners, node_z=_node_z(view, mesh), crs=crs, geographic=geographic, x_name=mesh.x.name,
            y_name=mesh.y.name, x_unit=unit_x, y_unit=unit_y, attributes=_attributes(mesh, attributes))
    except ValueError as error:
        raise NotOnAGridError(str(error)) from None
    except UsageError as error:
        reason = error.message[0].lower() + error.message[1:-1]
        raise NotOnAGridError(f"its mesh '{mesh.name}' cannot be used: {reason}") from None
    notes = [Dropped(mapping.path, note)] if note and mapping is not None else []
    if geographic and is_in_radians(mesh.x):
        notes.append(Dropped(f"{mesh.x.path}, {mesh.y.path}", "coordinates in radians: kept as degrees", 2))
    return domain, notes


def _values(view: FileView, variable: Variable, parent: Variable | None = None) -> Array:
    """Coordinates as they are kept; of bounds with what they lack from their `parent`."""
    values = variable.decoded(parent=parent.attributes if parent is not None else None)
    values = values if values.dtype.kind == "f" else values.astype(np.float64)
    if is_in_radians(variable) or (parent is not None and not units(variable.attributes) and is_in_radians(parent)):
        return np.degrees(values.astype(np.float64))
    origin = number(view.attributes, {"x": "xllcorner", "y": "yllcorner"}.get(variable.name, ""))
    return values if origin is None or not float(origin) else values.astype(np.float64) + float(origin)


def _node_z(view: FileView, mesh: Mesh) -> Array | None:
    """The height of the nodes where a variable is named as theirs."""
    for name in (f"{mesh.name}_node_z", "z"):
        z = view.variables.get(name)
        if z is not None and z.dims == (mesh.node_dim,) and not z.kind and z.dtype.kind == "f":
            return z.decoded()
    return None


def _attributes(mesh: Mesh, mapping: Mapping[str, Any]) -> dict[str, Any]:
    """What the file says of the mesh; parts by name, so that none stands for an attribute of another mesh."""
    described = [v for v in (mesh.x, mesh.y, mesh.connectivity) if v is not None]
    parts: dict[str, Any] = {
        "topology": json_attributes(mesh.attributes), "grid_mapping": json_attributes(mapping),
        "coordinates": {v.name: json_attributes(v.attributes) for v in described}}
    return {name: value for name, value in parts.items() if value}


def _only_mapping(view: FileView) -> Variable | None:
    """The one grid mapping of a file in which no variable names it (3Di, D-Flow FM)."""
    found = [v for v in view.variables.values() if is_mapping(v)]
    return found[0] if len(found) == 1 else None


def is_mapping(variable: Variable) -> bool:
    """True for a variable that tells a projection, named by others or not."""
    return variable.shape in ((), (1,)) and any(text(variable.attributes, word) for word in _MAPPING_WORDS)


def same_mesh(a: MeshDomain, b: MeshDomain) -> str:
    """"" where two meshes are the same to the bit, else what differs. The CRS and attributes are not compared."""
    if a is b:
        return ""
    if (a.elements, a.nodes) != (b.elements, b.nodes):
        return f"the mesh has {a.elements} elements and {a.nodes} nodes against {b.elements} and {b.nodes}"
    if any(_differ(getattr(a, name), getattr(b, name)) for name in ("node_x", "node_y", "node_number")):
        return "the coordinates of the nodes differ"
    if any(_differ(getattr(a, name), getattr(b, name)) for name in ("element_nodes", "element_number")):
        return "the corners of the elements differ"
    return ""


def _differ(one: Array, other: Array) -> bool:
    return one.dtype != other.dtype or one.shape != other.shape or one.tobytes() != other.tobytes()
