"""Where the pages of one timestep lie, whatever the layout."""

from __future__ import annotations

from dataclasses import dataclass

from mdstudio.engine.model import Array


@dataclass(frozen=True)
class StepPages:
    """The pages of one timestep of one layer in one blob.

    Attributes:
        version: the version of the blob that the offsets hold for; None where nothing was read to know them.
        offsets, lengths: (pages,) int64 bytes.
        length: what the whole blob must be long; None where its index has proven it already.
        multiple: the blob is a whole number of so many bytes (an uncompressed group); 0 where that says nothing.
    """

    blob: str
    version: str | None
    offsets: Array
    lengths: Array
    length: int | None = None
    multiple: int = 0
