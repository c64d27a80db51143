"""Cells of curvilinear grids against rectangles and points, compared with shapely cell by cell (P3, P4)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Array, GridDomain
from mdstudio.engine.spatial.curvilinear import CurvilinearCells
from mdstudio.engine.spatial.grid import GridGeometry

Bbox = tuple[float, float, float, float]


def domain(longitude: Array, latitude: Array, **more: Array) -> GridDomain:
    rows, columns = longitude.shape
    x, y = np.arange(columns), np.arange(rows)
    return GridDomain("curvilinear", x, y, longitude=longitude, latitude=latitude, **more)


def turned_grid(rows: int, columns: int, angle: float) -> tuple[Array, Array]:
    """A grid of tenths of a degree, turned and bent."""
    v, u = np.meshgrid(0.1 * np.arange(rows), 0.1 * np.arange(columns), indexing="ij")
    u = u + 0.02 * np.sin(3 * v)
    return 3.1 + u * np.cos(angle) - v * np.sin(angle), 51.7 + u * np.sin(angle) + v * np.cos(angle)


def brute_force(cells: CurvilinearCells, box: Bbox) -> set[tuple[int, int]]:
    """Every cell with corners, tested on its own at every turn: no tree, no envelopes, no shortcut."""
    x0, y0, x1, y1 = box
    row, column = (part.ravel() for part in np.indices(cells.longitude.shape))
    x, y = cells.corners(row, column)
    there = np.isfinite(x).all(axis=1) & np.isfinite(y).all(axis=1)
    row, column = row[there], column[there]
    quads = shapely.polygons(np.stack([x[there], y[there]], axis=-1))
    quads = np.where(shapely.is_valid(quads), quads, shapely.convex_hull(quads))
    hit = np.zeros(row.size, bool)
    for turn in (-720.0, -360.0, 0.0, 360.0, 720.0) if cells.wraps else (0.0,):
        corners = [(x0 + turn, y0), (x1 + turn, y1)]
        flat = x0 == x1 or y0 == y1
        area = shapely.MultiPoint(corners).convex_hull if flat else shapely.box(*corners[0], *corners[1])
        hit |= shapely.intersects(quads, area)
    return set(zip(row[hit].tolist(), column[hit].tolist(), strict=True))


def found(geometry: GridGeometry, box: Bbox) -> set[tuple[int, int]]:
    selection = geometry.select(box)
    assert bool(selection.empty_reason) == (not selection.mask.any())
    return {(int(selection.rows[r]), int(selection.columns[c])) for r, c in np.argwhere(selection.mask)}


@pytest.mark.rule("P3", "P4")
@settings(deadline=None)
@given(st.integers(2, 12), st.integers(2, 12), st.floats(-3, 3), st.data())
def test_a_rectangle_finds_the_cells_that_brute_force_finds(
    rows: int, columns: int, angle: float, data: st.DataObject
) -> None:
    x, y = turned_grid(rows, columns, angle)
    for _ in range(data.draw(st.integers(0, 3))):  # holes
        row, column = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
        x[row, column] = np.nan
    geometry = GridGeometry(domain(x, y))
    assert geometry.quads is not None
    corners = [np.concatenate([part.ravel(), [3.0, 52.0]]) for part in geometry.quads.corners(*np.indices(x.shape))]
    corners = [part[np.isfinite(part)] for part in corners]
    near_x, near_y = (st.one_of(st.sampled_from(part.tolist()), st.floats(low, low + 3))
                      for part, low in zip(corners, (2.0, 51.0), strict=True))
    a, b, c, d = data.draw(near_x), data.draw(near_y), data.draw(near_x), data.draw(near_y)
    box = (min(a, c), min(b, d), max(a, c), max(b, d))
    assert found(geometry, box) == brute_force(geometry.quads, box)


@pytest.mark.rule("P4")
def test_a_rectangle_that_touches_one_corner_of_the_last_cell_finds_it_and_a_hair_less_does_not() -> None:
    x, y = turned_grid(70, 70, 0.4)
    geometry = GridGeometry(domain(x, y))
    assert geometry.quads is not None
    corner_x, corner_y = (part[0] for part in geometry.quads.corners(np.array([69]), np.array([69])))
    top = int(np.argmax(corner_y))
    at_x, at_y = float(corner_x[top]), float(corner_y[top])
    assert (69, 69) in found(geometry, (at_x, at_y, at_x + 1, at_y + 1))
    assert not geometry.select((at_x, float(np.nextafter(at_y, 99)), at_x + 1, at_y + 1)).rows.size


@pytest.mark.rule("P2")
def test_a_query_tests_few_cells_beyond_its_border(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = turned_grid(400, 400, 0.3)
    geometry = GridGeometry(domain(x, y))
    geometry.select((3.0, 52.0, 3.1, 52.1))
    tested = []
    corners = CurvilinearCells.corners
    monkeypatch.setattr(CurvilinearCells, "corners",
                        lambda self, row, column: tested.append(len(row)) or corners(self, row, column))
    selected = geometry.select((3.5, 52.5, 23.5, 72.5))
    assert selected.mask.sum() > 20_000
    assert sum(tested) < 4_000  # the border only


def test_missing_centres_make_holes_and_their_neighbours_keep_their_size() -> None:
    x, y = turned_grid(6, 6, 0.0)
    x[2:4, 2:4] = np.nan
    y[0, 0] = 9.96921e36  # a fill value
    geometry = GridGeometry(domain(x, y))
    everything = found(geometry, (-180, -90, 180, 90))
    assert everything == {(r, c) for r in range(6) for c in range(6)} - {(2, 2), (2, 3), (3, 2), (3, 3), (0, 0)}
    assert geometry.quads is not None
    corner_x, _ = geometry.quads.corners(np.array([2]), np.array([1]))
    assert float(corner_x.max() - corner_x.min()) == pytest.approx(0.1, rel=0.2)


def test_holes_are_no_cells_of_a_rectangle_without_sides() -> None:
    x, y = turned_grid(30, 30, 0.2)
    x[3:20, 5:25] = np.nan
    metric = GridGeometry(domain(x * 1e5, y * 1e5))
    assert metric.select((-np.inf, -np.inf, np.inf, np.inf)).mask.sum() == 30 * 30 - 17 * 20


def test_a_grid_without_any_coordinate_says_so() -> None:
    nothing = np.full((3, 4), np.nan)
    geometry = GridGeometry(domain(nothing, nothing))
    assert "without any longitude coordinate" in geometry.select((0, 0, 1, 1)).empty_reason
    assert geometry.locate([(0, 0)], nearest=True).tolist() == [[-1, -1]]


@pytest.mark.parametrize("first", [170.0, -190.0, 350.0])
def test_a_grid_across_the_date_line_finds_both_sides(first: float) -> None:
    lon, lat = np.meshgrid(first + np.arange(21.0), np.arange(5.0))
    wrapped = (lon + 180) % 360 - 180
    geometry = GridGeometry(domain(wrapped, lat))
    assert geometry.quads is not None
    corner_x, _ = geometry.quads.corners(*np.indices(lon.shape))
    assert float(np.ptp(corner_x, axis=-1).max()) == pytest.approx(1.0)  # no cell around the globe
    middle = first + 10
    assert found(geometry, (middle - 1.2, 1.0, middle + 1.2, 1.0)) == {(1, c) for c in (9, 10, 11)}
    assert found(geometry, (middle - 361.2, 1.0, middle - 358.8, 1.0)) == {(1, c) for c in (9, 10, 11)}
    assert geometry.locate([(middle, 2.0), (middle - 360, 2.0)]).tolist() == [[2, 10], [2, 10]]


def test_a_rectangle_round_the_globe_finds_every_cell_once() -> None:
    lon, lat = np.meshgrid(np.arange(0.0, 360, 10), np.arange(-80.0, 81, 10))
    geometry = GridGeometry(domain(lon, lat))
    assert geometry.select((-180.0, -90, 180, 90)).mask.all()
    assert len(found(geometry, (-1000, 0, 1000, 0))) == 36


def test_the_cell_around_the_pole_covers_every_longitude() -> None:
    u, v = np.meshgrid(np.arange(-5.0, 6), np.arange(-5.0, 6))
    longitude, latitude = np.degrees(np.arctan2(v, u)), 90 - np.hypot(u, v)
    geometry = GridGeometry(domain(longitude, latitude))
    for at in (-170.0, -1.0, 95.0, 180.0, 355.0):
        assert geometry.locate([(at, 89.99)]).tolist() == [[5, 5]]
        assert (5, 5) in found(geometry, (at, 89.9, at + 1, 90.0))


@pytest.mark.rule("P3")
def test_the_corners_of_the_file_are_the_cells_in_whatever_ring_order() -> None:
    x, y = turned_grid(5, 5, 0.5)
    own = GridGeometry(domain(x, y)).quads
    assert own is not None
    corner_x, corner_y = own.corners(*np.indices(x.shape))
    zigzag = [0, 1, 3, 2]  # not a ring: counts as its hull
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], zigzag):
        from_file = GridGeometry(domain(
            x, y, corner_longitude=corner_x[..., order], corner_latitude=corner_y[..., order]))
        for box in ((3.2, 51.8, 3.3, 52.0), (3.0, 51.0, 3.1, 53.0)):
            assert found(from_file, box) == brute_force(own, box)


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (1, 1)])
def test_a_grid_of_one_row_or_column_has_cells_with_an_area(shape: tuple[int, int]) -> None:
    lon, lat = np.meshgrid(10 + 0.5 * np.arange(shape[1]), 50 + 0.5 * np.arange(shape[0]))
    geometry = GridGeometry(domain(lon, lat))
    rows, columns = shape
    assert found(geometry, (0, 40, 40, 60)) == {(r, c) for r in range(rows) for c in range(columns)}
    assert geometry.locate([(10.1, 50.1), (10.0, 49.9)]).tolist() == [[0, 0], [0, 0]]


def test_a_point_lies_in_its_cell_and_one_outside_has_none_or_the_nearest() -> None:
    x, y = turned_grid(40, 50, 0.7)
    geometry = GridGeometry(domain(x, y))
    for row, column in ((0, 0), (39, 49), (17, 31)):
        point = (float(x[row, column]), float(y[row, column]))
        assert geometry.locate([point]).tolist() == [[row, column]]
    far = (float(x[0, 0]) - 3, float(y[0, 0]) - 3)
    assert geometry.locate([far, (np.nan, 1.0)]).tolist() == [[-1, -1], [-1, -1]]
    assert geometry.locate([far], nearest=True).tolist() == [[0, 0]]


def test_the_empty_reason_names_longitude_and_latitude() -> None:
    x, y = turned_grid(5, 5, 0.0)
    geometry = GridGeometry(domain(x, y))
    assert "lies north of the grid (latitude from 51.65 to" in geometry.select((3.2, 60, 3.3, 61)).empty_reason
    metric = GridGeometry(domain(x * 1e5, y * 1e5))
    assert "lies west of the grid (longitude from" in metric.select((0, 5.2e6, 1, 5.3e6)).empty_reason


def test_centres_of_a_block_are_two_dimensional() -> None:
    x, y = turned_grid(5, 6, 0.3)
    geometry = GridGeometry(domain(x, y))
    lon, lat = geometry.centres(np.array([1, 3]), np.array([0, 2, 5]))
    assert lon.tolist() == x[np.ix_([1, 3], [0, 2, 5])].tolist()
    assert lat.tolist() == y[np.ix_([1, 3], [0, 2, 5])].tolist()


def test_a_curvilinear_grid_without_coordinates_is_refused() -> None:
    with pytest.raises(UsageError, match="longitude and latitude of every cell"):
        GridGeometry(GridDomain("curvilinear", np.arange(3), np.arange(3))).select((0, 0, 1, 1))


@pytest.mark.rule("P3")
def test_a_real_ocean_grid_gives_what_brute_force_gives(shared_data: Path) -> None:
    import netCDF4

    with netCDF4.Dataset(shared_data / "grid" / "nemo_1m_20150101-20150201_grid-T.nc") as file:
        longitude, latitude = (np.ma.filled(file[name][:].astype(np.float64), np.nan)
                               for name in ("nav_lon", "nav_lat"))
    geometry = GridGeometry(domain(longitude, latitude))
    assert geometry.quads is not None
    for box in ((-30.0, 20.0, 10.0, 60.0), (170.0, -10.0, 190.0, 10.0), (-180.0, 80.0, 180.0, 90.0)):
        assert found(geometry, box) == brute_force(geometry.quads, box)
