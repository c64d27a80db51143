"""The simplest number of an interval: fewest decimals, or fewest binary digits. Exact, the same on every platform."""

from __future__ import annotations

import math


def shortest_decimal(least: float, most: float) -> float:
    """The number of the fewest significant decimal digits near the middle of [least, most]; the middle if none fits."""
    middle = 0.5 * (least + most)
    for digits in range(1, 18):
        number = float(f"{middle:.{digits}g}")
        if least <= number <= most:
            return number
    return middle


def simplest_binary(least: float, most: float) -> float:
    """The multiple of the largest power of two in [least, most]."""
    if least <= 0.0 <= most:
        return 0.0
    exponent = math.frexp(max(abs(least), abs(most)))[1]
    for power in range(exponent, exponent - 64, -1):
        unit = math.ldexp(1.0, power)
        number = math.ceil(least / unit) * unit
        if least <= number <= most:
            return number
    return 0.5 * (least + most)
