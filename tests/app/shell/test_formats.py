"""Numbers on screen: minus, thousands, units, unknown."""

from __future__ import annotations

import math

import pytest

from mdstudio.app import formats


@pytest.mark.parametrize(("value", "text"), [
    (0, "0"), (999, "999"), (6468, "6\u202f468"), (-1234567, "\u22121\u202f234\u202f567")])
def test_counts_part_their_thousands(value: int, text: str) -> None:
    assert formats.count(value) == text


@pytest.mark.parametrize(("value", "text"), [
    (0, "0\u00a0B"), (512, "512\u00a0B"), (26_321, "26.3\u00a0KB"), (212_000, "212\u00a0KB"), (999_600, "1.00\u00a0MB"),
    (1_310_000_000, "1.31\u00a0GB"), (None, "\u2014"),
])
def test_sizes_keep_three_figures_and_their_unit(value: int | None, text: str) -> None:
    assert formats.size(value) == text


@pytest.mark.parametrize(("value", "decimals", "text"), [
    (-24.53, 1, "\u221224.5"), (-0.001, 1, "0.0"), (0.0417, None, "0.0417"), (1234.5678, None, "1\u202f235"),
    (100.0, None, "100"), (3e-5, None, "3e\u22125"), (-2.5e9, None, "\u22122.5e9"), (math.nan, None, "\u2014"),
    (-math.inf, None, "\u2212\u221e"), (0.0, None, "0"),
])
def test_numbers(value: float, decimals: int | None, text: str) -> None:
    assert formats.number(value, decimals) == text


@pytest.mark.parametrize(("stored", "raw", "text"), [
    (246, 1000, "24.6\u00a0%"), (None, 1000, "\u2014"), (5, 0, "\u2014"), (1, 100_000, "0.00\u00a0%"),
    (1000, 1000, "100.0\u00a0%"),
])
def test_a_ratio_is_stored_over_raw_in_per_cent(stored: float | None, raw: float, text: str) -> None:
    assert formats.ratio(stored, raw) == text


@pytest.mark.parametrize(("seconds", "text"), [
    (0.041, "41\u00a0ms"), (3.14, "3.1\u00a0s"), (59.4, "59\u00a0s"), (108, "1\u00a0min 48\u00a0s"),
    (7500, "2\u00a0h 05\u00a0min"),
    (None, "\u2014"),
])
def test_durations(seconds: float | None, text: str) -> None:
    assert formats.duration(seconds) == text


def test_a_cost_names_requests_bytes_and_time() -> None:
    assert formats.cost(3, 212_000, 0.041) == "3 requests \u00b7 212\u00a0KB \u00b7 41\u00a0ms"
    assert formats.cost(1, 5, 2.0).startswith("1 request \u00b7")
