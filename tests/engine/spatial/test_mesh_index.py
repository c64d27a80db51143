"""The stored order of a mesh: permutations, the curve, the pages of the spatial index, what is refused."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Array, MeshDomain
from mdstudio.engine.spatial.mesh_index import MESH_INDEX_PAGE, hilbert, index_mesh, index_pages, zlevel_paged_nodes
from tests.engine.spatial.made_meshes import Source, lattice, meshes


def indexed(source: Source, **more: Any) -> MeshDomain:
    return index_mesh(source.x, source.y, source.corners, **more)


@settings(deadline=None)
@given(meshes())
def test_the_stored_mesh_is_that_of_the_source_in_another_order(source: Source) -> None:
    nodes, elements = source.x.size, len(source.corners)
    extra = {"node_z": np.arange(nodes, dtype=np.float32), "node_code": np.arange(nodes),
             "layer_counts": np.arange(elements) % 5}
    domain = indexed(source, **extra)
    assert sorted(domain.element_number.tolist()) == list(range(elements))
    assert sorted(domain.node_number.tolist()) == list(range(nodes))
    used = domain.element_nodes >= 0
    assert (np.where(used, domain.node_number[domain.element_nodes], -1) == source.corners[domain.element_number]).all()
    assert domain.node_x.tobytes() == source.x[domain.node_number].tobytes()
    assert domain.node_y.tobytes() == source.y[domain.node_number].tobytes()
    assert domain.node_z is not None
    assert domain.node_code is not None
    assert domain.layer_counts is not None
    assert domain.node_z.tolist() == domain.node_code.tolist() == domain.node_number.tolist()
    assert domain.layer_counts.tolist() == (domain.element_number % 5).tolist()
    assert {part.dtype for part in (domain.element_nodes, domain.element_number, domain.node_number,
                                    domain.node_code, domain.layer_counts)} == {np.dtype(np.int32)}


@settings(deadline=None)
@given(meshes())
def test_nodes_are_numbered_by_first_use_and_unused_ones_come_last(source: Source) -> None:
    domain = indexed(source)
    used = domain.element_nodes[domain.element_nodes >= 0].tolist()
    first = list(dict.fromkeys(used))
    assert first == list(range(len(first)))
    rest = domain.node_number[len(first):].tolist()
    assert rest == sorted(rest)


@settings(deadline=None)
@given(meshes())
def test_the_order_is_the_same_each_time_and_whatever_type_the_numbers_have(source: Source) -> None:
    domain = indexed(source)
    again = index_mesh(source.x.tolist(), source.y.astype(">f8"), source.corners.astype(">i8").tolist())
    assert domain.element_number.tolist() == again.element_number.tolist()
    assert domain.element_nodes.tolist() == again.element_nodes.tolist()
    assert again.node_y.dtype == np.dtype("float64")


def test_coordinates_keep_their_type() -> None:
    corners = [[0, 1, 2]]
    assert index_mesh(np.zeros(3, np.float32), np.zeros(3), corners).node_x.dtype == np.float32
    assert index_mesh(np.zeros(3, np.int16), np.zeros(3), corners).node_x.dtype == np.float64


@pytest.mark.parametrize("bits", [1, 2, 5])
def test_the_curve_goes_through_every_cell_of_a_square_from_neighbour_to_neighbour(bits: int) -> None:
    row, column = (part.ravel() for part in np.indices((2**bits, 2**bits)))
    place = hilbert(column, row, bits)
    assert sorted(place.tolist()) == list(range(4**bits))
    order = np.argsort(place)
    steps = np.abs(np.diff(row[order])) + np.abs(np.diff(column[order]))
    assert (steps == 1).all()


@pytest.mark.rule("P1", "P2")
def test_the_elements_of_a_small_area_lie_in_few_runs() -> None:
    """A hundredth of 80 000 shuffled elements lies in a few of 79 index pages."""
    source = lattice(200, 200, 0.1)
    order = np.random.default_rng(1).permutation(len(source.corners))
    domain = indexed(Source(source.x, source.y, source.corners[order]))
    centre = domain.node_x[domain.element_nodes[:, 0]], domain.node_y[domain.element_nodes[:, 0]]
    pages = {int(page) for low in (3.0, 7.0, 14.0)
             for page in np.flatnonzero((centre[0] >= low) & (centre[0] < low + 2) & (centre[1] >= low)
                                        & (centre[1] < low + 2)) // MESH_INDEX_PAGE}
    assert len(pages) <= 3 * 6


@pytest.mark.rule("P6")
@settings(deadline=None, max_examples=20)
@given(st.integers(1, 60), st.integers(0, 5))
def test_the_nodes_of_an_index_page_are_those_of_its_elements_each_once(rows: int, seed: int) -> None:
    source = lattice(rows, 40, 0.1)
    order = np.random.default_rng(seed).permutation(len(source.corners))
    domain = indexed(Source(source.x, source.y, source.corners[order]))
    pages = index_pages(domain)
    assert len(pages) == -(-domain.elements // MESH_INDEX_PAGE)
    assert pages.nodes.dtype == np.int32
    for page in range(len(pages)):
        corners = domain.element_nodes[page * MESH_INDEX_PAGE:(page + 1) * MESH_INDEX_PAGE]
        expected = sorted({int(node) for node in corners.ravel() if node >= 0})
        assert pages.nodes[pages.offsets[page]:pages.offsets[page + 1]].tolist() == expected
    assert zlevel_paged_nodes(domain) == pages.nodes.size


GOOD: dict[str, Any] = {"node_x": [0.0, 1.0, 1.0, 0.0], "node_y": [0.0, 0.0, 1.0, 1.0], "element_nodes": [[0, 1, 2, 3]]}


@pytest.mark.parametrize(("wrong", "words"), [
    ({"element_nodes": np.empty((0, 3), int)}, "at least one element"),
    ({"element_nodes": [0, 1, 2]}, "at least one element"),
    ({"element_nodes": [[0, 1]]}, "2 corners; an element has three or more"),
    ({"element_nodes": [[0, 1, 4]]}, "corners 0 .. 4; the mesh has nodes 0 .. 3. Nodes are counted from 0"),
    ({"element_nodes": [[0, 1, -2]]}, "corners -2 .. 1"),
    ({"element_nodes": [[0, 1, 2], [0, 1, -1]]}, "1 elements have fewer than three corners, the first is #1"),
    ({"element_nodes": [[0, -1, 1, 2]]}, "have -1 between their corners, the first is #0"),
    ({"element_nodes": [[0.0, 1.0, 2.0]]}, "integers are needed"),
    ({"element_nodes": np.array([[0, 1, 2**40]])}, "do not fit in 32 bits"),
    ({"node_x": [0.0, 1.0, np.nan, 0.0]}, "1 elements have a corner without coordinates, the first is #0"),
    ({"node_y": [0.0, np.inf, 1.0, 0.0]}, "without coordinates"),
    ({"node_x": ["a", "b", "c", "d"]}, "float32 or float64 is needed"),
    ({"node_x": [[0.0, 1.0, 1.0, 0.0]]}, "2 dimensions; one value a node"),
    ({"node_y": [0.0, 1.0]}, "'node_y' has the shape (2,); (4,) is needed"),
    ({"node_z": np.zeros(3)}, "'node_z' has the shape (3,)"),
    ({"node_code": np.zeros(3, int)}, "'node_code' has the shape (3,)"),
    ({"node_code": np.zeros(4)}, "The node codes are of type float64"),
    ({"layer_counts": np.zeros(4, int)}, "'layer_counts' has the shape (4,); (1,) is needed"),
    ({"layer_counts": [-3]}, "Element #0 has -3 layers"),
])
def test_what_is_no_mesh_is_refused_with_the_reason(wrong: dict[str, Any], words: str) -> None:
    index_mesh(**GOOD)
    with pytest.raises(UsageError) as caught:
        index_mesh(**GOOD | wrong)
    assert words in str(caught.value)


def test_a_node_that_no_element_uses_may_have_no_coordinates() -> None:
    domain = index_mesh([np.nan, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0], [[1, 2, 3]])
    assert domain.node_number.tolist() == [1, 2, 3, 0]
    assert np.isnan(domain.node_x[3])


@pytest.mark.parametrize("width", [360.0, 0.0])
def test_elements_on_one_place_keep_the_order_of_the_source(width: float) -> None:
    x = np.array([0.0, width, 0.0])
    domain = index_mesh(x, x * 0.5, np.array([[0, 1, 2]] * 50))
    assert domain.element_number.tolist() == list(range(50))


def test_a_million_elements_take_seconds() -> None:
    source = lattice(670, 1000, 0.1)
    begin = time.perf_counter()
    domain = indexed(source)
    pages: Array = index_pages(domain).nodes
    assert domain.elements > 1_000_000 > pages.size > 600_000
    assert time.perf_counter() - begin < 20  # one or two on a quiet machine
