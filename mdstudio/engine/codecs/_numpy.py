"""The transforms in NumPy: the reference, the test oracle, and the fallback where the C extension is not.

Same functions and same bytes as `_native.c`; the stored format of each is in format.md. Arrays are flat, contiguous,
little-endian; `src`, `out` and the like are any buffers of the stated element size.

`size` is the bytes of an element, `width` the bytes of a mapped integer k, `kind` 0 unsigned, 1 signed, 2 float. The
*key* of an element is the unsigned integer that sorts as the element does: x for unsigned, x ^ sign bit for signed,
the ordered integer of the bits for float.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mdstudio.engine.codecs._numpy_masks import UNSIGNED as _UNSIGNED
from mdstudio.engine.codecs._numpy_masks import mask_check as mask_check
from mdstudio.engine.codecs._numpy_masks import mask_compact as mask_compact
from mdstudio.engine.codecs._numpy_masks import mask_count as mask_count
from mdstudio.engine.codecs._numpy_masks import mask_fill as mask_fill
from mdstudio.engine.codecs._numpy_masks import mask_make as mask_make
from mdstudio.engine.codecs._numpy_masks import mask_put as mask_put
from mdstudio.engine.codecs._numpy_masks import mask_spread as mask_spread
from mdstudio.engine.codecs._numpy_masks import words as _words
from mdstudio.engine.codecs._numpy_origins import lattice_origins as lattice_origins
from mdstudio.engine.codecs._numpy_raster import raster_elements as raster_elements
from mdstudio.engine.model import Array

NAME = "numpy"

NONE, D1, LOR, AVG, BYTE_DELTA, D2, LOR21, UP, UP2, LOR12, LOR22 = range(11)
# Orders of the differences along a row and across the rows; AVG is apart.
ORDERS = {D1: (1, 0), LOR: (1, 1), D2: (2, 0), LOR21: (2, 1), UP: (0, 1), UP2: (0, 2), LOR12: (1, 2), LOR22: (2, 2)}
NO_STEP = 1 << 15  # what `binary_step` returns where there is none
EXACT = float(1 << 51)  # integers below are told apart after every arithmetic of the lattice
MAX_K = 1 << 53

_FLOAT: dict[int, Any] = {4: np.float32, 8: np.float64}


def _sign(size: int) -> Any:
    return _UNSIGNED[size](1 << (8 * size - 1))


def _log2_table() -> tuple[int, ...]:
    """log2(1 + i/1024) in 1/65536, cut off, by repeated squaring in integers: the same on every platform."""
    table = []
    for i in range(1024):
        x, y = (1024 + i) << 21, 0
        for bit in range(15, -1, -1):
            x = (x * x) >> 31
            if x >> 32:
                x >>= 1
                y |= 1 << bit
        table.append(y)
    return tuple(table)


LOG2 = _log2_table()
_LOG2 = np.array(LOG2, dtype=np.int64)


def _weight(counts: Array) -> Array:
    """c * log2(c) in 1/65536 for every count c >= 1."""
    c = counts.astype(np.int64)
    exponent = np.frexp(c.astype(np.float64))[1].astype(np.int64) - 1
    index = np.where(exponent >= 10, c >> np.maximum(exponent - 10, 0), c << np.maximum(10 - exponent, 0)) & 1023
    return c * ((exponent << 16) + _LOG2[index])  # type: ignore[no-any-return]


def plane_cost(planes: Any, count: int, length: int) -> int:
    """Order-0 entropy of `count` byte planes of `length` bytes, in 1/65536 bit."""
    total = 0
    data = np.frombuffer(planes, dtype=np.uint8)
    whole = int(_weight(np.array([length]))[0]) if length else 0
    for plane in range(count):
        counts = np.bincount(data[plane * length : (plane + 1) * length], minlength=256)
        total += whole - int(_weight(counts[counts > 0]).sum())
    return total


# ---- maps ----------------------------------------------------------------------------------------------------------


def _keys(src: Any, size: int, kind: int) -> Array:
    bits = _words(src, size)
    if kind == 0:
        return bits
    if kind == 1:
        return bits ^ _sign(size)  # type: ignore[no-any-return]
    return bits ^ (_spread_sign(bits, size) | _sign(size))  # type: ignore[no-any-return]


def _spread_sign(bits: Array, size: int) -> Array:
    """All ones where the top bit is set, else zero."""
    return _UNSIGNED[size](0) - (bits >> _UNSIGNED[size](8 * size - 1))  # type: ignore[no-any-return]


def _from_keys(keys: Array, size: int, kind: int) -> Array:
    if kind == 0:
        return keys
    if kind == 1:
        return keys ^ _sign(size)  # type: ignore[no-any-return]
    return keys ^ (~_spread_sign(keys, size) | _sign(size))  # type: ignore[no-any-return]


def key_range(src: Any, size: int, kind: int) -> tuple[int, int, int]:
    """Smallest and largest key, equal exactly where all elements are the same bits; and the bits that any has set."""
    keys = _keys(src, size, kind)
    return int(keys.min()), int(keys.max()), int(np.bitwise_or.reduce(_words(src, size)))


def key_map(src: Any, size: int, kind: int, base: int, shift: int, width: int, out: Any) -> None:
    """k = (key >> shift) - (base >> shift), narrowed to `width` bytes."""
    k = (_keys(src, size, kind) >> _UNSIGNED[size](shift)) - _UNSIGNED[size](base >> shift)
    _words(out, width)[:] = k.astype(_UNSIGNED[width])


def table_map(src: Any, size: int, kind: int, limit: int, keys: Any, ranks: Any) -> int:
    """The sorted distinct keys (uint64) and the rank of each element (uint16); 0 where there are more than `limit`."""
    found, inverse = np.unique(_keys(src, size, kind), return_inverse=True)
    if found.size > limit:
        return 0
    _words(keys, 8)[: found.size] = found
    _words(ranks, 2)[:] = inverse
    return int(found.size)


def binary_step(src: Any, size: int) -> int:
    """The largest e for which every float is a multiple of 2^e; NO_STEP for NaN, infinity or only zeros."""
    mantissa_bits, top = (23, 255) if size == 4 else (52, 2047)
    bits = _words(src, size).astype(np.uint64)
    exponent = ((bits >> np.uint64(mantissa_bits)) & np.uint64(top)).astype(np.int64)
    if (exponent == top).any():
        return NO_STEP
    mantissa = (bits & np.uint64((1 << mantissa_bits) - 1)).astype(np.int64)
    mantissa += np.where(exponent > 0, 1 << mantissa_bits, 0)
    used = mantissa != 0
    if not used.any():
        return NO_STEP
    lowest = mantissa[used] & -mantissa[used]
    trailing = np.frexp(lowest.astype(np.float64))[1] - 1
    bias = mantissa_bits + (top >> 1)
    return int((np.maximum(exponent[used], 1) - bias + trailing).min())


def _lattice(k: Array, size: int, arithmetic: int, s: float, o: float, d: float) -> Array:
    """x of the integers k (as float64), each operation rounded by itself: no fused multiply-add."""
    kind = _FLOAT[size]
    with np.errstate(all="ignore"):
        if arithmetic == 1:
            return (k * s + o).astype(kind)
        if arithmetic == 2:
            return (k.astype(np.float32) * np.float32(s) + np.float32(o)).astype(kind)
        if arithmetic == 3:
            return (k / s + o).astype(kind)
        return ((k * s + o) * d).astype(kind)


def _lattice_guess(x: Array, arithmetic: int, s: float, o: float, d: float) -> Array:
    with np.errstate(all="ignore"):
        if arithmetic == 3:
            k = (x - o) * s
        elif arithmetic == 4:
            k = (x / d - o) / s
        else:
            k = (x - o) / s
        k = np.rint(k)
        k[~(np.abs(k) < EXACT)] = 0.0
    return k


def lattice_map(
    src: Any, size: int, arithmetic: int, s: float, o: float, d: float, out: Any, escapes: Any, limit: int
) -> tuple[int, int, int]:
    """The integers k (int64 in `out`) whose decoding gives every element bit for bit.

    Elements that none gives are escapes: their indices (uint32) go to `escapes`, their k is that of the element before.

    Returns:
        (smallest k, largest k, escapes), escapes -1 where there are more than `limit` or no other element.
    """
    bits = _words(src, size)
    k = np.empty(bits.size, dtype=np.float64)
    good = np.zeros(bits.size, dtype=bool)
    for start in range(0, bits.size, 4096):
        part = bits[start : start + 4096]
        with np.errstate(all="ignore"):
            x = part.view(_FLOAT[size]).astype(np.float64)
        guess = _lattice_guess(x, arithmetic, s, o, d)
        found, fits = guess.copy(), np.zeros(part.size, dtype=bool)
        for shift in (0.0, 1.0, -1.0):
            hit = ~fits & (_lattice(guess + shift, size, arithmetic, s, o, d).view(part.dtype) == part)
            found[hit] = guess[hit] + shift
            fits |= hit
        k[start : start + 4096], good[start : start + 4096] = found, fits
        if np.count_nonzero(~good[: start + part.size]) > limit:
            return 0, 0, -1
    bad = np.flatnonzero(~good)
    if bad.size == bits.size:
        return 0, 0, -1
    if bad.size:
        source = np.maximum.accumulate(np.where(good, np.arange(bits.size), -1))
        source[source < 0] = np.flatnonzero(good)[0]
        k = k[source]
        _words(escapes, 4)[: bad.size] = bad
    whole = k.astype(np.int64)
    np.frombuffer(out, dtype=np.int64)[:] = whole
    return int(whole.min()), int(whole.max()), int(bad.size)


# ---- predictors and planes -----------------------------------------------------------------------------------------


def forward(k: Any, width: int, rows: int, columns: int, predictor: int, out: Any, ranked: bool) -> tuple[int, int]:
    """Predict, zigzag and split into byte planes, least significant first.

    `out` takes `width` planes; those above the returned count are zero.

    Returns:
        (planes of the largest value, their entropy as `plane_cost` where `ranked`, else 0).
    """
    grid = _words(k, width).reshape(rows, columns)
    if predictor == NONE:
        z = grid.reshape(-1)
    else:
        r = _residual(grid, predictor).reshape(-1)
        z = (r << _UNSIGNED[width](1)) ^ _spread_sign(r, width)
    length = rows * columns
    np.frombuffer(out, dtype=np.uint8)[: width * length].reshape(width, length)[:] = (
        np.ascontiguousarray(z).view(np.uint8).reshape(length, width).T
    )
    planes = (int(z.max()).bit_length() + 7) // 8
    return planes, plane_cost(out, planes, length) if ranked else 0


def _residual(grid: Array, predictor: int) -> Array:
    if predictor == AVG:
        r = _differences(grid, 1)
        r[1:, 0] = grid[1:, 0] - grid[:-1, 0]
        r[1:, 1:] = grid[1:, 1:] - _average(grid[1:, :-1], grid[:-1, 1:])
        return r
    along, across = ORDERS[predictor]
    if not across:
        return _differences(grid.reshape(1, -1), along)
    r = _differences(_differences(grid, along).T, across).T
    if not along:  # the first row has none above it: along the row instead
        r[0] = _differences(grid[:1], 1)
    return r


def _differences(grid: Array, order: int) -> Array:
    """Differences along the rows: the first element stays, the second is a plain difference."""
    r = grid.copy()
    for start in range(1, order + 1):
        r[:, start:] -= r[:, start - 1 : -1].copy()
    return r


def _sums(r: Array, order: int) -> Array:
    """Undo `_differences`."""
    for start in range(order, 0, -1):
        r[:, start - 1 :] = np.cumsum(r[:, start - 1 :], axis=1, dtype=r.dtype)
    return r


def _average(a: Array, b: Array) -> Array:
    return (a & b) + ((a ^ b) >> a.dtype.type(1))  # type: ignore[no-any-return]


def _inverse(planes: Any, count: int, width: int, rows: int, columns: int, predictor: int) -> Array:
    """The integers k of byte planes; planes above `count` are zero."""
    length = rows * columns
    full = np.zeros((length, width), dtype=np.uint8)
    full[:, :count] = np.frombuffer(planes, dtype=np.uint8)[: count * length].reshape(count, length).T
    z = full.view(_UNSIGNED[width]).reshape(-1)
    if predictor == NONE:
        return z  # type: ignore[no-any-return]
    one = _UNSIGNED[width](1)
    r = (z >> one) ^ (_UNSIGNED[width](0) - (z & one))
    if predictor != AVG:
        along, across = ORDERS[predictor]
        if not across:
            return _sums(r.reshape(1, -1), along).reshape(-1)
        grid = r.reshape(rows, columns)
        if not along:
            _sums(grid[:1], 1)
        return np.ascontiguousarray(_sums(_sums(grid.T, across).T, along)).reshape(-1)
    if rows == 1 or columns == 1:
        return np.cumsum(r, dtype=r.dtype)
    grid = r.reshape(rows, columns)
    grid[0] = np.cumsum(grid[0], dtype=r.dtype)
    grid[:, 0] = np.cumsum(grid[:, 0], dtype=r.dtype)
    for diagonal in range(2, rows + columns - 1):  # along a diagonal no cell depends on another
        low, high = max(1, diagonal - columns + 1), min(rows - 1, diagonal - 1)
        cells = diagonal + np.arange(low, high + 1) * (columns - 1)
        r[cells] += _average(r[cells - 1], r[cells - columns])
    return r  # type: ignore[no-any-return]


def byte_delta(planes: Any, count: int, length: int) -> None:
    """Replace each byte plane by its differences, in place."""
    data = np.frombuffer(planes, dtype=np.uint8)[: count * length].reshape(count, length)
    data[:, 1:] = data[:, 1:] - data[:, :-1]


def byte_sum(planes: Any, count: int, length: int) -> None:
    """Undo `byte_delta`, in place."""
    data = np.frombuffer(planes, dtype=np.uint8)[: count * length].reshape(count, length)
    np.cumsum(data, axis=1, dtype=np.uint8, out=data)


def unpack_keys(
    planes: Any,
    count: int,
    width: int,
    rows: int,
    columns: int,
    predictor: int,
    out: Any,
    size: int,
    kind: int,
    base: int,
    shift: int,
) -> bool:
    """Planes -> k -> elements of key (k + (base >> shift)) << shift, their lowest `shift` bits zero."""
    word = _UNSIGNED[size]
    k = _inverse(planes, count, width, rows, columns, predictor).astype(word)
    elements = _from_keys((k + word(base >> shift)) << word(shift), size, kind)
    _words(out, size)[:] = (elements >> word(shift)) << word(shift)
    return True


def unpack_table(
    planes: Any, count: int, width: int, rows: int, columns: int, predictor: int, out: Any, size: int, table: Any
) -> bool:
    """Planes -> rank -> element; False where a rank lies outside of the table."""
    ranks = _inverse(planes, count, width, rows, columns, predictor)
    entries = _words(table, size)
    if int(ranks.max()) >= entries.size:
        return False
    _words(out, size)[:] = entries[ranks]
    return True


def unpack_lattice(
    planes: Any,
    count: int,
    width: int,
    rows: int,
    columns: int,
    predictor: int,
    out: Any,
    size: int,
    arithmetic: int,
    s: float,
    o: float,
    d: float,
    base: int,
) -> bool:
    """Planes -> k -> floats of the integers k + base; False where k is 2^53 or more."""
    k = _inverse(planes, count, width, rows, columns, predictor)
    if int(k.max()) >= MAX_K:
        return False
    x = _lattice(k.astype(np.float64) + float(base), size, arithmetic, s, o, d)
    _words(out, size)[:] = x.view(_UNSIGNED[size])
    return True


def decode_block(block: Any, into: Any, dtype: int, zstd: Any, deflate: Any) -> bool:
    """A whole block in one call, where there is such a way: here it is that of `auto`, function by function.

    The C extension fills `into`, rows that may lie apart, from a block of exactly its type and shape, with the
    decompressors of the thread. False: not done, for whatever reason; `into` may be half filled.
    """
    return False


def lattice_values(k: Any, out: Any, size: int, arithmetic: int, s: float, o: float, d: float) -> None:
    """Floats of a list of integers k (int64)."""
    x = _lattice(np.frombuffer(k, dtype=np.int64).astype(np.float64), size, arithmetic, s, o, d)
    _words(out, size)[:] = x.view(_UNSIGNED[size])
