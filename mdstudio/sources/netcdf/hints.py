"""How the floats of an item may have been made: candidates for the codec, which verifies each before it uses one."""

from __future__ import annotations

import math
import re

from mdstudio.engine.model import Hint
from mdstudio.sources.netcdf.attributes import number, text
from mdstudio.sources.netcdf.view import Variable

MULADD64, DIV64 = 1, 3
_DECIMALS = (2, 1, 3, 4)  # most common first; powers of two are the codec's own matter


def hints_of(variable: Variable, dtype: str) -> tuple[Hint, ...]:
    """Candidates in order of preference: what the attributes say, then plain decimals. None for integer items.

    k / 10^d and k * 10^-d differ in float64 only, so float32 items get the first alone.
    """
    if dtype not in ("float32", "float64"):
        return ()
    found = [*_from_digits(variable), *(h for d in _decimals(variable) for h in _decimal(d, dtype))]
    return tuple(dict.fromkeys(found))


def _from_digits(variable: Variable) -> list[Hint]:
    """netCDF4-python rounds to a power of two that keeps `least_significant_digit` decimals."""
    digits = number(variable.attributes, "least_significant_digit")
    if digits is None or not -9 <= float(digits) <= 9:
        return []
    bits = math.ceil(math.log2(10.0 ** float(digits)))
    return [Hint(MULADD64, 2.0 ** -bits)]


def _decimals(variable: Variable) -> list[int]:
    """Decimals that the file names (NCEP `precision`, EPIC `FORTRAN_format = "f10.2"`), then the usual ones."""
    told = []
    for name in ("least_significant_digit", "precision"):
        value = number(variable.attributes, name)
        if value is not None and 0 <= float(value) <= 9 and float(value).is_integer():
            told.append(int(value))
    match = re.match(r"[fF]\d+\.(\d)$", text(variable.attributes, "FORTRAN_format", "C_format"))
    if match:
        told.append(int(match.group(1)))
    return list(dict.fromkeys([*told, *_DECIMALS]))


def _decimal(digits: int, dtype: str) -> list[Hint]:
    division = Hint(DIV64, 10.0**digits)
    return [division] if dtype == "float32" else [division, Hint(MULADD64, float(f"1e-{digits}"))]
