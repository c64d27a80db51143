"""Amounts as a person reads them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mdstudio.app import formats
from mdstudio.cli import output
from tests.cli.sources import write_waves


@pytest.mark.parametrize(("count", "text"), [
    (0, "0 B"), (999, "999 B"), (1000, "1 KB"), (88116, "88.1 KB"), (999_499, "999 KB"), (999_500, "1 MB"),
    (8_160_000, "8.16 MB"), (1_310_000_000, "1.31 GB"), (5e15, "5,000 TB"),
])
def test_bytes_are_counted_in_thousands(count: float, text: str) -> None:
    assert output.size(count) == text


@pytest.mark.parametrize("count", [999, 88_116, 1_665_000, 34_800_000, 1_310_000_000])
def test_the_window_and_the_command_line_say_the_same_size(count: int) -> None:
    amount, unit = output.size(count).split()
    shown, shown_unit = formats.size(count).split()
    assert shown_unit == unit
    assert float(shown) == pytest.approx(float(amount), rel=0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="file names of any bytes")
@pytest.mark.parametrize("encoding", ["utf-8:strict", "ascii", "latin-1"])
@pytest.mark.rule("G9")
def test_names_that_the_terminal_cannot_show_stop_no_command(tmp_path: Path, encoding: str) -> None:
    write_waves(tmp_path / "a.nc", (0, 6))
    write_waves(tmp_path / "b.nc", (12,))
    environ = os.environ | {"PYTHONIOENCODING": encoding}

    def run(*words: str | bytes) -> tuple[int, bytes]:
        done = subprocess.run([sys.executable, "-m", "mdstudio", *words], cwd=tmp_path, env=environ,
                              capture_output=True, check=False)
        assert b"Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout

    for place in (b"\xff\xfe", "ö—𝒳".encode()):
        assert run("import", "a.nc", place)[0] == 0
        status, out = run("import", "b.nc", place, "--append", "--json", "--progress", "json")
        assert (status, json.loads(out)["summary"]["timesteps"]) == (0, 1)
        for command in (("inspect",), ("check",), ("clean",), ("query", "map"), ("list",)):
            assert run(*command, place)[0] == 0
            status, out = run(*command, place, "--json")
            assert status == 0
            assert json.loads(out)
        assert run("export", place, place + b".nc")[0] == (2 if place == b"\xff\xfe" else 0)  # libraries take text only
        assert run("export", place, place.hex() + ".nc")[0] == 0
    status, out = run("list", ".", "--json")  # what is no text hides no other
    assert (status, [found["name"] for found in json.loads(out)["datasets"]]) == (0, ["ö—𝒳"])
    assert run("clean", ".", "--apply")[0] == 0
