"""Transforms forward: a tile's elements -> the parts that the backend compresses, and their header.

A transform is mask + map + predictor (format.md, "Auto blocks"). `Tile` keeps what several candidates share: the mask,
the filled and compacted elements, the mapped integers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from mdstudio.engine.codecs import forms
from mdstudio.engine.codecs.block import MAX_ESCAPES, MAX_TABLE, Header, Lattice, is_lattice
from mdstudio.engine.codecs.forms import (
    AVG,
    BITS,
    BYTE_DELTA,
    COMPACT,
    D1,
    D2,
    DICT,
    FILL,
    FORD,
    INT,
    LATTICE,
    LOR,
    LOR12,
    LOR21,
    LOR22,
    NO_MASK,
    NONE,
    RAW,
    UP,
    UP2,
)
from mdstudio.engine.codecs.kernels import kernels
from mdstudio.engine.model import DTYPES, Array, Hint

MAX_DICTIONARY = 32768
ELEMENT_TYPES = {np.dtype(name): index for index, name in enumerate(DTYPES)}
UNSIGNED: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True, slots=True)
class Transform:
    """What may be kept from one tile to the next: everything but the numbers of one tile."""

    map: int
    predictor: int = NONE
    mask: int = NO_MASK
    hint: Hint | None = None


@dataclass(frozen=True, slots=True)
class Coded:
    """A transformed tile, not yet compressed: `cost` is its entropy in 1/65536 bit where it was ranked."""

    transform: Transform
    header: Header
    parts: list[memoryview]
    cost: int


@dataclass(slots=True)
class _Mapped:
    """Integers k of `width` bytes, and the header's parameters of the map."""

    k: Array
    width: int
    base: int = 0
    shift: int = 0
    keys: Array | None = None
    lattice: Lattice | None = None
    ranks: Array | None = None
    escapes: Array | None = None
    steps: int = 0


class Tile:
    """The elements of one tile, with what is worked out of them on demand."""

    def __init__(self, elements: Array, no_data: int | float | None) -> None:
        dtype = ELEMENT_TYPES.get(elements.dtype)
        if dtype is None or not elements.size or not elements.flags.c_contiguous or not elements.flags.aligned:
            raise ValueError("an auto codec takes an aligned, C-contiguous, little-endian array, not empty")
        self.size = elements.dtype.itemsize
        self.dtype = dtype
        self.kind = forms.kind_of(dtype)
        self.count: int = elements.size
        self.columns: int = elements.shape[-1] if elements.ndim else 1
        self.rows = self.count // self.columns
        self.bits = elements.reshape(-1).view(UNSIGNED[self.size])
        self.low, self.high, self.used = kernels.key_range(self.bits, self.size, self.kind)
        self.constant = self.low == self.high
        self.pattern, self.masked = (0, 0) if self.constant else self._masked_pattern(no_data)
        self.bitmap = np.empty(0, dtype=np.uint8)
        self._bases: dict[int, Array] = {NO_MASK: self.bits}
        self._maps: dict[tuple[int, int, Hint | None], _Mapped | None] = {}

    @property
    def raw_bytes(self) -> int:
        return self.count * self.size

    @property
    def nearly_all_masked(self) -> bool:
        return self.masked * 32 >= self.count * 31

    def header(self, transform: Transform, planes: int = 0, width: int = 0) -> Header:
        """A header with the facts of this tile; the backend is filled in later."""
        form = forms.form(
            forms.STORED, transform.map, transform.predictor, planes, self.dtype, transform.mask, width or self.size
        )
        h = Header(form, self.rows, self.columns, valid=self.count)
        if transform.mask:
            h.pattern, h.valid = self.pattern, self.count - self.masked
        return h

    def code(self, transform: Transform, *, ranked: bool) -> Coded | None:
        """The tile transformed, or None where the transform does not apply to it."""
        if transform.mask and not self.masked:
            transform = Transform(transform.map, transform.predictor, NO_MASK, transform.hint)
        if transform.map == RAW:
            return Coded(transform, self.header(transform), [memoryview(self.bits.view(np.uint8))], 0)
        mapped = self._mapped(transform)
        if mapped is None:
            return None
        rows, columns = (1, mapped.k.size) if transform.mask == COMPACT else (self.rows, self.columns)
        planes = np.empty(mapped.k.size * mapped.width, dtype=np.uint8)
        predictor = NONE if transform.predictor == BYTE_DELTA else transform.predictor
        count, cost = kernels.forward(mapped.k, mapped.width, rows, columns, predictor, planes, ranked)
        if transform.predictor == BYTE_DELTA:
            kernels.byte_delta(planes, count, mapped.k.size)
            cost = kernels.plane_cost(planes, count, mapped.k.size) if ranked else 0
        return self._assemble(transform, mapped, planes, count, cost, ranked)

    def _assemble(
        self, transform: Transform, mapped: _Mapped, planes: Array, count: int, cost: int, ranked: bool
    ) -> Coded:
        h = self.header(transform, count, mapped.width)
        h.base, h.shift, h.lattice = mapped.base, mapped.shift, mapped.lattice
        length = mapped.k.size
        parts = [memoryview(planes)[p * length : (p + 1) * length] for p in range(count)]
        if mapped.keys is not None:
            h.table = mapped.keys.size
            table = _pack_sorted(mapped.keys, self.size)
            parts.insert(0, memoryview(table))
            cost += kernels.plane_cost(table, self.size, h.table) if ranked else 0
        if mapped.ranks is not None:
            h.table = mapped.ranks.size
            table = _pack_sorted(mapped.ranks, 4)
            parts.insert(0, memoryview(table))
            cost += kernels.plane_cost(table, 4, h.table) if ranked else 0
        if transform.mask:
            parts.insert(0, memoryview(self.bitmap))
            cost += kernels.plane_cost(self.bitmap, 1, self.bitmap.size) if ranked else 0
        if mapped.escapes is not None:
            h.escapes = mapped.escapes.size
            bits = self._base(transform.mask)[mapped.escapes]
            parts.append(memoryview(mapped.escapes.tobytes() + bits.tobytes()))
        return Coded(transform, h, parts, cost)

    def fit(self, transform: Transform) -> tuple[int, int] | None:
        """Steps that a lattice takes from the smallest to the largest element, and escapes; None where none applies."""
        mapped = self._mapped(transform)
        if mapped is None:
            return None
        return mapped.steps, 0 if mapped.escapes is None else mapped.escapes.size

    def valid_elements(self) -> Array:
        """The bits of the elements that are not masked."""
        return self._base(COMPACT if self.masked else NO_MASK)

    # ---- masks

    def _masked_pattern(self, no_data: int | float | None) -> tuple[int, int]:
        """The bit pattern worth masking and how often it occurs; (0, 0) for none."""
        name = DTYPES[self.dtype]
        if no_data is not None:
            pattern = _bits_of(no_data, name)
            count = kernels.mask_count(self.bits, self.size, pattern) if pattern is not None else 0
            if pattern is not None and count:
                return pattern, count
        ends = (_bits_of_key(self.low, self.size, self.kind), _bits_of_key(self.high, self.size, self.kind))
        if self.kind == 2 and np.isnan(np.array(ends, dtype=self.bits.dtype).view(name)).any():  # NaN sort at the ends
            pattern = int(self.bits[int(np.argmax(np.isnan(self.bits.view(name))))])
            return pattern, kernels.mask_count(self.bits, self.size, pattern)
        best = max(((kernels.mask_count(self.bits, self.size, p), -i, p) for i, p in enumerate((0, *ends))))
        return (best[2], best[0]) if best[0] * 8 >= self.count else (0, 0)

    def _base(self, mask: int) -> Array:
        base = self._bases.get(mask)
        if base is None:
            if not self.bitmap.size:
                self.bitmap = np.empty((self.count + 7) // 8, dtype=np.uint8)
                kernels.mask_make(self.bits, self.size, self.pattern, self.bitmap)
            base = np.empty(self.count - self.masked if mask == COMPACT else self.count, dtype=self.bits.dtype)
            (kernels.mask_compact if mask == COMPACT else kernels.mask_fill)(self.bits, self.size, self.bitmap, base)
            self._bases[mask] = base
        return base

    # ---- maps

    def _mapped(self, transform: Transform) -> _Mapped | None:
        key = (transform.map, transform.mask, transform.hint)
        if key not in self._maps:
            self._maps[key] = self._map(transform)
        return self._maps[key]

    def _map(self, transform: Transform) -> _Mapped | None:
        if self.kind != 2 if transform.map in (FORD, LATTICE) else self.kind == 2 and transform.map == INT:
            return None  # a caller's probe that saw another type before
        base = self._base(transform.mask)
        if transform.map == BITS:
            return _Mapped(base, self.size)
        if transform.map == DICT:
            return self._dictionary(base)
        if transform.map == LATTICE:
            return self._lattice(base, transform.hint)
        low, high, used = self.low, self.high, self.used
        if transform.mask:
            low, high, used = kernels.key_range(base, self.size, self.kind)
        # Floats of float32 precision, or rounded to fewer bits, have low bits that are always zero.
        shift = (used & -used).bit_length() - 1 if transform.map == FORD and used else 0
        k, width = _narrow(base, self.size, self.kind, low, high, shift)
        return _Mapped(k, width, base=low, shift=shift)

    def _dictionary(self, base: Array) -> _Mapped | None:
        limit = min(MAX_DICTIONARY, base.size // 2)
        if limit < 2:
            return None
        keys, ranks = np.empty(limit, dtype=np.uint64), np.empty(base.size, dtype=np.uint16)
        count = kernels.table_map(base, self.size, self.kind, limit, keys, ranks)
        if not count:
            return None
        k, width = _narrow(ranks, 2, 0, 0, count - 1)
        return _Mapped(k, width, keys=keys[:count].astype(self.bits.dtype))

    def unshifted(self, base: Array, shift: float) -> Array | None:
        """The bits of the float32 that `shift` was added to; None where that does not give every element back."""
        if self.size != 4:
            return None
        with np.errstate(all="ignore"):
            c, x = np.float32(shift), base.view(np.float32)
            before = x - c
            again = before + c
        return before.view(base.dtype) if (again.view(base.dtype) == base).all() else None

    def _lattice(self, base: Array, hint: Hint | None) -> _Mapped | None:
        if hint is None or not is_lattice(hint.arithmetic, hint.scale, hint.offset, hint.factor, self.size):
            return None
        if hint.shift is not None:
            unshifted = self.unshifted(base, hint.shift)
            if unshifted is None:
                return None
            base = unshifted
        k, escapes = np.empty(base.size, dtype=np.int64), np.empty(MAX_ESCAPES, dtype=np.uint32)
        limit = min(MAX_ESCAPES, base.size // 16)
        low, high, missed = kernels.lattice_map(
            base, self.size, hint.arithmetic, hint.scale, hint.offset, hint.factor, k, escapes, limit
        )
        if missed < 0 or high - low >= 1 << 32 or max(abs(low), abs(high)) >= 1 << 51:
            return None
        narrow, width = _narrow(k, 8, 1, low + (1 << 63), high + (1 << 63))
        lattice = Lattice(hint.arithmetic, hint.scale, hint.offset, hint.factor, hint.shift)
        mapped = _Mapped(narrow, width, base=low, lattice=lattice, escapes=escapes[:missed].copy() if missed else None)
        mapped.steps = high - low + 1
        return _ranked(mapped)


def _ranked(mapped: _Mapped) -> _Mapped:
    """Code the rank of k where the lattice has holes: more than 1.3 times as many steps as distinct k."""
    limit = min(MAX_TABLE, mapped.k.size // 6, int(mapped.steps / 1.3))
    if mapped.width == 1 or limit < 2:
        return mapped
    keys, ranks = np.empty(limit, dtype=np.uint64), np.empty(mapped.k.size, dtype=np.uint16)
    count = kernels.table_map(mapped.k, mapped.width, 0, limit, keys, ranks)
    if not count:
        return mapped
    mapped.k, mapped.width = _narrow(ranks, 2, 0, 0, count - 1)
    mapped.ranks = keys[:count].astype(np.uint32)
    return mapped


def _narrow(elements: Array, size: int, kind: int, low: int, high: int, shift: int = 0) -> tuple[Array, int]:
    """Keys, shifted, less the smallest one, in the fewest bytes that hold them."""
    span = (high >> shift) - (low >> shift)
    width = next(width for width in (1, 2, 4, 8) if span < 1 << 8 * width)
    k = np.empty(elements.size, dtype=UNSIGNED[width])
    kernels.key_map(elements, size, kind, low, shift, width, k)
    return k, width


def _pack_sorted(values: Array, size: int) -> Array:
    """An ascending list as byte planes of its differences."""
    planes = np.empty(values.size * size, dtype=np.uint8)
    kernels.forward(values, size, 1, values.size, D1, planes, False)
    return planes


@lru_cache(maxsize=256, typed=True)
def _bits_of(value: int | float, dtype: str) -> int | None:
    """The bit pattern of a no-data value in its stored type; None for one that the type does not hold."""
    kind = np.dtype(dtype)
    try:
        with np.errstate(all="ignore"):
            scalar = np.array(value).astype(kind) if kind.kind == "f" else np.array([int(value)], dtype=kind)
    except (OverflowError, ValueError):
        return None
    return int.from_bytes(scalar.tobytes(), "little")


def _bits_of_key(key: int, size: int, kind: int) -> int:
    sign = 1 << (8 * size - 1)
    if kind == 0:
        return key
    return key ^ sign if kind == 1 or key & sign else ~key & (2 * sign - 1)


def candidates(tile: Tile, hint: Hint | None) -> list[Transform]:
    """The transforms that compete on a tile at first: RAW and the second differences are left out."""
    number = FORD if tile.kind == 2 else INT
    predictors = (NONE, D1) if _is_flat(tile) else (NONE, D1, LOR, AVG, UP)
    plain = [Transform(BITS), Transform(BITS, BYTE_DELTA)] if tile.size > 1 else []
    maps = [Transform(number, p) for p in predictors]
    for mask in (FILL, COMPACT) if tile.masked else (NO_MASK,):
        inner = predictors if mask != COMPACT else (NONE, D1)
        if mask:
            maps += [Transform(number, p, mask) for p in inner]
        maps += [Transform(DICT, p, mask) for p in inner]
        if hint is not None:
            maps += [Transform(LATTICE, p, mask, hint) for p in inner]
    return plain + maps


def second_differences(tile: Tile, best: Transform) -> list[Transform]:
    """The same map and mask as the best transform so far, with the predictors that pay on smooth data only."""
    if best.predictor in (NONE, BYTE_DELTA):
        return []
    flat = _is_flat(tile) or best.mask == COMPACT
    return [replace(best, predictor=p) for p in ((D2,) if flat else (D2, LOR21, UP2, LOR12, LOR22))]


def _is_flat(tile: Tile) -> bool:
    return tile.rows == 1 or tile.columns == 1
