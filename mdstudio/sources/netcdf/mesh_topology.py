"""The meshes of a file: UGRID topologies, the names that ADCIRC, FVCOM, SCHISM, ICON, MPAS, ANUGA and TUFLOW FV are
known by, and cells that are given by their corners' coordinates alone (bounds)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mdstudio.engine.model import Dropped, MeshDomain
from mdstudio.sources.netcdf.attributes import number, text, units
from mdstudio.sources.netcdf.roles import X_ROLES, Y_ROLES, role_of
from mdstudio.sources.netcdf.view import FileView, Variable

_PAIRS: dict[str, str] = dict(zip(X_ROLES, Y_ROLES, strict=True))
_PLAIN_PLACES = ("x", "y", "xc", "yc")  # names of places that nothing but the name tells


@dataclass(frozen=True)
class Mesh:
    """Where a mesh stands in a file.

    Attributes:
        name: of its topology variable, else "mesh".
        node_dim, face_dim, edge_dim: dimensions of values on nodes, elements and edges; "" where there are none.
        x, y: coordinates of the nodes.
        connectivity: the nodes of each element; `start` is the number of the first node, None: as its attribute says.
        bounds: the corners' (x, y) of each element, in the place of nodes and connectivity.
        parts: paths of the variables that make the mesh or describe it otherwise: no data.
        fault: why it cannot be imported; "" where it may be.
        domain: the mesh itself, where it was read from another file.
    """

    name: str
    node_dim: str = ""
    face_dim: str = ""
    edge_dim: str = ""
    x: Variable | None = None
    y: Variable | None = None
    connectivity: Variable | None = None
    start: int | None = None
    bounds: tuple[Variable, Variable] | None = None
    parts: frozenset[str] = frozenset()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""
    domain: MeshDomain | None = None

    @property
    def used(self) -> frozenset[str]:
        """Paths of the variables that its domain is made of."""
        found = (self.x, self.y, self.connectivity, *(self.bounds or ()))
        return frozenset(v.path for v in found if v is not None)

    @property
    def dims(self) -> frozenset[str]:
        return frozenset(d for d in (self.node_dim, self.face_dim, self.edge_dim) if d)


@dataclass(frozen=True)
class _Family:
    """A model known by the name of its connectivity and the names of its nodes' coordinates, best first."""

    connectivity: str
    places: tuple[tuple[str, str], ...]
    start: int
    parts: tuple[str, ...] = ()


_FAMILIES = (
    _Family("nv", (("lon", "lat"), ("x", "y")), 1, ("nbe", "nbsn", "nbve")),  # FVCOM
    _Family("element", (("x", "y"), ("lon", "lat"), ("longitude", "latitude")), 1),  # ADCIRC
    _Family("SCHISM_hgrid_face_nodes", (("SCHISM_hgrid_node_x", "SCHISM_hgrid_node_y"),), 1),
    _Family("vertex_of_cell", (("vlon", "vlat"),), 1),  # ICON
    _Family("verticesOnCell", (("lonVertex", "latVertex"),), 1, (
        "nEdgesOnCell", "edgesOnCell", "cellsOnCell", "cellsOnVertex", "edgesOnVertex", "kiteAreasOnVertex")),  # MPAS
    _Family("volumes", (("x", "y"),), 0),  # ANUGA
    _Family("cell_node", (("node_X", "node_Y"),), 1),  # TUFLOW FV
)


def find_meshes(view: FileView) -> list[Mesh]:
    """The meshes of a file, those with a fault too. Reads nothing but coordinates that a model may have left empty."""
    meshes = [_topology(view, v) for v in view.variables.values() if is_topology(v)]
    for mesh in (*_of_families(view), *_of_bounds(view)):
        if not any(m.face_dim and m.face_dim == mesh.face_dim for m in meshes):
            meshes.append(mesh)
    return [_with_places(view, mesh) for mesh in meshes]


def is_topology(variable: Variable) -> bool:
    return "mesh_topology" in (text(variable.attributes, "cf_role"), text(variable.attributes, "standard_name"))


def is_connectivity(variable: Variable) -> bool:
    return "connectivity" in text(variable.attributes, "cf_role")


def part_notes(view: FileView, meshes: Iterable[Mesh]) -> list[Dropped]:
    """What of the meshes is not kept, by reason."""
    usable = [m for m in meshes if not m.fault and m.domain is None]
    used = frozenset(path for m in usable for path in (*m.used, m.name))
    left = dict.fromkeys(path for m in usable for path in sorted(m.parts, key=list(view.variables).index))
    kinds: dict[str, list[str]] = {}
    for path in left:
        variable = view.variables[path]
        if path in used or is_topology(variable):
            continue
        places = path in view.helpers or role_of(variable) in (*X_ROLES, *Y_ROLES)
        kinds.setdefault("coordinates beside those of the nodes are not kept"
                         if places and not is_connectivity(variable)
                         else "neighbours, edges and the like of a mesh are not kept", []).append(path)
    return [Dropped(", ".join(names), reason, len(names)) for reason, names in kinds.items()]


def _topology(view: FileView, variable: Variable) -> Mesh:
    """The mesh of a UGRID topology variable."""
    attributes = variable.attributes
    named = [v for key in attributes if key.endswith(("_connectivity", "_coordinates"))
             for v in view.listed(variable, key)]
    links = [v.path for v in view.variables.values() if is_connectivity(v)]
    bounds = [b.path for v in named for b in view.listed(v, "bounds")]
    mesh = Mesh(variable.path, parts=frozenset([variable.path, *(v.path for v in named), *bounds, *links]),
                attributes=attributes)
    x, y = pair_of(view.listed(variable, "node_coordinates"))
    if x is not None and y is not None and len(x.dims) == 1 and x.dims == y.dims:
        mesh = replace(mesh, node_dim=x.dims[0], x=x, y=y)
    mesh = replace(mesh, edge_dim=_dim(view, variable, "edge"), face_dim=_dim(view, variable, "face"))
    corners = _named(view, variable, "face_node_connectivity")
    if corners is not None and len(corners.dims) == 2 and not corners.kind:
        mesh = replace(mesh, connectivity=corners, face_dim=_face_dim(view, corners, mesh.face_dim))
    return replace(mesh, fault=_fault(mesh, variable, x, y))


def _fault(mesh: Mesh, variable: Variable, x: Variable | None, y: Variable | None) -> str:
    dimension = number(variable.attributes, "topology_dimension")
    names = text(variable.attributes, "face_node_connectivity")
    if (not names and dimension is None) or (dimension is not None and float(dimension) < 2):
        return f"on '{mesh.name}', a network of lines without elements"
    if x is None or y is None:
        told = text(variable.attributes, "node_coordinates")
        return f"on '{mesh.name}', whose nodes have no coordinates" + (
            f": it names {told}, of which the file has {'one' if x or y else 'none'}" if told else "")
    if mesh.x is None:
        return (f"on '{mesh.name}', whose nodes' coordinates '{x.path}' and '{y.path}' are not one number a node "
                "(a mesh that moves)")
    if mesh.connectivity is None:
        return f"on '{mesh.name}', whose elements are not there" + (
            f": it names '{names}', which is no table in the file" if names else "")
    return ""


def _named(view: FileView, variable: Variable, attribute: str) -> Variable | None:
    return next(iter(view.listed(variable, attribute)), None)


def _dim(view: FileView, variable: Variable, kind: str) -> str:
    """The dimension of edges or faces: named, else the longer one of what connects them with nodes."""
    told = text(variable.attributes, f"{kind}_dimension")
    for dim in view.sizes:
        if told and dim in (told, f"{variable.group}/{told}".strip("/")):
            return dim
    links = _named(view, variable, f"{kind}_node_connectivity")
    return max(links.dims, key=lambda d: view.sizes[d]) if kind == "edge" and links is not None and links.dims else ""


def _face_dim(view: FileView, corners: Variable, told: str) -> str:
    """Which dimension of a table of corners counts the elements: the one told; the one that other variables have
    without the other; else the first, as UGRID says, unless it is as short as a list of corners."""
    first, second = corners.dims
    if told in corners.dims:
        return told
    alone = [d for d, other in ((first, second), (second, first))
             if any(d in v.dims and other not in v.dims for v in view.variables.values())]
    if len(alone) == 1:
        return alone[0]
    return second if view.sizes[first] <= 4 < view.sizes[second] else first


def pair_of(variables: Iterable[Variable]) -> tuple[Variable | None, Variable | None]:
    """The x and the y among coordinates in any order: the first two that go together, else the first two at all."""
    found = [v for v in variables if not v.kind]
    for x in found:
        for y in found:
            if role_of(x) in _PAIRS and role_of(y) == _PAIRS[role_of(x)]:
                return x, y
    return (found[0], found[1]) if len(found) >= 2 else (found[0] if found else None, None)


def _of_families(view: FileView) -> Iterator[Mesh]:
    for family in _FAMILIES:
        for corners in list(view.variables.values()):
            if corners.name != family.connectivity or len(corners.dims) != 2 or corners.kind:
                continue
            x, y = _family_places(view, family, corners)
            if x is None or y is None:
                continue
            parts = [v.path for n in family.parts if (v := view.find(n, corners.group)) is not None]
            yield Mesh("mesh", x.dims[0], _face_dim(view, corners, ""), "", x, y, corners, family.start, None,
                       frozenset([x.path, y.path, corners.path, *parts]))


def _family_places(view: FileView, family: _Family, corners: Variable) -> tuple[Variable | None, Variable | None]:
    """The first pair of coordinates that is filled: models write lon and lat of 0 where they compute in metres."""
    pairs = [(view.find(x, corners.group), view.find(y, corners.group)) for x, y in family.places]
    there = [(x, y) for x, y in pairs if x and y and len(x.dims) == 1 and x.dims == y.dims and not x.kind + y.kind]
    for x, y in there if len(there) > 1 else []:
        values = x.decoded(), y.decoded()
        if any(v.size and bool((v != v[0]).any()) for v in values):
            return x, y
    return there[0] if there else (None, None)


def _of_bounds(view: FileView) -> Iterator[Mesh]:
    """Elements by the bounds of their centres: three corners or more each."""
    centres: dict[tuple[str, str], list[Variable]] = {}
    for variable in view.variables.values():
        role = role_of(variable)
        if len(variable.dims) != 1 or variable.kind or role not in (*X_ROLES, *Y_ROLES):
            continue
        bounds = _named(view, variable, "bounds")
        if bounds is not None and not bounds.kind and len(bounds.dims) == 2 and bounds.shape[1] >= 3 \
                and bounds.dims[0] == variable.dims[0]:
            centres.setdefault((variable.dims[0], bounds.dims[1]), []).append(variable)
    for (dim, _), variables in centres.items():
        x, y = pair_of(variables)
        if x is None or y is None or role_of(x) not in X_ROLES or role_of(y) not in Y_ROLES:
            continue
        bounds_x, bounds_y = _named(view, x, "bounds"), _named(view, y, "bounds")
        if bounds_x is not None and bounds_y is not None:
            yield Mesh("mesh", "", dim, "", x, y, bounds=(bounds_x, bounds_y),
                       parts=frozenset(v.path for v in (x, y, bounds_x, bounds_y)))


def _with_places(view: FileView, mesh: Mesh) -> Mesh:
    """The mesh with all further coordinates of its nodes, elements and edges among its parts."""
    places = [v.path for dim in mesh.dims for v in view.over(dim) if is_place(v)]
    return replace(mesh, parts=mesh.parts | frozenset(places))


def is_place(variable: Variable) -> bool:
    """True for a longitude, a northing or the like; a bare name counts only where it is x or y."""
    role = role_of(variable)
    if role in ("x", "y"):
        return variable.name.lower() in _PLAIN_PLACES or text(variable.attributes, "axis").upper() in ("X", "Y")
    return role in _PAIRS or role in _PAIRS.values()


def in_degrees(variable: Variable) -> bool:
    """True for a coordinate that is a longitude or latitude, in degrees or radians."""
    return role_of(variable) in ("longitude", "latitude") or units(variable.attributes).lower().startswith("degree")
