"""Where the cells of a grid lie: cell edges of an axis, cell corners of a curvilinear grid. NumPy only, any thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdstudio.engine.model import Array, GridDomain

FULL_CIRCLE = 360.0


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
        at = int(np.searchsorted(self.edges, position, side="right")) - 1
        return int(self.order[min(at, self.count - 1)])

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


def axis_cells(centres: Array, bounds: Array | None = None, *, wraps: bool = False,
               limit: tuple[float, float] | None = None) -> AxisCells:
    """Edges from the bounds where they join up, else half-way between the centres.

    `wraps`: a longitude, whose jump by 360 is undone. `limit`: edges are not drawn beyond it (latitude).
    """
    middle = np.asarray(centres, np.float64)
    unwrapped = np.unwrap(middle, period=FULL_CIRCLE) if wraps and np.isfinite(middle).all() else middle
    steps = np.diff(unwrapped)
    if not np.isfinite(middle).all() or not ((steps > 0).all() or (steps < 0).all()):
        return AxisCells(np.arange(middle.size + 1, dtype=np.float64) - 0.5, np.arange(middle.size), index=True)
    order = np.arange(middle.size)
    if steps.size and steps[0] < 0:
        order, unwrapped = order[::-1], unwrapped[::-1]
    edges = _joined_bounds(unwrapped, middle[order], None if bounds is None else np.asarray(bounds)[order])
    if edges is None:
        edges = _half_way(unwrapped)
        if limit is not None:
            edges[0] = max(edges[0], min(limit[0], unwrapped[0]))
            edges[-1] = min(edges[-1], max(limit[1], unwrapped[-1]))
            if not (np.diff(edges) > 0).all():
                edges = _half_way(unwrapped)
    return AxisCells(edges, order)


def _half_way(centres: Array) -> Array:
    if centres.size == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    inner = (centres[:-1] + centres[1:]) / 2
    return np.concatenate([[2 * centres[0] - inner[0]], inner, [2 * centres[-1] - inner[-1]]])


def _joined_bounds(unwrapped: Array, centres: Array, bounds: Array | None) -> Array | None:
    """Ascending edges where the bounds of neighbours meet and hold the centres; None otherwise."""
    if bounds is None or bounds.shape != (centres.size, 2) or not np.isfinite(bounds).all():
        return None
    shifted = np.sort(bounds.astype(np.float64), axis=1) + (unwrapped - centres)[:, None]
    low, high = shifted[:, 0], shifted[:, 1]
    width = high - low
    holds = (low <= unwrapped).all() and (unwrapped <= high).all() and (width > 0).all()
    if not holds or (width.size > 1 and np.abs(high[:-1] - low[1:]).max() > 1e-3 * width.min()):
        return None
    return np.concatenate([low, high[-1:]])


def wrap(degrees: Array) -> Array:
    """Differences of longitudes, -180 ... 180."""
    return np.asarray((degrees + 180.0) % FULL_CIRCLE - 180.0)


def cell_corners(domain: GridDomain) -> tuple[Array, Array, Array]:
    """Corners of curvilinear cells as (cells, 4) offsets in longitude and latitudes, and (cells,) centre longitudes.

    Corner order is around the cell. Offsets are from the centre's longitude, so that a cell at the date line stays
    whole. Cells without coordinates are NaN. Taken from the source's corners, else half-way between the centres.
    """
    assert domain.longitude is not None
    assert domain.latitude is not None
    centre = np.asarray(domain.longitude, np.float64)
    latitude = np.asarray(domain.latitude, np.float64)
    bad = ~(np.isfinite(centre) & np.isfinite(latitude)) | (np.abs(latitude) > 90.001) | (np.abs(centre) > 1e6)
    centre, latitude = np.where(bad, np.nan, centre), np.where(bad, np.nan, latitude)
    if domain.corner_longitude is not None and domain.corner_latitude is not None:
        offsets = wrap(np.asarray(domain.corner_longitude, np.float64) - centre[..., None])
        corners = np.where(bad[..., None], np.nan, np.asarray(domain.corner_latitude, np.float64))
    else:
        offsets, corners = _corners_between(centre, latitude)
    return offsets.reshape(-1, 4), corners.reshape(-1, 4), centre.reshape(-1)


def _corners_between(longitude: Array, latitude: Array) -> tuple[Array, Array]:
    """A corner is the mean of the four centres around it; beyond the border the centres are continued evenly."""
    rows, columns = longitude.shape
    lon, lat = _continued(longitude, wrapped=True), _continued(latitude, wrapped=False)
    offsets = np.empty((rows, columns, 4))
    corners = np.empty((rows, columns, 4))
    for k, (down, right) in enumerate(((0, 0), (0, 1), (1, 1), (1, 0))):
        around = [(slice(down + i, down + i + rows), slice(right + j, right + j + columns))
                  for i in (0, 1) for j in (0, 1)]
        shift = np.stack([wrap(lon[part] - longitude) for part in around])
        level = np.stack([lat[part] for part in around])
        known = np.isfinite(shift) & np.isfinite(level)
        count = np.maximum(known.sum(axis=0), 1)
        offsets[..., k] = np.where(known, shift, 0.0).sum(axis=0) / count
        corners[..., k] = np.where(known, level, 0.0).sum(axis=0) / count
    lost = ~np.isfinite(longitude)
    offsets[lost], corners[lost] = np.nan, np.nan
    return offsets, corners


def _continued(values: Array, *, wrapped: bool) -> Array:
    """One more cell on each side, as far from the border cell as its inner neighbour."""
    padded = np.pad(values, 1, mode="edge")
    for axis in (0, 1):
        p = np.moveaxis(padded, axis, 0)
        if p.shape[0] >= 4:
            for border, inner in ((0, 2), (-1, -3)):
                near = p[1 if border == 0 else -2]
                step = near - p[inner]
                p[border] = near + (wrap(step) if wrapped else step)
        else:
            p[0] -= 0.5
            p[-1] += 0.5
    return padded
