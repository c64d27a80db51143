"""The mesh part of an export to NetCDF-4: UGRID, elements and nodes in the order of the mesh's own source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdstudio.engine.layout.mesh_order import MeshOrder
from mdstudio.engine.model import Array, Item, MeshDomain
from mdstudio.targets.netcdf_cf import attribute_variable, fill_value, set_attributes
from mdstudio.targets.netcdf_frame import BLOCK_BYTES, Frame, Layers, data_variable, put, ranges

CHUNK_VALUES = 1 << 18  # elements or nodes of a chunk of the file
NO_NODE = -1


@dataclass(frozen=True)
class Mesh:
    """Names of the mesh's dimensions and of its topology variable."""

    topology: str
    faces: str
    nodes: str


def write_mesh_items(frame: Frame, domain: MeshDomain, layers: Layers, items: Sequence[Item]) -> None:
    """The topology and every item. Items of elements lie on the faces, those of nodes (z-levels too) on the nodes;
    sigma items have a layer dimension counted from the bottom, with the fill value above elements of fewer layers."""
    mesh = write_topology(frame, domain)
    for item in items:
        if item.layers_together:
            _write_layers_together(frame, domain, mesh, layers, item)
        else:
            _write_slices(frame, domain, mesh, layers, item)


def write_topology(frame: Frame, domain: MeshDomain) -> Mesh:
    file, names = frame.file, frame.names
    topology = names.take("mesh2d")
    parts = {part: names.take(f"{topology}_{part}") for part in (
        "nFaces", "nNodes", "nMax_face_nodes", "node_x", "node_y", "face_nodes")}
    mesh = Mesh(topology, parts["nFaces"], parts["nNodes"])
    file.createDimension(mesh.faces, domain.elements)
    file.createDimension(mesh.nodes, domain.nodes)
    file.createDimension(parts["nMax_face_nodes"], domain.element_nodes.shape[1])
    attribute_variable(file, topology, {
        "cf_role": "mesh_topology", "topology_dimension": 2, "node_coordinates": f"{parts['node_x']} {parts['node_y']}",
        "face_node_connectivity": parts["face_nodes"], "face_dimension": mesh.faces, "node_dimension": mesh.nodes,
    } | {key: value for key, value in domain.attributes.items() if isinstance(value, str | int | float)})
    for axis, values, standard, east, unit in (
            ("node_x", domain.node_x, "longitude" if domain.geographic else "projection_x_coordinate", "degrees_east",
             domain.x_unit),
            ("node_y", domain.node_y, "latitude" if domain.geographic else "projection_y_coordinate", "degrees_north",
             domain.y_unit)):
        unit = unit or (east if domain.geographic else "m")
        _node_variable(frame, domain, mesh, parts[axis], values, {"standard_name": standard, "units": unit})
    for further, wanted in ((domain.node_z, "node_z"), (domain.node_code, "node_code")):
        if further is not None:
            _node_variable(frame, domain, mesh, names.take(f"{topology}_{wanted}"), further,
                           {"mesh": topology, "location": "node"})
    _write_corners(frame, domain, mesh, parts["face_nodes"], parts["nMax_face_nodes"])
    if domain.layer_counts is not None:
        counts = file.createVariable(names.take(f"{topology}_layer_count"), "i4", (mesh.faces,), fill_value=False)
        set_attributes(counts, {"long_name": "layers of each face", "mesh": topology, "location": "face"})
        counts[:] = _in_source_order(domain.layer_counts, domain.element_number)
    if domain.crs:
        import pyproj

        attribute_variable(file, names.take("crs"), {"crs_wkt": pyproj.CRS.from_user_input(domain.crs).to_wkt()})
    return mesh


def _node_variable(frame: Frame, domain: MeshDomain, mesh: Mesh, name: str, values: Array, attributes: dict[str, str]
                   ) -> None:
    variable = frame.file.createVariable(name, values.dtype.newbyteorder("="), (mesh.nodes,), zlib=True, complevel=4,
                                         fill_value=False)
    set_attributes(variable, attributes)
    variable[:] = _in_source_order(values, domain.node_number)


def _write_corners(frame: Frame, domain: MeshDomain, mesh: Mesh, name: str, corner: str) -> None:
    """The corners of every face as numbers of nodes, from 0."""
    variable = frame.file.createVariable(name, "i4", (mesh.faces, corner), zlib=True, complevel=4, fill_value=NO_NODE)
    set_attributes(variable, {"cf_role": "face_node_connectivity", "start_index": np.int32(0)})
    variable.set_auto_maskandscale(False)
    corners = domain.element_nodes
    numbers = np.where(corners < 0, NO_NODE, domain.node_number[corners])
    variable[:] = _in_source_order(numbers, domain.element_number)


def _in_source_order(values: Array, numbers: Array) -> Array:
    out = np.empty_like(values)
    out[numbers] = values
    return out


def _variable(frame: Frame, domain: MeshDomain, mesh: Mesh, layers: Layers, item: Item, times: int) -> Any:
    of_nodes = item.location == "node" or item.value_kind == "zlevel"
    dim, count = (mesh.nodes, domain.nodes) if of_nodes else (mesh.faces, domain.elements)
    attributes = {"mesh": mesh.topology, "location": "node" if of_nodes else "face"}
    return data_variable(frame, layers, item, (dim,), (times, min(count, CHUNK_VALUES)), attributes)


def _steps(frame: Frame, slice_bytes: int, group: int) -> list[slice]:
    """Ranges of times whose slices fit in a block, cut at each group."""
    return list(ranges(frame.start, frame.stop, group, max(1, BLOCK_BYTES // slice_bytes)))


def _write_slices(frame: Frame, domain: MeshDomain, mesh: Mesh, layers: Layers, item: Item) -> None:
    """Items whose layers lie apart: whole slices, as many times of a group as fit."""
    layout = frame.dataset.layout(item.name)
    n = layout.tiles.columns
    steps = _steps(frame, n * item.cell_type.itemsize, layout.group_size if layout.stored_as == "TimeSeries"
                   else frame.stop)
    variable = _variable(frame, domain, mesh, layers, item, max(step.stop - step.start for step in steps))
    positions = MeshOrder(domain).source_positions(item)
    for layer in item.layer_ids():
        for times in steps:
            stored = frame.read(item, times, layer, slice(0, 1), slice(0, n))
            out = np.empty_like(stored[:, 0])
            out[:, positions] = stored[:, 0]
            put(variable, frame, item, layer, times, (slice(0, n),), out)
            frame.progress.advance(stored.nbytes)


def _write_layers_together(frame: Frame, domain: MeshDomain, mesh: Mesh, layers: Layers, item: Item) -> None:
    """z-level and sigma items: one stored slice holds all layers of a time."""
    layout = frame.dataset.layout(item.name)
    n = layout.tiles.columns
    steps = _steps(frame, n * item.cell_type.itemsize, layout.group_size if layout.stored_as == "TimeSeries" else 1)
    variable = _variable(frame, domain, mesh, layers, item, 1)
    positions = MeshOrder(domain).source_positions(item)
    for times in steps:
        stored = frame.read(item, times, -1, slice(0, 1), slice(0, n))
        for step, values in enumerate(stored[:, 0]):
            cube = _cube(domain, item, positions, values)
            at = times.start + step - frame.start
            variable[(*([at] if frame.time_dim else []), slice(None), slice(None))] = cube
        frame.progress.advance(stored.nbytes)


def _cube(domain: MeshDomain, item: Item, positions: Array, values: Array) -> Array:
    """(layer, node or face) of one time, in the order of the source."""
    layer_count = len(item.layers or ())
    fill = fill_value(item)
    nothing = _default_fill(values.dtype) if fill is None else fill
    if item.value_kind == "zlevel":
        out = np.full(domain.nodes * layer_count, nothing, values.dtype)  # of nodes that no element has
        out[positions] = values
        return np.ascontiguousarray(out.reshape(domain.nodes, layer_count).T)
    in_source = np.empty_like(values)
    in_source[positions] = values
    assert domain.layer_counts is not None
    counts = _in_source_order(domain.layer_counts, domain.element_number).astype(np.int64)
    face = np.repeat(np.arange(domain.elements), counts)
    layer = np.arange(values.size) - np.repeat(np.cumsum(counts) - counts, counts)
    cube = np.full((layer_count, domain.elements), nothing, values.dtype)
    cube[layer, face] = in_source
    return cube


def _default_fill(dtype: Any) -> Any:
    """What NetCDF takes for values that were never written."""
    import netCDF4

    return netCDF4.default_fillvals[f"{dtype.kind}{dtype.itemsize}"]
