"""The picture of a mesh in real coordinates: which element lies under each pixel. The engine's kernels, any thread.

A *cell* of a mesh is (node, element): the element at a place and the nearest of its corners, by their stored numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mdstudio.app.plots.raster import Extent
from mdstudio.engine.codecs.kernels import kernels
from mdstudio.engine.mesh_query import MeshPlaces
from mdstudio.engine.model import Array
from mdstudio.engine.spatial.axis import TURN

LONGEST_SIDE = 1024  # pixels of the picture of the whole mesh
_STEPS = (0.6, 0.8, 1.1, 1.5, 2.2)  # of an element's size: where its neighbour is looked for


@dataclass(frozen=True)
class Pixels:
    """A lattice of pixels: the centre of row i and column j is at x0 + j dx, y0 + i dy; dx > 0, dy < 0."""

    x0: float
    y0: float
    dx: float
    dy: float
    rows: int
    columns: int

    @property
    def extent(self) -> Extent:
        """From pixel edge to pixel edge."""
        left, top = self.x0 - self.dx / 2, self.y0 - self.dy / 2
        return left, top + self.rows * self.dy, left + self.columns * self.dx, top


@dataclass(frozen=True, eq=False)
class MeshWindow:
    """The elements under a lattice of pixels.

    Attributes:
        ids: (rows, columns) int32 stored element numbers, -1 for none.
        edges: (rows, columns) bool, pixels whose neighbour at the right or below is of another element.
    """

    pixels: Pixels
    ids: Array

    @cached_property
    def edges(self) -> Array:
        found = np.zeros(self.ids.shape, bool)
        found[:, :-1] = self.ids[:, :-1] != self.ids[:, 1:]
        found[:-1] |= self.ids[:-1] != self.ids[1:]
        return found

    @cached_property
    def pixels_an_element(self) -> float:
        """About the side of an element that is seen, in pixels."""
        seen = np.count_nonzero(self.ids >= 0)
        return 2.0 * seen / max(1, int(np.count_nonzero(self.edges)))

    def spread(self, values: Array, outside: object) -> Array:
        """(rows, columns): an array by element laid out as the pixels; `outside` where no element is."""
        return np.append(values, np.asarray([outside]).astype(values.dtype))[self.ids]  # -1 takes the last one

    def element_at(self, x: float, y: float) -> int:
        """The element under the pixel that a place is in, -1 for none or a place outside."""
        p = self.pixels
        i, j = np.floor((y - p.y0) / p.dy + 0.5), np.floor((x - p.x0) / p.dx + 0.5)
        return int(self.ids[int(i), int(j)]) if 0 <= i < p.rows and 0 <= j < p.columns else -1


class MeshRaster:
    """Draws the elements of one mesh; immutable, any thread.

    Made once a dataset in a worker thread: half a second for a million elements. Compared by identity.

    Attributes:
        shape: (1, elements).
        extent: of all elements.
        whole: the picture of the whole mesh, coarse, until a window is drawn.
    """

    x_axis = y_axis = None

    def __init__(self, places: MeshPlaces) -> None:
        self.places = places
        self.geometry, self.domain = places.geometry, places.geometry.domain
        self.shape = 1, self.domain.elements
        self.wraps = self.geometry.wraps
        x0, y0, x1, y1 = self.geometry.extent
        self.extent: Extent = (x0, y0, x1 if x1 > x0 else x0 + 1.0, y1 if y1 > y0 else y0 + 1.0)
        self._x, self._y, self._elements = self._drawn()
        self.whole = self.window(self._whole_pixels())

    def _drawn(self) -> tuple[Array, Array, Array]:
        """Nodes and corners as they are drawn. Elements across the date line get corners of their own beside them."""
        domain = self.domain
        x, y = (np.ascontiguousarray(part, np.float64) for part in (domain.node_x, domain.node_y))
        elements = np.ascontiguousarray(domain.element_nodes, np.int32)
        if not self.wraps:
            return x, y, elements
        corners = np.where(elements < 0, elements[:, :1], elements)
        across = np.flatnonzero(np.ptp(x[corners], axis=1) > TURN / 2)
        if not across.size:
            return x, y, elements
        own_x, own_y = self.geometry.corners(across)
        more = max(0, own_x.shape[1] - elements.shape[1])
        elements = np.pad(elements, ((0, 0), (0, more)), constant_values=-1)
        elements[across] = -1
        elements[across, :own_x.shape[1]] = x.size + np.arange(own_x.size).reshape(own_x.shape)
        return np.append(x, own_x), np.append(y, own_y), elements

    def _whole_pixels(self) -> Pixels:
        x0, y0, x1, y1 = self.extent
        side = max(x1 - x0, y1 - y0) / LONGEST_SIDE
        rows, columns = (int(np.clip(np.ceil(length / side), 64, LONGEST_SIDE)) for length in (y1 - y0, x1 - x0))
        dx, dy = (x1 - x0) / columns, (y0 - y1) / rows
        return Pixels(x0 + dx / 2, y1 + dy / 2, dx, dy, rows, columns)

    def window(self, pixels: Pixels) -> MeshWindow:
        """The elements under these pixels. Cost: some 100 ms for a million elements, 5 for those of a small part."""
        p = pixels
        ids = np.empty((p.rows, p.columns), np.int32)
        kernels.raster_elements(self._x, self._y, self._elements, self._elements.shape[1], p.x0, p.y0, p.dx, p.dy,
                                p.rows, p.columns, ids)
        window = MeshWindow(pixels, ids)
        _ = window.pixels_an_element  # worked out here rather than on the main thread
        return window

    @property
    def size(self) -> tuple[int, int]:
        """(height, width) of the picture of the whole mesh."""
        return self.whole.pixels.rows, self.whole.pixels.columns

    def turned(self, x: float) -> float:
        """A longitude moved by whole turns to where the picture shows it; others as they are."""
        if not self.wraps or self.extent[0] <= x <= self.extent[2]:
            return x
        moved = self.extent[0] + (x - self.extent[0]) % TURN
        return x if moved > self.extent[2] else moved

    def cell_at(self, x: float, y: float) -> tuple[int, int] | None:
        """Node and element that a query finds at a place, None where there is none."""
        element = int(self.geometry.locate([(x, y)])[0])
        return None if element < 0 else self.cell_of(element, x, y)

    def cell_of(self, element: int, x: float, y: float) -> tuple[int, int]:
        """An element with its corner that is nearest to a place."""
        return int(self.geometry.nearest_node(np.array([element]), [(x, y)])[0]), element

    def cell_centre(self, node: int, element: int) -> tuple[float, float]:
        """Mean of the corners of the element."""
        x, y = self.geometry.centres(np.array([element]))
        return float(x[0]), float(y[0])

    def node_place(self, node: int) -> tuple[float, float]:
        x, y = self.geometry.node_positions(np.array([node]))
        return float(x[0]), float(y[0])

    def cell_box(self, node: int, element: int) -> Extent:
        """The envelope of the element."""
        x, y = self.geometry.corners(np.array([element]))
        return float(x.min()), float(y.min()), float(x.max()), float(y.max())

    def beside(self, cell: tuple[int, int], down: int, right: int) -> tuple[int, int]:
        """The next element in a direction; the same one at the border."""
        x0, y0, x1, y1 = self.cell_box(*cell)
        x, y = self.cell_centre(*cell)
        places = [(x + right * step * (x1 - x0), y - down * step * (y1 - y0)) for step in _STEPS]
        for place, element in zip(places, self.geometry.locate(places).tolist(), strict=True):
            if element not in (-1, cell[1]):
                return self.cell_of(element, *place)
        return cell

    @cached_property
    def _size(self) -> tuple[float, float]:
        some = np.unique(np.linspace(0, self.domain.elements - 1, 1000).astype(np.int64))
        x, y = self.geometry.corners(some)
        return tuple(max(float(np.median(np.ptp(part, axis=1))), 1e-12) for part in (x, y))  # type: ignore[return-value]

    def cell_size(self) -> tuple[float, float]:
        """Width and height of an element in the middle of all sizes."""
        return self._size

    def smallest(self) -> tuple[float, float]:
        """How far a zoom makes sense: a part of the usual element, for the smallest ones."""
        return self._size[0] / 50, self._size[1] / 50
