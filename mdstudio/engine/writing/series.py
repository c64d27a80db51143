"""Units of TimeSeries: a part of the grid is read for all times of the group, its tiles become one blob each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.layout.series import encode_blob, patched_rows, series_rows
from mdstudio.engine.model import Array
from mdstudio.engine.writing.units import Session, Unit, missing

BUDGET = 256 << 20  # bytes of values that an import holds in this layout
PART_BYTES = BUDGET // 2  # of the values of one part; what the reader holds and the transposed pieces take the rest
READ_BYTES = 32 << 20  # asked of the reader at once: a cancel takes effect in between
PIECE_BYTES = 4 << 20  # transposed at once by each worker


def write_series(session: Session, layout: ItemLayout, unit: Unit) -> None:
    """Write all blobs of one item and time group; memory `BUDGET` whatever grid and group are.

    One exception: the encoded bytes of a blob are held until it is whole, for it is put in one atomic write (T4).
    """
    count = _SliceCount(session, layout, unit)
    for layer in layout.item.layer_ids():
        for part in parts(layout, unit.count, PART_BYTES):
            if part.cells_at_once:
                _store(session, layout, unit, layer, part.pages[0], _read_pieces(session, layout, unit, layer, part))
                count.cells(part.pages[0])
            else:
                _store_part(session, layout, unit, layer, part, count)


@dataclass(frozen=True)
class Part:
    """A rectangle of the grid that is read at once.

    Attributes:
        pages: the spatial groups whose cells it holds, whole.
        cells_at_once: 0, or how many cells of its only tile are to be read at once where the tile is too large: whole
            rows, or a part of one row.
    """

    rows: slice
    columns: slice
    pages: tuple[int, ...]
    cells_at_once: int = 0


def parts(layout: ItemLayout, times: int, part_bytes: int) -> Iterator[Part]:
    """Cut the grid into rectangles of whole tiles whose values over so many times fit `part_bytes`.

    Whole bands of tiles while a band fits, else some tiles of a band, else one tile in pieces. A mesh is one row, and
    each read of it costs whole slices of the source: its pieces are as large as memory allows.
    """
    tiles = layout.tiles
    cell_bytes = times * layout.format.dtype.itemsize
    tall, wide = min(tiles.width, tiles.rows), min(tiles.width, tiles.columns)
    bands = part_bytes // (tall * tiles.columns * cell_bytes)
    height = max(1, bands) * tiles.width
    fitting = max(1, part_bytes // (tall * wide * cell_bytes))
    across = tiles.columns if bands else fitting * tiles.width
    whole = part_bytes if tiles.rows == 1 else min(part_bytes // 2, READ_BYTES)  # of one tile in one piece
    at_once = max(1, min(part_bytes // 2, whole) // cell_bytes)  # two pieces are held at a time
    for row in range(0, tiles.rows, height):
        rows = slice(row, min(row + height, tiles.rows))
        for column in range(0, tiles.columns, across):
            columns = slice(column, min(column + across, tiles.columns))
            pages = tiles.pages_of(np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop))
            cells = (rows.stop - rows.start) * (columns.stop - columns.start)
            too_large = len(pages) == 1 and cells * cell_bytes > whole
            yield Part(rows, columns, tuple(int(page) for page in pages), at_once if too_large else 0)


def _store_part(
    session: Session, layout: ItemLayout, unit: Unit, layer: int, part: Part, count: _SliceCount
) -> None:
    """Read a part and let the workers store its tiles; the values are gone when this returns."""
    values = _read(session, layout, unit, layer, part)
    jobs = [
        session.workers.submit(lane, _store, session, layout, unit, layer, page,
                               _tile_pieces(layout, part, page, values))
        for lane, page in enumerate(part.pages)
    ]
    for page, job in zip(part.pages, jobs, strict=True):
        job.result()
        count.cells(page)


def _store(session: Session, layout: ItemLayout, unit: Unit, layer: int, page: int, pieces: Iterable[Array]) -> None:
    """Put one blob: of these values, or where they are some of the group's times, the stored one patched with them."""
    whole, blob = unit.is_whole(layout), layout.series_blob(layer, page, unit.group)

    def rows() -> Iterator[Array]:
        for values in pieces:
            session.progress.check()
            yield series_rows(layout, values, layout.group_columns(unit.group) if whole else unit.count)

    if whole:
        session.blobs.put(blob, encode_blob(layout, page, rows()))
        return
    version = session.blobs.version_before(blob)
    if version is None:
        raise missing(blob)
    stored = session.storage.read(blob, version=version).data
    columns = np.concatenate([np.arange(run.start, run.stop) for run in unit.slices()])
    columns -= layout.group_times(unit.group)[0]
    session.blobs.put(blob, encode_blob(layout, page, patched_rows(layout, page, unit.group, stored, columns, rows(),
                                                                   blob)))


def _read(session: Session, layout: ItemLayout, unit: Unit, layer: int, part: Part) -> Array:
    """(time, row, column) values of a part, read some times at once."""
    shape = unit.count, part.rows.stop - part.rows.start, part.columns.stop - part.columns.start
    values = np.empty(shape, layout.format.dtype)
    together = max(1, READ_BYTES // values[0].nbytes)
    at = 0
    for run in unit.slices():
        for start in range(run.start, run.stop, together):
            asked = slice(start, min(start + together, run.stop))
            read = session.read(layout, asked, layer, part.rows, part.columns)
            values[at:at + len(read)] = read
            at += len(read)
    return values


def _tile_pieces(layout: ItemLayout, part: Part, page: int, values: Array) -> Iterator[Array]:
    """(time, row, column) pieces of one tile out of the values of its part, some cell rows each."""
    tiles = layout.tiles
    row0, row1 = int(tiles.row0[page]) - part.rows.start, int(tiles.row1[page]) - part.rows.start
    column0, column1 = int(tiles.column0[page]) - part.columns.start, int(tiles.column1[page]) - part.columns.start
    row_bytes = values.shape[0] * (column1 - column0) * values.itemsize
    step = max(1, PIECE_BYTES // row_bytes)
    for row in range(row0, row1, step):
        yield values[:, row:min(row + step, row1), column0:column1]


def _read_pieces(session: Session, layout: ItemLayout, unit: Unit, layer: int, part: Part) -> Iterator[Array]:
    """(time, row, column) pieces of one tile that is too large to be read at once."""
    width = part.columns.stop - part.columns.start
    high, wide = max(1, part.cells_at_once // width), min(part.cells_at_once, width)
    for row in range(part.rows.start, part.rows.stop, high):
        rows = slice(row, min(row + high, part.rows.stop))
        for column in range(part.columns.start, part.columns.stop, wide):
            columns = slice(column, min(column + wide, part.columns.stop))
            read = [session.read(layout, times, layer, rows, columns) for times in unit.slices()]
            yield read[0] if len(read) == 1 else np.concatenate(read)


class _SliceCount:
    """Tells the progress of slices as cells are done for all times of the unit."""

    def __init__(self, session: Session, layout: ItemLayout, unit: Unit) -> None:
        self._progress, self._sizes, self._times = session.progress, layout.cells, unit.count
        self._total, self._done = int(layout.cells.sum()), 0

    def cells(self, page: int) -> None:
        before = self._done * self._times // self._total
        self._done += int(self._sizes[page])
        self._progress.advance(self._done * self._times // self._total - before)
