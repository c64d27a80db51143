"""A second reader of auto blocks, written from format.md alone: plain Python, an element at a time, no NumPy."""

from __future__ import annotations

import struct
import zlib
from fractions import Fraction

import zstandard

SIZES = (1, 1, 2, 2, 4, 4, 8, 8, 4, 8)
ORDERS = {1: (1, 0), 2: (1, 1), 5: (2, 0), 6: (2, 1), 7: (0, 1), 8: (0, 2), 9: (1, 2), 10: (2, 2)}


class Take:
    """Numbers off the front of bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def bytes(self, count: int) -> bytes:
        assert len(self.data) >= count
        head, self.data = self.data[:count], self.data[count:]
        return head

    def unsigned(self, count: int) -> int:
        return int.from_bytes(self.bytes(count), "little")

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.unsigned(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def real(self) -> float:
        return float(struct.unpack("<d", self.bytes(8))[0])


def read(block: bytes) -> tuple[int, int, int, bytes]:
    """Element type, rows, row length, the elements' bytes."""
    take = Take(block)
    first, second, third, fourth = take.bytes(4)
    assert first >> 4 == 1
    backend, kind, predictor = first & 15, second & 15, second >> 4
    planes, dtype, mask, width = third >> 4, third & 15, fourth & 3, 1 << (fourth >> 2)
    size, rows, row_length = SIZES[dtype], take.varint(), take.varint()
    n = rows * row_length
    check = take.unsigned(2) if backend == 1 else None
    pattern, valid = (take.bytes(size), take.varint()) if mask else (b"", n)
    m = valid if mask == 2 else n
    parameters: dict[str, object] = {}
    table_bytes = escapes = 0
    if kind in (2, 3, 6):
        parameters["base"] = take.unsigned(size)
        parameters["shift"] = take.unsigned(1) if kind == 3 else 0
    elif kind == 5:
        table_bytes = take.varint() * size
    elif kind == 4:
        arithmetic, flags = take.unsigned(1), take.unsigned(1)
        parameters |= {"arithmetic": arithmetic & 127, "s": take.real()}
        parameters["o"] = 0.0 if flags & 32 else take.real()
        parameters["d"] = take.real() if arithmetic & 127 == 4 else 1.0
        parameters["c"] = struct.unpack("<f", take.bytes(4))[0] if arithmetic & 128 else None
        folded = take.varint()
        parameters["kmin"] = (folded >> 1) ^ -(folded & 1)
        table_bytes = 4 * take.varint() if flags & 4 else 0
        escapes = take.varint() if flags & 8 else 0
    if kind == 6:
        assert not take.data
        return dtype, rows, row_length, parameters["base"].to_bytes(size, "little") * n  # type: ignore[attr-defined]
    length = (n + 7) // 8 * bool(mask) + table_bytes + planes * m + escapes * (4 + size) if kind else n * size
    assert check is None or check == len(take.data) & 0xFFFF
    take = Take(_payload(backend, take.data, length))
    if kind == 0:
        return dtype, rows, row_length, take.data
    bitmap = take.bytes((n + 7) // 8) if mask else b""
    table = take.bytes(table_bytes)
    coded = _planes(take.bytes(planes * m), planes, m, 8 if predictor == 4 else 0)
    k = _undo(coded, width, 1 if mask == 2 else rows, m if mask == 2 else row_length, predictor)
    elements = _elements(kind, dtype, k, table, parameters)
    places = [take.unsigned(4) for _ in range(escapes)]
    for place in places:
        elements[place] = take.bytes(size)
    assert not take.data
    if mask:
        source = iter(elements)
        masked = [bitmap[i >> 3] >> (i & 7) & 1 for i in range(n)]
        if mask == 1:
            elements = [pattern if hole else x for hole, x in zip(masked, elements, strict=True)]
        else:
            elements = [pattern if hole else next(source) for hole in masked]
    return dtype, rows, row_length, b"".join(elements)


def _payload(backend: int, body: bytes, length: int) -> bytes:
    payload = body
    if backend == 1:
        payload = zlib.decompress(body, wbits=-15)
    elif backend == 2:
        payload = zstandard.ZstdDecompressor().decompress(body)
    assert len(payload) == length
    return payload


def _planes(data: bytes, planes: int, m: int, delta: int) -> list[int]:
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


def _elements(kind: int, dtype: int, k: list[int], table: bytes, parameters: dict[str, object]) -> list[bytes]:
    size = SIZES[dtype]
    top = (1 << (8 * size)) - 1
    if kind == 1:
        return [v.to_bytes(size, "little") for v in k]
    if kind in (2, 3):
        base, shift = int(parameters["base"]), int(parameters["shift"])  # type: ignore[call-overload]
        keys = [(v + (base >> shift)) << shift & top for v in k]
        return [(_unkey(dtype, key) >> shift << shift).to_bytes(size, "little") for key in keys]
    if kind == 5:
        keys = _undo(_planes(table, size, len(table) // size, 0), size, 1, len(table) // size, 1)
        entries = [_unkey(dtype, key).to_bytes(size, "little") for key in keys]
        return [entries[v] for v in k]
    if table:
        ranks = _undo(_planes(table, 4, len(table) // 4, 0), 4, 1, len(table) // 4, 1)
        k = [ranks[v] for v in k]
    return [_lattice(dtype, v + int(parameters["kmin"]), parameters) for v in k]  # type: ignore[call-overload]


def _round32(value: Fraction | float) -> float:
    """To the nearest float32: exact, by scaling to an integer of 24 bits, ties to even."""
    exact = Fraction(value)
    if not exact:
        return 0.0
    exponent = -149
    while abs(exact) / Fraction(2) ** exponent >= 1 << 24:
        exponent += 1
    return float(round(exact / Fraction(2) ** exponent) * Fraction(2) ** exponent)


def _lattice(dtype: int, k: int, parameters: dict[str, object]) -> bytes:
    s, o, d = (Fraction(parameters[name]) for name in "sod")  # type: ignore[arg-type]
    match parameters["arithmetic"]:
        case 1:
            x = float(Fraction(float(k * s)) + o)
        case 2:
            x = _round32(Fraction(_round32(_round32(k) * s)) + o)
        case 3:
            x = float(Fraction(float(k / s)) + o)
        case _:
            x = float(Fraction(float(Fraction(float(k * s)) + o)) * d)
    if dtype == 9:
        return struct.pack("<d", x)
    x = _round32(x)
    if parameters["c"] is not None:
        x = _round32(Fraction(x) + Fraction(parameters["c"]))  # type: ignore[arg-type]
    return struct.pack("<f", x)
