"""Page indexes as arrays: the `.idx` of a timestep and the index block at the tail of a group blob (P7-P10).

An index is one little-endian int32 a page, its stored length. An index block is the same entries of every timestep of a
group in block-list order, followed by their byte length (int32) and four bytes of magic number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mdstudio.engine.errors import DamagedDataError, LayoutGuardError, NotFoundError
from mdstudio.engine.model import Array
from mdstudio.engine.storage.protocol import BlobStorage

MAGIC = b"MDPI"
TRAILER_BYTES = 8  # byte length of the entries (int32) and the magic number
TAIL_BYTES = 4096  # read at once from the end of a group blob
ENTRY = np.dtype("<i4")


@dataclass(frozen=True)
class GroupIndex:
    """The page index of one group blob, from one version of it.

    Attributes:
        blob, version, length: the blob that it was read from; `length` in bytes with the index block.
        lengths: (slots, pages) int32, stored length of each page.
    """

    blob: str
    version: str
    length: int
    lengths: Array

    @property
    def slots(self) -> int:
        return int(self.lengths.shape[0])

    @cached_property
    def starts(self) -> Array:
        """(slots + 1,) int64: where each timestep begins, and the end of the last."""
        return offsets_of(self.lengths.sum(axis=1, dtype=np.int64))

    def offsets(self, slot: int) -> Array:
        """(pages,) int64: where each page of one timestep begins in the blob."""
        offsets: Array = self.starts[slot] + offsets_of(self.lengths[slot])[:-1]
        return offsets


def offsets_of(lengths: Array) -> Array:
    """(n + 1,) int64: exclusive running sum of lengths."""
    result = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, dtype=np.int64, out=result[1:])
    return result


def index_bytes(lengths: Array) -> bytes:
    """The bytes of an `.idx`: the entries."""
    return np.ascontiguousarray(lengths, ENTRY).tobytes()


def index_block(lengths: Array) -> bytes:
    """The last block of a group blob (P8): entries, their byte length, magic number."""
    entries = index_bytes(lengths)
    return entries + np.array(len(entries), ENTRY).tobytes() + MAGIC


def parse_index(data: bytes, limits: Array, *, may_be_empty: bool, where: str) -> Array:
    """(pages,) int32 of the bytes of an `.idx`; raises `DamagedDataError` naming `where` (P10)."""
    if len(data) != limits.size * ENTRY.itemsize:
        raise DamagedDataError(
            f"The page index holds {len(data)} bytes; {limits.size} pages need {limits.size * ENTRY.itemsize}.",
            where=where)
    lengths = np.frombuffer(data, ENTRY).reshape(1, -1)
    check_lengths(lengths, limits, may_be_empty=may_be_empty, where=where)
    entries: Array = lengths[0]
    return entries


def check_lengths(lengths: Array, limits: Array, *, may_be_empty: bool, where: str, first: int = 0) -> None:
    """Refuse lengths that no writer stores (P10), before they size anything.

    `lengths` (steps, pages) int32; `limits` (pages,) int64, the largest stored length of each page; `may_be_empty`: the
    item has a no-data value, so pages other than all of a timestep may have length 0 (P5). `first` numbers the steps in
    messages. Raises `DamagedDataError`.
    """
    wrong = (lengths < 0) | (lengths > limits)
    if not may_be_empty:
        wrong |= lengths == 0
    if wrong.any():
        step, page = (int(i) for i in np.argwhere(wrong)[0])
        found, limit = int(lengths[step, page]), int(limits[page])
        raise DamagedDataError(
            f"Page {page} of timestep {first + step} claims {found} bytes; its codec writes "
            f"{0 if may_be_empty else 1} to {limit}.", where=where, advice="Import the timestep again.")
    empty = ~lengths.any(axis=1)
    if empty.any():
        raise DamagedDataError(f"Timestep {first + int(np.argmax(empty))} has no stored page at all.", where=where,
                               advice="Import the timestep again.")


def parse_index_block(
    block: bytes, data_bytes: int, limits: Array, *, max_slots: int, may_be_empty: bool, where: str
) -> Array:
    """(slots, pages) int32 of a whole index block after `data_bytes` bytes of pages; raises `DamagedDataError`."""
    entry_bytes = len(block) - TRAILER_BYTES
    _check_trailer(block, entry_bytes + TRAILER_BYTES + data_bytes, limits.size, max_slots, where)
    if int.from_bytes(block[-8:-4], "little") != entry_bytes:
        raise DamagedDataError("The index block is not as long as it says.", where=where)
    lengths = np.frombuffer(block, ENTRY, count=entry_bytes // ENTRY.itemsize).reshape(-1, limits.size)
    check_lengths(lengths, limits, may_be_empty=may_be_empty, where=where)
    total = int(lengths.sum(dtype=np.int64))
    if total != data_bytes:
        raise DamagedDataError(f"The page lengths add up to {total} bytes; {data_bytes} bytes lie before the index.",
                               where=where, advice="The blob is damaged or a copy of parts; import it again.")
    return lengths


def read_group_index(
    storage: BlobStorage, blob: str, limits: Array, *, max_slots: int, may_be_empty: bool
) -> GroupIndex:
    """The index of a group blob from its properties and its last 4 KB (P9); one more read for a longer index.

    `limits` as `check_lengths`; `max_slots`: TimeGroupSize. All reads are pinned to one version: raises
    `BlobChangedError` for a commit in between, `DamagedDataError` for an index that cannot be right,
    `LayoutGuardError` for a group of the builds that kept the index beside it (P17), `NotFoundError`.
    """
    properties = storage.properties(blob)
    length, version = properties.length, properties.version
    if length < TRAILER_BYTES:
        raise DamagedDataError(f"The blob holds {length} bytes, too few for a page index.", where=blob)
    count = min(length, TAIL_BYTES)
    tail = _exactly(storage, blob, length - count, count, version)
    if tail[-4:] != MAGIC and _has_separate_index(storage, blob):
        raise LayoutGuardError("The page index of this group lies in a separate .idx blob.", where=blob,
                               advice="An early build wrote it; import the dataset again.")
    entry_bytes = _check_trailer(tail, length, limits.size, max_slots, blob)
    missing = entry_bytes + TRAILER_BYTES - count
    if missing > 0:
        tail = _exactly(storage, blob, length - count - missing, missing, version) + tail
    block = tail[len(tail) - entry_bytes - TRAILER_BYTES:]
    lengths = parse_index_block(block, length - len(block), limits, max_slots=max_slots, may_be_empty=may_be_empty,
                                where=blob)
    return GroupIndex(blob, version, length, lengths)


def _check_trailer(tail: bytes, blob_length: int, pages: int, max_slots: int, where: str) -> int:
    """Byte length of the entries as the trailer says, when it can be right for a blob of this length."""
    if len(tail) < TRAILER_BYTES or tail[-4:] != MAGIC:
        raise DamagedDataError(f"The blob does not end with a page index: {tail[-4:]!r}, not {MAGIC!r}.", where=where,
                               advice="The blob is damaged or a copy of parts; import it again.")
    entry_bytes = int.from_bytes(tail[-8:-4], "little", signed=True)
    step = pages * ENTRY.itemsize
    if entry_bytes <= 0 or entry_bytes % step or entry_bytes // step > max_slots:
        raise DamagedDataError(
            f"The page index claims {entry_bytes} bytes; a group holds 1 to {max_slots} timesteps of {step} bytes "
            "each.", where=where)
    if entry_bytes + TRAILER_BYTES > blob_length:
        raise DamagedDataError(f"The page index claims {entry_bytes} bytes of a blob of {blob_length}.", where=where)
    return entry_bytes


def _exactly(storage: BlobStorage, blob: str, offset: int, count: int, version: str) -> bytes:
    data = storage.read_range(blob, offset, count, version=version).data
    if len(data) != count:
        raise DamagedDataError(f"{len(data)} bytes came for the {count} at {offset}.", where=blob)
    return data


def _has_separate_index(storage: BlobStorage, blob: str) -> bool:
    try:
        return storage.exists(blob.removesuffix(".dat") + ".idx")
    except NotFoundError:
        return False
