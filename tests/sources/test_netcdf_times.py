"""Times: units as people write them, calendars kept, exact to the microsecond, repeated and backward axes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mdstudio.engine.errors import SourceError
from mdstudio.engine.times import format_time
from mdstudio.sources.netcdf.times import decode_times, parse_date
from mdstudio.sources.registry import open_source
from tests.sources.netcdf_builders import add, add_axes, new_file, numbered, one_item, whole


def texts(values: object, unit: str, calendar: str = "standard") -> list[str]:
    decoded = decode_times(np.atleast_1d(np.asarray(values)), unit, calendar)
    return [format_time(int(t), decoded.calendar) for t in decoded.microseconds]


@pytest.mark.parametrize(("value", "unit", "expected"), [
    (929190, "hours since 1900-01-01 00:00:0.0", "2006-01-01T06:00:00"),
    (0.5, "days since 2024-1-1T00:00:00 U C", "2024-01-01T12:00:00"),
    (1, "days since 19500101", "1950-01-02T00:00:00"),
    (1, "Days Since 1950-01-01", "1950-01-02T00:00:00"),
    (10, "seconds since 2014-01-01 2014-01-01 00:00:00", "2014-01-01T00:00:10"),
    (0, "seconds since 1970-01-01T00:00:00Z", "1970-01-01T00:00:00"),
    (0, "hours since 2000-01-01 12:00:00 +02:00", "2000-01-01T10:00:00"),
    (0, "hours since 2000-01-01 12:00 -0530", "2000-01-01T17:30:00"),
    (0, "hours since 2000-01-01 12", "2000-01-01T12:00:00"),
    (2, "msecs since 2000-01-01 00:00:00.5", "2000-01-01T00:00:00.502"),
    (1500, "nanoseconds since 2000-01-01", "2000-01-01T00:00:00.000001"),
    (1, "weeks since 2000-01-01", "2000-01-08T00:00:00"),
    (1, "years since 2000-02-29", "2001-02-28T00:00:00"),
    (20010115.25, "day as %Y%m%d.%f", "2001-01-15T06:00:00"),
    (1, "days since 1-1-1 00:00:0.0", "0001-01-02T00:00:00"),
    (0, "days since 0000-01-01", "0000-01-01T00:00:00"),
    (1.5, "months since 2001-01-01", "2001-02-15T00:00:00"),
    (1, "months since 2001-01-31", "2001-02-28T00:00:00"),
])
def test_units_as_people_write_them(value: float, unit: str, expected: str) -> None:
    assert texts(value, unit) == [expected]


@pytest.mark.parametrize(("calendar", "values", "expected"), [
    ("360_day", [58, 59, 60], ["2000-02-29T00:00:00", "2000-02-30T00:00:00", "2000-03-01T00:00:00"]),
    ("noleap", [58, 59], ["2000-02-28T00:00:00", "2000-03-01T00:00:00"]),
    ("365_day", [59], ["2000-03-01T00:00:00"]),
    ("all_leap", [59], ["2000-02-29T00:00:00"]),
    ("julian", [59], ["2000-02-29T00:00:00"]),
    ("gregorian", [59], ["2000-02-29T00:00:00"]),
    ("proleptic_gregorian", [59], ["2000-02-29T00:00:00"]),
])
def test_calendars_are_kept_as_what_they_are(tmp_path: Path, calendar: str, values: list, expected: list) -> None:
    hours = {"units": "days since 2000-01-01", "calendar": calendar, "standard_name": "time"}
    path = one_item(tmp_path / "a.nc", times=np.array(values, "i4"), hours=hours)
    with open_source([str(path)]) as source:
        times = source.descriptions()[0].times
    assert times.texts() == expected
    assert times.calendar == {"365_day": "noleap", "gregorian": "standard"}.get(calendar, calendar)


def test_standard_before_1582_is_julian() -> None:
    assert texts([0, 1], "days since 1582-10-04") == ["1582-10-04T00:00:00", "1582-10-15T00:00:00"]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u4", "f4", "f8"])
def test_times_of_every_type_are_exact(tmp_path: Path, dtype: str) -> None:
    path = one_item(tmp_path / "a.nc", times=np.array([0, 1, 100], dtype), hours={"units": "minutes since 1999-12-31"})
    with open_source([str(path)]) as source:
        assert source.descriptions()[0].times.text(2) == "1999-12-31T01:40:00"


def test_large_integers_lose_no_microsecond() -> None:
    value = 1_700_000_000_123_457
    assert texts(np.array([value]), "microseconds since 1970-01-01") == ["2023-11-14T22:13:20.123457"]
    assert texts(np.array([43000 + 1 / 3]), "days since 1900-01-01") == ["2017-09-24T08:00:00"]


@pytest.mark.parametrize(("values", "unit", "reason"), [
    ([0.0, np.nan], "days since 2000-01-01", "time #1 is missing"),
    ([1], "fortnights since 2000-01-01", "fortnights"),
    ([1], "days since yesterday", "yesterday"),
    ([1], "days since 2000-13-01", "2000-13-1"),
    ([1], "metres", "metres"),
    ([1e15], "days since 2000-01-01", "out of range"),
])
def test_what_is_no_time_is_refused_with_the_reason(values: list, unit: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decode_times(np.array(values), unit, "standard")


def test_an_unknown_calendar_is_refused_with_the_file(tmp_path: Path) -> None:
    path = one_item(tmp_path / "a.nc", hours={"units": "days since 2000-01-01", "calendar": "lunar"})
    with pytest.raises(SourceError, match=r"a\.nc.*lunar"):
        open_source([str(path)])


def test_dates_with_zones() -> None:
    assert parse_date("2000-01-01 00:00:00.25 UTC")[0] == (2000, 1, 1, 250_000)
    assert parse_date("2000-01")[0] == (2000, 1, 1, 0)
    assert "ignored" in parse_date("2000-01-01 00:00 EST")[1]


def test_unit_in_place_of_units(tmp_path: Path) -> None:
    path = one_item(tmp_path / "a.nc", hours={"Unit": "days since 1900-1-1"}, attributes={"UNITS": "K"})
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        assert description.times.text(1) == "1900-01-02T00:00:00"
        assert description.items[0].unit == "K"
        assert description.time_attributes["units"] == "days since 1900-1-1"


def test_packed_times_are_unpacked(tmp_path: Path) -> None:
    hours = {"units": "hours since 2000-01-01", "scale_factor": 0.5, "add_offset": 12.0}
    path = one_item(tmp_path / "a.nc", times=np.array([0, 1, 2], "i2"), hours=hours)
    with open_source([str(path)]) as source:
        assert source.descriptions()[0].times.text(1) == "2000-01-01T12:30:00"


def test_a_scalar_time_is_one_step(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_axes(dataset, times=None)
        add(dataset, "day", [], np.float64(2), {"units": "days since 2000-01-01", "standard_name": "time"})
        add(dataset, "reference", [], np.float64(0), {
            "units": "days since 2000-01-01", "standard_name": "forecast_reference_time"})
        add(dataset, "v", ["lat", "lon"], numbered(4, 5), {"coordinates": "reference day"})
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        assert not description.times.static
        assert description.times.texts() == ["2000-01-03T00:00:00"]
        assert np.array_equal(whole(source, description, "v")[0], numbered(4, 5))


def test_time_of_another_name_than_its_dimension(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_axes(dataset, times=None)
        add(dataset, "when", ["record"], np.arange(2), {"units": "days since 2000-01-01", "standard_name": "time"})
        add(dataset, "v", ["record", "lat", "lon"], numbered(2, 4, 5), {"coordinates": "when"})
    with open_source([str(path)]) as source:
        assert source.descriptions()[0].times.text(1) == "2000-01-02T00:00:00"


def test_reference_and_lead_time_make_the_time(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_axes(dataset, times=None)
        add(dataset, "v", ["time", "lat", "lon"], numbered(2, 4, 5), {"coordinates": "ref lead"})
        add(dataset, "ref", ["time"], np.array([0.0, 0.0]), {
            "units": "days since 2000-01-01", "standard_name": "forecast_reference_time"})
        add(dataset, "lead", ["time"], np.array([6, 12]), {"units": "hours", "standard_name": "forecast_period"})
    with open_source([str(path)]) as source:
        assert source.descriptions()[0].times.texts() == ["2000-01-01T06:00:00", "2000-01-01T12:00:00"]


def test_uneven_times_keep_their_true_stamps(tmp_path: Path) -> None:
    # case 9
    with open_source([str(one_item(tmp_path / "a.nc", times=np.array([0, 1, 7])))]) as source:
        times = source.descriptions()[0].times
    assert times.step() == 0
    assert times.text(2) == "2000-01-01T07:00:00"


@pytest.mark.parametrize(("policy", "kept"), [(None, [0, 2, 3]), ("keep-last", [0, 2, 3]), ("keep-first", [0, 1, 3])])
def test_a_repeated_time_is_kept_once_and_counted(tmp_path: Path, policy: str | None, kept: list[int]) -> None:
    # case 8: restart files write the last step again
    path = one_item(tmp_path / "a.nc", times=np.array([0, 1, 1, 2]))
    with open_source([str(path)], {"TimePolicy": policy} if policy else {}) as source:
        (description,) = source.descriptions()
        assert description.times.texts() == [f"2000-01-01T0{h}:00:00" for h in range(3)]
        assert np.array_equal(whole(source, description, "v"), numbered(4, 4, 5)[kept])
        assert [n.count for n in source.dropped() if "repeated" in n.reason] == [1]


def test_a_repeated_time_fails_when_asked(tmp_path: Path) -> None:
    path = one_item(tmp_path / "a.nc", times=np.array([0, 1, 1, 2]))
    with pytest.raises(SourceError, match=r"a\.nc.*repeats 2000-01-01T01:00:00.*#1 and #2"):
        open_source([str(path)], {"TimePolicy": "fail"})


@pytest.mark.parametrize("policy", ["keep-last", "keep-first", "fail"])
def test_an_axis_that_runs_backwards_is_refused_and_says_where(tmp_path: Path, policy: str) -> None:
    path = one_item(tmp_path / "a.nc", times=np.array([0, 2, 1, 3]))
    with pytest.raises(SourceError, match=r"a\.nc: Time axis 'time' runs backwards: step #2 \(2000-01-01T01:00:00\)"):
        open_source([str(path)], {"TimePolicy": policy})


def test_an_axis_that_never_moves_is_refused(tmp_path: Path) -> None:
    path = one_item(tmp_path / "a.nc", times=np.zeros(5))
    with pytest.raises(SourceError, match="for all 5 steps"):
        open_source([str(path)])


def test_a_missing_time_is_refused(tmp_path: Path) -> None:
    hours = {"units": "hours since 2000-01-01", "_FillValue": np.int32(100)}
    path = one_item(tmp_path / "a.nc", times=np.array([0, 100, 2], "i4"), hours=hours)
    with pytest.raises(SourceError, match="time #1 is missing"):
        open_source([str(path)])


def test_an_empty_time_axis_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_axes(dataset, times=np.zeros(0, "i4"), unlimited=True)
        dataset.createVariable("v", "f4", ("time", "lat", "lon"))
    with pytest.raises(SourceError, match="no timesteps"):
        open_source([str(path)])


def test_one_bad_time_axis_of_several_drops_its_items_only(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_axes(dataset)
        add(dataset, "good", ["time", "lat", "lon"], numbered(3, 4, 5))
        add(dataset, "late", ["late"], np.array([2, 1]), {"units": "hours since 2000-01-01"})
        add(dataset, "bad", ["late", "lat", "lon"], numbered(2, 4, 5))
    with open_source([str(path)]) as source:
        assert [i.name for d in source.descriptions() for i in d.items] == ["good"]
        assert any(n.what == "bad" and "backwards" in n.reason for n in source.dropped())


def test_times_in_characters(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add_axes(dataset, times=None)
        dataset.createDimension("Time", None)
        dataset.createDimension("length", 19)
        written = np.array([list("2005-08-28_00:00:00"), list("2005-08-28_03:00:00")], "S1")
        dataset.createVariable("Times", "S1", ("Time", "length"))[:] = written
        add(dataset, "v", ["Time", "lat", "lon"], numbered(2, 4, 5))
    with open_source([str(path)]) as source:
        assert source.descriptions()[0].times.texts() == ["2005-08-28T00:00:00", "2005-08-28T03:00:00"]


@pytest.mark.parametrize("written_apart", [False, True])
def test_times_in_letters_replace_float32_numbers_that_only_round_them(written_apart: bool, tmp_path: Path) -> None:
    path = tmp_path / "fvcom.nc"
    days = np.array([4160, 4160 + 1 / 24, 4160 + 2 / 24], "f4")
    text = [f"2024-05-23T0{h + 5 * written_apart}:00:00.000000" for h in range(3)]
    with new_file(path) as dataset:
        add_axes(dataset, days, hours={"units": "days since 2013-01-01"})
        add(dataset, "v", ["time", "lat", "lon"], numbered(3, 4, 5))
        dataset.createDimension("length", 26)
        dataset.createVariable("Times", "S1", ("time", "length"))[:] = np.array([list(t) for t in text], "S1")
    with open_source([str(path)]) as source:
        found = source.descriptions()[0].times.texts()
        notes = [d.text for d in source.dropped() if "float32" in d.reason]
    if written_apart:  # text that says other times is not believed
        assert found[1] == "2024-05-23T00:59:45.9375"
        assert notes == []
    else:
        assert found == [t[:19] for t in text]
        assert notes == ["time: float32 rounds its times: taken from 'Times' instead (2)"]
