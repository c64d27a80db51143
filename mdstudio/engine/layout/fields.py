"""Typed access to the fields of one JSON object, with errors that name the key, what was expected and what was found.

Non-finite floats, which JSON has no numbers for, are objects with one key: {"$float": "NaN"}, "Infinity", "-Infinity",
or "NaN:" and the 16 hex digits of the float64 for any NaN but the usual quiet one. Keys of free-form objects that begin
with "$" are written with one more "$".
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from mdstudio.engine.errors import DamagedDataError, UsageError

Json = Any
_QUIET_NAN = "7ff8000000000000"
_REQUIRED = object()
_MAX_DEPTH = 50


def encode_number(value: int | float | None) -> Json:
    """A number as JSON; exact to the bit, NaN payloads included."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if math.isinf(value):
        return {"$float": "Infinity" if value > 0 else "-Infinity"}
    bits = struct.pack(">d", value).hex()
    return {"$float": "NaN" if bits == _QUIET_NAN else f"NaN:{bits}"}


def encode_free(value: object, path: str = "attributes") -> Json:
    """A free-form value (attributes of a source) as JSON; NumPy scalars and arrays become numbers and lists.

    Raises `UsageError` naming the path for anything that JSON cannot hold.
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return encode_number(value)
    if isinstance(value, Mapping):
        return {_escape(str(key)): encode_free(part, f"{path}.{key}") for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [encode_free(part, f"{path}[{i}]") for i, part in enumerate(value)]
    raise UsageError(f"{path}: a {type(value).__name__} cannot be stored in the metadata.")


def _escape(key: str) -> str:
    return "$" + key if key.startswith("$") else key


def decode_free(value: Json) -> Any:
    """The inverse of `encode_free`; an unknown "$float" is kept as the object it is."""
    if isinstance(value, list):
        return [decode_free(part) for part in value]
    if not isinstance(value, dict):
        return value
    number = _special(value)
    if number is not None:
        return number
    return {key[1:] if key.startswith("$$") else key: decode_free(part) for key, part in value.items()}


def _special(value: Mapping[str, Json]) -> float | None:
    """The non-finite float that the object stands for, or None."""
    if len(value) != 1 or not isinstance(text := value.get("$float"), str):
        return None
    if text in ("NaN", "Infinity", "-Infinity"):
        return math.nan if text == "NaN" else float(text)
    if not text.startswith("NaN:") or len(text) != 20:
        return None
    try:
        number: float = struct.unpack(">d", bytes.fromhex(text[4:]))[0]
    except ValueError:
        return None
    return number if number != number else None


def to_bytes(document: Json, indent: int | None = 2) -> bytes:
    """JSON as UTF-8; text that is no Unicode (a source's broken attribute) is written with escapes."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(document, indent=indent, allow_nan=False).encode()


def from_bytes(data: bytes, where: str) -> dict[str, Json]:
    """The JSON object in the bytes; raises `DamagedDataError` saying where and why it is none."""
    def refuse(token: str) -> NoReturn:
        raise ValueError(f"{token} is no number that JSON can hold")

    def finite(token: str) -> float:
        return number if math.isfinite(number := float(token)) else refuse(token)

    try:
        document = json.loads(data.decode(), parse_constant=refuse, parse_float=finite)
    except (ValueError, RecursionError) as error:
        reason = "it is empty" if not data else "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise DamagedDataError(f"This is not readable JSON: {reason}.", where=where,
                               advice="Restore the file from a copy, or import the data again.") from None
    if not isinstance(document, dict):
        raise DamagedDataError(f"Expected a JSON object, found {_found(document)}.", where=where)
    if _depth(document) > _MAX_DEPTH:
        raise DamagedDataError(f"It is nested more than {_MAX_DEPTH} levels deep.", where=where)
    return document


def _depth(value: Json) -> int:
    level, parts = 0, [value]
    while parts and level <= _MAX_DEPTH + 1:
        level += 1
        parts = [inner for part in parts if isinstance(part, dict | list)
                 for inner in (part.values() if isinstance(part, dict) else part)]
    return level


def merged(raw: Json, known: Mapping[str, Json], names: frozenset[str]) -> dict[str, Json]:
    """The object to write: what is known now in place of what was, fields of other names as they stood (V8)."""
    out = {key: known.get(key, value) for key, value in raw.items() if key in known or key not in names} \
        if isinstance(raw, dict) else {}
    return out | {key: value for key, value in known.items() if key not in out}


def _found(value: Json) -> str:
    names = {dict: "an object", list: "a list", str: "the text", bool: "the flag", type(None): "null"}
    shown = "" if isinstance(value, dict | list) or value is None else f" {json.dumps(value)[:60]}"
    return names.get(type(value), "the number") + shown


class Fields:
    """Checked access to one JSON object; `path` and `where` (the blob) go into the errors."""

    def __init__(self, data: Json, path: str, where: str) -> None:
        self.path, self.where = path, where
        if not isinstance(data, dict):
            raise DamagedDataError(f"{path}: expected an object, found {_found(data)}.", where=where)
        self.data: dict[str, Json] = data

    def _name(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def damaged(self, key: str, expected: str) -> DamagedDataError:
        """The error for a field that holds something else than expected."""
        found = _found(self.data[key]) if key in self.data else "nothing"
        return DamagedDataError(f"{self._name(key)}: expected {expected}, found {found}.", where=self.where)

    def _get(self, key: str, default: object, expected: str) -> Json:
        value = self.data.get(key)
        if value is None:
            if default is _REQUIRED:
                raise self.damaged(key, expected)
            return default
        return value

    def text(self, key: str, default: Any = _REQUIRED) -> str:
        value = self._get(key, default, "a text")
        if value is not default and not isinstance(value, str):
            raise self.damaged(key, "a text")
        return value  # type: ignore[no-any-return]

    def choice(self, key: str, choices: Mapping[str, Any], default: Any = _REQUIRED) -> Any:
        """The value that a name stands for."""
        expected = "one of " + ", ".join(choices)
        value = self._get(key, default, expected)
        if value is default:
            return default
        if not isinstance(value, str) or value not in choices:
            raise self.damaged(key, expected)
        return choices[value]

    def flag(self, key: str, default: Any = _REQUIRED) -> bool:
        value = self._get(key, default, "true or false")
        if not isinstance(value, bool):
            raise self.damaged(key, "true or false")
        return value

    def integer(self, key: str, low: int, high: int, default: Any = _REQUIRED) -> Any:
        expected = f"a whole number from {low} to {high}"
        value = self._get(key, default, expected)
        if value is default:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.damaged(key, expected)
        return value

    def number(self, key: str, default: Any = _REQUIRED) -> Any:
        """An int or float, as it stands; non-finite ones included."""
        value = self._get(key, default, "a number")
        if value is default:
            return default
        number = _number(value)
        if number is None:
            raise self.damaged(key, "a number")
        return number

    def numbers(self, key: str, default: Any = _REQUIRED) -> tuple[int | float, ...]:
        values = [_number(value) for value in self.items(key, default)]
        if None in values:
            raise self.damaged(key, "a list of numbers")
        return tuple(value for value in values if value is not None)

    def items(self, key: str, default: Any = _REQUIRED) -> list[Json]:
        value = self._get(key, default, "a list")
        if isinstance(value, tuple):
            return list(value)
        if not isinstance(value, list):
            raise self.damaged(key, "a list")
        return value

    def object(self, key: str) -> Fields:
        """A nested object that must be there."""
        if not isinstance(self.data.get(key), dict):
            raise self.damaged(key, "an object")
        return Fields(self.data[key], self._name(key), self.where)

    def objects(self, key: str, default: Any = _REQUIRED) -> list[Fields]:
        values = self.items(key, default)
        return [Fields(value, f"{self._name(key)}[{i}]", self.where) for i, value in enumerate(values)]

    def free(self, key: str) -> dict[str, Any]:
        """A free-form object ({} where there is none), decoded."""
        value = self._get(key, {}, "an object")
        if not isinstance(value, dict):
            raise self.damaged(key, "an object")
        decoded = decode_free(value)
        return decoded if isinstance(decoded, dict) else {}


def _number(value: Json) -> int | float | None:
    if isinstance(value, dict):
        return _special(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return None if isinstance(value, int) and not -(2**63) <= value < 2**64 else value
