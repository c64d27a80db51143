"""The areas of cells: on the sphere where x is a longitude, else in the plane of the CRS."""

from __future__ import annotations

import numpy as np

from mdstudio.engine.model import Array
from mdstudio.engine.spatial.grid import GridGeometry
from mdstudio.engine.spatial.mesh_geometry import MeshGeometry


def grid_areas(geometry: GridGeometry, rows: Array, columns: Array) -> tuple[Array, str]:
    """(n,) float64 areas of cells, and what they are: "sphere" (steradians) or "plane".

    Cells of straight rows are exact; the quadrilaterals of a curvilinear grid of degrees are taken as flat at the
    latitude of their middles. NaN for a cell without coordinates.
    """
    if geometry.quads is not None:
        return ring_areas(*geometry.quads.corners(rows, columns), geometry.quads.wraps)
    width = (geometry.x_axis.high - geometry.x_axis.low)[columns]
    low, high = geometry.y_axis.low[rows], geometry.y_axis.high[rows]
    if not geometry.x_axis.wraps:
        return width * (high - low), "plane"
    low, high = (np.radians(np.clip(side, -90.0, 90.0)) for side in (low, high))
    return np.radians(width) * (np.sin(high) - np.sin(low)), "sphere"


def element_areas(geometry: MeshGeometry, elements: Array) -> tuple[Array, str]:
    """(n,) float64 areas of elements; those of degrees as flat at the latitude of their middles."""
    return ring_areas(*geometry.corners(elements), geometry.wraps)


def ring_areas(x: Array, y: Array, globe: bool) -> tuple[Array, str]:
    """Areas of (n, k) rings of corners by the shoelace rule, counted from the first corner, which keeps the digits."""
    across, along = x - x[:, :1], y - y[:, :1]
    twice = (across * np.roll(along, -1, axis=1) - np.roll(across, -1, axis=1) * along).sum(axis=1)
    if not globe:
        return np.abs(twice) / 2, "plane"
    return np.abs(twice) / 2 * np.radians(1.0) ** 2 * np.cos(np.radians(y.mean(axis=1))), "sphere"
