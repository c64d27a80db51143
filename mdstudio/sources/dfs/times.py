"""The time axis of a dfs file: true time stamps for all four kinds of axis that the format has."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import Dropped
from mdstudio.engine.times import TimeAxis
from mdstudio.sources.dfs.library import reading

_EPOCH = np.datetime64("1970-01-01T00:00:00", "us")
RELATIVE = "times without a date: counted from 1970-01-01"
STATIC = "one time without a date: data without times"


def time_axis(file: Any, path: str) -> tuple[TimeAxis, list[Dropped]]:
    """The times of an open file in microseconds, each as the file says (never evened out), and notes.

    Cost: nothing for an equidistant axis; for others the first item of every step is read, since each step holds its
    own time. Raises `SourceError` for times that do not increase.
    """
    from mikecore.DfsFile import TimeAxisType

    axis = file.FileInfo.TimeAxis
    count = int(axis.NumberOfTimeSteps)
    kind = TimeAxisType(int(axis.TimeAxisType))
    if count < 1:
        raise SourceError("The file has no time steps.", where=path)
    calendar = kind in (TimeAxisType.CalendarEquidistant, TimeAxisType.CalendarNonEquidistant)
    with reading(path, "The times"):
        if kind in (TimeAxisType.CalendarEquidistant, TimeAxisType.TimeEquidistant):
            first = float(getattr(axis, "StartTimeOffset", 0.0))
            steps = first + float(axis.TimeStep) * np.arange(count)
        else:
            first = float(getattr(axis, "StartTimeOffset", 0.0))
            steps = first + np.array([_own_time(file, step, path) for step in range(count)])
        factor = float(axis.ToSeconds(1.0))
    start = np.datetime64(axis.StartDateTime, "us") if calendar else _EPOCH
    microseconds = (start - _EPOCH).astype(np.int64) + np.rint(steps * factor * 1e6).astype(np.int64)
    if not calendar and count == 1:
        return TimeAxis.none(), [Dropped("time", STATIC)]
    if count > 1 and int(np.diff(microseconds).min()) <= 0:
        at = int(np.argmax(np.diff(microseconds) <= 0)) + 1
        raise SourceError(f"The times do not increase: step {at} is not after step {at - 1}.", where=path)
    return TimeAxis(microseconds, "standard"), [] if calendar else [Dropped("time", RELATIVE)]


def _own_time(file: Any, step: int, path: str) -> float:
    data = file.ReadItemTimeStep(1, step)
    if data is None:
        raise SourceError(f"The file is damaged: time step {step} is not in it, though its header announces it.",
                          where=path, advice="It was cut off or not written to its end; fetch it again.")
    return float(data.Time)
