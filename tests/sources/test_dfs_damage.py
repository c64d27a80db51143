"""Damaged DHI files: refused by name, also where DHI's library crashes or hangs; names that it cannot open itself."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.errors import MdError, SourceError
from mdstudio.sources.registry import open_source

pytest.importorskip("mikecore", reason="DHI's library does not exist here")

from mdstudio.sources.dfs import guard, probe
from tests.sources.dfs_files import grid, write_dfs

ALL = slice(None)
VALUES = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_dfs(tmp_path / "a.dfs2", grid(4, 3), {"v": ("float32", VALUES)})


@pytest.fixture
def other_process() -> Iterator[None]:
    """A test's own command in place of the process that opens files first."""
    guard.stop()
    yield
    guard.stop()


def read(path: Path) -> Any:
    with open_source([str(path)]) as source:
        description, = source.descriptions()
        return source.read(description, "v", ALL, -1, ALL, ALL)


@pytest.mark.parametrize(("does", "error"), [
    ("import os; os.kill(os.getpid(), 9)" if sys.platform != "win32" else "import os; os._exit(3)",
     "library crashes on it"),
    (f"import os; os._exit({probe.TOO_LATE})", f"is not done with it after {probe.LIMIT} s")])
def test_a_file_that_ends_the_library_ends_nothing_else(
        path: Path, monkeypatch: pytest.MonkeyPatch, other_process: None, does: str, error: str) -> None:
    monkeypatch.setattr(guard, "COMMAND", (sys.executable, "-c", f"import sys; sys.stdin.readline(); {does}"))
    with pytest.raises(SourceError, match=error) as raised:
        read(path)
    assert str(path) in str(raised.value)
    monkeypatch.undo()
    assert np.array_equal(read(path), VALUES)


def test_a_library_that_hangs_is_ended(path: Path, monkeypatch: pytest.MonkeyPatch, other_process: None) -> None:
    """The limit itself, on a library whose first call never comes back."""
    program = ("import runpy, sys, time; from mdstudio.sources.dfs import probe; probe.LIMIT = 1; "
               "probe.touch = lambda path: time.sleep(600); probe.main()")
    monkeypatch.setattr(guard, "COMMAND", (sys.executable, "-c", program))
    with pytest.raises(SourceError, match="is not done with it"):
        read(path)


def test_one_process_opens_all_files_until_one_is_refused(path: Path, tmp_path: Path, other_process: None) -> None:
    read(path)
    first = guard._running
    read(path)
    assert guard._running is first
    (tmp_path / "b.dfs2").write_bytes(path.read_bytes()[:200])
    with pytest.raises(SourceError, match=r"b\.dfs2"):
        read(tmp_path / "b.dfs2")
    assert guard._running is None
    assert first is not None
    assert first.returncode is not None


def test_headers_with_wrong_bytes_are_read_or_refused_by_name(path: Path, tmp_path: Path) -> None:
    good, chance = path.read_bytes(), random.Random(4)
    unnamed = []
    for number in range(12):  # each refusal costs the start of a process
        bad = bytearray(good)
        if number % 2:
            bad = bad[:chance.randrange(1, len(bad))]
        for _ in range(chance.choice([1, 3, 10])):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        damaged = tmp_path / f"{number}.dfs2"
        damaged.write_bytes(bad)
        try:
            read(damaged)
        except MdError as error:
            unnamed += [str(error)] if damaged.name not in str(error) and "'v'" not in str(error) else []
    assert not unnamed


@pytest.mark.parametrize("name", ["Øresund på kort.dfs2", "中.dfs2", "result.out"])
def test_a_file_is_one_of_dhi_whatever_it_is_called(path: Path, tmp_path: Path, name: str) -> None:
    if sys.platform == "win32" and name == "中.dfs2":
        pytest.skip("DHI's library has no such names on Windows")
    folder = tmp_path / name.partition(".")[0]
    folder.mkdir()
    moved = path.rename(folder / name)
    assert np.array_equal(read(moved), VALUES)
