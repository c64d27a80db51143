"""How the values of a variable are stored: type, scale, no-data codes, valid range: all in the stored domain.

Nothing is inferred: only what the file's attributes say is no data (cases 1 and 3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdstudio.engine.model import Dropped
from mdstudio.sources.netcdf.attributes import number, numbers, text
from mdstudio.sources.netcdf.view import Variable


@dataclass(frozen=True)
class Encoding:
    """The storage facts of an item, named as in `engine.model.Item`."""

    dtype: str
    no_data: int | float | None = None
    missing: tuple[int | float, ...] = ()
    valid_min: int | float | None = None
    valid_max: int | float | None = None
    scale: float | None = None
    offset: float | None = None
    decoded: str = "float64"


def stored_type(variable: Variable) -> np.dtype[Any]:
    """The type of the stored values, `_Unsigned` taken into account both ways (NUG)."""
    dtype, unsigned = variable.dtype, text(variable.attributes, "_Unsigned").lower()
    if unsigned == "true" and dtype.kind == "i":
        return np.dtype(f"u{dtype.itemsize}")
    if unsigned == "false" and dtype.kind == "u":
        return np.dtype(f"i{dtype.itemsize}")
    return dtype


def encoding_of(variable: Variable, double_as_float: bool) -> tuple[Encoding, list[Dropped]]:
    """The encoding, and notes: on attributes that say what the stored type cannot hold, on several missing markers.

    With `double_as_float` a float64 variable is described as float32, its codes and limits rounded alike (W4).
    """
    attributes, stored = variable.attributes, stored_type(variable)
    target = np.dtype("f4") if double_as_float and stored == np.dtype("f8") else stored
    scale, offset = number(attributes, "scale_factor"), number(attributes, "add_offset")
    notes: list[Dropped] = []
    codes: list[int | float] = []
    for name in ("_FillValue", "missing_value"):
        for value in numbers(attributes, name):
            code = _code(value, stored, target)
            if code is None:
                notes.append(Dropped(variable.path, f"{name} {value} cannot occur in {stored.name} values"))
            elif not any(_same(code, c) for c in codes):
                codes.append(code)
    if len(codes) > 1:
        listed = ", ".join(f"{code:g}" if isinstance(code, float) else str(code) for code in codes)
        notes.append(Dropped(variable.path, f"several values mean no data, {listed}: each is kept and shown as such"))
    low, high = _valid(variable, stored, target, scale, offset)
    return Encoding(
        target.name, codes[0] if codes else None, tuple(codes[1:]), low, high,
        None if scale is None else float(scale), None if offset is None else float(offset),
        _decoded(target, scale, offset)), notes


def _decoded(stored: np.dtype[Any], scale: np.generic | None, offset: np.generic | None) -> str:
    types = [n.dtype for n in (scale, offset) if n is not None]
    if not types:
        return "float32" if stored == np.dtype("f4") else "float64"
    return "float32" if all(t == np.dtype("f4") for t in types) and stored != np.dtype("f8") else "float64"


def _same(a: int | float, b: int | float) -> bool:
    return a == b or (a != a and b != b)


def _code(value: np.generic, stored: np.dtype[Any], target: np.dtype[Any]) -> int | float | None:
    """An attribute's number as a stored value, None when no stored value equals it."""
    if stored.kind == "f":
        with np.errstate(over="ignore"):
            return float(np.asarray(value).astype(stored).astype(target)[()])
    if not math.isfinite(value) or float(value) != math.floor(float(value)):
        return None
    whole, limits = int(value), np.iinfo(stored)
    if stored.kind == "u" and whole < 0 and value.dtype.itemsize <= stored.itemsize:
        whole += 1 << (8 * stored.itemsize)  # the attribute has the signed type of the file's own variable
    if stored.kind == "i" and whole > limits.max and _stands_for_signed(value, stored):
        whole -= 1 << (8 * stored.itemsize)
    return whole if limits.min <= whole <= limits.max else None


def _stands_for_signed(value: np.generic, stored: np.dtype[Any]) -> bool:
    """True where an unsigned attribute of the same size stands for a signed value (`_Unsigned = "false"`)."""
    return value.dtype.kind == "u" and value.dtype.itemsize == stored.itemsize


def _valid(variable: Variable, stored: np.dtype[Any], target: np.dtype[Any], scale: np.generic | None,
           offset: np.generic | None) -> tuple[int | float | None, int | float | None]:
    """The valid range in stored numbers. Limits of a packed variable are stored numbers unless they are of a floating
    type and the values are integers: then they speak of unpacked values (CF 2.5.1, NUG)."""
    attributes: Mapping[str, Any] = variable.attributes
    limits: list[np.generic | None] = [number(attributes, "valid_min"), number(attributes, "valid_max")]
    both = numbers(attributes, "valid_range")
    if len(both) == 2:
        limits = list(both)
    packed = (scale is not None or offset is not None) and stored.kind in "iu"
    if packed and any(v is not None and v.dtype.kind == "f" for v in limits):
        return _unpacked_limits(limits, stored, float(1 if scale is None else scale), float(offset or 0))
    low, high = (None if v is None or v != v else _limit(v, stored, target) for v in limits)
    return low, high


def _limit(value: np.generic, stored: np.dtype[Any], target: np.dtype[Any]) -> int | float | None:
    code = _code(value, stored, target)
    return code if code is not None else float(value)  # a limit between or beyond the stored values still compares


def _unpacked_limits(limits: list[np.generic | None], stored: np.dtype[Any], scale: float,
                     offset: float) -> tuple[int | float | None, int | float | None]:
    """The stored numbers whose decoded values just reach the limits; None where all of them do."""
    if not scale or not math.isfinite(scale) or not math.isfinite(offset):
        return None, None
    span = np.iinfo(stored)
    found: list[int | None] = []
    for value, is_low in zip(limits, (True, False), strict=True):
        if value is None or not math.isfinite(float(value)):
            found.append(None)
            continue
        wanted, inward = float(value), 1 if is_low == (scale > 0) else -1
        k = (wanted - offset) / scale
        if not span.min - 2 < k < span.max + 2:
            outside_all = (k > span.max) == (inward > 0)
            found.append((span.max if inward > 0 else span.min) if outside_all else None)
            continue
        code = math.ceil(k) if inward > 0 else math.floor(k)
        for _ in range(2):  # the division above is off by less than this
            if _reaches(code - inward, scale, offset, wanted, is_low):
                code -= inward
            elif not _reaches(code, scale, offset, wanted, is_low):
                code += inward
        found.append(code if span.min <= code <= span.max else None)
    low, high = found
    return (low, high) if scale > 0 else (high, low)


def _reaches(code: int, scale: float, offset: float, limit: float, is_low: bool) -> bool:
    value = code * scale + offset
    return value >= limit if is_low else value <= limit
