"""Ranges, statistics, histogram and colours: exact, and safe on hot pixels, flat and empty fields (case 13)."""

import numpy as np
import pytest

from mdstudio.app import colormaps
from mdstudio.app.plots.colouring import colourise
from mdstudio.app.plots.ranges import exact_range, histogram, percentile_range, statistics

VIRIDIS = colormaps.argb("viridis")


@pytest.mark.rule("G5")
def test_one_hot_pixel_sets_the_exact_range_and_its_own_colour():
    values = np.random.default_rng(0).normal(280, 1, (500, 500))
    values[123, 456] = 1000.0
    assert exact_range(values)[1] == 1000.0
    low, high = percentile_range(values)
    assert 277 < low < high < 283
    colours, _ = colourise(values, exact_range(values), VIRIDIS)
    assert colours[123, 456] == VIRIDIS[255]
    assert np.count_nonzero(colours == VIRIDIS[255]) == 1


def test_extremes_are_those_of_the_finite_cells():
    values = np.array([[np.nan, -3.0, np.inf], [7.0, -np.inf, 2.0]])
    numbers = statistics(values)
    assert exact_range(values) == (-3.0, 7.0)
    assert (numbers.cells, numbers.valid, numbers.no_data, numbers.infinite) == (6, 3, 1, 2)
    assert numbers.mean == 2.0


def test_an_empty_field_has_no_range_and_no_colour():
    values = np.full((4, 5), np.nan)
    assert exact_range(values) is None
    assert percentile_range(values) is None
    colours, counts = colourise(values, None, VIRIDIS)
    assert not colours.any()
    assert counts.sum() == 0
    assert statistics(values).no_data == 20


def test_a_flat_field_is_one_colour_and_keeps_its_no_data():
    values = np.full((3, 3), 5.5)
    values[1, 1] = np.nan
    colours, counts = colourise(values, exact_range(values), VIRIDIS)
    assert set(np.unique(colours)) == {0, VIRIDIS[128]}
    assert colours[1, 1] == 0
    assert counts.sum() == 8


def test_numbers_at_the_ends_of_double_precision_have_a_range_a_mean_and_colours():
    values = np.array([[-1.7e308, 1.7e308, 0.0, 5e-324]])
    assert exact_range(values) == (-1.7e308, 1.7e308)
    numbers = statistics(values)
    assert np.isfinite(numbers.mean)
    colours, _ = colourise(values, exact_range(values), VIRIDIS)
    assert colours[0, 0] == VIRIDIS[0]
    assert colours[0, 1] == VIRIDIS[255]
    assert colours[0, 2] == VIRIDIS[128]


def test_a_value_beyond_the_range_takes_the_end_colour_and_is_not_counted():
    values = np.array([-5.0, 0.0, 0.5, 1.0, 9.0])
    colours, counts = colourise(values, (0.0, 1.0), VIRIDIS)
    assert colours.tolist() == [VIRIDIS[0], VIRIDIS[0], VIRIDIS[128], VIRIDIS[255], VIRIDIS[255]]
    assert counts.sum() == 3


def test_mask_and_no_data_counts_add_up():
    values = np.arange(12.0).reshape(3, 4)
    values[0, 0] = np.nan
    mask = np.zeros((3, 4), bool)
    mask[:2, :2] = True
    numbers = statistics(values, mask)
    assert (numbers.cells, numbers.valid, numbers.no_data) == (4, 3, 1)
    assert (numbers.minimum, numbers.maximum) == (1.0, 5.0)


def test_histogram_counts_every_cell_of_its_range_once():
    values = np.random.default_rng(3).uniform(-1, 1, 10_000)
    assert histogram(values, (-1.0, 1.0)).sum() == 10_000
    assert histogram(np.array([0.0, 1.0]), (0.0, 1.0))[[0, -1]].tolist() == [1, 1]
