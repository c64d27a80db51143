"""TimeSeries: a blob for each item, layer, spatial group and time group, of blocks of whole series (T1-T7).

A spatial group is a tile of the grid, its cells row-major; row r of the group is the series of its cell r. A compressed
blob is a header of one int32 a block, the stored block lengths, and the blocks back to back; an uncompressed one is the
rows alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from mdstudio.engine.codecs import backends, describe_block
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.layout.page_index import ENTRY, index_bytes, offsets_of
from mdstudio.engine.layout.pages import PageEncoder, checked, decode_page
from mdstudio.engine.model import Array
from mdstudio.engine.storage import BlobStorage, RangeRead


@dataclass(frozen=True)
class SeriesBlocks:
    """The blocks of one TimeSeries blob.

    Attributes:
        version: of the blob that the header came from; None for an uncompressed one, which is not pinned (T6).
        row0, row1: (blocks,) int64 rows of the spatial group that each block holds.
        offsets, lengths: (blocks,) int64 bytes in the blob.
        columns: timesteps a row; a block of the last group may hold more (`stored_columns`).
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
    blob = layout.series_blob(layer, spatial_group, group)
    if not layout.format.compressed:
        return raw_blocks(layout, layer, spatial_group, group, layout.block_rows(spatial_group))
    read = storage.read_range(blob, 0, (layout.block_starts(spatial_group).size - 1) * ENTRY.itemsize)
    return _blocks(layout, spatial_group, group, read, blob)


def _blocks(layout: ItemLayout, spatial_group: int, group: int, read: RangeRead, blob: str) -> SeriesBlocks:
    """The block table out of the first bytes of a compressed blob."""
    starts = layout.block_starts(spatial_group)
    header_bytes = (starts.size - 1) * ENTRY.itemsize
    if len(read.data) < header_bytes:
        raise DamagedDataError(f"The blob holds {read.length} bytes; its header takes {header_bytes}.", where=blob)
    lengths = np.frombuffer(read.data, ENTRY, starts.size - 1).astype(np.int64)
    limits = layout.block_limits(spatial_group, layout.group_size)
    _check_header(lengths, limits, layout.format.may_be_empty, header_bytes, read.length, blob)
    offsets = header_bytes + offsets_of(lengths)[:-1]
    return SeriesBlocks(blob, read.version, starts[:-1], starts[1:], offsets, lengths, layout.group_columns(group))


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


def stored_columns(layout: ItemLayout, blocks: SeriesBlocks, stored: Iterable[tuple[int, bytes | memoryview]]) -> int:
    """Timesteps a row that the blocks of a blob really hold: those listed, or more in the last group of a variable
    step, where an append has put its columns and not listed them yet (T4, W2).

    `stored`: (block, its stored bytes) of some blocks. All blocks of a blob hold equally many, and each tells: an auto
    block in its header, a plain one by what it decodes to; one of length 0 holds no-data however many there are. Raises
    `DamagedDataError` for fewer than listed, or more than `TimeGroupSize`.
    """
    if layout.filled or blocks.columns == layout.group_size:
        return blocks.columns
    block, data = next(((block, data) for block, data in stored if len(data)), (0, b""))
    if not len(data):
        return blocks.columns
    rows = int(blocks.row1[block] - blocks.row0[block])
    try:
        elements = _element_count(layout, memoryview(checked(layout.format, data)), rows * layout.group_size)
        if elements % rows or not blocks.columns <= elements // rows <= layout.group_size:
            raise DamagedDataError(f"The block holds {elements} values for {rows} series of {blocks.columns} to "
                                   f"{layout.group_size} timesteps.", advice="Import these times again.")
    except DamagedDataError as error:
        error.where = error.where or f"{blocks.blob} block {block}"
        raise
    return elements // rows


def _element_count(layout: ItemLayout, encoded: memoryview, most: int) -> int:
    """Elements of an encoded block, which are `most` at most."""
    name, item_bytes = layout.format.codec.name, layout.format.dtype.itemsize
    count = describe_block(name, bytes(encoded)).count
    if count:
        return count
    if name == "LZ4":
        size = len(backends.lz4_decompress(encoded, most * item_bytes))
    else:
        size = backends.deflate_size(encoded, most * item_bytes)
    return -(-size // item_bytes)  # a part of an element counts: the block is refused when it is decoded


def patched_rows(
    layout: ItemLayout, spatial_group: int, group: int, stored: bytes, columns: Array, pieces: Iterable[Array],
    blob: str,
) -> Iterator[Array]:
    """The rows of a stored blob with the values of some timesteps replaced or added, a block at a time (T4).

    Args:
        stored: the whole blob; columns that neither the dataset lists nor `columns` name are dropped.
        columns: (n,) int64 timesteps within the group.
        pieces: (rows, n) values of them that make up the spatial group's rows in order.

    Raises `DamagedDataError` for a blob that does not hold what its header describes, or lacks a listed timestep (T5).
    """
    width = layout.group_columns(group)
    listed = np.arange(width if not layout.filled else np.subtract(*layout.group_times(group)[::-1]))
    kept = int(np.setdiff1d(listed, columns).max(initial=-1)) + 1
    height = layout.block_rows(spatial_group)
    held = _stored_rows(layout, spatial_group, group, stored, kept, blob)
    for old, new in zip(held, _regroup(pieces, height), strict=True):
        rows = np.empty((len(old), width), layout.format.dtype)
        layout.format.fill(rows)
        common = min(width, old.shape[1])
        rows[:, :common] = old[:, :common]
        rows[:, columns] = new
        yield rows


def _stored_rows(
    layout: ItemLayout, spatial_group: int, group: int, stored: bytes, kept: int, blob: str
) -> Iterator[Array]:
    """(rows, columns) of each block of a whole blob, of at least `kept` columns."""
    starts = layout.block_starts(spatial_group)
    if not layout.format.compressed:
        needed = int(starts[-1]) * layout.group_size * layout.format.dtype.itemsize
        if len(stored) != needed:
            raise DamagedDataError(f"The blob holds {len(stored)} bytes; {needed} are described.", where=blob,
                                   advice="Import all times of its group again.")
        values = np.frombuffer(stored, layout.format.dtype).reshape(int(starts[-1]), -1)
        yield from (values[start:stop] for start, stop in pairwise(starts.tolist()))
        return
    table = _blocks(layout, spatial_group, group, RangeRead(stored, len(stored), ""), blob)
    if not layout.filled:
        table = replace(table, columns=kept)
    view = memoryview(stored)
    blocks = [view[start:start + length] for start, length in zip(table.offsets.tolist(), table.lengths.tolist(),
                                                                  strict=True)]
    width = stored_columns(layout, table, enumerate(blocks))
    for number, (start, stop) in enumerate(pairwise(starts.tolist())):
        rows = np.empty((stop - start, width), layout.format.dtype)
        decode_page(layout.format, blocks[number], rows, f"{blob} block {number}")
        yield rows
