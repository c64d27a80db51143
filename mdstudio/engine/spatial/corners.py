"""Corners of curvilinear cells: derived from the centres where the source has none, and brought beside their cell."""

from __future__ import annotations

import warnings

import numpy as np

from mdstudio.engine.model import Array
from mdstudio.engine.spatial.axis import TURN

_ABSURD = 1e9  # no coordinate: a fill value


def finite_or_nan(x: Array, y: Array) -> tuple[Array, Array]:
    """float64 copies, NaN in both where either is no coordinate (NaN, infinite, a fill value)."""
    first, second = np.array(x, np.float64), np.array(y, np.float64)
    with np.errstate(invalid="ignore"):
        bad = ~((np.abs(first) < _ABSURD) & (np.abs(second) < _ABSURD))
    first[bad] = second[bad] = np.nan
    return first, second


def derive_corners(x: Array, y: Array, wraps: bool) -> tuple[Array, Array]:
    """(rows + 1, columns + 1) corners: the mean of the four centres around each.

    Centres beyond the border, and missing ones beside cells that have one, are first extrapolated in a straight line
    from the two nearest; a grid of one row or column is made as wide across as along. Longitudes are averaged beside
    one another, whatever turn they are stored at.
    """
    x_ring, y_ring = (np.pad(part, 1, constant_values=np.nan) for part in (x, y))
    for axis in (0, 1, 0, 1):  # twice: the second pass reaches the diagonals
        x_ring, y_ring = _extrapolated(x_ring, y_ring, axis, wraps)
    if min(x.shape) == 1:
        x_ring, y_ring = _widened(x_ring, y_ring, wraps)
    around = [(slice(r, r - 1 or None), slice(c, c - 1 or None)) for r in (0, 1) for c in (0, 1)]
    xs, ys = (np.stack([part[at] for at in around]) for part in (x_ring, y_ring))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # corners with no centre around them are NaN
        reference = np.nanmax(xs, axis=0)
        if wraps:
            xs = reference + half_turn(xs - reference)
        return np.nanmean(xs, axis=0), np.nanmean(ys, axis=0)


def half_turn(difference: Array) -> Array:
    """A difference of longitudes as the short way round, -180 .. 180; exact for those that are short already."""
    far = np.abs(difference) > TURN / 2
    if not far.any():
        return difference
    return np.where(far, difference - TURN * np.round(difference / TURN), difference)


def _extrapolated(x: Array, y: Array, axis: int, wraps: bool) -> tuple[Array, Array]:
    """Fill each missing centre that has two known ones in line beside it; the mean where both sides have."""
    at = np.nonzero(np.isnan(x))
    made = []
    for sign in (-1, 1):
        near, far = _beside(at, axis, sign, x.shape), _beside(at, axis, 2 * sign, x.shape)
        step_x, step_y = _at(x, near) - _at(x, far), _at(y, near) - _at(y, far)
        made.append((_at(x, near) + (half_turn(step_x) if wraps else step_x), _at(y, near) + step_y))
    (first_x, first_y), (second_x, second_y) = made
    apart = second_x - first_x
    mean_x, mean_y = first_x + (half_turn(apart) if wraps else apart) / 2, (first_y + second_y) / 2
    x, y = x.copy(), y.copy()
    x[at] = np.where(np.isnan(first_x), second_x, np.where(np.isnan(second_x), first_x, mean_x))
    y[at] = np.where(np.isnan(first_x), second_y, np.where(np.isnan(second_x), first_y, mean_y))
    return x, y


def _beside(at: tuple[Array, ...], axis: int, by: int, shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Rows and columns so many places along an axis, and which of them are in the grid."""
    moved = at[axis] + by
    inside = (moved >= 0) & (moved < shape[axis])
    moved = np.where(inside, moved, 0)
    return (moved, at[1], inside) if axis == 0 else (at[0], moved, inside)


def _at(values: Array, places: tuple[Array, Array, Array]) -> Array:
    """The values there, NaN outside the grid."""
    row, column, inside = places
    return np.where(inside, values[row, column], np.nan)


def _widened(x: Array, y: Array, wraps: bool) -> tuple[Array, Array]:
    """The ring of a grid of one row, column or cell, whose neighbours across are a step along, turned by 90 degrees."""
    lone_row = x.shape[0] == 3
    line_x, line_y = (part[1] if lone_row else part[:, 1] for part in (x, y))
    if line_x.size == 3 and np.isnan(line_x[[0, 2]]).all():  # one cell: a degree, or a unit, wide
        line_x, line_y = line_x[1] + np.array([-1.0, 0.0, 1.0]), np.full(3, line_y[1])
    step_x, step_y = _along(line_x), _along(line_y)
    if wraps:
        step_x = half_turn(step_x)
    sides = [(line_x + k * step_y, line_y - k * step_x) for k in (-1, 0, 1)]
    stacked = [np.stack([side[i] for side in sides], axis=0 if lone_row else 1) for i in (0, 1)]
    return stacked[0], stacked[1]


def _along(line: Array) -> Array:
    """The step at each place of a line, one-sided at its ends; NaN where there is none."""
    step = np.full_like(line, np.nan)
    step[:-1] = np.diff(line)
    step[-1] = step[-2] if line.size > 1 else np.nan
    before = np.concatenate([step[:1], step[:-1]])
    return np.where(np.isfinite(step), step, before)


def cell_corners(x: Array, y: Array, centre: Array, wraps: bool) -> tuple[Array, Array]:
    """Corners (..., 4 or more) of cells moved by whole turns to beside their centre; the cell around a pole becomes the
    cap that it covers: all longitudes, from its corner farthest from the pole."""
    if not wraps:
        return x, y
    with np.errstate(invalid="ignore"):
        beside = centre[..., None] + half_turn(x - centre[..., None])
        moved = np.where(np.abs(x - centre[..., None]) > TURN / 2, beside, x)
        round_trip = half_turn(np.roll(x, -1, axis=-1) - x).sum(axis=-1)
        cap = np.abs(round_trip) > TURN / 2
    if cap.any():
        moved, y = moved.copy(), y.copy()
        pole = np.where(y[cap].mean(axis=-1) > 0, 90.0, -90.0)
        low = np.where(pole > 0, y[cap].min(axis=-1), y[cap].max(axis=-1))
        west, east = centre[cap] - TURN / 2, centre[cap] + TURN / 2
        rest = x.shape[-1] - 4  # rings of more corners repeat the last one
        moved[cap] = np.stack([west, east, east, west, *[west] * rest], axis=-1)
        y[cap] = np.stack([low, low, pole, pole, *[pole] * rest], axis=-1)
    return moved, y
