"""From what a user names to a source: the one place that knows every family of files."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from typing import Any

from mdstudio.engine.errors import NotFoundError, SourceError, UnsupportedError, UsageError
from mdstudio.sources.contract import Source
from mdstudio.sources.netcdf.times import policy_name

READER_PARAMETERS = ("DoubleAsFloat", "TimePolicy")  # described in resources/parameters.json


def open_source(locations: Sequence[str], reader_parameters: Mapping[str, Any] | None = None) -> Source:
    """Open files as one thing to import; describes them at once, reads no data.

    `locations` are paths, or patterns such as `run_*.nc` where the shell has not expanded them (Windows). Raises
    `UsageError` for parameters, `NotFoundError`, `AccessError` and `SourceError` naming the file and the reason.
    """
    parameters = dict(reader_parameters or {})
    unknown = [name for name in parameters if name not in READER_PARAMETERS]
    if unknown:
        raise UsageError(f"Unknown reader parameter '{unknown[0]}'; known are {', '.join(READER_PARAMETERS)}.")
    policy = policy_name(parameters.get("TimePolicy", "keep-last"))
    paths = [path for location in locations for path in _paths(location)]
    if not paths:
        raise UsageError("No source is named.")
    from mdstudio.sources.netcdf import open_netcdf

    return open_netcdf(paths, policy, double_as_float=_flag(parameters.get("DoubleAsFloat", False)))


def _paths(location: str) -> list[str]:
    location = os.fspath(location)
    if "://" in location:
        raise UnsupportedError("Sources are read from files on this computer.", where=location.partition("?")[0],
                               advice="Copy the file here first.")
    if os.path.exists(location) or not glob.has_magic(location):
        return [location]
    found = sorted(p for p in glob.glob(location) if not os.path.isdir(p))
    if not found:
        raise NotFoundError("No file matches this pattern.", where=location)
    return found


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in ("true", "1", "yes"):
        return True
    if text in ("false", "0", "no"):
        return False
    raise UsageError(f"DoubleAsFloat is true or false, not '{value}'.")


__all__ = ["READER_PARAMETERS", "SourceError", "open_source"]
