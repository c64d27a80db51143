"""A map made ready to show: colours of every cell, a pyramid for the small scales, numbers. Made in a worker thread."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

from mdstudio.app import colormaps
from mdstudio.app.plots.colouring import colourise
from mdstudio.app.plots.pages import PageLattice, PageShape, touched
from mdstudio.app.plots.paint import argb_image
from mdstudio.app.plots.ranges import Range, Statistics, exact_range, percentile_range, statistics
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
    """

    name: str = "viridis"
    mode: RangeMode = "exact"
    fixed: Range | None = None


@dataclass(frozen=True)
class MapPicture:
    """One slice, ready to show.

    Attributes:
        colours: (rows, columns) uint32 0xAARRGGBB in the grid's own order, alpha 0 for no data.
        levels: the picture laid out north up, then halves of it; empty where the grid is never drawn that small.
        shown: the range of the colours, None where no cell is finite.
        counts: (256,) cells per colour.
        lattice: pages that were touched, entries are positions in `result.explain.pages`.
        draw_us: what laying out and colouring took.
    """

    result: MapResult
    raster: GridRaster
    colouring: Colouring
    colours: Array
    levels: tuple[QImage, ...]
    shown: Range | None
    counts: Array
    numbers: Statistics
    lattice: PageLattice | None = None
    touched: PageShape | None = None
    draw_us: int = field(default=0, compare=False)

    @property
    def explain(self) -> Explain:
        """What the read cost."""
        return self.result.explain

    def value_at(self, row: int, column: int) -> float:
        return float(self.result.values[row, column])


def shown_range(values: Array, colouring: Colouring) -> Range | None:
    """The range that the colouring asks for; None where no cell is finite."""
    if colouring.fixed is not None:
        return colouring.fixed if np.isfinite(values).any() else None
    return percentile_range(values) if colouring.mode == "percentile" else exact_range(values)


def make_picture(result: MapResult, raster: GridRaster, colouring: Colouring,
                 before: MapPicture | None = None) -> MapPicture:
    """Colour a whole slice; `before` of the same result saves the parts that colours do not change."""
    began = time.perf_counter_ns()
    same = before is not None and before.result is result
    shown = shown_range(result.values, colouring)
    colours, counts = colourise(result.values, shown, colormaps.argb(colouring.name))
    if same and before is not None:
        numbers, lattice, shape = before.numbers, before.lattice, before.touched
    else:
        numbers = statistics(result.values)
        lattice, shape = touched(result.explain.pages, raster) if result.explain.pages else (None, None)
    return MapPicture(result, raster, colouring, colours, pyramid(raster.spread(colours, 0)), shown, counts, numbers,
                      lattice, shape, (time.perf_counter_ns() - began) // 1000)


def pyramid(pixels: Array) -> tuple[QImage, ...]:
    """The picture and its halves down to about 512 pixels, averaged in colour with no data transparent."""
    levels = [argb_image(pixels)]
    while min(levels[-1].width(), levels[-1].height()) > _SMALLEST_LEVEL:
        last = levels[-1]
        levels.append(last.scaled(last.width() // 2, last.height() // 2, Qt.AspectRatioMode.IgnoreAspectRatio,
                                  Qt.TransformationMode.SmoothTransformation))
    return tuple(levels)
