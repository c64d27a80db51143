"""A dataset of a million pages: requests counted, no page read for a heatmap, indexes held as arrays (design 8)."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.health import Summary, check
from mdstudio.engine.layout import multi
from mdstudio.engine.requests import MapRequest
from mdstudio.engine.storage import CountingStorage, FolderStorage
from tests.benchmarks.million_pages import GROUPS, PAGES, heatmap, write

OF_A_GROUP = PAGES // GROUPS
INDEX_BYTES = 4 * OF_A_GROUP + 8


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> FolderStorage:
    return write(tmp_path_factory.mktemp("million") / "d")


@pytest.mark.rule("P9")
def test_opening_reads_the_metadata_and_an_index_costs_three_requests(million: FolderStorage) -> None:
    counting = CountingStorage(million)
    dataset = Dataset.open(counting)
    assert counting.requests <= 3
    before = counting.requests
    table = dataset.pages("v", 100)
    assert counting.requests - before <= 3
    assert len(table) == OF_A_GROUP == 5000
    assert table.bytes_read == INDEX_BYTES
    assert table.requests == counting.requests - before


@pytest.mark.rule("P9", "P2")
def test_a_heatmap_of_all_reads_no_page(million: FolderStorage) -> None:
    counting = CountingStorage(million)
    heatmap(counting)
    metadata = len(million.read("dataset.json").data)
    assert counting.requests <= 2 + 3 * (GROUPS + 1)
    assert counting.bytes_read == metadata + (GROUPS + 1) * INDEX_BYTES


@pytest.mark.rule("P9")
def test_indexes_are_held_as_arrays(million: FolderStorage) -> None:
    dataset = Dataset.open(million)
    layout = dataset.layout("v")
    dataset.pages("v", 0)
    tracemalloc.start()
    try:
        indexes = [multi.read_index(million, layout, -1, group) for group in range(50)]
        held = tracemalloc.get_traced_memory()[0]
        dataset.sizes()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(indexes) == 50
    assert held < 50 * (2 * INDEX_BYTES + 4096)  # entries and the bytes they came from, not an object a page
    assert peak - held < 8 << 20


@pytest.mark.rule("P2")
def test_a_whole_map_touches_each_page_once_in_few_requests(million: FolderStorage) -> None:
    found = Dataset.open(million).map(MapRequest("v", 3))
    assert found.explain.pages_touched == len(found.explain.pages) == OF_A_GROUP
    assert found.explain.pages_decoded == OF_A_GROUP * 9 // 10
    assert found.explain.requests <= 4
    assert [ref.page for ref in found.explain.pages[::1000]] == [0, 1000, 2000, 3000, 4000]
    assert set(np.unique(found.stored)) == {-1, 7}


@pytest.mark.rule("G3", "P9")
def test_the_check_of_all_indexes_reads_no_page(million: FolderStorage) -> None:
    *findings, summary = check(million, "index")
    assert isinstance(summary, Summary)
    assert summary.pages_total == PAGES == 1_000_000
    assert {finding.code for finding in findings} == {"MD-H038"}  # type: ignore[union-attr]  # copied without lists
    assert summary.requests <= 3 + 4 * GROUPS
    assert summary.bytes_read < GROUPS * (INDEX_BYTES + 4096) + 60_000
