"""A job in a worker process: every end has its event and its reason, no worker is left behind."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from mdstudio.engine.progress import Progress
from mdstudio.jobs.journal import journal_path
from mdstudio.jobs.process import JobEvent, JobProcess, crash_reason
from mdstudio.jobs.recipe import Recipe
from mdstudio.jobs.run import run_recipe
from tests.cli.sources import write_waves
from tests.jobs import workers

pytestmark = pytest.mark.rule("G7")
WAIT = 60


def job(run, target: str = "target", grace: float = 5.0) -> JobProcess:
    return JobProcess(Recipe(("a.nc",), target), run, grace)


def ended(process: JobProcess) -> list[JobEvent]:
    assert process.wait(WAIT)
    return process.events()


def first_event(process: JobProcess) -> JobEvent:
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        if events := process.events():
            return events[0]
        time.sleep(0.01)
    raise AssertionError("the worker said nothing")


def test_a_job_reports_progress_log_and_its_summary() -> None:
    process = job(workers.count)
    assert process.state == "ready"
    process.start()
    events = ended(process)
    assert [e.line for e in events if e.kind == "log"] == ["counting"]
    shown = [(e.done, e.total, e.unit) for e in events if e.kind == "progress"]
    assert shown[0] == (0, 3, "steps")
    assert shown[-1] == (3, 3, "steps")
    assert events[-1].kind == "done"
    assert events[-1].summary == {"dataset": "target", "items": 1}
    assert process.state == "done"
    assert process.events() == []


def test_a_cancel_lets_the_worker_take_back_what_it_wrote(tmp_path: Path) -> None:
    process = job(workers.until_cancelled, str(tmp_path / "mark"))
    process.start()
    first_event(process)
    process.cancel()
    assert process.state in ("cancelling", "cancelled")
    last = ended(process)[-1]
    assert (last.kind, last.code, last.exit_status) == ("failed", "MD-E003", 130)
    assert process.state == "cancelled"
    assert (tmp_path / "mark").read_text() == "taken back"


def test_a_worker_that_does_not_heed_the_cancel_is_killed_after_the_grace() -> None:
    process = job(workers.never_heeds, grace=0.2)
    process.start()
    first_event(process)
    process.cancel()
    events = ended(process)
    assert events[-1].code == "MD-E003"
    assert "killed" in events[-2].line
    assert process.state == "cancelled"


def test_a_job_cancelled_before_its_start_never_starts() -> None:
    process = job(workers.count)
    process.cancel()
    assert process.state == "cancelled"
    assert [e.code for e in process.events()] == ["MD-E003"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of POSIX")
def test_a_killed_worker_fails_with_the_signals_name() -> None:
    process = job(workers.killed)
    process.start()
    last = ended(process)[-1]
    assert (last.kind, last.code, last.exit_status) == ("failed", "MD-E070", 1)
    assert "SIGKILL" in last.message
    assert process.state == "failed"


def test_a_crashed_worker_fails_with_its_exit_status() -> None:
    process = job(workers.crashes)
    process.start()
    last = ended(process)[-1]
    assert last.code == "MD-E070"
    assert "exit status 7" in last.message


def test_an_error_keeps_its_code_its_words_and_its_exit_status() -> None:
    process = job(workers.refused)
    process.start()
    last = ended(process)[-1]
    assert (last.code, last.message, last.exit_status) == ("MD-E050", "a.nc: It is no NetCDF file. Look at it.", 1)


def test_a_bug_is_a_failed_job_whose_log_says_where() -> None:
    process = job(workers.has_a_bug)
    process.start()
    events = ended(process)
    assert "one of ours" in events[-1].message
    assert any("has_a_bug" in e.line for e in events if e.kind == "log")


def test_a_worker_never_waits_for_a_slow_listener() -> None:
    process = job(workers.chatty)
    process.start()
    events = ended(process)  # nobody asked for events before the end
    assert len([e for e in events if e.kind == "log"]) == 20_000
    assert events[-1].kind == "done"


def test_no_worker_is_left_as_a_zombie() -> None:
    process = job(workers.count)
    process.start()
    pid = process.pid
    ended(process)
    assert not [p for p in multiprocessing.active_children() if p.pid == pid]


@pytest.mark.skipif(sys.platform == "win32", reason="a kill of the parent is told by its pipe on POSIX")
def test_a_worker_whose_parent_was_killed_takes_back_what_it_wrote(tmp_path: Path) -> None:
    script = textwrap.dedent(f"""
        import time
        from mdstudio.jobs.process import JobProcess
        from mdstudio.jobs.recipe import Recipe
        from tests.jobs import workers
        if __name__ == "__main__":
            job = JobProcess(Recipe(("a.nc",), {str(tmp_path / "mark")!r}), workers.until_cancelled)
            job.start()
            while not job.events():
                time.sleep(0.01)
            print("running", flush=True)
            time.sleep(600)
    """)
    (tmp_path / "parent.py").write_text(script)
    root = Path(__file__).resolve().parents[2]
    parent = subprocess.Popen([sys.executable, str(tmp_path / "parent.py")], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "PYTHONPATH": str(root)})
    assert parent.stdout is not None
    with parent.stdout:
        assert parent.stdout.readline() == "running\n"
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + WAIT
    while not (tmp_path / "mark").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (tmp_path / "mark").exists()


@pytest.mark.rule("W2")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the end of a stranger's worker is seen in /proc")
def test_an_import_whose_parent_was_killed_goes_on_by_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    source = write_waves(tmp_path / "a.nc", times=range(0, 960, 6), cells=1000)
    recipe = Recipe((str(source),), str(tmp_path / "d"), {"StorageType": "SingleTimestep"})
    (tmp_path / "parent.py").write_text(textwrap.dedent(f"""
        import os, signal, time
        from mdstudio.jobs.process import JobProcess
        from mdstudio.jobs.recipe import Recipe
        if __name__ == "__main__":
            job = JobProcess(Recipe.from_json({recipe.to_json()!r}))
            job.start()
            print(job.pid, flush=True)
            while not any(event.kind == "progress" and event.done > event.total // 3 > 0 for event in job.events()):
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGKILL)
    """))
    root = Path(__file__).resolve().parents[2]
    parent = subprocess.run([sys.executable, str(tmp_path / "parent.py")], capture_output=True, text=True, check=False,
                            env={**os.environ, "PYTHONPATH": str(root)})
    assert parent.returncode == -9, parent.stderr
    worker, deadline = Path(f"/proc/{parent.stdout.strip()}"), time.monotonic() + WAIT
    while worker.exists() and "Z" not in (worker / "stat").read_text().split()[2] and time.monotonic() < deadline:
        time.sleep(0.05)
    journal = journal_path(str(tmp_path / "d"))
    assert journal.read_text().count("\n") > 1  # finished units are known
    assert not (tmp_path / "d" / "dataset.json").exists()
    finished = {p: p.stat().st_mtime_ns for p in (tmp_path / "d").rglob("*.dat")}
    assert run_recipe(recipe, Progress(), {})["timesteps"] == 160
    assert any(p.stat().st_mtime_ns == at for p, at in finished.items())  # and not written again
    assert not journal.exists()


def test_every_exit_code_has_a_reason() -> None:
    assert "SIGSEGV" in crash_reason(-11)
    assert "exit status 3" in crash_reason(3)
    assert "0xC0000005" in crash_reason(0xC0000005)
    assert "lost" in crash_reason(None)
