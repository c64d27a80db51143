"""Arrays that codecs must take: every type, awkward bit patterns, and fields as models make them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdstudio.engine.model import DTYPES

Array = np.ndarray[Any, np.dtype[Any]]

ODD_FLOATS = (0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e20, -999.0)
KINDS = (
    "noise",
    "smooth",
    "few",
    "constant",
    "sparse",
    "ends",
    "holes",
    "odd",
    "decimal",
    "packed",
    "binary",
    "slope",
    "rounded",
)
SHAPES = ((1,), (2,), (7,), (1, 1), (3, 5), (16, 16), (1, 300), (300, 1), (37, 41), (5, 1100), (128, 128))


def field(kind: str, dtype: str, shape: tuple[int, ...], seed: int = 0) -> Array:
    """One array; `kind` says what it looks like, the same seed gives the same bits everywhere."""
    rng, real = np.random.default_rng(seed), np.dtype(dtype)
    count = int(np.prod(shape))
    noise = np.frombuffer(rng.bytes(count * real.itemsize), dtype=real).copy()
    steps = np.cumsum(rng.integers(-4, 5, count)) + np.arange(count) // 7
    if kind == "noise":  # of floats: NaN payloads, signalling ones, denormals
        values = noise
    elif kind == "smooth":
        values = _as(steps + np.round(20 * np.sin(np.arange(count) / 9)), real)
    elif kind == "few":
        values = noise[rng.integers(0, min(4, count), count)]
    elif kind == "constant":
        values = np.full(count, noise[0])
    elif kind == "sparse":
        values = np.where(rng.random(count) < 0.9, real.type(0), _as(np.abs(steps), real))
    elif kind == "ends":
        values = _as(steps, real)
        values[rng.integers(0, count, 1 + count // 9)] = _limits(real)[0]
        values[rng.integers(0, count, 1 + count // 9)] = _limits(real)[1]
    elif kind == "slope":
        values = _as(np.add.outer(np.arange(-(-count // 16)) ** 2, 3 * np.arange(16)).reshape(-1)[:count], real)
    else:
        values = _float_field(kind, real, steps, rng) if real.kind == "f" else _as(steps, real)
    return np.ascontiguousarray(values).astype(real).reshape(shape)


def _float_field(kind: str, real: np.dtype[Any], steps: Array, rng: np.random.Generator) -> Array:
    walk = np.cumsum(rng.normal(size=steps.size)) + 280
    if kind == "holes":
        return np.where(rng.random(steps.size) < 0.3, np.nan, walk).astype(real)
    if kind == "odd":
        odd = np.array(ODD_FLOATS)[rng.integers(0, len(ODD_FLOATS), steps.size)]
        return np.where(rng.random(steps.size) < 0.2, odd, walk).astype(real)
    if kind == "decimal":
        values = (np.round(100 * walk) / 100).astype(real)
        values[rng.integers(0, steps.size)] = -0.0
        return values
    if kind == "rounded":  # to few mantissa bits, both signs
        words = (walk - 280).astype(real).view(f"<u{real.itemsize}")
        return ((words >> words.dtype.type(12)) << words.dtype.type(12)).view(real)
    if kind == "packed":
        return (steps * 0.0013179950193703076 + 389.63283727841815).astype(real)
    return (np.round(walk * 16) / 16).astype(real)


def _as(values: Array, real: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):
        return values.astype(np.int64).astype(real)


def _limits(real: np.dtype[Any]) -> tuple[Any, Any]:
    limits = np.finfo(real) if real.kind == "f" else np.iinfo(real)
    return real.type(limits.min), real.type(limits.max)


def every_field(shapes: tuple[tuple[int, ...], ...] = SHAPES) -> list[tuple[str, Array]]:
    """A label and an array for each type, kind and shape."""
    return [
        (f"{kind} {dtype} {shape}", field(kind, dtype, shape, seed=index))
        for index, shape in enumerate(shapes)
        for dtype in DTYPES
        for kind in KINDS
    ]
