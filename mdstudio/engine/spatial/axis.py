"""One axis of a grid of straight rows and columns: the interval that each cell covers, against ranges and points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdstudio.engine.model import Array

TURN = 360.0
_MAX_SPAN = 720.0  # a longitude axis that covers more is none


@dataclass(frozen=True)
class CellAxis:
    """The closed intervals [low, high] of the cells along one axis, in stored order.

    Attributes:
        low, high: (n,) float64; NaN for a cell without a coordinate, which nothing finds.
        ascending: whether the stored order goes up.
        wraps: a longitude in degrees: x and x + 360 are the same place.
    """

    low: Array
    high: Array
    ascending: bool
    wraps: bool

    def __len__(self) -> int:
        return int(self.low.size)

    @property
    def start(self) -> float:
        """The smallest coordinate covered."""
        return float(np.nanmin(self.low)) if np.isfinite(self.low).any() else np.nan

    @property
    def stop(self) -> float:
        """The largest coordinate covered."""
        return float(np.nanmax(self.high)) if np.isfinite(self.high).any() else np.nan

    def edges(self) -> Array:
        """(n + 1,) float64 in stored order, for drawing; half way where two neighbours do not share an edge."""
        first, second = (self.low, self.high) if self.ascending else (self.high, self.low)
        return np.concatenate([first[:1], (second[:-1] + first[1:]) / 2, second[-1:]])

    def touched(self, start: float, stop: float) -> Array:
        """(n,) bool: cells whose closed interval meets the closed range, on a longitude at any whole turn (P3).

        Exact: a turn is added without rounding, so that a range that only touches an edge finds the cell.
        """
        found = np.zeros(len(self), bool)
        if self.wraps and stop - start >= TURN:
            return np.isfinite(self.low)
        for turn in self.turns(start, stop):
            found |= _at_most(self.low, stop, turn) & _at_least(self.high, start, turn)
        return found

    def turns(self, start: float, stop: float) -> list[float]:
        """Multiples of 360 to add to a range so that it can meet the axis; [0] where nothing wraps. Smallest first."""
        return turns_onto(start, stop, self.start, self.stop) if self.wraps else [0.0]

    def locate(self, points: Array, nearest: bool) -> Array:
        """(n,) int64: the cell that holds each coordinate, the first in stored order where it lies on an edge; -1 where
        none does, or with `nearest` the cell that ends closest to it. NaN gives -1."""
        points = np.asarray(points, np.float64)
        result = np.full(points.size, -1, np.int64)
        step = max(1, 4_000_000 // max(1, len(self)))
        for at in range(0, points.size, step):
            result[at:at + step] = self._locate(points[at:at + step], nearest)
        return result

    def _locate(self, points: Array, nearest: bool) -> Array:
        finite = np.isfinite(points)
        if not finite.any() or not np.isfinite(self.low).any():
            return np.full(points.size, -1, np.int64)
        safe = np.where(finite, points, points[finite][0])
        distance = np.full((safe.size, len(self)), np.inf)
        turns = turns_of_points(safe, self.start - TURN, self.stop + TURN) if self.wraps else np.zeros((1, safe.size))
        for turn in turns:
            moved = (safe + turn)[:, None]
            gap = np.maximum(np.maximum(self.low - moved, moved - self.high), 0.0)
            np.fmin(distance, gap, out=distance)
        index = np.argmin(distance, axis=1).astype(np.int64)
        reached = finite & (np.isfinite(distance.min(axis=1)) if nearest else distance.min(axis=1) == 0)
        return np.where(reached, index, -1)


def turns_onto(start: float, stop: float, low: float, high: float) -> list[float]:
    """Multiples of 360 that bring a finite range onto [low, high], smallest first; none where it cannot be."""
    if not np.isfinite([start, stop, low, high]).all():
        return [0.0]
    first, last = int(np.floor((low - stop) / TURN)), int(np.ceil((high - start) / TURN))
    return sorted((k * TURN for k in range(first, last + 1)), key=abs)


def turns_of_points(points: Array, low: float, high: float) -> Array:
    """(k, n) multiples of 360 of which some bring each finite point onto [low, high], where any does."""
    if not np.isfinite([low, high]).all():
        return np.zeros((1, points.size))
    first = np.floor((low - points) / TURN)
    return np.asarray(TURN * (first + np.arange(np.ceil((high - low) / TURN) + 2)[:, None]))


def _at_most(values: Array, bound: float, turn: float) -> Array:
    """values <= bound + turn in exact arithmetic."""
    total, error = _two_sum(bound, turn)
    found: Array = (values < total) | ((values == total) & (error >= 0))
    return found


def _at_least(values: Array, bound: float, turn: float) -> Array:
    """values >= bound + turn in exact arithmetic."""
    total, error = _two_sum(bound, turn)
    found: Array = (values > total) | ((values == total) & (error <= 0))
    return found


def _two_sum(a: float, b: float) -> tuple[float, float]:
    """The rounded sum and what the rounding lost; infinities lose nothing."""
    total = a + b
    if not np.isfinite(total):
        return total, 0.0
    part = total - a
    return total, (a - (total - part)) + (b - part)


def cell_axis(values: Array, bounds: Array | None, longitude: bool, lone_width: float) -> CellAxis:
    """The cells of one axis.

    Args:
        values: (n,) centres in stored order; need not be evenly spaced, nor sorted.
        bounds: (n, 2) the source's bounds, either order; taken where they hold their centres and each cell ends where
            the next begins. Else, and without bounds, edges lie half way between neighbours, and as far beyond the
            outermost centres: bounds with gaps are those of another axis, of which every nth cell was kept.
        longitude: the axis wraps at 360; an axis stored across its wrap (358, 359, 0, 1 or 179, -180) is unrolled.
        lone_width: width of the cell of an axis with one centre and no bounds.
    """
    centres = np.asarray(values, np.float64)
    unrolled = _unroll(centres) if longitude else centres
    given = None if bounds is None else _given(np.asarray(bounds, np.float64), unrolled, longitude)
    low, high = _midway(unrolled, lone_width) if given is None else given
    ends = unrolled[np.isfinite(unrolled)]
    span = float(np.nanmax(high) - np.nanmin(low)) if np.isfinite(low).any() else np.inf
    for part in (low, high):
        part.setflags(write=False)
    return CellAxis(low, high, not ends.size or bool(ends[0] <= ends[-1]), longitude and span <= _MAX_SPAN)


def _unroll(centres: Array) -> Array:
    """A longitude axis that jumps by a turn, without the jump; others as they are."""
    steps = np.diff(centres)
    if (steps > 0).all() or (steps < 0).all() or not np.isfinite(centres).all():
        return centres
    unrolled = np.unwrap(centres, period=TURN)
    steps = np.diff(unrolled)
    monotone = bool((steps > 0).all() or (steps < 0).all())
    return unrolled if monotone and abs(unrolled[-1] - unrolled[0]) <= TURN else centres


def _given(pair: Array, centres: Array, longitude: bool) -> tuple[Array, Array] | None:
    """The cells that the source's bounds make; None where they do not follow one another without gap or overlap (a
    hundredth of a cell is rounding, and shared out)."""
    if not np.isfinite(pair).all() or not np.isfinite(centres).all():
        return None
    if longitude:
        pair = _bounds_around(pair, centres)
    low, high = pair.min(axis=1), pair.max(axis=1)
    if not ((low < high) & (low <= centres) & (centres <= high)).all():
        return None
    order = np.argsort(low, kind="stable")
    ends, begins = high[order][:-1], low[order][1:]
    widths = (high - low)[order]
    if (np.abs(begins - ends) > 0.01 * np.minimum(widths[:-1], widths[1:])).any():
        return None
    low[order[1:]] = high[order[:-1]] = ends / 2 + begins / 2
    return low, high


def _bounds_around(pair: Array, centres: Array) -> Array:
    """Bounds of a longitude moved by whole turns to where their centre is (359.5 .. 0.5 around 0 or 360)."""
    moved = pair - TURN * np.round((pair - centres[:, None]) / TURN)
    apart = np.abs(pair - centres[:, None]) > TURN / 2
    return np.where(apart, moved, pair)


def _midway(centres: Array, lone_width: float) -> tuple[Array, Array]:
    """Cells that end half way to their neighbours in coordinate order, whatever the stored order."""
    order = np.argsort(centres, kind="stable")
    ordered = centres[order]
    if centres.size == 1:
        edges = np.array([ordered[0] - lone_width / 2, ordered[0] + lone_width / 2])
    else:
        with np.errstate(invalid="ignore"):
            middle = ordered[:-1] / 2 + ordered[1:] / 2
            edges = np.concatenate([[ordered[0] - (middle[0] - ordered[0])], middle,
                                    [ordered[-1] + (ordered[-1] - middle[-1])]])
    low, high = np.empty_like(ordered), np.empty_like(ordered)
    low[order], high[order] = edges[:-1], edges[1:]
    return low, high
