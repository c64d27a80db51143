"""The queue and the dock: a few at once, never two on one target, every end is told, a crash is only a row (G7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QPushButton

from mdstudio.app.job_queue import Job, JobQueue
from mdstudio.app.jobs_dock import JobsDock, LogDialog, log_text
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
