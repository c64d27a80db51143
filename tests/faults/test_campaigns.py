"""Every operation that writes, under every fault: the dataset is the old or the new one, and a second run completes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.azurite import Azurite
from tests.faults.campaign import AzureGround, FolderGround, Operation, azure_ground, campaign
from tests.faults.operations import OPERATIONS
from tests.faults.ways import Way

RULES = pytest.mark.rule("P12", "P14", "P15", "P18", "P25", "T4", "W2")


@pytest.fixture(scope="module")
def on_azure(azurite: Azurite) -> Iterator[AzureGround]:
    with azure_ground(azurite) as ground:
        yield ground


@RULES
@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_whatever_call_fails_in_a_folder(operation: Operation, every: int, tmp_path: Path) -> None:
    report = campaign(FolderGround(tmp_path), operation, every=every)
    print(f"{operation}: {report}")
    assert min(report.faults[Way.BEFORE], report.faults[Way.LOST]) > 0, report


@RULES
@pytest.mark.azure
@pytest.mark.parametrize("every", [15, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_whatever_request_fails_on_the_way_to_azure(operation: Operation, every: int, on_azure: AzureGround) -> None:
    report = campaign(on_azure, operation, every=every)
    print(f"{operation}: {report}")
    assert min(report.faults[Way.BEFORE], report.faults[Way.LOST]) > 0, report
