"""The blind recovery of quantised floats: the lattice x = T(k * s + o) of a tile's values, from the values alone.

`search` follows format.md, "Choosing": sorted distinct values -> step (`lattice_fit`) -> integers -> the strip of lines
through all of them -> forms that people and formats use (binary, decimal, GRIB) -> the rounding path (`lattice_path`).
Whatever is found is verified to the bit by the caller's `verify`; nothing here is trusted.

The work is bounded: a tile is searched by at most `SAMPLE` of its elements, all loops have small fixed bounds, and the
rounding path has a budget of tests. What is no lattice leaves at its smallest differences. The data alone decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from mdstudio.engine.codecs.block import MAX_ESCAPES
from mdstudio.engine.codecs.kernels import kernels
from mdstudio.engine.codecs.lattice_fit import Strip, integers_of, residual_of, step_of, strip_of
from mdstudio.engine.codecs.lattice_path import TESTS, rounding_paths
from mdstudio.engine.codecs.nice_numbers import shortest_decimal, simplest_binary
from mdstudio.engine.model import Array, Hint

SAMPLE = 16384
FEWEST = 8  # distinct values below which a dictionary does as well
SUPPORT = 64
_RUN = 64
_PROFILE = {4: (0.0, 0.5, 4.0), 8: (1.0, 16.0)}  # how far rounded products may lie off, in units in the last place
_OFF = 0.02  # of a step
_LARGEST, _SMALLEST = 1e30, 1e-30  # no product of halves overflows or loses bits in between
_DECIMAL_SCALES = range(-10, 23)  # of GRIB

Verify = Callable[[Hint], int | None]  # elements that a lattice does not give, None where they are too many


@dataclass(frozen=True, slots=True)
class Found:
    """A lattice, and the values that bound it most: with them the next search finds one that fits both tiles."""

    hint: Hint
    support: Array


@dataclass(slots=True)
class Budget:
    """Tests of the rounding path that a search may still make."""

    left: int = TESTS


def search(
    elements: Array, verify: Verify, support: Array | None = None, known: int = 0, budget: Budget | None = None
) -> Found | None:
    """The lattice of a tile's elements (1-D float32 or float64, in stored order, masked ones left out).

    Args:
        verify: how many elements of the tile a lattice does not give back, None where they are too many.
        support: values of tiles before that the lattice must fit too.
        known: steps of a lattice that is known to fit; one that is not coarser is not looked for.
        budget: counts the tests of the rounding path down.
    """
    budget = budget or Budget()
    values = _sample(elements)
    values = values[np.isfinite(values)]
    if support is not None:
        values = np.concatenate((values, support.astype(values.dtype)))
    u, counts = np.unique(values, return_counts=True)
    found = _solve(_peeled(u), 0, verify, known, budget)
    if found is None and FEWEST <= np.count_nonzero(counts > 1) < u.size:  # without what may be strays
        found = _solve(_peeled(u[counts > 1]), MAX_ESCAPES, verify, known, budget)
        strays = _strays(u, found.hint) if found is not None else u[:0]
        if strays.size:  # once more by all values but those
            found = _solve(_peeled(np.delete(u, strays)), strays.size, verify, known, budget) or found
    return found


def moved(elements: Array, hint: Hint, verify: Verify) -> Hint | None:
    """The same step from another origin, as the next GRIB message has it; None where there is none."""
    if hint.arithmetic not in (1, 4):
        return None
    x = _sample(elements)
    x = x[np.isfinite(x)]
    if not x.size:
        return None
    step = hint.scale * hint.factor
    if np.abs(x).max() > _LARGEST or not _SMALLEST < abs(step) < _LARGEST:
        return None
    half = 0.5 * np.spacing(np.abs(x)).astype(np.float64)  # of the largest float32 it is infinite
    x = x.astype(np.float64)
    at = int(np.argmin(x))
    x[[0, at]], half[[0, at]] = x[[at, 0]], half[[at, 0]]
    with np.errstate(all="ignore"):
        k = np.rint((x - x[0]) / step)
    if not float(np.abs(k).max()) < 1 << 32:
        return None
    rest = residual_of(x, k, step)
    half += np.spacing(np.abs(x).max())
    low, high = float((rest - half).max()), float((rest + half).min())
    if low > high:
        return None
    for offset in _offsets(float(x[0]), low, high, hint.factor):
        other = Hint(hint.arithmetic, hint.scale, offset, hint.factor)
        if verify(other) == 0:
            return other
    return None


def _sample(elements: Array) -> Array:
    """All elements, or runs of neighbours spread evenly over a large tile."""
    if elements.size <= SAMPLE:
        return elements
    starts = np.arange(SAMPLE // _RUN) * ((elements.size - _RUN) // (SAMPLE // _RUN - 1))
    runs: Array = elements[(starts[:, None] + np.arange(_RUN)).reshape(-1)]
    return runs


def _peeled(u: Array) -> Array:
    """Sorted values without at most two fill values far away from the rest."""
    wide = u.astype(np.float64)
    with np.errstate(over="ignore"):
        for _ in range(2):
            if wide.size > FEWEST:
                if wide[1] - wide[0] > 8.0 * (wide[-1] - wide[1]):
                    u, wide = u[1:], wide[1:]
                elif wide[-1] - wide[-2] > 8.0 * (wide[-2] - wide[0]):
                    u, wide = u[:-1], wide[:-1]
    return u


def _solve(values: Array, strays: int, verify: Verify, known: int, budget: Budget) -> Found | None:
    size = values.itemsize
    if values.size < FEWEST:
        return None
    u = values.astype(np.float64)
    largest = np.abs(values[[0, -1]]).max()
    if largest > _LARGEST or u[-1] - u[0] < _SMALLEST:
        return None
    ulp = float(np.spacing(largest))
    least = float(np.spacing(np.float64(largest)))  # the arithmetic of float64 rounds too
    half = 0.5 * np.spacing(np.abs(values)).astype(np.float64)
    for wider in _PROFILE[size]:
        widened = np.maximum(half, least) + wider * ulp
        error = 2.0 * float(widened.max())
        g = step_of(u, error)
        if g is None:
            if np.diff(u).min() <= error:
                return None
            continue
        if known and (u[-1] - u[0]) / g[1] + 1.0 > 0.95 * known:
            return None
        k = integers_of(u, error, g)
        strip = strip_of(u, widened, k) if k is not None else None
        if strip is None:
            continue
        exact = wider == 0.0
        hints = _forms(strip, size, exact)
        if not exact:
            hints = chain(hints, rounding_paths(strip, values, half, budget))
        hint = _best(hints, verify, strays)
        if hint is not None:
            return Found(hint, _support(values, strip, half))
    return None


def _strays(u: Array, hint: Hint) -> Array:
    """Which values lie off a lattice, not only beside one of its points by their rounding."""
    k, escapes = np.empty(u.size, dtype=np.int64), np.empty(MAX_ESCAPES, dtype=np.uint32)
    bits = u.view(f"u{u.itemsize}")
    _, _, count = kernels.lattice_map(
        bits, u.itemsize, hint.arithmetic, hint.scale, hint.offset, hint.factor, k, escapes, MAX_ESCAPES
    )
    missed = escapes[: max(count, 0)]
    step = hint.factor / hint.scale if hint.arithmetic == 3 else hint.factor * hint.scale
    with np.errstate(all="ignore"):  # a stray may be any number
        times = (u[missed].astype(np.float64) - hint.factor * hint.offset) / step
        return missed[np.abs(times - np.rint(times)) > _OFF]


def _best(hints: Iterator[Hint], verify: Verify, strays: int) -> Hint | None:
    """The first with no more than `strays` escapes, else the one with the fewest."""
    best: tuple[int, Hint] | None = None
    for hint in hints:
        escapes = verify(hint)
        if escapes is not None and (best is None or escapes < best[0]):
            best = escapes, hint
            if escapes <= strays:
                break
    return best[1] if best else None


def _forms(strip: Strip, size: int, exact: bool) -> Iterator[Hint]:
    """Lattices that formats and people make, then the middle of the strip."""
    least, most = strip.scale + strip.least, strip.scale + strip.most
    middle = 0.5 * (least + most)
    for digits in _DECIMAL_SCALES:
        for factor in _decimal_factors(digits):
            scale = _power_of_two(middle / factor)
            if least <= scale * factor <= most:
                low, high = strip.shifts(scale * factor - strip.scale)
                for offset in _offsets(strip.first, low, high, factor):
                    yield Hint(4 if digits else 1, scale, offset, factor)
    scale = shortest_decimal(least, most)
    low, high = strip.shifts(scale - strip.scale)
    times = float(np.rint(strip.first / scale))
    rest = strip.first - times * scale
    slack = abs(high - low) + 4.0 * float(np.spacing(abs(strip.first)))
    if rest + low - slack <= 0.0 <= rest + high + slack:
        inverse = float(np.rint(1.0 / scale))
        if inverse >= 1.0 and least <= 1.0 / inverse <= most:
            yield Hint(3, inverse)
        yield Hint(1, scale)
    if size == 4 and low <= high:
        yield Hint(1, scale, shortest_decimal(rest + low, rest + high))
    if exact or size == 8:
        slope = 0.5 * (strip.least + strip.most)
        low, high = strip.shifts(slope)
        yield Hint(1, strip.scale + slope, strip.first + 0.5 * (low + high))


def _decimal_factors(digits: int) -> tuple[float, ...]:
    """10^-digits as a number and as ecCodes makes it, by repeated divisions or multiplications."""
    right, made = float(f"1e{-digits}"), 1.0
    for _ in range(abs(digits)):
        made = made / 10.0 if digits > 0 else made * 10.0
    return (right,) if right == made else (right, made)


def _power_of_two(x: float) -> float:
    mantissa, exponent = math.frexp(x)
    return math.ldexp(1.0, exponent if mantissa >= 0.70710678 else exponent - 1)


def _offsets(first: float, low: float, high: float, factor: float) -> Iterator[float]:
    """Offsets within first + [low, high], before the decimal factor, from the simplest."""
    least, most = (first + low) / factor, (first + high) / factor
    if least > most:
        return
    simplest = simplest_binary(least, most)
    yield simplest
    if (nearest := float(np.float32(first / factor))) != simplest:
        yield nearest
    yield 0.5 * (least + most)


def _support(values: Array, strip: Strip, half: Array) -> Array:
    """The values that leave the line the least room, and both ends."""
    rest = strip.residual - strip.k * (0.5 * (strip.least + strip.most))
    low, high = float((rest - half).max()), float((rest + half).min())
    slack = np.minimum(low - (rest - half), (rest + half) - high)
    tight = np.argsort(slack, kind="stable")[: SUPPORT - 2]
    kept: Array = values[np.unique(np.concatenate((tight, [0, values.size - 1])))]
    return kept
