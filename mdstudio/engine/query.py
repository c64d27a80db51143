"""Queries: an immutable request in, values with coordinates and the record of what was read for them out (design 2).

Reads only the pages that the request touches (P2). Any thread; several queries may run at once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from mdstudio.engine.errors import NotFoundError, UsageError
from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.model import COMPONENTS, NO_LAYER, Array, Item
from mdstudio.engine.progress import Progress
from mdstudio.engine.reading import series, steps
from mdstudio.engine.reading.again import Sleep
from mdstudio.engine.reading.tally import Tally
from mdstudio.engine.requests import Explain, MapRequest, MapResult, SeriesRequest, SeriesResult, decode_values
from mdstudio.engine.spatial.grid import GridGeometry, Selection
from mdstudio.engine.storage import BlobStorage

NO_TIME = "There is no time in the range that is asked for."


@dataclass(frozen=True)
class Source:
    """What a query reads from: the storage and the layout of its item."""

    storage: BlobStorage
    layout: ItemLayout
    progress: Progress | None = None
    sleep: Sleep = time.sleep

    def tally(self) -> Tally:
        """A fresh count of what a query does."""
        return Tally(self.storage, self.progress, self.sleep)


def read_map(source: Source, geometry: GridGeometry, request: MapRequest) -> MapResult:
    """Cells of one slice of a grid: all of it, or those that a rectangle or polygon touches.

    Raises `NotFoundError` for a time or layer that is not there, `UsageError`, `DamagedDataError`, `BlobChangedError`
    when the blob changed twice while it was read.
    """
    layout = source.layout
    layer = layer_number(layout.item, request.layer)
    moment = time_number(layout, request.time)
    found = geometry.select(request.bbox, request.polygon)
    x, y = geometry.centres(found.rows, found.columns)
    if not found.rows.size or not found.columns.size:
        nothing = numbers_of(np.empty((found.rows.size, found.columns.size), layout.format.dtype))
        return MapResult(request, layout.item, found.rows, found.columns, nothing, decode_values(layout.item, nothing),
                         found.mask, x, y, Explain(), found.empty_reason)
    tally = source.tally()
    stored = numbers_of(read_cells(tally, layout, layer, moment, found.rows, found.columns,
                                   touched_pages(layout, found)))
    values = decode_values(layout.item, stored)
    if not _takes_all(found):
        values[~found.mask] = np.nan
    return MapResult(request, layout.item, found.rows, found.columns, stored, values, found.mask, x, y, tally.explain(),
                     found.empty_reason)


def read_series(source: Source, geometry: GridGeometry, request: SeriesRequest) -> SeriesResult:
    """The values of a grid at points over time; errors as `read_map`."""
    layout = source.layout
    layer = layer_number(layout.item, request.layer)
    cells = geometry.locate(request.points, request.nearest)
    return series_at(source, request, layer, cells, cells, *geometry.centres_at(cells))


def series_at(
    source: Source, request: SeriesRequest, layer: int, cells: Array, places: Array, x: Array, y: Array
) -> SeriesResult:
    """The series of some (point, 2) places, rows and columns of the stored slice, -1 for none; `cells`, `x` and `y` go
    into the result as they are."""
    layout = source.layout
    times = time_range(layout, request.start, request.stop)
    stored = np.empty((len(times), len(places)), layout.format.dtype)
    layout.format.fill(stored)
    inside = np.flatnonzero(places[:, 0] >= 0)
    tally = source.tally()
    if inside.size and len(times):
        stored[:, inside] = read_over_time(tally, layout, layer, times, places[inside])
    numbers = numbers_of(stored)
    values = decode_values(layout.item, numbers)
    values[:, places[:, 0] < 0] = np.nan
    return SeriesResult(request, layout.item, layout.times[times.start:times.stop], numbers, values, cells, x, y,
                        tally.explain())


def read_block(source: Source, times: slice, layer: int, rows: slice, columns: slice) -> Array:
    """(time, row, column) stored values of a part of the grid, little-endian; layer -1 for an item without layers. The
    components of a vector are one more axis. The one row of a mesh holds its values in stored order, all layers of a
    z-level or sigma item.

    For comparing and exporting: each page is decoded once a time, each TimeSeries block once. Slices without a step,
    inside the dataset. Errors as `read_map`.
    """
    layout = source.layout
    tally = source.tally()
    at_rows, at_columns = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
    if layout.stored_as == "TimeSeries":
        cells = np.stack(np.meshgrid(at_rows, at_columns, indexing="ij"), axis=-1).reshape(-1, 2)
        found = series.read_series(tally, layout, layer, range(times.start, times.stop), cells)
        return numbers_of(found.reshape(-1, at_rows.size, at_columns.size))
    pages = layout.tiles.pages_of(at_rows, at_columns)
    return numbers_of(np.stack([steps.read_slice(tally, layout, layer, time, at_rows, at_columns, pages)
                                for time in range(times.start, times.stop)]))


def read_cells(
    tally: Tally, layout: ItemLayout, layer: int, moment: int, rows: Array, columns: Array, pages: Array
) -> Array:
    """(rows, columns) stored cells of one time, out of these pages; cells of others are no-data."""
    if layout.stored_as == "TimeSeries":
        return series.read_slice(tally, layout, layer, moment, rows, columns, pages)
    return steps.read_slice(tally, layout, layer, moment, rows, columns, pages)


def read_over_time(tally: Tally, layout: ItemLayout, layer: int, times: range, cells: Array) -> Array:
    """(time, cell) stored cells of (cell, 2) rows and columns."""
    if layout.stored_as == "TimeSeries":
        return series.read_series(tally, layout, layer, times, cells)
    return steps.read_series(tally, layout, layer, times, cells)


def numbers_of(cells: Array) -> Array:
    """The numbers of cells: themselves, or the components of a vector as one more axis."""
    numbers: Array = cells[COMPONENTS] if cells.dtype.names else cells
    return numbers


def touched_pages(layout: ItemLayout, found: Selection) -> Array:
    """Sorted pages that hold a cell of the selection, not only of its block."""
    pages = layout.tiles.pages_of(found.rows, found.columns)
    if _takes_all(found):
        return pages
    row, column = np.nonzero(found.mask)
    return np.intersect1d(pages, layout.tiles.pages_at(found.rows[row], found.columns[column]))


def _takes_all(found: Selection) -> bool:
    """Whether every cell of the block belongs to the selection; costs nothing for a mask that is one flag."""
    mask = found.mask
    return bool(mask[0, 0] if mask.size and mask.strides == (0, 0) else mask.all())


def layer_number(item: Item, layer: int | None) -> int:
    """The layer in blob names that a request means."""
    asked = asked_layer(item, layer)
    return NO_LAYER if item.layers_together else asked


def asked_layer(item: Item, layer: int | None) -> int:
    """The layer that a request means: 0 where a layered item is asked for without one, -1 of one without layers."""
    if item.layers is None:
        if layer is not None and layer != NO_LAYER:
            raise UsageError(f"'{item.name}' has no layers; ask for it without one.")
        return NO_LAYER
    number = 0 if layer is None else layer
    if not 0 <= number < len(item.layers):
        raise NotFoundError(f"'{item.name}' has no layer {number}; it has 0 to {len(item.layers) - 1}.")
    return number


def time_number(layout: ItemLayout, index: int) -> int:
    """A time index that is there; `NotFoundError` otherwise."""
    if not 0 <= index < len(layout.times):
        raise NotFoundError(f"There is no time #{index}; the dataset has {len(layout.times)} times from #0.")
    return index


def time_range(layout: ItemLayout, start: int | None, stop: int | None) -> range:
    """The asked times, None for the ends; `NotFoundError` where they are not there."""
    count = len(layout.times)
    start = 0 if start is None else start
    stop = count if stop is None else stop
    if not 0 <= start <= stop <= count:
        raise NotFoundError(f"There are no times #{start} to #{stop - 1}; the dataset has {count} times from #0.")
    return range(start, stop)
