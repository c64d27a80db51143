"""The pages of one slice: where they lie and what cells they hold, and one page taken apart (G4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdstudio.engine.codecs import BlockInfo, describe_block
from mdstudio.engine.errors import DamagedDataError, NotFoundError
from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.layout.pages import CHECKSUM_BYTES, checked, decode_page
from mdstudio.engine.layout.series import SeriesBlocks, stored_columns
from mdstudio.engine.layout.step_pages import StepPages
from mdstudio.engine.model import Array
from mdstudio.engine.reading import series, steps
from mdstudio.engine.reading.again import Sleep, again, once_more
from mdstudio.engine.reading.fetch import Bytes, fetch
from mdstudio.engine.reading.tally import Tally
from mdstudio.engine.reading.threads import read_all
from mdstudio.engine.storage import BlobStorage

Rect = tuple[int, int, int, int]  # row0, row1, column0, column1
FIRST_BYTES = 24  # of a page without a header, that are shown for one


@dataclass(frozen=True)
class PageTable:
    """The pages (TimeSeries: blocks) that one slice lies in, and the rectangles of cells that each holds.

    Attributes:
        blob: the blob; for TimeSeries the folder of its blobs, one a spatial group (`blob_of` names that of a page).
        page: (pages,) int64, the position in this table: what `page_details` and `rect_page` go by.
        number: (pages,) int64, the number in the index of its blob (MultiTimestep: within its timestep).
        offset, length, raw: (pages,) int64 bytes: where it begins, its stored length with checksum, its raw size.
        rect_page: (rectangles,) int64 position of the page that each rectangle belongs to; several where a TimeSeries
            block holds parts of tile rows.
        blobs, blob_index: the names of the blobs, and (pages,) int64 which of them each page is in.
        row0, row1, column0, column1: (rectangles,) int64 half-open cell ranges.
        requests, bytes_read: what it cost to know.
    """

    blob: str
    page: Array
    number: Array
    offset: Array
    length: Array
    raw: Array
    rect_page: Array
    row0: Array
    row1: Array
    column0: Array
    column1: Array
    blobs: tuple[str, ...]
    blob_index: Array
    requests: int = 0
    bytes_read: int = 0

    def __len__(self) -> int:
        return int(self.page.size)

    def blob_of(self, position: int) -> str:
        """The blob of the page at a position of the table."""
        return self.blobs[int(self.blob_index[position])]

    def rectangles(self, position: int) -> tuple[Rect, ...]:
        """The cell ranges of the page at a position of the table."""
        found = np.flatnonzero(self.rect_page == position)
        return tuple((int(self.row0[i]), int(self.row1[i]), int(self.column0[i]), int(self.column1[i])) for i in found)


@dataclass(frozen=True)
class PageDetails:
    """One page taken apart.

    Attributes:
        page: position in the page table; `number`: in the index of its blob.
        offset, length, raw: bytes, as in the table.
        rectangles: the cell ranges it holds.
        info: facts of the block's header; None for a page of length 0 or one whose header cannot be read.
        header: the bytes of the block's header; of a page without one, or whose header cannot be read, its first bytes.
        checksum: True where it is right, False where not, None where the page has none.
        checksum_stored: the checksum's bytes as stored; b"" where the page has none.
        values: decoded, the tile's rows x columns (TimeSeries: series x times); None where it does not decode.
        problem: what is wrong with it, "" for a sound page.
    """

    blob: str
    page: int
    number: int
    offset: int
    length: int
    raw: int
    rectangles: tuple[Rect, ...]
    info: BlockInfo | None
    header: bytes
    checksum: bool | None
    checksum_stored: bytes
    values: Array | None
    problem: str = ""
    requests: int = 0
    bytes_read: int = 0

    @property
    def ratio(self) -> float:
        """Stored / raw."""
        return self.length / self.raw


def page_table(storage: BlobStorage, layout: ItemLayout, layer: int, time: int, sleep: Sleep) -> PageTable:
    """The table of one slice, from its index alone: 1 request (SingleTimestep), 2 or 3 (MultiTimestep), one a spatial
    group (TimeSeries), none for uncompressed data."""
    tally = Tally(storage, None, sleep)
    if layout.stored_as == "TimeSeries":
        return _series_table(tally, layout, layer, time // layout.group_size)
    step = _step(tally, layout, layer, time)
    pages = np.arange(layout.tiles.pages)
    tiles, counts = layout.tiles, tally.storage.snapshot()
    return PageTable(
        step.blob, pages, pages, step.offsets, step.lengths, layout.raw_bytes, pages, tiles.row0, tiles.row1,
        tiles.column0, tiles.column1, (step.blob,), np.zeros_like(pages), counts.requests, counts.bytes_read)


def _step(tally: Tally, layout: ItemLayout, layer: int, time: int) -> StepPages:
    return again(layout, lambda: steps.step_pages(tally, layout, layer, time), tally.sleep)


def _series_table(tally: Tally, layout: ItemLayout, layer: int, group: int) -> PageTable:
    tiles, item_bytes = layout.tiles, layout.format.dtype.itemsize
    tables: list[SeriesBlocks] = read_all(
        lambda page: once_more(lambda: _blocks(tally, layout, layer, page, group)), range(tiles.pages))
    counts = [table.row0.size for table in tables]
    first = np.concatenate(([0], np.cumsum(counts)))[:-1]
    rects = [_block_rects(table, layout.page_shape(page)[1]) for page, table in enumerate(tables)]
    page_of_rect = np.repeat(np.arange(tiles.pages), [len(part) for part in rects])
    joined = np.concatenate(rects)
    read = tally.storage.snapshot()
    return PageTable(
        tables[0].blob.rsplit("/", 2)[0],
        np.arange(sum(counts)),
        np.concatenate([np.arange(count) for count in counts]),
        np.concatenate([table.offsets for table in tables]),
        np.concatenate([table.lengths for table in tables]),
        np.concatenate([(table.row1 - table.row0) * table.columns * item_bytes for table in tables]),
        first[page_of_rect] + joined[:, 0],
        tiles.row0[page_of_rect] + joined[:, 1], tiles.row0[page_of_rect] + joined[:, 2],
        tiles.column0[page_of_rect] + joined[:, 3], tiles.column0[page_of_rect] + joined[:, 4],
        tuple(table.blob for table in tables), np.repeat(np.arange(tiles.pages), counts),
        read.requests, read.bytes_read)


def _blocks(tally: Tally, layout: ItemLayout, layer: int, page: int, group: int) -> SeriesBlocks:
    """The stored blocks of a blob; an uncompressed one is shown in the blocks that a compressed one would have."""
    return series.blob_blocks(tally, layout, layer, page, group, layout.block_rows(page))


def _block_rects(table: SeriesBlocks, width: int) -> Array:
    """(rectangles, 5): block, row0, row1, column0, column1 within the tile: up to three a block, none empty."""
    first_row, first_column = np.divmod(table.row0, width)
    last_row, last_column = np.divmod(table.row1 - 1, width)
    block = np.arange(table.row0.size)
    whole = first_row == last_row
    head_end = np.where(whole, last_column + 1, width)
    head = np.stack([block, first_row, first_row + 1, first_column, head_end], axis=1)
    wide = np.stack([block, first_row + 1, last_row, np.zeros_like(block), np.full_like(block, width)], axis=1)
    tail = np.stack([block, last_row, last_row + 1, np.zeros_like(block), last_column + 1], axis=1)
    return np.concatenate([head, wide[last_row > first_row + 1], tail[~whole]])


def page_details(
    storage: BlobStorage, layout: ItemLayout, layer: int, time: int, position: int, sleep: Sleep
) -> PageDetails:
    """One page at a position of the page table, read and taken apart; reads the index and that page.

    A damaged page comes back with its `problem`. Raises `NotFoundError` for a position that is not there, and what
    `page_table` raises for a damaged index.
    """
    tally = Tally(storage, None, sleep)

    def read() -> tuple[_Place, Bytes]:
        if layout.stored_as == "TimeSeries":
            place = _series_place(tally, layout, layer, time // layout.group_size, position)
        else:
            place = _step_place(tally, layout, layer, time, position)
        return place, fetch(tally.storage, place.blob, [(place.offset, place.length)], place.version)[0]

    place, data = once_more(read)
    info: BlockInfo | None = None
    values: Array | None = None
    checksum = False if len(data) and layout.format.checksums else None
    problem = ""
    try:
        if len(data):
            encoded = checked(layout.format, data)
            checksum = True if layout.format.checksums else None
            info = describe_block(layout.format.codec.name, encoded)
        values = _decoded(layout, place, data)
    except DamagedDataError as error:
        problem = error.message
    header = bytes(data[:(info.header_bytes if info else 0) or FIRST_BYTES])
    stored = b"" if checksum is None else bytes(data[-CHECKSUM_BYTES:])
    counts = tally.storage.snapshot()
    return PageDetails(place.blob, position, place.page, place.offset, place.length, _raw_bytes(layout, place.shape),
                       place.rectangles, info, header, checksum, stored, values, problem, counts.requests,
                       counts.bytes_read)


def _raw_bytes(layout: ItemLayout, shape: tuple[int, int]) -> int:
    return shape[0] * shape[1] * layout.format.dtype.itemsize


def _decoded(layout: ItemLayout, place: _Place, data: Bytes) -> Array:
    """The cells of a page; the listed columns of a TimeSeries block, which may hold more (T4)."""
    rows, columns = place.shape
    held = columns if place.table is None else stored_columns(layout, place.table, [(place.page, data)])
    values = np.empty((rows, held), layout.format.dtype)
    decode_page(layout.format, data, values, place.blob)
    return values[:, :columns]


@dataclass(frozen=True)
class _Place:
    blob: str
    version: str | None
    page: int
    offset: int
    length: int
    shape: tuple[int, int]
    rectangles: tuple[Rect, ...]
    table: SeriesBlocks | None = None


def _step_place(tally: Tally, layout: ItemLayout, layer: int, time: int, page: int) -> _Place:
    if not 0 <= page < layout.tiles.pages:
        raise NotFoundError(f"There is no page {page}; the slice has {layout.tiles.pages}.")
    step, tiles = _step(tally, layout, layer, time), layout.tiles
    rect = (int(tiles.row0[page]), int(tiles.row1[page]), int(tiles.column0[page]), int(tiles.column1[page]))
    return _Place(step.blob, step.version, page, int(step.offsets[page]), int(step.lengths[page]),
                  layout.page_shape(page), (rect,))


def _series_place(tally: Tally, layout: ItemLayout, layer: int, group: int, position: int) -> _Place:
    rest = position
    for spatial in range(layout.tiles.pages):
        count = -(-int(layout.cells[spatial]) // layout.block_rows(spatial))
        if 0 <= rest < count:
            break
        rest -= count
    else:
        raise NotFoundError(f"There is no page {position} in this slice.")
    table = once_more(lambda: _blocks(tally, layout, layer, spatial, group))
    row0, column0 = int(layout.tiles.row0[spatial]), int(layout.tiles.column0[spatial])
    rects = tuple((row0 + int(r[1]), row0 + int(r[2]), column0 + int(r[3]), column0 + int(r[4]))
                  for r in _block_rects(table, layout.page_shape(spatial)[1]) if int(r[0]) == rest)
    shape = int(table.row1[rest] - table.row0[rest]), table.columns
    return _Place(table.blob, table.version, rest, int(table.offsets[rest]), int(table.lengths[rest]), shape, rects,
                  table)
