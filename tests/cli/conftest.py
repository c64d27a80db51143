"""Run commands in this process as a shell would: status, stdout, stderr."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mdstudio.cli.main import main
from tests.azurite import azurite

__all__ = ["azurite"]


@dataclass(frozen=True)
class Outcome:
    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """stdout as one JSON document."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """stdout as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """A command line, given as words."""

    def call(*words: str | Path) -> Outcome:
        status = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return call


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the developer's machine decides a test."""
    for name in ("MD_DEFAULT_GRID_COMPRESSION", "MD_DEFAULT_MESH_COMPRESSION", "MD_DEFAULT_TIMESERIES_COMPRESSION",
                 "MD_ENCODE_WORKERS", "MD_STUDIO_DEBUG", "AZURE_STORAGE_CONNECTION_STRING"):
        monkeypatch.delenv(name, raising=False)
