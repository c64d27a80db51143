"""The remaining time follows the pace of late."""

from __future__ import annotations

from mdstudio.jobs.eta import REPORT_SECONDS, Eta, Throttle


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_nothing_is_said_before_anything_was_done() -> None:
    eta = Eta(Clock())
    assert eta.seconds(0, 10) is None
    assert eta.seconds(0, 0) is None


def test_the_rest_takes_as_long_as_the_pace_says() -> None:
    clock = Clock()
    eta = Eta(clock)
    eta.seconds(0, 10)
    clock.now += 4
    assert eta.seconds(2, 10) == 16.0
    assert eta.seconds(10, 10) == 0.0


def test_a_slow_start_is_forgotten() -> None:
    clock = Clock()
    eta = Eta(clock)
    eta.seconds(0, 1000)
    clock.now += 1000
    for done in range(1, 101):
        clock.now += 1
        left = eta.seconds(done, 1000)
    assert left is not None
    assert 890 <= left <= 910


def test_a_new_phase_starts_over() -> None:
    clock = Clock()
    eta = Eta(clock)
    eta.seconds(0, 10)
    clock.now += 1
    eta.seconds(10, 10)
    assert eta.seconds(0, 5) is None


def test_reports_pass_every_so_often_and_at_both_ends_of_a_phase() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    assert [throttle.due(done, 9) for done in (0, 1, 2)] == [True, False, False]
    clock.now += REPORT_SECONDS * 1.5
    assert [throttle.due(done, 9) for done in (3, 4, 9, 0)] == [True, False, True, True]
