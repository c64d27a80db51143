"""The areas of cells: on the sphere where x is a longitude, else in the plane of the CRS."""

from __future__ import annotations

import numpy as np

from mdstudio.engine.model import Array
from mdstudio.engine.spatial.grid import GridGeometry
from mdstudio.engine.spatial.mesh_geometry import MeshGeometry


def grid_areas(geometry: GridGeometry, rows: Array, columns: Array) -> tuple[Array, str]:
    """(n,) float64 areas of cells, and what they are: "sphere" (steradians) or "plane".

    The sides of the quadrilaterals of a curvilinear grid of degrees are straight in longitude and latitude, as on the
    map. NaN for a cell without coordinates.
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
    """(n,) float64 areas of elements, their sides straight as on the map."""
    return ring_areas(*geometry.corners(elements), geometry.wraps)


def ring_areas(x: Array, y: Array, globe: bool) -> tuple[Array, str]:
    """Areas of (n, k) rings of corners, of which some may repeat.

    In the plane by the shoelace rule, counted from the first corner, which keeps the digits; on the sphere the integral
    of the sine of the latitude over longitude along the sides."""
    if not globe:
        across, along = x - x[:, :1], y - y[:, :1]
        twice = (across * np.roll(along, -1, axis=1) - np.roll(across, -1, axis=1) * along).sum(axis=1)
        return np.abs(twice) / 2, "plane"
    longitude, latitude = np.radians(x), np.radians(y)
    step, rise = (np.roll(part, -1, axis=1) - part for part in (longitude, latitude))
    half = rise / 2
    sine = np.sin(latitude + half) * np.sinc(half / np.pi)  # its mean along a side
    return np.abs((step * (sine - np.sin(latitude[:, :1]))).sum(axis=1)), "sphere"
