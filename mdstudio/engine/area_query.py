"""Statistics over an area, time by time, in bounded memory: each page that the area touches is decoded once.

Cells are taken page by page and times group by group; the parts are joined as Chan, Golub and LeVeque do, so that no
sum of squares of large numbers is ever formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.mesh_query import MeshPlaces, wanted_of
from mdstudio.engine.model import Array
from mdstudio.engine.query import NO_TIME, Source, asked_layer, layer_number, numbers_of, read_over_time, time_range
from mdstudio.engine.requests import AreaRequest, AreaResult, Explain, decode_values
from mdstudio.engine.spatial.cell_areas import element_areas, grid_areas
from mdstudio.engine.spatial.grid import GridGeometry

MOST_VALUES = 1 << 23  # of a part that is decoded at once; one page of one time group is, whatever its size
_NO_DATA = "None of the cells of the area has data at these times."


@dataclass(frozen=True)
class _Cells:
    """The stored cells of an area: (n, 2) rows and columns of the slice, their areas, and how many places they are."""

    places: Array
    areas: Array | None
    weights: str
    count: int
    empty_reason: str


@dataclass
class _Moments:
    """Statistics of the values seen so far, per time: `count` and extremes of all, the others of the finite ones, in
    the widest floats that there are; `above` and `below` count the infinite ones."""

    count: Array
    minimum: Array
    maximum: Array
    finite: Array
    above: Array
    below: Array
    mean: Array
    squares: Array
    total: Array
    weight: Array
    weighted: Array

    def add(self, at: slice, values: Array, areas: Array | None) -> None:
        """Join (time, cell[, component]) values, NaN where there is no data."""
        valid, finite = ~np.isnan(values), np.isfinite(values)
        self.count[at] += valid.sum(axis=1)
        self.above[at] += (values == np.inf).sum(axis=1)
        self.below[at] += (values == -np.inf).sum(axis=1)
        self.minimum[at] = np.fmin(self.minimum[at], np.where(valid, values, np.inf).min(axis=1))
        self.maximum[at] = np.fmax(self.maximum[at], np.where(valid, values, -np.inf).max(axis=1))
        known = _wide_enough(np.where(finite, values, 0.0))
        count, total = finite.sum(axis=1), known.sum(axis=1)
        both = self.finite[at] + count
        mean = total / np.maximum(count, 1)
        squares = np.where(finite, known - mean[:, None], 0.0)
        apart, share = mean - self.mean[at], count / np.maximum(both, 1)
        self.squares[at] += (squares ** 2).sum(axis=1) + apart ** 2 * share * self.finite[at]
        self.mean[at] += apart * share
        self.finite[at] = both
        self.total[at] += total
        if areas is not None:
            weights = np.where(finite, np.nan_to_num(areas).reshape(1, -1, *(1,) * (values.ndim - 2)), 0.0)
            self.weight[at] += weights.sum(axis=1)
            self.weighted[at] += (known * weights).sum(axis=1)

    def with_infinite(self, values: Array, spread: bool = False) -> Array:
        """float64 of statistics of the finite values, as the infinite ones make them: without end, or no number."""
        with np.errstate(over="ignore", under="ignore"):
            found = values.astype(np.float64)
        endless = (self.above > 0) | (self.below > 0)
        no_number = endless & (spread | ((self.above > 0) & (self.below > 0)))
        found[endless] = np.where(self.above[endless] > 0, np.inf, -np.inf)
        found[no_number] = np.nan
        return found


def _wide_enough(values: Array) -> Array:
    """The values in floats whose squares and sums neither overflow nor vanish; as they are where float64 does."""
    largest = float(np.abs(values).max(initial=0.0))
    return values if 1e-140 < largest < 1e140 or largest == 0 else values.astype(np.longdouble)


def read_area(source: Source, geometry: GridGeometry | MeshPlaces, request: AreaRequest) -> AreaResult:
    """The statistics of the cells that a rectangle or polygon touches, at each time; errors as `query.read_map`.

    Cost: every page that holds one of the cells, at every time, once; memory: `MOST_VALUES` values and their stored
    pages. Infinite values count: means and sums of them are infinite, or no number where both signs occur.
    """
    layout = source.layout
    layer = layer_number(layout.item, request.layer)
    level = asked_layer(layout.item, request.layer)
    times = time_range(layout, request.start, request.stop)
    cells = (_cells_of_mesh(layout, geometry, request, level) if isinstance(geometry, MeshPlaces)
             else _cells_of_grid(geometry, request))
    shape = (len(times),) if layout.item.components == 1 else (len(times), layout.item.components)
    none, nothing = np.zeros(shape, np.int64), np.zeros(shape, np.longdouble)
    moments = _Moments(none, np.full(shape, np.inf), np.full(shape, -np.inf), *(none.copy() for _ in range(3)),
                       *(nothing.copy() for _ in range(5)))
    tally = source.tally()
    parts = list(_parts(layout, times, cells.places))
    tally.start(sum(_units(layout, part, cells.places[cell_part]) for part, cell_part in parts), "groups")
    for part, cell_part in parts:
        found = read_over_time(tally, layout, layer, part, cells.places[cell_part])
        values = decode_values(layout.item, numbers_of(found))
        areas = None if cells.areas is None else cells.areas[cell_part]
        moments.add(slice(part.start - times.start, part.stop - times.start), values, areas)
    return _result(request, layout, times, cells, moments, tally.explain())


def _cells_of_grid(geometry: GridGeometry, request: AreaRequest) -> _Cells:
    found = geometry.select(request.bbox, request.polygon)
    row, column = np.nonzero(found.mask)
    rows, columns = found.rows[row], found.columns[column]
    areas, weights = grid_areas(geometry, rows, columns)
    return _Cells(np.stack([rows, columns], axis=1), areas, weights, rows.size, found.empty_reason)


def _cells_of_mesh(layout: ItemLayout, places: MeshPlaces, request: AreaRequest, level: int) -> _Cells:
    found = places.geometry.select(request.bbox, request.polygon)
    wanted = wanted_of(layout, places, found.elements, level, whole=request.bbox is None and not request.polygon)
    there = wanted.columns >= 0
    columns = wanted.columns[there]
    stored = np.stack([np.zeros_like(columns), columns], axis=1)
    if layout.item.location == "node" or layout.item.value_kind == "zlevel":
        return _Cells(stored, None, "", wanted.numbers.size, found.empty_reason)
    areas, weights = element_areas(places.geometry, wanted.numbers[there])
    return _Cells(stored, areas, weights, wanted.numbers.size, found.empty_reason)


def _parts(layout: ItemLayout, times: range, places: Array) -> Iterator[tuple[range, Array]]:
    """Times of whole groups x cells of whole pages, at most `MOST_VALUES` together where a page allows it."""
    if not len(places) or not len(times):
        return
    pages = layout.tiles.pages_at(places[:, 0], places[:, 1])
    order = np.argsort(pages, kind="stable")
    ends = np.flatnonzero(np.diff(pages[order])) + 1
    group = layout.group_size if layout.stored_as == "TimeSeries" else 1
    most = MOST_VALUES // layout.item.components
    most_cells = max(1, most // group)
    start = 0
    for stop in _ends(ends, len(places), most_cells):
        cell_part = order[start:stop]
        steps = max(1, most // (group * cell_part.size)) * group
        first = times.start
        while first < times.stop:
            last = min(times.stop, (first // group) * group + steps)
            yield range(first, last), cell_part
            first = last
        start = stop


def _units(layout: ItemLayout, times: range, places: Array) -> int:
    """How many steps of progress the reading of a part makes."""
    groups = -(-times.stop // layout.group_size) - times.start // layout.group_size
    pages = np.unique(layout.tiles.pages_at(places[:, 0], places[:, 1])).size if layout.stored_as == "TimeSeries" else 1
    return groups * pages


def _ends(page_ends: Array, count: int, most: int) -> Iterator[int]:
    """Where the parts of the cells end: after as many pages as `most` cells allow, at least one."""
    start, last = 0, 0
    for end in [*page_ends.tolist(), count]:
        if end - start > most and last > start:
            yield last
            start = last
        last = end
    yield count


def _result(request: AreaRequest, layout: ItemLayout, times: range, cells: _Cells, moments: _Moments, explain: Explain
            ) -> AreaResult:
    seen = moments.count > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = moments.with_infinite(np.sqrt(moments.squares / moments.finite), spread=True)
        area_mean = moments.with_infinite(moments.weighted / moments.weight)
    mean, total = moments.with_infinite(moments.mean), moments.with_infinite(moments.total)
    reason = cells.empty_reason or ("" if seen.any() else _NO_DATA if len(times) else NO_TIME)
    minimum, maximum, mean, deviation, area_mean = (
        np.where(seen, part, np.nan) for part in (moments.minimum, moments.maximum, mean, deviation, area_mean))
    area_mean = area_mean if cells.areas is not None else np.full_like(area_mean, np.nan)
    return AreaResult(request, layout.item, layout.times[times.start:times.stop], cells.count, moments.count, minimum,
                      maximum, mean, total, deviation, area_mean, cells.weights, explain, reason)
