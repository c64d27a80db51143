"""Reduced grids, whose rows differ in length, as a mesh: each point is the box that lies half way to its neighbours.

So every value keeps its own place and none is invented, as an expansion to a regular grid would.
"""

from __future__ import annotations

import numpy as np

from mdstudio.engine.model import Array, MeshDomain
from mdstudio.engine.spatial.mesh_index import index_mesh
from mdstudio.sources.grib.library import Header, UndecodableError, gaussian_latitudes


def reduced_mesh(header: Header, kind: str) -> MeshDomain:
    """The mesh of a reduced grid, its elements in the order of the file's points.

    Neighbours in a row share their corners, rows share none. The outermost rows reach the poles where the next row
    would lie beyond. Raises `UndecodableError`. Cost: some 100 bytes a point.
    """
    longitude, latitude = _places(header, kind)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(latitude) != 0]))
    counts = np.diff(np.append(starts, latitude.size))
    rows = latitude[starts]
    down = np.diff(rows) < 0
    if rows.size < 2 or down.any() != down.all():
        raise UndecodableError("a reduced grid whose rows do not follow one another")
    edges = _row_edges(rows)
    x = np.concatenate([_column_edges(longitude[s:s + n]) for s, n in zip(starts, counts, strict=True)])
    first = np.concatenate([[0], np.cumsum(2 * (counts + 1))[:-1]])  # the first node of each row
    west = np.concatenate([f + np.arange(n) for f, n in zip(first, counts, strict=True)])
    across = np.repeat(counts + 1, counts)  # from a node of the row's first edge to the one above it
    node_x = np.concatenate([np.tile(part, 2) for part in np.split(x, np.cumsum(counts + 1)[:-1])])
    node_y = np.repeat(np.stack([edges[:-1], edges[1:]], 1).ravel(), np.repeat(counts + 1, 2))
    corners = np.stack([west, west + 1, west + 1 + across, west + across], 1)
    return index_mesh(
        node_x, node_y, corners, crs="EPSG:4326", geographic=True, x_name="longitude", y_name="latitude",
        x_unit="degrees_east", y_unit="degrees_north",
        attributes={"GRIB_gridType": kind, "GRIB_pl": counts.tolist(), "GRIB_N": header.number("N", 0)})


def _places(header: Header, kind: str) -> tuple[Array, Array]:
    """Longitude and latitude of each point, in file order: of a whole Gaussian grid by its rows, else by ecCodes."""
    counts = header.array("pl")
    if counts.min(initial=2) < 2 or counts.size < 2:
        raise UndecodableError("a reduced grid with rows of no points")  # ecCodes would end the process
    number, points = header.number("N", 0), header.number("numberOfDataPoints")
    north = header.real("latitudeOfFirstGridPointInDegrees")
    if kind != "reduced_gg" or counts.size != 2 * number or counts.sum() != points or north < 0:
        return header.array("longitudes"), header.array("latitudes")
    west = header.real("longitudeOfFirstGridPointInDegrees", 0.0)
    longitude = np.concatenate([west + np.arange(n) * (360 / n) for n in counts.tolist()])
    return longitude, np.repeat(gaussian_latitudes(number), counts)


def _row_edges(rows: Array) -> Array:
    """(rows + 1,) latitudes between the rows, and beyond the outermost."""
    between = (rows[:-1] + rows[1:]) / 2
    ends = []
    for end, inner in ((rows[0], rows[1]), (rows[-1], rows[-2])):
        step = end - inner
        ends.append(np.copysign(90.0, end) if abs(end + step) >= 90 and end * step > 0 else end + step / 2)
    return np.concatenate([ends[:1], between, ends[1:]])


def _column_edges(longitude: Array) -> Array:
    """(n + 1,) longitudes between the points of a row, and beyond the outermost; a lone point is the whole turn."""
    if longitude.size == 1:
        return np.array([longitude[0] - 180, longitude[0] + 180])
    unrolled = longitude[0] + np.concatenate([[0.0], np.cumsum(np.diff(longitude) % 360)])  # rows run eastward
    step = (unrolled[-1] - unrolled[0]) / (longitude.size - 1)
    if abs(step * longitude.size - 360) < step / 2:
        step = 360 / longitude.size
    edges: Array = unrolled[0] + step * (np.arange(longitude.size + 1) - 0.5)
    return edges
