"""Elements of meshes to pixels: each pixel against shapely, no hole, no pixel twice, the same bytes by both kernels."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import shapely

from mdstudio.engine.codecs import _numpy
from mdstudio.engine.model import Array
from tests.engine.made_datasets import mesh

_native: Any = pytest.importorskip("mdstudio.engine.codecs._native")
ROWS, COLUMNS = 57, 83


def drawn(kernels: Any, x: Array, y: Array, elements: Array, place: tuple[float, float, float, float],
          rows: int = ROWS, columns: int = COLUMNS) -> Array:
    into = np.full((rows, columns), 99, np.int32)
    kernels.raster_elements(np.ascontiguousarray(x, np.float64), np.ascontiguousarray(y, np.float64),
                            np.ascontiguousarray(elements, np.int32), elements.shape[1], *place, rows, columns, into)
    return into


def both(*args: Any, **more: Any) -> Array:
    """What both kernels draw, the same bytes."""
    native = drawn(_native, *args, **more)
    assert native.tobytes() == drawn(_numpy, *args, **more).tobytes()
    return native


def held(x: Array, y: Array, elements: Array, place: tuple[float, float, float, float]) -> Array:
    """(rows, columns) the smallest element whose polygon has the pixel's centre inside, -1 for none, -2 for a centre on
    a side or next to it."""
    x0, y0, dx, dy = place
    px, py = (part.ravel() for part in np.meshgrid(x0 + np.arange(COLUMNS) * dx, y0 + np.arange(ROWS) * dy))
    points = shapely.points(px, py)
    found = np.full(px.size, -1)
    for number in range(len(elements) - 1, -1, -1):
        corners = elements[number][elements[number] >= 0]
        ring = np.stack([x[corners], y[corners]], axis=1)
        found[shapely.contains_xy(shapely.Polygon(ring), px, py)] = number
        found[shapely.distance(shapely.LinearRing(ring), points) < 1e-9] = -2
    return found.reshape(ROWS, COLUMNS)


@pytest.mark.parametrize("place", [(-1.03, 10.7, 0.13, -0.19), (2.01, 2.03, 0.037, 0.029), (-30.0, 50.0, 1.0, -1.0)])
def test_triangles_and_quads_hold_the_pixels_whose_centre_is_in_them(place):
    domain = mesh(10, 9)
    x, y, elements = domain.node_x, domain.node_y, domain.element_nodes
    ids, wanted = both(x, y, elements, place), held(x, y, elements, place)
    sure = wanted > -2
    assert sure.mean() > 0.9
    assert np.array_equal(ids[sure], wanted[sure])


def test_polygons_of_many_corners_hollow_ones_too():
    star = [(np.cos(a) * r, np.sin(a) * r) for a, r in zip(np.arange(14) * np.pi / 7, [5, 2] * 7, strict=True)]
    comb = [(6, 0), (16, 0), (16, 6), (14, 6), (14, 1), (12, 1), (12, 6), (10, 6), (10, 1), (8, 1), (8, 6), (6, 6)]
    x, y = np.array(star + comb).T
    elements = np.full((2, 14), -1, np.int32)
    elements[0], elements[1, :12] = np.arange(14), np.arange(14, 26)
    place = (-6.013, 7.017, 0.281, -0.231)
    ids, wanted = both(x, y, elements, place), held(x, y, elements, place)
    assert set(np.unique(ids)) == {-1, 0, 1}
    assert np.array_equal(ids[wanted > -2], wanted[wanted > -2])


@pytest.mark.parametrize("turned", [0.0, 0.3, 0.7853981633974483])
def test_a_mesh_without_holes_is_drawn_without_holes_and_each_element_alone_draws_its_own_pixels(turned):
    """Corners and sides lie on the centres of pixels: each pixel belongs to exactly one of the elements that meet."""
    at = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2) * 4
    x, y = at[:, 0] * np.cos(turned) - at[:, 1] * np.sin(turned), at[:, 0] * np.sin(turned) + at[:, 1] * np.cos(turned)
    a = (np.arange(8)[:, None] * 9 + np.arange(8)).ravel()
    elements = np.concatenate([np.stack([a, a + 1, a + 10], 1), np.stack([a, a + 10, a + 9], 1)])
    place = (-25.0, 50.0, 1.0, -1.0)
    whole = both(x, y, elements, place)
    times = np.zeros(whole.shape, int)
    for number in range(len(elements)):
        times += drawn(_native, x, y, elements[number:number + 1], place) == 0
    assert times.max() == 1
    assert np.array_equal(times == 1, whole >= 0)
    outline = shapely.Polygon(np.stack([x, y], axis=1)[[0, 8, 80, 72]]).buffer(-1e-6)
    px, py = np.meshgrid(-25.0 + np.arange(COLUMNS), 50.0 - np.arange(ROWS))
    assert (whole[shapely.contains_xy(outline, px.ravel(), py.ravel()).reshape(px.shape)] >= 0).all()


def test_of_elements_over_one_another_the_smallest_number_is_drawn():
    x, y = np.array([0.0, 8, 8, 0, 2, 6, 6, 2]), np.array([0.0, 0, 8, 8, 2, 2, 6, 6])
    ids = both(x, y, np.array([[4, 5, 6, 7], [0, 1, 2, 3]]), (0.5, 0.5, 1.0, 1.0), rows=8, columns=8)
    assert np.count_nonzero(ids == 0) == 16
    assert np.count_nonzero(ids == 1) == 48


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200, -1.7e308, 5e-324])
def test_corners_without_a_place_are_not_drawn_and_far_ones_are(bad):
    x, y = np.array([0.0, 20, 20, bad, 1e149]), np.array([0.0, 0, 20, 10, -1e149])
    for place in ((-3.0, 25.0, 0.5, -0.5), (-1e150, 1e150, 1e148, -1e148), (0.0, 0.0, 1e-300, 1e-300)):
        for elements in ([[0, 1, 2], [0, 2, 3]], [[0, 1, 4], [0, 4, 3]]):
            ids = both(x, y, np.array(elements), place)
            assert (ids < 1).all() or bad == 5e-324


def test_random_polygons_of_all_kinds_are_the_same_in_both_kernels():
    random = np.random.default_rng(5)
    for _ in range(60):
        corners, count = int(random.integers(3, 9)), int(random.integers(1, 40))
        scale = 10.0 ** random.integers(-3, 8)
        x, y = random.normal(0, scale, (2, 50))
        elements = random.integers(-1, 50, (count, corners)).astype(np.int32)
        ends = random.normal(0, scale, 2), random.uniform(0.001, 0.1, 2) * scale
        place = float(ends[0][0]), float(ends[0][1]), float(ends[1][0]), float(ends[1][1] * random.choice([-1, 1]))
        both(x, y, elements, place)
        both(np.round(x), np.round(y), elements, (np.round(place[0]), np.round(place[1]), 1.0, -1.0))


@pytest.mark.parametrize("kernels", [_native, _numpy])
def test_what_does_not_fit_is_refused(kernels: ModuleType):
    x = y = np.arange(4.0)
    good = [x, y, np.array([0, 1, 2], np.int32), 3, 0.0, 0.0, 1.0, -1.0, 5, 6, np.empty((5, 6), np.int32)]
    for at, bad in ((0, x[:3]), (2, np.array([0, 1, 4], np.int32)), (2, np.array([0, 1], np.int32)), (3, 2),
                    (4, np.nan), (6, 0.0), (6, -1.0), (7, 0.0), (7, np.inf), (6, 1e-320), (8, 0), (9, 7),
                    (10, good[10][:4])):
        with pytest.raises(ValueError, match=r"range|place|long|node"):
            kernels.raster_elements(*good[:at], bad, *good[at + 1:])
    kernels.raster_elements(*good)
