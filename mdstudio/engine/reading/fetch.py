"""Stored bytes of pages in few requests, all from one version of the blob (P2, T7)."""

from __future__ import annotations

from collections.abc import Sequence

from mdstudio.engine.errors import DamagedDataError, RangeError
from mdstudio.engine.storage import BlobStorage
from mdstudio.engine.storage.ranges import plan_requests

Bytes = memoryview | bytes


def fetch(
    storage: BlobStorage,
    blob: str,
    ranges: Sequence[tuple[int, int]],
    version: str | None,
    *,
    length: int | None = None,
    multiple: int = 0,
    pin: bool = True,
) -> list[Bytes]:
    """The bytes of (offset, count) ranges in the order given, b"" for an empty one; views into what was read.

    Split only at gaps over 60 KB and at 8 MB. The first request's version holds for the others, unless `pin` is False.
    `length`, `multiple`: what the blob's length must be, or be a multiple of. Raises `DamagedDataError` for a blob of
    another length or one that ends before a range does, `BlobChangedError`, `NotFoundError`.
    """
    found: list[Bytes] = [b""] * len(ranges)
    for request in plan_requests(ranges):
        try:
            read = storage.read_range(blob, request.offset, request.count, version=version)
        except RangeError as error:
            raise DamagedDataError(f"The blob ends before byte {request.offset}.", where=blob) from error
        if length is not None and read.length != length:
            raise DamagedDataError(f"The blob holds {read.length} bytes; {length} are described.", where=blob,
                                   advice="Import these times again.")
        if len(read.data) != request.count or (multiple and read.length % multiple):
            raise DamagedDataError(f"The blob holds {read.length} bytes, which is too few or no whole number of "
                                   "timesteps.", where=blob, advice="Import these times again.")
        version = read.version if pin else None
        view = memoryview(read.data)
        for position in request.members:
            offset, count = ranges[position]
            start = offset - request.offset
            found[position] = view[start:start + count]
    return found
