"""The auto codecs: the best transform of each tile, then a backend (C5, C6, C8). One block format for all three."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mdstudio.engine.codecs import backends, block, forms
from mdstudio.engine.codecs.backends import zstd_decompressor
from mdstudio.engine.codecs.contract import BlockInfo
from mdstudio.engine.codecs.forms import (
    AVG,
    BYTE_DELTA,
    COMPACT,
    CONST,
    D1,
    D2,
    FORD,
    INT,
    LOR,
    LOR12,
    LOR21,
    LOR22,
    NONE,
    RAW,
    UP,
    UP2,
    ZSTD,
)
from mdstudio.engine.codecs.inverse import restore
from mdstudio.engine.codecs.kernels import kernels
from mdstudio.engine.codecs.probe import ProbeState
from mdstudio.engine.codecs.steps import STRAYS, Lattices, refitted, verified
from mdstudio.engine.codecs.transforms import (
    ELEMENT_TYPES,
    UNSIGNED,
    Coded,
    Tile,
    Transform,
    candidates,
    second_differences,
)
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.model import DTYPES, Array, Hint

# Two are really compressed, beside RAW: mean loss against trying everything 0.08 %. The second one only
# where its entropy is near, RAW only where a fast compressor says that it may win: no loss in 258 real tiles.
_NEAR = 1.1
_RAW_MAY_WIN = 1.6
# What a predictor takes to undo, as a size in thousandths: of two that are this near, the one that decodes faster wins.
_DECODING = {UP: 1001, LOR: 1002, D2: 1003, UP2: 1003, LOR21: 1004, LOR12: 1004, AVG: 1005, LOR22: 1005}


class AutoCodec:
    """`DeflateOptimalAuto`, `ZstdAuto`, `ZstdFastAuto`: the level is a write-side matter, each reads all blocks."""

    def __init__(self, name: str, backend: str, level: int) -> None:
        self.name = name
        self._backend = forms.BACKENDS.index(backend)
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
            coded = tile.code(Transform(number, D1, COMPACT), ranked=False)
            if coded is not None:
                return self._compress(coded)
        lattices = probe.lattices if probe is not None else Lattices()
        if probe is not None:
            kept = probe.kept()
            coded = _kept(tile, kept, lattices, probe.strays) if kept is not None else None
            if coded is not None:
                encoded = self._compress(coded)
                fits = len(encoded) <= self.max_encoded(tile.raw_bytes)  # of noise, a mask is one eighth too much (P10)
                if fits and not probe.fares_worse(len(encoded) / tile.raw_bytes):
                    probe.refitted(coded.transform.hint, coded.header.escapes)
                    return encoded
        encoded, transform = self._compete(tile, hints, lattices)
        if probe is not None:
            fit = tile.fit(transform)
            probe.won(transform, len(encoded) / tile.raw_bytes, fit[1] if fit is not None else 0)
        return encoded

    def _compete(self, tile: Tile, hints: Sequence[Hint], lattices: Lattices) -> tuple[bytes, Transform]:
        ranking = _ranked(tile, candidates(tile, verified(tile, hints, lattices)))
        best = next((one for one in ranking if one.transform.predictor not in (NONE, BYTE_DELTA)), None)
        if best is not None:
            ranking = sorted([*ranking, *_ranked(tile, second_differences(tile, best.transform))], key=_cost)
        encoded = [
            (self._compress(one), one.transform) for one in ranking[:2] if _cost(one) <= _NEAR * _cost(ranking[0])
        ]
        smallest = min((len(block_) for block_, _ in encoded), default=tile.raw_bytes)
        raw = tile.code(Transform(RAW), ranked=False)
        if raw is not None and len(backends.lz4_compress(raw.parts[0])) < _RAW_MAY_WIN * smallest:
            encoded.append((self._compress(raw), raw.transform))
        return min(encoded, key=lambda pair: len(pair[0]) * _DECODING.get(pair[1].predictor, 1000))

    def _compress(self, coded: Coded) -> bytes:
        h, parts = coded.header, coded.parts
        size = h.payload
        body = self._body(parts) if size else b""
        if len(body) < size:
            h.form = h.form.of(self._backend)
            h.check = len(body) & 0xFFFF
        else:
            body = b"".join(parts)
        return block.pack(h) + body

    def _body(self, parts: Sequence[memoryview]) -> bytes:
        if self._backend == ZSTD:
            return backends.zstd_compress(parts, self._level)
        return backends.deflate_compress(b"".join(parts), self._level)

    def decode(self, block_: bytes | memoryview, into: Array, full_bytes: int = 0) -> None:
        dtype = ELEMENT_TYPES.get(into.dtype, -1)
        if not kernels.decode_block(block_, into, dtype, zstd_decompressor(), backends.deflate_decompress):
            _decode(block_, into)

    def max_encoded(self, raw_bytes: int) -> int:
        return raw_bytes + block.MAX_HEADER

    def describe(self, block_: bytes | memoryview) -> BlockInfo:
        h = block.parse(block_)
        return h.form.info(h.rows, h.row_length, h.length)


def _kept(tile: Tile, kept: Transform, lattices: Lattices, strays: int) -> Coded | None:
    """The tile by the kept transform; where its lattice has clearly more escapes than before, by a better one."""
    coded = tile.code(kept, ranked=False)
    if kept.hint is None or (coded is not None and coded.header.escapes <= 2 * strays + STRAYS):
        return coded
    hint = refitted(tile, kept.hint, lattices)
    better = tile.code(replace(kept, hint=hint), ranked=False) if hint is not None else None
    if better is None or (coded is not None and coded.header.escapes <= better.header.escapes):
        return coded
    return better


def _ranked(tile: Tile, transforms: Sequence[Transform]) -> list[Coded]:
    """Those that apply, the cheapest first; ties keep their order."""
    coded = (tile.code(one, ranked=True) for one in transforms)
    return sorted((one for one in coded if one is not None), key=_cost)


def _cost(coded: Coded) -> int:
    bits = coded.cost + (8 * len(block.pack(coded.header)) << 16)
    return bits * _DECODING.get(coded.transform.predictor, 1000)


def _decode(block_: bytes | memoryview, into: Array) -> None:
    """The reference of `decode_block`: the way without the C extension, and the one that tells what is wrong."""
    h = block.parse(block_)
    _check_expected(h, into)
    body, size = memoryview(block_)[h.length :], h.payload
    if h.form.backend == ZSTD:
        payload: backends.Bytes = backends.zstd_decompress(body, size)
    elif h.form.backend == forms.STORED:
        if len(body) != size:
            raise DamagedDataError(f"the block holds {len(body)} bytes after its header, expected {size}")
        payload = body
    else:
        if len(body) & 0xFFFF != h.check:
            raise DamagedDataError(f"the block holds {len(body)} bytes after its header, which says otherwise")
        payload = backends.deflate_decompress(body, size)
    whole = into if into.flags.c_contiguous else np.empty(into.shape, into.dtype)
    restore(h, payload, whole.reshape(-1).view(UNSIGNED[h.form.size]))
    if whole is not into:
        into[...] = whole


def _check_expected(h: block.Header, into: Array) -> None:
    """Refuse a block of other elements than the reader expects (C8)."""
    dtype, flags = ELEMENT_TYPES.get(into.dtype), into.flags
    if dtype is None or not into.size or not (flags.writeable and flags.aligned):
        raise ValueError("an auto codec fills an aligned, writable, little-endian array")
    if h.form.dtype != dtype or h.count != into.size or h.row_length != into.shape[-1]:
        raise DamagedDataError(
            f"the block holds {h.count} elements of {DTYPES[h.form.dtype]} in rows of {h.row_length},"
            f" expected {into.size} of {DTYPES[dtype]} in rows of {into.shape[-1]}"
        )
