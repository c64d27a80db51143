"""GRIB files (editions 1 and 2) as a source of grids, decoded by ecCodes.

`open_grib` is the way in. Inside: `framing` (where messages lie in a file, and what is damaged), `index_lines`
(inventory files beside it), `library` (ecCodes, loaded when a file is opened), `fields` (the header of a message as
plain data), `grids`, `projections`, `reduced` and `scanning` (where its values lie), `grouping` (items, layers, times),
`describe` (all files together), `source` (reading).
"""

from __future__ import annotations

from collections.abc import Sequence

from mdstudio.sources.grib.framing import is_grib
from mdstudio.sources.grib.source import GribSource

__all__ = ["GribSource", "is_grib", "open_grib"]


def open_grib(paths: Sequence[str], policy: str, *, double_as_float: bool, strict: bool) -> GribSource:
    """A source of these files, its descriptions made (so that what cannot be read is refused here)."""
    source = GribSource(paths, policy, double_as_float=double_as_float, strict=strict)
    source.descriptions()
    return source
