"""What a person types: layers, rectangles, points, times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mdstudio.cli.select import bbox, layer_index, point, points_of_csv, time_range
from mdstudio.engine.errors import NotFoundError, UsageError
from mdstudio.engine.model import Item, LayerAxis
from mdstudio.engine.times import TimeAxis

DEEP = Item("t", "int16", layers=LayerAxis("depth", (0.494025, 1.541375, 10.0, 11.405, 109.7), "m", "down", "depth"))
HIGH = Item("t", "int16", layers=LayerAxis("level", (1000.0, 850.0, 500.0), "hPa", "down", "pressure"))
FLAT = Item("t", "int16")
DAY = 86_400_000_000
TIMES = TimeAxis(np.arange(10) * DAY)


@pytest.mark.parametrize(("item", "text", "index"), [
    (DEEP, "0", 0), (DEEP, "#2", 2), (DEEP, "-1", 4),
    (DEEP, "10m", 2), (DEEP, "10 m", 2), (DEEP, "0.494m", 0), (DEEP, "-10m", 2),
    (DEEP, "0.0015km", 1), (DEEP, "1000cm", 2), (DEEP, "1.5m", 1),
    (HIGH, "500hPa", 2), (HIGH, "85000Pa", 1), (HIGH, "1000mbar", 0),
])
def test_a_layer_is_an_index_or_a_value_with_its_unit(item: Item, text: str, index: int) -> None:
    assert layer_index(item, text) == index


@pytest.mark.parametrize(("item", "text", "error", "says"), [
    (DEEP, "5", NotFoundError, "it has 5"),
    (DEEP, "50m", NotFoundError, r"nearest is 11.405 m \(index 3\)"),
    (DEEP, "500hPa", UsageError, "in 'm', not in 'hPa'"),
    (DEEP, "deep", UsageError, "no layer"),
    (FLAT, "0", UsageError, "no layers"),
])
def test_a_layer_that_is_not_there_is_refused(item: Item, text: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        layer_index(item, text)


def test_a_rectangle_and_a_point_take_any_numbers() -> None:
    assert bbox("-10,50.5,5,6e1") == (-10, 50.5, 5, 60)
    assert point("-3.5,52") == (-3.5, 52)
    for text in ("1,2,3", "1,2,3,x", "1,2,3,nan", ""):
        with pytest.raises(UsageError, match="rectangle"):
            bbox(text)


@pytest.mark.parametrize("text", [
    "x,y,name\n1,2,a\n-3,4.5,b\n", "1,2\n\n-3,4.5\n", "x;y\n1;2\n-3;4.5", "\ufeff1,2\n-3,4.5"])
def test_points_come_from_the_first_two_columns(text: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(text, encoding="utf-8")
    assert points_of_csv(str(tmp_path / "p.csv")) == [(1, 2), (-3, 4.5)]


@pytest.mark.parametrize("row", ["far,away", "nan,52", "3,inf", "3"])
def test_a_row_that_is_no_point_is_named(row: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(f"x,y\n1,2\n{row}\n")
    with pytest.raises(UsageError, match="Row 3"):
        points_of_csv(str(tmp_path / "p.csv"))


@pytest.mark.parametrize(("first", "last", "expected"), [
    (None, None, (0, 10)), ("1970-01-03", None, (2, 10)), ("1970-01-02T12", "1970-01-04", (2, 4)),
    ("#2", "#-1", (2, 10)), ("#3", "#3", (3, 4)), (None, "1969", None), ("1971", None, None), ("#3", "#2", None),
])
def test_a_time_range_includes_both_ends(first: str | None, last: str | None, expected: tuple[int, int] | None) -> None:
    if expected is None:
        with pytest.raises(NotFoundError, match="1970-01-01T00:00:00 to 1970-01-10"):
            time_range(TIMES, first, last)
    else:
        assert time_range(TIMES, first, last) == expected
