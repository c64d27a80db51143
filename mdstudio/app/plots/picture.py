"""A map made ready to show: colours of every cell, a pyramid for the small scales, numbers. Made in a worker thread.

An element of a mesh whose item has values at nodes is coloured by the mean of its corners' finite values; what is told
of it in numbers are the values of the nodes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

from mdstudio.app import colormaps
from mdstudio.app.plots.colouring import colourise
from mdstudio.app.plots.components import MAGNITUDE, one_number
from mdstudio.app.plots.mesh_pages import MeshPages, touched_elements
from mdstudio.app.plots.mesh_raster import MeshRaster
from mdstudio.app.plots.pages import PageLattice, PageShape, touched
from mdstudio.app.plots.paint import argb_image
from mdstudio.app.plots.ranges import Range, Statistics, exact_range, histogram, percentile_range, statistics
from mdstudio.app.plots.raster import GridRaster
from mdstudio.engine.model import Array
from mdstudio.engine.requests import Explain, MapResult

RangeMode = Literal["exact", "percentile", "manual"]
_SMALLEST_LEVEL = 512


@dataclass(frozen=True)
class Colouring:
    """How numbers become colours.

    Attributes:
        mode: exact extremes, the 2nd to 98th percentile, or `fixed`.
        fixed: the range of a manual or locked scale; used whenever it is set.
        name: of the colour map.
        component: of a vector item, or `MAGNITUDE`.
    """

    name: str = "viridis"
    mode: RangeMode = "exact"
    fixed: Range | None = None
    component: int = MAGNITUDE


@dataclass(frozen=True)
class MapPicture:
    """One slice, ready to show.

    Attributes:
        values: (rows, columns) float64 of a grid, (elements,) or (nodes,) of a mesh: one number each.
        colours: (rows, columns) uint32 0xAARRGGBB in the grid's own order, (elements,) of a mesh; alpha 0 for no data.
        levels: the picture laid out north up, then halves of it.
        shown: the range of the colours, None where no cell is finite.
        counts: (256,) cells, elements or nodes per colour.
        lattice: pages that were touched, entries are positions in `result.explain.pages`.
        touched: what the touched pages cover.
        draw_us: what laying out and colouring took.
    """

    result: MapResult
    raster: GridRaster | MeshRaster
    colouring: Colouring
    values: Array
    colours: Array
    levels: tuple[QImage, ...]
    shown: Range | None
    counts: Array
    numbers: Statistics
    lattice: PageLattice | MeshPages | None = None
    touched: PageShape | MeshPages | None = None
    draw_us: int = field(default=0, compare=False)

    @property
    def explain(self) -> Explain:
        """What the read cost."""
        return self.result.explain

    @property
    def by_node(self) -> bool:
        """The values of a mesh are those of its nodes."""
        return isinstance(self.raster, MeshRaster) and self.result.item.location == "node"

    def value_at(self, row: int, column: int) -> float:
        """Of a cell of the raster: row and column of a grid, node and element of a mesh."""
        if isinstance(self.raster, MeshRaster):
            return float(self.values[row if self.by_node else column])
        return float(self.values[row, column])


def shown_range(values: Array, colouring: Colouring) -> Range | None:
    """The range that the colouring asks for; None where no cell is finite."""
    if colouring.fixed is not None:
        return colouring.fixed if np.isfinite(values).any() else None
    return percentile_range(values) if colouring.mode == "percentile" else exact_range(values)


def make_picture(result: MapResult, raster: GridRaster | MeshRaster, colouring: Colouring,
                 before: MapPicture | None = None) -> MapPicture:
    """Colour a whole slice; `before` of the same result saves the parts that colours do not change."""
    began = time.perf_counter_ns()
    values = one_number(result.item, result.values, colouring.component)
    mesh = raster if isinstance(raster, MeshRaster) else None
    known = values[result.mask] if mesh is not None else values
    shown = shown_range(known, colouring)
    if mesh is not None:
        values = _by_number(mesh, result, values)
    drawn = _of_elements(mesh, values) if mesh is not None and result.item.location == "node" else values
    colours, counts = colourise(drawn, shown, colormaps.argb(colouring.name))
    if drawn is not values and shown is not None:
        counts = histogram(known, shown)
    if before is not None and before.result is result and before.colouring.component == colouring.component:
        numbers, lattice, shape = before.numbers, before.lattice, before.touched
    else:
        numbers = statistics(known)
        lattice, shape = touched_by(result, raster)
    laid_out = raster.spread(colours, 0) if isinstance(raster, GridRaster) else raster.whole.spread(colours, 0)
    return MapPicture(result, raster, colouring, values, colours, pyramid(laid_out), shown, counts, numbers, lattice,
                      shape, (time.perf_counter_ns() - began) // 1000)


def touched_by(result: MapResult, raster: GridRaster | MeshRaster) -> tuple[
        PageLattice | MeshPages | None, PageShape | MeshPages | None]:
    """The pages of an explain record over the map, and what they cover; None where none was touched."""
    if not result.explain.pages:
        return None, None
    if isinstance(raster, GridRaster):
        return touched(result.explain.pages, raster)
    pages = touched_elements(raster.places.order, result.item, result.request.layer, result.explain.pages)
    return pages, pages


def _by_number(raster: MeshRaster, result: MapResult, values: Array) -> Array:
    """(elements,) or (nodes,): the values by stored number, NaN where the result has none."""
    domain = raster.domain
    found = np.full(domain.nodes if result.item.location == "node" else domain.elements, np.nan)
    found[result.rows] = values
    return found


def _of_elements(raster: MeshRaster, values: Array) -> Array:
    """(elements,) means of the finite values of the corners; NaN where there is none."""
    corners = raster.domain.element_nodes
    total, count = np.zeros(len(corners)), np.zeros(len(corners), np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(corners.shape[1]):
            at = values[corners[:, k]]
            known = np.isfinite(at) & (corners[:, k] >= 0)
            total += np.where(known, at, 0.0)
            count += known
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def pyramid(pixels: Array) -> tuple[QImage, ...]:
    """The picture and its halves down to about 512 pixels, averaged in colour with no data transparent."""
    levels = [argb_image(pixels)]
    while min(levels[-1].width(), levels[-1].height()) > _SMALLEST_LEVEL:
        last = levels[-1]
        levels.append(last.scaled(last.width() // 2, last.height() // 2, Qt.AspectRatioMode.IgnoreAspectRatio,
                                  Qt.TransformationMode.SmoothTransformation))
    return tuple(levels)
