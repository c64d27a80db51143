"""What ecCodes takes on trust in a message, and ends the process or takes all memory over.

Of the images, JPEG2000 and PNG, it writes as many values as there are points, wherever they end, and asserts the depth
and the last byte. Of any packing it makes room for as many values as the message claims.
"""

from __future__ import annotations

import struct

from mdstudio.sources.grib.groups import groups_1, groups_2
from mdstudio.sources.grib.library import UndecodableError

_JPEG2000, _PNG = (40, 40000), (41, 40010)  # data representation templates; the second ones are from before the WMO's
_CODE_STREAM = b"\xff\x4f\xff\x51"  # its start and the marker of its size
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {2: 3, 6: 4}  # of the colour types whose bytes ecCodes takes together as one number


def check_message(message: bytes, points: int) -> None:
    """Raises `UndecodableError` for a message of one field that has more values than its grid has points, groups of
    values that it cannot hold, or an image that is not what its header says; decodes no value."""
    packing, data = _sections(message)
    count = int.from_bytes(packing[5:9], "big")
    if count > points:
        raise UndecodableError(f"{count} values for {points} points")
    try:
        groups = groups_2(packing) if packing else groups_1(data)
        fits = groups is None or groups.values_fit(data, points)
        fits = fits and (not packing or _image_fits(packing, data[5:], count))
    except (IndexError, struct.error):
        fits = False
    if not fits:
        raise UndecodableError("packed values that do not go with their header")


def _sections(message: bytes) -> tuple[bytes, bytes]:
    """The section that says how the values are packed, b"" in GRIB1, and the one that holds them."""
    if message[7] == 1:
        at = 8
        for present in (True, message[15] & 0x80, message[15] & 0x40):
            at += int.from_bytes(message[at:at + 3], "big") if present else 0
        return b"", message[at:-4]
    found: dict[int, bytes] = {}
    at = 16
    while at < len(message) - 4:
        size, section = struct.unpack_from(">IB", message, at)
        found[section] = message[at:at + size]
        at += max(size, 5)
    return found.get(5, b"\0" * 11), found.get(7, b"")


def _image_fits(packing: bytes, data: bytes, count: int) -> bool:
    template = int.from_bytes(packing[9:11], "big")
    if template not in _JPEG2000 + _PNG or not packing[19]:  # no bits: one value for all, and no image
        return True
    return _jpeg2000_fits(data, count) if template in _JPEG2000 else _png_fits(data, count, packing[19])


def _jpeg2000_fits(data: bytes, count: int) -> bool:
    """One component of `count` points, without a sign, as deep as ecCodes takes it."""
    if not data.startswith(_CODE_STREAM) or len(data) < 45:
        return False
    right, lower, left, upper = struct.unpack_from(">4I", data, 8)
    components, depth, across, down = struct.unpack_from(">H3B", data, 40)
    return (right - left) * (lower - upper) == count and left <= right and (components, across, down) == (1, 1, 1) \
        and depth < 30


def _png_fits(data: bytes, count: int, bits: int) -> bool:
    """`count` points of the bytes that `bits` need; chunks that end with the section."""
    if not data.startswith(_SIGNATURE + b"\0\0\0\x0dIHDR") or len(data) < 45:
        return False
    width, height, depth, colour = struct.unpack_from(">2I2B", data, 16)
    at, kind = 8, b""
    while kind != b"IEND" and at + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        at += 12 + size
    return kind == b"IEND" and at == len(data) and width * height == count \
        and depth * _CHANNELS.get(colour, 1) == (bits + 7) // 8 * 8
