"""The mesh of a dfsu or mesh file as a `MeshDomain`: two-dimensional, or the columns of a layered one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdstudio.engine.errors import SourceError, UnsupportedError, UsageError
from mdstudio.engine.model import Array, MeshDomain
from mdstudio.engine.spatial.mesh_index import index_mesh
from mdstudio.sources.dfs.library import reading
from mdstudio.sources.dfs.projections import place_of

_REFUSED = {
    "DfsuVerticalColumn": "a vertical column holds one place only",
    "DfsuVerticalProfileSigma": "a vertical profile (transect) has no horizontal mesh",
    "DfsuVerticalProfileSigmaZ": "a vertical profile (transect) has no horizontal mesh",
    "Dfsu1D": "a line of elements has no horizontal mesh",
    "DfsuSpectral0D": "a wave spectrum has directions and frequencies in place of times and places",
    "DfsuSpectral1D": "wave spectra along a line have directions and frequencies at every place",
    "DfsuSpectral2D": "wave spectra have directions and frequencies at every element",
}


@dataclass(frozen=True)
class MeshPlace:
    """A mesh and its note ("" when its CRS is known); `layers`: the most layers of a column, 0 for a flat mesh."""

    domain: MeshDomain
    note: str
    layers: int


def dfsu_mesh(file: Any, path: str) -> MeshPlace:
    """The mesh of an open dfs file that is a dfsu. Cost: its static items.

    Raises `UnsupportedError` for spectra, profiles and columns with the reason, `SourceError` for what is no mesh.
    """
    from mikecore.DfsuFile import DfsuFile, DfsuFileType

    with reading(path, "The mesh"):
        dfsu = DfsuFile(file)
    kind = DfsuFileType(dfsu.DfsuFileType).name
    if kind in _REFUSED:
        raise UnsupportedError(f"This dfsu file is not imported: {_REFUSED[kind]}.", where=path,
                               advice="Take the values of single places out of it with MIKE Zero or mikeio.")
    corners = _padded(dfsu.ElementTable, len(dfsu.X), path)
    if kind == "Dfsu2D":
        return _made(dfsu, corners, None, path)
    return _layered(dfsu, corners, path)


def file_mesh(path: str) -> tuple[MeshPlace, Any]:
    """The mesh of a .mesh file and mikecore's own `MeshFile`. Cost: the whole text.

    Raises `SourceError` for text that is no mesh, and where lines are left after the elements that it announces.
    """
    from mikecore.MeshFile import MeshFile

    with reading(path, "The mesh"):
        mesh = MeshFile.ReadMesh(path)
        with open(path, encoding="utf-8", errors="replace") as lines:
            found = sum(1 for line in lines if line.strip())
    announced = 2 + mesh.NumberOfNodes + mesh.NumberOfElements
    if found != announced:
        raise SourceError(f"The file announces {mesh.NumberOfNodes} nodes and {mesh.NumberOfElements} elements, "
                          f"{announced} lines with the two headers; it has {found}.", where=path,
                          advice="Correct the counts in the headers, or fetch the file again.")
    return _made(mesh, _padded(mesh.ElementTable, mesh.NumberOfNodes, path), None, path), mesh


def _made(mesh: Any, corners: Array, layers: Array | None, path: str) -> MeshPlace:
    """Of mikecore's mesh or dfsu file; both name their parts alike."""
    return _indexed(_text(mesh), np.asarray(mesh.X), np.asarray(mesh.Y), np.asarray(mesh.Z), np.asarray(mesh.Code),
                    corners, layers, path)


def _indexed(text: str, x: Array, y: Array, z: Array, code: Array, corners: Array, layers: Array | None, path: str
             ) -> MeshPlace:
    place = place_of(text)
    names = ("longitude", "latitude") if place.geographic else ("x", "y")
    try:
        domain = index_mesh(x, y, corners, node_z=z, node_code=code, layer_counts=layers, crs=place.crs,
                            geographic=place.geographic, x_name=names[0], y_name=names[1], x_unit=place.unit,
                            y_unit=place.unit, attributes={"topology": {"dhi_projection": place.text}})
    except UsageError as error:
        raise SourceError(f"The mesh cannot be used: {error.message}", where=path) from None
    return MeshPlace(domain, place.note, 0 if layers is None else int(layers.max(initial=0)))


def _text(mesh: Any) -> str:
    projection = getattr(mesh, "Projection", None)
    return str(mesh.ProjectionString if projection is None else projection.WKTString)


def _layered(dfsu: Any, corners: Array, path: str) -> MeshPlace:
    """A mesh of columns: prisms one above the other, from the bottom, the lower half of each one's corners first.

    The corners of the mesh are the upper ones of the top prisms; the level of a node is its lowest one.
    """
    sizes = (corners >= 0).sum(axis=1)
    if not np.isin(sizes, (6, 8)).all():
        raise SourceError(f"An element of this layered mesh has {int(sizes[~np.isin(sizes, (6, 8))][0])} corners, "
                          "neither 6 nor 8.", where=path)
    half = sizes // 2
    lower = np.where(np.arange(4) < half[:, None], corners[:, :4], -1)
    upper = np.take_along_axis(np.pad(corners, ((0, 0), (0, 8 - corners.shape[1])), constant_values=-1),
                               half[:, None] + np.arange(4), axis=1)
    upper = np.where(np.arange(4) < half[:, None], upper, -1)
    stacked = (upper[:-1] == lower[1:]).all(axis=1)  # the next one stands on this one
    first = np.flatnonzero(np.r_[True, ~stacked])
    counts = np.diff(np.r_[first, len(corners)])
    flat = upper[first + counts - 1]
    used = np.unique(flat[flat >= 0])
    number = np.full(len(dfsu.X) + 1, -1, np.int32)
    number[used] = np.arange(used.size, dtype=np.int32)
    bottom = lower[first]
    level = np.full(used.size, np.inf, np.float32)
    inside = flat >= 0
    np.minimum.at(level, number[flat[inside]], np.asarray(dfsu.Z, np.float32)[bottom[inside]])
    return _indexed(_text(dfsu), np.asarray(dfsu.X)[used], np.asarray(dfsu.Y)[used], level, np.asarray(dfsu.Code)[used],
                    number[flat], counts, path)


def _padded(table: Sequence[Any], nodes: int, path: str) -> Array:
    """(elements, corners) positions of nodes from 0, -1 behind the last corner; the file counts from 1."""
    if not len(table):
        raise SourceError("The mesh has no elements.", where=path)
    sizes = np.array([len(element) for element in table])
    out = np.full((len(table), max(int(sizes.max()), 4)), -1, np.int32)
    flat = np.concatenate([np.asarray(element, np.int64) for element in table])
    if flat.min(initial=1) < 1 or flat.max(initial=1) > nodes:
        raise SourceError(f"An element names a node outside 1..{nodes}.", where=path)
    out[np.arange(out.shape[1]) < sizes[:, None]] = flat - 1
    return out
