"""How CF says things in a NetCDF file: names, attributes, packing and times (engine values in, attributes out)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from mdstudio.engine.errors import MdError
from mdstudio.engine.model import Array, Item
from mdstudio.engine.times import TimeAxis, parse_time

# Of a source's attributes: those that name other variables, and those that say how numbers are packed: written anew.
NAMING = frozenset(["coordinates", "grid_mapping", "bounds", "climatology", "cell_measures", "ancillary_variables",
                    "formula_terms", "mesh", "location", "node_coordinates", "face_coordinates"])
PACKING = frozenset(["scale_factor", "add_offset", "_FillValue", "missing_value", "valid_min", "valid_max",
                     "valid_range", "_Unsigned"])
_STEPS = (("days", 86_400_000_000), ("hours", 3_600_000_000), ("minutes", 60_000_000), ("seconds", 1_000_000),
          ("milliseconds", 1000), ("microseconds", 1))  # the only units in which every time is a whole number
_SINCE = re.compile(r"\s*(\w+?)s?\s+since\s+(.+?)\s*$", re.IGNORECASE)
_SHORT = {"d": "day", "h": "hour", "hr": "hour", "min": "minute", "s": "second", "sec": "second", "ms": "millisecond",
          "msec": "millisecond", "us": "microsecond"}


class Names:
    """Names of variables and dimensions of one file, each given once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str, other: str = "value") -> str:
        """The name that is wanted as NetCDF can hold it; with a number where it is taken already."""
        base = re.sub(r"[\x00-\x1f\x7f/]", "_", wanted).strip()
        base = base if re.match(r"[\w]", base) else f"_{base}" if base else other
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name)
        return name


def set_attributes(target: Any, attributes: Mapping[str, Any], without: frozenset[str] = frozenset()) -> None:
    """Set the attributes that NetCDF can hold on a variable or file; others are left out."""
    for name, value in attributes.items():
        if name in without or name.startswith("_NC") or not re.match(r"[\w][^/]*$", name):
            continue
        if isinstance(value, bool):
            value = int(value)
        if isinstance(value, list):
            kinds = {type(part) for part in value}
            if not value or not (kinds == {str} or kinds <= {int, float}):
                continue
        elif not isinstance(value, str | int | float | np.generic | np.ndarray):
            continue
        if isinstance(value, int) and not -2**63 <= value < 2**64:
            continue
        target.setncattr(name, value)


def attribute_variable(
    file: Any, name: str, attributes: Mapping[str, Any], without: frozenset[str] = frozenset()
) -> None:
    """A variable that is there for its attributes (a grid mapping, the topology of a mesh); its number is 0, for one
    that is never written holds whatever was in memory."""
    variable = file.createVariable(name, "i4", fill_value=False)
    set_attributes(variable, attributes, without)
    variable[...] = 0


def fill_value(item: Item) -> Any:
    """The no-data value in the stored type; None where there is none, or one that the type cannot hold (P5)."""
    return None if item.no_data is None else _held(item.no_data, item.numpy)


def packing_attributes(item: Item) -> dict[str, Any]:
    """Scale, offset, further missing values and the valid range, each of the type that CF asks for."""
    found: dict[str, Any] = {}
    for name, number in (("scale_factor", item.scale), ("add_offset", item.offset)):
        if number is not None:
            found[name] = np.dtype(item.decoded).type(number)
    missing = [value for value in (_held(part, item.numpy) for part in item.missing) if value is not None]
    if missing:
        found["missing_value"] = missing[0] if len(missing) == 1 else np.array(missing, item.numpy)
    for name, limit in (("valid_min", item.valid_min), ("valid_max", item.valid_max)):
        value = None if limit is None else _held(limit, item.numpy)
        if value is not None:
            found[name] = value
    return found


def _held(value: float | int, dtype: np.dtype[Any]) -> Any:
    """A number in the stored type; None where it cannot hold it."""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return dtype.type(value)
    limits = np.iinfo(dtype)
    whole = value == value and limits.min <= value <= limits.max and value == int(value)
    return dtype.type(int(value)) if whole else None


def time_coordinate(times: TimeAxis, attributes: Mapping[str, Any]) -> tuple[Array, dict[str, Any]]:
    """(time,) int64 exact values, and the attributes of the time coordinate.

    In the source's own unit and since its own date where every time is a whole number then, else in the largest unit in
    which it is; since 1970 where the source's units are not understood.
    """
    step, date, start = _reference(str(attributes.get("units", "")), times.calendar)
    offsets = times.microseconds - start
    finest = [name for name, _ in _STEPS].index(step)
    unit, size = next((name, size) for name, size in _STEPS[finest:] if not (offsets % size).any())
    kept = {"standard_name": "time", "axis": "T"} | dict(attributes)
    if kept["standard_name"] != "time":  # the times were made of a reference time and what it is the reference of
        kept.pop("long_name", None)
    for dropped in NAMING | PACKING:
        kept.pop(dropped, None)
    values: Array = offsets // size
    return values, kept | {"standard_name": "time", "units": f"{unit} since {date}", "calendar": times.calendar}


def _reference(units: str, calendar: str) -> tuple[str, str, int]:
    """Unit, date as written and date [microseconds since 1970] of the units of a time."""
    match = _SINCE.match(units)
    if match:
        word = match[1].lower()
        step = _SHORT.get(word, word) + "s"
        try:
            if step in dict(_STEPS):
                return step, match[2], parse_time(match[2], calendar)
        except MdError:
            pass  # a date in a form of its own
    return "hours", "1970-01-01 00:00:00", 0
