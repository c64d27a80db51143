"""The reader: newest wins, stale answers are dropped, nothing blocks, nothing is touched from a worker thread."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from PySide6.QtCore import QObject

from mdstudio.app.reading import Reader, UnexpectedError
from mdstudio.engine.errors import Cancelled, DamagedDataError, MdError
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import Explain

pytestmark = pytest.mark.rule("G10")


class Answers:
    """Collects what comes back, and on which thread."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.errors: list[MdError] = []
        self.threads: set[int] = set()

    def take(self, value: Any) -> None:
        self.threads.add(threading.get_ident())
        self.done.append(value)

    def fail(self, error: MdError) -> None:
        self.threads.add(threading.get_ident())
        self.errors.append(error)


def held(gate: threading.Event, value: Any):
    """A job that answers when the gate opens, or ends when it is cancelled."""

    def job(progress: Progress) -> Any:
        while not gate.wait(0.005):
            progress.check()
        return value

    return job


def test_an_answer_comes_on_the_main_thread_and_not_at_once(qtbot, reader: Reader) -> None:
    answers = Answers()
    ran_on = []
    reader.submit("a", lambda p: ran_on.append(threading.get_ident()) or 7, answers.take)
    assert answers.done == []
    qtbot.waitUntil(lambda: answers.done == [7])
    assert answers.threads == {threading.get_ident()}
    assert ran_on != [threading.get_ident()]


def test_the_newest_job_of_a_channel_wins_and_the_older_is_cancelled_in_silence(qtbot, reader: Reader) -> None:
    answers, gate, cancelled = Answers(), threading.Event(), threading.Event()

    def old(progress: Progress) -> int:
        while not progress.cancelled:
            time.sleep(0.002)
        cancelled.set()
        return 1

    reader.submit("map", old, answers.take, answers.fail)
    reader.submit("map", held(gate, 2), answers.take, answers.fail)
    assert cancelled.wait(5)
    gate.set()
    qtbot.waitUntil(lambda: answers.done == [2])
    qtbot.wait(30)
    assert answers.done == [2]
    assert answers.errors == []


def test_an_old_answer_that_is_ready_already_is_still_dropped(qtbot, reader: Reader) -> None:
    answers, ready = Answers(), threading.Event()

    def old(progress: Progress) -> int:
        ready.set()
        return 1

    reader.submit("map", old, answers.take)
    assert ready.wait(5)
    time.sleep(0.05)  # its message lies in the queue now; the event loop has not run
    reader.submit("map", lambda p: 2, answers.take)
    qtbot.waitUntil(lambda: 2 in answers.done)
    assert answers.done == [2]


def test_channels_do_not_disturb_each_other(qtbot, reader: Reader) -> None:
    answers = Answers()
    for number in range(12):
        reader.submit(f"c{number}", lambda p, number=number: number, answers.take)
    qtbot.waitUntil(lambda: sorted(answers.done) == list(range(12)))


def test_a_cancel_answers_at_once_and_what_the_job_returns_is_dropped(qtbot, reader: Reader) -> None:
    answers, gate = Answers(), threading.Event()
    reader.submit("a", held(gate, 1), answers.take, answers.fail)
    reader.cancel("a")
    assert [type(error) for error in answers.errors] == [Cancelled]
    assert not reader.busy("a")
    gate.set()
    qtbot.wait(50)
    assert answers.done == []
    reader.cancel("a")
    assert len(answers.errors) == 1


def test_cancel_all_takes_only_channels_of_the_prefix(qtbot, reader: Reader) -> None:
    answers, gate = Answers(), threading.Event()
    reader.submit("one/map", held(gate, 1), answers.take, answers.fail)
    reader.submit("two/map", held(gate, 2), answers.take, answers.fail)
    assert reader.cancel_all("one/")
    assert not reader.cancel_all("one/")
    gate.set()
    qtbot.waitUntil(lambda: answers.done == [2])
    assert len(answers.errors) == 1


def test_an_error_of_the_engine_arrives_as_it_is(qtbot, reader: Reader) -> None:
    answers = Answers()

    def job(progress: Progress) -> None:
        raise DamagedDataError("The page is short.", where="a/b.dat")

    reader.submit("a", job, answers.take, answers.fail)
    qtbot.waitUntil(lambda: bool(answers.errors))
    assert isinstance(answers.errors[0], DamagedDataError)
    assert answers.errors[0].where == "a/b.dat"


def test_a_bug_arrives_as_an_error_with_details_to_copy(qtbot, reader: Reader) -> None:
    answers = Answers()
    reader.submit("a", lambda p: 1 // 0, answers.take, answers.fail)
    qtbot.waitUntil(lambda: bool(answers.errors))
    error = answers.errors[0]
    assert isinstance(error, UnexpectedError)
    assert "ZeroDivisionError" in error.message
    assert "Traceback" in error.details


def test_progress_comes_on_the_main_thread_and_ends_with_the_last_number(qtbot, reader: Reader) -> None:
    answers, seen, threads = Answers(), [], set()

    def job(progress: Progress) -> str:
        progress.start(500, "pages")
        for _ in range(500):
            progress.advance()
        time.sleep(0.05)
        return "read"

    def show(done: int, total: int, unit: str) -> None:
        threads.add(threading.get_ident())
        seen.append((done, total, unit))

    reader.submit("a", job, answers.take, on_progress=show)
    qtbot.waitUntil(lambda: answers.done == ["read"])
    assert seen[-1] == (500, 500, "pages")
    assert len(seen) < 100
    assert threads == {threading.get_ident()}


def test_a_callback_whose_object_is_gone_is_not_called(qtbot, reader: Reader) -> None:
    called = []

    class View(QObject):
        def take(self, value: int) -> None:
            called.append(value)

    view, gate = View(), threading.Event()
    reader.submit("a", held(gate, 1), view.take)
    import shiboken6

    shiboken6.delete(view)
    gate.set()
    qtbot.waitUntil(lambda: not reader.busy())
    assert called == []


def test_the_cost_of_a_read_is_told(qtbot, reader: Reader) -> None:
    class Result:
        explain = Explain(requests=3, bytes_read=212)

    with qtbot.waitSignal(reader.read) as told:
        reader.submit("session-1/map", lambda p: Result(), lambda r: None)
    report = told.args[0]
    assert (report.channel, report.requests, report.bytes_read) == ("session-1/map", 3, 212)
    assert report.seconds >= 0


def test_busy_counts_channels_that_wait(qtbot, reader: Reader) -> None:
    counts, gate = [], threading.Event()
    reader.busy_changed.connect(counts.append)
    reader.submit("a", held(gate, 1), lambda r: None)
    reader.submit("b", held(gate, 1), lambda r: None)
    gate.set()
    qtbot.waitUntil(lambda: not reader.busy())
    assert counts == [1, 2, 1, 0]


def test_close_cancels_and_ends_every_thread(qtbot) -> None:
    reader, gate = Reader(), threading.Event()
    answers = Answers()
    for number in range(10):
        reader.submit(f"c{number}", held(gate, number), answers.take, answers.fail)
    assert reader.close()
    assert not any(thread.name.startswith("reader-") for thread in threading.enumerate())
    reader.submit("late", lambda p: 1, answers.take)
    qtbot.wait(30)
    assert answers.done == []
    assert answers.errors == []


def test_close_does_not_wait_for_a_job_that_hangs(qtbot) -> None:
    reader, gate = Reader(), threading.Event()
    reader.submit("a", lambda p: gate.wait(30), lambda r: None)
    started = time.monotonic()
    assert not reader.close(timeout=0.1)
    assert time.monotonic() - started < 10
    assert all(thread.daemon for thread in threading.enumerate() if thread.name.startswith("reader-"))
    gate.set()
    assert reader.close()


def test_a_hanging_job_does_not_keep_the_next_one_from_running(qtbot, reader: Reader) -> None:
    answers, gate = Answers(), threading.Event()
    reader.submit("map", lambda p: gate.wait(30), answers.take)
    reader.submit("map", lambda p: "newer", answers.take)
    qtbot.waitUntil(lambda: answers.done == ["newer"])
    gate.set()
