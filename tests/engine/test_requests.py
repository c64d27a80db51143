"""Stored numbers as values: no data, valid range, scale."""

from __future__ import annotations

import numpy as np
import pytest

from mdstudio.engine.model import Item
from mdstudio.engine.requests import decode_values


def values(stored: list[float], dtype: str, **fields: object) -> list[float | None]:
    found = decode_values(Item("a", dtype, **fields), np.array(stored, dtype))  # type: ignore[arg-type]
    return [None if value != value else value for value in found.tolist()]


def test_every_marker_of_no_data_is_no_data_and_nothing_else() -> None:
    assert values([-999, -99, 0, 5], "int16", no_data=-999, missing=(-99,)) == [None, None, 0, 5]
    assert values([1e20, 1, float("nan")], "float32", no_data=1e20) == [None, 1, None]


@pytest.mark.parametrize("code", [-1, 256, 254.5, float("inf"), float("nan")])
def test_a_marker_that_the_type_cannot_hold_hides_nothing(code: float) -> None:
    assert values([255, 254, 0], "uint8", no_data=code) == [255, 254, 0]


def test_without_a_valid_range_only_equality_hides() -> None:
    assert values([-5, 0, 5], "int16", no_data=0) == [-5, None, 5]
    assert values([-5, 0, 5], "int16", valid_min=-1, valid_max=4) == [None, 0, None]


def test_scaled_values_are_computed_in_double() -> None:
    stored, scale, offset = 12345, 0.001, 20.0
    assert values([stored], "int16", scale=scale, offset=offset, decoded="float32") == [stored * scale + offset]


def test_a_float_code_of_wide_integers_hides_no_neighbour() -> None:
    top = 2**63
    stored = np.array([-top, -top + 1, 0, top - 1], np.int64)
    coded = Item("v", "int64", no_data=-float(top))
    assert np.isnan(decode_values(coded, stored)).tolist() == [True, False, False, False]
    limits = Item("v", "int64", valid_min=-float(top), valid_max=0.5, missing=(0.5, float("inf")))
    assert np.isnan(decode_values(limits, stored)).tolist() == [False, False, False, True]
