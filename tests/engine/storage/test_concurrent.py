"""Commits of several processes on one blob: none is lost (P14)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mdstudio.engine.storage import open_storage
from tests.azurite import ACCOUNT, Azurite
from tests.engine.storage import committer

PROCESSES = 5


def commit_from_several_processes(location: str, commits: int) -> None:
    """`commits` blocks in all; then the blob must hold each of them once, and a list that fits it."""
    each = commits // PROCESSES
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    processes = [
        subprocess.Popen(
            [sys.executable, committer.__file__, location, "f/g", str(n * each), str(each)], env=environment
        )
        for n in range(PROCESSES)
    ]
    assert [process.wait() for process in processes] == [0] * PROCESSES
    storage = open_storage(location)
    found = storage.block_list("f/g")
    assert sorted(block.id for block in found.blocks) == [f"{n:06}" for n in range(commits)]
    content = b"".join(block.id.encode() * (1 + int(block.id) % 7) for block in found.blocks)
    assert storage.read("f/g", version=found.version).data == content


@pytest.mark.rule("P14", "P19")
@pytest.mark.parametrize("commits", [50, pytest.param(1000, marks=pytest.mark.long)])
def test_no_commit_of_several_processes_is_lost_in_a_folder(tmp_path: Path, commits: int) -> None:
    commit_from_several_processes(str(tmp_path), commits)
    assert sorted(os.listdir(tmp_path / "f")) == ["g", "g.blocks"]


@pytest.mark.rule("P14")
@pytest.mark.azure
@pytest.mark.parametrize("commits", [25, pytest.param(1000, marks=pytest.mark.long)])
def test_no_commit_of_several_processes_is_lost_in_azure(
    azurite: Azurite, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
    commit_from_several_processes(f"az://{ACCOUNT}/{azurite.new_container()}", commits)
