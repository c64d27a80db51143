"""Reading many ranges of one blob in few requests (P2, T7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mdstudio.engine.errors import RangeError
from mdstudio.engine.storage.protocol import BlobStorage

MAX_GAP = 61_440  # bytes between two ranges that are still read together: cheaper than another request
MAX_REQUEST = 8_388_608  # bytes of one request; a larger range is a request of its own


@dataclass(frozen=True, slots=True)
class Request:
    """One ranged read: `count` bytes from `offset`; `members` are the positions of the ranges that it serves."""

    offset: int
    count: int
    members: tuple[int, ...]


def plan_requests(ranges: Sequence[tuple[int, int]]) -> list[Request]:
    """The requests, by offset, that together hold all (offset, length) ranges in any order; none for an empty range."""
    requests: list[Request] = []
    members: list[int] = []
    start = end = 0
    for position in sorted((i for i, (_, length) in enumerate(ranges) if length), key=lambda i: ranges[i]):
        offset, length = ranges[position]
        if members and (offset - end > MAX_GAP or max(end, offset + length) - start > MAX_REQUEST):
            requests.append(Request(start, end - start, tuple(members)))
            members = []
        if not members:
            start = end = offset
        members.append(position)
        end = max(end, offset + length)
    if members:
        requests.append(Request(start, end - start, tuple(members)))
    return requests


def read_ranges(storage: BlobStorage, name: str, ranges: Sequence[tuple[int, int]], version: str | None) -> list[bytes]:
    """The bytes of each (offset, length) range, in the order given, all of them from one version of the blob.

    Costs the requests of `plan_requests`, one after another. Raises `RangeError` where the blob ends before a range
    does, `BlobChangedError` if the blob is not of that version (None: of the version that the first request finds).
    """
    found = [b""] * len(ranges)
    for request in plan_requests(ranges):
        read = storage.read_range(name, request.offset, request.count, version=version)
        version = read.version
        if len(read.data) != request.count:
            raise RangeError(
                f"Expected {request.count} bytes from {request.offset}, found {len(read.data)}:"
                f" the blob has {read.length} bytes.",
                where=f"{storage.location}/{name}",
            )
        view = memoryview(read.data)
        for position in request.members:
            offset, length = ranges[position]
            found[position] = bytes(view[offset - request.offset : offset - request.offset + length])
    return found
