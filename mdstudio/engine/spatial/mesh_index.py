"""The stored order of a flexible mesh: elements along a Hilbert curve, nodes by first use, pages of the spatial index.

Neighbours on the map are neighbours in the file, so that a map of a part of the mesh decodes few pages (P1, P2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Array, MeshDomain
from mdstudio.engine.spatial.corners import half_turn

MESH_INDEX_PAGE = 1024  # elements of a page of the spatial index (SchemaVersion 1)
_BITS = 20  # of the curve along each axis
_MOST = 2**31 - 1  # numbers are stored as int32


@dataclass(frozen=True)
class IndexPages:
    """The nodes of every page of the spatial index: runs of `MESH_INDEX_PAGE` elements in stored order.

    Attributes:
        nodes: int32, for one page after the other the sorted unique stored numbers of its elements' corners: what a
            z-level item holds values of.
        offsets: (pages + 1,) int64; page p has nodes[offsets[p]:offsets[p + 1]].
    """

    nodes: Array
    offsets: Array

    def __len__(self) -> int:
        return self.offsets.size - 1


def index_mesh(
    node_x: Array, node_y: Array, element_nodes: Array, *, node_z: Array | None = None, node_code: Array | None = None,
    layer_counts: Array | None = None, crs: str = "", geographic: bool = False, x_name: str = "x", y_name: str = "y",
    x_unit: str = "", y_unit: str = "", attributes: Mapping[str, Any] | None = None,
) -> MeshDomain:
    """A mesh in stored order from one in the source's order.

    Args:
        node_x, node_y, node_z: (nodes,) floats, kept to the bit; NaN only for nodes that no element uses.
        element_nodes: (elements, corners) integers from 0, corners in turn; -1 after the last corner of an element with
            fewer than the widest.
        node_code: (nodes,) integers.
        layer_counts: (elements,) integers, for a mesh with sigma layers.

    The order depends on the arguments alone. Raises `UsageError` for what is no mesh. Cost: about a second for a
    million elements.
    """
    x, y = _coordinates(node_x, "x"), _coordinates(node_y, "y")
    corners = _corners(element_nodes, x.size)
    _check_lengths(x.size, corners.shape[0], node_y=y, node_z=node_z, node_code=node_code, layer_counts=layer_counts)
    _check_used(x, y, corners)
    elements = _curve_order(x, y, corners, geographic)
    corners = corners[elements]
    nodes = _order_of_use(corners, x.size)
    place = np.empty(x.size + 1, np.int32)
    place[nodes], place[-1] = np.arange(x.size, dtype=np.int32), -1
    return MeshDomain(
        x[nodes], y[nodes], place[corners], elements.astype(np.int32), nodes.astype(np.int32),
        None if node_z is None else _coordinates(node_z, "z")[nodes],
        None if node_code is None else _integers(node_code, "node codes")[nodes],
        None if layer_counts is None else _layers(layer_counts)[elements],
        crs, geographic, x_name, y_name, x_unit, y_unit, dict(attributes or {}))


def index_pages(domain: MeshDomain) -> IndexPages:
    """The nodes of the pages of the spatial index. Cost: one sort of all corners, some 0.2 s for a million elements."""
    page = np.repeat(np.arange(domain.elements) // MESH_INDEX_PAGE, domain.element_nodes.shape[1])
    corner = domain.element_nodes.ravel().astype(np.int64)
    key = np.unique((page * domain.nodes + corner)[corner >= 0])
    pages = -(-domain.elements // MESH_INDEX_PAGE)
    offsets = np.searchsorted(key, np.arange(pages + 1) * domain.nodes).astype(np.int64)
    return IndexPages((key % domain.nodes).astype(np.int32), offsets)


def zlevel_paged_nodes(domain: MeshDomain) -> int:
    """Nodes of all index pages, those of several pages counted in each: values of a layer of a z-level item."""
    return int(index_pages(domain).offsets[-1])


def element_centres(x: Array, y: Array, corners: Array, geographic: bool) -> tuple[Array, Array]:
    """(n,) float64 means of the corners (n, k) of elements, longitudes beside their first corner; a corner on a pole,
    which is at every longitude, counts for the latitude alone."""
    used = corners >= 0
    counted = used & ~on_pole(y)[corners] if geographic else used
    first = x[corners[np.arange(len(corners)), np.argmax(counted, axis=1)]].astype(np.float64)
    sum_x, sum_y = np.zeros(len(corners)), np.zeros(len(corners))
    with np.errstate(all="ignore"):  # coordinates that are no numbers, or of any size, have such means too
        for k in range(corners.shape[1]):
            at = corners[:, k]
            step = x[at] - first
            sum_x += np.where(counted[:, k], half_turn(step) if geographic else step, 0.0)
            sum_y += np.where(used[:, k], y[at], 0.0)
        return first + sum_x / np.maximum(counted.sum(axis=1), 1), sum_y / used.sum(axis=1)


def on_pole(latitude: Array) -> Array:
    """bool: latitudes that are a pole, those computed from radians in float32 too."""
    found: Array = np.abs(latitude) > 90 - 1e-5
    return found


def hilbert(column: Array, row: Array, bits: int) -> Array:
    """(n,) uint64 place along the Hilbert curve of a square of 2^bits x 2^bits cells."""
    x, y = column.astype(np.uint32), row.astype(np.uint32)
    place = np.zeros(x.size, np.uint64)
    for bit in range(bits - 1, -1, -1):
        right, upper = (x >> np.uint32(bit)) & np.uint32(1), (y >> np.uint32(bit)) & np.uint32(1)
        place = (place << np.uint64(2)) | ((right * np.uint32(3)) ^ upper)
        lower = upper - np.uint32(1)  # all ones in the lower half: there the curve is turned
        flip = np.where(right == 1, lower, np.uint32(0))
        x, y = x ^ flip, y ^ flip
        swap = (x ^ y) & lower
        x, y = x ^ swap, y ^ swap
    return place


def _curve_order(x: Array, y: Array, corners: Array, geographic: bool) -> Array:
    """(elements,) positions in the source along the curve; elements on one place of it keep the source's order."""
    centre_x, centre_y = element_centres(x, y, corners, geographic)
    span = max(float(np.ptp(centre_x)), float(np.ptp(centre_y))) or 1.0
    across, up = (((part - part.min()) / span * (2**_BITS - 1)).astype(np.uint32) for part in (centre_x, centre_y))
    return np.argsort(hilbert(across, up, _BITS), kind="stable")


def _order_of_use(corners: Array, nodes: int) -> Array:
    """(nodes,) positions in the source by the first element that has the node, unused ones last."""
    used = corners.ravel()
    used = used[used >= 0]
    first = np.full(nodes, used.size, np.int64)
    first[used[::-1]] = np.arange(used.size - 1, -1, -1)  # of several places the last assigned stays: the first
    return np.argsort(first, kind="stable")


def _coordinates(values: Array, what: str) -> Array:
    found = np.asarray(values)
    if found.ndim != 1:
        raise UsageError(f"The {what} of the nodes has {found.ndim} dimensions; one value a node is needed.")
    if found.dtype.kind == "f" and found.dtype.itemsize in (4, 8):
        return found.astype(found.dtype.newbyteorder("="))
    if found.dtype.kind in "iu":
        return found.astype(np.float64)
    raise UsageError(f"The {what} of the nodes is of type {found.dtype}; float32 or float64 is needed.")


def _integers(values: Array, what: str) -> Array:
    found = np.asarray(values)
    if found.dtype.kind not in "iu":
        raise UsageError(f"The {what} are of type {found.dtype}; integers are needed.")
    if found.size and (int(found.min()) < -_MOST - 1 or int(found.max()) > _MOST):
        raise UsageError(f"The {what} do not fit in 32 bits: {found.min()} .. {found.max()}.")
    return found.astype(np.int32)


def _corners(element_nodes: Array, nodes: int) -> Array:
    """(elements, corners) int32, checked against the number of nodes."""
    if np.ndim(element_nodes) != 2 or np.shape(element_nodes)[0] < 1:
        raise UsageError("A mesh needs at least one element, each with a row of corners.")
    if np.shape(element_nodes)[1] < 3:
        raise UsageError(f"The elements have {np.shape(element_nodes)[1]} corners; an element has three or more.")
    corners = _integers(element_nodes, "corners of the elements")
    low, high = int(corners.min()), int(corners.max())
    if low < -1 or high >= nodes:
        raise UsageError(f"The elements have corners {low} .. {high}; the mesh has nodes 0 .. {nodes - 1}.",
                         advice="Nodes are counted from 0, and -1 stands for no further corner.")
    there = corners >= 0
    few = np.flatnonzero(there.sum(axis=1) < 3)
    if few.size:
        raise UsageError(f"{few.size} elements have fewer than three corners, the first is #{few[0]}.")
    gaps = np.flatnonzero((there[:, 1:] & ~there[:, :-1]).any(axis=1))
    if gaps.size:
        raise UsageError(f"{gaps.size} elements have -1 between their corners, the first is #{gaps[0]}.")
    return corners


def _check_lengths(nodes: int, elements: int, **given: Array | None) -> None:
    for name, values in given.items():
        expected = elements if name == "layer_counts" else nodes
        if values is not None and np.shape(values) != (expected,):
            raise UsageError(f"'{name}' has the shape {np.shape(values)}; ({expected},) is needed.")


def _check_used(x: Array, y: Array, corners: Array) -> None:
    nowhere = ~(np.isfinite(x) & np.isfinite(y))
    if not nowhere.any():
        return
    bad = np.flatnonzero((nowhere[corners] & (corners >= 0)).any(axis=1))
    if bad.size:
        raise UsageError(f"{bad.size} elements have a corner without coordinates, the first is #{bad[0]}.")


def _layers(values: Array) -> Array:
    counts = _integers(values, "layer counts")
    if counts.size and counts.min() < 0:
        raise UsageError(f"Element #{int(np.argmin(counts))} has {counts.min()} layers.")
    return counts
