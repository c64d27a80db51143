"""The codecs without a transform: None, DeflateFast, DeflateOptimal, LZ4. Their blocks have no header (C3, C4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mdstudio.engine.codecs import backends
from mdstudio.engine.codecs.contract import BlockInfo
from mdstudio.engine.codecs.probe import ProbeState
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.model import Array, Hint


def raw_view(elements: Array) -> memoryview:
    """The bytes of an array as they lie.

    Raises ValueError for what no codec takes: an array that is not C-contiguous, or big-endian, or empty.
    """
    if not elements.flags.c_contiguous or not elements.size:
        raise ValueError("a codec takes a C-contiguous array of at least one element")
    if elements.dtype.byteorder == ">":
        raise ValueError("a codec takes little-endian elements")
    return memoryview(elements.reshape(-1).view(np.uint8))


class NoCodec:
    """`None`: the bytes as they are."""

    name = "None"

    def encode(
        self,
        elements: Array,
        probe: ProbeState | None = None,
        hints: Sequence[Hint] = (),
        no_data: int | float | None = None,
    ) -> bytes:
        return raw_view(elements).tobytes()

    def decode(self, block: bytes | memoryview, into: Array, full_bytes: int = 0) -> None:
        _fill(into, block)

    def max_encoded(self, raw_bytes: int) -> int:
        return raw_bytes

    def describe(self, block: bytes | memoryview) -> BlockInfo:
        return BlockInfo("none")


class DeflateCodec:
    """`DeflateFast` (level 1) and `DeflateOptimal` (level 6): one raw deflate stream (C3)."""

    def __init__(self, name: str, level: int) -> None:
        self.name = name
        self._level = level

    def encode(
        self,
        elements: Array,
        probe: ProbeState | None = None,
        hints: Sequence[Hint] = (),
        no_data: int | float | None = None,
    ) -> bytes:
        return backends.deflate_compress(raw_view(elements), self._level)

    def decode(self, block: bytes | memoryview, into: Array, full_bytes: int = 0) -> None:
        _fill(into, backends.deflate_decompress(block, into.nbytes))

    def max_encoded(self, raw_bytes: int) -> int:
        # Stored deflate blocks cost 5 bytes each; the smallest any deflate writer makes is far above 128 bytes.
        return raw_bytes + raw_bytes // 16 + 64

    def describe(self, block: bytes | memoryview) -> BlockInfo:
        return BlockInfo("deflate")


class Lz4Codec:
    """`LZ4`: one raw LZ4 block (C4)."""

    name = "LZ4"

    def encode(
        self,
        elements: Array,
        probe: ProbeState | None = None,
        hints: Sequence[Hint] = (),
        no_data: int | float | None = None,
    ) -> bytes:
        return backends.lz4_compress(raw_view(elements))

    def decode(self, block: bytes | memoryview, into: Array, full_bytes: int = 0) -> None:
        raw = backends.lz4_decompress(block, max(into.nbytes, full_bytes))
        if len(raw) == full_bytes and full_bytes > into.nbytes:
            raw = raw[: into.nbytes]
        _fill(into, raw)

    def max_encoded(self, raw_bytes: int) -> int:
        return raw_bytes + raw_bytes // 255 + 16

    def describe(self, block: bytes | memoryview) -> BlockInfo:
        return BlockInfo("lz4")


def _fill(into: Array, raw: backends.Bytes) -> None:
    if not into.size or not into.flags.writeable or into.dtype.byteorder == ">":
        raise ValueError("a codec fills a writable, little-endian array of at least one element")
    if len(raw) != into.nbytes:
        raise DamagedDataError(f"the block holds {len(raw)} bytes of elements, expected {into.nbytes}")
    into[...] = np.frombuffer(raw, into.dtype).reshape(into.shape)
