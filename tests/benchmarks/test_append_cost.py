"""The benchmark of T10 on a small file: every compression and number of workers, against its bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.append_cost import BOUNDS, WORKERS, measured, print_report
from tests.cli.sources import write_waves


@pytest.mark.rule("T10")
def test_an_append_is_measured_with_every_compression_that_has_a_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = dict(measured(write_waves(tmp_path / "waves.nc", times=range(12), cells=60)))
    print_report("waves.nc", costs)
    assert set(costs) == {(name, workers) for name in BOUNDS for workers in WORKERS}
    assert all(raw == 12 * 20 * 60 * (2 + 8 + 3 * 4) for _, raw in costs.values())
    assert capsys.readouterr().out.count("s of CPU a GB") == 4
