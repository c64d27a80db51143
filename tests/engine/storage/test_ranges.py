"""Many ranges in few requests (P2, T7)."""

from __future__ import annotations

import itertools
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from mdstudio.engine.errors import BlobChangedError, RangeError
from mdstudio.engine.storage import CountingStorage, FolderStorage, plan_requests, read_ranges

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


@pytest.mark.rule("P2", "T7")
@settings(deadline=None)
@given(ranges=st.lists(st.tuples(st.integers(0, 290_000), st.integers(0, 10_000)), max_size=20))
def test_the_bytes_come_back_in_the_order_asked(
    tmp_path_factory: pytest.TempPathFactory, ranges: list[tuple[int, int]]
) -> None:
    storage = CountingStorage(FolderStorage(tmp_path_factory.getbasetemp() / "ranges"))
    data = (bytes(range(251)) * 1200)[:300_000]
    if not storage.exists("a"):
        storage.write("a", data)
    before = storage.snapshot()
    found = read_ranges(storage, "a", ranges, storage.properties("a").version)
    assert found == [data[offset : offset + length] for offset, length in ranges]
    assert storage.delta(before).requests == 1 + len(plan_requests(ranges))


def test_a_range_past_the_end_is_refused_and_so_is_another_version(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    version = storage.write("a", bytes(1000))
    for ranges in ([(990, 20)], [(0, 10), (1000, 1)], [(5000, 1)]):
        with pytest.raises(RangeError):
            read_ranges(storage, "a", ranges, version)
    storage.write("a", bytes(1000))
    with pytest.raises(BlobChangedError):
        read_ranges(storage, "a", [(0, 10)], version)


def test_without_a_version_all_requests_are_of_the_one_that_the_first_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = FolderStorage(tmp_path)
    storage.write("a", bytes(1_000_000))
    read_range = storage.read_range

    def rewritten_after_the_first_read(*arguments: object, **options: object) -> object:
        result = read_range(*arguments, **options)
        storage.write("a", bytes(1_000_000))
        return result

    monkeypatch.setattr(storage, "read_range", rewritten_after_the_first_read)
    with pytest.raises(BlobChangedError):
        read_ranges(storage, "a", [(0, 10), (900_000, 10)], None)
