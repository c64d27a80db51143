"""Trees of envelopes over cells, and the walk of an area down them (P3, P4).

At every level a node has the envelope of its own cells, taken from their coordinates without any arithmetic: an area
that only touches the last cell of a node touches its envelope too, also where coordinates are not exact in binary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mdstudio.engine.model import Array
from mdstudio.engine.spatial.area import Area, Boxes, ring_polygons
from mdstudio.engine.spatial.axis import turns_of_points

_AT_ONCE = 1 << 18  # nodes tested in one call; bounds the memory of a walk


class Tree(Protocol):
    """Nodes by level; level 0 are the cells. Nodes are numbered from 0 within their level."""

    @property
    def height(self) -> int:
        """Levels."""

    def top(self) -> Array:
        """The one node of the highest level."""

    def boxes(self, level: int, nodes: Array) -> Boxes:
        """Envelopes of nodes, NaN where no cell with coordinates is."""

    def children(self, level: int, nodes: Array) -> tuple[Array, Array]:
        """The nodes one level down of nodes of a level above 0, and for each the position of its parent in `nodes`."""


@dataclass(frozen=True)
class Walk:
    """What a walk found.

    Attributes:
        whole: (level, nodes) whose cells all belong to the area.
        border: cells whose envelope the area touches and that remain to be tested by their own shape.
        tested: cells that were tested one by one.
    """

    whole: list[tuple[int, Array]]
    border: Array
    tested: int


def walk(tree: Tree, area: Area) -> Walk:
    """Down the tree: nodes that the area misses are left out, those that it covers taken whole, others opened."""
    stack = [(tree.height - 1, tree.top())]
    whole: list[tuple[int, Array]] = []
    border = [np.zeros(0, np.int64)]
    tested = 0
    while stack:
        level, nodes = stack.pop()
        if nodes.size > _AT_ONCE:
            stack += [(level, nodes[at:at + _AT_ONCE]) for at in range(0, nodes.size, _AT_ONCE)]
            continue
        boxes = tree.boxes(level, nodes)
        hit = np.flatnonzero(area.touches(boxes))
        covered = area.covers((boxes[0][hit], boxes[1][hit], boxes[2][hit], boxes[3][hit]))
        if covered.any():
            whole.append((level, nodes[hit[covered]]))
        rest = nodes[hit[~covered]]
        if level == 0:
            tested += nodes.size
            border.append(rest)
        elif rest.size:
            stack.append((level - 1, tree.children(level, rest)[0]))
    return Walk(whole, np.concatenate(border), tested)


def around_points(tree: Tree, x: Array, y: Array) -> tuple[Array, Array]:
    """Pairs (point, cell) of the points that lie in the closed envelope of a cell; sorted by point, then by cell."""
    top = tree.top()
    point, node = np.repeat(np.arange(x.size), top.size), np.tile(top, x.size)
    for level in range(tree.height - 1, -1, -1):
        x0, y0, x1, y1 = tree.boxes(level, node)
        inside = (x0 <= x[point]) & (x[point] <= x1) & (y0 <= y[point]) & (y[point] <= y1)
        point, node = point[inside], node[inside]
        if level:
            node, parent = tree.children(level, node)
            point = point[parent]
    order = np.lexsort((node, point))
    return point[order], node[order]


def first_holding(
    tree: Tree, corners: Callable[[Array], tuple[Array, Array]], x: Array, y: Array, wraps: bool
) -> Array:
    """(n,) int64 smallest number of the cells that hold finite points, borders included, a longitude at any whole turn;
    -1 where none does. `corners` gives the rings (m, k) of cells."""
    import shapely

    found = np.full(x.size, -1, np.int64)
    low, _, high, _ = (float(side[0]) for side in tree.boxes(tree.height - 1, tree.top()))
    for turn in turns_of_points(x, low, high) if wraps else np.zeros((1, x.size)):
        moved = x + turn
        point, cell = around_points(tree, moved, y)
        held = shapely.intersects(ring_polygons(*corners(cell)), shapely.points(moved[point], y[point]))
        point, first = np.unique(point[held], return_index=True)  # the pairs are sorted: the smallest cell comes first
        cell = cell[held][first]
        found[point] = np.where(found[point] < 0, cell, np.minimum(found[point], cell))
    return found


class RunTree:
    """Over cells in one row: each node holds four nodes of the level below, the cells in their order.

    `levels`: envelopes (x0, y0, x1, y1) by level, the cells first.
    """

    def __init__(self, cells: Boxes) -> None:
        self.levels = [cells]
        while self.levels[-1][0].size > 1:
            x0, y0, x1, y1 = self.levels[-1]
            starts = np.arange(0, x0.size, 4)
            self.levels.append((np.fmin.reduceat(x0, starts), np.fmin.reduceat(y0, starts),
                                np.fmax.reduceat(x1, starts), np.fmax.reduceat(y1, starts)))

    @property
    def height(self) -> int:
        return len(self.levels)

    def top(self) -> Array:
        return np.arange(self.levels[-1][0].size)

    def boxes(self, level: int, nodes: Array) -> Boxes:
        x0, y0, x1, y1 = self.levels[level]
        return x0[nodes], y0[nodes], x1[nodes], y1[nodes]

    def children(self, level: int, nodes: Array) -> tuple[Array, Array]:
        found = (nodes[:, None] * 4 + np.arange(4)).ravel()
        there = found < self.levels[level - 1][0].size
        return found[there], np.repeat(np.arange(nodes.size), 4)[there]

    def cells(self, found: Walk) -> Array:
        """Sorted int64 cells of the whole nodes of a walk."""
        total = self.levels[0][0].size
        parts = [np.zeros(0, np.int64)]
        for level, nodes in found.whole:
            cells = (nodes[:, None] * 4**level + np.arange(4**level)).ravel()
            parts.append(cells[cells < total])
        return np.sort(np.concatenate(parts))
