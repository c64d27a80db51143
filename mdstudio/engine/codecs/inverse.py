"""Transforms back: header + payload -> elements, straight into the caller's array."""

from __future__ import annotations

import numpy as np

from mdstudio.engine.codecs import block
from mdstudio.engine.codecs.backends import Bytes
from mdstudio.engine.codecs.block import BITS, BYTE_DELTA, COMPACT, CONST, D1, DICT, FILL, LATTICE, NONE, Header
from mdstudio.engine.codecs.kernels import kernels
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.model import Array

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def restore(h: Header, payload: Bytes, out: Array) -> None:
    """Fill `out` (flat, unsigned of the element's size, h.count long) from a payload of exactly h.payload bytes.

    Raises DamagedDataError for a payload that no writer makes.
    """
    data = memoryview(payload)
    if h.map == CONST:
        out[:] = h.base
        return
    if h.map == block.RAW:
        out.view(np.uint8)[:] = data
        return
    bitmap, at = None, 0
    if h.mask:
        at = (h.count + 7) // 8
        bitmap = data[:at]
        if kernels.mask_check(bitmap, h.count) != h.count - h.valid:
            raise DamagedDataError("the mask does not hold as many elements as its header says")
    coded = np.empty(h.valid, dtype=out.dtype) if h.mask == COMPACT else out
    _unpack(h, data[at:], coded)
    if h.mask == FILL:
        kernels.mask_put(out, h.size, bitmap, h.pattern)
    elif h.mask == COMPACT:
        kernels.mask_spread(coded, h.size, bitmap, h.pattern, out)


def _unpack(h: Header, data: memoryview, out: Array) -> None:
    rows, columns = (1, h.valid) if h.mask == COMPACT else (h.count // h.row_length, h.row_length)
    shape = (h.planes, h.width, rows, columns, h.predictor)
    if h.map == LATTICE:
        _unpack_lattice(h, data, shape, out)
    elif h.map == DICT:
        table = np.empty(h.table, dtype=out.dtype)
        at = h.table * h.size
        kernels.unpack_keys(data[:at], h.size, h.size, 1, h.table, D1, table, h.size, h.kind, 0)
        if not kernels.unpack_table(data[at:], *shape, out, h.size, table):
            raise DamagedDataError("a rank lies outside of the dictionary")
    elif h.map == BITS:
        if h.predictor == BYTE_DELTA:
            planes = bytearray(data)
            kernels.byte_sum(planes, h.planes, h.count)
            data = memoryview(planes)
        kernels.unpack_keys(data, h.planes, h.size, rows, columns, NONE, out, h.size, 0, 0)
    else:
        kernels.unpack_keys(data, *shape, out, h.size, h.kind, h.base)


def _unpack_lattice(h: Header, data: memoryview, shape: tuple[int, int, int, int, int], out: Array) -> None:
    lattice = h.lattice
    assert lattice is not None  # parse gives every LATTICE header one
    numbers = (lattice.arithmetic, lattice.scale, lattice.offset, lattice.factor)
    at = 4 * h.table
    end = at + h.planes * h.coded
    if h.table:
        ranks = np.empty(h.table, dtype=np.uint32)
        kernels.unpack_keys(data[:at], 4, 4, 1, h.table, D1, ranks, 4, 0, 0)
        table = np.empty(h.table, dtype=out.dtype)
        kernels.lattice_values(ranks.astype(np.int64) + lattice.base, table, h.size, *numbers)
        fits = kernels.unpack_table(data[at:end], *shape, out, h.size, table)
    else:
        fits = kernels.unpack_lattice(data[at:end], *shape, out, h.size, *numbers, lattice.base)
    if not fits:
        raise DamagedDataError("a lattice integer is out of range")
    if lattice.shift is not None:
        values = out.view(np.float32)
        with np.errstate(all="ignore"):
            values += np.float32(lattice.shift)
    if h.escapes:
        indices = np.frombuffer(data, dtype="<u4", count=h.escapes, offset=end)
        if int(indices.max()) >= h.coded:
            raise DamagedDataError("an escape lies outside of the block")
        out[indices] = np.frombuffer(data, dtype=_UNSIGNED[h.size], count=h.escapes, offset=end + 4 * h.escapes)
