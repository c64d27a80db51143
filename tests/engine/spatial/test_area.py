"""What is an area and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import GridDomain
from mdstudio.engine.spatial.area import parse_region
from mdstudio.engine.spatial.grid import GridGeometry
from mdstudio.engine.spatial.mesh_geometry import MeshGeometry
from mdstudio.engine.spatial.mesh_index import index_mesh

SQUARE = "((0 0, 4 0, 4 4, 0 4, 0 0))"
GEOMETRIES = [
    GridGeometry(GridDomain("projected", np.arange(5.0), np.arange(5.0))),
    MeshGeometry(index_mesh([0.0, 4.0, 4.0, 0.0], [0.0, 0.0, 4.0, 4.0], [[0, 1, 2], [0, 2, 3]])),
]


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize(("text", "words"), [
    ("POLYGON", "is no WKT"),
    ("anything", "is no WKT"),
    ("POLYGON ((0 0, 4 0, 4 4, 0 4))", "is no WKT"),  # not closed
    ("POLYGON ((0 0, 1 1))", "is no WKT"),
    (f"SRID=4326;POLYGON {SQUARE}", "is no WKT"),
    ("POINT (1 1)", "is a Point. Give a POLYGON or MULTIPOLYGON."),
    ("LINESTRING (0 0, 1 1)", "is a LineString"),
    (f"GEOMETRYCOLLECTION (POLYGON {SQUARE})", "is a GeometryCollection"),
    ("POLYGON EMPTY", "is empty"),
    ("MULTIPOLYGON EMPTY", "is empty"),
    (f"MULTIPOLYGON (EMPTY, {SQUARE})", "is empty"),
    ("POLYGON ((0 0, nan 0, 4 4, 0 4, 0 0))", "no finite number"),
    ("POLYGON ((0 0, inf 0, 4 4, 0 4, 0 0))", "no finite number"),
    ("POLYGON ((0 0, 1e999 0, 4 4, 0 4, 0 0))", "no finite number"),
    ("POLYGON ((0 0, 4 4, 4 0, 0 4, 0 0))", "The polygon is no area: Self-intersection[2 2]."),
    ("POLYGON ((0 0, 4 4, 0 0, 0 0))", "The polygon is no area"),
    ("POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0), (8 8, 9 8, 9 9, 8 8))", "The polygon is no area: Hole lies outside shell"),
    (f"MULTIPOLYGON ({SQUARE}, ((0 0, 4 4, 4 0, 0 4, 0 0)))", "Part #1 of the multi-polygon is no area"),
])
def test_what_is_no_area_is_refused_with_the_reason(
    geometry: GridGeometry | MeshGeometry, text: str, words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        geometry.select(None, text)
    assert words in str(caught.value)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_a_rectangle_and_a_polygon_at_once_or_a_corner_that_is_no_number_are_refused(
    geometry: GridGeometry | MeshGeometry
) -> None:
    with pytest.raises(UsageError, match="not both"):
        geometry.select((0, 0, 1, 1), f"POLYGON {SQUARE}")
    with pytest.raises(UsageError, match="no number"):
        geometry.select((0, float("nan"), 1, 1))


def test_a_long_text_is_cut_in_the_message() -> None:
    with pytest.raises(UsageError) as caught:
        parse_region("POLYGON ((" + "0 0, " * 100_000)
    assert len(str(caught.value)) < 300


def test_heights_and_case_and_space_make_no_difference() -> None:
    plain = parse_region(f"POLYGON {SQUARE}")
    assert parse_region("  polygon z ((0 0 7,4 0 7,4 4 7,0 4 7,0 0 7)) ").parts == plain.parts


def test_a_polygon_of_longitudes_around_the_globe_many_times_is_refused() -> None:
    geometry = GridGeometry(GridDomain("regular", np.arange(360.0), np.arange(5.0)))
    assert geometry.select(None, "POLYGON ((-900 0, 900 0, 0 4, -900 0))").columns.size == 360
    with pytest.raises(UsageError, match="goes round the globe more than 10 times"):
        geometry.select(None, "POLYGON ((-1e9 0, 1e9 0, 0 4, -1e9 0))")
