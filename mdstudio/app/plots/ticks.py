"""Where an axis is labelled and how: numbers, degrees, kilometres. Pure, no Qt."""

from __future__ import annotations

import math
from collections.abc import Callable

from mdstudio.app.formats import MINUS, number

Tick = tuple[float, str]
TickMaker = Callable[[float, float, int], list[Tick]]  # low, high, most
Labeller = Callable[[float, int], str]  # value, decimals -> text


def _exponent(text: str) -> str:
    """`1.2e-05` as `1.2e−5`."""
    mantissa, _, power = text.partition("e")
    return f"{mantissa}e{int(power)}".replace("-", MINUS)


def spacing(low: float, high: float, most: int, nice: tuple[float, ...] = (1, 2, 5, 10)) -> float:
    """The smallest nice step that gives at most `most` ticks; 0 for an empty or endless interval."""
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return 0.0
    rough = span / max(1, most)
    if rough < 5e-308:
        return 0.0
    power = 10.0 ** math.floor(math.log10(rough))
    return next((n * power for n in nice if n * power >= rough * (1 - 1e-9)), nice[-1] * power)


def places(step: float) -> int:
    """Decimals that tell neighbouring ticks apart."""
    if step <= 0:
        return 2
    return max(0, -math.floor(math.log10(step) + 1e-9))


def positions(low: float, high: float, step: float) -> list[float]:
    """Multiples of the step from low to high."""
    if step <= 0:
        return [low]
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if last - first > 1000:
        return [low]
    return [n * step for n in range(first, last + 1)]


def number_ticks(low: float, high: float, most: int, scale: float = 1.0) -> list[Tick]:
    """Ticks in units of `scale` (1000: a metre axis labelled in kilometres)."""
    low_s, high_s = low / scale, high / scale
    step = spacing(low_s, high_s, most)
    largest = max(abs(low_s), abs(high_s))
    if largest and (largest >= 1e6 or largest < 1e-3):
        digits = max(0, math.floor(math.log10(largest)) - math.floor(math.log10(step) + 1e-9)) if step > 0 else 4
        return [(v * scale, _exponent(f"{v:.{digits}e}") if v else "0") for v in positions(low_s, high_s, step)]
    if most > 1 and len(positions(low_s, high_s, step)) < 2:
        step = spacing(low_s, high_s, 2 * most)  # one label says nothing of the scale
    if step <= 0:
        return [(low, number(low_s, digits=6))]
    decimals = places(step)
    return [(v * scale, number(v, decimals)) for v in positions(low_s, high_s, step)]


def degree_spacing(low: float, high: float, most: int) -> float:
    """Steps that divide the circle above one degree, decimal ones below."""
    span = (high - low) / max(1, most)
    for step in (1, 2, 5, 10, 15, 20, 30, 45, 60, 90):
        if 0.5 < span <= step:
            return float(step)
    return spacing(low, high, most) if span <= 0.5 else 90.0


def longitude_text(value: float, decimals: int = 0) -> str:
    """`120° W`; 0 and 180 carry no letter."""
    turned = (value + 180.0) % 360.0 - 180.0
    digits = f"{abs(turned):.{decimals}f}"
    if float(digits) in (0.0, 180.0):
        return f"{digits}°"
    return f"{digits}° {'E' if turned > 0 else 'W'}"


def latitude_text(value: float, decimals: int = 0) -> str:
    """`40° N`; the equator carries no letter."""
    digits = f"{abs(value):.{decimals}f}"
    if float(digits) == 0.0:
        return f"{digits}°"
    return f"{digits}° {'N' if value > 0 else 'S'}"


def degree_ticks(low: float, high: float, most: int, label: Labeller) -> list[Tick]:
    step = degree_spacing(low, high, most)
    return [(v, label(v, places(step))) for v in positions(low, high, step)]


def longitude_ticks(low: float, high: float, most: int) -> list[Tick]:
    return degree_ticks(low, high, most, longitude_text)


def latitude_ticks(low: float, high: float, most: int) -> list[Tick]:
    return [(v, t) for v, t in degree_ticks(low, high, most, latitude_text) if abs(v) <= 90.0]


def rotated_ticks(low: float, high: float, most: int) -> list[Tick]:
    """Degrees of a rotated pole: signed, no compass letter, since north there is not north."""
    return degree_ticks(low, high, most, lambda v, d: f"{number((v + 180.0) % 360.0 - 180.0, d)}°")


def index_ticks(low: float, high: float, most: int) -> list[Tick]:
    """Whole numbers only: rows and columns of a grid without usable coordinates, steps of a series."""
    step = max(1.0, spacing(low, high, most))
    return [(v, f"#{round(v)}") for v in positions(max(low, 0.0), high, step)]
