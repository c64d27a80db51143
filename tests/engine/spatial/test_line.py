"""Lines across the wrap of longitudes: the cell at many places of a line, by arithmetic or shapely over every cell."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from mdstudio.engine.model import Array, GridDomain, MeshDomain
from mdstudio.engine.spatial.grid import GridGeometry
from mdstudio.engine.spatial.line import EARTH, Stretches, grid_stretches, mesh_stretches
from mdstudio.engine.spatial.mesh_geometry import MeshGeometry

Line = list[tuple[float, float]]
CellAt = Callable[[float, float], tuple[int, ...] | None]
SHARES = (np.arange(40) + 0.5) / 40
FINE = 50  # pieces of a degree, each taken as a great circle


def places_along(line: Line) -> tuple[Array, Array, Array, float]:
    """Distances in metres of some places on a line, as it is drawn in longitude and latitude; x, y; its length."""
    distances, places, start = [], [], 0.0
    for a, b in pairwise(np.asarray(line, float)):
        count = FINE * (1 + int(np.abs(b - a).max()))
        path = np.radians(a + np.linspace(0, 1, count + 1)[:, None] * (b - a))
        step, middle = np.diff(path, axis=0), (path[1:, 1] + path[:-1, 1]) / 2
        ends = np.concatenate([[0.0], np.cumsum(EARTH * np.hypot(step[:, 0] * np.cos(middle), step[:, 1]))])
        distances.append(start + np.interp(SHARES * count, np.arange(count + 1), ends))
        places.append(a + SHARES[:, None] * (b - a))
        start += float(ends[-1])
    x, y = np.concatenate(places).T
    return np.concatenate(distances), x, y, start


def check(found: Stretches, line: Line, cell_at: CellAt) -> None:
    """The stretch at each place is of the cell there; `cell_at` gives None too near to a side to tell."""
    distances, x, y, length = places_along(line)
    assert np.isclose(found.edges[-1], length, rtol=1e-4)
    for at, place in zip(distances * found.edges[-1] / length, zip(x.tolist(), y.tolist(), strict=True), strict=True):
        expected = cell_at(*place)
        if expected is not None and np.abs(found.edges - at).min() > 2e-4 * length:
            stretch = int(np.searchsorted(found.edges, at)) - 1
            assert tuple(found.cells[stretch].tolist()) == expected, place


@pytest.mark.rule("P3")
@settings(max_examples=60, deadline=None)
@given(st.sampled_from([0.0, -180.0, 170.0, 5.0]), st.sampled_from([10.0, 30.0, 2.5]), st.booleans(), st.booleans(),
       st.booleans(), st.lists(st.tuples(st.integers(-400, 400), st.integers(-85, 85)), min_size=2, max_size=4,
                               unique_by=lambda corner: corner[0]))
def test_a_line_at_any_turn_crosses_the_columns_that_arithmetic_finds(
        first: float, step: float, half: bool, folded: bool, falling: bool, line: Line) -> None:
    x = first + np.arange(0, 180 if half else 360, step)
    x = (x + 180) % 360 - 180 if folded else x
    y = np.arange(-80.0, 81, 20)[::-1 if falling else 1]

    def cell_at(px: float, py: float) -> tuple[int, ...] | None:
        apart = np.abs((px - x + 180) % 360 - 180) - step / 2
        above = np.abs(py - y) - 10
        if min(np.abs(apart).min(), np.abs(above).min()) < 1e-7:
            return None
        columns, rows = np.flatnonzero(apart < 0), np.flatnonzero(above < 0)
        return (int(rows[0]), int(columns[0])) if columns.size and rows.size else (-1, -1)

    check(grid_stretches(GridGeometry(GridDomain("regular", x, y)), line), line, cell_at)


@pytest.mark.rule("P3")
@settings(max_examples=40, deadline=None)
@given(st.sampled_from([0.0, 175.0, -175.0, 360.0]), st.sampled_from([-180.0, 0.0]), st.sampled_from([-360, 0, 360]),
       st.booleans(), st.integers(0, 50),
       st.lists(st.tuples(st.integers(-12, 12), st.integers(-12, 12)), min_size=2, max_size=4, unique=True))
def test_a_line_across_the_date_line_crosses_the_quadrilaterals_that_brute_force_finds(
        middle: float, low: float, turn: int, as_mesh: bool, seed: int, corners: Line) -> None:
    """A warped block of quadrilaterals, as a mesh and as a curvilinear grid with corners, its longitudes from -180 or
    from 0, the line at another turn."""
    random = np.random.default_rng(seed)
    rows, columns, angle = 4, 5, random.uniform(-1, 1)
    across, along = np.meshgrid(np.arange(columns + 1) - 2.5, np.arange(rows + 1) - 2.0)
    x = middle + 3 * (across * np.cos(angle) - along * np.sin(angle)) + random.uniform(-0.3, 0.3, across.shape)
    y = 3 * (across * np.sin(angle) + along * np.cos(angle)) + random.uniform(-0.3, 0.3, across.shape)
    corner = np.arange(x.size).reshape(x.shape)
    rings = np.stack([corner[:-1, :-1], corner[:-1, 1:], corner[1:, 1:], corner[1:, :-1]], axis=-1)
    folded, cells = (x - low) % 360 + low, rings.reshape(-1, 4)
    shapes = shapely.polygons(np.stack([x.ravel()[cells], y.ravel()[cells]], axis=-1))

    def cell_at(px: float, py: float) -> tuple[int, ...] | None:
        point = shapely.Point(px - turn, py)
        if shapely.distance(shapely.boundary(shapes), point).min() < 1e-6:
            return None
        inside = np.flatnonzero(shapely.contains(shapes, point))
        if as_mesh:
            return (int(inside[0]),) if inside.size else (-1,)
        return (int(inside[0]) // columns, int(inside[0]) % columns) if inside.size else (-1, -1)

    line = [(middle + turn + px, float(py)) for px, py in corners]
    if as_mesh:
        mesh = MeshDomain(folded.ravel(), y.ravel(), cells.astype(np.int32), np.arange(len(cells), dtype=np.int32),
                          np.arange(x.size, dtype=np.int32), geographic=True)
        check(mesh_stretches(MeshGeometry(mesh), line), line, cell_at)
    else:
        grid = GridDomain("curvilinear", np.arange(columns), np.arange(rows),
                          longitude=(x.ravel()[rings].mean(axis=-1) - low) % 360 + low,
                          latitude=y.ravel()[rings].mean(axis=-1),
                          corner_longitude=folded.ravel()[rings], corner_latitude=y.ravel()[rings])
        check(grid_stretches(GridGeometry(grid), line), line, cell_at)
