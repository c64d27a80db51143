"""The contract of a source: a description without reading data, then slices on demand (design 2).

A new source is one module with an `open_` function and one line in `mdstudio.sources.registry`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from mdstudio.engine.model import Array, Description, Dropped


@runtime_checkable
class Source(Protocol):
    """One or several files opened as one thing to import; a context manager.

    A source may be used from one thread at a time only (netCDF4 and HDF5 are not thread-safe).
    """

    def descriptions(self) -> Sequence[Description]:
        """One description a grid (staggered grids give several), items in file order; nothing is read but metadata and
        coordinates. Raises `SourceError` naming the file and the reason when nothing can be imported."""

    def read(
        self, description: Description, item: str, times: slice, layer: int, rows: slice, columns: slice
    ) -> Array:
        """(time, row, column) stored values of one item and layer (-1: no layers), C-contiguous, little-endian, in the
        item's stored type, to the bit as in the file (transposed, never converted).

        Cost: reads just this hyperslab (plus what the file's chunks force); never a whole variable. Raises
        `SourceError` naming the file and variable when bytes cannot be read.
        """

    def dropped(self) -> Sequence[Dropped]:
        """What was left out or changed, counted by reason; complete after the last read."""

    def close(self) -> None:
        """Release the files; the source is not usable afterwards."""

    def __enter__(self) -> Source: ...

    def __exit__(self, *exc: object) -> None: ...
