"""Elements of meshes against rectangles, polygons and points, compared with each tested on its own (P3, P4)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from mdstudio.engine.model import Array
from mdstudio.engine.spatial.mesh_geometry import MeshGeometry, MeshSelection
from mdstudio.engine.spatial.mesh_index import index_mesh
from tests.engine.spatial.brute_force import Point, areas, exactly_met, met, rectangle, snapped, wkt
from tests.engine.spatial.made_meshes import Source, lattice, meshes


def geometry_of(source: Source, geographic: bool = False) -> MeshGeometry:
    return MeshGeometry(index_mesh(source.x, source.y, source.corners, geographic=geographic))


def numbers(geometry: MeshGeometry, selection: MeshSelection) -> set[int]:
    """The source's numbers of the elements found."""
    assert selection.elements.dtype == np.int64
    assert (np.diff(selection.elements) > 0).all()
    assert bool(selection.empty_reason) == (not selection.elements.size)
    return set(geometry.domain.element_number[selection.elements].tolist())


def near(source: Source) -> st.SearchStrategy[Point]:
    """Corners of the mesh, places beside them, middles of its sides, and others."""
    at = list(zip(source.x.tolist(), source.y.tolist(), strict=True))
    snap = st.tuples(snapped(source.x.tolist(), 0.5), snapped(source.y.tolist(), 0.5))
    return st.one_of(st.sampled_from(at), snap)


@pytest.mark.rule("P3", "P4")
@settings(deadline=None)
@given(meshes(), st.data())
def test_a_polygon_finds_the_elements_that_brute_force_finds(source: Source, data: st.DataObject) -> None:
    geometry = geometry_of(source)
    area = data.draw(areas(near(source)))
    result = numbers(geometry, geometry.select(polygon=wkt(area)))
    assert result == met(source.rings(), area)
    assert result == exactly_met(source.rings(), area)


@pytest.mark.rule("P3", "P4")
@settings(deadline=None)
@given(meshes(), st.data())
def test_a_rectangle_finds_the_elements_that_brute_force_finds(source: Source, data: st.DataObject) -> None:
    geometry = geometry_of(source)
    (x0, y0), (x1, y1) = data.draw(near(source)), data.draw(near(source))
    assert numbers(geometry, geometry.select((x0, y0, x1, y1))) == met(source.rings(), rectangle(x0, y0, x1, y1))


def wrapped(source: Source, middle: float) -> Source:
    """The mesh around a longitude, each node in -180 .. 180, in quarters of a degree."""
    return Source((np.round((source.x + middle - 0.75) * 4) / 4 + 180) % 360 - 180, np.round(source.y * 4) / 4,
                  source.corners)


@pytest.mark.rule("P3")
@settings(deadline=None)
@given(meshes(exact=True), st.sampled_from([0.0, 180.0, 90.0]), st.sampled_from([-720.0, 0.0, 360.0]), st.data())
def test_longitudes_meet_at_every_whole_turn(source: Source, middle: float, turn: float, data: st.DataObject) -> None:
    turned = wrapped(source, middle)
    geometry = geometry_of(turned, geographic=True)
    rings = {number: [(turned_x(x, ring[0][0]), y) for x, y in ring] for number, ring in turned.rings().items()}
    eighths = st.integers(-12, 24).map(lambda k: k / 8)
    corners = st.tuples(eighths.map(lambda x: x + middle + turn), eighths)
    area = data.draw(areas(corners))
    area = shapely.transform(area, lambda c: np.round(c * 8) / 8)
    if all(part.is_valid and part.area for part in getattr(area, "geoms", [area])):
        assert numbers(geometry, geometry.select(polygon=wkt(area))) == met(rings, area, wraps=True)
    (x0, y0), (x1, y1) = data.draw(corners), data.draw(corners)
    assert numbers(geometry, geometry.select((x0, y0, x1, y1))) == met(rings, rectangle(x0, y0, x1, y1), wraps=True)
    points = data.draw(st.lists(corners, min_size=1, max_size=4))
    for (x, y), element in zip(points, geometry.locate(points).tolist(), strict=True):
        holding = geometry.select((x, y, x, y)).elements.tolist()
        assert element == min(holding, default=-1)


def turned_x(x: float, first: float) -> float:
    return x - 360 if x - first > 180 else x + 360 if x - first < -180 else x


@pytest.mark.parametrize("box", [(170.0, 0.0, 190.0, 1.0), (-190.0, 0.0, -170.0, 1.0), (190.0, 1.0, 170.0, 0.0)])
def test_a_rectangle_across_the_date_line_finds_both_sides_of_a_mesh_around_the_globe(box: Any) -> None:
    source = lattice(3, 360, 1.0)
    source = Source(source.x - 180, source.y, source.corners)
    geometry = geometry_of(source, geographic=True)
    x, _ = geometry.centres(geometry.select(box).elements)
    assert ((np.abs(x) > 169) & (np.abs(x) < 180)).all()
    assert (x > 0).any()
    assert (x < 0).any()


@pytest.mark.rule("P3", "P4")
@settings(deadline=None)
@given(meshes(), st.data())
def test_a_point_lies_in_the_first_element_that_holds_it_or_nearest_to_the_closest_centre(
    source: Source, data: st.DataObject
) -> None:
    geometry = geometry_of(source)
    points = data.draw(st.lists(near(source), min_size=1, max_size=5))
    inside, closest = geometry.locate(points), geometry.locate(points, nearest=True)
    centre_x, centre_y = geometry.centres(np.arange(geometry.domain.elements))
    for at, element, other in zip(points, inside.tolist(), closest.tolist(), strict=True):
        held = met(source.rings(), shapely.Point(at))
        stored = [k for k, number in enumerate(geometry.domain.element_number.tolist()) if number in held]
        assert element == min(stored, default=-1)
        apart = (centre_x - at[0]) ** 2 + (centre_y - at[1]) ** 2
        assert other == (element if held else int(np.argmin(apart)))


@settings(deadline=None)
@given(meshes(), st.lists(st.tuples(st.floats(-1, 4), st.floats(-1, 4)), min_size=1, max_size=5), st.booleans())
def test_the_nearest_node_is_the_closest_corner_of_the_element(
    source: Source, points: list[Point], geographic: bool
) -> None:
    geometry = geometry_of(source, geographic)
    elements = geometry.locate(points, nearest=True)
    for (x, y), element, node in zip(points, elements.tolist(), geometry.nearest_node(elements, points).tolist(),
                                     strict=True):
        corners = [k for k in geometry.domain.element_nodes[element].tolist() if k >= 0]
        at_x, at_y = geometry.node_positions(np.array(corners))
        apart = np.hypot((at_x - x) * (np.cos(np.radians(y)) if geographic else 1), at_y - y)
        assert node in corners
        assert apart[corners.index(node)] <= apart.min() * 1.001 + 1e-9
    assert geometry.nearest_node(np.array([-1]), [(0.0, 0.0)]).tolist() == [-1]


@settings(deadline=None)
@given(meshes(), st.data())
def test_the_nodes_of_elements_are_their_corners_each_once(source: Source, data: st.DataObject) -> None:
    geometry = geometry_of(source)
    some = data.draw(st.lists(st.integers(0, geometry.domain.elements - 1)))
    corners = {int(node) for element in some for node in geometry.domain.element_nodes[element] if node >= 0}
    assert geometry.nodes_of(np.array(some, np.int64)).tolist() == sorted(corners)


def test_centres_are_the_means_of_the_corners_on_either_side_of_the_date_line() -> None:
    x, y = np.array([179.0, -179.0, -179.0, 179.0, 170.0]), np.array([0.0, 0.0, 2.0, 2.0, 1.0])
    geometry = geometry_of(Source(x, y, np.array([[0, 1, 2, 3], [0, 3, 4, -1]])), geographic=True)
    order = geometry.domain.element_number
    centre_x, centre_y = geometry.centres(np.argsort(order))
    assert centre_x.tolist() == [180.0, 176.0]
    assert centre_y.tolist() == [1.0, 1.0]


def test_points_without_a_number_are_outside() -> None:
    geometry = geometry_of(lattice(2, 2, 1.0))
    points = [(np.nan, 0.0), (0.0, np.inf), (0.5, np.nan), (99.0, 99.0)]
    assert geometry.locate(points).tolist() == [-1, -1, -1, -1]
    assert geometry.locate(points, nearest=True)[:3].tolist() == [-1, -1, -1]
    assert geometry.locate([], nearest=True).tolist() == []


def test_points_far_apart_on_a_longitude_cost_no_more_turns() -> None:
    geometry = geometry_of(lattice(2, 2, 1.0), geographic=True)
    assert geometry.locate([(0.5, 0.5), (360.5e6, 0.5), (3e300, 0.5)])[0] >= 0


@pytest.mark.rule("P3")
@pytest.mark.parametrize(("box", "words"), [
    ((-9.0, 1.0, -3.0, 2.0), "The rectangle -9, 1 .. -3, 2 lies west of the mesh (x from 0 to 2)."),
    ((1.0, 5.0, 2.0, 6.0), "lies north of the mesh (y from 0 to 2)"),
])
def test_an_empty_result_says_on_which_side_the_area_lies(box: Any, words: str) -> None:
    geometry = geometry_of(lattice(2, 2, 1.0))
    assert words in geometry.select(box).empty_reason
    assert words.split("lies")[1] in geometry.select(polygon=wkt(rectangle(*box))).empty_reason


def test_an_area_in_a_gap_of_the_mesh_touches_nothing() -> None:
    source = lattice(4, 4, 1.0)
    middle = [k for k, ring in source.rings().items() if all(1 <= x <= 3 and 1 <= y <= 3 for x, y in ring)]
    geometry = geometry_of(Source(source.x, source.y, np.delete(source.corners, middle, axis=0)))
    assert "touches none of its elements" in geometry.select((1.5, 1.5, 2.5, 2.5)).empty_reason
    assert geometry.locate([(2.0, 2.0)]).tolist() == [-1]
    assert geometry.select((1.0, 1.5, 2.5, 2.5)).elements.size


def test_everything_is_found_without_an_area_and_by_one_open_on_all_sides() -> None:
    geometry = geometry_of(lattice(5, 5, 0.1))
    every = list(range(geometry.domain.elements))
    assert geometry.select().elements.tolist() == every
    assert geometry.select((-np.inf, -np.inf, np.inf, np.inf)).elements.tolist() == every


def test_the_triangle_around_a_pole_covers_every_longitude() -> None:
    source = Source(np.array([0.0, 120.0, -120.0, 60.0]), np.array([80.0, 80.0, 80.0, 60.0]),
                    np.array([[0, 1, 2], [0, 3, 1]]))
    geometry = geometry_of(source, geographic=True)
    cap = int(np.flatnonzero(geometry.domain.element_number == 0)[0])
    for x in (-179.0, -100.0, 5.0, 179.0, 355.0):
        assert geometry.locate([(x, 89.0)]).tolist() == [cap]
        assert cap in geometry.select((x, 88.0, x + 1, 90.0)).elements


def test_a_ring_that_crosses_itself_counts_as_its_hull_and_one_without_area_as_its_line() -> None:
    x, y = np.array([0.0, 1.0, 1.0, 0.0, 5.0]), np.array([0.0, 1.0, 0.0, 1.0, 0.0])
    geometry = geometry_of(Source(x, y, np.array([[0, 1, 2, 3], [2, 4, 4, -1]])))
    bow, line = np.argsort(geometry.domain.element_number).tolist()
    assert geometry.locate([(0.5, 0.05), (3.0, 0.0), (3.0, 0.1)]).tolist() == [bow, line, -1]
    assert geometry.select(polygon="POLYGON ((2 -1, 3 -1, 3 0, 2 -1))").elements.tolist() == [line]


def big_mesh() -> MeshGeometry:
    source = lattice(200, 200, 0.1)
    order = np.random.default_rng(0).permutation(len(source.corners))
    return geometry_of(Source(source.x, source.y, source.corners[order]))


@pytest.mark.rule("P3")
def test_an_area_tests_the_elements_at_its_border_alone_and_a_multi_polygon_takes_no_run_whole() -> None:
    geometry = big_mesh()
    angle = np.linspace(0, 2 * np.pi, 60)
    disc = shapely.Polygon(np.stack([10 + 7 * np.cos(angle), 10 + 7 * np.sin(angle)], axis=-1))
    polygon = geometry.select(polygon=wkt(disc))
    box = geometry.select((3.05, 3.05, 17.05, 17.05))
    assert polygon.elements.size > 20_000 < box.elements.size
    assert polygon.tested < 4_000 > box.tested
    multi = geometry.select(polygon=wkt(shapely.MultiPolygon([disc, disc])))
    assert multi.elements.tolist() == polygon.elements.tolist()
    assert multi.elements.size <= multi.tested < multi.elements.size + 3_000


@pytest.mark.rule("P4")
def test_an_area_that_only_touches_the_last_element_of_a_run_finds_it_and_a_hair_less_does_not() -> None:
    geometry = big_mesh()
    for element in (1023, 2047, 4095, geometry.domain.elements - 1):
        x, y = (part[0] for part in geometry.corners(np.array([element])))
        for at_x, at_y in zip(x.tolist(), y.tolist(), strict=True):
            assert element in geometry.select((at_x, at_y, at_x, at_y)).elements
    x, y = (part.max() for part in (geometry.domain.node_x, geometry.domain.node_y))
    touching = [(x, y), (x + 1, y), (x + 1, y + 1)]
    assert geometry.select(polygon=wkt(shapely.Polygon(touching))).elements.size in (1, 2)
    apart = [(np.nextafter(x, 99), y), (x + 1, y), (x + 1, y + 1)]
    assert not geometry.select(polygon=wkt(shapely.Polygon(apart))).elements.size


def test_queries_of_half_a_million_elements_are_quick() -> None:
    geometry = geometry_of(lattice(300, 1000, 0.1))
    points: Array = np.random.default_rng(0).uniform(0, 30, (2000, 2))
    begin = time.perf_counter()
    assert (geometry.locate(points) >= 0).all()
    assert geometry.select((10, 10, 20, 20)).elements.size > 10_000
    assert (geometry.locate(points - 40, nearest=True) >= 0).all()
    assert time.perf_counter() - begin < 20  # under one on a quiet machine
