"""The files of a source described one by one; a file that has not its mesh takes it from another file of the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import Dropped
from mdstudio.sources.netcdf.anuga import with_times
from mdstudio.sources.netcdf.describe import Meshes, NoMeshError, Part, describe_file
from mdstudio.sources.netcdf.horizontal import NotOnAGridError
from mdstudio.sources.netcdf.mesh_domain import MeshDomains, mesh_domain
from mdstudio.sources.netcdf.mesh_topology import Mesh, find_meshes
from mdstudio.sources.netcdf.opening import FilePool
from mdstudio.sources.netcdf.view import FileView, view_file


def describe_files(paths: Sequence[str], files: FilePool, policy: str, double_as_float: bool) -> dict[str, list[Part]]:
    """The parts of each file that is imported, in the given order. Reads coordinates only.

    FESOM, for one, keeps its mesh in a file of its own: given beside the files of values, it lends them its mesh and is
    not imported itself, unless it has times. Raises `SourceError` naming the file and the reason.
    """
    made = MeshDomains()
    found: dict[str, list[Part]] = {}
    failed: dict[str, SourceError] = {}
    for path in dict.fromkeys(paths):
        try:
            found[path] = describe_file(_view(path, files), policy, double_as_float, Meshes(made=made))
        except SourceError as error:
            failed[path] = error
    without = [path for path, error in failed.items() if isinstance(error, NoMeshError)]
    lenders = {path: meshes for path in dict.fromkeys(paths)
               if without and path not in without and (meshes := _lent(_view(path, files), made))}
    for path, failure in failed.items():
        if not lenders or path not in (*without, *lenders):
            raise failure
    others = Meshes(tuple(m for lent in lenders.values() for m in lent), made)
    lent_only = [path for path in lenders if all(p.description.times.static for p in found.get(path, []))]
    for path in lent_only:
        found.pop(path, None)
    for path in without:
        found[path] = _with_note(describe_file(_view(path, files), policy, double_as_float, others), lent_only)
    return {path: found[path] for path in dict.fromkeys(paths) if path in found}


def _view(path: str, files: FilePool) -> FileView:
    return with_times(view_file(path, files.get(path)))


def _lent(view: FileView, made: MeshDomains) -> list[Mesh]:
    """The meshes of a file, read, for the use of other files."""
    lent = []
    for mesh in find_meshes(view):
        if mesh.fault:
            continue
        try:
            lent.append(replace(mesh, domain=mesh_domain(view, mesh, None, made)[0], parts=frozenset()))
        except NotOnAGridError as error:
            raise SourceError(f"The mesh '{mesh.name}': {error}.", where=view.path) from None
    return lent


def _with_note(parts: list[Part], lenders: Sequence[str]) -> list[Part]:
    if not lenders:
        return parts
    note = Dropped(", ".join(lenders), "the mesh was taken from it, its own values were not", len(lenders))
    return [replace(p, description=replace(p.description, dropped=(*p.description.dropped, note))) for p in parts]
