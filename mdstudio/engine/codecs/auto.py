"""The auto codecs: the best transform of each tile, then a backend (C5, C6, C8). One block format for all three."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mdstudio.engine.codecs import backends, block
from mdstudio.engine.codecs.block import COMPACT, CONST, D1, FORD, INT, RAW
from mdstudio.engine.codecs.contract import BlockInfo
from mdstudio.engine.codecs.inverse import restore
from mdstudio.engine.codecs.probe import ProbeState
from mdstudio.engine.codecs.steps import verified
from mdstudio.engine.codecs.transforms import Coded, Tile, Transform, candidates
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.model import DTYPES, Array, Hint

_FINALISTS = 2  # really compressed, beside RAW: mean loss against trying everything 0.08 % (codec.md)
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class AutoCodec:
    """`DeflateOptimalAuto`, `ZstdAuto`, `ZstdFastAuto`: the level is a write-side matter, each reads all blocks."""

    def __init__(self, name: str, backend: str, level: int) -> None:
        self.name = name
        self._backend = block.BACKENDS.index(backend)
        self._level = level

    def encode(
        self,
        elements: Array,
        probe: ProbeState | None = None,
        hints: Sequence[Hint] = (),
        no_data: int | float | None = None,
    ) -> bytes:
        tile = Tile(elements, no_data)
        if tile.constant:
            h = tile.header(Transform(CONST))
            h.base = int(tile.bits[0])
            return block.pack(h)
        if tile.nearly_all_masked:
            number = FORD if tile.kind == 2 else INT
            return self._smallest(tile, [tile.code(Transform(number, D1, COMPACT), ranked=False)])[0]
        if probe is not None:
            kept = probe.kept()
            coded = tile.code(kept, ranked=False) if kept is not None else None
            if coded is not None:
                encoded = self._compress(coded)
                if not probe.fares_worse(len(encoded) / tile.raw_bytes):
                    return encoded
        encoded, transform = self._compete(tile, hints)
        if probe is not None:
            probe.won(transform, len(encoded) / tile.raw_bytes)
        return encoded

    def _compete(self, tile: Tile, hints: Sequence[Hint]) -> tuple[bytes, Transform]:
        coded = [tile.code(one, ranked=True) for one in candidates(tile, verified(tile, hints))]
        ranking = sorted((one for one in coded if one is not None), key=_cost)  # stable: ties by candidate order
        return self._smallest(tile, [*ranking[:_FINALISTS], tile.code(Transform(RAW), ranked=False)])

    def _smallest(self, tile: Tile, finalists: Sequence[Coded | None]) -> tuple[bytes, Transform]:
        encoded = [(self._compress(one), one.transform) for one in finalists if one is not None]
        return min(encoded, key=lambda pair: len(pair[0]))

    def _compress(self, coded: Coded) -> bytes:
        h, parts = coded.header, coded.parts
        size = h.payload
        if self._backend == block.ZSTD and size:
            body = backends.zstd_compress(parts, self._level)
        elif size:
            body = backends.deflate_compress(b"".join(parts), self._level)
        else:
            body = b""
        h.backend = self._backend
        h.check = len(body) & 0xFFFF
        if len(body) >= size:
            h.backend, body = block.STORED, b"".join(parts)
        return block.pack(h) + body

    def decode(self, block_: bytes | memoryview, into: Array, full_bytes: int = 0) -> None:
        h = block.parse(block_)
        _check_expected(h, into)
        body, size = memoryview(block_)[h.length :], h.payload
        if h.backend == block.STORED:
            if len(body) != size:
                raise DamagedDataError(f"the block holds {len(body)} bytes after its header, expected {size}")
            payload: backends.Bytes = body
        elif h.backend == block.ZSTD:
            payload = backends.zstd_decompress(body, size)
        else:
            if len(body) & 0xFFFF != h.check:
                raise DamagedDataError(f"the block holds {len(body)} bytes after its header, which says otherwise")
            payload = backends.deflate_decompress(body, size)
        restore(h, payload, into.reshape(-1).view(_UNSIGNED[h.size]))

    def max_encoded(self, raw_bytes: int) -> int:
        return raw_bytes + block.MAX_HEADER

    def describe(self, block_: bytes | memoryview) -> BlockInfo:
        return block.describe(block_)


def _cost(coded: Coded) -> int:
    return coded.cost + (8 * len(block.pack(coded.header)) << 16)


def _check_expected(h: block.Header, into: Array) -> None:
    if not into.flags.c_contiguous or not into.flags.writeable or into.dtype.byteorder == ">":
        raise ValueError("a codec fills a C-contiguous, writable, little-endian array")
    found = (DTYPES[h.dtype], h.count, h.row_length)
    expected = (into.dtype.name, into.size, into.shape[-1] if into.ndim else 1)
    if found != expected:
        raise DamagedDataError(
            f"the block holds {found[1]} elements of {found[0]} in rows of {found[2]},"
            f" expected {expected[1]} of {expected[0]} in rows of {expected[2]}"
        )
