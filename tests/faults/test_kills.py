"""Every operation that writes, killed (SIGKILL) at every commit point: old or new, and a second run completes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.azurite import Azurite
from tests.faults import kill
from tests.faults.campaign import Operation
from tests.faults.operations import OPERATIONS, SAMPLE

RULES = pytest.mark.rule("P12", "P19", "P22", "P25", "T4", "T9", "W1", "W2")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks the worker that it kills")


def kills(where: str, operation: Operation, root: str, every: int, **more: str) -> int:
    """How many kills the operation came through."""
    done = subprocess.run(
        [sys.executable, kill.__file__, where, operation.name, root, str(every)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **more, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    print(f"{operation}: {done.stdout.strip()} kills")
    return int(done.stdout)


@RULES
@pytest.mark.parametrize("operation", SAMPLE, ids=str)
def test_killed_at_some_file_operations_in_a_folder(operation: Operation, tmp_path: Path) -> None:
    assert kills("folder", operation, str(tmp_path / "root"), 29) >= 1


@RULES
@pytest.mark.long
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_killed_at_every_file_operation_in_a_folder(operation: Operation, tmp_path: Path) -> None:
    assert kills("folder", operation, str(tmp_path / "root"), 1) >= 10


@RULES
@pytest.mark.azure
@pytest.mark.parametrize("operation", SAMPLE[::4], ids=str)
def test_killed_at_some_requests_to_azure(operation: Operation, azurite: Azurite) -> None:
    connection = {"AZURE_STORAGE_CONNECTION_STRING": azurite.connection_string}
    assert kills("azure", operation, azurite.new_container(), 13, **connection) >= 1


@RULES
@pytest.mark.azure
@pytest.mark.long
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_killed_before_and_after_every_request_to_azure(operation: Operation, azurite: Azurite) -> None:
    connection = {"AZURE_STORAGE_CONNECTION_STRING": azurite.connection_string}
    assert kills("azure", operation, azurite.new_container(), 1, **connection) >= 4
