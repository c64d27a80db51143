"""Bad input: a clear error that names the file and the reason, the status that was designed, nothing half-written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import netCDF4
import pytest

from tests.cli.conftest import Outcome, Run
from tests.cli.sources import axis, write_waves


def assert_refused(outcome: Outcome, status: int, *says: str) -> None:
    assert outcome.status == status
    for word in says:
        assert word in outcome.err
    assert outcome.err.startswith("mdstudio: ")
    assert outcome.err.count("\n") <= 2
    assert "Traceback" not in outcome.err
    assert outcome.out == ""


def files_below(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file()] if folder.exists() else []


def test_not_a_netcdf(tmp_path: Path, run: Run) -> None:
    (tmp_path / "a.nc").write_text("hello, this is text\n" * 100)
    assert_refused(run("import", tmp_path / "a.nc", tmp_path / "d"), 1, "a.nc")
    assert not (tmp_path / "d").exists()


def test_an_empty_file(tmp_path: Path, run: Run) -> None:
    (tmp_path / "a.nc").touch()
    assert_refused(run("import", tmp_path / "a.nc", tmp_path / "d"), 1, "a.nc")
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("form", ["NETCDF4", "NETCDF3_CLASSIC"])
@pytest.mark.parametrize("share", [0.3, 0.95])
def test_a_truncated_file(form: str, share: float, tmp_path: Path, run: Run) -> None:
    whole = write_waves(tmp_path / "a.nc", format=form)
    os.truncate(whole, int(whole.stat().st_size * share))
    assert_refused(run("import", whole, tmp_path / "d"), 1, "a.nc")
    assert files_below(tmp_path / "d") == []
    assert not (tmp_path / "d").exists()


def test_no_gridded_variable(tmp_path: Path, run: Run) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("time", 3)
        axis(file, "time", "i4", (0, 1, 2), units="days since 2020-01-01")
        file.createVariable("station", "f4", ("time",))[:] = 1
    assert_refused(run("import", tmp_path / "a.nc", tmp_path / "d"), 1, "a.nc")
    assert not (tmp_path / "d").exists()


def test_a_time_axis_that_runs_backwards(tmp_path: Path, run: Run) -> None:
    source = write_waves(tmp_path / "a.nc", times=(0, 12, 6))
    assert_refused(run("import", source, tmp_path / "d"), 1, "a.nc", "time")
    assert not (tmp_path / "d").exists()


def test_a_time_that_repeats_is_kept_once_and_counted_or_refused_when_asked(tmp_path: Path, run: Run) -> None:
    source = write_waves(tmp_path / "a.nc", times=(0, 6, 6, 12))
    outcome = run("import", source, tmp_path / "kept", "--json")
    assert outcome.status == 0
    assert outcome.lines[-1]["summary"]["timesteps"] == 3
    assert "note: " in outcome.err
    assert any(d["count"] == 1 and "time" in d["what"] + d["reason"] for d in outcome.lines[-1]["summary"]["dropped"])
    assert_refused(run("import", source, tmp_path / "d", "--reader", "TimePolicy=fail"), 1, "a.nc", "2020-01-01T06")
    assert not (tmp_path / "d").exists()


def test_a_source_that_is_not_there(tmp_path: Path, run: Run) -> None:
    assert_refused(run("import", tmp_path / "a.nc", tmp_path / "d"), 10, "a.nc")
    assert not (tmp_path / "d").exists()


def test_a_destination_that_exists(tmp_path: Path, run: Run) -> None:
    source = write_waves(tmp_path / "a.nc")
    assert run("import", source, tmp_path / "d", "--quiet").status == 0
    before = {p: p.read_bytes() for p in files_below(tmp_path / "d")}
    outcome = run("import", source, tmp_path / "d")
    assert_refused(outcome, 1, str(tmp_path / "d"), "dataset already")
    assert {p: p.read_bytes() for p in files_below(tmp_path / "d")} == before


def test_a_destination_that_is_a_file(tmp_path: Path, run: Run) -> None:
    source = write_waves(tmp_path / "a.nc")
    (tmp_path / "d").write_text("something of somebody's")
    outcome = run("import", source, tmp_path / "d")
    assert outcome.status in (1, 2)
    assert str(tmp_path / "d") in outcome.err
    assert (tmp_path / "d").read_text() == "something of somebody's"


@pytest.mark.skipif(sys.platform == "win32" or not hasattr(os, "geteuid") or os.geteuid() == 0,
                    reason="root may write everywhere")
def test_a_destination_without_permission(tmp_path: Path, run: Run) -> None:
    source = write_waves(tmp_path / "a.nc")
    (tmp_path / "closed").mkdir(mode=0o500)
    assert_refused(run("import", source, tmp_path / "closed" / "d"), 11, "closed")


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
from mdstudio.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a limit on file sizes is of POSIX")
@pytest.mark.parametrize("storage_type", ["SingleTimestep", "MultiTimestep", "TimeSeries"])
def test_a_file_that_cannot_grow_any_more(storage_type: str, tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc", cells=600)
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "import", source, tmp_path / "d", "--set", f"StorageType={storage_type}",
         "--set", "Compression=None"],
        capture_output=True, text=True, cwd=root, check=False)
    assert_refused(Outcome(done.returncode, done.stdout, done.stderr), 1, "d")
    assert files_below(tmp_path / "d") == []
    assert not (tmp_path / "d").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux") or os.geteuid() != 0, reason="mounting needs root on Linux")
def test_a_disk_that_fills_up(tmp_path: Path, run: Run) -> None:
    source = write_waves(tmp_path / "a.nc", cells=2000)
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    try:
        outcome = run("import", source, disk / "d", "--set", "Compression=None")
        assert_refused(outcome, 1, "No space left")
        assert files_below(disk) == []
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
