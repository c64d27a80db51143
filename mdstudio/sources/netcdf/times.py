"""Times of a file to microseconds since 1970-01-01 in their own calendar, exactly: units as people write them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Array
from mdstudio.engine.times import calendar_name

_SECOND = 1_000_000
_DAY = 86400 * _SECOND
_UNITS = {
    **dict.fromkeys(("microsecond", "microsec", "us", "µs", "microseconds", "microsecs"), 1),
    **dict.fromkeys(("millisecond", "milliseconds", "msec", "msecs", "millisec", "millisecs", "ms"), 1000),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), _SECOND),
    **dict.fromkeys(("minute", "minutes", "min", "mins"), 60 * _SECOND),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), 3600 * _SECOND),
    **dict.fromkeys(("day", "days", "d"), _DAY),
    **dict.fromkeys(("week", "weeks"), 7 * _DAY),
    **dict.fromkeys(("common_year", "common_years"), 365 * _DAY),
}
_MONTHS = {**dict.fromkeys(("month", "months", "mon"), 1), **dict.fromkeys(("year", "years", "yr", "yrs"), 12)}
_SINCE = re.compile(r"\s*(?P<unit>[^\W\d]\w*)\s+(?:since|after|from)\s+(?P<date>.+)$", re.IGNORECASE)
_ABSOLUTE = re.compile(r"\s*days?\s+as\s+%Y%m%d(\.%f)?\s*$", re.IGNORECASE)
_DATE = re.compile(
    r"\s*(?:(?P<year>[+-]?\d{1,6})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?|(?P<compact>\d{8}))"
    r"(?:[T ]+\d+-\d+-\d+(?=[T ]))?"  # 3Di writes the date twice
    r"(?:[T ]\s*(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d*))?)?)?)?"
    r"\s*(?P<rest>.*)$")
_ZONE = re.compile(r"(?P<sign>[+-])(?P<hour>\d{1,2}):?(?P<minute>\d{2})?$")
_UTC = ("", "Z", "UTC", "GMT", "UT", "U C", "UTC.", "+0", "+00", "0:00")
_INT64 = 2.0**63 - 2.0**20


@dataclass(frozen=True)
class DecodedTimes:
    """Times in file order.

    Attributes:
        microseconds: (time,) int64 since 1970-01-01 in `calendar`.
        note: what had to be decided to read them; "" when nothing had.
    """

    microseconds: Array
    calendar: str
    note: str = ""


def decode_times(values: Array, unit: str, calendar: str) -> DecodedTimes:
    """Numbers (integer or floating, 1-D) with their CF units to microseconds.

    Integers and whole numbers are exact; fractions are rounded to the nearest microsecond. Months and years are
    calendar ones, as nearly every tool reads them, though UDUNITS makes a month a twelfth of a tropical year. Raises
    `ValueError` with the reason: unknown units or calendar, values that are missing or out of range.
    """
    try:
        name = calendar_name(calendar)
    except UsageError as error:
        raise ValueError(str(error)) from None
    if values.size and values.dtype.kind == "f" and not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"time #{bad} is missing")
    if _ABSOLUTE.match(unit):
        return DecodedTimes(_absolute(values, name), name)
    match = _SINCE.match(unit)
    if match is None:
        if unit.strip().lower() in _MONTHS and _MONTHS[unit.strip().lower()] == 1:
            start = (1, 1, 1, 0)
            return DecodedTimes(_months(values.astype(np.float64) - 1, start, name), name,
                                "months without a year: month 1 is taken as January of year 1")
        raise ValueError(f"its units '{unit}' are not those of a time (such as 'hours since 1970-01-01')")
    step, (date, remark) = match["unit"].lower(), parse_date(match["date"])
    if step in _MONTHS:
        notes = [remark, "months and years counted as calendar ones"]
        return DecodedTimes(_months(values.astype(np.float64) * _MONTHS[step], date, name), name,
                            "; ".join(n for n in notes if n))
    if step in ("nanosecond", "nanoseconds", "ns"):
        whole = values // 1000 if values.dtype.kind in "iu" else np.rint(values.astype(np.float64) / 1000)
        return DecodedTimes(_linear(whole, 1, _microseconds(date, name)), name, remark)
    if step not in _UNITS:
        raise ValueError(f"the unit '{match['unit']}' of its times is unknown")
    return DecodedTimes(_linear(values, _UNITS[step], _microseconds(date, name)), name, remark)


def parse_date(written: str) -> tuple[tuple[int, int, int, int], str]:
    """(year, month, day, microsecond of the day in UTC) of a reference date, and a remark on what was ignored.

    Raises `ValueError` for text that is no date.
    """
    match = _DATE.match(_day_first(written.strip().strip("'\"")))
    if match is None:
        raise ValueError(f"'{written}' is no reference date")
    part = match.groupdict()
    if part["compact"]:
        year, month, day = int(part["compact"][:4]), int(part["compact"][4:6]), int(part["compact"][6:])
    else:
        year, month, day = int(part["year"]), int(part["month"]), int(part["day"] or 1)
    seconds = int(part["hour"] or 0) * 3600 + int(part["minute"] or 0) * 60 + int(part["second"] or 0)
    within = seconds * _SECOND + int((part["fraction"] or "").ljust(6, "0")[:6])
    rest = part["rest"].strip()
    zone = _ZONE.match(rest)
    if zone is not None:
        offset = (int(zone["hour"]) * 60 + int(zone["minute"] or 0)) * 60 * _SECOND
        return (year, month, day, within - offset if zone["sign"] == "+" else within + offset), ""
    remark = "" if rest.upper() in _UTC else f"'{rest}' after the reference date is ignored"
    return (year, month, day, within), "UTC taken for 'U C'" if rest.upper() == "U C" else remark


def _day_first(written: str) -> str:
    """A date such as 01/01/1990 (TUFLOW FV) or 31/12/1999 year first, where only one reading is possible."""
    match = re.match(r"(\d{1,2})/(\d{1,2})/(\d{4})(?!\d)", written)
    if match is None:
        return written
    one, other, year = (int(part) for part in match.groups())
    if one != other and max(one, other) <= 12:
        raise ValueError(f"'{written}' may be two dates: day or month first")
    month, day = (other, one) if one > 12 else (one, other)
    return f"{year:04d}-{month:02d}-{day:02d}{written[match.end():]}"


def _linear(values: Array, unit: int, start: int) -> Array:
    if values.size and float(np.abs(values.astype(np.float64)).max()) * unit + abs(start) > _INT64:
        raise ValueError("its times are out of range")
    if values.dtype.kind in "iu":
        return values.astype(np.int64) * unit + start
    wide = values.astype(np.float64)
    whole = np.floor(wide)
    return whole.astype(np.int64) * unit + np.rint((wide - whole) * unit).astype(np.int64) + start


def _microseconds(date: tuple[int, int, int, int], calendar: str) -> int:
    """Of a date and the microsecond within its day, which may lie outside the day (time zones)."""
    import cftime

    year, month, day, within = date
    try:
        with _year_zero_allowed(year, calendar) as rule:
            at = cftime.datetime(year, month, day, calendar=calendar, **rule)
            days = cftime.date2num(at, "days since 1970-01-01", calendar=calendar, **rule)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{year}-{month}-{day} is no date of the calendar {calendar}: {error}") from None
    return round(float(days)) * _DAY + within


def _months(months: Array, date: tuple[int, int, int, int], calendar: str) -> Array:
    """Calendar months after a date; a fraction is that part of the month it falls in."""
    year, month, day, within = date
    found: dict[int, int] = {}

    def start_of(count: int) -> int:
        if count not in found:
            y, m = divmod(year * 12 + month - 1 + count, 12)
            found[count] = _microseconds((y, m + 1, min(day, _month_days(y, m + 1, calendar)), within), calendar)
        return found[count]

    out = np.empty(months.size, np.int64)
    for i, value in enumerate(months.tolist()):
        if abs(value) > 120_000:
            raise ValueError("its times are out of range")
        whole = int(np.floor(value))
        out[i] = start_of(whole)
        if value != whole:
            out[i] += round((value - whole) * (start_of(whole + 1) - start_of(whole)))
    return out


def _month_days(year: int, month: int, calendar: str) -> int:
    import cftime

    with _year_zero_allowed(year, calendar) as rule:
        return int(cftime.datetime(year, month, 1, calendar=calendar, **rule).daysinmonth)


@contextmanager
def _year_zero_allowed(year: int, calendar: str) -> Iterator[dict[str, bool]]:
    """The arguments with which cftime takes a year 0, which CF leaves out but climatologies use; no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield {"has_year_zero": True} if year <= 0 and calendar in ("standard", "julian") else {}


def _absolute(values: Array, calendar: str) -> Array:
    """Numbers such as 20010115.25 (`day as %Y%m%d.%f`)."""
    out = np.empty(values.size, np.int64)
    for i, value in enumerate(values.astype(np.float64).tolist()):
        whole = int(np.floor(value))
        date = (whole // 10000, whole // 100 % 100, whole % 100, round((value - whole) * _DAY))
        out[i] = _microseconds(date, calendar)
    return out


def wrf_times(characters: Array) -> Array:
    """`Times` of WRF and FVCOM, `2005-08-28_00:00:00` as characters (time, length) or strings, in `standard`.

    Raises `ValueError` for text that is no time.
    """
    out = np.empty(characters.shape[0], np.int64)
    for i, row in enumerate(characters):
        written = row if isinstance(row, str) else b"".join(np.atleast_1d(row).tolist()).decode("ascii", "replace")
        date, _ = parse_date(written.strip("\0 ").replace("_", " ").replace("T", " "))
        out[i] = _microseconds(date, "standard")
    return out


def time_attributes(attributes: Mapping[str, Any], unit: str) -> dict[str, Any]:
    """The attributes of the time coordinate, `units` among them also where the file calls it otherwise."""
    return {**attributes, **({} if "units" in attributes or not unit else {"units": unit})}
