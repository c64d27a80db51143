"""Units as a person writes them: `kg m**-2`, `kg m-2` and `kg m^-2` all read `kg m⁻²`. For the screen only; no Qt."""

from __future__ import annotations

import re

_POWER = re.compile(r"^([A-Za-zµΩ°]+)(?:\*\*|\^)?([-+]?\d)$")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NAMES = {
    "degc": "°C", "deg_c": "°C", "celsius": "°C", "degree_celsius": "°C", "degrees_celsius": "°C", "degree_c": "°C",
    "degrees_c": "°C", "degk": "K", "kelvin": "K", "degree": "°", "degrees": "°", "degree_true": "°", "percent": "%",
    "1": "", "(0 - 1)": "", "none": "", "dimensionless": "",
}


def unit_text(unit: str) -> str:
    """A unit for labels; "" for pure numbers. A unit that is not understood stays as it is."""
    plain = unit.strip()
    known = _NAMES.get(plain.lower().replace(" ", "_"), _NAMES.get(plain.lower()))
    if known is not None:
        return known
    return " ".join(_raised(part) for part in plain.split())


def _raised(part: str) -> str:
    match = _POWER.match(part)
    return match[1] + match[2].lstrip("+").translate(_RAISED) if match else part
