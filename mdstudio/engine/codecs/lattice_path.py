"""The rounding path: the scale, offset and origin whose *rounded* products give every value.

Where x = fl(fl(k * s) + o) in the element's own type, the product's rounding depends on the true integer k, not only on
its distance from the first one. The strip of `lattice_fit` leaves a few scales; for each the origins of a packed
16-bit or unsigned 16-bit integer are tried against the values that bind the most, which refuse nearly all at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from mdstudio.engine.codecs.kernels import kernels
from mdstudio.engine.codecs.lattice_fit import Strip, strip_of
from mdstudio.engine.codecs.nice_numbers import shortest_decimal
from mdstudio.engine.model import Array, Hint

if TYPE_CHECKING:
    from mdstudio.engine.codecs.quantisation import Budget

Points = tuple[Array, Array, Array]  # values, half-widths, integers from the first

TESTS = 5 << 19  # of a value against an origin: about 20 ms in C, used up only by what looks like a lattice
_PACKED = (32768.0, 65535.0)  # the largest integers of packed data, signed or unsigned
_BLOCK = 4096
_POINTS = 512
_SCALES = 64
_OPEN = 1.0 - 2.0**-20
_CANDIDATES = 24  # lattices handed out to be verified


def rounding_paths(strip: Strip, values: Array, half: Array, budget: Budget) -> Iterator[Hint]:
    """Lattices of the element's own arithmetic that pass the tight values, the likeliest first."""
    real, steps = values.dtype.type, float(strip.k[-1])
    arithmetic = 2 if values.dtype.itemsize == 4 else 1
    u = values.astype(np.float64)
    odd = values.view(f"u{values.itemsize}") & 1
    closed = np.where(odd, half * _OPEN, half)  # a tie goes to the even neighbour
    left = _CANDIDATES
    for largest in _PACKED:
        if steps > 2.0 * largest:
            continue
        rounding = 0.5 * float(np.spacing(real(largest * strip.scale)))
        wide = strip_of(u, half + rounding, strip.k)
        if wide is None:
            continue
        for scale in _scales(wide, real):
            rest = wide.residual - wide.k * (scale - wide.scale)
            low, high = float((rest - half).max()), float((rest + half).min())
            if low - high > 2.0 * rounding:
                continue
            slack = np.minimum(low - (rest - half), (rest + half) - high)
            order = np.argsort(slack, kind="stable")[:_POINTS]
            order = order[slack[order] <= 2.0 * rounding]
            points = u[order], closed[order], wide.k[order]
            for least, most in _origins(points, scale, real, steps, largest, budget):
                for offset in _offsets(least, most, real):
                    if not left:
                        return
                    left -= 1
                    yield Hint(arithmetic, scale, offset)
            if budget.left <= 0:
                return


def _scales(strip: Strip, real: type[np.floating]) -> Iterator[float]:
    """Scales of the element's type in the strip: the shortest decimal, then from the middle outwards."""
    least, most = strip.scale + strip.least, strip.scale + strip.most
    short = float(real(shortest_decimal(least, most)))
    yield short
    if real is np.float64 and least <= (rounded := float(np.float32(short))) <= most and rounded != short:
        yield rounded
    above = below = real(0.5 * (least + most))
    yield float(above)
    for _ in range(_SCALES // 2):
        above, below = np.nextafter(above, real(np.inf)), np.nextafter(below, real(-np.inf))
        within = [one for one in (float(above), float(below)) if least <= one <= most]
        if not within:
            return
        yield from within


def _origins(
    points: Points, scale: float, real: type[np.floating], steps: float, largest: float, budget: Budget
) -> Iterator[tuple[float, float]]:
    """The offsets of every origin k0 that gives each point at its k + k0, from the middle origin outwards."""
    size = np.dtype(real).itemsize
    middle = -int(steps) // 2
    offsets = np.empty((_BLOCK, 2))
    for number in range(-(-(int(2.0 * largest - steps) + 1) // _BLOCK)):
        block = (number + 1) // 2 * (1 if number % 2 else -1)
        found, tests = kernels.lattice_origins(*points, size, scale, float(middle + block * _BLOCK), _BLOCK, offsets)
        budget.left -= tests
        yield from ((float(least), float(most)) for least, most in offsets[:found])
        if budget.left <= 0:
            return


def _offsets(least: float, most: float, real: type[np.floating]) -> Iterator[float]:
    short = shortest_decimal(least, most)
    yield float(real(short))
    middle = real(0.5 * (least + most))
    for one in (middle, np.nextafter(middle, real(np.inf)), np.nextafter(middle, real(-np.inf))):
        if least <= float(one) <= most and float(one) != short:
            yield float(one)
