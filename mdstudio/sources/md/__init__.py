"""MD datasets as a source: copied, cut anew, compressed anew, in a folder or in Azure.

`is_md` tells whether a location is one, `open_md` opens it. The one source that reads through the engine itself.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdstudio.sources.contract import Source

__all__ = ["is_md", "open_md"]


def is_md(location: str) -> bool:
    """Whether a location is to be read as an MD dataset: an address, since only datasets are read from one, or a folder
    that holds a `dataset.json`."""
    return "://" in location or os.path.isfile(os.path.join(location, "dataset.json"))


def open_md(location: str, *, double_as_float: bool = False) -> Source:
    """Open a dataset; its metadata is read. Raises as `engine.dataset.Dataset.open`."""
    from mdstudio.sources.md.source import MdSource

    return MdSource(location, double_as_float=double_as_float)
