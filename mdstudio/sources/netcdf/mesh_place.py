"""Where on which mesh the values of a variable lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mdstudio.engine.model import Location
from mdstudio.sources.netcdf.horizontal import NotOnAGridError
from mdstudio.sources.netcdf.mesh_topology import Mesh, is_connectivity, is_place
from mdstudio.sources.netcdf.view import FileView, Variable


class MeshElsewhereError(NotOnAGridError):
    """A variable on a mesh, of this name, that the file has not."""

    def __init__(self, mesh_name: str) -> None:
        super().__init__(f"on the mesh '{mesh_name}', which the file has not")


@dataclass(frozen=True)
class MeshPlace:
    """The nodes or elements of a mesh: `x_dim` counts them; there are no rows (`y_dim` is "")."""

    mesh: Mesh
    location: Location
    x_dim: str
    y_dim: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """Two variables with the same key are on the same mesh of this file."""
        return ("mesh", self.mesh.name, self.mesh.face_dim, self.mesh.node_dim)


def mesh_place(view: FileView, variable: Variable, meshes: Sequence[Mesh]) -> MeshPlace | None:
    """The place of a variable, None where it is on no mesh. By its dimensions; its attribute `mesh` decides between
    meshes over the same ones. Raises `NotOnAGridError` for edges and for meshes that cannot be imported."""
    named = str(variable.attributes.get("mesh", ""))
    found = [p for p in _places(view, variable, meshes) if p.mesh.name == named] or _places(view, variable, meshes)
    if found and {found[0].mesh.node_dim, found[0].mesh.face_dim} <= set(variable.dims) and len(found) > 1:
        raise NotOnAGridError("over nodes and elements of a mesh at once", quiet=True)
    if found:
        if found[0].mesh.fault:
            raise NotOnAGridError(found[0].mesh.fault)
        return found[0]
    for mesh in meshes:
        if mesh.edge_dim and mesh.edge_dim in variable.dims:
            raise NotOnAGridError(mesh.fault or "on the edges of a mesh: values of nodes and elements are kept")
    by_name = next((m for m in meshes if m.name == named), None)
    if by_name is not None:
        raise NotOnAGridError(by_name.fault or f"on the mesh '{named}', but neither over its nodes nor its elements")
    if named and by_name is None and "location" in variable.attributes and view.find(named, variable.group) is None:
        raise MeshElsewhereError(named)
    return None


def _places(view: FileView, variable: Variable, meshes: Sequence[Mesh]) -> list[MeshPlace]:
    found = []
    for mesh in meshes:
        for location, dim in (("node", mesh.node_dim), ("cell", mesh.face_dim)):
            if dim and dim in variable.dims and _fits(mesh, dim, location, view.sizes[dim]):
                found.append(MeshPlace(mesh, "node" if location == "node" else "cell", dim))
    return found


def _fits(mesh: Mesh, dim: str, location: str, size: int) -> bool:
    """A mesh of another file must have as many nodes or elements as the dimension of the same name."""
    if mesh.domain is None:
        return True
    return size == (mesh.domain.nodes if location == "node" else mesh.domain.elements)


def is_mesh_data(variable: Variable, meshes: Sequence[Mesh]) -> bool:
    """True for a variable over nodes, elements or edges that is no part of the mesh itself."""
    return any(set(variable.dims) & mesh.dims and variable.path not in mesh.parts for mesh in meshes) and not (
        is_mesh_part(variable, meshes) or (len(variable.dims) == 1 and is_place(variable)))


def is_mesh_part(variable: Variable, meshes: Sequence[Mesh]) -> bool:
    """True for topologies, connectivity and coordinates of a mesh."""
    return (bool(meshes) and is_connectivity(variable)) or any(variable.path in mesh.parts for mesh in meshes)
