"""The queue and the dock: a few at once, never two on one target, every end is told, a crash is only a row (G7)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QPushButton

from mdstudio.app.job_queue import Job, JobQueue
from mdstudio.app.jobs_dock import JobsDock, LogDialog, log_text
from mdstudio.app.preferences import Preferences
from mdstudio.app.window import MainWindow
from mdstudio.engine.errors import UsageError
from mdstudio.jobs.process import JobProcess
from mdstudio.jobs.queue_store import QueueStore
from mdstudio.jobs.recipe import Recipe
from tests.app.shell import workers

pytestmark = pytest.mark.rule("G7")
WAIT = 60_000


def recipe(target: str) -> Recipe:
    return Recipe(("/data/a.nc", "/data/b.nc"), target, {"Compression": "ZstdAuto"})


@pytest.fixture
def queue() -> Iterator[JobQueue]:
    queue = JobQueue(2)
    yield queue
    queue.close()


def ended(qtbot, *jobs: Job) -> None:
    qtbot.waitUntil(lambda: not any(job.live for job in jobs), timeout=WAIT)


def test_a_job_runs_to_its_summary_and_is_told(qtbot, queue: JobQueue) -> None:
    with qtbot.waitSignal(queue.finished, timeout=WAIT) as finished:
        job = queue.add(recipe("/t/one"), run=workers.at_once)
    assert finished.args == [job]
    assert (job.state, job.fraction) == ("done", 1.0)
    assert job.summary["dataset"] == "/t/one"
    assert job.title == "a.nc and 1 more"


def test_two_jobs_on_one_target_follow_each_other(qtbot, queue: JobQueue) -> None:
    first = queue.add(recipe("/t/one"), run=workers.until_cancelled)
    second = queue.add(recipe("/t/one"), run=workers.at_once)
    other = queue.add(recipe("/t/two"), run=workers.at_once)
    ended(qtbot, other)
    assert (first.state, second.state) == ("running", "waiting")
    queue.cancel(first)
    ended(qtbot, first, second)
    assert (first.state, second.state) == ("cancelled", "done")


def test_no_more_run_at_once_than_there_are_workers(qtbot, queue: JobQueue) -> None:
    jobs = [queue.add(recipe(f"/t/{i}"), run=workers.until_cancelled) for i in range(3)]
    assert [job.state for job in jobs] == ["running", "running", "waiting"]
    queue.set_workers(3)
    assert jobs[2].state == "running"
    for job in jobs:
        queue.cancel(job)
    ended(qtbot, *jobs)


def test_a_waiting_job_is_cancelled_without_ever_starting(qtbot, queue: JobQueue) -> None:
    queue.set_workers(1)
    first = queue.add(recipe("/t/1"), run=workers.until_cancelled)
    second = queue.add(recipe("/t/2"), run=workers.at_once)
    queue.cancel(second)
    assert (second.state, second.process) == ("cancelled", None)
    queue.cancel(first)
    ended(qtbot, first)


def test_a_worker_that_crashes_is_a_failed_row_and_can_be_run_again(qtbot, queue: JobQueue) -> None:
    job = queue.add(recipe("/t/1"), run=workers.crash)
    ended(qtbot, job)
    assert job.state == "failed"
    assert "exit status 9" in job.message
    again = queue.retry(job)
    assert again is not job
    assert again.run is workers.crash
    ended(qtbot, again)


def test_closing_cancels_what_runs_and_waits_for_it(qtbot) -> None:
    queue = JobQueue(2)
    job = queue.add(recipe("/t/1"), run=workers.until_cancelled)
    queue.close()
    assert job.process is not None
    assert job.process.state == "cancelled"


# -- the queue on the disk --------------------------------------------------------------------------------------------

CRASH = """
import os, sys, time
from pathlib import Path
from PySide6.QtCore import QCoreApplication
from mdstudio.app.job_queue import JobQueue
from mdstudio.jobs.process import JobProcess
from mdstudio.jobs.queue_store import QueueStore
from mdstudio.jobs.recipe import Recipe
from tests.app.shell import workers

if __name__ == "__main__":
    application = QCoreApplication([])
    queue = JobQueue(1, make=lambda job: JobProcess(job.recipe, workers.until_cancelled))
    queue.keep(QueueStore(Path(sys.argv[1])))
    jobs = [queue.add(Recipe((sys.argv[2],), target)) for target in sys.argv[3:]]
    while "three are done" not in jobs[0].log:
        application.processEvents()
        time.sleep(0.01)
    print("running", flush=True)
    time.sleep(60)
"""


def crash(folder: Path, source: Path, *targets: Path) -> None:
    """An application whose first job runs and whose others wait is killed."""
    script = folder.parent / "crash.py"
    script.write_text(CRASH)
    root = Path(__file__).resolve().parents[3]
    with subprocess.Popen([sys.executable, script, folder, source, *targets], stdout=subprocess.PIPE, cwd=root,
                          env={**os.environ, "PYTHONPATH": str(root)}) as application:
        assert application.stdout is not None
        assert application.stdout.readline().strip() == b"running"
        states = [(j.state, j.recipe.target) for j in QueueStore(folder).jobs()]
        assert states == [("running" if n == 0 else "waiting", str(t)) for n, t in enumerate(targets)]
        application.kill()


def test_the_queue_of_an_application_that_was_killed_is_offered_and_resumed(
    qtbot, queue: JobQueue, source: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    crash(folder, source, tmp_path / "one", tmp_path / "two")
    queue.keep(QueueStore(folder))
    one, two = queue.jobs
    assert [job.state for job in queue.jobs] == ["interrupted", "interrupted"]
    assert one.log == ["three are done"]
    assert queue.live() == []
    dock = JobsDock(queue)
    qtbot.addWidget(dock)
    dock.show()
    dock.set_open(True)
    assert dock.summary.text() == "2 interrupted"
    dock.select(one)
    assert {key for key, button in dock.buttons.items() if button.isVisible()} == {"log", "resume", "remove"}
    qtbot.mouseClick(dock.buttons["resume"], Qt.MouseButton.LeftButton)
    ended(qtbot, one)
    assert one.state == "done", one.message
    assert (tmp_path / "one" / "dataset.json").is_file()
    dock.select(two)
    qtbot.mouseClick(dock.buttons["remove"], Qt.MouseButton.LeftButton)
    assert queue.jobs == [one]
    assert QueueStore(folder).jobs() == []


def test_two_windows_share_one_queue(qtbot, queue: JobQueue, source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    other = JobQueue(1, make=lambda job: JobProcess(job.recipe, workers.until_cancelled))
    try:
        other.keep(QueueStore(folder))
        first = other.add(Recipe((str(source),), str(tmp_path / "one")))
        queue.keep(QueueStore(folder))
        assert queue.jobs == []  # the other window lives
        second = queue.add(Recipe((str(source),), str(tmp_path / "x" / ".." / "one")))
        assert (first.state, second.state) == ("running", "waiting")  # one queue a target
        other.cancel(first)
        ended(qtbot, first, second)
        assert (first.state, second.state) == ("cancelled", "done"), second.message
    finally:
        other.close()


def test_what_failed_is_kept_with_its_reason_and_what_ended_well_is_not(
    qtbot, queue: JobQueue, source: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    queue.keep(QueueStore(folder))
    good = queue.add(Recipe((str(source),), str(tmp_path / "one")))
    bad = queue.add(Recipe((str(tmp_path / "none.nc"),), str(tmp_path / "two")))
    queue.add(recipe("/t/sample"), run=workers.at_once)
    ended(qtbot, *queue.jobs)
    assert good.state == "done"
    (kept,) = QueueStore(folder).jobs()
    assert (kept.state, kept.message) == ("failed", bad.message)
    again = queue.retry(bad)
    ended(qtbot, again)
    assert [job.id for job in QueueStore(folder).jobs()] == [again.key]


def test_an_interrupted_job_that_somebody_took_is_none_of_this_window(queue: JobQueue, tmp_path: Path) -> None:
    dead = QueueStore(tmp_path)
    dead.add(recipe("/t/one"), "Import")
    dead.close()
    queue.keep(QueueStore(tmp_path))
    taker = QueueStore(tmp_path)
    taker.take(queue.jobs[0].key)
    with pytest.raises(UsageError, match="in another window"):
        queue.resume(queue.jobs[0])
    assert queue.jobs == []
    taker.close()


# -- the dock ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def dock(qtbot, queue: JobQueue) -> JobsDock:
    dock = JobsDock(queue)
    qtbot.addWidget(dock)
    dock.resize(1100, 200)
    dock.show()
    return dock


def test_the_dock_says_what_goes_on_open_or_closed(qtbot, queue: JobQueue, dock: JobsDock) -> None:
    assert dock.summary.text() == "none yet"
    job = queue.add(recipe("/t/north-sea"), run=workers.until_cancelled)
    qtbot.waitUntil(lambda: job.done == 3, timeout=WAIT)
    assert dock.summary.text() == "1 running"
    assert not dock.table.isVisible()
    dock.set_open(True)
    cells = dock.table.table_model.rows[0]
    assert cells[0].text == "Import  a.nc and 1 more"
    assert cells[0].sub == "to north-sea"
    assert (cells[1].text, cells[1].bar) == ("30\u00a0%", 0.3)
    assert cells[2].text == "3 of 10 slices"
    assert cells[4].text == "Running"
    queue.cancel(job)
    ended(qtbot, job)
    assert dock.table.table_model.rows[0][4].text == "Cancelled"


def test_the_buttons_are_those_that_the_chosen_job_allows(qtbot, queue: JobQueue, dock: JobsDock) -> None:
    dock.set_open(True)
    done = queue.add(recipe("/t/1"), run=workers.at_once)
    ended(qtbot, done)

    def offered() -> set[str]:
        return {key for key, button in dock.buttons.items() if button.isVisible()}

    assert offered() == {"open", "log", "remove"}
    with qtbot.waitSignal(dock.open_requested) as asked:
        qtbot.mouseClick(dock.buttons["open"], Qt.MouseButton.LeftButton)
    assert asked.args == ["/t/1"]
    running = queue.add(recipe("/t/2"), run=workers.until_cancelled)
    dock.select(running)
    assert offered() == {"log", "cancel"}
    dock.table.setFocus()
    qtbot.keyClick(dock.table, Qt.Key.Key_Delete)
    ended(qtbot, running)
    assert offered() == {"log", "retry", "remove"}
    qtbot.mouseClick(dock.buttons["remove"], Qt.MouseButton.LeftButton)
    assert queue.jobs == [done]


def test_the_log_shows_the_command_and_every_line_live(qtbot, queue: JobQueue) -> None:
    job = queue.add(recipe("/t/1"), run=workers.until_cancelled)
    dialog = LogDialog(job, queue)
    qtbot.addWidget(dialog)
    dialog.show()
    text = dialog.findChild(QPlainTextEdit)
    qtbot.waitUntil(lambda: "three are done" in text.toPlainText(), timeout=WAIT)
    assert text.toPlainText().startswith("$ mdstudio import /data/a.nc /data/b.nc /t/1 --set Compression=ZstdAuto")
    qtbot.mouseClick(next(b for b in dialog.findChildren(QPushButton) if b.text() == "Copy"), Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == log_text(job)
    queue.cancel(job)
    ended(qtbot, job)
    assert "MD-E003" in text.toPlainText()


def test_a_real_import_runs_and_its_dataset_is_there(qtbot, queue: JobQueue, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "made"
    job = queue.add(Recipe((str(source),), str(target), {"Compression": "ZstdAuto"}))
    ended(qtbot, job)
    assert job.state == "done", job.message
    assert (target / "dataset.json").is_file()
    assert job.summary["items"] == 2


def test_the_window_shows_what_an_earlier_one_left_unfinished(
    qtbot, preferences: Preferences, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "user"))
    earlier = QueueStore()
    earlier.add(recipe("/t/one"), "Import")
    earlier.close()
    window = MainWindow(preferences)
    qtbot.addWidget(window)
    window.show()
    window.keep_jobs()
    assert [job.state for job in window.queue.jobs] == ["interrupted"]
    assert window.jobs.isVisible()
    assert window.jobs.table.table_model.rows[0][4].text == "Interrupted"
    window.close()
    assert [job.state for job in QueueStore().jobs()] == ["interrupted"]
