"""Numbers as the application shows them: minus U+2212, thousands parted by a narrow no-break space, unit after a space.

For the screen only: JSON and CSV keep ASCII.
"""

from __future__ import annotations

import math

MINUS = "\u2212"
THIN = "\u202f"  # narrow no-break space: between thousands
SPACE = "\u00a0"  # no-break space: before a unit
DASH = "\u2014"  # unknown; never 0

_BYTES = ("B", "KB", "MB", "GB", "TB", "PB")


def count(value: int) -> str:
    """An integer: 6468 -> '6 468'."""
    text = f"{abs(value):,}".replace(",", THIN)
    return f"{MINUS}{text}" if value < 0 else text


def number(value: float, decimals: int | None = None, digits: int = 4) -> str:
    """A real number with fixed decimals, or with `digits` significant ones where none are given; '\u2014' for NaN."""
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return f"{MINUS}\u221e" if value < 0 else "\u221e"
    if decimals is None:
        size = abs(value)
        if size and not 1e-4 <= size < 1e7:
            mantissa, exponent = f"{size:.{digits - 1}e}".split("e")
            power = int(exponent)
            text = f"{mantissa.rstrip('0').rstrip('.')}e{MINUS if power < 0 else ''}{abs(power)}"
            return f"{MINUS}{text}" if value < 0 else text
        whole = math.floor(math.log10(size)) + 1 if size else 1
        decimals = max(0, digits - max(whole, 1)) if size >= 1 else max(0, digits - whole)
        text = f"{size:,.{decimals}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        text = f"{abs(value):,.{decimals}f}"
    text = text.replace(",", THIN)
    negative = value < 0 and any(c in "123456789" for c in text)
    return f"{MINUS}{text}" if negative else text


def size(value: float | None) -> str:
    """Bytes with their unit, powers of 1000: 26321 -> '26 KB', 1310000000 -> '1.31 GB'."""
    if value is None:
        return DASH
    amount, unit = float(value), 0
    while abs(amount) >= 999.5 and unit < len(_BYTES) - 1:
        amount, unit = amount / 1000, unit + 1
    decimals = 0 if unit == 0 or amount >= 99.95 else 1 if amount >= 9.995 or unit == 1 else 2
    return f"{number(amount, decimals)}{SPACE}{_BYTES[unit]}"


def megabytes(value: float | None) -> str:
    """Bytes in MB without the unit, one decimal, for table columns whose header says MB."""
    return DASH if value is None else number(value / 1e6, 1 if value >= 1e5 or not value else 3)


def ratio(stored: float | None, raw: float | None = 1.0) -> str:
    """Stored / raw in per cent: '24.6 %'; '\u2014' where either is unknown."""
    if stored is None or not raw:
        return DASH
    percent = 100 * stored / raw
    return f"{number(percent, 1 if percent >= 0.1 or not percent else 2)}{SPACE}%"


def duration(seconds: float | None) -> str:
    """A span of time: '41 ms', '3.1 s', '1 min 48 s', '2 h 05 min'."""
    if seconds is None or math.isnan(seconds) or math.isinf(seconds):
        return DASH
    if seconds < 0.9995:
        return f"{round(seconds * 1000)}{SPACE}ms"
    if seconds < 59.5:
        return f"{number(seconds, 1 if seconds < 9.95 else 0)}{SPACE}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}{SPACE}min {rest}{SPACE}s"
    hours, minutes = divmod(minutes, 60)
    return f"{count(hours)}{SPACE}h {minutes:02d}{SPACE}min"


def plural(number_of: int, singular: str, many: str = "") -> str:
    """'1 page', '284 pages'."""
    return f"{count(number_of)} {singular if number_of == 1 else many or singular + 's'}"


def cost(requests: int, size_bytes: int, seconds: float) -> str:
    """What a read cost: '3 requests · 212 KB · 41 ms'."""
    return f"{plural(requests, 'request')} · {size(size_bytes)} · {duration(seconds)}"
