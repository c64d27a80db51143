"""Messages become items, layers and times; of several for one place a rule decides, and what it leaves out is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import Description
from mdstudio.sources.registry import open_source
from tests.sources.grib_builders import decoded, message, rain, smooth, temperature, write


def opened(tmp_path: Path, *messages: bytes, **reader: Any) -> Any:
    return open_source([str(write(tmp_path / "a.grib2", messages))], reader)


def only(source: Any) -> Description:
    (description,) = source.descriptions()
    return description


def at(source: Any, item: str, time: int, layer: int = -1) -> np.ndarray:
    return source.read(only(source), item, slice(time, time + 1), layer, slice(None), slice(None))[0]


def same(values: np.ndarray, data: bytes) -> bool:
    return values.ravel().tobytes() == decoded(data).tobytes()


def test_levels_are_layers_in_order_and_steps_are_times(tmp_path: Path) -> None:
    made = {(level, step): temperature(level, step=step, start=250 + level / 10 + step)
            for step in (6, 0, 3) for level in (850, 500, 1000)}
    with opened(tmp_path, *made.values()) as source:
        (item,) = only(source).items
        assert (item.name, item.unit, item.standard_name, item.dtype) == ("t", "K", "air_temperature", "float64")
        assert np.isnan(item.no_data)
        assert (item.layers.values, item.layers.unit, item.layers.meaning) == ((500, 850, 1000), "hPa", "pressure")
        assert only(source).times.texts() == [f"2020-01-01T0{h}:00:00" for h in (0, 3, 6)]
        for time, step in enumerate((0, 3, 6)):
            for layer, level in enumerate((500, 850, 1000)):
                assert same(at(source, "t", time, layer), made[level, step])
        assert not source.dropped()


def test_pressures_in_hpa_and_pa_are_one_axis(tmp_path: Path) -> None:
    made = [temperature(1), temperature(1, scaledValueOfFirstFixedSurface=40)]
    with opened(tmp_path, *made) as source:
        (item,) = only(source).items
        assert item.layers.values == (0.4, 1.0)


def test_negative_levels_and_layers_between_surfaces(tmp_path: Path) -> None:
    vorticity = [message(keys={
        "discipline": 0, "parameterCategory": 0, "parameterNumber": 0, "typeOfFirstFixedSurface": 109,
        "scaleFactorOfFirstFixedSurface": 9, "scaledValueOfFirstFixedSurface": value}) for value in (2000, 2147485648)]
    with opened(tmp_path, *vorticity) as source:
        assert only(source).items[0].layers.values == (-2e-06, 2e-06)
    soil = [message(keys={
        "discipline": 2, "parameterCategory": 0, "parameterNumber": 2, "typeOfFirstFixedSurface": 106,
        "scaleFactorOfFirstFixedSurface": 2, "scaledValueOfFirstFixedSurface": top, "typeOfSecondFixedSurface": 106,
        "scaleFactorOfSecondFixedSurface": 2, "scaledValueOfSecondFixedSurface": bottom})
        for top, bottom in ((0, 10), (10, 40))]
    with opened(tmp_path, *soil) as source:
        layers = only(source).items[0].layers
        assert (layers.values, layers.unit, layers.meaning) == ((0.05, 0.25), "m", "depth")
        assert layers.attributes["bounds_values"] == [[0.0, 0.1], [0.1, 0.4]]


def test_members_are_layers_where_there_is_one_level_else_items(tmp_path: Path) -> None:
    flat = [temperature(member=m, start=280 + m) for m in (2, 0, 1)]
    with opened(tmp_path, *flat) as source:
        (item,) = only(source).items
        assert (item.name, item.layers.name, item.layers.values) == ("2t", "number", (0, 1, 2))
        assert same(at(source, "2t", 0, 2), flat[0])
    deep = {(m, level): temperature(level, member=m, start=200 + m + level) for m in (0, 1) for level in (500, 850)}
    with opened(tmp_path, *deep.values()) as source:
        assert [i.name for i in only(source).items] == ["t[number=0]", "t[number=1]"]
        assert same(at(source, "t[number=1]", 0, 0), deep[1, 500])


def test_names_are_short_and_longer_only_where_two_would_be_the_same(tmp_path: Path) -> None:
    mean = message(keys={
        "discipline": 209, "parameterCategory": 6, "parameterNumber": 1, "productDefinitionTemplateNumber": 8,
        "typeOfStatisticalProcessing": 0, "stepRange": "0-6",
        "dataDate": 20200101, "dataTime": 0})
    surface = message(keys={"discipline": 0, "parameterCategory": 0, "parameterNumber": 0,
                            "typeOfFirstFixedSurface": 1, "dataDate": 20200101, "dataTime": 0})
    unknown = message(keys={"discipline": 209, "parameterCategory": 6, "parameterNumber": 1, "dataDate": 20200101})
    with opened(tmp_path, temperature(500), surface, mean, unknown, rain(0, 6)) as source:
        names = [i.name for i in only(source).items]
    assert names == ["t_isobaricInhPa", "t_surface", "param_209_6_1_avg", "param_209_6_1_instant", "tp"]


def test_times_are_those_of_validity_the_end_of_a_window_with_minutes_and_seconds(tmp_path: Path) -> None:
    quarter = temperature(indicatorOfUnitOfTimeRange=0, forecastTime=15)
    seconds = temperature(second=30, minute=1)
    with opened(tmp_path, rain(0, 6), rain(6, 12), quarter, seconds) as source:
        assert only(source).times.texts() == [
            "2020-01-01T00:01:30", "2020-01-01T00:15:00", "2020-01-01T06:00:00", "2020-01-01T12:00:00"]


@pytest.mark.rule("W4")
@pytest.mark.parametrize(("policy", "kept"), [("keep-last", 2), ("keep-first", 0)])
def test_of_several_forecasts_for_one_time_the_latest_counts(tmp_path: Path, policy: str, kept: int) -> None:
    """Valid at 12: forecast at 0 with step 12, at 6 with step 6, at 12; the files hold them in another order."""
    made = [temperature(hour=h, step=12 - h, start=280 + h) for h in (0, 6, 12)]
    with opened(tmp_path, made[1], made[2], made[0], temperature(hour=0), TimePolicy=policy) as source:
        assert only(source).times.texts() == ["2020-01-01T00:00:00", "2020-01-01T12:00:00"]
        assert same(at(source, "2t", 1), made[kept])
        (note,) = source.dropped()
        assert "another forecast for the same time" in note.reason
        assert note.count == 2


@pytest.mark.parametrize(("policy", "kept"), [("keep-last", 1), ("keep-first", 0)])
def test_of_repeated_messages_the_last_counts(tmp_path: Path, policy: str, kept: int) -> None:
    made = [temperature(start=280 + n) for n in range(2)]
    with opened(tmp_path, *made, TimePolicy=policy) as source:
        assert same(at(source, "2t", 0), made[kept])
        (note,) = source.dropped()
        assert (note.what, note.count) == ("2t", 1)
        assert "repeat another" in note.reason


def test_fail_refuses_both(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"2020-01-01T00:00:00 of 2t is there twice, and TimePolicy is fail"):
        opened(tmp_path, temperature(), temperature(), TimePolicy="fail")


def test_windows_that_contend_for_a_time_are_items(tmp_path: Path) -> None:
    """As NCEP writes them: since the start of the forecast, and of the last six hours."""
    made = {"start": [rain(0, 6), rain(0, 12, start=5), rain(0, 18, start=6)],
            "last": [rain(6, 12, start=7), rain(12, 18, start=8)]}
    with opened(tmp_path, *made["start"], *made["last"]) as source:
        assert [i.name for i in only(source).items] == ["tp[from=start]", "tp[last=6h]"]
        assert same(at(source, "tp[from=start]", 1), made["start"][1])
        assert same(at(source, "tp[last=6h]", 2), made["last"][1])
        assert np.isnan(at(source, "tp[last=6h]", 0)).all()
        (note,) = source.dropped()
        assert (note.what, note.count) == ("tp[last=6h]", 1)


def test_percentiles_are_items(tmp_path: Path) -> None:
    made = [temperature(productDefinitionTemplateNumber=6, percentileValue=p, start=280 + p) for p in (10, 90)]
    with opened(tmp_path, *made) as source:
        assert [i.name for i in only(source).items] == ["2t[percentileValue=10]", "2t[percentileValue=90]"]
        assert same(at(source, "2t[percentileValue=90]", 0), made[1])
        assert not source.dropped()


def test_items_of_one_grid_share_their_times_and_what_is_missing_is_told(tmp_path: Path) -> None:
    with opened(tmp_path, temperature(), temperature(step=6), temperature(500, step=6), temperature(850, step=6),
                temperature(500, step=12)) as source:
        assert len(only(source).times) == 3
        assert np.isnan(at(source, "t", 0, 0)).all()
        assert np.isnan(at(source, "2t", 2)).all()
        (note,) = source.dropped()
        assert (note.what, note.count) == ("2t, t", 1 + 3)
        assert "no message" in note.reason


def test_several_files_are_one_source(tmp_path: Path) -> None:
    made = [temperature(day=d, start=280 + d) for d in (3, 1, 2)]
    paths = [str(write(tmp_path / f"{n}.grib2", [m])) for n, m in enumerate(made)]
    with open_source(paths) as source:
        assert only(source).times.texts() == [f"2020-01-0{d}T00:00:00" for d in (1, 2, 3)]
        assert [s["file"] for s in only(source).source] == paths
        assert same(at(source, "2t", 0), made[1])
    (tmp_path / "b.nc").write_bytes(b"CDF\1 and more")
    with pytest.raises(SourceError, match=r"b\.nc: This is not a GRIB file"):
        open_source([paths[0], str(tmp_path / "b.nc")])


def test_hints_are_the_scaling_of_the_first_message_that_has_one(tmp_path: Path) -> None:
    flat = temperature(start=0.0)
    made = message(smooth(), {"discipline": 0, "parameterCategory": 0, "parameterNumber": 0, "decimalScaleFactor": 2})
    with opened(tmp_path, made, flat) as source:
        description = only(source)
        hint = description.hints[description.items[0].name][0]
        values = source.read(description, description.items[0].name, slice(None), -1, slice(None), slice(None))
    first = next(v for v in values if not np.isnan(v).all() and v.max() > 200)
    k = np.rint((first / hint.factor - hint.offset) / hint.scale)
    assert np.array_equal((k * hint.scale + hint.offset) * hint.factor, first)
