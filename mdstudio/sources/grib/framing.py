"""Where the messages of a GRIB file lie: found by their own marks and lengths, so that damage is seen and counted.

Only headers are read here: the few bytes that frame a message, then its sections but for bitmap and data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mdstudio.engine.errors import AccessError, NotFoundError, SourceError
from mdstudio.sources.grib.groups import Groups, groups_1, groups_2

_START, _END = b"GRIB", b"7777"
_SEARCHED = 1 << 20  # bytes looked through at once for the next message
_BULLETIN = 1024  # bytes that may come before the first message: headings of bulletins
_LARGE = 0x800000  # GRIB1: the length is in units of 120 bytes
_OWN_BITMAP, _EARLIER_BITMAP = 0, 254
_DATA_HEADER = 256  # bytes of a GRIB1 data section that hold all that is not data


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field lies.

    Attributes:
        file: number of the file.
        offset, length: of its message, from `GRIB` to `7777`.
        field: which of the message's fields it is, from 0.
        sections: (number, offset, length) of its GRIB2 sections where the message has several fields, else ().
    """

    file: int
    offset: int
    length: int
    field: int = 0
    sections: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A field with its header: a message of its own that lacks the bitmap and the data only.

    Attributes:
        grid: the bytes that say where its points lie: equal for fields of one grid.
    """

    place: Place
    header: bytes
    grid: bytes


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are no whole message, and why."""

    offset: int
    reason: str
    length: int = 0  # of bytes that are not even the start of a message


CUT_OFF = "cut off by the end of the file"
NO_END = "without the mark 7777 at their end"
SECTIONS = "whose sections do not add up to their length"
EDITION = "of an unknown GRIB edition"
FOREIGN = "that belong to no message"


class _BrokenError(Exception):
    """A message whose sections contradict each other."""


def is_grib(path: str) -> bool:
    """True where a GRIB message starts the file, perhaps behind the heading of a bulletin. Reads a few bytes."""
    with open(path, "rb") as file:
        start = file.read(_BULLETIN + 8)
    at = start.find(_START)
    return at >= 0 and start[at + 7:at + 8] in (b"\1", b"\2") and not start.startswith((b"CDF", b"\x89HDF"))


def check_file(path: str) -> None:
    """Raises `NotFoundError`, `AccessError` or `SourceError` for what is no GRIB file."""
    try:
        if Path(path).is_dir():
            raise SourceError("This is a folder, not a GRIB file.", where=path, advice="Name the files in it.")
        if os.path.getsize(path) == 0:
            raise SourceError("The file is empty.", where=path)
        if not is_grib(path):
            raise SourceError("This is not a GRIB file.", where=path)
    except FileNotFoundError:
        raise NotFoundError("There is no such file.", where=path) from None
    except PermissionError:
        raise AccessError("The file may not be read: no permission.", where=path) from None
    except OSError as error:
        raise SourceError(f"The file cannot be read: {error.strerror or error}.", where=path) from None


def scan(path: str, number: int) -> Iterator[Found | Damage]:
    """The fields and the damage of a file in file order; reads headers only.

    A message counts when its length leads to `7777` and its sections fill it; else the search goes on right behind its
    `GRIB`. Zero bytes between messages are padding. Raises `SourceError` where the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            yield from _scan(file, os.path.getsize(path), number)
    except OSError as error:
        raise SourceError(f"The file cannot be read: {error.strerror or error}.", where=path) from None


def _scan(file: BinaryIO, size: int, number: int) -> Iterator[Found | Damage]:
    at = done = 0
    while True:
        start = _find_start(file, at)
        if start < 0:
            break
        outcome = _framed(file, start, size)
        if isinstance(outcome, Damage):
            if outcome.reason:
                yield from _foreign(file, done, start)
                yield outcome
                done = start + 4 if outcome.reason != CUT_OFF else size
            at = start + 4
            continue
        length, edition = outcome
        yield from _foreign(file, done, start)
        done = at = start + length
        try:
            yield from (_fields_1 if edition == 1 else _fields_2)(file, number, start, length)
        except _BrokenError:
            yield Damage(start, SECTIONS)
    yield from _foreign(file, done, size)


def _find_start(file: BinaryIO, at: int) -> int:
    """The next `GRIB` from a position on; -1 where there is none."""
    while True:
        file.seek(at)
        block = file.read(_SEARCHED)
        found = block.find(_START)
        if found >= 0:
            return at + found
        if len(block) < _SEARCHED:
            return -1
        at += len(block) - len(_START) + 1


def _framed(file: BinaryIO, start: int, size: int) -> tuple[int, int] | Damage:
    """(length, edition) of the message at a `GRIB`, or what is wrong with it; no reason where the four letters merely
    occur in other bytes."""
    file.seek(start)
    head = file.read(16)
    if len(head) < 16:
        return Damage(start, CUT_OFF)
    edition = head[7]
    if edition not in (1, 2):
        return Damage(start, EDITION if edition in (0, 3) and start == 0 else "")
    length = int.from_bytes(head[8:16], "big") if edition == 2 else _length_1(file, start, int.from_bytes(head[4:7]))
    if length < (40 if edition == 1 else 100):
        return Damage(start, NO_END)
    if start + length > size:
        return Damage(start, CUT_OFF)
    file.seek(start + length - 4)
    return (length, edition) if file.read(4) == _END else Damage(start, NO_END)


def _length_1(file: BinaryIO, start: int, length: int) -> int:
    """The length of a GRIB1 message: beyond 8 MB in units of 120 bytes, and the data section tells the rest."""
    if not length & _LARGE:
        return length
    try:
        data = _sections_1(file, start, 1 << 62)[-1]
    except _BrokenError:
        return length
    return (length & ~_LARGE) * 120 - data[2] + 4 if data[2] < 120 else length


def _foreign(file: BinaryIO, start: int, stop: int) -> Iterator[Damage]:
    """Bytes between messages that are not padding."""
    count, first = 0, -1
    file.seek(start)
    left = stop - start
    while left > 0:
        block = file.read(min(left, _SEARCHED))
        if not block:
            break
        odd = len(block) - block.count(0)
        if odd and first < 0:
            first = stop - left + len(block) - len(block.lstrip(b"\0"))
        count, left = count + odd, left - len(block)
    if count:
        yield Damage(first, FOREIGN, count)


def _fields_1(file: BinaryIO, number: int, start: int, length: int) -> Iterator[Found]:
    """The field of a GRIB1 message; its header has neither bitmap nor data."""
    parts: dict[int, bytes] = {}
    for section, at, size in _sections_1(file, start, length):
        if section == 3:
            continue
        file.seek(at)
        parts[section] = file.read(min(size, _DATA_HEADER) if section == 4 else size)
    if not _fit(groups_1, parts[4], start + length - 4 - at):
        raise _BrokenError
    product, grid = bytearray(parts[1]), parts.get(2, b"")
    product[7] &= ~0x40 & 0xFF  # no bitmap
    data = len(parts[4]).to_bytes(3, "big") + parts[4][3:]
    body = bytes(product) + grid + data
    header = _START + (8 + len(body) + 4).to_bytes(3, "big") + b"\1" + body + _END
    yield Found(Place(number, start, length), header, grid or b"predefined" + bytes(product[4:5] + product[6:7]))


def _sections_1(file: BinaryIO, start: int, length: int) -> list[tuple[int, int, int]]:
    """(number, offset, length) of the sections of a GRIB1 message; a data section of more than 8 MB has a false one."""
    found, at = [], start + 8
    file.seek(at)
    flags = file.read(8)[7:8]
    if not flags:
        raise _BrokenError
    for section, present in ((1, 1), (2, flags[0] & 0x80), (3, flags[0] & 0x40), (4, 1)):
        if not present:
            continue
        file.seek(at)
        size = int.from_bytes(file.read(3), "big")
        if size < (28, 6, 6, 4)[section - 1] or at + size > start + length - 4:
            raise _BrokenError
        found.append((section, at, size))
        at += size
    return found


def _fields_2(file: BinaryIO, number: int, start: int, length: int) -> Iterator[Found]:
    """The fields of a GRIB2 message: sections that are not repeated hold for the next field too."""
    current: dict[int, tuple[int, int, int]] = {}
    fields: list[tuple[tuple[int, int, int], ...]] = []
    bitmap: tuple[int, int, int] | None = None
    at, last = start + 16, 0
    while at < start + length - 4:
        file.seek(at)
        head = file.read(6)
        size, section = int.from_bytes(head[:4], "big"), head[4]
        if size < 5 or at + size > start + length - 4 or not 1 <= section <= 7 or (
                section <= last and last != 7):
            raise _BrokenError
        current[section] = (section, at, size)
        if section == 6 and head[5] == _OWN_BITMAP:
            bitmap = current[6]
        if section == 6 and head[5] == _EARLIER_BITMAP:
            if bitmap is None:
                raise _BrokenError
            current[6] = bitmap
        if section == 7:
            if 5 in current and not _groups_fit(file, current[5], size):
                raise _BrokenError
            if not {1, 3, 4, 5, 6} <= set(current):
                raise _BrokenError
            fields.append(tuple(current[n] for n in sorted(current)))
        at, last = at + size, section
    if last != 7:
        raise _BrokenError
    file.seek(start)
    head = file.read(8)
    for count, sections in enumerate(fields):
        parts = {}
        for section, offset, size in sections:
            file.seek(offset)
            parts[section] = file.read(size) if section < 6 else b"\0\0\0\6\6\xff" if section == 6 else b"\0\0\0\5\7"
        place = Place(number, start, length, count, sections if len(fields) > 1 else ())
        yield Found(place, _message_2(head, b"".join(parts.values())), parts[3])


def _groups_fit(file: BinaryIO, packing: tuple[int, int, int], size: int) -> bool:
    """False where the groups of a packing cannot be those of a data section of `size` bytes."""
    file.seek(packing[1])
    return _fit(groups_2, file.read(packing[2]), size)


def _fit(groups_of: Callable[[bytes], Groups | None], header: bytes, size: int) -> bool:
    try:
        groups = groups_of(header)
    except IndexError:
        return False
    return groups is None or groups.fit(size)


def _message_2(head: bytes, body: bytes) -> bytes:
    return head[:8] + (16 + len(body) + 4).to_bytes(8, "big") + body + _END


def header_bytes(path: str, place: Place) -> bytes:
    """The header of a field once more, as `scan` gave it."""
    with open(path, "rb") as file:
        file.seek(place.offset + 7)
        fields = _fields_1 if file.read(1) == b"\1" else _fields_2
        try:
            return next(f.header for f in fields(file, place.file, place.offset, place.length)
                        if f.place.field == place.field)
        except (_BrokenError, StopIteration):
            raise SourceError("The file has changed while it was read.", where=path) from None


def message_bytes(path: str, place: Place) -> bytes:
    """A message that holds this field alone, data and all."""
    with open(path, "rb") as file:
        file.seek(place.offset)
        if not place.sections:
            message = file.read(place.length)
        else:
            head = file.read(8)
            parts = []
            for _, offset, size in place.sections:
                file.seek(offset)
                parts.append(file.read(size))
            message = _message_2(head, b"".join(parts))
    if not message.startswith(_START) or not message.endswith(_END):
        raise SourceError("The file has changed while it was read.", where=path)
    return message
