"""A map query as a NetCDF file: the cells or elements that were asked for, CF or UGRID, with their stored numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mdstudio.engine.model import Array, Domain, GridDomain, MeshDomain
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import MapResult
from mdstudio.targets.netcdf_cf import Names, fill_value
from mdstudio.targets.netcdf_frame import Frame, Layers, data_variable
from mdstudio.targets.netcdf_grid import write_grid
from mdstudio.targets.netcdf_mesh import write_topology

if TYPE_CHECKING:
    from mdstudio.engine.dataset import Dataset


def write_map_netcdf(path: Path, result: MapResult, dataset: Dataset) -> None:
    """The stored numbers with their CF packing, so that a reader sees values; coordinates as the source had them; time
    and layer as scalar coordinates. Cells outside the request hold the no-data value where the item has one.

    A mesh is written as its touched elements over their nodes; node values as the elements that have all their nodes
    among those of the request.
    """
    import netCDF4

    with netCDF4.Dataset(path, "w") as file:
        file.set_auto_maskandscale(False)
        file.setncattr("Conventions", "CF-1.8 UGRID-1.0" if isinstance(dataset.domain, MeshDomain) else "CF-1.8")
        file.setncattr("source", f"{dataset.location}")
        names, time = Names(), result.request.time
        frame = Frame(file, dataset, names, time, time + 1, "", Progress())
        dims, attributes = _write_place(frame, dataset.domain, result)
        scalars = " ".join(_write_moment(file, names, result, dataset))
        coordinates = " ".join(part for part in (attributes.get("coordinates", ""), scalars) if part)
        item = replace(result.item, layers=None)
        chunk = tuple(file.dimensions[dim].size for dim in dims)
        variable = data_variable(frame, Layers(file, names), item, dims, (1, *chunk),
                                 attributes | ({"coordinates": coordinates} if coordinates else {}))
        variable[...] = _outside_as_no_data(result)


def _write_place(frame: Frame, domain: Domain, result: MapResult) -> tuple[tuple[str, ...], dict[str, str]]:
    """Coordinates; the dimensions of the values and what their variable says of the place."""
    if isinstance(domain, MeshDomain):
        of_nodes = result.item.location == "node"
        mesh = write_topology(frame, part_of_mesh(domain, result.rows, of_nodes))
        return ((mesh.nodes if of_nodes else mesh.faces,),
                {"mesh": mesh.topology, "location": "node" if of_nodes else "face"})
    place = write_grid(frame.file, frame.names, part_of_grid(domain, result.rows, result.columns))
    return (place.y_dim, place.x_dim), place.attributes


def part_of_grid(domain: GridDomain, rows: Array, columns: Array) -> GridDomain:
    """The grid of some rows and columns."""
    block = np.ix_(rows, columns)
    planes = {name: values[block] for name in ("longitude", "latitude", "corner_longitude", "corner_latitude")
              if (values := getattr(domain, name)) is not None}
    return replace(
        domain, x=domain.x[columns], y=domain.y[rows],
        x_bounds=None if domain.x_bounds is None else domain.x_bounds[columns],
        y_bounds=None if domain.y_bounds is None else domain.y_bounds[rows], **planes)


def part_of_mesh(domain: MeshDomain, numbers: Array, of_nodes: bool) -> MeshDomain:
    """The mesh of some elements over their nodes, in their order; `of_nodes`: of some nodes, with the elements that
    have all theirs among them."""
    corners = domain.element_nodes
    if of_nodes:
        held = np.zeros(domain.nodes + 1, bool)
        held[numbers], held[-1] = True, True  # -1: no corner
        nodes, corners = numbers, corners[held[corners].all(axis=1)]
    else:
        corners = corners[numbers]
        nodes = np.unique(corners[corners >= 0])
    position = np.full(domain.nodes + 1, -1, np.int32)
    position[nodes] = np.arange(nodes.size)
    return replace(
        domain, node_x=domain.node_x[nodes], node_y=domain.node_y[nodes], element_nodes=position[corners],
        element_number=np.arange(len(corners), dtype=np.int32), node_number=np.arange(nodes.size, dtype=np.int32),
        node_z=None if domain.node_z is None else domain.node_z[nodes],
        node_code=None if domain.node_code is None else domain.node_code[nodes], layer_counts=None)


def _write_moment(file: Any, names: Names, result: MapResult, dataset: Dataset) -> list[str]:
    """The time and the layer of the slice as scalar coordinates; their names."""
    times, item, request = dataset.metadata.times, result.item, result.request
    made = []
    if not times.static:
        made.append(names.take("time"))
        time = file.createVariable(made[-1], "f8", ())
        time.setncatts({"units": "seconds since 1970-01-01 00:00:00", "calendar": times.calendar,
                        "standard_name": "time"})
        time[...] = int(times.microseconds[request.time]) / 1e6
    if item.layers:
        made.append(names.take(item.layers.name, "layer"))
        layer = file.createVariable(made[-1], "f8", ())
        layer.setncatts({key: value for key, value in (("units", item.layers.unit), ("positive", item.layers.positive))
                         if value})
        layer[...] = item.layers.values[request.layer or 0]
    return made


def _outside_as_no_data(result: MapResult) -> Array:
    fill = fill_value(result.item)
    if fill is None:
        return result.stored
    mask = result.mask.reshape(result.mask.shape + (1,) * (result.stored.ndim - result.mask.ndim))
    return np.where(mask, result.stored, fill)
