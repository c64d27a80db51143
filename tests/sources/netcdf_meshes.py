"""Small meshes for the tests: two quads and a triangle over seven nodes, as the conventions write them.

    4---5---6
    | 0 | 1 | \\
    0---1---2---3     nodes 0..6, elements 0 (0 1 5 4), 1 (1 2 6 5), 2 (2 3 6)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mdstudio.engine.model import Description, MeshDomain
from mdstudio.sources.registry import open_source
from tests.sources.netcdf_builders import HOURS, LAT, LON, add, new_file

X = np.array([0.0, 1, 2, 3, 0, 1, 2])
Y = np.array([50.0, 50, 50, 50, 51, 51, 51])
ELEMENTS = ((0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 6))
METRES_X = {"standard_name": "projection_x_coordinate", "units": "m"}
METRES_Y = {"standard_name": "projection_y_coordinate", "units": "m"}
TOPOLOGY = {"cf_role": "mesh_topology", "topology_dimension": np.int32(2), "node_coordinates": "node_x node_y",
            "face_node_connectivity": "face_nodes"}


def corners(start: int, fill: Any, dtype: str = "i4", elements: Sequence[Sequence[int]] = ELEMENTS) -> np.ndarray:
    """A table of corners, with `fill` after the last."""
    table = np.full((len(elements), max(map(len, elements))), fill, dtype)
    for row, element in zip(table, elements, strict=True):
        row[:len(element)] = np.asarray(element) + start
    return table


def add_topology(dataset: Any, table: np.ndarray | None = None, attributes: Mapping[str, Any] | None = None, *,
                 x: Any = X, y: Any = Y, axes: tuple[Mapping[str, Any], Mapping[str, Any]] = (LON, LAT),
                 topology: Mapping[str, Any] = TOPOLOGY, dims: tuple[str, str] = ("face", "corner"), prefix: str = ""
                 ) -> None:
    """A UGRID mesh of the name `mesh` (with `prefix`); `table` None: numbers from 0, -1 as fill."""
    if table is None:
        table, attributes = corners(0, -1), {"_FillValue": np.int32(-1), "start_index": np.int32(0)}
    names = {k: " ".join(prefix + n for n in v.split()) if isinstance(v, str) and k != "cf_role" else v
             for k, v in topology.items()}
    add(dataset, f"{prefix}mesh", [], np.int32(0), names)
    add(dataset, f"{prefix}node_x", [f"{prefix}node"], x, axes[0])
    add(dataset, f"{prefix}node_y", [f"{prefix}node"], y, axes[1])
    add(dataset, f"{prefix}face_nodes", [prefix + d for d in dims], table,
        {"cf_role": "face_node_connectivity"} | dict(attributes or {}))


def add_time(dataset: Any, hours: Sequence[int] = (0, 1, 2)) -> None:
    add(dataset, "time", ["time"], np.asarray(hours, "i4"), HOURS)


def add_values(dataset: Any, name: str = "v", steps: int = 3, dim: str = "face", count: int = 3, mesh: str = "mesh",
               dtype: str = "f4", attributes: Mapping[str, Any] | None = None) -> np.ndarray:
    """Values that differ in every place and step, over time and `dim`."""
    values = np.arange(steps * count, dtype=dtype).reshape(steps, count)
    location = "node" if dim.endswith("node") else "face"
    add(dataset, name, ["time", dim], values, {"mesh": mesh, "location": location} | dict(attributes or {}))
    return values


def mesh_file(path: Path, table: np.ndarray | None = None, attributes: Mapping[str, Any] | None = None,
              hours: Sequence[int] = (0, 1, 2), **topology: Any) -> Path:
    """A file of that mesh, with `v` on elements and `n` on nodes."""
    with new_file(path) as dataset:
        add_topology(dataset, table, attributes, **topology)
        add_time(dataset, hours)
        add_values(dataset, steps=len(hours))
        add_values(dataset, "n", len(hours), "node", 7)
    return path


def described(*paths: Path) -> list[Description]:
    with open_source([str(p) for p in paths]) as source:
        return list(source.descriptions())


def mesh_of(*paths: Path) -> MeshDomain:
    """The mesh of the only description."""
    (description,) = described(*paths)
    assert isinstance(description.domain, MeshDomain)
    return description.domain


def elements_of(mesh: MeshDomain) -> list[tuple[int, ...]]:
    """Elements in the order of the source, by the source's numbers of nodes."""
    found: list[tuple[int, ...]] = [()] * mesh.elements
    for row, number in zip(mesh.element_nodes, mesh.element_number.tolist(), strict=True):
        found[number] = tuple(mesh.node_number[row[row >= 0]].tolist())
    return found


def rings_of(mesh: MeshDomain) -> list[list[tuple[float, float]]]:
    """The coordinates of each element's corners, elements in the order of the source."""
    found: list[list[tuple[float, float]]] = [[]] * mesh.elements
    for row, number in zip(mesh.element_nodes, mesh.element_number.tolist(), strict=True):
        at = row[row >= 0]
        found[number] = list(zip(mesh.node_x[at].tolist(), mesh.node_y[at].tolist(), strict=True))
    return found
