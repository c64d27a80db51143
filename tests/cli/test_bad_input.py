"""Bad input: a clear error that names the file and the reason, the status that was designed, nothing half-written."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import netCDF4
import pytest

from mdstudio.engine.storage import open_storage
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


def command(before: str, *words: str | Path) -> Outcome:
    """A command in a process of its own, in which the Python of `before` has run."""
    program = f"{before}\nimport sys\nfrom mdstudio.cli.main import main\nsys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False,
                          cwd=Path(__file__).resolve().parents[2])
    return Outcome(done.returncode, done.stdout, done.stderr)


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


@pytest.mark.rule("D11")
@pytest.mark.parametrize("mode", [[], ["--append"], ["--update"], ["--replace"], ["--dry-run"]])
@pytest.mark.parametrize(("given", "says"), [
    (["--set", "Compresion=LZ4"], "nearest is Compression"),
    (["--set", "GridTileWidth=wide"], "GridTileWidth is 'wide'; it must be a whole number"),
    (["--set", "Compression=LZ44"], "Did you mean LZ4?"),
    (["--reader", "TimePolicies=fail"], "nearest is TimePolicy"),
    (["--reader", "DoubleAsFloat=perhaps"], "it must be true or false"),
])
def test_a_wrong_parameter_is_refused_before_anything_is_read(
    mode: list[str], given: list[str], says: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*_: object) -> None:
        pytest.fail("something was opened")

    monkeypatch.setattr("mdstudio.engine.storage.open_storage", opened)
    monkeypatch.setattr("mdstudio.sources.registry.open_source", opened)
    assert_refused(run("import", tmp_path / "a.nc", tmp_path / "d", *mode, *given), 2, says)


def test_a_destination_that_another_job_writes(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdstudio.engine.writer.CLAIM_WAIT", 0.3)
    source = write_waves(tmp_path / "a.nc")
    with open_storage(str(tmp_path / "d")).claimed():
        before = files_below(tmp_path / "d")
        outcome = run("import", source, tmp_path / "d")
        assert files_below(tmp_path / "d") == before
    assert_refused(outcome, 1, str(tmp_path / "d"), "Another job is writing here", "Run it again when")
    assert run("import", source, tmp_path / "d", "--quiet").status == 0


MODES = ["import", "replace", "append", "update", "export"]


def into(folder: Path, mode: str) -> list[str | Path]:
    """A command that writes into a folder with a dataset `made` of `a.nc`."""
    made = folder / "made"
    return {"import": ["import", folder / "a.nc", folder / "d"], "export": ["export", made, folder / "out.nc"],
            "append": ["import", folder / "b.nc", made, "--append"]}.get(
                mode, ["import", folder / "a.nc", made, f"--{mode}"])


def made_in(folder: Path, run: Run) -> dict[Path, bytes]:
    write_waves(folder / "a.nc")
    write_waves(folder / "b.nc", times=(36, 42))
    assert run("import", folder / "a.nc", folder / "made", "--quiet").status == 0
    return {p: p.read_bytes() for p in files_below(folder)}


@pytest.mark.long  # in a process of its own: where other tests left threads, not all of them became the other user
@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs root to become another user")
def test_a_folder_that_another_user_may_only_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as warm:
        folder = Path(name)
        folder.chmod(0o755)
        monkeypatch.setenv("XDG_DATA_HOME", f"{warm}/state")
        made_in(Path(warm), run)
        for mode in MODES:  # imports every module, which the other user may not be able to read
            assert run(*into(Path(warm), mode), "--quiet").status == 0
        before = made_in(folder, run)
        for mode in MODES:
            os.seteuid(65534)
            try:
                outcome = run(*into(folder, mode))
            finally:
                os.seteuid(0)
            assert_refused(outcome, 11, str(folder), "No permission (Permission denied)", "Check the rights")
            assert {p: p.read_bytes() for p in files_below(folder)} == before
            assert not (folder / "d").exists()


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A disk of its own, which the test may fill; skips where it cannot be had."""
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True,
                             check=False)
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.skipif(not sys.platform.startswith("linux") or os.geteuid() != 0, reason="mounting needs root on Linux")
def test_a_disk_that_is_read_only(tmp_path: Path, run: Run) -> None:
    with small_disk(tmp_path / "disk", "20m") as disk:
        before = made_in(disk, run)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for mode in MODES:
            assert_refused(run(*into(disk, mode)), 11, str(disk), "Read-only file system")
            assert {p: p.read_bytes() for p in files_below(disk)} == before


LIMITED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a limit on file sizes is of POSIX")
@pytest.mark.parametrize("storage_type", ["SingleTimestep", "MultiTimestep", "TimeSeries"])
def test_a_file_that_cannot_grow_any_more(storage_type: str, tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc", cells=600)
    assert_refused(command(LIMITED, "import", source, tmp_path / "d", "--set", f"StorageType={storage_type}",
                           "--set", "Compression=None"), 1, "d")
    assert files_below(tmp_path / "d") == []
    assert not (tmp_path / "d").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="a limit on file sizes is of POSIX")
@pytest.mark.parametrize("words", [["export"], ["query", "map"]])
def test_an_output_file_that_cannot_grow_any_more(words: list[str], tmp_path: Path, run: Run) -> None:
    assert run("import", write_waves(tmp_path / "a.nc", cells=2000), tmp_path / "d", "--quiet").status == 0
    target = [tmp_path / "out.nc"] if words == ["export"] else ["--out", tmp_path / "out.nc"]
    outcome = command(LIMITED, *words, tmp_path / "d", *target)
    assert_refused(outcome, 1, f"{tmp_path / 'out.nc'}: No file may be larger")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.nc", "d"]


@pytest.mark.skipif(not sys.platform.startswith("linux") or os.geteuid() != 0, reason="mounting needs root on Linux")
def test_a_disk_that_fills_up(tmp_path: Path, run: Run) -> None:
    source = write_waves(tmp_path / "a.nc", cells=2000)
    with small_disk(tmp_path / "disk", "1m") as disk:
        outcome = run("import", source, disk / "d", "--set", "Compression=None")
        assert_refused(outcome, 1, f"{disk / 'd'}", "The disk is full", "No space left", "make room")
        assert files_below(disk) == []
        assert run("import", source, tmp_path / "d", "--quiet").status == 0
        for left in (None, 0):  # none at all: netCDF4 cannot even make the file and says "Permission denied"
            if left == 0:
                with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
                    while filler.write(bytes(4096)):
                        pass
            assert_refused(run("export", tmp_path / "d", disk / "out.nc"), 1, f"{disk / 'out.nc'}: The disk is full")
            assert {p.name for p in disk.iterdir()} <= {"filler"}
