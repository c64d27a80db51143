"""Transforms back: header + payload -> elements, straight into the caller's array."""

from __future__ import annotations

import numpy as np

from mdstudio.engine.codecs.backends import Bytes
from mdstudio.engine.codecs.block import Header
from mdstudio.engine.codecs.forms import BITS, BYTE_DELTA, CONST, D1, DICT, FILL, LATTICE, NONE, RAW
from mdstudio.engine.codecs.kernels import kernels
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.model import Array


def restore(h: Header, payload: Bytes, out: Array) -> None:
    """Fill `out` (flat, unsigned of the element's size, h.count long) from a payload of exactly h.payload bytes.

    Raises DamagedDataError for a payload that no writer makes.
    """
    form = h.form
    if form.map == CONST:
        out[:] = h.base
    elif form.map == RAW:
        out.view(np.uint8)[:] = memoryview(payload)
    elif form.mask:
        _restore_masked(h, memoryview(payload), out)
    else:
        _unpack(h, payload, out, h.rows, h.row_length)


def _restore_masked(h: Header, data: memoryview, out: Array) -> None:
    size, at = h.form.size, (h.count + 7) // 8
    bitmap = data[:at]
    if kernels.mask_check(bitmap, h.count) != h.count - h.valid:
        raise DamagedDataError("the mask does not hold as many elements as its header says")
    if h.form.mask == FILL:
        _unpack(h, data[at:], out, h.rows, h.row_length)
        kernels.mask_put(out, size, bitmap, h.pattern)
    else:
        compact = np.empty(h.valid, dtype=out.dtype)
        _unpack(h, data[at:], compact, 1, h.valid)
        kernels.mask_spread(compact, size, bitmap, h.pattern, out)


def _unpack(h: Header, data: Bytes, out: Array, rows: int, columns: int) -> None:
    form = h.form
    if form.map == LATTICE:
        _unpack_lattice(h, memoryview(data), (form.planes, form.width, rows, columns, form.predictor), out)
    elif form.map == DICT:
        _unpack_dictionary(h, memoryview(data), (form.planes, form.width, rows, columns, form.predictor), out)
    elif form.map == BITS:
        if form.predictor == BYTE_DELTA:
            data = bytearray(data)
            kernels.byte_sum(data, form.planes, h.count)
        kernels.unpack_keys(data, form.planes, form.size, rows, columns, NONE, out, form.size, 0, 0, 0)
    else:
        kernels.unpack_keys(
            data, form.planes, form.width, rows, columns, form.predictor, out, form.size, form.kind, h.base, h.shift
        )


def _unpack_dictionary(h: Header, data: memoryview, shape: tuple[int, int, int, int, int], out: Array) -> None:
    size, at = h.form.size, h.table * h.form.size
    table = np.empty(h.table, dtype=out.dtype)
    kernels.unpack_keys(data[:at], size, size, 1, h.table, D1, table, size, h.form.kind, 0, 0)
    if not kernels.unpack_table(data[at:], *shape, out, size, table):
        raise DamagedDataError("a rank lies outside of the dictionary")


def _unpack_lattice(h: Header, data: memoryview, shape: tuple[int, int, int, int, int], out: Array) -> None:
    lattice, size = h.lattice, h.form.size
    assert lattice is not None  # parse gives every LATTICE header one
    numbers = (lattice.arithmetic, lattice.scale, lattice.offset, lattice.factor)
    at = 4 * h.table
    end = at + h.form.planes * h.coded
    if h.table:
        ranks = np.empty(h.table, dtype=np.uint32)
        kernels.unpack_keys(data[:at], 4, 4, 1, h.table, D1, ranks, 4, 0, 0, 0)
        table = np.empty(h.table, dtype=out.dtype)
        kernels.lattice_values(ranks.astype(np.int64) + h.base, table, size, *numbers)
        fits = kernels.unpack_table(data[at:end], *shape, out, size, table)
    else:
        fits = kernels.unpack_lattice(data[at:end], *shape, out, size, *numbers, h.base)
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
        out[indices] = np.frombuffer(data, dtype=out.dtype, count=h.escapes, offset=end + 4 * h.escapes)
