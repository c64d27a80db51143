"""The time coordinate of a variable: found, decoded, and made strictly increasing by the policy for repeated times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import Array, Dropped
from mdstudio.engine.times import TimeAxis, format_time
from mdstudio.sources.netcdf.attributes import json_attributes, text, units
from mdstudio.sources.netcdf.horizontal import NotOnAGridError
from mdstudio.sources.netcdf.roles import name_role, role_of
from mdstudio.sources.netcdf.times import decode_times, time_attributes, wrf_times
from mdstudio.sources.netcdf.view import FileView, Variable


@dataclass(frozen=True)
class Clock:
    """The times of one or more variables of a file.

    Attributes:
        name: of the time dimension or scalar coordinate; "" for data without times.
        dim: the time dimension, "" where there is none.
        microseconds: (time,) as in the file, repeats included.
        attributes: of the time coordinate, JSON-able.
    """

    name: str
    dim: str
    microseconds: Array
    calendar: str = "standard"
    attributes: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Dropped, ...] = ()

    @property
    def static(self) -> bool:
        return not self.name


NO_CLOCK = Clock("", "", np.zeros(1, np.int64))


def time_dims(view: FileView) -> frozenset[str]:
    """The dimensions of the file that are times: by their coordinate, by another time over them, or by their name."""
    found = set()
    for dim in view.sizes:
        own = view.coordinate(dim)
        over = [v for v in view.over(dim) if not v.kind and _is_time(v)]
        if over or (own is None and name_role(dim) == "time") or (own is not None and name_role(dim) == "time"
                                                                   and role_of(own) in ("", "time")):
            found.add(dim)
    return frozenset(found)


def _is_time(variable: Variable) -> bool:
    return role_of(variable) == "time"


def clock_of(view: FileView, variable: Variable, dims: frozenset[str]) -> Clock:
    """The clock of a variable; reads the time coordinate. Raises `NotOnAGridError` where it cannot be used."""
    mine = [d for d in variable.dims if d in dims]
    if len(mine) > 1:
        raise NotOnAGridError(f"more than one time dimension ({', '.join(mine)})")
    try:
        return _along(view, variable, mine[0]) if mine else _scalar(view, variable)
    except ValueError as error:
        raise NotOnAGridError(str(error)) from None


def _along(view: FileView, variable: Variable, dim: str) -> Clock:
    if view.sizes[dim] == 0:
        raise ValueError(f"no timesteps: '{dim}' is empty")
    own = view.coordinate(dim)
    named = [v for v in view.listed(variable, "coordinates", "time") if v.dims == (dim,) and not v.kind]
    others = [v for v in view.over(dim) if not v.kind]
    candidates = [v for v in ([own] if own is not None and not own.kind else []) + named + others if _is_time(v)]
    readable = [v for v in candidates if units(v.attributes)]
    written = [v for v in view.variables.values()
               if v.kind == "text" and v.name in ("Times", "xtime") and v.dims[:1] == (dim,)]
    if readable:
        found = _decode(readable[0], dim)
        return _as_written(found, readable[0], written[0]) if written else found
    reference, lead = (next((v for v in named + others if text(v.attributes, "standard_name") == name), None)
                       for name in ("forecast_reference_time", "forecast_period"))
    if reference is not None and lead is not None:
        return _forecast(reference, lead, dim)
    if written:
        steps = wrf_times(written[0].raw())
        return Clock(dim, dim, steps, attributes=json_attributes(written[0].attributes))
    if candidates:
        raise ValueError(f"its time '{candidates[0].path}' has no units")
    steps = np.arange(view.sizes[dim], dtype=np.int64) * 1_000_000
    return Clock(dim, dim, steps, notes=(Dropped(
        dim, "no times in the file: steps are numbered as seconds since 1970-01-01", len(steps)),))


def _decode(coordinate: Variable, dim: str) -> Clock:
    unit = units(coordinate.attributes)
    try:
        values = np.atleast_1d(coordinate.decoded())
        decoded = decode_times(values, unit, text(coordinate.attributes, "calendar"))
    except ValueError as error:
        raise ValueError(f"time axis '{coordinate.path}': {error}") from None
    notes = (Dropped(coordinate.path, decoded.note),) if decoded.note else ()
    return Clock(coordinate.path, dim, decoded.microseconds, decoded.calendar,
                 time_attributes(json_attributes(coordinate.attributes), unit), notes)


def _as_written(found: Clock, coordinate: Variable, written: Variable) -> Clock:
    """The same times as the file has them in letters, where its float32 numbers only round these (FVCOM, WRF)."""
    if coordinate.dtype != np.float32 or found.calendar not in ("standard", "proleptic_gregorian"):
        return found
    values = coordinate.decoded()
    try:
        told = wrf_times(written.raw())
        above = decode_times(np.nextafter(values, np.float32(np.inf)), units(coordinate.attributes), found.calendar)
    except ValueError:
        return found
    if told.shape != found.microseconds.shape or (abs(told - found.microseconds) >
                                                  abs(above.microseconds - found.microseconds)).any():
        return found
    changed = int((told != found.microseconds).sum())
    note = (Dropped(coordinate.path, f"float32 rounds its times: taken from '{written.path}' instead", changed),)
    return replace(found, microseconds=told, notes=(*found.notes, *note)) if changed else found


def _forecast(reference: Variable, lead: Variable, dim: str) -> Clock:
    """Valid time = reference time + lead time, where the file gives only these two."""
    start = _decode(reference, dim)
    step = decode_times(lead.decoded(), f"{units(lead.attributes)} since 1970-01-01", start.calendar)
    note = Dropped(dim, f"times are the sums of '{reference.path}' and '{lead.path}'")
    return Clock(dim, dim, start.microseconds + step.microseconds, start.calendar, start.attributes,
                 (*start.notes, note))


def _scalar(view: FileView, variable: Variable) -> Clock:
    named = [v for v in view.listed(variable, "coordinates") if v.shape in ((), (1,)) and not v.kind and _is_time(v)]
    if not named and not any(v.shape and _is_time(v) and not v.kind for v in view.variables.values()):
        named = [v for v in view.variables.values()
                 if v.shape == () and not v.kind and _is_time(v) and v.group == variable.group]
        named = named if len(named) == 1 else []
    return _decode(named[0], "") if named and units(named[0].attributes) else NO_CLOCK


def ordered(clock: Clock, policy: str, path: str) -> tuple[TimeAxis, Array, list[Dropped]]:
    """The time axis, the file's index of each of its steps, and what the policy dropped.

    Equal neighbours are repeats, of which the policy keeps the last or the first, or fails. A time before the one
    ahead of it is an axis that runs backwards: always refused, since nothing tells which run is meant. So is an axis
    that says the same time throughout. Raises `NotOnAGridError` with what and where.
    """
    times = clock.microseconds
    steps = np.diff(times)
    if clock.static:
        return TimeAxis.none(), np.zeros(1, np.int64), []
    if (steps < 0).any():
        at = int(np.flatnonzero(steps < 0)[0])
        earlier, later = (format_time(int(times[i]), clock.calendar) for i in (at + 1, at))
        raise NotOnAGridError(f"time axis '{clock.name}' runs backwards: step #{at + 1} ({earlier}) is before "
                              f"step #{at} ({later})", advice="Correct the times, or split the runs into files.")
    repeats = int((steps == 0).sum())
    if repeats and repeats == steps.size and repeats > 1:
        raise NotOnAGridError(f"time axis '{clock.name}' says {format_time(int(times[0]), clock.calendar)} for all "
                              f"{times.size} steps", advice="Correct the times in a copy of the file.")
    if repeats and policy == "fail":
        at = int(np.flatnonzero(steps == 0)[0])
        raise SourceError(f"Time axis '{clock.name}' repeats {format_time(int(times[at]), clock.calendar)} "
                          f"(steps #{at} and #{at + 1}), and TimePolicy is fail.", where=path)
    keep = np.concatenate([steps != 0, [True]]) if policy == "keep-last" else np.concatenate([[True], steps != 0])
    kept = np.flatnonzero(keep).astype(np.int64)
    notes = [Dropped(f"times of '{clock.name}'", f"repeated times ({policy})", repeats)] if repeats else []
    return TimeAxis(times[kept], clock.calendar), kept, notes
