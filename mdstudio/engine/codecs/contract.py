"""What a codec is, and what can be said of a block without decoding it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mdstudio.engine.model import Array, Hint

if TYPE_CHECKING:
    from mdstudio.engine.codecs.probe import ProbeState

# The transform keys of `BlockInfo`, in the order of a legend.
TRANSFORM_KEYS: tuple[str, ...] = (
    "none",
    "constant",
    "shuffle",
    "byte delta",
    "plain integers",
    "delta 1-D",
    "delta 2-D",
    "dictionary",
    "quantised",
)


@dataclass(frozen=True, slots=True)
class BlockInfo:
    """The header facts of one block.

    Attributes:
        backend: "none", "stored", "deflate", "zstd" or "lz4".
        transform: for people, such as "integers · delta 2-D · 2 planes".
        key: one of `TRANSFORM_KEYS`, for colours.
        dtype: the element type the block names, "" where it names none (plain codecs have no header).
        count: elements, row_length: elements a row; 0 where the block names none.
        header_bytes: bytes before the backend's own.
    """

    backend: str
    transform: str = "none"
    key: str = "none"
    dtype: str = ""
    count: int = 0
    row_length: int = 0
    header_bytes: int = 0


class Codec(Protocol):
    """One compression. Instances hold no state of their own and may be used from any number of threads."""

    name: str

    def encode(
        self,
        elements: Array,
        probe: ProbeState | None = None,
        hints: Sequence[Hint] = (),
        no_data: int | float | None = None,
    ) -> bytes:
        """The block of a tile, page or series block; lossless to the bit (C2).

        Args:
            elements: (rows, row length), or 1-D for one row; C-contiguous, little-endian, one of `DTYPES`, not empty.
            probe: the caller's state for an auto codec (C6), used by one thread at a time; None competes every time.
            hints: how the source made the floats, verified before use; none is trusted.
            no_data: the item's no-data value in the stored type; only ever a guess at what to mask.
        """
        ...

    def decode(self, block: bytes | memoryview, into: Array, full_bytes: int = 0) -> None:
        """Fill `into` with the elements of the block.

        Args:
            into: writable, whose rows are contiguous, but may lie apart (a part of a larger array); its dtype, size and
                last dimension are what the reader expects (C8).
            full_bytes: bytes of a whole tile buffer, for LZ4: before layout version 2 a block may hold that many, of
                which the elements are the first (C4). Other codecs ignore it.

        Raises:
            DamagedDataError: for anything that is not a block of exactly these elements; `into` may be half filled.
        """
        ...

    def max_encoded(self, raw_bytes: int) -> int:
        """The largest block that any writer makes of so many bytes (P10)."""
        ...
