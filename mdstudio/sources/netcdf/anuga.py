"""Files of ANUGA (.sww): their time is in seconds since `starttime`, which no attribute of theirs says."""

from __future__ import annotations

from dataclasses import replace

from mdstudio.engine.times import format_time
from mdstudio.sources.netcdf.attributes import number, units
from mdstudio.sources.netcdf.view import FileView

_SIGNS = ("volumes", "x", "y", "time")


def with_times(view: FileView) -> FileView:
    """The same file with the units of its time told, where it is one of ANUGA; any other as it is.

    `starttime` counts seconds since 1970; without one the run starts then.
    """
    if any(name not in view.variables for name in _SIGNS) or units(view.variables["time"].attributes):
        return view
    start = number(view.attributes, "starttime")
    since = format_time(round(float(start) * 1e6) if start is not None else 0, "standard").replace("T", " ")
    time = view.variables["time"]
    time = replace(time, attributes={**time.attributes, "units": f"seconds since {since}", "standard_name": "time"})
    return replace(view, variables={**view.variables, "time": time})
