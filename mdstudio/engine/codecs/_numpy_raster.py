"""Elements of a mesh to pixels in NumPy: a part of `_numpy`, beside the transforms because there is one C extension."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdstudio.engine.model import Array

_FARTHEST = 1e150  # no coordinate beyond: differences and products stay finite
_ROOM = 1e-3  # of a row: rounding never leaves a line out
_AT_ONCE = 1 << 17  # elements


def raster_elements(
    node_x: Any, node_y: Any, element_nodes: Any, corners: int, x0: float, y0: float, dx: float, dy: float, rows: int,
    columns: int, into: Any,
) -> None:
    """Into `into` (rows, columns) int32: the number of the element that holds the centre of each pixel, -1 for none.

    The pixel in row i and column j has its centre at x0 + j dx, y0 + i dy; dx > 0, dy != 0. `node_x`, `node_y` are
    float64; `element_nodes` int32, `corners` of each element in turn, -1 after its last. An element holds what the
    even-odd rule says of its polygon; of its border the left and the lower sides, so that a pixel on a shared side is
    in one of the two. Of several elements over one another the smallest number is taken. Elements with a corner that
    is NaN or beyond 1e150 are not drawn. Raises `ValueError` for sizes that do not fit and corners that are no node.
    """
    if not (corners >= 3 and rows >= 1 and columns >= 1):
        raise ValueError("a count is out of range")
    if not (np.isfinite([x0, y0, dx, dy]).all() and dx > 0 and dy != 0 and np.isfinite([1 / dx, 1 / dy]).all()):
        raise ValueError("the pixels have no place")
    x, y = np.frombuffer(node_x, np.float64), np.frombuffer(node_y, np.float64)
    nodes: Array = np.frombuffer(element_nodes, np.int32)
    pixels = np.frombuffer(into, np.int32)
    if nodes.size % corners or y.size != x.size or pixels.size != rows * columns:
        raise ValueError("a buffer is not as long as its count says")
    pixels[:] = -1
    nodes = nodes.reshape(-1, corners)
    for start in range(0, len(nodes), _AT_ONCE)[::-1]:
        _draw(x, y, nodes[start:start + _AT_ONCE], start, (x0, y0, dx, dy), pixels.reshape(rows, columns))


def _draw(x: Array, y: Array, nodes: Array, first: int, place: tuple[float, float, float, float], into: Array) -> None:
    x0, y0, a_column, a_row = place[0], place[1], 1 / place[2], 1 / place[3]
    rows, columns = into.shape
    ended = np.maximum.accumulate(nodes < 0, axis=1)
    if (nodes[~ended] >= x.size).any():
        raise ValueError("an element has a corner that is no node")
    count = np.count_nonzero(~ended, axis=1)
    closed = np.where(ended, nodes[:, :1], nodes)  # sides of no length cross nothing
    xs, ys = x[closed], y[closed]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        drawn = (count >= 3) & ((np.abs(xs) <= _FARTHEST) & (np.abs(ys) <= _FARTHEST)).all(axis=1)
        ends = np.sort([(ys.min(axis=1) - y0) * a_row, (ys.max(axis=1) - y0) * a_row], axis=0)
        drawn &= (ends[1] >= -1) & (ends[0] <= rows)
        drawn &= ((xs.max(axis=1) - x0) * a_column >= -1) & ((xs.min(axis=1) - x0) * a_column <= columns)
    kept = np.flatnonzero(drawn)[::-1]
    low, stop = (np.ceil(np.clip(end[kept] + room, 0, rows)).astype(np.int64)
                 for end, room in zip(ends, (-_ROOM, _ROOM), strict=True))
    lines = np.maximum(stop - low, 0)
    which = np.repeat(kept, lines)
    row = np.arange(which.size) - np.repeat(np.cumsum(lines) - lines, lines) + np.repeat(low, lines)
    crossing = np.sort(_crossings(xs[which], ys[which], y0 + row * place[3]), axis=1)
    pairs = crossing[:, :crossing.shape[1] // 2 * 2].reshape(len(which), crossing.shape[1] // 2, 2)
    line, pair = np.nonzero(np.isfinite(pairs[:, :, 1]))
    with np.errstate(over="ignore"):
        sides = np.ceil(np.clip((pairs[line, pair] - x0) * a_column, 0, columns)).astype(np.int64)
    _fill(into, row[line], sides, which[line] + first)


def _crossings(xs: Array, ys: Array, line: Array) -> Array:
    """(lines, corners) where each side crosses its line, infinite where it does not."""
    next_x, next_y = np.roll(xs, -1, axis=1), np.roll(ys, -1, axis=1)
    below = ys <= line[:, None]
    crosses = below != np.roll(below, -1, axis=1)
    swap = next_y < ys
    ax, bx = np.where(swap, next_x, xs), np.where(swap, xs, next_x)
    ay, by = np.where(swap, next_y, ys), np.where(swap, ys, next_y)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        part = (line[:, None] - ay) / (by - ay)
        return np.where(crosses, ax + part * (bx - ax), np.inf)


def _fill(into: Array, row: Array, sides: Array, number: Array) -> None:
    """Runs of pixels; of several runs over one another the last stays, as NumPy assigns."""
    lengths = np.maximum(sides[:, 1] - sides[:, 0], 0)
    column = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths - sides[:, 0], lengths)
    into[np.repeat(row, lengths), column] = np.repeat(number, lengths)
