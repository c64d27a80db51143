"""The frame of the command line: dispatch, exit statuses, what goes where, signals, pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mdstudio.cli import list_
from mdstudio.cli.main import COMMANDS
from tests.cli.conftest import Run
from tests.cli.sources import write_waves

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "mdstudio"]


def shell(*words: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MD_")}
    return subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True, cwd=ROOT, check=False,
                          env=clean | environ)


def test_help_names_every_command_and_the_exit_statuses(run: Run) -> None:
    outcome = run("--help")
    assert outcome.status == 0
    for command in COMMANDS:
        assert f"\n    {command} " in outcome.out
    assert "12 not an MD dataset" in outcome.out


@pytest.mark.parametrize("words", [[c] for c in COMMANDS] + [["query", "map"], ["query", "series"]])
def test_every_command_has_help_with_the_common_options(words: list[str], run: Run) -> None:
    outcome = run(*words, "--help")
    assert outcome.status == 0
    assert f"usage: mdstudio {' '.join(words)}" in outcome.out
    if words != ["query"]:
        assert "--json" in outcome.out
        assert "--progress" in outcome.out


def test_version(run: Run) -> None:
    assert run("--version").out.startswith("mdstudio ")


@pytest.mark.parametrize(("words", "status", "says"), [
    (["inpsect", "x"], 2, "Did you mean 'mdstudio inspect'?"),
    (["no-such-thing"], 10, "no-such-thing"),
    (["inspect"], 2, "DATASET"),
    (["query"], 2, "map|series"),
    (["query", "map", "x", "--time"], 2, "quote it, '#0'"),
    (["query", "map", "x", "--bbox", "-inf,-1,1,1"], 2, "is not a rectangle"),
    (["--nonsense"], 2, "--help"),
    (["check", "x", "--level", "deep"], 2, "probe"),
])
def test_a_wrong_command_line_is_one_line(words: list[str], status: int, says: str, run: Run) -> None:
    outcome = run(*words)
    assert outcome.status == status
    assert says in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_bug_of_ours_shows_where_and_asks_for_a_report(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_, "run", lambda args, out: 1 // 0)
    outcome = run("list", ".")
    assert outcome.status == 1
    assert "Traceback" in outcome.err
    assert "Please report it" in outcome.err


@pytest.mark.parametrize(("error", "status"), [
    (PermissionError(13, "Permission denied", "secret.json"), 11),
    (FileNotFoundError(2, "No such file or directory", "gone.json"), 10),
    (OSError(28, "No space left on device", "full.json"), 1),
    (MemoryError(), 1),
    (KeyboardInterrupt(), 130),
])
def test_what_the_system_refuses_is_no_traceback(
    error: BaseException, status: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(args: object, out: object) -> int:
        raise error

    monkeypatch.setattr(list_, "run", refuse)
    outcome = run("list", ".")
    assert outcome.status == status
    assert "Traceback" not in outcome.err
    assert outcome.err.count("\n") == 1
    assert getattr(error, "filename", None) is None or str(error.filename) in outcome.err  # type: ignore[attr-defined]


def test_debugging_shows_the_traceback_of_a_users_mistake(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MD_STUDIO_DEBUG", "1")
    outcome = run("inspect", "no-such-thing")
    assert outcome.status == 10
    assert "Traceback" in outcome.err


def test_a_process_ends_with_the_status_and_keeps_stdout_clean(tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc")
    made = shell("import", source, tmp_path / "d", "--json", MD_DEFAULT_GRID_COMPRESSION="ZstdAuto")
    assert (made.returncode, made.stderr) == (0, "")
    assert json.loads(made.stdout)["summary"]["timesteps"] == 6
    facts = shell("inspect", tmp_path / "d", "--json")
    assert (facts.returncode, facts.stderr) == (0, "")
    assert json.loads(facts.stdout)["compression"] == "ZstdAuto"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").touch()
    for location, status in ((tmp_path / "none", 10), (tmp_path / "other", 12)):
        failed = shell("inspect", location)
        assert (failed.returncode, failed.stdout) == (status, "")
        assert str(location) in failed.stderr


def test_nothing_heavy_is_loaded_for_help_and_usage() -> None:
    script = ("import sys; from mdstudio.cli.main import main; main(['--help']); main(['import', 'x']); "
              "print(sorted({'PySide6', 'netCDF4', 'rich', 'azure', 'shapely', 'xarray', 'eccodes'} "
              "& set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="screens are named by variables on Linux")
def test_without_a_screen_the_window_is_refused_in_words(tmp_path: Path) -> None:
    clean = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
    done = subprocess.run(COMMAND, capture_output=True, text=True, cwd=ROOT, env=clean, check=False)
    assert done.returncode == 2
    assert "no screen" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and signals of POSIX")
def test_a_reader_that_has_enough_is_met_quietly(tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc", times=range(300))
    assert shell("import", source, tmp_path / "d", "--quiet").returncode == 0
    words = " ".join([*COMMAND, "query", "series", str(tmp_path / "d"), *(["--point", "0,52"] * 60), "--json"])
    done = subprocess.run(["sh", "-c", f"{words} | head -n 1"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.stdout, done.stderr) == ("{\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="a shell that closes stdout")
@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_a_closed_stdout_or_stderr_is_no_bug_of_ours(closed: str, tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc")
    words = " ".join([*COMMAND, "import", str(source), str(tmp_path / "d"), closed])
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert ("Imported to" in done.stdout) == (closed == "2>&-")


ENDED = """
import os, signal, sys
from mdstudio.cli import import_, main
told = import_.print_summary
def interrupted(*args):
    os.kill(os.getpid(), signal.SIGINT)
    told(*args)
import_.print_summary = interrupted
sys.exit(main.main(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_after_the_dataset_is_made_is_no_cancel(tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc")
    done = subprocess.run([sys.executable, "-c", ENDED, "import", source, tmp_path / "d", "--quiet"],
                          capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Imported to" in done.stdout


def interrupted(source: Path, target: Path, number: int) -> tuple[int, str]:
    """Start a long import, send it a signal in the middle; its status and stderr."""
    words = ["import", str(source), str(target), "--progress", "json", "--set", "Compression=ZstdAuto"]
    process = subprocess.Popen([*COMMAND, *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        event = json.loads(line)
        if event.get("progress", {}).get("done"):
            break
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert out == ""
    return process.returncode, said + err


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_an_import_with_130_and_leaves_nothing(number: int, tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc", times=range(120), cells=1000)
    status, said = interrupted(source, tmp_path / "d", number)
    assert status == 130
    assert json.loads(said.splitlines()[-1])["error"]["code"] == "MD-E003"
    assert not (tmp_path / "d").exists()


@pytest.mark.rule("G7", "W2")
@pytest.mark.skipif(sys.platform == "win32", reason="pipes and signals of POSIX")
def test_a_killed_import_leaves_no_dataset_and_can_be_run_again(tmp_path: Path, run: Run) -> None:
    source = write_waves(tmp_path / "a.nc", times=range(120), cells=1000)
    status, _ = interrupted(source, tmp_path / "d", signal.SIGKILL)
    assert status == -signal.SIGKILL
    assert not (tmp_path / "d" / "dataset.json").exists()
    assert run("inspect", tmp_path / "d").status in (10, 12)
    assert run("list", tmp_path, "--json").document["datasets"] == []
    assert run("import", source, tmp_path / "d", "--quiet", "--set", "Compression=ZstdAuto").status == 0
    assert run("compare", tmp_path / "d", source, "--json", "--quiet").document["equal"] is True
    assert run("import", source, tmp_path / "fresh", "--quiet", "--set", "Compression=ZstdAuto").status == 0
    left = {p.relative_to(tmp_path / "d") for p in (tmp_path / "d").rglob("*") if p.is_file()}
    assert left == {p.relative_to(tmp_path / "fresh") for p in (tmp_path / "fresh").rglob("*") if p.is_file()}
