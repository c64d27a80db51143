"""The cells along one axis of a grid of straight rows, in coordinate order. NumPy only, any thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdstudio.engine.model import Array


@dataclass(frozen=True)
class AxisCells:
    """The cells along one axis, in ascending coordinate order.

    Attributes:
        edges: (n + 1,) float64, strictly ascending.
        order: (n,) int64, the grid index of each cell.
        index: True where the coordinates cannot be drawn (not monotonic, not finite): edges are cell numbers then.
    """

    edges: Array
    order: Array
    index: bool = False

    @property
    def count(self) -> int:
        return int(self.order.size)

    @property
    def uniform(self) -> bool:
        """True where every edge is within 2 % of a cell of an even spacing."""
        even = np.linspace(self.edges[0], self.edges[-1], self.edges.size)
        return bool(np.abs(self.edges - even).max() <= 0.02 * (self.edges[-1] - self.edges[0]) / self.count)

    def find(self, position: float) -> int:
        """The grid index of the cell that holds the position, -1 outside."""
        if not self.edges[0] <= position <= self.edges[-1]:
            return -1
        at = min(int(np.searchsorted(self.edges, position, side="right")) - 1, self.count - 1)
        if at > 0 and position == self.edges[at]:
            return int(min(self.order[at - 1], self.order[at]))  # on an edge: the first as stored, as queries do
        return int(self.order[at])

    def find_all(self, positions: Array) -> Array:
        """The grid index of the cell at each position, -1 outside."""
        at = np.searchsorted(self.edges, positions, side="right") - 1
        found = self.order[np.clip(at, 0, self.count - 1)]
        return np.where((positions >= self.edges[0]) & (positions <= self.edges[-1]), found, -1)

    def boundary(self, index: int) -> float:
        """Coordinate of the edge between the grid indices index - 1 and index."""
        ascending = self.count < 2 or self.order[0] < self.order[-1]
        return float(self.edges[index if ascending else self.count - index])

    def span(self, start: int, stop: int) -> tuple[float, float]:
        """The interval that the grid indices start ... stop - 1 cover."""
        low, high = sorted((self.boundary(start), self.boundary(stop)))
        return low, high

    def positions(self, count: int) -> Array:
        """(count,) int64: the grid index under each of `count` equal steps from low to high."""
        step = (self.edges[-1] - self.edges[0]) / count
        centres = self.edges[0] + (np.arange(count) + 0.5) * step
        at = np.clip(np.searchsorted(self.edges, centres, side="right") - 1, 0, self.count - 1)
        return np.asarray(self.order[at])


def axis_cells(edges: Array) -> AxisCells:
    """The cells between (n + 1,) edges in stored order, as the engine's geometry gives them."""
    middle = np.asarray(edges, np.float64)
    steps = np.diff(middle)
    order = np.arange(middle.size - 1)
    if np.isfinite(middle).all() and (steps > 0).all():
        return AxisCells(middle, order)
    if np.isfinite(middle).all() and (steps < 0).all():
        return AxisCells(middle[::-1], order[::-1])
    return AxisCells(np.arange(middle.size, dtype=np.float64) - 0.5, order, index=True)
