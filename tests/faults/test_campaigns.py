"""Every operation that writes, under every fault: the dataset is the old or the new one, and a second run completes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mdstudio.engine.storage import BlobStorage
from tests.azurite import Azurite
from tests.faults.campaign import AzureGround, FolderGround, Ground, Operation, azure_ground, campaign, sample
from tests.faults.operations import BY_NAME, OPERATIONS
from tests.faults.ways import Way

RULES = pytest.mark.rule("P12", "P14", "P15", "P18", "P25", "T4", "V13", "W1", "W2")


@pytest.fixture(scope="module")
def on_azure(azurite: Azurite) -> Iterator[AzureGround]:
    with azure_ground(azurite) as ground:
        yield ground


def run(ground: Ground, operation: Operation) -> None:
    report = campaign(ground, operation)
    print(f"{operation}: {report}")
    assert min(report.faults[Way.BEFORE], report.faults[Way.LOST]) > 0, report


def run_some(ground: Ground, operation: Operation, faults: int) -> None:
    report = sample(ground, operation, OPERATIONS.index(operation), faults)
    assert sum(report.faults.values()) == faults, report


@RULES
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_some_calls_fail_in_a_folder(operation: Operation, tmp_path: Path) -> None:
    run_some(FolderGround(tmp_path), operation, 2)


@RULES
@pytest.mark.long
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_every_call_fails_in_a_folder(operation: Operation, tmp_path: Path) -> None:
    run(FolderGround(tmp_path), operation)


@RULES
@pytest.mark.azure
@pytest.mark.parametrize("operation", OPERATIONS[::9], ids=str)
def test_some_requests_fail_on_the_way_to_azure(operation: Operation, on_azure: AzureGround) -> None:
    run_some(on_azure, operation, 2)


@RULES
@pytest.mark.azure
@pytest.mark.long
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_every_request_fails_on_the_way_to_azure(operation: Operation, on_azure: AzureGround) -> None:
    run(on_azure, operation)


def test_a_campaign_notices_an_operation_that_is_torn_or_cannot_be_run_again(tmp_path: Path) -> None:
    good = BY_NAME["remove-SingleTimestep-None"]

    def data_first(storage: BlobStorage) -> None:
        for blob in list(storage.list_blobs("000-v/"))[1:2]:
            storage.delete(blob.name)
        good.run(storage)

    with pytest.raises(AssertionError, match="torn"):
        campaign(FolderGround(tmp_path), replace(good, run=data_first), ways=(Way.BEFORE,))
    create = BY_NAME["create-SingleTimestep-None"]
    with pytest.raises(AssertionError, match="cannot be run again"):
        campaign(FolderGround(tmp_path), replace(create, refused_when_done=()), ways=(Way.LOST,))
