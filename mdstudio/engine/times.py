"""Time axes: microseconds since 1970-01-01 in the calendar that the data uses, 360_day and noleap kept as they are.

`standard` and `proleptic_gregorian` after 1582-10-15 are NumPy's own; every other calendar goes through cftime.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdstudio.engine.errors import NotFoundError, UsageError

CALENDARS = ("standard", "proleptic_gregorian", "noleap", "all_leap", "360_day", "julian")
_ALIASES = {"gregorian": "standard", "365_day": "noleap", "366_day": "all_leap", "": "standard"}
_EPOCH_UNITS = "microseconds since 1970-01-01 00:00:00"
_JULIAN_CYCLE = 1461 * 86400  # seconds of four Julian years
_YEAR_5 = -62009452800  # a little after 0005-01-01 in the Julian calendar, seconds since 1970-01-01
_GREGORIAN_START = -12219292800_000000  # 1582-10-15T00:00:00: before it, `standard` is Julian


def calendar_name(name: str) -> str:
    """The canonical CF calendar; raises `UsageError` for an unknown one."""
    lower = name.strip().lower()
    lower = _ALIASES.get(lower, lower)
    if lower not in CALENDARS:
        raise UsageError(f"Unknown calendar '{name}'; known are {', '.join(CALENDARS)}.")
    return lower


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The times of a dataset, strictly increasing.

    Attributes:
        microseconds: (time,) int64, microseconds since 1970-01-01T00:00:00 in `calendar`; no time zone (UTC).
        calendar: one of `CALENDARS`.
        static: True for data without a time dimension: one step, whose time means nothing.
    """

    microseconds: np.ndarray[Any, np.dtype[np.int64]]
    calendar: str = "standard"
    static: bool = False

    def __post_init__(self) -> None:
        values = np.ascontiguousarray(self.microseconds, dtype=np.int64)
        values.setflags(write=False)
        object.__setattr__(self, "microseconds", values)

    def __len__(self) -> int:
        return int(self.microseconds.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TimeAxis):
            return NotImplemented
        same = self.calendar == other.calendar and self.static == other.static
        return same and bool(np.array_equal(self.microseconds, other.microseconds))

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, part: slice) -> TimeAxis:
        return TimeAxis(self.microseconds[part], self.calendar, self.static)

    @classmethod
    def none(cls) -> TimeAxis:
        """The axis of data without times."""
        return cls(np.zeros(1, np.int64), "standard", static=True)

    def text(self, index: int) -> str:
        """ISO 8601 text of one step (`2095-02-30T00:00:00` in 360_day), fraction only when there is one."""
        return "" if self.static else format_time(int(self.microseconds[index]), self.calendar)

    def texts(self) -> list[str]:
        return [self.text(i) for i in range(len(self))]

    def key(self, index: int) -> str:
        """Name part of one step that is safe in a file name on every platform (`20950230T000000`)."""
        if self.static:
            return "static"
        text = self.text(index)
        sign = "n" if text.startswith("-") else ""
        return sign + re.sub(r"[-:+]", "", text)

    def step(self) -> int:
        """The fixed step in microseconds, or 0 when the axis is not equidistant or has fewer than two times."""
        if len(self) < 2:
            return 0
        steps = np.diff(self.microseconds)
        return int(steps[0]) if bool((steps == steps[0]).all()) else 0

    def find(self, text: str) -> int:
        """Index of `#0`, `#-1` or an ISO 8601 time; raises `NotFoundError` naming the nearest time.

        A time with a UTC offset (`Z`, `+02:00`) is converted to UTC.
        """
        if text.startswith("#"):
            try:
                index = int(text[1:])
            except ValueError:
                raise UsageError(f"'{text}' is no time index; write #0 for the first, #-1 for the last step.") from None
            if not -len(self) <= index < len(self):
                raise NotFoundError(f"There is no time {text}: the dataset has {len(self)} times.")
            return index % len(self)
        if self.static:
            raise NotFoundError(f"There is no time '{text}': the data has no times; use #0.")
        wanted = parse_time(text, self.calendar)
        at = int(np.searchsorted(self.microseconds, wanted))
        if at < len(self) and self.microseconds[at] == wanted:
            return at
        near = min((i for i in (at - 1, at) if 0 <= i < len(self)),
                   key=lambda i: abs(int(self.microseconds[i]) - wanted))
        raise NotFoundError(f"There is no time '{text}'; the nearest is {self.text(near)} (#{near}).")


def _native(microseconds: int, calendar: str) -> bool:
    return calendar == "proleptic_gregorian" or (calendar == "standard" and microseconds >= _GREGORIAN_START)


def format_time(microseconds: int, calendar: str) -> str:
    """ISO 8601 text of microseconds since 1970-01-01 in the calendar; years beyond 0-9999 carry their sign."""
    if _native(microseconds, calendar):
        seconds, fraction = divmod(microseconds, 1_000_000)
        text = str(np.datetime64(seconds, "s"))
        if text.startswith("-"):  # NumPy writes -953, ISO 8601 -0953
            year, rest = text[1:].split("-", 1)
            text = f"-{year:0>4}-{rest}"
    else:
        import cftime

        seconds, fraction = divmod(microseconds, 1_000_000)
        cycles = _cycles_before_year_1(seconds, calendar)
        d = cftime.num2date(seconds + cycles * _JULIAN_CYCLE, "seconds since 1970-01-01 00:00:00", calendar=calendar)
        year = d.year - 4 * cycles
        sign = "-" if year < 0 else ""
        text = f"{sign}{abs(year):04d}-{d.month:02d}-{d.day:02d}T{d.hour:02d}:{d.minute:02d}:{d.second:02d}"
    return f"{text}.{fraction:06d}".rstrip("0") if fraction else text


def _cycles_before_year_1(seconds: int, calendar: str) -> int:
    """Julian 4-year cycles that bring a time to the year 1 or later: cftime warns of years before it, and has no year 0
    where ISO 8601 does."""
    before = _YEAR_5 - seconds if calendar in ("standard", "julian") else 0
    return -(-before // _JULIAN_CYCLE) if before > 0 else 0


_TIME = re.compile(
    r"(?:(?P<basic>\d{8}(?!\d))|(?P<year>[+-]?\d{4,6})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?)?)"
    r"(?:[T ](?P<hour>\d{1,2})(?::?(?P<minute>\d{2})(?::?(?P<second>\d{2})(?:\.(?P<fraction>\d{1,6})0*)?)?)?)?"
    r"\s*(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?$", re.IGNORECASE)


def parse_time(text: str, calendar: str) -> int:
    """Microseconds since 1970-01-01 in the calendar; raises `UsageError` for text that is no time of it."""
    match = _TIME.match(text.strip())
    if not match:
        raise UsageError(f"'{text}' is no ISO 8601 time such as 2019-01-21T06:00:00, and no index such as #0.")
    part = match.groupdict()
    if part["basic"]:
        part |= {"year": part["basic"][:4], "month": part["basic"][4:6], "day": part["basic"][6:]}
    year, month, day, hour, minute, second = (
        int(part[k] or d) for k, d in
        (("year", 0), ("month", 1), ("day", 1), ("hour", 0), ("minute", 0), ("second", 0)))
    fraction = int((part["fraction"] or "").ljust(6, "0"))
    try:
        if calendar in ("standard", "proleptic_gregorian") and 1582 < year <= 9999:
            delta = datetime.datetime(year, month, day, hour, minute, second) - datetime.datetime(1970, 1, 1)
            value = (delta.days * 86400 + delta.seconds) * 1_000_000
        else:
            import cftime

            cycles = max(0, -(-(5 - year) // 4)) if calendar in ("standard", "julian") else 0
            date = cftime.datetime(year + 4 * cycles, month, day, hour, minute, second, calendar=calendar)
            value = int(cftime.date2num(date, _EPOCH_UNITS, calendar=calendar)) - cycles * _JULIAN_CYCLE * 1_000_000
    except (ValueError, OverflowError) as error:
        raise UsageError(f"'{text}' is no time of the calendar {calendar}: {error}") from None
    return value + fraction - _zone_offset(part["zone"])


def _zone_offset(zone: str | None) -> int:
    if not zone or zone.upper() in ("Z", "UTC"):
        return 0
    digits = zone[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return (-1 if zone[0] == "-" else 1) * minutes * 60_000_000
