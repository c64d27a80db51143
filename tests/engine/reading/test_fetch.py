"""Stored bytes of pages in few requests: in order, of one version, never short."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdstudio.engine.errors import BlobChangedError, DamagedDataError
from mdstudio.engine.reading.fetch import fetch
from mdstudio.engine.storage import CountingStorage, FolderStorage, plan_requests


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
    found = fetch(storage, "a", ranges, storage.properties("a").version)
    assert found == [data[offset : offset + length] for offset, length in ranges]
    assert storage.delta(before).requests == 1 + len(plan_requests(ranges))


def test_a_range_past_the_end_is_refused_and_so_is_another_version(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    version = storage.write("a", bytes(1000))
    for ranges in ([(990, 20)], [(0, 10), (1000, 1)], [(5000, 1)]):
        with pytest.raises(DamagedDataError):
            fetch(storage, "a", ranges, version)
    storage.write("a", bytes(1000))
    with pytest.raises(BlobChangedError):
        fetch(storage, "a", [(0, 10)], version)


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
        fetch(storage, "a", [(0, 10), (900_000, 10)], None)
