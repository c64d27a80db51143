"""A second reader of auto blocks, written from format.md alone: plain Python, an element at a time.

It refuses what breaks a *must* of the specification, with `RefusedError`.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass, field

import numpy as np
import zstandard

SIZES = (1, 1, 2, 2, 4, 4, 8, 8, 4, 8)
ORDERS = {1: (1, 0), 2: (1, 1), 5: (2, 0), 6: (2, 1), 7: (0, 1), 8: (0, 2), 9: (1, 2), 10: (2, 2)}
RAW, BITS, INT, FORD, LATTICE, DICT, CONST = range(7)
FILL, COMPACT = 1, 2
BYTE_DELTA = 4


class RefusedError(Exception):
    """What the specification tells a reader to refuse."""


def must(condition: bool, what: str) -> None:
    if not condition:
        raise RefusedError(what)


class Take:
    """Numbers off the front of bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def bytes(self, count: int) -> bytes:
        must(len(self.data) >= count, "too short")
        head, self.data = self.data[:count], self.data[count:]
        return head

    def unsigned(self, count: int) -> int:
        return int.from_bytes(self.bytes(count), "little")

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.unsigned(1)
            value |= (byte & 127) << shift
            if byte < 128:
                must(byte > 0 or shift == 0, "a varint that is not the shortest")
                must(value < 1 << 64, "a varint of more than 64 bits")
                return value
        raise RefusedError("a varint of more than 10 bytes")

    def real(self) -> float:
        return float(struct.unpack("<d", self.bytes(8))[0])


@dataclass
class Header:
    """What stands before the body."""

    backend: int
    predictor: int
    map: int
    planes: int
    dtype: int
    mask: int
    width: int
    rows: int
    row_length: int
    pattern: bytes = b""
    valid: int = 0
    base: int = 0
    shift: int = 0
    entries: int = 0
    escapes: int = 0
    lattice: dict[str, float | int | None] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return SIZES[self.dtype]

    @property
    def n(self) -> int:
        return self.rows * self.row_length

    @property
    def m(self) -> int:
        """Coded elements."""
        return self.valid if self.mask == COMPACT else self.n

    @property
    def table_bytes(self) -> int:
        return self.entries * (self.size if self.map == DICT else 4)

    @property
    def payload_bytes(self) -> int:
        if self.map == RAW:
            return self.n * self.size
        bitmap = (self.n + 7) // 8 * bool(self.mask)
        return bitmap + self.table_bytes + self.planes * self.m + self.escapes * (4 + self.size)


def read(block: bytes) -> tuple[int, int, int, bytes]:
    """Element type, rows, row length, the elements' bytes."""
    h, body = parse(block)
    if h.map == CONST:
        must(not body, "a constant with a body")
        return h.dtype, h.rows, h.row_length, h.base.to_bytes(h.size, "little") * h.n
    take = Take(payload_of(h.backend, body, h.payload_bytes))
    if h.map == RAW:
        return h.dtype, h.rows, h.row_length, take.data
    bitmap = take.bytes((h.n + 7) // 8) if h.mask else b""
    masked = [bitmap[i >> 3] >> (i & 7) & 1 for i in range(h.n)] if h.mask else []
    if h.mask:
        must(masked.count(0) == h.valid, "a bitmap of other elements")
        must(not bitmap[-1] >> ((h.n - 1) % 8 + 1), "a bitmap with bits beyond the last element")
    table = take.bytes(h.table_bytes)
    coded = _planes(take.bytes(h.planes * h.m), h.planes, h.m, delta=h.predictor == BYTE_DELTA)
    k = _undo(coded, h.width, *((1, h.m) if h.mask == COMPACT else (h.rows, h.row_length)), h.predictor)
    elements = _elements(h, k, table)
    places = [take.unsigned(4) for _ in range(h.escapes)]
    for place in places:
        must(place < h.m, "an escape beyond the elements")
        elements[place] = take.bytes(h.size)
    must(not take.data, "bytes left over")
    if h.mask == FILL:
        elements = [h.pattern if hole else x for hole, x in zip(masked, elements, strict=True)]
    elif h.mask == COMPACT:
        source = iter(elements)
        elements = [h.pattern if hole else next(source) for hole in masked]
    return h.dtype, h.rows, h.row_length, b"".join(elements)


def parse(block: bytes) -> tuple[Header, bytes]:
    """The header, checked, and the body."""
    take = Take(block)
    first, second, third, fourth = take.bytes(4)
    must(first >> 4 == 1 and first & 15 <= 2, "version and backend")
    must(second >> 4 <= 10 and second & 15 <= 6, "predictor and map")
    must(third & 15 <= 9, "element type")
    must(fourth >> 4 == 0 and fourth & 3 <= 2, "width and mask")
    h = Header(first & 15, second >> 4, second & 15, third >> 4, third & 15, fourth & 3, 1 << (fourth >> 2),
               take.varint(), take.varint())
    must(1 <= h.rows < 1 << 32 and 1 <= h.row_length < 1 << 32, "shape")
    check = take.unsigned(2) if h.backend == 1 else None
    if h.mask:
        h.pattern, h.valid = take.bytes(h.size), take.varint()
        must(1 <= h.valid < h.n, "valid elements")
    must(h.planes <= h.width <= h.size, "planes and width")
    is_float = h.dtype >= 8
    if h.map == RAW:
        must((h.planes, h.width, h.predictor, h.mask) == (0, h.size, 0, 0), "RAW")
    elif h.map == BITS:
        must(h.width == h.size and h.predictor in (0, BYTE_DELTA) and not h.mask, "BITS")
    elif h.map == CONST:
        h.base = take.unsigned(h.size)
        must((h.backend, h.planes, h.width, h.predictor, h.mask) == (0, 0, h.size, 0, 0), "CONST")
    elif h.map == DICT:
        h.entries = take.varint()
        must(1 <= h.entries <= min(h.m, 65535) and h.width <= 2, "DICT")
    elif h.map == LATTICE:
        must(is_float, "a lattice of integers")
        _lattice_header(h, take)
    else:
        must(is_float == (h.map == FORD), "INT or FORD of another type")
        h.base = take.unsigned(h.size)
        h.shift = take.unsigned(1) if h.map == FORD else 0
        must(h.shift < 8 * h.size, "shift")
    must(h.predictor != BYTE_DELTA or h.map == BITS, "BYTE_DELTA")
    must(check is None or check == len(take.data) & 0xFFFF, "length check")
    return h, take.data


def _lattice_header(h: Header, take: Take) -> None:
    first, flags = take.unsigned(1), take.unsigned(1)
    arithmetic, shifted = first & 127, first >= 128
    must(1 <= arithmetic <= 4 and not flags & ~44, "arithmetic and flags")
    must(h.dtype == 8 or (arithmetic != 2 and not shifted), "float32 only")
    s = take.real()
    o = 0.0 if flags & 32 else take.real()
    d = take.real() if arithmetic == 4 else 1.0
    c = struct.unpack("<f", take.bytes(4))[0] if shifted else None
    must(all(math.isfinite(x) for x in (s, o, d, c or 0.0)) and s != 0 and d != 0, "scale, offset, factor, c")
    if arithmetic == 2:
        with np.errstate(over="ignore"):
            must(all(float(np.float32(x)) == x for x in (s, o)), "no float32 values")
    folded = take.varint()
    kmin = (folded >> 1) ^ -(folded & 1)
    must(abs(kmin) < 2**53 - 2**32, "kmin")
    h.lattice = {"arithmetic": arithmetic, "s": s, "o": o, "d": d, "c": c, "kmin": kmin}
    if flags & 4:
        h.entries = take.varint()
        must(1 <= h.entries <= min(h.m, 65535) and h.width <= 2, "rank table")
    if flags & 8:
        h.escapes = take.varint()
        must(1 <= h.escapes <= min(h.m, 64), "escapes")


def payload_of(backend: int, body: bytes, length: int) -> bytes:
    payload = body
    if backend == 1:
        stream = zlib.decompressobj(-15)
        try:
            payload = stream.decompress(body, length + 1)
        except zlib.error as error:
            raise RefusedError(str(error)) from error
        must(stream.eof and not stream.unused_data, "a deflate stream that does not end with the block")
    elif backend == 2:
        stream = zstandard.ZstdDecompressor().decompressobj()
        try:
            must(zstandard.frame_content_size(body) == length, "content size")
            payload = stream.decompress(body)
        except zstandard.ZstdError as error:
            raise RefusedError(str(error)) from error
        must(stream.eof and not stream.unused_data, "no single frame")
    must(len(payload) == length, "a payload of another length")
    return payload


def _planes(data: bytes, planes: int, m: int, *, delta: bool) -> list[int]:
    z = [0] * m
    for p in range(planes):
        total = 0
        for i, byte in enumerate(data[p * m : (p + 1) * m]):
            total = (total + byte) & 255 if delta else byte
            z[i] |= total << (8 * p)
    return z


def _undo(z: list[int], width: int, rows: int, columns: int, predictor: int) -> list[int]:
    if predictor in (0, 4):
        return z
    top = (1 << (8 * width)) - 1
    r = [(v >> 1) ^ -(v & 1) for v in z]
    if predictor == 3:
        k: list[int] = []
        for i, residual in enumerate(r):
            left = k[i - 1] if i % columns else None
            upper = k[i - columns] if i >= columns else None
            if left is not None and upper is not None:
                residual += (left & upper) + ((left ^ upper) >> 1)
            elif left is not None or upper is not None:
                residual += left if left is not None else upper  # type: ignore[operator]
            k.append(residual & top)
        return k
    along, across = ORDERS[predictor]
    if not across:
        rows, columns = 1, rows * columns
    grid = [r[i * columns : (i + 1) * columns] for i in range(rows)]
    if not along:
        grid[0] = _sum(grid[0], 1)
    grid = [list(row) for row in zip(*(_sum(list(column), across) for column in zip(*grid, strict=True)), strict=True)]
    return [value & top for row in grid for value in _sum(row, along)]


def _sum(line: list[int], order: int) -> list[int]:
    for start in range(order, 0, -1):
        for i in range(start, len(line)):
            line[i] += line[i - 1]
    return line


def _unkey(dtype: int, key: int) -> int:
    sign = 1 << (8 * SIZES[dtype] - 1)
    if dtype >= 8:
        return key ^ sign if key & sign else key ^ (2 * sign - 1)
    return key if dtype & 1 else key ^ sign


def _elements(h: Header, k: list[int], table: bytes) -> list[bytes]:
    size = h.size
    top = (1 << (8 * size)) - 1
    if h.map == BITS:
        return [v.to_bytes(size, "little") for v in k]
    if h.map in (INT, FORD):
        keys = [(v + (h.base >> h.shift)) << h.shift & top for v in k]
        return [(_unkey(h.dtype, key) >> h.shift << h.shift).to_bytes(size, "little") for key in keys]
    must(not h.entries or max(k) < h.entries, "k beyond the table")
    if h.map == DICT:
        keys = _undo(_planes(table, size, h.entries, delta=False), size, 1, h.entries, 1)
        entries = [_unkey(h.dtype, key).to_bytes(size, "little") for key in keys]
        return [entries[v] for v in k]
    if h.entries:
        ranks = _undo(_planes(table, 4, h.entries, delta=False), 4, 1, h.entries, 1)
        k = [ranks[v] for v in k]
    must(h.width < 8 or max(k) < 2**53, "k beyond 2^53")
    return _lattice(h, k)


def _lattice(h: Header, k: list[int]) -> list[bytes]:
    """Every operation rounds by itself: NumPy makes no fused ones."""
    s, o, d = (np.float64(h.lattice[name]) for name in "sod")
    kmin, arithmetic, c = int(h.lattice["kmin"] or 0), h.lattice["arithmetic"], h.lattice["c"]
    split = 0 if h.entries else kmin  # with a rank table the sum is exact, without one it is of two float64
    whole = np.array([float(v + kmin - split) for v in k]) + float(split)
    with np.errstate(all="ignore"):
        if arithmetic == 2:
            x = whole.astype(np.float32) * np.float32(s) + np.float32(o)
        elif arithmetic == 3:
            x = whole / s + o
        else:
            x = whole * s + o
            x = x * d if arithmetic == 4 else x
        x = x.astype("<f4" if h.dtype == 8 else "<f8")
        if c is not None:
            x += np.float32(c)
    raw = x.tobytes()
    return [raw[at : at + h.size] for at in range(0, len(raw), h.size)]
