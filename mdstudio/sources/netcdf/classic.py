"""The size that the header of a NetCDF-3 file promises: netCDF itself reads missing bytes as zeros without a word."""

from __future__ import annotations

import struct
from typing import BinaryIO

_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
_DIMENSION, _VARIABLE, _ATTRIBUTE = 10, 11, 12
_STREAMING = (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
_LIMIT = 1 << 30  # no header counts more names, dimensions or bytes of one attribute than this


class _Header:
    """Reads the big-endian header: CDF-1 (32-bit), CDF-2 (64-bit offsets), CDF-5 (64-bit counts too)."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.version = file.read(4)[3]
        self.count_format = ">Q" if self.version == 5 else ">I"
        self.offset_format = ">I" if self.version == 1 else ">Q"

    def number(self, layout: str) -> int:
        data = self.file.read(struct.calcsize(layout))
        return int(struct.unpack(layout, data)[0])

    def count(self) -> int:
        return self.number(self.count_format)

    def skip(self, size: int) -> None:
        if size > _LIMIT:
            raise ValueError(size)
        self.file.seek(size + -size % 4, 1)

    def list_length(self, kind: int) -> int:
        tag, length = self.number(">I"), self.count()
        if (tag not in (0, kind)) or length > _LIMIT or (tag == 0 and length):
            raise ValueError(tag)
        return length

    def skip_attributes(self) -> None:
        for _ in range(self.list_length(_ATTRIBUTE)):
            self.skip(self.count())
            size = _SIZES[self.number(">I")]
            self.skip(size * self.count())


def promised_size(file: BinaryIO) -> int:
    """Bytes that the file must have for all its values to be there, padding of the last value not counted.

    `file` stands at its start. Reads the header only. Raises `ValueError` (or `struct.error`, `KeyError`) for a header
    that is damaged or cut off; 0 where the header leaves the number of records open.
    """
    header = _Header(file)
    records = header.count()
    lengths = []
    for _ in range(header.list_length(_DIMENSION)):
        header.skip(header.count())
        lengths.append(header.count())
    header.skip_attributes()
    fixed_end, per_record = 0, []
    for _ in range(header.list_length(_VARIABLE)):
        header.skip(header.count())
        rank = header.count()
        if rank > 1024:
            raise ValueError(rank)
        shape = [lengths[header.count()] for _ in range(rank)]
        header.skip_attributes()
        size = _SIZES[header.number(">I")]
        header.count()  # the stored size: may be cut to 32 bits, so it is computed instead
        begin = header.number(header.offset_format)
        is_record = bool(shape) and shape[0] == 0
        for length in shape[1:] if is_record else shape:
            size *= length
        if is_record:
            per_record.append((begin, size))
        else:
            fixed_end = max(fixed_end, begin + size)
    if not per_record or records == 0 or records in _STREAMING:
        return fixed_end
    padded = per_record[0][1] if len(per_record) == 1 else sum(s + -s % 4 for _, s in per_record)
    return max(fixed_end, *(begin + (records - 1) * padded + size for begin, size in per_record))
