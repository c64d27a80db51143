"""Amounts as a person reads them."""

from __future__ import annotations

import pytest

from mdstudio.app import formats
from mdstudio.cli import output


@pytest.mark.parametrize(("count", "text"), [
    (0, "0 B"), (999, "999 B"), (1000, "1 KB"), (88116, "88.1 KB"), (999_499, "999 KB"), (999_500, "1 MB"),
    (8_160_000, "8.16 MB"), (1_310_000_000, "1.31 GB"), (5e15, "5,000 TB"),
])
def test_bytes_are_counted_in_thousands(count: float, text: str) -> None:
    assert output.size(count) == text


@pytest.mark.parametrize("count", [999, 88_116, 1_665_000, 34_800_000, 1_310_000_000])
def test_the_window_and_the_command_line_say_the_same_size(count: int) -> None:
    amount, unit = output.size(count).split()
    shown, shown_unit = formats.size(count).split()
    assert shown_unit == unit
    assert float(shown) == pytest.approx(float(amount), rel=0.01)
