"""Packings in groups: complex packing and spatial differencing of GRIB2, second order of both editions.

Each group has a reference, a width in bits and a length; ecCodes takes all three on trust, and where they are too large
it reads beyond the message, ends the process, or makes room for more values than there is memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdstudio.engine.model import Array

MAX_BITS = 32
_COMPLEX = {2: 47, 3: 49}  # GRIB2 data representation templates, and bytes of their section; 3 is with differences
_SECOND_ORDER = {50001: 31, 50002: 32}  # the same; where the order of the differences is


@dataclass(frozen=True, slots=True)
class Groups:
    """What a header says of the groups.

    Attributes:
        number: how many there are.
        bits: of a reference, a width and a length, as they are stored.
        start: byte of the data section at which they begin.
        references_first: the references come before widths and lengths, else behind them.
        width: added to each width.
        length, increment, last: a length is `length + increment * stored`; that of the last group, -1 for one like it.
        lacking: values that are in no group.
    """

    number: int
    bits: tuple[int, int, int]
    start: int
    references_first: bool = False
    width: int = 0
    length: int = 0
    increment: int = 1
    last: int = -1
    lacking: int = 0

    def fit(self, size: int) -> bool:
        """False where a data section of `size` bytes cannot hold them."""
        return max(self.bits) <= MAX_BITS and self.width <= MAX_BITS and self.lacking <= 3 \
            and 8 * self.start + self.number * sum(self.bits) <= 8 * size

    def values_fit(self, data: bytes, points: int) -> bool:
        """False where a data section is too short for their values, or they have more values than there are points.

        Cost: the numbers of each group, no value.
        """
        if not self.fit(len(data)):
            return False
        reference, width, length = self.bits
        at = self.start + (_bytes(reference, self.number) if self.references_first else 0)
        widths = self.width + _numbers(data, at, width, self.number)
        at += _bytes(width, self.number)
        lengths = self.length + self.increment * _numbers(data, at, length, self.number)
        at += _bytes(length, self.number) + (0 if self.references_first else _bytes(reference, self.number))
        if self.last >= 0 and self.number:
            lengths[-1] = self.last
        if at > len(data) or (lengths > points).any() or int(lengths.sum()) + self.lacking > points:
            return False
        return not (widths > MAX_BITS).any() and int((widths * lengths).sum()) <= 8 * (len(data) - at)


def groups_2(packing: bytes) -> Groups | None:
    """Those of a GRIB2 section 5; None for a packing without groups. Raises `IndexError` where it is cut off or its
    differences start with numbers of more than 4 bytes."""
    template = int.from_bytes(packing[9:11], "big")
    if template in _COMPLEX:
        if len(packing) < _COMPLEX[template]:
            raise IndexError
        differences, octets = (packing[47], packing[48]) if template == 3 else (-1, 0)
        if octets > 4:
            raise IndexError
        return Groups(int.from_bytes(packing[31:35], "big"), (packing[19], packing[36], packing[46]),
                      5 + (differences + 1) * octets, True, packing[35], int.from_bytes(packing[37:41], "big"),
                      packing[41], int.from_bytes(packing[42:46], "big"))
    if template not in _SECOND_ORDER or (template == 50001 and not packing[19]):  # no bits: one value for all
        return None
    return Groups(int.from_bytes(packing[21:25], "big"), (packing[20], packing[29], packing[30]), 5,
                  lacking=packing[_SECOND_ORDER[template]])


def groups_1(data: bytes) -> Groups | None:
    """Those of a GRIB1 data section; None for another packing than the general extended second order. Raises
    `IndexError` where it is cut off."""
    if data[3] & 0xc0 != 0x40 or not data[13] & 0x08:
        return None
    order = data[13] & 3
    start = 25 if not order else 26 + _bytes(data[25], order + 1)
    return Groups(int.from_bytes(data[16:18], "big") + (data[20] << 16), (data[10], data[21], data[22]), start,
                  lacking=order)


def _bytes(bits: int, count: int) -> int:
    return (bits * count + 7) // 8


def _numbers(data: bytes, at: int, bits: int, count: int) -> Array:
    """(count,) int64 of numbers of so many bits each, from a byte on; 0 behind the end of the data."""
    stored = np.zeros(_bytes(bits, count), np.uint8)
    there = np.frombuffer(data[at:at + len(stored)], np.uint8)
    stored[:len(there)] = there
    unpacked = np.unpackbits(stored, count=bits * count).reshape(count, bits)
    numbers = np.zeros(count, np.int64)
    for bit in range(bits):
        numbers = 2 * numbers + unpacked[:, bit]
    return numbers
