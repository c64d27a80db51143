"""The header of an auto block: its bytes, and every check that needs the header alone (C8).

u8  version (1) * 16 + backend          u8  predictor * 16 + map
u8  planes * 16 + element type          u8  log2(width) * 4 + mask
varint rows, varint row length
then, where they apply: length check (deflate), mask, parameters of the map. Little-endian; see format.md.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import lru_cache

from mdstudio.engine.codecs.forms import (
    BACKENDS,
    COMPACT,
    CONST,
    DEFLATE,
    DICT,
    FORD,
    INT,
    LATTICE,
    RAW,
    Form,
    form_of,
)
from mdstudio.engine.errors import DamagedDataError

RANK_TABLE, ESCAPES, BY_REFERENCE, NO_OFFSET = 4, 8, 16, 32
POST_SHIFT = 0x80
MAX_TABLE = 65535
MAX_ESCAPES = 64
MAX_K = 1 << 53
MAX_HEADER = 96  # the largest header there is, with room to spare


@dataclass(frozen=True, slots=True)
class Lattice:
    """The numbers of x = T(arithmetic(k)); then fl32(x + shift) where there is a shift."""

    arithmetic: int
    scale: float
    offset: float
    factor: float = 1.0
    shift: float | None = None


@dataclass(slots=True)
class Header:
    """A parsed header; `pack` and `parse` are each other's inverse.

    Attributes:
        pattern, valid: the masked bits and how many elements are not masked; without a mask 0 and all.
        base: the key (INT, FORD) or the lattice's integer that k = 0 stands for, or the element's bits (CONST).
        shift: FORD: the lowest bits that no element has, left out.
        table: entries of the dictionary or of the rank table.
        check: payload length modulo 65536, deflate only: its decoder does not see bytes that follow the stream.
        length: bytes of the header.
    """

    form: Form
    rows: int
    row_length: int
    pattern: int = 0
    valid: int = 0
    base: int = 0
    shift: int = 0
    table: int = 0
    escapes: int = 0
    lattice: Lattice | None = None
    check: int = 0
    length: int = 0

    @property
    def count(self) -> int:
        return self.rows * self.row_length

    @property
    def coded(self) -> int:
        """Elements that went through the map."""
        return self.valid if self.form.mask == COMPACT else self.count

    @property
    def payload(self) -> int:
        """Bytes that the backend decodes to."""
        form = self.form
        if form.map == CONST:
            return 0
        if form.map == RAW:
            return self.count * form.size
        total = form.planes * self.coded
        if form.mask:
            total += (self.count + 7) // 8
        if self.table:
            total += self.table * (form.size if form.map == DICT else 4)
        return total + self.escapes * (4 + form.size)


def pack(h: Header) -> bytes:
    """The header's bytes."""
    form = h.form
    parts = [form.pack(), _varint(h.rows), _varint(h.row_length)]
    if form.backend == DEFLATE:
        parts.append(h.check.to_bytes(2, "little"))
    if form.mask:
        parts += [h.pattern.to_bytes(form.size, "little"), _varint(h.valid)]
    if form.map in (INT, FORD, CONST):
        parts.append(h.base.to_bytes(form.size, "little"))
        if form.map == FORD:
            parts.append(bytes((h.shift,)))
    elif form.map == DICT:
        parts.append(_varint(h.table))
    elif h.lattice is not None:
        parts.append(_pack_lattice(h.lattice, h.base, h.table, h.escapes))
    return b"".join(parts)


def _pack_lattice(lattice: Lattice, base: int, table: int, escapes: int) -> bytes:
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
    parts.append(_varint(base << 1 if base >= 0 else ~(base << 1)))
    if table:
        parts.append(_varint(table))
    if escapes:
        parts.append(_varint(escapes))
    return b"".join(parts)


def _varint(value: int) -> bytes:
    """Seven bits a byte, least significant first, the top bit set on all but the last (LEB128)."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def parse(block: bytes | memoryview) -> Header:
    """The header of a block.

    Raises DamagedDataError for a header that no writer of this version makes.
    """
    form = form_of(bytes(block[:4]))
    try:
        rows, at = _varint_at(block, 4)
        row_length, at = _varint_at(block, at)
        if not 0 < rows < 1 << 32 or not 0 < row_length < 1 << 32:
            raise DamagedDataError(f"the block claims {rows} rows of {row_length} elements")
        h = Header(form, rows, row_length)
        reader = _Reader(block, at)
        if form.map != RAW:
            _parse_rest(h, reader)
        elif form.backend == DEFLATE:
            h.check = reader.take(2)
    except IndexError:
        raise DamagedDataError(f"the block of {len(block)} bytes ends within its header") from None
    h.length = reader.at
    return h


def _parse_rest(h: Header, reader: _Reader) -> None:
    form = h.form
    if form.backend == DEFLATE:
        h.check = reader.take(2)
    if form.mask:
        h.pattern, h.valid = reader.take(form.size), reader.varint()
        if not 0 < h.valid < h.count:
            raise DamagedDataError(f"the mask claims {h.valid} valid elements of {h.count}")
    if form.map in (INT, FORD, CONST):
        h.base = reader.take(form.size)
        if form.map == FORD:
            h.shift = _shift(reader, form)
    elif form.map == DICT:
        h.table = reader.varint()
        if not 0 < h.table <= min(h.coded, MAX_TABLE):
            raise DamagedDataError(f"the dictionary claims {h.table} entries for {h.coded} elements")
    elif form.map == LATTICE:
        _parse_lattice(h, reader)


def _shift(reader: _Reader, form: Form) -> int:
    shift = reader.take(1)
    _require(shift < 8 * form.size, f"the block claims {shift} bits left out of {8 * form.size}")
    return shift


def _parse_lattice(h: Header, reader: _Reader) -> None:
    first, flags = reader.bytes(2)
    reals = 1 + (not flags & NO_OFFSET) + (first & ~POST_SHIFT == 4)
    numbers = reader.bytes(8 * reals + (4 if first & POST_SHIFT else 0))
    h.lattice = _numbers(first, flags, numbers, h.form.size)
    folded = reader.varint()
    h.base = ~(folded >> 1) if folded & 1 else folded >> 1
    _require(abs(h.base) < MAX_K - (1 << 32), f"the lattice base {h.base} is out of range")
    if flags & RANK_TABLE:
        h.table = reader.varint()
        _require(0 < h.table <= min(h.coded, MAX_TABLE), f"the rank table claims {h.table} entries")
        _require(h.form.width <= 2, "the lattice's ranks are too wide")
    if flags & ESCAPES:
        h.escapes = reader.varint()
        _require(0 < h.escapes <= min(h.coded, MAX_ESCAPES), f"the lattice claims {h.escapes} escapes")


@lru_cache(maxsize=1024)  # the tiles of an item mostly share them
def _numbers(first: int, flags: int, data: bytes, size: int) -> Lattice:
    arithmetic, shifted = first & ~POST_SHIFT, bool(first & POST_SHIFT)
    _require(size == 4 or not shifted, "the lattice is shifted, which is for float32 only")
    _require(not flags & BY_REFERENCE, "the lattice parameters are by reference, which this build does not read")
    _require(not flags & ~(RANK_TABLE | ESCAPES | NO_OFFSET), f"the lattice flags {flags:#04x} are unknown")
    reals = list(struct.unpack(f"<{len(data) // 8}d", data[: len(data) & ~7]))
    scale = reals.pop(0)
    offset = 0.0 if flags & NO_OFFSET else reals.pop(0)
    factor = reals.pop(0) if arithmetic == 4 else 1.0
    shift = struct.unpack("<f", data[-4:])[0] if shifted else None
    _require(
        is_lattice(arithmetic, scale, offset, factor, size) and math.isfinite(shift or 0.0),
        f"the lattice's numbers {scale!r}, {offset!r}, {factor!r} are not ones of its arithmetic",
    )
    return Lattice(arithmetic, scale, offset, factor, shift)


def is_lattice(arithmetic: int, scale: float, offset: float, factor: float, size: int) -> bool:
    """Whether numbers are ones that a lattice of floats of `size` bytes may have."""
    if not 1 <= arithmetic <= 4 or not all(map(math.isfinite, (scale, offset, factor))):
        return False
    if scale == 0.0 or factor == 0.0:
        return False
    return arithmetic != 2 or (size == 4 and _is_float32(scale) and _is_float32(offset))


class _Reader:
    """Takes numbers off a block; IndexError where it ends."""

    __slots__ = ("_block", "at")

    def __init__(self, block: bytes | memoryview, at: int) -> None:
        self._block = block
        self.at = at

    def take(self, size: int) -> int:
        return int.from_bytes(self.bytes(size), "little")

    def bytes(self, size: int) -> bytes:
        at = self.at
        self.at = at + size
        if self.at > len(self._block):
            raise IndexError
        return bytes(self._block[at : self.at])

    def varint(self) -> int:
        value, self.at = _varint_at(self._block, self.at)
        return value


def _varint_at(block: bytes | memoryview, at: int) -> tuple[int, int]:
    """A number and where it ends."""
    value = block[at]
    if value < 128:
        return value, at + 1
    value &= 127
    for shift in range(7, 70, 7):
        at += 1
        byte = block[at]
        value |= (byte & 127) << shift
        if byte < 128:
            if not byte:
                break
            return value, at + 1
    raise DamagedDataError("a number of the block's header is not in its shortest form")


def _is_float32(value: float) -> bool:
    try:
        return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value)
    except OverflowError:
        return False


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise DamagedDataError(message)


__all__ = ["BACKENDS", "Header", "Lattice", "pack", "parse"]
