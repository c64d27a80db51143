"""The header of an auto block: its bytes, and every check that needs the header alone (C8).

    u8   version (1) * 16 + backend       u8   map
    u8   planes * 16 + predictor          u8   dtype + mask * 16 + log2(width) * 64
    u32  elements                         u32  row length
    then, where they apply: payload length (deflate), mask, parameters of the map. Little-endian; see format.md.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from mdstudio.engine.codecs.contract import BlockInfo
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.model import DTYPES

VERSION = 1
STORED, DEFLATE, ZSTD = range(3)
BACKENDS = ("stored", "deflate", "zstd")
RAW, BITS, INT, FORD, LATTICE, DICT, CONST = range(7)
NONE, D1, LOR, AVG, BYTE_DELTA = range(5)
NO_MASK, FILL, COMPACT = range(3)

RANK_TABLE, ESCAPES, BY_REFERENCE, NO_OFFSET = 4, 8, 16, 32
POST_SHIFT = 0x80
MAX_TABLE = 65536
MAX_ESCAPES = 64
MAX_K = 1 << 53
MAX_HEADER = 80  # the largest header there is, with room to spare

_COMMON = struct.Struct("<BBBBII")
_SIZES = (1, 1, 2, 2, 4, 4, 8, 8, 4, 8)  # of DTYPES
FLOAT_FROM = 8  # DTYPES from here on are floats

_MAP_TEXT = ("none", "shuffle", "integers", "ordered floats", "quantised", "dictionary", "constant")
_PREDICTOR_TEXT = ("", "delta 1-D", "delta 2-D", "average 2-D", "byte delta")
_MASK_TEXT = ("", "holes filled", "holes left out")


@dataclass(frozen=True, slots=True)
class Lattice:
    """x = T(arithmetic(k)), k = base + y, or base + table[y] (quantisation.md sections 2 and 4).

    `shift`: None, or c of the post-shift x = fl32(y + c).
    """

    arithmetic: int
    scale: float
    offset: float
    factor: float = 1.0
    base: int = 0
    shift: float | None = None


@dataclass(slots=True)
class Header:
    """A parsed header; `pack` and `parse` are each other's inverse.

    Attributes:
        pattern, valid: the masked bits and how many elements are not masked, with a mask.
        base: key (INT, FORD) that k = 0 stands for, or the element's bits (CONST).
        table: entries of the dictionary or of the rank table.
        check: payload length modulo 65536, deflate only: its decoder does not see bytes that follow the stream.
        length: bytes of the header.
    """

    backend: int
    map: int
    predictor: int
    planes: int
    dtype: int
    mask: int
    width: int
    count: int
    row_length: int
    pattern: int = 0
    valid: int = 0
    base: int = 0
    table: int = 0
    escapes: int = 0
    lattice: Lattice | None = None
    check: int = 0
    length: int = 0

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return _SIZES[self.dtype]

    @property
    def kind(self) -> int:
        """0 unsigned, 1 signed, 2 float, as the kernels count."""
        return 2 if self.dtype >= FLOAT_FROM else 1 - self.dtype % 2

    @property
    def coded(self) -> int:
        """Elements that went through the map."""
        return self.valid if self.mask == COMPACT else self.count

    @property
    def payload(self) -> int:
        """Bytes that the backend decodes to."""
        if self.map == CONST:
            return 0
        if self.map == RAW:
            return self.count * self.size
        mask = (self.count + 7) // 8 if self.mask else 0
        table = self.table * (self.size if self.map == DICT else 4)
        return mask + table + self.planes * self.coded + self.escapes * (4 + self.size)


def pack(h: Header) -> bytes:
    """The header's bytes."""
    third = h.dtype | h.mask << 4 | (h.width.bit_length() - 1) << 6
    parts = [
        _COMMON.pack(VERSION << 4 | h.backend, h.map, h.planes << 4 | h.predictor, third, h.count, h.row_length)
    ]
    if h.backend == DEFLATE:
        parts.append(struct.pack("<H", h.check))
    if h.mask:
        parts.append(h.pattern.to_bytes(h.size, "little") + struct.pack("<I", h.valid))
    if h.map in (INT, FORD, CONST):
        parts.append(h.base.to_bytes(h.size, "little"))
    elif h.map == DICT:
        parts.append(struct.pack("<H", h.table - 1))
    elif h.lattice is not None:
        parts.append(_pack_lattice(h.lattice, h.table, h.escapes))
    return b"".join(parts)


def _pack_lattice(lattice: Lattice, table: int, escapes: int) -> bytes:
    omitted = lattice.offset == 0.0 and math.copysign(1.0, lattice.offset) > 0
    flags = (RANK_TABLE if table else 0) | (ESCAPES if escapes else 0) | (NO_OFFSET if omitted else 0)
    first = lattice.arithmetic | (POST_SHIFT if lattice.shift is not None else 0)
    parts = [struct.pack("<BBd", first, flags, lattice.scale)]
    if not omitted:
        parts.append(struct.pack("<d", lattice.offset))
    if lattice.arithmetic == 4:
        parts.append(struct.pack("<d", lattice.factor))
    if lattice.shift is not None:
        parts.append(struct.pack("<f", lattice.shift))
    parts.append(struct.pack("<q", lattice.base))
    if table:
        parts.append(struct.pack("<I", table))
    if escapes:
        parts.append(struct.pack("<H", escapes))
    return b"".join(parts)


def parse(block: bytes | memoryview) -> Header:
    """The header of a block.

    Raises DamagedDataError for a header that no writer of this version makes.
    """
    try:
        return _Parser(block).header()
    except struct.error:
        raise DamagedDataError(f"the block of {len(block)} bytes ends within its header") from None


class _Parser:
    def __init__(self, block: bytes | memoryview) -> None:
        self._block = block
        self._at = 0

    def take(self, code: str) -> int:
        value: int = struct.unpack_from("<" + code, self._block, self._at)[0]
        self._at += struct.calcsize("<" + code)
        return value

    def number(self) -> float:
        value: float = struct.unpack_from("<d", self._block, self._at)[0]
        self._at += 8
        return value

    def header(self) -> Header:
        first, map_, second, third, count, row_length = _COMMON.unpack_from(self._block)
        self._at = _COMMON.size
        if first >> 4 != VERSION or first & 15 >= len(BACKENDS):
            raise DamagedDataError(f"the block begins with {first:#04x}, not with a version and backend of this build")
        h = Header(
            first & 15, map_, second & 15, second >> 4, third & 15, third >> 4 & 3, 1 << (third >> 6), count, row_length
        )
        _check_common(h)
        if h.backend == DEFLATE:
            h.check = self.take("H")
        if h.mask:
            h.pattern, h.valid = self.take(_CODE[h.size]), self.take("I")
            _require(0 < h.valid < h.count, f"the mask claims {h.valid} valid elements of {h.count}")
        if h.map in (INT, FORD, CONST):
            h.base = self.take(_CODE[h.size])
        elif h.map == DICT:
            h.table = self.take("H") + 1
            _require(h.table <= h.coded, f"the dictionary claims {h.table} entries for {h.coded} elements")
        elif h.map == LATTICE:
            self.lattice(h)
        h.length = self._at
        return h

    def lattice(self, h: Header) -> None:
        first, flags = self.take("B"), self.take("B")
        arithmetic = first & ~POST_SHIFT
        _require(1 <= arithmetic <= 4, f"the lattice arithmetic {arithmetic} is unknown")
        _require(h.size == 4 or (arithmetic != 2 and first == arithmetic), "the lattice arithmetic is for float32 only")
        _require(not flags & BY_REFERENCE, "the lattice parameters are by reference, which this build does not read")
        _require(not flags & ~(RANK_TABLE | ESCAPES | NO_OFFSET), f"the lattice flags {flags:#04x} are unknown")
        scale = self.number()
        offset = 0.0 if flags & NO_OFFSET else self.number()
        factor = self.number() if arithmetic == 4 else 1.0
        shift = struct.unpack("<f", self.take("I").to_bytes(4, "little"))[0] if first & POST_SHIFT else None
        base = self.take("q")
        h.table = self.take("I") if flags & RANK_TABLE else 0
        h.escapes = self.take("H") if flags & ESCAPES else 0
        finite = all(map(math.isfinite, (scale, offset, factor, shift or 0.0)))
        _require(finite and scale != 0.0 and factor != 0.0, "the lattice parameters are zero or not finite")
        if arithmetic == 2:
            _require(_is_float32(scale) and _is_float32(offset), "the lattice parameters are not float32")
        _require(abs(base) < MAX_K - (1 << 32), f"the lattice base {base} is out of range")
        _require(not flags & RANK_TABLE or 0 < h.table <= min(h.coded, MAX_TABLE), "the rank table is out of range")
        _require(not flags & ESCAPES or 0 < h.escapes <= min(h.coded, MAX_ESCAPES), "the escapes are out of range")
        h.lattice = Lattice(arithmetic, scale, offset, factor, base, shift)


_CODE = {1: "B", 2: "H", 4: "I", 8: "Q"}


def _is_float32(value: float) -> bool:
    try:
        return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value)
    except OverflowError:
        return False


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise DamagedDataError(message)


def _check_common(h: Header) -> None:
    _require(h.map <= CONST, f"the block names the map {h.map}, which this build does not know")
    _require(h.dtype < len(DTYPES), f"the block names the element type {h.dtype}, which this build does not know")
    _require(h.mask <= COMPACT, f"the block names the mask {h.mask}, which this build does not know")
    _require(
        h.count > 0 and h.row_length > 0 and h.count % h.row_length == 0,
        f"the block claims {h.count} elements in rows of {h.row_length}",
    )
    bare = h.map in (RAW, BITS, CONST)
    allowed = (
        (NONE,) if h.map in (RAW, CONST) else (NONE, BYTE_DELTA) if h.map == BITS else (NONE, D1, LOR, AVG)
    )
    _require(h.predictor in allowed, f"the block names the predictor {h.predictor}, which its map does not take")
    _require(not (bare and h.mask), "the block has a mask where its map takes none")
    _require(h.width <= h.size and h.planes <= h.width, f"the block claims {h.planes} planes of {h.width} bytes")
    _require(not bare or h.width == h.size, "the block narrows elements that its map keeps")
    _require(h.map not in (RAW, CONST) or h.planes == 0, "the block has planes where its map makes none")
    _require(h.map != INT or h.dtype < FLOAT_FROM, "the block maps floats as integers")
    _require(h.map not in (FORD, LATTICE) or h.dtype >= FLOAT_FROM, "the block maps integers as floats")
    _require(h.map != DICT or h.width <= 2, "the block's dictionary ranks are too wide")


def describe(block: bytes | memoryview) -> BlockInfo:
    """The header's facts for people (G4)."""
    h = parse(block)
    words = [_MAP_TEXT[h.map], _PREDICTOR_TEXT[h.predictor], _MASK_TEXT[h.mask]]
    if h.map == LATTICE and h.lattice is not None and h.lattice.shift is not None:
        words.append("shifted")
    if h.map not in (RAW, CONST):
        words.append(f"{h.planes} plane{'' if h.planes == 1 else 's'}")
    return BlockInfo(
        backend=BACKENDS[h.backend],
        transform=" · ".join(word for word in words if word),
        key=_key(h),
        dtype=DTYPES[h.dtype],
        count=h.count,
        row_length=h.row_length,
        header_bytes=h.length,
    )


def _key(h: Header) -> str:
    if h.map in (INT, FORD):
        return ("plain integers", "delta 1-D", "delta 2-D", "delta 2-D")[h.predictor]
    if h.map == BITS and h.predictor == BYTE_DELTA:
        return "byte delta"
    return ("none", "shuffle", "", "", "quantised", "dictionary", "constant")[h.map]
