"""Many ranges in few requests (P2, T7)."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from mdstudio.engine.storage import plan_requests

GAP, LARGEST = 60 * 1024, 8 * 1024 * 1024  # as the rule states them

OFFSETS = st.integers(0, 200_000) | st.integers(0, 40_000_000)
LENGTHS = st.integers(0, 1000) | st.integers(0, 100_000) | st.integers(7_000_000, 9_000_000)
RANGES = st.lists(st.tuples(OFFSETS, LENGTHS), max_size=40)


@pytest.mark.rule("P2", "T7")
@settings(deadline=None)
@given(RANGES)
def test_the_requests_hold_every_range_and_split_only_where_the_rule_says(ranges: list[tuple[int, int]]) -> None:
    requests = plan_requests(ranges)
    served = [position for request in requests for position in request.members]
    assert sorted(served) == [i for i, (_, length) in enumerate(ranges) if length]
    for request in requests:
        parts = [ranges[position] for position in request.members]
        assert request.offset == min(offset for offset, _ in parts)
        assert request.offset + request.count == max(offset + length for offset, length in parts)
        assert request.count <= LARGEST or len(parts) == 1 or request.count == max(length for _, length in parts)
        end = request.offset
        for offset, length in sorted(parts):
            assert offset - end <= GAP
            end = max(end, offset + length)
    for one, other in itertools.pairwise(requests):
        first = ranges[other.members[0]]
        gap = other.offset - (one.offset + one.count)
        too_long = max(one.offset + one.count, sum(first)) - one.offset > LARGEST
        assert gap > GAP or too_long, "two requests where one would do"


@pytest.mark.rule("P2", "T7")
@pytest.mark.parametrize(
    ("ranges", "requests"),
    [
        ([], []),
        ([(5, 0)], []),
        ([(0, 10), (10 + GAP, 10)], [(0, GAP + 20)]),
        ([(0, 10), (11 + GAP, 10)], [(0, 10), (11 + GAP, 10)]),
        ([(0, LARGEST - 10), (LARGEST - 10, 10)], [(0, LARGEST)]),
        ([(0, LARGEST - 10), (LARGEST - 10, 11)], [(0, LARGEST - 10), (LARGEST - 10, 11)]),
        ([(0, 10), (10, LARGEST + 1), (LARGEST + 11, 10)], [(0, 10), (10, LARGEST + 1), (LARGEST + 11, 10)]),
        ([(100, 10), (0, 10), (50, 10), (0, 10)], [(0, 110)]),
    ],
)
def test_the_limits_are_60_kb_and_8_mb(ranges: list[tuple[int, int]], requests: list[tuple[int, int]]) -> None:
    assert [(request.offset, request.count) for request in plan_requests(ranges)] == requests
