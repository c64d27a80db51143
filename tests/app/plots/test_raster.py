"""North up, west left, whatever the order in the file; each pixel shows the cell it lies in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdstudio.app.plots.cells import axis_cells
from mdstudio.app.plots.raster import grid_raster
from mdstudio.engine.model import GridDomain
from mdstudio.engine.spatial.axis import cell_axis
from mdstudio.engine.spatial.grid import GridGeometry
from tests.app.plots.fields import CORNERS, corner_marked, curvilinear, regular, turned_grid

X, Y = np.arange(2.0, 9.0), np.arange(40.0, 45.0)


@pytest.mark.rule("G5")
@pytest.mark.parametrize("x", [X, X[::-1]], ids=["eastward", "westward"])
@pytest.mark.parametrize("y", [Y, Y[::-1]], ids=["northward", "southward"])
def test_corners_of_the_picture_are_the_corners_of_the_earth(x, y):
    domain = regular(x, y)
    picture = grid_raster(GridGeometry(domain)).spread(corner_marked(domain), np.nan)
    assert picture.shape == (5, 7)
    assert picture[0, 0] == CORNERS["north-west"]
    assert picture[0, -1] == CORNERS["north-east"]
    assert picture[-1, 0] == CORNERS["south-west"]
    assert picture[-1, -1] == CORNERS["south-east"]
    assert np.count_nonzero(picture) == 4


@pytest.mark.rule("G5")
@pytest.mark.parametrize("y", [Y, Y[::-1]], ids=["northward", "southward"])
def test_a_cell_is_found_where_its_centre_is(y):
    raster = grid_raster(GridGeometry(regular(X, y)))
    for row, north in enumerate(y):
        for column, east in enumerate(X):
            assert raster.cell_at(east, north) == (row, column)
            assert raster.cell_centre(row, column) == pytest.approx((east, north))
    assert raster.cell_at(1.4, 42.0) is None
    assert raster.cell_at(5.0, 44.6) is None


def test_an_uneven_axis_is_drawn_by_the_width_of_its_cells():
    x = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0])
    raster = grid_raster(GridGeometry(regular(x, Y)))
    edges = GridGeometry(regular(x, Y)).edges()[0]
    shares = np.bincount(raster.columns, minlength=6) / raster.columns.size
    assert shares == pytest.approx(np.diff(edges) / (edges[-1] - edges[0]), abs=2 / raster.columns.size)
    assert raster.rows.size == 5  # the even axis is taken cell by cell


def test_a_longitude_that_crosses_its_wrap_is_drawn_in_one_piece():
    raster = grid_raster(GridGeometry(regular(np.array([358.0, 359.0, 0.0, 1.0]), Y)))
    assert raster.extent[2] - raster.extent[0] == pytest.approx(4.0)
    assert raster.cell_at(359.0, 42.0) == (2, 1)
    assert raster.cell_at(1.0, 42.0) == (2, 3)
    assert raster.cell_at(-2.0, 42.0) == (2, 0)


def test_a_place_given_west_is_found_on_a_grid_of_0_to_360():
    x = np.arange(0.5, 360.0)
    raster = grid_raster(GridGeometry(regular(x, Y)))
    assert raster.cell_at(-9.5, 42.0) == (2, 350)
    assert raster.turned(-9.5) == 350.5


@given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.booleans(), st.integers(-200, 800))
@settings(max_examples=80, deadline=None)
def test_the_pointer_finds_the_cell_that_a_query_finds(steps, descending, place):
    centres = np.cumsum(np.array(steps, np.float64))
    centres = centres[::-1] if descending else centres
    axis = cell_axis(centres, None, False, 1.0)
    points = np.append(axis.edges(), place / 4)  # on every edge, and anywhere
    cells = axis_cells(axis.edges())
    assert [cells.find(point) for point in points] == axis.locate(points, False).tolist()


def test_coordinates_that_cannot_be_drawn_become_cell_numbers():
    axis = axis_cells(np.array([0.0, 2.0, 1.0, 3.0]))
    assert axis.index
    assert axis.edges.tolist() == [-0.5, 0.5, 1.5, 2.5]


@pytest.mark.rule("G5")
def test_a_curvilinear_grid_shows_the_cell_that_a_query_finds():
    geometry = GridGeometry(turned_grid())
    raster = grid_raster(geometry)
    rng = np.random.default_rng(1)
    x0, y0, x1, y1 = raster.extent
    places = np.column_stack([rng.uniform(x0, x1, 2000), rng.uniform(y0, y1, 2000)])
    wanted = geometry.locate(places)
    assert [raster.cell_at(x, y) or (-1, -1) for x, y in places] == [tuple(cell) for cell in wanted.tolist()]
    numbers = np.array([raster.cells_at(place[:1], place[1:])[0, 0] for place in places])
    drawn = np.where(numbers[:, None] >= 0, np.stack(np.divmod(numbers, 40), axis=1), -1)
    assert np.mean((drawn == wanted).all(axis=1)) > 0.9  # a pixel at the border of cells shows one of them
    far = (drawn != wanted).any(axis=1) & (drawn[:, 0] >= 0) & (wanted[:, 0] >= 0)
    assert np.abs(drawn[far] - wanted[far]).max() <= 1


def test_every_curvilinear_cell_is_found_at_its_centre_and_none_has_a_hole():
    domain = turned_grid()
    raster = grid_raster(GridGeometry(domain))
    for row in range(domain.rows):
        for column in range(domain.columns):
            assert raster.cell_at(domain.longitude[row, column], domain.latitude[row, column]) == (row, column)
    inside = np.pad(raster.ids >= 0, 1)
    lonely = ~inside[1:-1, 1:-1] & inside[:-2, 1:-1] & inside[2:, 1:-1] & inside[1:-1, :-2] & inside[1:-1, 2:]
    assert not lonely.any()


def test_a_curvilinear_grid_across_the_date_line_stays_together():
    lon, lat = np.meshgrid(np.linspace(175, 185, 21), np.linspace(-5, 5, 11))
    raster = grid_raster(GridGeometry(curvilinear((lon + 180) % 360 - 180, lat)))
    assert raster.extent[2] - raster.extent[0] == pytest.approx(10.5, abs=0.1)
    assert raster.cell_at(179.5, 0.0) == (5, 9)
    assert raster.cell_at(-179.5, 0.0) == (5, 11)


def test_cells_without_coordinates_are_left_out():
    domain = turned_grid()
    domain.longitude[10:, :] = np.nan
    raster = grid_raster(GridGeometry(domain))
    assert raster.ids.max() < 10 * domain.columns
    nowhere = grid_raster(GridGeometry(curvilinear(np.full((3, 3), np.nan), np.full((3, 3), np.nan))))
    assert (nowhere.ids == -1).all()


def test_screen_lookup_agrees_with_the_single_one():
    domain = regular(X, Y[::-1])
    raster = grid_raster(GridGeometry(domain))
    x0, y0, x1, y1 = raster.extent
    xs, ys = np.linspace(x0 - 1.03, x1 + 1.01, 37), np.linspace(y1 + 1.02, y0 - 1.07, 29)
    numbers = raster.cells_at(xs, ys)
    for i, y in enumerate(ys):
        for j, x in enumerate(xs):
            cell = raster.cell_at(x, y) if x0 <= x <= x1 else None
            assert numbers[i, j] == (-1 if cell is None else cell[0] * domain.columns + cell[1])


def test_projected_and_rotated_grids_stay_in_their_own_coordinates():
    x, y = np.arange(245_500.0, 250_000, 1000), np.arange(379_500.0, 370_000, -1000)
    raster = grid_raster(GridGeometry(GridDomain("projected", x, y, x_unit="m")))
    assert raster.extent == (245_000.0, float(y[-1] - 500), 250_000.0, 380_000.0)
    assert not raster.wraps
