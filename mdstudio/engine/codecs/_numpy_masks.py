"""The masks in NumPy: which elements hold the one masked pattern. A part of `_numpy`, which says what the names mean.

A bitmap has one bit an element, least significant first, set where the element is the masked pattern.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mdstudio.engine.model import Array

UNSIGNED: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def words(buffer: Any, size: int) -> Array:
    """A buffer as unsigned integers of `size` bytes."""
    return np.frombuffer(buffer, dtype=UNSIGNED[size])


def _bits(bitmap: Any, count: int) -> Array:
    return np.unpackbits(np.frombuffer(bitmap, dtype=np.uint8), count=count, bitorder="little").view(bool)


def mask_count(src: Any, size: int, pattern: int) -> int:
    """Elements whose bits are `pattern`."""
    return int(np.count_nonzero(words(src, size) == UNSIGNED[size](pattern)))


def mask_make(src: Any, size: int, pattern: int, bitmap: Any) -> int:
    """Set the bitmap of `pattern`; returns the masked elements."""
    masked = words(src, size) == UNSIGNED[size](pattern)
    np.frombuffer(bitmap, dtype=np.uint8)[:] = np.packbits(masked, bitorder="little")
    return int(np.count_nonzero(masked))


def mask_check(bitmap: Any, count: int) -> int:
    """Masked elements of a bitmap; -1 where a bit beyond `count` is set."""
    bits = np.unpackbits(np.frombuffer(bitmap, dtype=np.uint8), bitorder="little")
    return -1 if bits[count:].any() else int(np.count_nonzero(bits))


def mask_fill(src: Any, size: int, bitmap: Any, out: Any) -> None:
    """Masked elements take the valid element before; those at the start the first valid one. One must be valid."""
    elements = words(src, size)
    valid = ~_bits(bitmap, elements.size)
    source = np.maximum.accumulate(np.where(valid, np.arange(elements.size), -1))
    source[source < 0] = np.flatnonzero(valid)[0]
    words(out, size)[:] = elements[source]


def mask_compact(src: Any, size: int, bitmap: Any, out: Any) -> None:
    """The valid elements, in order."""
    elements = words(src, size)
    valid = elements[~_bits(bitmap, elements.size)]
    words(out, size)[: valid.size] = valid


def mask_put(out: Any, size: int, bitmap: Any, pattern: int) -> None:
    """Write `pattern` wherever the bitmap is set."""
    elements = words(out, size)
    elements[_bits(bitmap, elements.size)] = UNSIGNED[size](pattern)


def mask_spread(compact: Any, size: int, bitmap: Any, pattern: int, out: Any) -> None:
    """Undo `mask_compact`; `compact` must hold exactly the valid elements."""
    elements = words(out, size)
    masked = _bits(bitmap, elements.size)
    elements[masked] = UNSIGNED[size](pattern)
    elements[~masked] = words(compact, size)
