"""Name -> codec. The one table that a new compression is registered in (C9).

Adding a compression: its name at the end of `names.NAMES`, its line in `names.DESCRIPTIONS`, a class (or a level or
backend of an existing one), one entry here. The registry walk in the tests fails until all of it is there.
"""

from __future__ import annotations

from typing import Protocol

from mdstudio.engine.codecs.auto import AutoCodec
from mdstudio.engine.codecs.contract import BlockInfo, Codec
from mdstudio.engine.codecs.names import is_auto
from mdstudio.engine.codecs.plain import DeflateCodec, Lz4Codec, NoCodec
from mdstudio.engine.codecs.probe import ProbeState
from mdstudio.engine.errors import UnknownCompressionError


class _DescribingCodec(Codec, Protocol):
    def describe(self, block: bytes | memoryview) -> BlockInfo: ...


_CODECS: dict[str, _DescribingCodec] = {
    one.name: one
    for one in (
        NoCodec(),
        DeflateCodec("DeflateFast", level=1),
        DeflateCodec("DeflateOptimal", level=6),
        Lz4Codec(),
        AutoCodec("DeflateOptimalAuto", backend="deflate", level=6),
        AutoCodec("ZstdAuto", backend="zstd", level=7),
        AutoCodec("ZstdFastAuto", backend="zstd", level=3),
    )
}


def codec(name: str) -> Codec:
    """The codec of a compression; shared, usable from any thread.

    Raises UnknownCompressionError for a name that this build does not know (V6).
    """
    return _lookup(name)


def new_probe(name: str) -> ProbeState | None:
    """A fresh probe state for one unit of work of an auto codec (C6); None for the other codecs."""
    return ProbeState() if is_auto(name) else None


def describe_block(name: str, block: bytes | memoryview) -> BlockInfo:
    """The header facts of a block, without decoding it.

    Raises DamagedDataError where the block has no header that its codec writes.
    """
    return _lookup(name).describe(block)


def _lookup(name: str) -> _DescribingCodec:
    try:
        return _CODECS[name]
    except KeyError:
        raise UnknownCompressionError(
            f"the compression {name!r} is not known to this build",
            advice="Open the dataset with a newer version of MD Studio.",
        ) from None
