"""Zarr stores of version 2 and 3, and NCZarr: folders and zip files.

A store is shown to `sources.netcdf` as the data set of a NetCDF file, so that both are described by the same rules.
`is_zarr` tells whether a path is one, `open_zarr` opens it. zarr-python is loaded when a store is opened.
"""

from __future__ import annotations

from collections.abc import Sequence

from mdstudio.sources.contract import Source
from mdstudio.sources.zarr.nodes import is_zarr

__all__ = ["is_zarr", "open_zarr"]


def open_zarr(paths: Sequence[str], policy: str = "keep-last", *, double_as_float: bool = False) -> Source:
    """Open stores as one thing to import, joined by time; metadata is read, no chunk. Raises `SourceError`,
    `UnsupportedError`, `NotFoundError`, `AccessError` naming the store and the reason."""
    from mdstudio.sources.netcdf.source import NetcdfSource
    from mdstudio.sources.zarr.dataset import open_store

    return NetcdfSource(paths, policy, double_as_float=double_as_float, open_file=open_store)
