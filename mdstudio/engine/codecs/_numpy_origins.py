"""The rounding path in NumPy: a part of `_numpy`, twin of `_native_origins.h`; `lattice_path` says what it is for."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdstudio.engine.model import Array

_REAL: dict[int, Any] = {4: np.float32, 8: np.float64}
_LEAST = 2.0**-100  # units of smaller offsets are those of this one, so that their reciprocals are finite
_FEW = 8


def lattice_origins(
    u: Any, half: Any, k: Any, size: int, scale: float, first: float, count: int, offsets: Any
) -> tuple[int, int]:
    """Which origins k0 give every point u = fl(fl((k + k0) * scale) + o), within `half`, for an o of its type.

    Args:
        u, half, k: float64, a point each.
        offsets: takes the smallest and the largest o (float64) of each of `count` origins from `first` that passes.

    Returns:
        (origins that pass, points looked at until each origin failed).
    """
    points = tuple(np.frombuffer(one, dtype=np.float64) for one in (u, half, k))
    k0 = first + np.arange(count, dtype=np.float64)
    anchor, unit = _anchor(points[0][0], _product(points[2][0] + k0, scale, size), size)
    least, most = np.full(count, -np.inf), np.full(count, np.inf)
    tests = 0
    for i in range(points[0].size):  # a point against all origins that are left
        if k0.size <= _FEW:
            break
        low, high = _room(points[0][i], points[1][i], _product(points[2][i] + k0, scale, size), anchor, unit)
        least, most = np.maximum(least, low), np.minimum(most, high)
        tests += k0.size
        alive = least <= most
        k0, anchor, unit, least, most = (one[alive] for one in (k0, anchor, unit, least, most))
    else:
        i = points[0].size
    found = 0
    out = np.frombuffer(offsets, dtype=np.float64)
    for j in range(k0.size):  # an origin against all points that are left
        product = _product(points[2][i:] + k0[j], scale, size)
        low, high = _room(points[0][i:], points[1][i:], product, anchor[j], unit[j])
        lows, highs = np.maximum.accumulate([least[j], *low]), np.minimum.accumulate([most[j], *high])
        fails = ~(lows <= highs)
        tests += int(np.argmax(fails)) if fails.any() else low.size
        if not fails.any():
            out[2 * found : 2 * found + 2] = anchor[j] + lows[-1] * unit[j], anchor[j] + highs[-1] * unit[j]
            found += 1
    return found, tests


def _product(k: Array, scale: float, size: int) -> Array:
    real = _REAL[size]
    return (k.astype(real) * real(scale)).astype(np.float64)  # type: ignore[no-any-return]


def _anchor(u: Array, product: Array, size: int) -> tuple[Array, Array]:
    """The offset that the first point asks for, and the unit in which offsets lie there."""
    anchor = (u - product).astype(_REAL[size]).astype(np.float64)
    exponent = np.frexp(np.maximum(np.abs(anchor), _LEAST))[1]
    return anchor, np.ldexp(1.0, exponent - (24 if size == 4 else 53))


def _room(u: Array, half: Array, product: Array, anchor: Array, unit: Array) -> tuple[Array, Array]:
    """The first and the last offset, in units from the anchor, that give u; exact, as all of it is near the anchor."""
    total = u - product
    part = total - u
    error = (u - (total - part)) + (-product - part)
    offset = (total - anchor) + error
    return np.ceil((offset - half) / unit), np.floor((offset + half) / unit)
