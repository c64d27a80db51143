"""The benchmark of C10 on a small file: it measures every query of every compression, and compression reads less."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdstudio.engine.codecs import NAMES
from tests.benchmarks.query_cost import LAYOUTS, QUERIES, measured, print_report
from tests.cli.sources import write_waves


@pytest.mark.rule("C10")
def test_every_query_of_every_compression_is_measured_against_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = dict(measured(write_waves(tmp_path / "waves.nc", times=range(12), cells=300), 1))
    print_report({"waves.nc": costs})
    printed = capsys.readouterr().out
    assert set(costs) == {(layout, name) for layout in LAYOUTS for name in NAMES}
    assert all(set(queries) == set(QUERIES) for queries in costs.values())
    assert all(printed.count(f"  {name} ") == len(LAYOUTS) for name in NAMES[1:])


@pytest.mark.rule("C10", "P2")
def test_compression_costs_a_query_no_page_and_one_or_two_requests_more(tmp_path: Path) -> None:
    costs = dict(measured(write_waves(tmp_path / "waves.nc", times=range(12), cells=300), 1))
    for (layout, name), queries in costs.items():
        for query in ("map", "region"):
            none, own = costs[layout, "None"][query].explain, queries[query].explain
            if layout != "TimeSeries":  # there None is read in pieces of its own
                assert own.pages_touched == none.pages_touched
                assert none.requests <= own.requests <= none.requests + 2, (layout, name, query)
            assert own.bytes_read <= 1.02 * none.bytes_read + 4096  # noise does not get smaller; a page index is read
