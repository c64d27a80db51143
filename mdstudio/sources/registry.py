"""From what a user names to a source: the one place that knows every family of files."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mdstudio.engine.errors import NotFoundError, UnsupportedError, UsageError
from mdstudio.engine.parameters import parameters, parse_parameters
from mdstudio.sources.md import is_md, open_md
from mdstudio.sources.suffixes import SOURCE_SUFFIXES

if TYPE_CHECKING:  # the window asks for the names of sources before numpy is there
    from mdstudio.sources.contract import Source


def open_source(locations: Sequence[str], reader_parameters: Mapping[str, Any] | None = None) -> Source:
    """Open files as one thing to import; describes them at once, reads no data.

    `locations` are paths, or patterns such as `run_*.nc` where the shell has not expanded them (Windows);
    `reader_parameters` {name: value} of those in `resources/parameters.json` (D11). Raises `UsageError` for parameters,
    `NotFoundError`, `AccessError` and `SourceError` naming the file and the reason.
    """
    given = parse_parameters([{"name": n, "value": v} for n, v in (reader_parameters or {}).items()], "reader")
    chosen = {name: given.get(name, parameter.default) for name, parameter in parameters("reader").items()}
    if len(locations) == 1 and is_md(locations[0]) and not _is_remote_file(locations[0]):
        return open_md(locations[0], double_as_float=bool(chosen["DoubleAsFloat"]))
    paths = [path for location in locations for path in _paths(location)]
    if not paths:
        raise UsageError("No source is named.")
    policy, double_as_float = str(chosen["TimePolicy"]), bool(chosen["DoubleAsFloat"])
    from mdstudio.sources.grib.framing import is_grib

    if os.path.isfile(paths[0]) and os.access(paths[0], os.R_OK) and is_grib(paths[0]):
        from mdstudio.sources.grib import open_grib

        return open_grib(paths, policy, double_as_float=double_as_float, strict=bool(chosen["Strict"]))
    from mdstudio.sources.dfs import is_dfs, open_dfs

    if is_dfs(paths[0]):
        return open_dfs(paths, double_as_float=double_as_float)
    from mdstudio.sources.zarr import is_zarr, open_zarr

    if is_zarr(paths[0]):
        return open_zarr(paths, policy, double_as_float=double_as_float)
    from mdstudio.sources.netcdf import open_netcdf

    return open_netcdf(paths, policy, double_as_float=double_as_float)


def _is_remote_file(location: str) -> bool:
    return "://" in location and location.partition("?")[0].lower().rstrip("/").endswith(SOURCE_SUFFIXES)


def is_source(location: str) -> bool:
    """Whether a location names something to import that is no dataset: a file, or the folder of a Zarr store."""
    if os.path.isfile(location):
        return True
    from mdstudio.sources.zarr import is_zarr

    return os.path.isdir(location) and not is_md(location) and is_zarr(location)


def _paths(location: str) -> list[str]:
    location = os.fspath(location)
    if "://" in location:
        raise UnsupportedError("Sources are read from files on this computer, of an address only one MD dataset.",
                               where=location.partition("?")[0], advice="Copy the file here first.")
    if os.path.exists(location) or not glob.has_magic(location):
        return [location]
    found = sorted(p for p in glob.glob(location) if not os.path.isdir(p))
    if not found:
        raise NotFoundError("No file matches this pattern.", where=location)
    return found
