"""The picture of a grid in real coordinates: which cell lies under each pixel of a regular raster, north up.

Pure NumPy and any thread. Made once per dataset (a curvilinear grid of a million cells takes about a second), then used
for every time step, for the pointer and for the page outlines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdstudio.app.plots.cells import AxisCells, axis_cells
from mdstudio.engine.model import Array
from mdstudio.engine.spatial.axis import TURN
from mdstudio.engine.spatial.curvilinear import CurvilinearCells
from mdstudio.engine.spatial.grid import GridGeometry

MAX_PIXELS_A_SIDE = 2048  # of a resampled axis; an even axis is taken cell by cell
MAX_PICTURE_SIDE = 4096  # beyond it an even axis is thinned for the picture; the pointer stays exact

Extent = tuple[float, float, float, float]  # x0, y0, x1, y1 ascending, in the dataset's CRS


@dataclass(frozen=True, eq=False)
class GridRaster:
    """How grid cells fall into a picture whose first row is the northern (high y) one. Compared by identity.

    Attributes:
        shape: (rows, columns) of the grid.
        extent: of the picture, cell edge to cell edge.
        x_axis, y_axis: cells along the axes; None for a curvilinear grid.
        rows, columns: grid index of each picture row (top first) and column; None for a curvilinear grid.
        ids: (height, width) int32, row * columns + column of the cell, -1 for none; curvilinear grids only.
        quads: the exact cells of a curvilinear grid, for single places.
        wraps: x is a longitude, the same place again after 360.
        pixels_a_cell: typical size of a curvilinear cell in picture pixels.
    """

    shape: tuple[int, int]
    extent: Extent
    x_axis: AxisCells | None = None
    y_axis: AxisCells | None = None
    rows: Array | None = None
    columns: Array | None = None
    ids: Array | None = None
    pixels_a_cell: float = 1.0
    wraps: bool = False
    quads: CurvilinearCells | None = None

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) of the picture."""
        if self.ids is not None:
            return int(self.ids.shape[0]), int(self.ids.shape[1])
        assert self.rows is not None
        assert self.columns is not None
        return int(self.rows.size), int(self.columns.size)

    def spread(self, cells: Array, outside: object) -> Array:
        """(height, width): a (rows, columns) array of the grid laid out as the picture; `outside` where no cell is."""
        if self.ids is not None:
            flat = np.append(cells.reshape(-1), np.asarray([outside]).astype(cells.dtype))
            return np.asarray(flat[self.ids])  # -1 takes the last one, which is `outside`
        return np.ascontiguousarray(cells[_as_slice(self.rows)][:, _as_slice(self.columns)])

    def cells_at(self, xs: Array, ys: Array) -> Array:
        """(ys, xs) cell numbers row * columns + column under a lattice of places, -1 where there is no cell."""
        if self.x_axis is not None and self.y_axis is not None:
            columns, rows = self.x_axis.find_all(xs), self.y_axis.find_all(ys)
            numbers = rows[:, None] * self.shape[1] + columns[None, :]
            numbers[rows < 0] = -1
            numbers[:, columns < 0] = -1
            return np.asarray(numbers)
        assert self.ids is not None
        height, width = self.size
        x0, y0, x1, y1 = self.extent
        i = np.floor((y1 - ys) / (y1 - y0) * height).astype(np.int64)
        j = np.floor((xs - x0) / (x1 - x0) * width).astype(np.int64)
        numbers = self.ids[np.clip(i, 0, height - 1)][:, np.clip(j, 0, width - 1)].astype(np.int64)
        numbers[(i < 0) | (i >= height)] = -1
        numbers[:, (j < 0) | (j >= width)] = -1
        return np.asarray(numbers)

    def turned(self, x: float) -> float:
        """A longitude moved by whole turns to where the picture shows it; others as they are."""
        if not self.wraps:
            return x
        moved = self.extent[0] + (x - self.extent[0]) % TURN
        return x if self.extent[0] <= x <= self.extent[2] or moved > self.extent[2] else moved

    def cell_at(self, x: float, y: float) -> tuple[int, int] | None:
        """Row and column of the cell that a query finds at a place, None where there is none."""
        if self.quads is not None:
            row, column = self.quads.locate(np.array([[x, y]]), False)[0]
            return None if row < 0 else (int(row), int(column))
        x = self.turned(x)
        if self.x_axis is not None and self.y_axis is not None:
            row, column = self.y_axis.find(y), self.x_axis.find(x)
            return None if row < 0 or column < 0 else (row, column)
        return None

    def cell_centre(self, row: int, column: int) -> tuple[float, float]:
        """Centre of a cell in the picture's coordinates; NaN where the source has none."""
        if self.x_axis is not None and self.y_axis is not None:
            x0, x1 = self.x_axis.span(column, column + 1)
            y0, y1 = self.y_axis.span(row, row + 1)
            return (x0 + x1) / 2, (y0 + y1) / 2
        if self.quads is None:
            return float("nan"), float("nan")
        return self.turned(float(self.quads.longitude[row, column])), float(self.quads.latitude[row, column])

    def cell_size(self) -> tuple[float, float]:
        """Smallest cell width and height in coordinates: how far a zoom makes sense."""
        if self.x_axis is not None and self.y_axis is not None:
            return float(np.diff(self.x_axis.edges).min()), float(np.diff(self.y_axis.edges).min())
        height, width = self.size
        x0, y0, x1, y1 = self.extent
        return (x1 - x0) / width * self.pixels_a_cell, (y1 - y0) / height * self.pixels_a_cell


def _as_slice(index: Array | None) -> slice | Array:
    """A slice where the index counts evenly (a view instead of a copy)."""
    assert index is not None
    if index.size > 1:
        step = int(index[1] - index[0])
        if step and bool((np.diff(index) == step).all()):
            stop = int(index[-1]) + step
            return slice(int(index[0]), None if stop < 0 else stop, step)
    return index


def grid_raster(geometry: GridGeometry) -> GridRaster:
    """The raster of a grid, on the edges that queries use; any thread, no read."""
    domain = geometry.domain
    if geometry.quads is not None:
        return _curvilinear(geometry.quads)
    x_edges, y_edges = geometry.edges()
    x_axis, y_axis = axis_cells(x_edges), axis_cells(y_edges)
    extent = (float(x_axis.edges[0]), float(y_axis.edges[0]), float(x_axis.edges[-1]), float(y_axis.edges[-1]))
    return GridRaster((domain.rows, domain.columns), extent, x_axis, y_axis, _picture_index(y_axis)[::-1],
                      _picture_index(x_axis), wraps=geometry.x_axis.wraps)


def _picture_index(axis: AxisCells) -> Array:
    """Grid index of each picture pixel, low to high."""
    if axis.uniform:
        step = -(-axis.count // MAX_PICTURE_SIDE)
        return axis.order[step // 2::step]
    wanted = (axis.edges[-1] - axis.edges[0]) / float(np.diff(axis.edges).min()) * 8
    return axis.positions(int(min(max(wanted, axis.count), max(MAX_PIXELS_A_SIDE, min(axis.count, MAX_PICTURE_SIDE)))))


def _curvilinear(quads: CurvilinearCells) -> GridRaster:
    """Rasterised in longitude and latitude: each cell's quadrilateral is sampled finer than the pixels."""
    shape = (int(quads.longitude.shape[0]), int(quads.longitude.shape[1]))
    quads.locate(np.array([[0.0, 0.0]]), False)  # builds its tree here rather than under the pointer
    row, column = (part.reshape(-1) for part in np.indices(shape))
    x, y = quads.corners(row, column)
    cells = np.flatnonzero(np.isfinite(x).all(axis=1) & np.isfinite(y).all(axis=1))
    if not cells.size:
        return GridRaster(shape, (0.0, 0.0, 1.0, 1.0), ids=np.full((1, 1), -1, np.int32))
    x, y = x[cells], y[cells]
    west, span, x = _cut(x) if quads.wraps else (float(x.min()), float(np.ptp(x)) or 1.0, x - x.min())
    y0, y1 = float(y.min()), float(y.max())
    y1 = y1 if y1 > y0 else y0 + 1.0
    cell_width, cell_height = (max(float(np.median(np.ptp(part, axis=1))), 1e-12) for part in (x, y))
    width = int(np.clip(span / cell_width * 8, 64, MAX_PIXELS_A_SIDE))
    height = int(np.clip((y1 - y0) / cell_height * 8, 64, MAX_PIXELS_A_SIDE))
    ids = _fill_quads(x / span * width, (y1 - y) / (y1 - y0) * height, cells, (height, width),
                      around=quads.wraps and span >= TURN)
    pixels = min(cell_width / span * width, cell_height / (y1 - y0) * height)
    return GridRaster(shape, (west, y0, west + span, y1), ids=ids, pixels_a_cell=max(1.0, pixels),
                      wraps=quads.wraps, quads=quads)


def _cut(x: Array) -> tuple[float, float, Array]:
    """Western edge, width in degrees, and the (cells, 4) longitudes from that edge on: the circle is cut at its widest
    gap, at -180 where there is none."""
    middle = x.mean(axis=1)
    ordered = np.sort(middle % TURN)
    gaps = np.diff(np.append(ordered, ordered[0] + TURN))
    at = int(np.argmax(gaps))
    if gaps[at] <= max(4 * float(np.median(np.ptp(x, axis=1))), 2.0):
        return -180.0, TURN, x + (((middle + 180.0) % TURN) - (middle + 180.0) + 180.0)[:, None]
    first = float(ordered[(at + 1) % ordered.size])
    moved = x + ((middle - first) % TURN - middle)[:, None]
    low, span = float(moved.min()), min(float(np.ptp(moved)), TURN)
    west = first + low
    return (west - TURN if west >= 180.0 else west), span, moved - low


def _fill_quads(px: Array, py: Array, cells: Array, size: tuple[int, int], *, around: bool) -> Array:
    """(height, width) int32 of cell numbers: quads with corners in pixels, sampled at steps below 0.7 pixel."""
    height, width = size
    ids = np.full(size, -1, np.int32)
    caps = np.flatnonzero(np.ptp(px, axis=1) > 0.5 * width) if around else np.zeros(0, np.int64)
    for cap in caps:  # the cell around a pole takes whole rows of pixels, below all others
        ids[max(0, int(py[cap].min())):int(np.ceil(py[cap].max()))] = cells[cap]
    reach = np.maximum(np.ptp(px, axis=1), np.ptp(py, axis=1))
    steps = np.minimum(2 ** np.ceil(np.log2(np.maximum(reach * 1.5, 1.0))), 256).astype(np.int64)
    for count in np.unique(steps):
        places = (np.arange(count) + 0.5) / count
        u, v = (part.reshape(-1) for part in np.meshgrid(places, places))
        weights = np.stack([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v])
        members = np.setdiff1d(np.flatnonzero(steps == count), caps)
        for begin in range(0, members.size, max(1, 2_000_000 // int(count * count))):
            part = members[begin:begin + max(1, 2_000_000 // int(count * count))]
            x = np.floor(px[part] @ weights).astype(np.int64)
            y = np.floor(py[part] @ weights).astype(np.int64)
            if around:
                x %= width
            number = np.repeat(cells[part].astype(np.int32), u.size).reshape(x.shape)
            inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
            ids[y[inside], x[inside]] = number[inside]
    return ids
