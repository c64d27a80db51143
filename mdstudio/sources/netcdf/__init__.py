"""NetCDF files (3, 4, and HDF5 that netCDF reads) as a source of grids: CF as people have it.

`open_netcdf` is the way in. Inside: `opening` (safe opening), `view` (a file as plain data), `roles` and `horizontal`
(which dimension is what), `grids`, `layers`, `clock`, `encoding`, `hints` (the parts of a description), `describe` (one
file), `join` (several), `source` (reading). netCDF4 is imported when a file is opened, pyproj for a projection.
"""

from __future__ import annotations

from collections.abc import Sequence

from mdstudio.sources.netcdf.opening import is_netcdf
from mdstudio.sources.netcdf.source import NetcdfSource

__all__ = ["NetcdfSource", "is_netcdf", "open_netcdf"]


def open_netcdf(paths: Sequence[str], policy: str, *, double_as_float: bool) -> NetcdfSource:
    """A source of these files, its descriptions made (so that what cannot be read is refused here)."""
    source = NetcdfSource(paths, policy, double_as_float=double_as_float)
    source.descriptions()
    return source
