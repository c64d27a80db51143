"""Cells of grids against polygons and multi-polygons, compared with every cell tested on its own (P3, P4)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from mdstudio.engine.model import Array, GridDomain, GridKind
from mdstudio.engine.spatial.grid import GridGeometry
from tests.engine.spatial.brute_force import Ring, areas, exactly_met, met, snapped, wkt

Cells = dict[tuple[int, int], Ring]


def edges_by_hand(centres: Array) -> list[float]:
    values = [float(v) for v in centres]
    middle = [a / 2 + b / 2 for a, b in pairwise(values)]
    return [values[0] - (middle[0] - values[0]), *middle, values[-1] + (values[-1] - middle[-1])]


def boxes(x_edges: list[float], y_edges: list[float]) -> Cells:
    return {(r, c): [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
            for r, (y0, y1) in enumerate(pairwise(y_edges)) for c, (x0, x1) in enumerate(pairwise(x_edges))}


def found(geometry: GridGeometry, area: Any) -> set[tuple[int, int]]:
    selection = geometry.select(None, wkt(area))
    assert selection.mask.shape == (selection.rows.size, selection.columns.size)
    assert bool(selection.empty_reason) == (not selection.mask.any())
    assert len(set(selection.columns.tolist())) == selection.columns.size
    if selection.mask.size:  # the smallest block
        assert selection.mask.any(axis=1).all()
        assert selection.mask.any(axis=0).all()
    return {(int(selection.rows[r]), int(selection.columns[c])) for r, c in np.argwhere(selection.mask)}


@st.composite
def axes(draw: st.DrawFn) -> Array:
    """Axes that are not exact in binary: steps of 0.1, 1/3, float32, uneven, up or down."""
    count = draw(st.integers(2, 11))
    step = draw(st.sampled_from([0.1, 0.3, 1 / 3, 0.25]))
    values = draw(st.sampled_from([0.0, -7.3, 0.1, 12.7])) + step * np.arange(count)
    if draw(st.booleans()):
        values = values + np.cumsum(draw(st.lists(st.sampled_from([0.0, 0.07, 0.2]), min_size=count, max_size=count)))
    if draw(st.booleans()):
        values = values[::-1].copy()
    return values.astype(draw(st.sampled_from(["float32", "float64"])))


@pytest.mark.rule("P3", "P4")
@settings(deadline=None)
@given(st.sampled_from(["regular", "projected", "rotated"]), axes(), axes(), st.data())
def test_a_polygon_finds_the_cells_of_straight_rows_that_brute_force_finds(
    kind: GridKind, x: Array, y: Array, data: st.DataObject
) -> None:
    x_edges, y_edges = edges_by_hand(x), edges_by_hand(y)
    area = data.draw(areas(st.tuples(snapped(x_edges, 1.0), snapped(y_edges, 1.0))))
    cells = boxes(x_edges, y_edges)
    result = found(GridGeometry(GridDomain(kind, x, y)), area)
    assert result == met(cells, area)
    assert result == exactly_met(cells, area)


def turned_grid(rows: int, columns: int, angle: float) -> tuple[Array, Array]:
    """A grid of tenths of a degree, turned and bent."""
    v, u = np.meshgrid(0.1 * np.arange(rows), 0.1 * np.arange(columns), indexing="ij")
    u = u + 0.02 * np.sin(3 * v)
    return 3.1 + u * np.cos(angle) - v * np.sin(angle), 51.7 + u * np.sin(angle) + v * np.cos(angle)


def curvilinear(longitude: Array, latitude: Array) -> GridGeometry:
    rows, columns = longitude.shape
    return GridGeometry(GridDomain("curvilinear", np.arange(columns), np.arange(rows), longitude=longitude,
                                   latitude=latitude))


def quads(geometry: GridGeometry) -> Cells:
    assert geometry.quads is not None
    shape = geometry.quads.longitude.shape
    x, y = geometry.quads.corners(*np.indices(shape))
    return {(r, c): list(zip(x[r, c].tolist(), y[r, c].tolist(), strict=True)) for r, c in np.ndindex(shape)
            if np.isfinite(x[r, c] + y[r, c]).all()}


@pytest.mark.rule("P3", "P4")
@settings(deadline=None)
@given(st.integers(2, 10), st.integers(2, 10), st.sampled_from([0.0, 0.3, -2.0, np.pi / 2]), st.data())
def test_a_polygon_finds_the_cells_of_a_curvilinear_grid_that_brute_force_finds(
    rows: int, columns: int, angle: float, data: st.DataObject
) -> None:
    x, y = turned_grid(rows, columns, angle)
    for _ in range(data.draw(st.integers(0, 3))):  # holes
        row, column = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
        x[row, column] = np.nan
    geometry = curvilinear(x, y)
    cells = quads(geometry)
    corners = [corner for ring in cells.values() for corner in ring] or [(3.0, 51.0)]
    near = st.tuples(snapped([c[0] for c in corners], 1.0), snapped([c[1] for c in corners], 1.0))
    area = data.draw(areas(st.one_of(st.sampled_from(corners), near)))
    assert found(geometry, area) == met(cells, area)


@pytest.mark.rule("P3")
@settings(deadline=None)
@given(st.sampled_from([0.0, -180.0, 170.0, 90.0]), st.sampled_from([48, 24, 7]), st.data())
def test_a_polygon_finds_the_cells_of_longitudes_at_every_turn(first: float, columns: int, data: st.DataObject) -> None:
    """In eighths of a degree, whose sums with whole turns are exact."""
    step = 7.5 if columns == 48 else 0.25  # around the globe, or a part of it
    x, y = first + step * np.arange(columns), np.array([0.0, 1.0, 2.0])
    cells = boxes(edges_by_hand(x), edges_by_hand(y))
    near = st.integers(-8, int(columns * step * 8)).map(lambda k: first + k / 8)
    place = st.tuples(near, st.sampled_from([-720.0, -360.0, 0.0, 360.0, 720.0])).map(sum)
    area = data.draw(areas(st.tuples(place if data.draw(st.booleans()) else near,
                                     st.integers(-8, 20).map(lambda k: k / 8))))
    area = shapely.transform(area, lambda c: np.round(c * 8) / 8)
    if not all(part.is_valid and part.area for part in getattr(area, "geoms", [area])):
        return
    expected = met(cells, area, wraps=True)
    assert found(GridGeometry(GridDomain("regular", x, y)), area) == expected
    if columns != 48:
        longitude, latitude = np.meshgrid((x + 180) % 360 - 180, y)
        assert found(curvilinear(longitude, latitude), area) == expected


@pytest.mark.parametrize("first", [0.0, -180.0])
def test_a_polygon_across_the_wrap_finds_both_parts_and_no_column_twice(first: float) -> None:
    geometry = GridGeometry(GridDomain("regular", first + np.arange(360.0), np.array([0.0, 1.0, 2.0])))
    middle = first - 0.5
    selection = geometry.select(None, f"POLYGON (({middle - 9} 0, {middle + 10} 0, {middle + 10} 1, {middle - 9} 0))")
    assert selection.columns.tolist() == [*range(11), *range(350, 360)]


def star(x: float, y: float, size: float) -> Any:
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    reach = size * (1 + 0.2 * np.sin(7 * angle))
    return shapely.Polygon(np.stack([x + reach * np.cos(angle), y + reach * np.sin(angle)], axis=-1))


def big_grids() -> list[GridGeometry]:
    values = 0.1 * np.arange(400)
    longitude, latitude = np.meshgrid(100 + values, values)
    return [GridGeometry(GridDomain("projected", 100 + values, values)), curvilinear(longitude, latitude)]


@pytest.mark.rule("P3")
@pytest.mark.parametrize("geometry", big_grids(), ids=["straight", "curvilinear"])
def test_a_polygon_tests_the_cells_at_its_border_alone_and_takes_covered_blocks_whole(geometry: GridGeometry) -> None:
    selection = geometry.select(None, wkt(star(120.0, 20.0, 15.0)))
    assert selection.mask.sum() > 70_000
    assert selection.tested < 8_000


@pytest.mark.rule("P3")
@pytest.mark.parametrize("geometry", big_grids(), ids=["straight", "curvilinear"])
def test_a_multi_polygon_takes_no_block_whole_and_skips_those_it_misses(geometry: GridGeometry) -> None:
    parts = [star(110.0, 10.0, 5.0), star(112.0, 10.0, 5.0), star(112.0, 10.0, 5.0)]
    area = shapely.MultiPolygon(parts)
    assert not area.is_valid  # overlapping
    selection = geometry.select(None, wkt(area))
    assert selection.mask.sum() == geometry.select(None, wkt(parts[0].union(parts[1]))).mask.sum() > 10_000
    assert selection.mask.sum() <= selection.tested < selection.mask.sum() + 3_000


@pytest.mark.rule("P4")
@pytest.mark.parametrize("at", [0, 1, 63, 64, 127, 128, 255, 256, 299])
def test_a_polygon_that_only_touches_the_last_cell_of_a_block_of_tenths_finds_it(at: int) -> None:
    x = np.arange(300) * 0.1
    geometry = GridGeometry(GridDomain("projected", x, x))
    edge = float(geometry.edges()[0][at + 1])
    touching = shapely.Polygon([(edge, edge), (edge + 0.01, edge), (edge, edge + 0.01)])
    last = [at, at + 1] if at < 299 else [at]
    assert found(geometry, touching) == {(r, c) for r in last for c in last}
    beyond = float(np.nextafter(edge, 99))
    apart = shapely.Polygon([(beyond, beyond), (beyond + 0.01, beyond), (beyond, beyond + 0.01)])
    assert found(geometry, apart) == ({(at + 1, at + 1)} if at < 299 else set())


@pytest.mark.rule("P4")
def test_a_polygon_that_touches_one_corner_of_the_last_curvilinear_cell_finds_it_and_a_hair_less_does_not() -> None:
    geometry = curvilinear(*turned_grid(70, 70, 0.4))
    x, y = max(quads(geometry)[69, 69], key=lambda corner: corner[1])
    up = float(np.nextafter(y, 99))
    assert (69, 69) in found(geometry, shapely.Polygon([(x, y), (x + 1, y + 1), (x - 1, y + 1)]))
    assert not geometry.select(None, wkt(shapely.Polygon([(x, up), (x + 1, y + 1), (x - 1, y + 1)]))).rows.size


def test_the_cells_in_a_hole_are_left_out_and_those_at_its_border_belong() -> None:
    geometry = GridGeometry(GridDomain("projected", np.arange(10.0), np.arange(10.0)))
    outer, hole = [(0, 0), (9, 0), (9, 9), (0, 9)], [(2.5, 2.5), (6.5, 2.5), (6.5, 6.5), (2.5, 6.5)]
    every = {(r, c) for r in range(10) for c in range(10)}
    assert found(geometry, shapely.Polygon(outer, [hole])) == every - {(r, c) for r in (4, 5) for c in (4, 5)}


@pytest.mark.rule("P3")
@pytest.mark.parametrize(("corners", "words"), [
    ("-9 1, -3 1, -3 2, -9 1", "lies west of the grid (x from -0.5 to 9.5)."),
    ("2 7, 3 7, 3 8, 2 7", "The polygon within 2, 7 .. 3, 8 lies north of the grid (y from -0.5 to 4.5)."),
    ("-20 -20, -20 3, -1.2 4, -30 4, -20 -20", "lies west of the grid"),
    ("9 5, 12 5, 12 7, 9 5", "lies north of the grid"),
    ("8.1 6, 12.1 2, 12 6, 8.1 6", "touches none of its cells."),
])
def test_an_empty_result_says_on_which_side_the_polygon_lies(corners: str, words: str) -> None:
    geometry = GridGeometry(GridDomain("projected", np.arange(10.0), np.arange(5.0)))
    selection = geometry.select(None, f"POLYGON (({corners}))")
    assert words in selection.empty_reason
    assert selection.rows.size == selection.columns.size == 0


def test_missing_coordinates_are_no_cells_of_a_polygon_that_covers_them() -> None:
    x = np.array([0.0, 1.0, np.nan, 3.0, 4.0])
    geometry = GridGeometry(GridDomain("projected", x, np.arange(5.0)))
    everything = "POLYGON ((-9 -9, 99 -9, 99 99, -9 99, -9 -9))"
    for area in (everything, everything.replace("POLYGON", "MULTIPOLYGON (") + ")"):
        columns = geometry.select(None, area).columns.tolist()
        assert columns == geometry.select((-9, -9, 99, 99)).columns.tolist()
        assert 2 not in columns
