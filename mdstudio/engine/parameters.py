"""The import parameters (D11): their names, types, limits and descriptions, from `resources/parameters.json`.

A parameter is given as {"name", "value"} in the lists `writerParameters` and `readerParameters`; the GUI, `--help` and
the documentation show the descriptions that are listed there.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from mdstudio.engine.errors import UsageError
from mdstudio.resources import resource

Which = Literal["writer", "reader"]
Listed = Literal["writer", "reader", "environment"]  # the last: variables that no list of parameters can give
Value = str | int | bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """One import parameter.

    Attributes:
        type: "choice" (a text out of `choices`), "integer" (`minimum` to `maximum`) or "flag" (true, false).
        default: the value where it is not given; None where that depends on the data or the environment.
        recommended: the value to suggest; None where the default is as good (D13).
        unit: what a number counts; "" for others.
        otherwise: in words, what is taken where it is not given and there is no fixed default.
        environment: the variables that hold its default (D1).
    """

    name: str
    which: Listed
    type: Literal["choice", "integer", "flag"]
    description: str
    default: Value | None = None
    recommended: Value | None = None
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = 0
    unit: str = ""
    otherwise: str = ""
    environment: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        if self.type == "choice":
            return "one of " + ", ".join(self.choices)
        if self.type == "flag":
            return "true or false"
        unbounded = self.minimum < -1_000_000  # what is out of bounds depends on the storage type
        return "a whole number" if unbounded else f"a whole number from {self.minimum} to {self.maximum}"

    @property
    def default_text(self) -> str:
        """What is taken where it is not given, in words."""
        return self.otherwise if self.default is None else _text(self.default)

    @property
    def takes(self) -> str:
        """One sentence for all who show parameters: what a value must be, of what unit, its default and where that
        comes from, what is recommended."""
        parts = [f"{self.expected} ({self.unit})" if self.unit else self.expected, f"default: {self.default_text}"]
        parts += [f"environment: {', '.join(self.environment)}"] if self.environment else []
        parts += [] if self.recommended is None else [f"recommended {_text(self.recommended)}"]
        return "; ".join(parts) + "."

    def parse(self, value: object) -> Value:
        """The value in its type, from JSON or from the text of a command line; raises `UsageError`."""
        parsed = self._parse(value)
        if parsed is None:
            close = difflib.get_close_matches(str(value), self.choices, 1)
            hint = f"Did you mean {close[0]}?" if close else ""
            raise UsageError(f"{self.name} is {_shown(value)}; it must be {self.expected}.", advice=hint)
        return parsed

    def _parse(self, value: object) -> Value | None:
        if self.type == "choice":
            return value if isinstance(value, str) and value in self.choices else None
        if self.type == "flag":
            text = value.strip().lower() if isinstance(value, str) else value
            return {True: True, "true": True, "yes": True, False: False, "false": False, "no": False}.get(text) \
                if isinstance(text, str | bool) else None
        if isinstance(value, str):
            value = int(value) if value.strip().lstrip("+-").isdecimal() and len(value) < 20 else None
        whole = isinstance(value, int) and not isinstance(value, bool) and self.minimum <= value <= self.maximum
        return value if whole else None  # type: ignore[return-value]


@cache
def parameters(which: Listed) -> Mapping[str, Parameter]:
    """The parameters of the writer or the reader, or what the environment alone can set, by name, in the order in which
    they are shown."""
    entries = json.loads(resource("parameters.json").read_text("utf-8"))
    return {entry["name"]: _parameter(entry) for entry in entries if entry["for"] == which}


def _parameter(entry: Mapping[str, Any]) -> Parameter:
    known: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in entry.items() if key != "for"}
    return Parameter(which=entry["for"], **known)


def parse_parameters(values: Sequence[Mapping[str, Any]], which: Which) -> dict[str, Value]:
    """{name: value} of a list of {"name", "value"}, checked and in their types; those not given are left out.

    Raises `UsageError` for an unknown name (with the nearest known one), one given twice, or a value that does not fit.
    """
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise UsageError(f'The {which} parameters must be a list of {{"name": ..., "value": ...}}.')
    parsed: dict[str, Value] = {}
    for entry in values:
        if not isinstance(entry, Mapping) or set(entry) != {"name", "value"} or not isinstance(entry["name"], str):
            raise UsageError(f'A {which} parameter must be {{"name": ..., "value": ...}}, not {_shown(entry)}.')
        name = entry["name"]
        parameter = parameters(which).get(name)
        if parameter is None:
            raise _unknown(name, which)
        if name in parsed:
            raise UsageError(f"The {which} parameter {name} is given twice.")
        parsed[name] = parameter.parse(entry["value"])
    return parsed


def _unknown(name: str, which: Which) -> UsageError:
    names = {known.lower(): known for known in parameters(which)}
    close = difflib.get_close_matches(name.lower(), names, 1, cutoff=0.0)
    nearest = names[close[0]] if close else next(iter(names.values()))
    other: Which = "reader" if which == "writer" else "writer"
    if name in parameters(other):
        return UsageError(f"{name} is a {other} parameter, not a {which} parameter.",
                          advice=f"Give it among the {other} parameters.")
    return UsageError(f"There is no {which} parameter '{name}'; the nearest is {nearest}.",
                      advice=f"Known are {', '.join(names.values())}.")


def _shown(value: object) -> str:
    return repr(value)[:60]


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
