"""Attributes as people write them: names in any case, numbers as text, JSON-able copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def json_able(value: Any) -> Any:
    """A copy of an attribute value in plain Python types; float32 numbers become the float64 of the same value."""
    if isinstance(value, np.ndarray):
        return [json_able(v) for v in value.tolist()]
    if isinstance(value, list | tuple):
        return [json_able(v) for v in value]
    if isinstance(value, np.generic):
        return json_able(value.item())
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, bool | int | float) or value is None:
        return value
    return str(value)


def json_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """All attributes, JSON-able, under their own names."""
    return {name: json_able(value) for name, value in attributes.items()}


def text(attributes: Mapping[str, Any], *names: str) -> str:
    """The first of these attributes that is there, stripped; "" when none is. Names are compared without case."""
    for name in names:
        value = attributes.get(name)
        if value is None:
            value = next((v for k, v in attributes.items() if k.lower() == name.lower()), None)
        if isinstance(value, str):
            return value.strip()
        if value is not None and np.ndim(value) == 0:
            return str(value)
    return ""


def units(attributes: Mapping[str, Any]) -> str:
    """The units, also when written `Unit` or `UNITS`."""
    return text(attributes, "units", "unit")


def numbers(attributes: Mapping[str, Any], name: str) -> list[np.generic]:
    """The numbers of an attribute, one or several, each with the type it is stored with; text is read as float64.

    Text that is no number gives none.
    """
    value = attributes.get(name)
    if value is None:
        return []
    if isinstance(value, str | bytes):
        plain = value.decode("latin-1") if isinstance(value, bytes) else value
        try:
            return [np.float64(part) for part in plain.replace(",", " ").split()]
        except ValueError:
            return []
    if isinstance(value, list):  # several strings
        return [n for part in value for n in numbers({name: part}, name)]
    array = np.atleast_1d(np.asarray(value))
    return list(array.ravel()) if array.dtype.kind in "iuf" else []


def number(attributes: Mapping[str, Any], name: str) -> np.generic | None:
    """The first number of an attribute, or None."""
    found = numbers(attributes, name)
    return found[0] if found else None


def names_in(attributes: Mapping[str, Any], name: str) -> list[str]:
    """The words of a list of names such as `coordinates = "lat lon"`."""
    value = attributes.get(name)
    return value.replace(",", " ").split() if isinstance(value, str) else []
