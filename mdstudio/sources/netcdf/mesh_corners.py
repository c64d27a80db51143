"""The corners of a mesh's elements as positions of nodes: from a table of node numbers, or from coordinates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mdstudio.engine.model import Array
from mdstudio.sources.netcdf.attributes import number, numbers
from mdstudio.sources.netcdf.horizontal import NotOnAGridError
from mdstudio.sources.netcdf.view import Variable

_UNWRITTEN = {"i1": -127, "u1": 255, "i2": -32767, "u2": 65535, "i4": -2147483647, "u4": 4294967295,
              "i8": -9223372036854775806, "u8": 18446744073709551614,
              "f4": np.float32(9.96921e36), "f8": 9.969209968386869e36}  # what netCDF takes for never written
_MOST = 2.0**53  # of whole numbers in floats
_SAME_PLACE = 1e-9  # degrees between longitudes that are 360 apart but for the last bits


def numbered_corners(table: Variable, face_dim: str, start: int | None, nodes: int) -> Array:
    """(elements, corners) int64 positions of nodes, -1 after the last corner.

    No corner is what equals a fill value, what was never written, the number before the first node, -1, and a repeat of
    the corner before at the end of a row. `start` None: the table's `start_index`; without one 0, or 1 where 0 is never
    used and the last number is that of the nodes. Raises `NotOnAGridError` naming the first element with a node too
    many.
    """
    values = table.raw()
    values = values if table.dims[0] == face_dim else values.T
    blank = _blanks(table, values)
    whole = np.where(blank, 0, values)
    if values.dtype.kind == "f" and not ((abs(whole) < _MOST) & (whole == np.floor(whole))).all():
        raise NotOnAGridError(f"its mesh cannot be used: '{table.path}' has node numbers that are no whole numbers")
    found = whole.astype(np.int64)
    if found.size == 0 or blank.all():
        raise NotOnAGridError(f"its mesh cannot be used: '{table.path}' has no elements")
    first = _first_node(table, found[~blank & (found >= 0)], start, nodes)
    blank |= (found == first - 1) | (found == -1)
    bad = ~blank & ((found < first) | (found >= first + nodes))
    if bad.any():
        element, corner = np.argwhere(bad)[0].tolist()
        raise NotOnAGridError(
            f"its mesh cannot be used: element #{element} of '{table.path}' has the node {found[element, corner]}; the "
            f"nodes are {first} .. {first + nodes - 1}")
    return without_repeats(np.where(blank, -1, found - first))


def _blanks(table: Variable, values: Array) -> Array:
    fills: list[Any] = [n for name in ("_FillValue", "missing_value") for n in numbers(table.attributes, name)]
    if not fills:
        fills = [_UNWRITTEN[f"{values.dtype.kind}{values.dtype.itemsize}"]]
    blank = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    for fill in fills:
        blank |= values == fill
    return blank


def _first_node(table: Variable, used: Array, start: int | None, nodes: int) -> int:
    told = number(table.attributes, "start_index")
    if told is not None and math.isfinite(told):
        return int(told)
    if start is not None:
        return start
    return 1 if used.size and int(used.min()) >= 1 and int(used.max()) == nodes else 0


def without_repeats(corners: Array) -> Array:
    """Corners with -1 in the place of those at the end of a row that repeat the one before, or the first one."""
    out, last = corners.copy(), np.ones(len(corners), bool)
    for k in range(corners.shape[1] - 1, 2, -1):
        last &= (out[:, k] == out[:, k - 1]) | (out[:, k] == out[:, 0]) | (out[:, k] == -1)
        out[last, k] = -1
    return out


def joined_corners(x: Array, y: Array, geographic: bool) -> tuple[Array, Array, Array]:
    """Nodes of elements that are given by their corners' coordinates (elements, corners), NaN for no corner.

    Corners at exactly the same coordinates are one node; on a globe also those whose longitudes differ by 360. Gives
    node_x, node_y (in the order of first use, to the bit those of the first corner there) and the corners as int64.
    Memory: some 60 bytes a corner.
    """
    blank = ~(np.isfinite(x) & np.isfinite(y))
    there = ~blank.ravel()
    flat_x, flat_y = x.ravel()[there], y.ravel()[there]
    _, first, node = np.unique(flat_x + 1j * flat_y.astype(np.float64), return_index=True, return_inverse=True)
    if geographic:
        same = _around_the_globe(flat_x[first].astype(np.float64), flat_y[first].astype(np.float64))
        node, first = same[node], first.copy()
        np.minimum.at(first, same, first[np.arange(first.size)])
    used, node = np.unique(node, return_inverse=True)
    order = np.argsort(first[used], kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    corners = np.full(x.size, -1, np.int64)
    corners[there] = place[node]
    at = first[used][order]
    return flat_x[at], flat_y[at], without_repeats(corners.reshape(x.shape))


def _around_the_globe(x: Array, y: Array) -> Array:
    """For each place the first one that is the same but for a turn of 360 degrees."""
    turned = np.round(np.mod(x, 360.0) / _SAME_PLACE) % round(360 / _SAME_PLACE)
    order = np.lexsort((x, turned, y))
    same = (np.diff(turned[order]) == 0) & (np.diff(y[order]) == 0) & (np.diff(x[order]) > 180)
    head = np.arange(x.size)
    for i in np.flatnonzero(same).tolist():
        head[order[i + 1]] = head[order[i]]
    return head
