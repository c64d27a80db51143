"""Inventory files beside a GRIB file: lines of wgrib2 (`.idx`) or of ECMWF (`.index`), compared with the messages.

They are never trusted: what they say is only held against what the file holds (R9).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mdstudio.engine.times import format_time
from mdstudio.sources.grib.fields import Field

MAX_INDEX = 64 << 20  # bytes; more is no inventory
_WGRIB2 = re.compile(r"^(\d+)(?:\.(\d+))?:(\d+):(?:d=(\d{10}))?")


@dataclass(frozen=True, slots=True)
class _Line:
    """What a line says of a message: "" and 0 where it says nothing."""

    offset: int
    length: int = 0
    date: str = ""
    name: str = ""
    member: str = ""


def disagreements(path: str, fields: Sequence[Field]) -> Iterator[str]:
    """One reason a line of an inventory beside the file, or a message without a line, that does not go with the other;
    nothing where there is no inventory.

    A missing line, an offset or a length at which no message lies, another reference time, name or member.
    """
    for index in (path + ".idx", os.path.splitext(path)[0] + ".idx", path + ".index",
                  os.path.splitext(path)[0] + ".index"):
        if index != path and os.path.isfile(index):
            yield from _against(index, fields)
            return


def _against(index: str, fields: Sequence[Field]) -> Iterator[str]:
    name = os.path.basename(index)
    try:
        lines = list(_lines(index))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        yield f"{name} is no inventory of messages: {error}"
        return
    at: dict[int, list[Field]] = {}
    for field in fields:
        at.setdefault(field.place.offset, []).append(field)
    seen = set()
    for number, line in enumerate(lines, 1):
        here = at.get(line.offset, [])
        seen.add(line.offset)
        if not here:
            yield f"{name} line {number} names a message at byte {line.offset}, where there is none"
        elif not any(not (said := _contradiction(line, f)) for f in here):
            yield f"{name} line {number} says {said} of the message at byte {line.offset}"
    for offset in at:
        if offset not in seen:
            yield f"{name} lacks the message at byte {offset}"


def _contradiction(line: _Line, field: Field) -> str:
    if line.length and line.length != field.place.length:
        return f"{line.length} bytes"
    reference = format_time(field.reference, "standard")
    if line.date and line.date != reference[:13].replace("-", "").replace("T", ""):
        return f"the date {line.date}"
    if line.name and not field.parameter.name.startswith("param_") and line.name != field.parameter.name:
        return f"the parameter {line.name}"
    return f"the member {line.member}" if line.member and line.member != str(field.member) else ""


def _lines(index: str) -> Iterator[_Line]:
    if os.path.getsize(index) > MAX_INDEX:
        raise ValueError("it is too large")
    with open(index, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            if text.strip():
                yield _json_line(text, number) if text.lstrip().startswith("{") else _wgrib2_line(text, number)


def _wgrib2_line(text: str, number: int) -> _Line:
    match = _WGRIB2.match(text)
    if match is None:
        raise ValueError(f"line {number} is none of wgrib2")
    return _Line(int(match.group(3)), date=match.group(4) or "")


def _json_line(text: str, number: int) -> _Line:
    try:
        said = json.loads(text)
        date = str(said.get("date", "")) + str(said.get("time", ""))[:2]
        return _Line(int(said["_offset"]), int(said.get("_length", 0)), date if len(date) == 10 else "",
                     str(said.get("param", "")), str(said.get("number", "")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"line {number} is none of ECMWF ({error})") from None
