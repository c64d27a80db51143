"""Commands, places and facts as text."""

import shlex

import numpy as np
import pytest

from mdstudio.app.session import DatasetSession
from mdstudio.app.views.commands import map_command, series_command
from mdstudio.app.views.facts import times_fact
from mdstudio.app.views.points import MOST_POINTS, PointSet, parse_place, points_of
from mdstudio.app.views.reads import series_requests
from mdstudio.engine.times import TimeAxis, parse_time


@pytest.mark.rule("G9")
def test_a_command_can_be_pasted_whatever_the_names_and_numbers():
    times = TimeAxis(np.array([parse_time("2019-01-21T06:00", "standard")]))
    text = map_command("/data/my set", "wind speed", times, 0, None, (-10.0, 50.0, 5.25, 60.0))
    words = shlex.split(text)
    assert words[:4] == ["mdstudio", "query", "map", "/data/my set"]
    assert "--item=wind speed" in words
    assert "--time=2019-01-21T06:00:00" in words
    assert "--bbox=-10,50,5.25,60" in words
    assert "--time=#0" in shlex.split(map_command("a", "b", TimeAxis.none(), 0, 3))
    assert "--point=-1.5,1e-07" in shlex.split(series_command("a", "b", None, [(-1.5, 1e-7)]))


@pytest.mark.rule("G9")
def test_no_secret_is_in_a_command():
    text = map_command("https://a.blob.core.windows.net/c/d?sv=1&sig=secret", "t", TimeAxis.none(), 0, None)
    assert "secret" not in text


@pytest.mark.parametrize(("text", "place"), [
    ("3.5, 52.1", (3.5, 52.1)), ("3.5 52.1", (3.5, 52.1)), ("-3.5;52", (-3.5, 52.0)), ("−3.5, 52", (-3.5, 52.0)),
    ("52.1 N, 3.5 W", (-3.5, 52.1)), ("3.5° E 52.1° S", (3.5, -52.1)), ("483214 3617488", (483214.0, 3617488.0)),
    ("1e3, -2e-1", (1000.0, -0.2)),
])
def test_places_are_read_as_people_write_them(text, place):
    assert parse_place(text) == place


@pytest.mark.parametrize("text", ["", "3.5", "a, b", "1, 2, 3", "52 N, 3 N", "1.2.3, 4", "--1, 2"])
def test_what_is_no_place_is_none(text):
    assert parse_place(text) is None


def test_letters_stay_with_their_points(qapp):
    points = PointSet()
    for x in range(3):
        assert points.add(float(x), 0.0)
    points.remove(1)
    assert [point.letter for point in points.points] == ["A", "C"]
    points.add(9.0, 9.0)
    assert [(point.letter, point.x) for point in points.points] == [("A", 0.0), ("B", 9.0), ("C", 2.0)]
    while len(points.points) < MOST_POINTS:
        points.add(1.0, 1.0)
    assert not points.add(2.0, 2.0)


def test_points_belong_to_the_session(reader):
    session = DatasetSession("nowhere", reader)
    assert points_of(session) is points_of(session)
    assert points_of(session) is not points_of(DatasetSession("elsewhere", reader))


def test_times_are_told_short():
    day = 86_400_000_000
    start = parse_time("2019-01-01", "standard")
    assert times_fact(TimeAxis.none()).value == "1 step"
    assert times_fact(TimeAxis(start + np.arange(365) * day)).note == "2019-01-01 → 12-31 · daily"
    assert times_fact(TimeAxis(start + np.arange(31) * day // 4)).note == "2019-01-01 → 01-08 · 6 h"
    assert times_fact(TimeAxis(start + np.arange(3) * day // 24)).note == "2019-01-01 00:00 → 02:00 · hourly"
    assert times_fact(TimeAxis(start + np.array([0, 1, 5]) * day)).note == "2019-01-01 → 01-06"


def test_the_price_of_a_series_depends_on_the_layout(opened):
    from dataclasses import replace

    metadata = opened.session.dataset.metadata
    many = replace(metadata, times=TimeAxis(np.arange(1000) * 3_600_000_000))
    single = replace(many, storage=replace(metadata.storage, storage_type="SingleTimestep", time_group_size=None))
    series = replace(many, storage=replace(metadata.storage, storage_type="TimeSeries", time_group_size=1000))
    assert series_requests(single, 3) == 2000
    assert series_requests(series, 3) == 6
