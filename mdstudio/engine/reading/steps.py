"""Values out of the layouts per timestep: only the pages that hold them, each once (P2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from mdstudio.engine.layout import multi, single
from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.layout.pages import decode_page
from mdstudio.engine.layout.step_pages import StepPages
from mdstudio.engine.model import Array
from mdstudio.engine.reading.again import again
from mdstudio.engine.reading.fetch import Bytes, fetch
from mdstudio.engine.reading.tally import Tally
from mdstudio.engine.reading.threads import DECODERS, decode_all, read_all
from mdstudio.engine.requests import PageRef

PARALLEL_BYTES = 512 << 10  # raw bytes from which decoding is spread over threads
BATCH_BYTES = 32 << 20  # stored bytes that a series holds at once for each group being read


def read_slice(
    tally: Tally, layout: ItemLayout, layer: int, time: int, rows: Array, columns: Array, pages: Array
) -> Array:
    """(rows, columns) stored values of one timestep; cells of other pages than `pages` are no-data."""
    return again(layout, lambda: _slice(tally, layout, layer, time, rows, columns, pages), tally.sleep)


def step_pages(tally: Tally, layout: ItemLayout, layer: int, time: int) -> StepPages:
    """Where the pages of one timestep lie."""
    if layout.stored_as == "SingleTimestep":
        return single.step_pages(tally.storage, layout, layer, time)
    return multi.step_pages(tally.storage, layout, layer, time)


def _slice(
    tally: Tally, layout: ItemLayout, layer: int, time: int, rows: Array, columns: Array, pages: Array
) -> Array:
    tally.check()
    step = step_pages(tally, layout, layer, time)
    data = fetch_pages(tally, step, pages)
    values = np.empty((rows.size, columns.size), layout.format.dtype)
    if not _covers(layout, pages, rows, columns):
        layout.format.fill(values)
    scatter = _Scatter(layout, values, rows, columns)

    def decode(part: slice) -> None:
        with tally.decoding():
            for page, stored in zip(pages[part], data[part], strict=True):
                tally.check()
                scatter.page(int(page), stored, step.blob)

    parallel = DECODERS if int(layout.raw_bytes[pages].sum()) >= PARALLEL_BYTES else 1
    bounds = pairwise(len(data) * i // parallel for i in range(parallel + 1))
    decode_all(decode, [slice(start, stop) for start, stop in bounds if start < stop])
    tally.pages(page_refs(layout, step, pages))
    return values


def _covers(layout: ItemLayout, pages: Array, rows: Array, columns: Array) -> bool:
    """Whether the pages hold every cell of the rows and columns."""
    return pages.size == layout.tiles.pages or pages.size == layout.tiles.pages_of(rows, columns).size


def fetch_pages(tally: Tally, step: StepPages, pages: Array) -> list[Bytes]:
    """The stored bytes of some pages of one timestep."""
    ranges = list(zip(step.offsets[pages].tolist(), step.lengths[pages].tolist(), strict=True))
    return fetch(tally.storage, step.blob, ranges, step.version, length=step.length, multiple=step.multiple)


def page_refs(layout: ItemLayout, step: StepPages, pages: Array) -> list[PageRef]:
    """The pages for an explain record."""
    tiles = layout.tiles
    facts = (step.offsets, step.lengths, tiles.row0, tiles.row1, tiles.column0, tiles.column1)
    return [PageRef(step.blob, page, offset, length, (row0, row1), (column0, column1))
            for page, offset, length, row0, row1, column0, column1
            in zip(pages.tolist(), *(fact[pages].tolist() for fact in facts), strict=True)]


class _Scatter:
    """Decodes pages and puts their cells where a result wants them."""

    def __init__(self, layout: ItemLayout, values: Array, rows: Array, columns: Array) -> None:
        self._layout, self._values, self._rows, self._columns = layout, values, rows, columns
        self._row_run, self._column_run = _run(rows), _run(columns)

    def page(self, page: int, stored: Bytes, blob: str) -> None:
        tiles = self._layout.tiles
        row0, column0 = int(tiles.row0[page]), int(tiles.column0[page])
        shape = self._layout.page_shape(page)
        to_rows, from_rows = _overlap(self._rows, self._row_run, row0, row0 + shape[0])
        to_columns, from_columns = _overlap(self._columns, self._column_run, column0, column0 + shape[1])
        if isinstance(to_rows, slice) and isinstance(to_columns, slice):
            part = self._values[to_rows, to_columns]
            if part.shape == shape:  # all of the page is wanted: decoded where it belongs
                decode_page(self._layout.format, stored, part, f"{blob} page {page}")
                return
        cells = np.empty(shape, self._layout.format.dtype)
        decode_page(self._layout.format, stored, cells, f"{blob} page {page}")
        if isinstance(to_rows, slice) and isinstance(to_columns, slice):
            self._values[to_rows, to_columns] = cells[from_rows, from_columns]
        else:
            part = cells[from_rows][:, from_columns]
            self._values[np.ix_(np.arange(self._rows.size)[to_rows], np.arange(self._columns.size)[to_columns])] = part


def _run(indices: Array) -> int | None:
    """The first index when they run upwards one by one, else None."""
    if indices.size and int(indices[-1]) - int(indices[0]) == indices.size - 1 and bool((np.diff(indices) == 1).all()):
        return int(indices[0])
    return None


def _overlap(indices: Array, run: int | None, start: int, stop: int) -> tuple[slice | Array, slice | Array]:
    """Positions in a result and in a page of the indices that lie in the page's [start, stop)."""
    if run is None:
        positions = np.flatnonzero((indices >= start) & (indices < stop))
        return positions, indices[positions] - start
    first, last = max(run, start), min(run + indices.size, stop)
    return slice(first - run, last - run), slice(first - start, last - start)


def read_series(tally: Tally, layout: ItemLayout, layer: int, times: range, cells: Array) -> Array:
    """(time, cell) stored values of (cell, 2) rows and columns: the page of each cell at each time, each page once.

    Groups (SingleTimestep: timesteps) are read several at once.
    """
    values = np.empty((len(times), len(cells)), layout.format.dtype)
    pages, member = np.unique(layout.tiles.pages_at(cells[:, 0], cells[:, 1]), return_inverse=True)
    wanted = _Cells(layout, cells, pages, member)

    if not layout.format.compressed:
        group = _raw_series
    elif layout.stored_as == "SingleTimestep":
        group = _single_series
    else:
        group = _multi_series

    def read(part: range) -> None:
        into = values[part.start - times.start:part.stop - times.start]
        again(layout, lambda: group(tally, layout, layer, part, wanted, into), tally.sleep)
        tally.advance()

    tally.start(-(-times.stop // layout.group_size) - times.start // layout.group_size, "groups")
    read_all(read, _time_parts(layout, times))
    return values


def _time_parts(layout: ItemLayout, times: range) -> Iterator[range]:
    """The times of each group that is asked for."""
    start = times.start
    while start < times.stop:
        stop = min((start // layout.group_size + 1) * layout.group_size, times.stop)
        yield range(start, stop)
        start = stop


class _Cells:
    """The cells of a series query by page."""

    def __init__(self, layout: ItemLayout, cells: Array, pages: Array, member: Array) -> None:
        tiles = layout.tiles
        self.layout, self.pages = layout, pages
        self.page = pages[member]
        self.row, self.column = cells[:, 0] - tiles.row0[self.page], cells[:, 1] - tiles.column0[self.page]
        self.members = [np.flatnonzero(member == i) for i in range(len(pages))]

    def byte_ranges(self, step: StepPages) -> list[tuple[int, int]]:
        """The bytes of each cell in an uncompressed timestep."""
        width = self.layout.tiles.column1[self.page] - self.layout.tiles.column0[self.page]
        item_bytes = self.layout.format.dtype.itemsize
        offsets = step.offsets[self.page] + (self.row * width + self.column) * item_bytes
        return [(int(offset), item_bytes) for offset in offsets]

    def decode(self, data: Sequence[Bytes], blob: str, into: Array) -> None:
        """Take the cells of one timestep, (cell,), out of the stored bytes of `pages`."""
        for page, stored, members in zip(self.pages, data, self.members, strict=True):
            buffer = np.empty(self.layout.page_shape(int(page)), self.layout.format.dtype)
            decode_page(self.layout.format, stored, buffer, f"{blob} page {page}")
            into[members] = buffer[self.row[members], self.column[members]]


def _single_series(tally: Tally, layout: ItemLayout, layer: int, times: range, wanted: _Cells, into: Array) -> None:
    for time in times:
        tally.check()
        step = single.step_pages(tally.storage, layout, layer, time)
        data = fetch_pages(tally, step, wanted.pages)
        with tally.decoding():
            wanted.decode(data, step.blob, into[time - times.start])
        tally.pages(page_refs(layout, step, wanted.pages))


def _multi_series(tally: Tally, layout: ItemLayout, layer: int, times: range, wanted: _Cells, into: Array) -> None:
    tally.check()
    index = multi.read_index(tally.storage, layout, layer, times.start // layout.group_size)
    first = times.start % layout.group_size
    steps = [StepPages(index.blob, index.version, index.offsets(slot), index.lengths[slot].astype(np.int64))
             for slot in range(first, first + len(times))]
    refs: list[PageRef] = []
    for start, stop in _batches([int(step.lengths[wanted.pages].sum()) for step in steps]):
        tally.check()
        ranges = [(int(step.offsets[page]), int(step.lengths[page]))
                  for step in steps[start:stop] for page in wanted.pages]
        data = fetch(tally.storage, index.blob, ranges, index.version)
        with tally.decoding():
            for i, step in enumerate(steps[start:stop]):
                wanted.decode(data[i * len(wanted.pages):(i + 1) * len(wanted.pages)], step.blob, into[start + i])
        refs.extend(ref for step in steps[start:stop] for ref in page_refs(layout, step, wanted.pages))
    tally.pages(refs)


def _batches(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of timesteps whose pages hold at most `BATCH_BYTES`."""
    batches, start, held = [], 0, 0
    for i, size in enumerate(sizes):
        if i > start and held + size > BATCH_BYTES:
            batches.append((start, i))
            start, held = i, 0
        held += size
    return [*batches, (start, len(sizes))]


def _raw_series(tally: Tally, layout: ItemLayout, layer: int, times: range, wanted: _Cells, into: Array) -> None:
    """Uncompressed: the bytes of the cells alone, from one blob a group."""
    tally.check()
    steps = [multi.raw_step_pages(layout, layer, time) if layout.stored_as == "MultiTimestep"
             else single.step_pages(tally.storage, layout, layer, time) for time in times]
    ranges = [part for step in steps for part in wanted.byte_ranges(step)]
    data = fetch(tally.storage, steps[0].blob, ranges, None, length=steps[0].length, multiple=steps[0].multiple)
    into[...] = np.frombuffer(b"".join(data), layout.format.dtype).reshape(into.shape)
    tally.pages([ref for step in steps for ref in page_refs(layout, step, wanted.pages)])
