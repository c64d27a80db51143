"""Cells against rectangles and points, compared with shapely cell by cell (P3, P4)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Array, GridDomain
from mdstudio.engine.spatial.axis import CellAxis
from mdstudio.engine.spatial.grid import GridGeometry

Bbox = tuple[float, float, float, float]


def edges_by_hand(centres: Array) -> list[float]:
    """Half way between neighbours, and as far beyond the ends; a pair is averaged as the format says."""
    values = [float(v) for v in centres]
    middle = [a / 2 + b / 2 for a, b in pairwise(values)]
    return [values[0] - (middle[0] - values[0]), *middle, values[-1] + (values[-1] - middle[-1])]


def found(geometry: GridGeometry, box: Bbox) -> set[tuple[int, int]]:
    selection = geometry.select(box)
    assert selection.mask.shape == (selection.rows.size, selection.columns.size)
    assert bool(selection.empty_reason) == (not selection.mask.any())
    assert len(set(selection.columns.tolist())) == selection.columns.size
    if selection.mask.size:  # the smallest block
        assert selection.mask.any(axis=1).all()
        assert selection.mask.any(axis=0).all()
    at = np.argwhere(selection.mask)
    return {(int(selection.rows[r]), int(selection.columns[c])) for r, c in at}


def brute_force(x_edges: list[float], y_edges: list[float], box: Bbox) -> set[tuple[int, int]]:
    area = shapely.box(*box) if box[0] != box[2] and box[1] != box[3] else \
        shapely.MultiPoint([box[:2], box[2:]]).envelope
    cells = {(r, c): shapely.box(min(x), min(y), max(x), max(y))
             for r, y in enumerate(pairwise(y_edges)) for c, x in enumerate(pairwise(x_edges))}
    return {key for key, cell in cells.items() if cell.intersects(area)}


@st.composite
def axes(draw: st.DrawFn) -> Array:
    """Axes that are not exact in binary: steps of 0.1, 1/3, float32, uneven, up or down."""
    count = draw(st.integers(2, 9))
    start = draw(st.sampled_from([0.0, -7.3, 0.1, 12.7]))
    step = draw(st.sampled_from([0.1, 0.3, 1 / 3, 0.25, 1.0]))
    values = start + step * np.arange(count)
    if draw(st.booleans()):
        values = values + np.cumsum(draw(st.lists(st.sampled_from([0.0, 0.07, 0.2]), min_size=count, max_size=count)))
    if draw(st.booleans()):
        values = values[::-1].copy()
    return values.astype(draw(st.sampled_from(["float32", "float64"])))


@pytest.mark.rule("P3", "P4")
@settings(deadline=None)
@given(axes(), axes(), st.data())
def test_a_rectangle_finds_the_cells_that_brute_force_finds_touching_edges_included(
    x: Array, y: Array, data: st.DataObject
) -> None:
    geometry = GridGeometry(GridDomain("projected", x, y))
    x_edges, y_edges = edges_by_hand(x), edges_by_hand(y)

    def corner(edges: list[float]) -> st.SearchStrategy[float]:
        near = st.sampled_from(edges).flatmap(
            lambda e: st.sampled_from([e, float(np.nextafter(e, 99)), float(np.nextafter(e, -99))]))
        return st.one_of(near, st.floats(min(edges) - 1, max(edges) + 1))

    x0, y0, x1, y1 = (data.draw(corner(edges)) for edges in (x_edges, y_edges) * 2)
    box = (x0, y0, x1, y1)
    ordered = (min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3]))
    assert found(geometry, box) == brute_force(x_edges, y_edges, ordered)


@pytest.mark.rule("P4")
def test_a_rectangle_that_only_touches_the_last_cell_of_a_grid_of_tenths_finds_it() -> None:
    x = np.arange(300) * 0.1
    geometry = GridGeometry(GridDomain("projected", x, x))
    x_edges, _ = geometry.edges()
    for at in (127, 128, 255, 256, 299):  # last and first cells of tiles
        edge = float(x_edges[at + 1])
        touching = geometry.select((edge, 0.0, edge, 0.0)).columns.tolist()
        assert touching == ([at, at + 1] if at < 299 else [at])


@pytest.mark.parametrize("order", [(10.0, 20.0, 12.0, 25.0), (12.0, 25.0, 10.0, 20.0), (12.0, 20.0, 10.0, 25.0)])
def test_the_order_of_the_corners_and_of_the_latitudes_does_not_matter(order: Bbox) -> None:
    down = GridGeometry(GridDomain("regular", np.arange(0.0, 40), np.arange(80.0, 0, -1)))
    up = GridGeometry(GridDomain("regular", np.arange(0.0, 40), np.arange(1.0, 81)))
    assert [float(80 - r) for r in down.select(order).rows] == [float(1 + r) for r in up.select(order).rows][::-1]
    assert down.select(order).rows.size == 6  # the cells 19.5 .. 20.5 to 24.5 .. 25.5
    assert down.select(order).columns.tolist() == [10, 11, 12] == up.select(order).columns.tolist()


@pytest.mark.rule("P3")
@pytest.mark.parametrize(("first", "box", "expected"), [
    (0.0, (-10.0, 0.0, 10.0, 1.0), {*range(11), *range(350, 360)}),
    (0.0, (350.0, 0.0, 370.0, 1.0), {*range(11), *range(350, 360)}),
    (-180.0, (170.0, 0.0, 190.0, 1.0), {*range(11), *range(350, 360)}),
    (-180.0, (-190.0, 0.0, -170.0, 1.0), {*range(11), *range(350, 360)}),
    (0.0, (-540.2, 0.0, -539.8, 1.0), {180}),
    (0.0, (-180.0, 0.0, 180.0, 1.0), {*range(360)}),
    (0.0, (0.0, 0.0, 360.0, 1.0), {*range(360)}),
    (0.0, (-1000.0, 0.0, 1000.0, 1.0), {*range(360)}),
    (0.0, (-np.inf, 0.0, np.inf, 1.0), {*range(360)}),
    (0.0, (-0.5, 0.0, 0.2, 1.0), {0, 359}),  # -0.5 is 359.5: the border of the last cell
])
def test_a_rectangle_across_the_wrap_of_the_longitude_finds_both_parts_once(
    first: float, box: Bbox, expected: set[int]
) -> None:
    geometry = GridGeometry(GridDomain("regular", first + np.arange(360.0), np.array([0.0, 1.0, 2.0])))
    columns = geometry.select(box).columns.tolist()
    assert columns == sorted(expected)


@pytest.mark.parametrize("x", [
    np.array([357.0, 358, 359, 0, 1, 2]), np.array([177.0, 178, 179, -180, -179, -178]) + 0.0,
    np.array([2.0, 1, 0, 359, 358, 357])])
def test_an_axis_stored_across_its_wrap_has_cells_one_step_wide(x: Array) -> None:
    geometry = GridGeometry(GridDomain("regular", x, np.array([0.0, 1.0])))
    assert np.abs(np.diff(geometry.edges()[0])).tolist() == [1.0] * 6
    for column, value in enumerate(x):
        assert geometry.locate([(float(value), 0.2), (float(value) - 360, 0.2)]).tolist() == [[0, column], [0, column]]
        assert geometry.select((float(value) - 0.1, 0, float(value) + 0.1, 0)).columns.tolist() == [column]


@pytest.mark.rule("P3", "P4")
@settings(deadline=None)
@given(st.integers(-3, 3), st.integers(0, 719), st.sampled_from([0.1, 0.5, 1 / 3]))
def test_a_touched_edge_is_found_at_every_turn(turn: int, at: int, step: float) -> None:
    """A shift by whole turns rounds; the test is exact all the same: the sum is compared as a fraction."""
    from fractions import Fraction

    x = step * np.arange(720)
    geometry = GridGeometry(GridDomain("regular", x, np.array([0.0, 1.0])))
    edges = geometry.edges()[0]
    west = float(edges[at]) + 360.0 * turn
    columns = geometry.select((west, 0.0, west, 0.0)).columns.tolist()
    expected = [c for c in range(720) if any(
        Fraction(float(edges[c])) <= Fraction(west) + 360 * k <= Fraction(float(edges[c + 1])) for k in range(-5, 6))]
    assert columns == expected


def test_a_projected_grid_does_not_wrap() -> None:
    geometry = GridGeometry(GridDomain("projected", np.arange(360.0), np.array([0.0, 1.0])))
    assert geometry.select((-10.0, 0.0, -5.0, 1.0)).columns.size == 0


@pytest.mark.rule("P3")
@pytest.mark.parametrize(("box", "words"), [
    ((-9.0, 1.0, -3.0, 2.0), "lies west of the grid (x from -0.5 to 9.5)"),
    ((20.0, 1.0, 30.0, 2.0), "lies east of the grid (x from -0.5 to 9.5)"),
    ((1.0, -20.0, 2.0, -10.0), "lies south of the grid (y from -0.5 to 4.5)"),
    ((1.0, 5.0, 2.0, 6.0), "lies north of the grid (y from -0.5 to 4.5)"),
    ((20.0, 5.0, 30.0, 6.0), "east of the grid (x from -0.5 to 9.5) and lies north of the grid (y from -0.5 to 4.5)"),
])
def test_an_empty_result_says_on_which_side_the_rectangle_lies(box: Bbox, words: str) -> None:
    geometry = GridGeometry(GridDomain("projected", np.arange(10.0), np.arange(5.0)))
    selection = geometry.select(box)
    assert words in selection.empty_reason
    assert selection.rows.size == selection.columns.size == 0


def test_a_corner_that_is_no_number_is_refused_rather_than_empty() -> None:
    geometry = GridGeometry(GridDomain("projected", np.arange(10.0), np.arange(5.0)))
    with pytest.raises(UsageError, match="no number"):
        geometry.select((0.0, float("nan"), 1.0, 2.0))


def test_no_rectangle_takes_every_cell_without_a_mask_in_memory() -> None:
    selection = GridGeometry(GridDomain("projected", np.arange(3000.0), np.arange(2000.0))).select(None)
    assert selection.rows.tolist() == list(range(2000))
    assert selection.columns.tolist() == list(range(3000))
    assert selection.mask.all()
    assert selection.mask.strides == (0, 0)


def test_the_bounds_of_the_source_are_the_cells() -> None:
    bounds = np.array([[0.0, 1.0], [1.0, 5.0], [5.0, 6.0]])
    geometry = GridGeometry(GridDomain("projected", np.array([0.5, 2.0, 5.5]), np.arange(2.0), x_bounds=bounds))
    assert geometry.select((4.9, 0.0, 4.9, 0.0)).columns.tolist() == [1]
    assert geometry.edges()[0].tolist() == [0.0, 1.0, 5.0, 6.0]


def test_bounds_written_at_another_turn_belong_to_their_centre() -> None:
    bounds = np.array([[359.5, 0.5], [0.5, 1.5], [1.5, 2.5]])
    geometry = GridGeometry(GridDomain("regular", np.array([0.0, 1, 2]), np.arange(2.0), x_bounds=bounds))
    assert geometry.select((-0.2, 0.0, 0.2, 0.0)).columns.tolist() == [0]
    assert geometry.edges()[0].tolist() == [-0.5, 0.5, 1.5, 2.5]


@pytest.mark.parametrize("bounds", [
    [[0.0, 1.0], [3.0, 4.0], [6.0, 7.0]], [[0.0, 3.0], [1.0, 6.0], [4.0, 9.0]], [[5.0, 6.0], [6.0, 7.0], [7.0, 8.0]],
    [[0.5, 0.5], [3.5, 3.5], [6.5, 6.5]], [[0.0, np.nan], [2.0, 5.0], [5.0, 8.0]]])
def test_bounds_that_do_not_follow_one_another_around_their_centres_are_left_aside(bounds: list[list[float]]) -> None:
    geometry = GridGeometry(
        GridDomain("projected", np.array([0.5, 3.5, 6.5]), np.arange(2.0), x_bounds=np.array(bounds)))
    assert geometry.edges()[0].tolist() == [-1.0, 2.0, 5.0, 8.0]


def test_bounds_that_miss_one_another_by_rounding_share_an_edge() -> None:
    x = np.arange(0, 100, dtype=np.float32) / np.float32(7)
    bounds = np.stack([x - np.float32(1 / 14), x + np.float32(1 / 14)], axis=1)
    geometry = GridGeometry(GridDomain("projected", x, np.arange(2.0), x_bounds=bounds))
    assert (geometry.x_axis.low[1:] == geometry.x_axis.high[:-1]).all()
    between = [(float(edge), 0.0) for edge in geometry.edges()[0]]
    assert (geometry.locate(between)[:, 1] == [0, *range(100)]).all()


@pytest.mark.parametrize(("x", "y", "width"), [
    (np.array([5.0]), np.arange(0.0, 3, 0.5), 0.5), (np.array([5.0]), np.array([1.0]), 1.0)])
def test_a_single_column_is_as_wide_as_a_row_is_high(x: Array, y: Array, width: float) -> None:
    geometry = GridGeometry(GridDomain("projected", x, y))
    assert geometry.edges()[0].tolist() == [5 - width / 2, 5 + width / 2]
    assert geometry.select((5.0, -1, 5.0, 9)).columns.tolist() == [0]


def test_points_on_a_shared_edge_take_the_first_cell_and_points_outside_none() -> None:
    geometry = GridGeometry(GridDomain("projected", np.arange(10.0), np.arange(5.0)[::-1]))
    assert geometry.locate([(0.5, 4.0), (3.5, 0.5), (-0.6, 0.0), (0.0, np.nan), (9.5, -0.5)]).tolist() == [
        [0, 0], [3, 3], [-1, -1], [-1, -1], [4, 9]]
    assert geometry.locate([(-50.0, 99.0), (np.nan, 0.0)], nearest=True).tolist() == [[0, 0], [-1, -1]]


@settings(deadline=None)
@given(axes(), axes(), st.lists(st.tuples(st.floats(-20, 30), st.floats(-20, 30)), min_size=1, max_size=5))
def test_a_located_cell_is_the_first_that_a_point_query_finds(
    x: Array, y: Array, points: list[tuple[float, float]]
) -> None:
    geometry = GridGeometry(GridDomain("projected", x, y))
    for point, cell in zip(points, geometry.locate(points).tolist(), strict=True):
        touched = found(geometry, (*point, *point))
        assert (tuple(cell) in touched) if touched else cell == [-1, -1]
        assert not touched or tuple(cell) == min(touched)


def test_the_nearest_cell_across_the_wrap_is_found() -> None:
    geometry = GridGeometry(GridDomain("regular", np.arange(10.0, 40), np.arange(0.0, 10)))
    assert geometry.locate([(355.0, 5.0), (60.0, 5.0)], nearest=True)[:, 1].tolist() == [0, 29]


def test_centres_are_those_of_the_source() -> None:
    x, y = np.arange(4, dtype=np.float32) / 3, np.array([5.0, 4, 3])
    geometry = GridGeometry(GridDomain("projected", x, y))
    first, second = geometry.centres(np.array([2, 0]), np.array([1]))
    assert first.tolist() == [float(x[1])]
    assert second.tolist() == [3.0, 5.0]
    at_x, at_y = geometry.centres_at(np.array([[1, 3], [-1, -1]]))
    assert at_x[0] == float(x[3])
    assert at_y[0] == 4.0
    assert np.isnan([at_x[1], at_y[1]]).all()


@pytest.mark.rule("P4")
@settings(deadline=None)
@given(st.floats(-179, 179), st.integers(-3, 3), st.integers(-2, 2), st.booleans())
def test_a_turn_is_added_without_rounding(point: float, turn: int, ulps: int, at_low: bool) -> None:
    from fractions import Fraction

    edge = point + 360.0 * turn
    for _ in range(abs(ulps)):
        edge = float(np.nextafter(edge, np.inf if ulps > 0 else -np.inf))
    low, high = (edge, edge + 2) if at_low else (edge - 2, edge)
    axis = CellAxis(np.array([low]), np.array([high]), True, True)
    exact = any(Fraction(low) <= Fraction(point) + 360 * k <= Fraction(high) for k in range(-5, 6))
    assert bool(axis.touched(point, point)[0]) is exact


def test_a_rectangle_beside_a_grid_of_longitudes_is_told_on_no_wrong_side() -> None:
    """East of a part of the globe is west of it too: neither is said."""
    geometry = GridGeometry(GridDomain("regular", np.arange(-1.0, 9.0, 0.5), np.arange(50.0, 55.5, 0.5)))
    assert "52 lies beside the grid (x from -1.25 to 8.75)" in geometry.select((50, 51, 70, 52)).empty_reason
