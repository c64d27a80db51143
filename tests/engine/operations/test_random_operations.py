"""Random sequences of operations on datasets of every kind and layout, against a dictionary of arrays (W1, K1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.operations.driving import Driver

STEPS = 8


def drive(folder: Path, seed: int) -> None:
    driver = Driver(folder, seed)
    for _ in range(STEPS):
        driver.step()


@pytest.mark.rule("W1", "W2", "K1", "K5", "D7", "P12", "T4", "C4")
@pytest.mark.parametrize("seed", range(12))
def test_a_dataset_holds_what_was_written_last_whatever_was_done_to_it(tmp_path: Path, seed: int) -> None:
    drive(tmp_path, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12, 300))
def test_random_operations_campaign(tmp_path: Path, seed: int) -> None:
    drive(tmp_path, seed)
