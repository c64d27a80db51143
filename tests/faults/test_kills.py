"""Every operation that writes, killed (SIGKILL) at every commit point: old or new, and a second run completes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.azurite import Azurite
from tests.faults import kill
from tests.faults.operations import OPERATIONS, SUBJECTS

RULES = pytest.mark.rule("P12", "P19", "P22", "P25", "T4", "T9", "V13", "W1", "W2")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks the worker that it kills")
NAMES = [operation.name for operation in OPERATIONS]


def kills(where: str, root: str, first: int, every: int, *names: str, **more: str) -> dict[str, int]:
    """How many kills each operation came through."""
    done = subprocess.run(
        [sys.executable, kill.__file__, where, root, str(first), str(every), *names],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **more, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-3000:]
    counts = (line.split(": ") for line in done.stdout.splitlines())
    found = {name: int(count) for name, count in counts}
    assert list(found) == list(names)
    return found


@RULES
@pytest.mark.parametrize("subject", [subject.name for subject in SUBJECTS])
def test_killed_at_some_file_operations_in_a_folder(subject: str, tmp_path: Path) -> None:
    names = [name for name in NAMES if name.partition("-")[2] == subject]
    first = 2 + NAMES.index(names[0]) % 9  # another point in each layout
    assert min(kills("folder", str(tmp_path / "root"), first, 47, *names).values()) >= 1


@RULES
@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_killed_at_every_file_operation_in_a_folder(name: str, tmp_path: Path) -> None:
    assert kills("folder", str(tmp_path / "root"), 1, 1, name)[name] >= 10


@RULES
@pytest.mark.azure
def test_killed_at_some_requests_to_azure(azurite: Azurite) -> None:
    connection = {"AZURE_STORAGE_CONNECTION_STRING": azurite.connection_string}
    assert min(kills("azure", azurite.new_container(), 7, 19, *NAMES[::11], **connection).values()) >= 1


@RULES
@pytest.mark.azure
@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_killed_before_and_after_every_request_to_azure(name: str, azurite: Azurite) -> None:
    connection = {"AZURE_STORAGE_CONNECTION_STRING": azurite.connection_string}
    assert kills("azure", azurite.new_container(), 1, 1, name, **connection)[name] >= 4
