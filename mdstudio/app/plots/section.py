"""A transect made ready to show: stretches by distance, layers from one height to the next. No Qt, any thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdstudio.app.plots.components import one_number
from mdstudio.app.plots.ticks import Tick, TickMaker, number_ticks
from mdstudio.app.plots.units import unit_text
from mdstudio.engine.model import Array, LayerAxis
from mdstudio.engine.requests import LineResult

_SHORT_UNIT = 4  # letters that a label of the axis has room for
_DOWNWARDS = ("depth", "pressure", "hybrid")  # what grows towards the ground where the source does not say


@dataclass(frozen=True)
class Section:
    """One time of a `LineResult`.

    Attributes:
        values: (layer, stretch) float64, one number each, NaN where there is no data.
        edges: (stretch + 1,) distances in `result.unit`.
        bounds: (layer + 1,) heights between which the layers lie, in drawing order, ascending; empty without layers.
        order: (layer,) which layer lies between two bounds.
        downwards: the heights grow towards the ground.
        by_number: `bounds` count layers, whose heights are in no order.
    """

    result: LineResult
    values: Array
    edges: Array
    bounds: Array
    order: Array
    downwards: bool = False
    by_number: bool = False

    @property
    def layered(self) -> bool:
        return self.bounds.size > 0

    def at(self, distance: float, height: float) -> tuple[int, int] | None:
        """(layer, stretch) at a place, None beside the line or its layers."""
        layers, stretches = self.under(np.array([distance]), np.array([height]))
        return None if layers[0] < 0 or stretches[0] < 0 else (int(layers[0]), int(stretches[0]))

    def under(self, distances: Array, heights: Array) -> tuple[Array, Array]:
        """The layer of each height and the stretch of each distance, -1 for none; layer 0 without layers."""
        stretches = _between(self.edges, distances)
        if not self.layered:
            return np.zeros(heights.size, np.int64), stretches
        places = _between(self.bounds, heights)
        return np.where(places < 0, -1, self.order[places]), stretches

    def height_ticks(self) -> TickMaker:
        """What the axis of the layers says."""
        axis = self.result.item.layers
        unit = unit_text(axis.unit) if axis is not None else ""
        if not self.by_number or axis is None:
            suffix = f" {unit}" if 0 < len(unit) <= _SHORT_UNIT else ""
            return lambda low, high, most: [(at, text + suffix) for at, text in number_ticks(low, high, most)]
        names = [f"{axis.values[layer]:g}" for layer in self.order.tolist()]

        def named(low: float, high: float, most: int) -> list[Tick]:
            every = max(1, -(-len(names) // max(1, most)))
            return [(k + 0.5, names[k]) for k in range(0, len(names), every) if low <= k + 0.5 <= high]

        return named


def section_of(result: LineResult, component: int) -> Section:
    """The first time of a result; of a vector one component or the magnitude."""
    values = np.asarray(one_number(result.item, result.values[0], component))
    axis = result.item.layers
    if axis is None:
        return Section(result, values, result.edges, np.zeros(0), np.zeros(1, np.int64))
    heights = np.array([axis.values[layer] for layer in result.layers.tolist()], np.float64)
    down = _downwards(axis)
    steps = np.diff(heights)
    if not np.isfinite(heights).all() or not ((steps > 0).all() or (steps < 0).all()):
        return Section(result, values, result.edges, np.arange(heights.size + 1.0), np.arange(heights.size), down, True)
    order = np.argsort(heights)
    middles = heights[order]
    half = np.diff(middles) / 2 if middles.size > 1 else np.array([0.5])
    bounds = np.concatenate([[middles[0] - half[0]], middles[:-1] + half if middles.size > 1 else [],
                             [middles[-1] + half[-1]]])
    return Section(result, values, result.edges, bounds, order, down)


def layer_words(axis: LayerAxis, layer: int) -> str:
    """`layer 3, 10 m`."""
    return f"layer {layer}, {axis.values[layer]:g} {unit_text(axis.unit)}".rstrip()


def _downwards(axis: LayerAxis) -> bool:
    return axis.positive == "down" or (axis.positive != "up" and axis.meaning in _DOWNWARDS)


def _between(bounds: Array, places: Array) -> Array:
    """(n,) int64: the interval of ascending bounds that holds each place, -1 beside them."""
    found = np.searchsorted(bounds, places, "right") - 1
    found[places == bounds[-1]] = bounds.size - 2
    return np.asarray(np.where((found >= 0) & (found < bounds.size - 1), found, -1))
