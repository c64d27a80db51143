"""Labels of time axes in the data's own calendar: 30 February of a 360-day year is a day like any other. No Qt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mdstudio.engine.errors import UsageError
from mdstudio.engine.times import TimeAxis, format_time, parse_time

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86400 * SECOND
MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_FIXED = (SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE,
          30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 5 * DAY, 10 * DAY)
_MONTHS = (1, 2, 3, 6)
_YEARS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


@dataclass(frozen=True, slots=True)
class Moment:
    """A time taken apart."""

    year: int
    month: int
    day: int
    clock: str  # "06:00:00", with a fraction where there is one

    @property
    def midnight(self) -> bool:
        return self.clock == "00:00:00"


def moment(microseconds: int, calendar: str) -> Moment:
    text = format_time(microseconds, calendar)
    date, _, clock = text.partition("T")
    year, month, day = date.rsplit("-", 2)
    return Moment(int(year), int(month), int(day), clock)


def time_label(times: TimeAxis, index: int) -> str:
    """`21 Jan 2019`, `21 Jan 2019 06:00`, with seconds only where the axis has some; "no time" for static data."""
    if times.static:
        return "no time"
    whole = _whole_seconds(times)
    at = moment(int(whole[index]), times.calendar)
    day = f"{at.day} {MONTH_NAMES[at.month - 1]} {at.year}"
    if bool((whole % DAY == whole[0] % DAY).all()) and at.midnight:
        return day
    if bool((whole % MINUTE == 0).all()):
        return f"{day} {at.clock[:5]}"
    return f"{day} {at.clock}"


def _whole_seconds(times: TimeAxis) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The times for labels: the few microseconds that hours and days as floats are off by are left out."""
    near = (times.microseconds + SECOND // 2) // SECOND * SECOND
    return np.where(np.abs(near - times.microseconds) <= 2000, near, times.microseconds)


def time_ticks(low: float, high: float, most: int, calendar: str) -> list[tuple[float, str]]:
    """At most about `most` ticks between two times in microseconds, labelled as short as they can be told apart."""
    span = high - low
    if not span > 0 or most < 1:
        at = moment(int(low), calendar)
        return [(low, f"{at.day} {MONTH_NAMES[at.month - 1]} {at.year}")]
    step = next((s for s in _FIXED if span / s <= most), 0)
    if step:
        return list(_fixed_ticks(int(low), int(high), step, calendar))
    month = 365 * DAY // 12
    months = next((m for m in _MONTHS if span / (m * month) <= most), 0)
    years = 1 if months else next((y for y in _YEARS if span / (y * 12 * month) <= most), _YEARS[-1])
    return list(_calendar_ticks(int(low), int(high), months or 12 * years, calendar))


def ticks_that_fit(times: TimeAxis, place: Callable[[float], float], width: Callable[[str], float], room: float,
                   gap: float = 14.0) -> list[tuple[float, str]]:
    """(x, label) over an axis of steps: as many as stand beside each other, evenly, none left out between two.

    `place` gives the x of a step, `width` that of a label; a label begins at its tick and ends before `room`.
    """
    if times.static or len(times) < 2:
        return []
    microseconds = times.microseconds.astype(np.float64)
    steps = np.arange(microseconds.size)
    most = min(len(times), max(1, int(room / 40)))
    while True:
        made = time_ticks(microseconds[0], microseconds[-1], most, times.calendar)
        ticks = [(place(float(np.interp(at, microseconds, steps))), text) for at, text in made]
        fits = all(x + width(text) + gap <= after for (x, text), (after, _) in pairwise(ticks))
        if fits or most == 1:
            shown = ticks if fits else ticks[:1]
            return [(x, text) for x, text in shown if x + width(text) <= room]
        most = max(1, min(most - 1, len(made) - 1))


def _fixed_ticks(low: int, high: int, step: int, calendar: str) -> Iterator[tuple[float, str]]:
    origin = low - low % DAY  # midnight in every calendar
    if step > DAY:  # steps of days begin with the month
        at = moment(origin, calendar)
        origin -= (at.day - 1) * DAY
    tick = origin + -(-(low - origin) // step) * step
    named = None
    while tick <= high:
        at = moment(tick, calendar)
        day = (at.year, at.month, at.day)
        if step >= DAY or (at.midnight and day != named):
            first = named is None or named[0] != at.year
            yield float(tick), f"{at.day} {MONTH_NAMES[at.month - 1]}" + (f" {at.year}" if first else "")
        else:
            first = named is None
            clock = at.clock[:5] if step >= MINUTE else at.clock
            yield float(tick), f"{at.day} {MONTH_NAMES[at.month - 1]} {clock}" if first else clock
        named = day
        tick += step


def _calendar_ticks(low: int, high: int, months: int, calendar: str) -> Iterator[tuple[float, str]]:
    start = moment(low, calendar)
    count = start.year * 12 + start.month - 1
    count -= count % months
    first = True
    while True:
        year, month = divmod(count, 12)
        try:
            tick = parse_time(f"{'-' if year < 0 else ''}{abs(year):04d}-{month + 1:02d}-01", calendar)
        except UsageError:
            return
        if tick > high:
            return
        if tick >= low:
            if months >= 12:
                yield float(tick), str(year)
            else:
                named = first or month < months
                yield float(tick), MONTH_NAMES[month] + (f" {year}" if named else "")
            first = False
        count += months
