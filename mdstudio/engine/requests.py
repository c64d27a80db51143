"""Requests and results of queries: immutable, made anywhere, answered by `mdstudio.engine.query` (design 2, 3).

A request can be pickled, compared and shown as a command; a result carries the values, the coordinates and an explain
record of what was read for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mdstudio.engine.model import Array, Item
from mdstudio.engine.times import TimeAxis

Bbox = tuple[float, float, float, float]  # x0, y0, x1, y1 in any order, in the dataset's CRS


@dataclass(frozen=True, slots=True)
class PageRef:
    """One stored page or block: where it lies and what part of the grid it holds.

    Attributes:
        blob: name below the dataset's root.
        page: number in its index (MultiTimestep: within its timestep).
        offset, length: bytes in the blob; length 0 for an all-no-data page.
        rows, columns: (start, stop) of the cells it holds. A TimeSeries block that does not hold whole rows of its tile
            gives the rows it touches, of a tile of one row the columns it holds.
    """

    blob: str
    page: int
    offset: int
    length: int
    rows: tuple[int, int]
    columns: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Explain:
    """What a query cost: pages touched and decoded (length-0 pages are touched, not decoded), requests, bytes, time.

    `pages` names the first 65 536 of them. `wait_us` is the time spent waiting for the storage, `decode_us` in codecs,
    both summed over threads.
    """

    pages_touched: int = 0
    pages_decoded: int = 0
    requests: int = 0
    bytes_read: int = 0
    read_us: int = 0
    decode_us: int = 0
    pages: tuple[PageRef, ...] = ()


@dataclass(frozen=True, slots=True)
class MapRequest:
    """One layer of one item at one time: the whole slice, or the cells that a rectangle touches (P3).

    Attributes:
        item: name.
        time: index, 0 ... times - 1.
        layer: index for an item with layers, None otherwise (0 is taken for a layered item).
        bbox: rectangle in the dataset's CRS, corners in any order; None for the whole slice.
        polygon: WKT of a POLYGON or MULTIPOLYGON in the dataset's CRS instead of a rectangle; "" for none.
    """

    item: str
    time: int = 0
    layer: int | None = None
    bbox: Bbox | None = None
    polygon: str = ""


@dataclass(frozen=True)
class MapResult:
    """Cells of one slice.

    Attributes:
        rows, columns: indices into the grid, int64, of the block that `stored` is; a rectangle over the wrap of a
            0..360 grid gives columns that are not contiguous.
        stored: (rows, columns) as stored, row 0 = first of `rows`, stored type.
        values: (rows, columns) float64, scale applied, NaN where there is no data or `mask` is False.
        mask: (rows, columns) bool: the cell belongs to the request.
        x, y: centres in the dataset's CRS, 1-D (columns,), (rows,); for curvilinear grids 2-D (rows, columns)
            longitude and latitude.
        empty_reason: why no cell was found; "" otherwise.
    """

    request: MapRequest
    item: Item
    rows: Array
    columns: Array
    stored: Array
    values: Array
    mask: Array
    x: Array
    y: Array
    explain: Explain = field(default_factory=Explain)
    empty_reason: str = ""


@dataclass(frozen=True, slots=True)
class SeriesRequest:
    """The values of one item at points over time.

    Attributes:
        points: (x, y) in the dataset's CRS; the cell that contains the point is taken, the nearest one when
            `nearest` is set and no cell contains it.
        start, stop: time indices, stop excluded; None for the ends.
    """

    item: str
    points: tuple[tuple[float, float], ...]
    layer: int | None = None
    start: int | None = None
    stop: int | None = None
    nearest: bool = False


@dataclass(frozen=True)
class SeriesResult:
    """Series at points.

    Attributes:
        times: the axis of the asked range.
        stored: (time, point) as stored; a point outside the grid holds the no-data value (or 0).
        values: (time, point) float64, NaN where there is no data or no cell.
        cells: (point, 2) int64 row and column, -1 for a point outside the grid.
        x, y: (point,) float64 centres of the cells, NaN outside.
    """

    request: SeriesRequest
    item: Item
    times: TimeAxis
    stored: Array
    values: Array
    cells: Array
    x: Array
    y: Array
    explain: Explain = field(default_factory=Explain)


@dataclass(frozen=True, slots=True)
class AreaRequest:
    """Statistics of one item over an area, at each time.

    Attributes:
        item: name.
        bbox, polygon: the area, as in `MapRequest`; neither: the whole grid or mesh.
        layer: as in `MapRequest`.
        start, stop: time indices, stop excluded; None for the ends.
    """

    item: str
    bbox: Bbox | None = None
    polygon: str = ""
    layer: int | None = None
    start: int | None = None
    stop: int | None = None


@dataclass(frozen=True)
class AreaResult:
    """Statistics over an area; computed in float64 from the values with data.

    Attributes:
        times: the axis of the asked range.
        cells: how many cells, elements or nodes the area touches (P3).
        count: (time,) int64 how many of them have data. Of a vector one more axis for its components, here and below.
        minimum, maximum, mean, total: (time,) float64; NaN where `count` is 0 (`total`: 0).
        deviation: (time,) float64 standard deviation of the population, sqrt(mean((v - mean)^2)).
        area_mean: (time,) float64 mean weighted by the areas of the cells; NaN where they are unknown (`weights`).
        weights: what the areas are: "sphere" (longitude and latitude), "plane" (units of the CRS), or "" for nodes.
        empty_reason: why no cell was found, or that none has data or no time is asked for, as a sentence; "" otherwise.
    """

    request: AreaRequest
    item: Item
    times: TimeAxis
    cells: int
    count: Array
    minimum: Array
    maximum: Array
    mean: Array
    total: Array
    deviation: Array
    area_mean: Array
    weights: str = ""
    explain: Explain = field(default_factory=Explain)
    empty_reason: str = ""


@dataclass(frozen=True, slots=True)
class LineRequest:
    """The values of one item along a line (a transect), of all layers or of one, at some times.

    Attributes:
        line: two or more (x, y) corners in the dataset's CRS.
        layer: index; None for all layers of an item that has layers.
        start, stop: time indices, stop excluded; None for the ends.
    """

    item: str
    line: tuple[tuple[float, float], ...]
    layer: int | None = None
    start: int | None = None
    stop: int | None = None


@dataclass(frozen=True)
class LineResult:
    """What a line crosses, in the order in which it does: n stretches, each within one cell or outside all.

    A stretch along a shared edge belongs to the first cell in stored order, as a point on it does. The values are those
    of the cell; of nodes, of the one closest to the middle of the stretch.

    Attributes:
        times: the axis of the asked range.
        edges: (n + 1,) float64 distances from the start at which stretches begin and end, ascending.
        unit: of `edges`: "m" along great circles where x is a longitude, else the unit of x.
        x, y: (n,) float64 the middles of the stretches.
        cells: (n, 2) int64 row and column; of a mesh (n, 1) element or node; -1 outside.
        layers: the layer indices; [-1] of an item without layers.
        stored, values: (time, layer, n) as in `SeriesResult`; a stretch outside, or a layer that is not there, has the
            no-data value (or 0) and NaN. Of a vector one more axis for its components.
        empty_reason: why no cell is crossed, or that none has data or no time is asked for, as a sentence; "" else.
    """

    request: LineRequest
    item: Item
    times: TimeAxis
    edges: Array
    unit: str
    x: Array
    y: Array
    cells: Array
    layers: Array
    stored: Array
    values: Array
    explain: Explain = field(default_factory=Explain)
    empty_reason: str = ""


def decode_values(item: Item, stored: Array) -> Array:
    """Stored numbers as float64, scaled, NaN where there is no data: the one definition for map, series and export.

    No-data is compared by bit pattern for floats with a NaN fill and by value else; `missing` and the valid range are
    applied in the stored domain (cases 1 to 3).
    """
    with np.errstate(all="ignore"):  # any bit pattern may be stored, signalling NaNs too
        return _decoded(item, stored)


def _decoded(item: Item, stored: Array) -> Array:
    invalid = np.zeros(stored.shape, bool)
    whole = stored.dtype.kind in "iu"
    for code in (*(() if item.no_data is None else (item.no_data,)), *item.missing):
        if code == code and not (whole and code % 1):  # NaN stays NaN below; no integer equals a fraction
            invalid |= stored == (int(code) if whole and math.isfinite(code) else code)
    if item.valid_min is not None:
        invalid |= stored < _limit(item.valid_min, whole, math.ceil)
    if item.valid_max is not None:
        invalid |= stored > _limit(item.valid_max, whole, math.floor)
    values = stored.astype(np.float64)
    if item.scale is not None or item.offset is not None:
        values *= 1.0 if item.scale is None else item.scale  # in place: a temporary costs more than the arithmetic
        values += item.offset or 0.0
    values[invalid] = np.nan
    return values


def _limit(limit: int | float, whole: bool, rounded: Callable[[float], int]) -> int | float:
    """A limit for integers as an integer: compared as floats, those of 64 bits would take their neighbours along."""
    return rounded(limit) if whole and math.isfinite(limit) else limit
