"""The compressions by name: the persisted identifiers, their old ordinals, their descriptions (C1, C9)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# The position is the ordinal of old integer metadata (C1): a new compression goes at the end, none ever moves.
NAMES: tuple[str, ...] = (
    "None",
    "DeflateFast",
    "DeflateOptimal",
    "LZ4",
    "DeflateOptimalAuto",
    "ZstdAuto",
    "ZstdFastAuto",
)
UNKNOWN = "Unknown"

_AUTO = frozenset({"DeflateOptimalAuto", "ZstdAuto", "ZstdFastAuto"})

DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "None": "Stored as it is: the largest, and nothing to decode.",
        "DeflateFast": "Deflate at level 1: quick to write, without any transform of the values.",
        "DeflateOptimal": "Deflate at level 6: smaller than DeflateFast, without any transform of the values.",
        "LZ4": "LZ4: the quickest to read and write, the least reduction.",
        "DeflateOptimalAuto": "The best transform of each tile, then deflate at level 6: where zstd is not allowed.",
        "ZstdAuto": "The best transform of each tile, then Zstandard at level 7: small and quick to read. Recommended.",
        "ZstdFastAuto": "As ZstdAuto at level 3: for data that is written in a hurry or appended to often.",
    }
)


def compression_name(value: str | int) -> str:
    """The name that metadata means: itself, or the name of an old ordinal.

    What this build does not know is kept as it stood, so that a save writes it back unchanged (C1, V6); show it
    as `UNKNOWN` with the text beside it.
    """
    if isinstance(value, int):
        return NAMES[value] if 0 <= value < len(NAMES) else str(value)
    return value


def is_known(name: str) -> bool:
    """Whether this build reads and writes the compression."""
    return name in NAMES


def is_auto(name: str) -> bool:
    """Whether the compression picks a transform per tile, so that it wants a `ProbeState` (C5, C6)."""
    return name in _AUTO
