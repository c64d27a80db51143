"""The domain blob: there, whole, and of the grid that the metadata speaks of."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator

from mdstudio.engine.errors import NotFoundError, StorageError
from mdstudio.engine.health import findings as codes
from mdstudio.engine.health.findings import Finding
from mdstudio.engine.layout.metadata import Metadata
from mdstudio.engine.storage import BlobStorage

_LOST = "the coordinates: maps and queries by place"
_ADVICE = "Restore it from a copy, or import again."


def domain_findings(storage: BlobStorage, metadata: Metadata) -> Iterator[Finding]:
    """At most one finding; reads the blob."""
    name = metadata.domain_blob
    try:
        data = storage.read(name).data
    except NotFoundError:
        yield Finding(codes.DOMAIN_MISSING, "damage", name, expected="the blob with the coordinates", found="no blob",
                      lost=_LOST, advice=_ADVICE)
        return
    except StorageError as error:
        yield Finding(codes.UNREADABLE, "damage", name, expected="a readable blob", found=error.message,
                      permanent=False, lost=_LOST, advice="Check again.")
        return
    wrong = _wrong(data, metadata.shape)
    if wrong:
        expected, found = wrong
        yield Finding(codes.DOMAIN_DAMAGED, "damage", name, expected=expected, found=found, lost=_LOST, advice=_ADVICE)


def _wrong(data: bytes, shape: tuple[int, int]) -> tuple[str, str] | None:
    """(expected, found) of the first thing that is not as it must be."""
    if len(data) < 20 or data[:8] != b"MDDOMAIN":
        return "a blob that begins with MDDOMAIN", f"{len(data)} bytes that begin with {data[:8]!r}"
    stored, actual = struct.unpack("<I", data[-4:])[0], zlib.crc32(data[:-4])
    if stored != actual:
        return f"the checksum {stored:08x} of its last 4 bytes", f"{actual:08x}"
    length = struct.unpack_from("<I", data, 12)[0]
    try:
        header = json.loads(data[16:16 + length])
        shapes = {entry["Name"]: entry["Shape"] for entry in header["Arrays"]}
        lengths = sum(entry["Length"] for entry in header["Arrays"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return "a JSON header that lists the arrays", f"{length} bytes of something else"
    if lengths != len(data) - 20 - length:
        return f"arrays of {lengths} bytes", f"{len(data) - 20 - length} bytes"
    rows, columns = shape
    if shapes.get("Y") != [rows] or shapes.get("X") != [columns]:
        return f"coordinates of {rows} rows and {columns} columns", f"shapes {shapes.get('Y')} and {shapes.get('X')}"
    return None
