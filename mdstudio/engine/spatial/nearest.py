"""The nearest of many places to each of some points, by distance in the plane or through the globe."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mdstudio.engine.model import Array

_AT_ONCE = 256  # points; bounds the memory of one search


class NearestPlace:
    """Places in an order that keeps neighbours together. Immutable; any thread.

    Args:
        places: (n, d) float64, see `in_space`.

    Cost: a pass over the places at first use, then some 50 us a point of a million places.
    """

    def __init__(self, places: Array) -> None:
        self._places = places

    @cached_property
    def _levels(self) -> list[tuple[Array, Array]]:
        """Smallest and largest coordinates of the places, then of ever longer runs of them, four times each."""
        levels = [(self._places, self._places)]
        while len(levels[-1][0]) > 4:
            low, high = levels[-1]
            starts = np.arange(0, len(low), 4)
            levels.append((np.minimum.reduceat(low, starts, axis=0), np.maximum.reduceat(high, starts, axis=0)))
        return levels

    def find(self, points: Array) -> Array:
        """(m,) int64 number of the place nearest to each of (m, d) points, the smallest of several."""
        parts = [self._find(points[at:at + _AT_ONCE]) for at in range(0, len(points), _AT_ONCE)]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def _find(self, points: Array) -> Array:
        """Down the runs, leaving out those whose nearest corner is farther than the farthest of another."""
        count = len(self._levels[-1][0])
        point, node = np.repeat(np.arange(len(points)), count), np.tile(np.arange(count), len(points))
        for level in range(len(self._levels) - 1, -1, -1):
            low, high = (part[node] for part in self._levels[level])
            at = points[point]
            least = (np.maximum(np.maximum(low - at, at - high), 0.0) ** 2).sum(axis=1)
            most = (np.maximum(np.abs(at - low), np.abs(high - at)) ** 2).sum(axis=1)
            starts = np.flatnonzero(np.concatenate([[True], point[1:] != point[:-1]]))
            within = least <= np.minimum.reduceat(most, starts)[point]
            point, node = point[within], node[within]
            if level:
                below = len(self._levels[level - 1][0])
                node, point = (node[:, None] * 4 + np.arange(4)).ravel(), np.repeat(point, 4)
                point, node = point[node < below], node[node < below]
        first: Array = np.concatenate([[True], point[1:] != point[:-1]])
        return np.asarray(node[first], np.int64)


def in_space(x: Array, y: Array, globe: bool) -> Array:
    """(n, 2) float64 places of the plane, or (n, 3) on a unit sphere of longitudes and latitudes in degrees."""
    if not globe:
        return np.stack([x, y], axis=-1).astype(np.float64)
    longitude, latitude = np.radians(np.asarray(x, np.float64)), np.radians(np.asarray(y, np.float64))
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=-1)
