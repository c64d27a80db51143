"""Transects and statistics over areas, against brute force: shapely over every cell, NumPy over every value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import UsageError
from mdstudio.engine.model import Description, GridDomain, Item, MeshDomain
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import AreaRequest, Explain, LineRequest, MapRequest, SeriesRequest
from mdstudio.engine.spatial.cell_areas import grid_areas, ring_areas
from mdstudio.engine.spatial.grid import GridGeometry
from mdstudio.engine.spatial.line import EARTH, Stretches, grid_stretches, mesh_stretches
from mdstudio.engine.spatial.mesh_geometry import MeshGeometry
from tests.engine.made_datasets import KINDS, Made, axis, kind_of, make_kind, mesh

Cells = dict[tuple[int, ...], Any]


def grid_cells(domain: GridDomain) -> Cells:
    """The closed polygon of every cell, by row and column."""
    geometry = GridGeometry(domain)
    cells: Cells = {}
    for row in range(domain.rows):
        for column in range(domain.columns):
            if geometry.quads is not None:
                x, y = geometry.quads.corners(np.array([row]), np.array([column]))
                cells[row, column] = shapely.Polygon(zip(x[0], y[0], strict=True))
            else:
                cells[row, column] = shapely.box(geometry.x_axis.low[column], geometry.y_axis.low[row],
                                                 geometry.x_axis.high[column], geometry.y_axis.high[row])
    return cells


def mesh_cells(domain: MeshDomain) -> Cells:
    x, y = domain.node_x, domain.node_y
    return {(at,): shapely.Polygon([(x[n], y[n]) for n in nodes if n >= 0])
            for at, nodes in enumerate(domain.element_nodes.tolist())}


def projected(rows: int, columns: int, seed: int) -> GridDomain:
    random = np.random.default_rng(seed)
    x, y = (np.cumsum(random.integers(1, 4, n)).astype(float) for n in (columns, rows))
    return GridDomain("projected", x, y[::-1] if seed % 2 else y)


def turned(rows: int, columns: int, seed: int) -> GridDomain:
    """A curvilinear grid: turned by some angle, far from the globe's degrees so that nothing wraps."""
    across, along = np.meshgrid(np.arange(columns) * 10.0, np.arange(rows) * 10.0)
    angle = seed * 0.1
    return GridDomain("curvilinear", np.arange(columns, dtype=float), np.arange(rows, dtype=float),
                      longitude=1000 + across * np.cos(angle) - along * np.sin(angle),
                      latitude=2000 + across * np.sin(angle) + along * np.cos(angle))


def check_line(stretches: Callable[[list[Any]], Stretches], cells: Cells, line: list[Any]) -> None:
    """Each segment on its own, and the line as all of them one after the other."""
    parts = []
    for ends in pairwise(line):
        if ends[0] != ends[1]:
            parts.append(stretches(list(ends)))
            check_stretches(parts[-1], cells, list(ends))
    found = stretches(line)
    joined = np.concatenate([p.cells for p in parts])
    first = np.r_[True, (joined[1:] != joined[:-1]).any(axis=1)]
    assert np.array_equal(found.cells, joined[first])
    assert np.isclose(found.edges[-1], sum(p.edges[-1] for p in parts))


def check_stretches(found: Stretches, cells: Cells, line: list[tuple[float, float]]) -> None:
    """Each cell has the length of the line within it, in the right order; what is on shared sides counts once."""
    whole = shapely.LineString(line)
    steps = np.diff(found.edges)
    assert np.isclose(steps.sum(), whole.length)
    assert (steps > 0).all()
    for place in map(tuple, found.cells.tolist()):
        assert place[0] < 0 or place in cells
    size = max(1.0, whole.length)
    for length, x, y, place in zip(steps, found.x, found.y, map(tuple, found.cells.tolist()), strict=True):
        middle = shapely.Point(x, y)
        if place[0] >= 0:
            assert cells[place].distance(middle) < 1e-9 * size
        elif length > 1e-6 * size:
            assert min(c.distance(middle) for c in cells.values()) > 0
    for place, cell in cells.items():
        inner = cell.buffer(-1e-7 * size, join_style="mitre")
        mine = steps[[tuple(c) == place for c in found.cells.tolist()]].sum()
        inside = whole.intersection(cell).length
        assert mine <= inside + 1e-6 * size
        if whole.intersection(inner).length > 0 and whole.intersection(cell.boundary).length < 1e-9 * size:
            assert np.isclose(mine, inside, atol=1e-5 * size)


POINT = st.tuples(st.integers(-4, 34), st.integers(-4, 34))
LINES = st.lists(POINT, min_size=2, max_size=5).filter(lambda line: len(set(line)) > 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 9), LINES)
def test_a_line_crosses_what_brute_force_says(rows: int, columns: int, seed: int, line: list[Any]) -> None:
    domain = projected(rows, columns, seed)
    check_line(lambda part: grid_stretches(GridGeometry(domain), part), grid_cells(domain), line)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(2, 6), st.integers(0, 9), LINES)
def test_a_line_over_a_turned_grid_crosses_what_brute_force_says(
        rows: int, columns: int, seed: int, line: list[Any]) -> None:
    domain = turned(rows, columns, seed)
    moved = [(1000 + 2.0 * x, 2000 + 2.0 * y) for x, y in line]
    check_line(lambda part: grid_stretches(GridGeometry(domain), part), grid_cells(domain), moved)


MESH = mesh(7, 6, seed=3)
MESH_CELLS = mesh_cells(MESH)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-200, 1200), st.integers(-200, 1200)), min_size=2, max_size=4).filter(
    lambda line: len(set(line)) > 1))
def test_a_line_over_a_mesh_crosses_what_brute_force_says(line: list[Any]) -> None:
    x, y = MESH.node_x, MESH.node_y
    moved = [(float(x.min() + a / 1000 * np.ptp(x)), float(y.min() + b / 1000 * np.ptp(y))) for a, b in line]
    check_line(lambda part: mesh_stretches(MeshGeometry(MESH), part), MESH_CELLS, moved)


@pytest.mark.parametrize("ends", [(-10.0, 15.0), (350.0, 375.0), (15.0, -10.0)])
def test_a_line_across_the_wrap_finds_both_ends(ends: tuple[float, float]) -> None:
    domain = GridDomain("regular", np.arange(0.0, 360, 10), np.array([-10.0, 0, 10]))
    found = grid_stretches(GridGeometry(domain), [(ends[0], 2.0), (ends[1], 2.0)])
    columns = [35, 0, 1][:: 1 if ends[0] < ends[1] else -1]
    assert found.cells.tolist() == [[1, c] for c in columns]
    assert np.isclose(found.edges[-1], EARTH * np.radians(25) * np.cos(np.radians(2.0)), rtol=1e-3)


def test_what_is_no_line_is_refused() -> None:
    geometry = GridGeometry(projected(3, 3, 0))
    for line in ([], [(1.0, 1.0)], [(1.0, 1.0), (1.0, 1.0)], [(np.nan, 0.0), (1.0, 1.0)], [(1e308, 0.0), (-1e308, 0.0)],
                 [(1.0, 1.0, 1.0), (2.0, 2.0, 2.0)]):
        with pytest.raises(UsageError):
            grid_stretches(geometry, line)
    globe = GridGeometry(GridDomain("regular", np.arange(0.0, 360, 10), np.array([-10.0, 0, 10])))
    with pytest.raises(UsageError, match="latitude"):
        grid_stretches(globe, [(0.0, 0.0), (10.0, 91.0)])


def test_a_line_outside_a_grid_is_as_long_as_it_is_drawn() -> None:
    """Along a parallel, not along the great circle between its ends."""
    globe = GridGeometry(GridDomain("regular", np.arange(0.0, 360, 10), np.array([-10.0, 0, 10])))
    found = grid_stretches(globe, [(0.0, 60.0), (90.0, 60.0)])
    assert np.isclose(found.edges[-1], EARTH * np.radians(90) * 0.5, rtol=1e-4)


def check_pages(explain: Explain) -> None:
    """Each page was read once; those without data are touched, not decoded."""
    stored = [(p.blob, p.page, p.offset) for p in explain.pages if p.length]
    assert len(stored) == len(set(stored)) == explain.pages_decoded
    assert explain.pages_touched == len(explain.pages)


def extent(dataset: Dataset) -> tuple[float, float, float, float]:
    domain = dataset.domain
    x, y = (domain.node_x, domain.node_y) if isinstance(domain, MeshDomain) else (domain.x, domain.y)
    return float(x.min()), float(y.min()), float(x.max()), float(y.max())


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Dataset]:
    made = {}
    for kind in KINDS:
        for layout in kind_of(kind).layouts:
            packed = "ZstdAuto" if layout in kind_of(kind).compressed else "None"
            made[kind, layout] = make_kind(tmp_path_factory.mktemp(f"{kind}-{layout}"), kind_of(kind), layout, packed)
    return made


ALL = [(kind, layout) for kind in sorted(KINDS) for layout in kind_of(kind).layouts]


@pytest.mark.rule("P2", "P6")
@pytest.mark.parametrize(("kind", "layout"), ALL)
def test_values_along_a_line_are_those_of_points(
        datasets: dict[tuple[str, str], Dataset], kind: str, layout: str) -> None:
    """The middles of the stretches, asked for as points in every layer, have the same values; pages are read once."""
    dataset = datasets[kind, layout]
    x0, y0, x1, y1 = extent(dataset)
    line = ((x0 - 1, y0 + 0.1 * (y1 - y0)), (x1, y1), (x0 + 0.3 * (x1 - x0), y1 + 1))
    for item in dataset.metadata.items:
        found = dataset.line(LineRequest(item.name, line))
        points = tuple(zip(found.x.tolist(), found.y.tolist(), strict=True))
        assert found.values.shape[:3] == (len(dataset.metadata.times), len(item.layers or (0,)), len(points))
        assert (found.edges[1:] > found.edges[:-1]).all()
        for at, layer in enumerate(found.layers.tolist()):
            one = dataset.series(SeriesRequest(item.name, points, None if layer < 0 else layer))
            assert np.array_equal(found.values[:, at], one.values, equal_nan=True)
            assert found.stored[:, at].tobytes() == one.stored.tobytes()
            assert np.array_equal(found.cells, one.cells)
        check_pages(found.explain)
    only = dataset.line(LineRequest(item.name, line, layer=0 if item.layers else None, start=1, stop=3))
    assert np.array_equal(only.values, found.values[1:3, :1], equal_nan=True)


@st.composite
def areas(draw: Any) -> tuple[Any, str]:
    kind = draw(st.sampled_from(["all", "box", "polygon", "parts"]))
    shares = st.floats(-0.2, 1.2).map(lambda v: round(v, 3))
    if kind == "all":
        return None, ""
    if kind == "box":
        return tuple(draw(shares) for _ in range(4)), ""
    count = 1 if kind == "polygon" else 2
    rings = [draw(st.lists(st.tuples(shares, shares), min_size=3, max_size=3)) for _ in range(count)]
    return None, rings  # type: ignore[return-value]


@pytest.mark.rule("P2", "P3")
@pytest.mark.parametrize(("kind", "layout"), ALL)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(area=areas())
def test_statistics_of_an_area_are_those_of_its_maps(
        datasets: dict[tuple[str, str], Dataset], kind: str, layout: str, area: Any) -> None:
    """Maps of the same area at each time, whose cells have a brute-force test of their own, and NumPy over them."""
    dataset = datasets[kind, layout]
    bbox, polygon = placed(area, extent(dataset))
    for item in dataset.metadata.items:
        layer = 1 if item.layers else None
        try:
            maps = [dataset.map(MapRequest(item.name, t, layer, bbox, polygon))
                    for t in range(len(dataset.metadata.times))]
        except UsageError:
            with pytest.raises(UsageError):
                dataset.area(AreaRequest(item.name, bbox, polygon, layer))
            return
        found = dataset.area(AreaRequest(item.name, bbox, polygon, layer))
        check_pages(found.explain)
        assert bool(found.empty_reason) == (not (found.count > 0).any())
        for t, one in enumerate(maps):
            values = one.values[one.mask].reshape(-1, item.components)
            for k in range(item.components):
                check_statistics(found, t if item.components == 1 else (t, k), values[:, k])


def placed(area: Any, around: tuple[float, float, float, float]) -> tuple[Any, str]:
    x0, y0, x1, y1 = around
    bbox, rings = area
    if bbox:
        return (x0 + bbox[0] * (x1 - x0), y0 + bbox[1] * (y1 - y0), x0 + bbox[2] * (x1 - x0),
                y0 + bbox[3] * (y1 - y0)), ""
    if not rings:
        return None, ""
    parts = [shapely.Polygon([(x0 + a * (x1 - x0), y0 + b * (y1 - y0)) for a, b in ring]) for ring in rings]
    return None, (parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)).wkt


def check_statistics(found: Any, at: Any, values: Any) -> None:
    data = values[~np.isnan(values)]
    assert found.count[at] == data.size
    if not data.size:
        assert np.isnan([found.mean[at], found.minimum[at], found.deviation[at]]).all()
        return
    with np.errstate(all="ignore"):
        assert (found.minimum[at], found.maximum[at]) == (data.min(), data.max())
        scale = max(1e-300, float(np.abs(data).max()))
        assert np.isclose(found.mean[at] / scale, (data / scale).mean(), rtol=1e-9, atol=1e-12)
        assert np.isclose(found.deviation[at] / scale, (data / scale).std(), rtol=1e-6, atol=1e-9)


def test_parts_that_are_joined_give_the_same_numbers(
        datasets: dict[tuple[str, str], Dataset], monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounded memory: one page of one group at a time, large numbers with small differences."""
    for layout in ("MultiTimestep", "TimeSeries"):
        dataset = datasets["grid", layout]
        whole = dataset.area(AreaRequest("v"))
        monkeypatch.setattr("mdstudio.engine.area_query.MOST_VALUES", 1)
        parts = dataset.area(AreaRequest("v"))
        monkeypatch.undo()
        assert parts.explain.pages_touched == whole.explain.pages_touched
        for name in ("count", "minimum", "maximum", "mean", "deviation", "area_mean", "total"):
            assert np.allclose(getattr(whole, name), getattr(parts, name), rtol=1e-12, equal_nan=True)


def test_means_are_weighted_by_the_areas_of_the_cells(tmp_path: Path) -> None:
    latitude, longitude = np.array([-60.0, 0, 60]), np.arange(0.0, 360, 90)
    values = np.repeat(np.array([[1.0], [2.0], [4.0]]), 4, axis=1)[None, None].repeat(2, axis=0)
    domain = GridDomain("regular", longitude, latitude, "EPSG:4326")
    made = Made(Description(domain, axis(2), (Item("v", "float64"),)), {"v": values})
    dataset = make_kind(tmp_path / "a", made, "SingleTimestep")
    found = dataset.area(AreaRequest("v"))
    bands = np.diff(np.sin(np.radians([-90.0, -30, 30, 90])))
    assert found.weights == "sphere"
    assert np.allclose(found.area_mean, (bands * [1, 2, 4]).sum() / bands.sum())
    assert np.allclose(found.mean, 7 / 3)
    nodes = make_kind(tmp_path / "n", kind_of("mesh-nodes"), "SingleTimestep").area(AreaRequest("v"))
    assert nodes.weights == ""
    assert np.isnan(nodes.area_mean).all()


@pytest.mark.rule("P2")
@pytest.mark.parametrize(("kind", "layout"), ALL)
def test_many_points_at_once_are_as_one_by_one_and_each_page_is_read_once(
        datasets: dict[tuple[str, str], Dataset], kind: str, layout: str) -> None:
    dataset = datasets[kind, layout]
    x0, y0, x1, y1 = extent(dataset)
    random = np.random.default_rng(5)
    places = np.stack([random.uniform(x0 - 1, x1 + 1, 2000), random.uniform(y0 - 1, y1 + 1, 2000)], axis=1)
    places[100:200] = places[:100]  # points that fall together
    points = tuple(map(tuple, places.tolist()))
    item = dataset.metadata.items[0]
    layer = 1 if item.layers else None
    many = dataset.series(SeriesRequest(item.name, points, layer, nearest=True))
    check_pages(many.explain)
    inside = dataset.series(SeriesRequest(item.name, points, layer))
    assert (inside.cells >= 0).all(axis=1).any()
    assert (inside.cells < 0).all(axis=1).any()
    assert (many.cells >= 0).all()
    held = (inside.cells >= 0).all(axis=1)
    assert np.array_equal(many.cells[held], inside.cells[held])
    for at in [*range(0, 2000, 173), 150]:
        one = dataset.series(SeriesRequest(item.name, points[at:at + 1], layer, nearest=True))
        assert one.stored[:, 0].tobytes() == many.stored[:, at].tobytes()
        assert np.array_equal(one.values[:, 0], many.values[:, at], equal_nan=True)
        assert one.cells[0].tolist() == many.cells[at].tolist()


@pytest.mark.parametrize("layout", ["SingleTimestep", "MultiTimestep", "TimeSeries"])
def test_progress_of_an_area_in_parts_goes_forward_to_its_end(
        datasets: dict[tuple[str, str], Dataset], layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdstudio.engine.area_query.MOST_VALUES", 1)
    monkeypatch.setattr("mdstudio.engine.reading.tally.MOST_PAGES", 2)
    seen: list[tuple[int, int]] = []

    class Shown(Progress):
        def report(self) -> None:
            seen.append((self.done, self.total))

    progress = Shown()
    found = datasets["grid", layout].area(AreaRequest("v"), progress)
    assert len({total for _, total in seen}) == 1
    assert seen == sorted(seen)
    assert progress.done == progress.total
    assert len(found.explain.pages) == 2 < found.explain.pages_touched


def test_areas_on_the_sphere_are_exact() -> None:
    """All cells of the globe together, a cap around a pole, and the same cell as a ring with a corner twice."""
    globe = GridGeometry(GridDomain("regular", np.arange(0.0, 360, 10), np.arange(-85.0, 90, 10)))
    rows, columns = (part.ravel() for part in np.indices((18, 36)))
    cells, what = grid_areas(globe, rows, columns)
    assert what == "sphere"
    assert np.isclose(cells.sum(), 4 * np.pi)
    x, y = np.array([[10.0, 20, 20, 10, 10]]), np.array([[50.0, 50, 60, 60, 60]])
    assert np.isclose(ring_areas(x, y, True)[0], np.radians(10) * np.ptp(np.sin(np.radians([50, 60]))))
    cap = np.array([[-180.0, 180, 180, -180]]), np.array([[80.0, 80, 90, 90]])
    assert np.isclose(ring_areas(*cap, True)[0], 2 * np.pi * (1 - np.sin(np.radians(80))))
    around, others = (ring_areas(np.array([[a, b, c]]), np.array([[0.0, 0, 90]]), True)[0]
                      for a, b, c in ((0, 90, 90), (0, 45, 45)))
    assert around > others > 0


@pytest.mark.parametrize("layout", ["MultiTimestep", "TimeSeries"])
@pytest.mark.parametrize(("special", "mean", "total"), [
    ([np.inf], np.inf, np.inf), ([-np.inf, np.inf], np.nan, np.nan), ([1e308, 1e308, 1e308], None, np.inf),
    ([1e200, -1e200, 3e200], None, None), ([1e-300, 3e-300, 5e-300], None, None)])
def test_extreme_values_give_the_same_numbers_however_they_are_read(
        tmp_path: Path, layout: Any, special: list[float], mean: float | None, total: float | None,
        monkeypatch: pytest.MonkeyPatch) -> None:
    small = max(map(abs, special)) < 1
    values = np.full((3, 1, 18, 40), 0.0 if small else 1.0)
    values[1, 0].flat[[0, 39, 719][:len(special)]] = special
    domain = GridDomain("projected", np.arange(40.0), np.arange(18.0))
    made = Made(Description(domain, axis(3), (Item("v", "float64"),)), {"v": values})
    dataset = make_kind(tmp_path / "a", made, layout, width=16)
    whole = dataset.area(AreaRequest("v"))
    monkeypatch.setattr("mdstudio.engine.area_query.MOST_VALUES", 1)
    parts = dataset.area(AreaRequest("v"))
    wide = values[1].astype(np.longdouble)
    for found in (whole, parts):
        assert found.count.tolist() == [720, 720, 720]
        assert (found.minimum[1], found.maximum[1]) == (values[1].min(), values[1].max())
        expected = float(wide.mean()) if mean is None else mean
        scale = max([abs(v) for v in special if np.isfinite(v)], default=1.0)
        assert np.isclose(found.mean[1] / scale, expected / scale, rtol=1e-12, equal_nan=True)
        assert total is None or found.total[1] == total or np.isnan(total)
        if mean is None:
            assert np.isclose(found.deviation[1] / abs(special[0]), float(wide.std() / abs(special[0])), rtol=1e-9)
        else:
            assert np.isnan(found.deviation[1])
        assert found.mean[0] == (0.0 if small else 1.0)


def test_an_empty_answer_says_why(tmp_path: Path) -> None:
    """Outside, no data, or no time, as sentences, of grids and meshes; nothing is read for what is outside."""
    for kind in ("grid", "mesh"):
        made = kind_of(kind)
        values = {name: np.full_like(stored, 99) for name, stored in made.values.items()}
        items = tuple(replace(item, no_data=99) for item in made.description.items)
        missing = replace(made, description=replace(made.description, items=items), values=values)
        dataset = make_kind(tmp_path / kind, missing, "TimeSeries", "ZstdAuto")
        x0, y0, x1, y1 = extent(dataset)
        item, line = items[0].name, ((x0, y0), (x1, y1))
        afar = ((x1 + 20, y1 + 20), (x1 + 21, y1 + 21))
        asked: list[tuple[Any, str]] = [
            (dataset.area(AreaRequest(item)), "has data"), (dataset.line(LineRequest(item, line)), "has data"),
            (dataset.area(AreaRequest(item, start=1, stop=1)), "no time"),
            (dataset.line(LineRequest(item, line, start=1, stop=1)), "no time"),
            (dataset.area(AreaRequest(item, (x1 + 20, y1 + 20, x1 + 21, y1 + 21))), "lies "),
            (dataset.line(LineRequest(item, afar)), "crosses no ")]
        for result, words in asked:
            assert words in result.empty_reason
            assert result.empty_reason[0].isupper()
            assert result.empty_reason.endswith(".")
        assert [result.explain.pages_touched for result, _ in asked[2:]] == [0] * 4
