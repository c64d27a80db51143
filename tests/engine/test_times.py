"""Times as text: what is written is read back as the same microsecond, in every calendar and era."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdstudio.engine.errors import UsageError
from mdstudio.engine.times import format_time, parse_time

CALENDARS = ("standard", "proleptic_gregorian", "noleap", "all_leap", "360_day", "julian")


@given(st.integers(-(2**62), 2**62) | st.integers(-80 * 10**15, -60 * 10**15), st.sampled_from(CALENDARS))
def test_the_text_of_a_time_is_read_back_exactly(microseconds: int, calendar: str) -> None:
    assert parse_time(format_time(microseconds, calendar), calendar) == microseconds


@pytest.mark.parametrize(("text", "same"), [
    ("20171027", "2017-10-27"), ("20171027T0605Z", "2017-10-27T06:05"), ("2017-10-27 06:05", "2017-10-27T06:05:00"),
    ("2017-10-27T06:05:00.000000000", "2017-10-27T06:05"), ("2017-10-27T08:05+02:00", "2017-10-27T06:05"),
])
def test_a_time_is_read_in_the_forms_that_other_tools_write(text: str, same: str) -> None:
    assert parse_time(text, "standard") == parse_time(same, "standard")


@pytest.mark.parametrize("text", ["201710271", "2017-10-27T00:00:00.0000001", "2017-13-01", "20171301", "1e9", ""])
def test_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"no ISO 8601 time|no time of the calendar"):
        parse_time(text, "standard")


def test_a_day_of_the_calendar_alone_is_a_time_of_it() -> None:
    assert parse_time("2095-02-30", "360_day") - parse_time("2095-02-29", "360_day") == 86_400_000_000
    with pytest.raises(UsageError, match="no time of the calendar"):
        parse_time("2095-02-30", "standard")


def test_years_before_0_have_four_digits() -> None:
    assert format_time(-92231752509160178, "proleptic_gregorian").startswith("-0953-04-17T")
