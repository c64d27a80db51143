"""Which requests read many ranges of one blob in few requests (P2, T7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
