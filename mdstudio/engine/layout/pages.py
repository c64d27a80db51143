"""One page or block as stored bytes: no-data pages, checksums, the whole-buffer LZ4 of early versions (P5, C4, V1).

A layout hands elements over and gets stored bytes back, and the other way round; what lies in between is decided here
once for pages and blocks of every layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mdstudio.engine.codecs import Codec, codec, crc32, new_probe
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.model import COMPONENTS, LAYOUT_CHECKSUMS, LAYOUT_LZ4_ELEMENTS, Array, Hint, Item, ItemStorage

CHECKSUM_BYTES = 4


@dataclass(frozen=True)
class PageFormat:
    """How the pages of one item become bytes.

    Attributes:
        dtype: stored type of a cell, little-endian; of a vector item one field of its components.
        codec: of the dataset's compression; raw for "None".
        checksums: each stored page ends with the CRC-32 of its encoded bytes (layout version 3; never on raw data).
        pattern: bytes of the no-data value, or None.
        buffer_elements: LZ4 before version 2 encodes a buffer of this many elements for every page; 0 otherwise.
        hints: how the source made the floats, for the codec.
    """

    dtype: np.dtype[Any]
    codec: Codec
    checksums: bool
    pattern: bytes | None
    buffer_elements: int = 0
    hints: tuple[Hint, ...] = ()

    @cached_property
    def compressed(self) -> bool:
        return self.codec.name != "None"

    @cached_property
    def buffer_bytes(self) -> int:
        """What LZ4 before version 2 may decode to instead of a page; 0 otherwise."""
        return self.buffer_elements * self.dtype.itemsize

    @property
    def may_be_empty(self) -> bool:
        """Whether pages of length 0 occur: compressed items with a no-data value (P5)."""
        return self.compressed and self.pattern is not None

    @cached_property
    def no_data(self) -> Any:
        """The no-data value as a scalar of the stored type, to the bit; None without one."""
        return None if self.pattern is None else np.frombuffer(self.pattern, self.dtype)[0]

    @cached_property
    def bits(self) -> np.dtype[Any]:
        """The unsigned type of the stored type's width: no-data is compared by bit pattern."""
        return np.dtype(f"<u{self.dtype.itemsize}")

    def limits(self, elements: Array) -> Array:
        """(n,) int64: the largest stored length of pages of so many elements (P10)."""
        raw = np.asarray(elements, np.int64) * self.dtype.itemsize
        if not self.compressed:
            return raw
        sizes, inverse = np.unique(np.maximum(raw, self.buffer_elements * self.dtype.itemsize), return_inverse=True)
        most = np.array([self.codec.max_encoded(int(size)) for size in sizes], np.int64)
        return (most + (CHECKSUM_BYTES if self.checksums else 0))[inverse.reshape(raw.shape)]

    def is_empty(self, elements: Array) -> bool:
        """Whether every element has the no-data bit pattern."""
        if not self.may_be_empty or not elements.size:
            return False
        bits, wanted = elements.view(self.bits), np.frombuffer(self.pattern or b"", self.bits)[0]
        return bool(bits.flat[0] == wanted and bits.flat[-1] == wanted and (bits == wanted).all())

    def fill(self, into: Array) -> None:
        """Set every element to no-data (0 for an item without), all components of a vector."""
        numbers = into[COMPONENTS] if self.dtype.names else into
        bits = np.dtype(f"<u{numbers.dtype.itemsize}")
        numbers.view(bits)[...] = 0 if self.pattern is None else np.frombuffer(self.pattern, bits)[0]


def page_format(item: Item, storage: ItemStorage, page_elements: int, hints: Sequence[Hint] = ()) -> PageFormat:
    """The format of an item's pages of at most `page_elements` elements; `UnknownCompressionError` (V6)."""
    version = storage.layout_version or 0
    chosen = codec(storage.compression)
    compressed = chosen.name != "None"
    return PageFormat(
        item.cell_type, chosen, compressed and version >= LAYOUT_CHECKSUMS, no_data_pattern(item),
        page_elements if chosen.name == "LZ4" and version < LAYOUT_LZ4_ELEMENTS else 0, tuple(hints))


def no_data_pattern(item: Item) -> bytes | None:
    """The bytes of the item's no-data value in its stored type; None without one or when the type cannot hold it."""
    value = item.no_data
    if value is None:
        return None
    if item.numpy.kind in "iu":
        limits = np.iinfo(item.numpy)
        if not np.isfinite(value) or value != int(value) or not int(limits.min) <= int(value) <= int(limits.max):
            return None
        value = int(value)
    with np.errstate(over="ignore", invalid="ignore"):  # signalling NaNs too
        return np.array(value).astype(item.numpy).tobytes() if item.numpy.kind == "f" else np.array(
            value, item.numpy).tobytes()


class PageEncoder:
    """Encodes the pages of one encode chunk in their order: holds the probe state and the LZ4 buffer (C4, C6).

    One thread at a time. Bytes depend on the pages handed over and nothing else (D9).
    """

    def __init__(self, page_format: PageFormat) -> None:
        self._format = page_format
        self._probe = new_probe(page_format.codec.name)
        self._buffer = np.zeros(page_format.buffer_elements, page_format.dtype)

    def encode(self, elements: Array, *, even_if_empty: bool = False) -> bytes:
        """Stored bytes of a 2-D page; b"" for an all-no-data one unless it must be stored (P5)."""
        form = self._format
        if not form.compressed:
            return elements.tobytes()
        if form.is_empty(elements) and not even_if_empty:
            return b""
        page = np.ascontiguousarray(elements)
        if form.buffer_elements:
            self._buffer[:page.size] = page.ravel()
            page = self._buffer.reshape(1, -1)
        encoded = form.codec.encode(page, self._probe, form.hints, form.no_data)
        return encoded + checksum(encoded) if form.checksums else encoded


def checksum(encoded: bytes | memoryview) -> bytes:
    """CRC-32 (the one of zlib and PNG) of encoded bytes, little-endian."""
    return crc32(encoded).to_bytes(CHECKSUM_BYTES, "little")


def decode_page(page_format: PageFormat, data: bytes | memoryview, into: Array, where: str) -> None:
    """Fill `into` from stored bytes; raises `DamagedDataError` naming `where`.

    `into` has the stored type and contiguous rows: an array of its own or the very part of a result.
    """
    if page_format.compressed and not len(data):
        page_format.fill(into)
        return
    try:
        page_format.codec.decode(checked(page_format, data), into, page_format.buffer_bytes)
    except DamagedDataError as error:
        error.where = error.where or where
        raise


def checked(page_format: PageFormat, data: bytes | memoryview) -> bytes | memoryview:
    """The encoded bytes of a stored page without its checksum; `DamagedDataError` when that does not fit (V1)."""
    if not page_format.checksums:
        return data
    if len(data) <= CHECKSUM_BYTES:
        raise DamagedDataError(f"A page of {len(data)} bytes is too short to end with a checksum.")
    block = memoryview(data)[:-CHECKSUM_BYTES]
    found, stored = crc32(block), int.from_bytes(data[-CHECKSUM_BYTES:], "little")
    if found != stored:
        raise DamagedDataError(f"The checksum is {found:08x}, the page says {stored:08x}: its bytes changed.",
                               advice="Copy the blob again from a good copy, or import these times again.")
    return block
