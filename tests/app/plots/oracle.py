"""What matplotlib paints of the same cells in the same frame and size, without antialiasing: the oracle of pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mdstudio.app.plots.mesh_raster import Pixels
from mdstudio.engine.model import Array


def fill_polygons(corners: Array, values: Array, pixels: Pixels) -> Array:
    """(rows, columns) float64, NaN where nothing is painted: polygons (n, k, 2), each in its value."""
    pytest.importorskip("matplotlib", reason="the oracle of pictures is matplotlib, which comes with mikeio")
    from matplotlib.collections import PolyCollection

    def add(axes: Any) -> None:
        axes.add_collection(PolyCollection(corners, facecolors=_number_colours(len(corners)), edgecolors="none",
                                           linewidths=0, antialiaseds=False, snap=False))

    return _painted(add, values, pixels)


def fill_cells(x: Array, y: Array, values: Array, pixels: Pixels) -> Array:
    """As `fill_polygons`, the cells of a grid from its centres: (columns,) and (rows,), or both (rows, columns)."""
    pytest.importorskip("matplotlib", reason="the oracle of pictures is matplotlib, which comes with mikeio")

    def add(axes: Any) -> None:
        axes.pcolormesh(x, y, _number_colours(values.size).reshape(*values.shape, 4), shading="nearest",
                        antialiased=False, snap=False)

    return _painted(add, values.reshape(-1), pixels)


def share_that_differs(drawn: Array, wanted: Array) -> float:
    """Share of pixels whose value is that of no pixel of the oracle within one pixel: 0 where pictures agree up to the
    pixel that a border falls on. A shift by two pixels, a flip and a wrong value are all seen."""
    grown = np.pad(wanted, 1, mode="edge")
    same = np.zeros(drawn.shape, bool)
    for i in range(3):
        for j in range(3):
            beside = grown[i:i + drawn.shape[0], j:j + drawn.shape[1]]
            same |= (beside == drawn) | (np.isnan(beside) & np.isnan(drawn))
    return float(np.mean(~same))


def _number_colours(count: int) -> Array:
    """(count, 4): number + 1 in red, green and blue."""
    number = np.arange(1, count + 1)
    return np.stack([number >> 16 & 255, number >> 8 & 255, number & 255, np.full(count, 255)], axis=1) / 255.0


def _painted(add: Any, values: Array, pixels: Pixels) -> Array:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    x0, y0, x1, y1 = pixels.extent
    figure = Figure(figsize=(pixels.columns / 100, pixels.rows / 100), dpi=100)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    add(axes)
    axes.set_xlim(x0, x1)
    axes.set_ylim(y0, y1)
    axes.set_aspect("auto")
    figure.patch.set_alpha(0.0)
    canvas.draw()
    seen = np.asarray(canvas.buffer_rgba()).astype(np.int64)
    assert seen.shape[:2] == (pixels.rows, pixels.columns)
    number = (seen[..., 0] << 16 | seen[..., 1] << 8 | seen[..., 2]) * (seen[..., 3] == 255)
    return np.append(np.nan, values.astype(np.float64))[number]
