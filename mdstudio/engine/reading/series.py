"""Values out of TimeSeries blobs: the header, then the blocks that hold the rows asked for, each once (T6, T7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mdstudio.engine.errors import DamagedDataError, RangeError
from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.layout.pages import decode_page
from mdstudio.engine.layout.series import SeriesBlocks, raw_blocks, read_blocks, stored_columns
from mdstudio.engine.model import Array
from mdstudio.engine.reading.again import once_more
from mdstudio.engine.reading.fetch import fetch
from mdstudio.engine.reading.tally import Tally
from mdstudio.engine.reading.threads import read_all
from mdstudio.engine.requests import PageRef

RAW_MAP_ROWS = 64  # rows of an uncompressed blob that a map takes together


def read_slice(
    tally: Tally, layout: ItemLayout, layer: int, time: int, rows: Array, columns: Array, pages: Array
) -> Array:
    """(rows, columns) stored values of one time: every block of `pages` that holds one of the cells is decoded; cells
    of other pages are no-data."""
    values = np.empty((rows.size, columns.size), layout.format.dtype)
    if pages.size < layout.tiles.pages_of(rows, columns).size:
        layout.format.fill(values)
    group = time // layout.group_size
    column = time - layout.group_times(group)[0]
    tiles = layout.tiles

    def read(page: int) -> None:
        row0, column0 = int(tiles.row0[page]), int(tiles.column0[page])
        height, width = layout.page_shape(page)
        at_rows = np.flatnonzero((rows >= row0) & (rows < row0 + height))
        at_columns = np.flatnonzero((columns >= column0) & (columns < column0 + width))
        cells = ((rows[at_rows] - row0)[:, None] * width + (columns[at_columns] - column0)).ravel()
        one = slice(column, column + 1)
        part = once_more(lambda: _rows(tally, layout, layer, page, group, cells, one, RAW_MAP_ROWS))
        values[np.ix_(at_rows, at_columns)] = part.reshape(at_rows.size, at_columns.size)

    read_all(read, [int(page) for page in pages])
    return values


def read_series(tally: Tally, layout: ItemLayout, layer: int, times: range, cells: Array) -> Array:
    """(time, cell) stored values of (cell, 2) rows and columns; groups and tiles are read several at once."""
    values = np.empty((len(times), len(cells)), layout.format.dtype)
    tiles = layout.tiles
    cell_pages = tiles.pages_at(cells[:, 0], cells[:, 1])
    pages = np.unique(cell_pages)
    groups = range(times.start // layout.group_size, -(-times.stop // layout.group_size))

    def wanted() -> Iterator[_Part]:
        for page in pages.tolist():
            members = np.flatnonzero(cell_pages == page)
            width = int(tiles.column1[page] - tiles.column0[page])
            rows = (cells[members, 0] - tiles.row0[page]) * width + cells[members, 1] - tiles.column0[page]
            yield from (_Part(page, group, members, rows) for group in groups)

    def read(part: _Part) -> None:
        start, stop = layout.group_times(part.group)
        first, last = max(start, times.start), min(stop, times.stop)
        found = once_more(lambda: _rows(tally, layout, layer, part.page, part.group, part.rows,
                                        slice(first - start, last - start), 1))
        values[first - times.start:last - times.start, part.members] = found.T
        tally.advance()

    tally.start(pages.size * len(groups), "groups")
    read_all(read, wanted())
    return values


@dataclass(frozen=True)
class _Part:
    page: int
    group: int
    members: Array
    rows: Array


def _rows(
    tally: Tally, layout: ItemLayout, layer: int, page: int, group: int, rows: Array, columns: slice, raw_rows: int
) -> Array:
    """(row, column) values of some rows of one blob; 2 dependent requests, 1 for an uncompressed one."""
    tally.check()
    blocks = blob_blocks(tally, layout, layer, page, group, raw_rows)
    height = int(blocks.row1[0] - blocks.row0[0])
    order = np.argsort(rows // height, kind="stable")
    touched, first = np.unique(rows[order] // height, return_index=True)
    ranges = list(zip(blocks.offsets[touched].tolist(), blocks.lengths[touched].tolist(), strict=True))
    data = fetch(tally.storage, blocks.blob, ranges, blocks.version, length=blocks.length, pin=layout.format.compressed)
    values = np.empty((rows.size, columns.stop - columns.start), layout.format.dtype)
    with tally.decoding():
        held_columns = stored_columns(layout, blocks, zip(touched.tolist(), data, strict=True))
        buffer = np.empty((height, held_columns), layout.format.dtype)
        for i, (block, members) in enumerate(zip(touched.tolist(), np.split(order, first[1:]), strict=True)):
            if i % 64 == 0:
                tally.check()
            held = buffer[:int(blocks.row1[block]) - block * height]
            decode_page(layout.format, data[i], held, f"{blocks.blob} block {block}")
            values[members] = held[rows[members] - block * height, columns]
    tally.pages(block_refs(layout, page, blocks, touched))
    return values


def blob_blocks(tally: Tally, layout: ItemLayout, layer: int, page: int, group: int, raw_rows: int) -> SeriesBlocks:
    """The block table of a blob; an uncompressed one is cut into blocks of `raw_rows` rows."""
    if not layout.format.compressed:
        return raw_blocks(layout, layer, page, group, min(raw_rows, int(layout.cells[page])))
    try:
        return read_blocks(tally.storage, layout, layer, page, group)
    except RangeError as error:
        raise DamagedDataError("The blob is empty.", where=layout.series_blob(layer, page, group)) from error


def block_refs(layout: ItemLayout, page: int, blocks: SeriesBlocks, touched: Array) -> list[PageRef]:
    """The blocks for an explain record; those of a tile of one row by their columns."""
    row0, (height, width) = int(layout.tiles.row0[page]), layout.page_shape(page)
    if height == 1:
        first, last = (int(layout.tiles.column0[page]) + ends[touched] for ends in (blocks.row0, blocks.row1))
        facts = (touched, blocks.offsets[touched], blocks.lengths[touched], first, last)
        return [PageRef(blocks.blob, block, offset, length, (row0, row0 + 1), (start, stop))
                for block, offset, length, start, stop in zip(*(fact.tolist() for fact in facts), strict=True)]
    columns = int(layout.tiles.column0[page]), int(layout.tiles.column1[page])
    first, last = row0 + blocks.row0[touched] // width, row0 + (blocks.row1[touched] - 1) // width + 1
    facts = (touched, blocks.offsets[touched], blocks.lengths[touched], first, last)
    return [PageRef(blocks.blob, block, offset, length, (start, stop), columns)
            for block, offset, length, start, stop in zip(*(fact.tolist() for fact in facts), strict=True)]
