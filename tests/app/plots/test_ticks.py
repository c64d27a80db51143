"""Labels: degrees with their letter, calendars as they are, numbers as the window writes them."""

from itertools import pairwise

import numpy as np
import pytest

from mdstudio.app.formats import THIN
from mdstudio.app.plots.calendar_ticks import ticks_that_fit, time_label, time_ticks
from mdstudio.app.plots.frames import Frame
from mdstudio.app.plots.ticks import latitude_text, latitude_ticks, longitude_text, longitude_ticks, number_ticks
from mdstudio.app.plots.units import unit_text
from mdstudio.engine.times import TimeAxis, parse_time


def texts(ticks):
    return [text for _, text in ticks]


def test_longitudes_say_east_and_west_on_both_conventions():
    assert texts(longitude_ticks(0, 360, 4)) == ["0°", "90° E", "180°", "90° W", "0°"]
    assert texts(longitude_ticks(-180, 180, 4)) == ["180°", "90° W", "0°", "90° E", "180°"]
    assert longitude_text(-106.65, 3) == "106.650° W"


def test_latitudes_end_at_the_poles():
    assert texts(latitude_ticks(-120, 120, 8)) == ["90° S", "60° S", "30° S", "0°", "30° N", "60° N", "90° N"]
    assert latitude_text(35.1, 3) == "35.100° N"


@pytest.mark.parametrize(("low", "high"), [(0.0, 1e-9), (-24.5, 29.0), (1e6, 1.0001e6), (-3e38, 3e38), (5.0, 5.0)])
def test_number_ticks_are_few_inside_and_different(low, high):
    ticks = number_ticks(low, high, 6)
    assert 1 <= len(ticks) <= 8
    assert all(low - 1e-9 * abs(low) <= value <= high + 1e-9 * abs(high) for value, _ in ticks)
    assert len(set(texts(ticks))) == len(ticks)


def test_a_month_of_thirty_days_is_labelled_in_a_360_day_calendar():
    start = parse_time("2095-02-28", "360_day")
    times = TimeAxis(start + np.arange(4) * 86_400_000_000, "360_day")
    assert time_label(times, 2) == "30 Feb 2095"
    assert texts(time_ticks(start, start + 3 * 86_400_000_000, 4, "360_day")) == [
        "28 Feb 2095", "29 Feb", "30 Feb", "1 Mar"]


def test_labels_are_as_short_as_they_can_be():
    start = parse_time("2019-01-01", "standard")
    months = texts(time_ticks(start, parse_time("2019-12-31", "standard"), 12, "standard"))
    assert months[:3] == ["Jan 2019", "Feb", "Mar"]
    hours = texts(time_ticks(start, start + 86_400_000_000, 5, "standard"))
    assert hours == ["1 Jan 2019", "06:00", "12:00", "18:00", "2 Jan"]
    assert texts(time_ticks(start, parse_time("2059-01-01", "standard"), 5, "standard")) == [
        "2020", "2030", "2040", "2050"]


def test_static_data_has_no_time_and_noise_of_floats_is_not_shown():
    assert time_label(TimeAxis.none(), 0) == "no time"
    start = parse_time("2009-09-09T17:10", "standard")
    assert time_label(TimeAxis(np.array([start + 18])), 0) == "9 Sep 2009 17:10"


def test_units_are_set_as_people_write_them():
    assert unit_text("kg m**-2") == unit_text("kg m-2") == unit_text("kg m^-2") == "kg m⁻²"
    assert unit_text("degC") == "°C"
    assert unit_text("1") == ""
    assert unit_text("W/m2") == "W/m2"


def test_places_are_written_in_the_words_of_their_coordinates():
    assert Frame("degrees").place(-106.65, 35.1) == "35.100° N  106.650° W"
    assert Frame("metres", "m", 1.0, 1.0).place(483214.0, 3617488.0).replace(THIN, " ") == "483 214 E  3 617 488 N"
    assert Frame("degrees").metres_across(60.0) == pytest.approx(55_597, rel=1e-3)
    assert Frame("other", "rad").metres_across(0.0) == 0.0


def test_time_labels_are_even_and_name_a_day_once():
    start = np.datetime64("2006-01-01T06:00", "us").astype(np.int64)
    times = TimeAxis(start + np.arange(31) * 6 * 3_600_000_000, "standard")
    for room in (200.0, 400.0, 800.0, 1200.0):
        shown = ticks_that_fit(times, lambda step, room=room: step / 30 * room, lambda text: 6.0 * len(text), room)
        assert shown
        texts = [text for _, text in shown]
        assert len(set(texts) - {"12:00", "06:00", "18:00"}) == len([t for t in texts if ":" not in t or " " in t])
        gaps = np.diff([x for x, _ in shown])
        assert np.allclose(gaps, gaps[:1])
        assert all(x + 6.0 * len(text) <= after for (x, text), (after, _) in pairwise(shown))
