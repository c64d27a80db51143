"""Numbers on a lattice: the step, the integers, and every scale and offset that passes within the rounding of all.

Works on sorted distinct values in float64 and how far the true value may lie from each. Plain IEEE additions,
multiplications and divisions of NumPy in a fixed order: the same results on every platform, whichever kernels serve.
The steps are those of resources/format.md, "Choosing"; every result is a guess that the caller verifies to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdstudio.engine.model import Array

MAX_STEPS = float(1 << 32)  # integers of a block fit 32 bits
_WINDOWS = (32, 512, 1 << 62)  # smallest differences first: what is no lattice shows in a few of them
_MAX_DIVISIONS = 24
_MAX_PASSES = 40
_SPLIT = 134217729.0  # 2^27 + 1: Dekker's splitting of a float64 in two halves

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Strip:
    """All lines that pass through values u at integers k, each within its half-width.

    The line is x = u[0] + shift + k * (scale + slope), with slope within [least, most].

    Attributes:
        k: (n,) float64, ascending from 0.
        residual: (n,) u - u[0] - k * scale, exact to far below a unit in the last place.
        half: (n,) how far the line may pass from u.
    """

    k: Array
    first: float
    scale: float
    residual: Array
    half: Array
    least: float
    most: float

    def shifts(self, slope: float) -> Interval:
        """The offsets from u[0] that a slope leaves; the first is above the second where it leaves none."""
        rest = self.residual - self.k * slope
        return float((rest - self.half).max()), float((rest + self.half).min())


def step_of(u: Array, error: float) -> Interval | None:
    """The step that all differences of sorted values are multiples of, as an interval; None for no lattice.

    An approximate greatest common divisor (Euclid) of differences that are each known to `error`.
    """
    differences = np.sort(np.diff(u))
    span = float(u[-1] - u[0])
    g: Interval = (float(differences[0]) - error, float(differences[0]) + error)
    divisions = 0
    for size in _WINDOWS:
        window = differences[:size]
        while True:
            if g[0] <= 0.0 or span > MAX_STEPS * g[0] or divisions > _MAX_DIVISIONS:
                return None
            narrowed, misfit = _narrowed(window, error, g)
            if misfit is not None:
                finer = _finer(g, misfit, error)
                if finer is None:
                    return None
                g, divisions = finer, divisions + 1
                continue
            halved = narrowed[1] - narrowed[0] < 0.5 * (g[1] - g[0])
            g = narrowed
            if not halved:
                break
        if window.size == differences.size:
            break
    return g


def _narrowed(d: Array, error: float, g: Interval) -> tuple[Interval, float | None]:
    """The step narrowed by the differences whose multiple is certain, and a difference that does not fit, if any."""
    low, high = np.ceil((d - error) / g[1]), np.floor((d + error) / g[0])
    misfits = high < np.maximum(low, 1.0)
    if misfits.any():
        return g, float(d[int(np.argmax(misfits))])
    certain = low == high
    if not certain.any():
        return g, None
    d, high = d[certain], high[certain]
    least, most = (d - error) / high, (d + error) / high
    i, j = int(np.argmax(least)), int(np.argmin(most))
    narrowed = max(g[0], float(least[i])), min(g[1], float(most[j]))
    if narrowed[0] > narrowed[1]:
        return g, float(max(d[i], d[j]))
    return narrowed, None


def _finer(g: Interval, d: float, error: float) -> Interval | None:
    """A smaller step that a misfitting difference is a multiple of too."""
    m = np.arange(2.0, 257.0)
    low, high = (d - error) * m / g[1], (d + error) * m / g[0]
    fits = (np.ceil(low) <= np.floor(high)) & (high - low <= 0.5)
    if fits.any():
        by = float(m[int(np.argmax(fits))])
        return g[0] / by, g[1] / by
    middle = 0.5 * (g[0] + g[1])
    times = float(np.rint(d / middle))
    rest, unsure = abs(d - times * middle), error + times * 0.5 * (g[1] - g[0])
    return (rest - unsure, rest + unsure) if rest > 4.0 * unsure else None


def integers_of(u: Array, error: float, g: Interval) -> Array | None:
    """The integer of each sorted value, from 0: every difference is rounded by itself, so that nothing drifts."""
    d = np.diff(u)
    for _ in range(_MAX_PASSES):
        low, high = np.ceil((d - error) / g[1]), np.floor((d + error) / g[0])
        gaps = np.flatnonzero(low != high)
        if not gaps.size:
            break
        # Between two uncertain gaps the integers are certain: such runs are long differences.
        q = np.rint(d / (0.5 * (g[0] + g[1])))
        k = np.concatenate(([0.0], np.cumsum(q)))
        starts, ends = np.concatenate(([0], gaps + 1)), np.concatenate((gaps, [d.size]))
        steps, lengths = k[ends] - k[starts], u[ends] - u[starts]
        long = steps > 0
        if not long.any():
            break
        narrowed = (
            max(g[0], float(((lengths[long] - error) / steps[long]).max())),
            min(g[1], float(((lengths[long] + error) / steps[long]).min())),
        )
        if narrowed[0] > narrowed[1]:
            return None
        if narrowed[1] - narrowed[0] > 0.99 * (g[1] - g[0]):
            break
        g = narrowed
    q = np.maximum(np.rint(d / (0.5 * (g[0] + g[1]))), 1.0)
    k = np.concatenate(([0.0], np.cumsum(q)))
    return k if k[-1] < MAX_STEPS else None


def strip_of(u: Array, half: Array, k: Array) -> Strip | None:
    """The strip of lines through all values; None where there is no such line."""
    scale = float((u[-1] - u[0]) / k[-1])
    residual = residual_of(u, k, scale)
    reach = 1.01 * (float(half[0] + half[-1]) + abs(float(residual[-1]))) / float(k[-1])
    ends = [_end(residual, half, k, side * reach) for side in (-1.0, 1.0)]
    if ends[0] is None or ends[1] is None or ends[0] > ends[1]:
        return None
    return Strip(k, float(u[0]), scale, residual, half, ends[0], ends[1])


def residual_of(u: Array, k: Array, scale: float) -> Array:
    """u - u[0] - k * scale with the errors of the difference and of the product added back."""
    difference, e = _two_sum(u, -float(u[0]))
    product = k * scale
    error = _product_error(k, scale, product)
    return (difference - product) + (e - error)  # type: ignore[no-any-return]


def _end(residual: Array, half: Array, k: Array, slope: float) -> float | None:
    """The end of the feasible slopes on the side of `slope`, from outside: Newton on a convex piecewise line."""
    outside = np.sign(slope)
    for _ in range(_MAX_PASSES):
        rest = residual - k * slope
        i, j = int(np.argmax(rest - half)), int(np.argmin(rest + half))
        missing = float((rest[i] - half[i]) - (rest[j] + half[j]))
        if missing <= 0.0:
            return slope
        turn = float(k[j] - k[i])
        if turn * outside <= 0.0:
            return None
        next_slope = slope - missing / turn
        if next_slope == slope:
            return slope
        slope = next_slope
    return slope


def _two_sum(a: Array, b: float) -> tuple[Array, Array]:
    """a + b and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _product_error(a: Array, b: float, product: Array) -> Array:
    """a * b - product, exactly (Dekker)."""
    c = a * _SPLIT
    a_high = c - (c - a)
    a_low = a - a_high
    c_b = b * _SPLIT
    b_high = c_b - (c_b - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
