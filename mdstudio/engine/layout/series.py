"""TimeSeries: a blob for each item, layer, spatial group and time group, of blocks of whole series (T1-T7).

A spatial group is a tile of the grid, its cells row-major; row r of the group is the series of its cell r. A compressed
blob is a header of one int32 a block, the stored block lengths, and the blocks back to back; an uncompressed one is the
rows alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.layout.page_index import ENTRY, index_bytes, offsets_of
from mdstudio.engine.layout.pages import PageEncoder
from mdstudio.engine.model import Array
from mdstudio.engine.storage import BlobStorage


@dataclass(frozen=True)
class SeriesBlocks:
    """The blocks of one TimeSeries blob.

    Attributes:
        version: of the blob that the header came from; None for an uncompressed one, which is not pinned (T6).
        row0, row1: (blocks,) int64 rows of the spatial group that each block holds.
        offsets, lengths: (blocks,) int64 bytes in the blob.
        columns: timesteps a row.
        length: what the whole blob must be long; None where the header has proven it already.
    """

    blob: str
    version: str | None
    row0: Array
    row1: Array
    offsets: Array
    lengths: Array
    columns: int
    length: int | None = None


def encode_blob(layout: ItemLayout, spatial_group: int, pieces: Iterable[Array]) -> bytes:
    """The bytes of one blob from its rows.

    `pieces`: (rows, columns) arrays of the stored type that make up the spatial group's rows in order. The probe state
    lives for this blob alone: an item, layer, spatial group and time group (C6).
    """
    if not layout.format.compressed:
        return b"".join(piece.tobytes() for piece in pieces)
    encoder = PageEncoder(layout.format)
    blocks = [encoder.encode(block) for block in _regroup(pieces, layout.block_rows(spatial_group))]
    return b"".join((index_bytes(np.fromiter(map(len, blocks), ENTRY, len(blocks))), *blocks))


def _regroup(pieces: Iterable[Array], rows: int) -> Iterator[Array]:
    """Blocks of `rows` rows, the last one shorter, out of pieces of any height."""
    rest: Array | None = None
    for piece in pieces:
        whole = piece if rest is None else np.concatenate((rest, piece))
        full = len(whole) // rows * rows
        yield from (whole[start:start + rows] for start in range(0, full, rows))
        rest = whole[full:] if full < len(whole) else None
    if rest is not None:
        yield rest


def series_rows(layout: ItemLayout, values: Array, columns: int) -> Array:
    """(cells, columns) rows of a (time, row, column) part of a spatial group, filled up with no-data (T4)."""
    times = values.shape[0]
    rows = np.empty((values[0].size, columns), layout.format.dtype)
    rows[:, :times] = values.reshape(times, -1).T
    if columns > times:
        fill = np.empty(1, layout.format.dtype)
        layout.format.fill(fill)
        rows[:, times:] = fill
    return rows


def read_blocks(storage: BlobStorage, layout: ItemLayout, layer: int, spatial_group: int, group: int) -> SeriesBlocks:
    """The block table of one blob: one ranged read of its header (T7), none for an uncompressed one.

    Raises `DamagedDataError` for a header that cannot be right or does not fit the blob's length (T5, P10).
    """
    blob, columns = layout.series_blob(layer, spatial_group, group), layout.group_columns(group)
    if not layout.format.compressed:
        return raw_blocks(layout, layer, spatial_group, group, layout.block_rows(spatial_group))
    starts = layout.block_starts(spatial_group)
    header_bytes = (starts.size - 1) * ENTRY.itemsize
    read = storage.read_range(blob, 0, header_bytes)
    if len(read.data) != header_bytes:
        raise DamagedDataError(f"The blob holds {read.length} bytes; its header takes {header_bytes}.", where=blob)
    lengths = np.frombuffer(read.data, ENTRY).astype(np.int64)
    limits = layout.block_limits(spatial_group, columns)
    _check_header(lengths, limits, layout.format.may_be_empty, header_bytes, read.length, blob)
    offsets = header_bytes + offsets_of(lengths)[:-1]
    return SeriesBlocks(blob, read.version, starts[:-1], starts[1:], offsets, lengths, columns)


def raw_blocks(layout: ItemLayout, layer: int, spatial_group: int, group: int, block_rows: int) -> SeriesBlocks:
    """The block table of an uncompressed blob, cut into blocks of any height; nothing is read."""
    columns, cells = layout.group_columns(group), int(layout.cells[spatial_group])
    starts = np.minimum(np.arange(-(-cells // block_rows) + 1, dtype=np.int64) * block_rows, cells)
    row_bytes = columns * layout.format.dtype.itemsize
    return SeriesBlocks(layout.series_blob(layer, spatial_group, group), None, starts[:-1], starts[1:],
                        starts[:-1] * row_bytes, np.diff(starts) * row_bytes, columns, cells * row_bytes)


def _check_header(
    lengths: Array, limits: Array, may_be_empty: bool, header_bytes: int, blob_length: int, where: str
) -> None:
    wrong = (lengths < (0 if may_be_empty else 1)) | (lengths > limits)
    if wrong.any():
        block = int(np.argmax(wrong))
        raise DamagedDataError(f"Block {block} claims {int(lengths[block])} bytes; its codec writes up to "
                               f"{int(limits[block])}.", where=where, advice="Import these times again.")
    total = header_bytes + int(lengths.sum())
    if total != blob_length:
        raise DamagedDataError(f"Header and blocks add up to {total} bytes; the blob holds {blob_length}.", where=where,
                               advice="The blob is damaged or a copy of parts; import these times again.")
