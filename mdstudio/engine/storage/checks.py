"""What every storage refuses before it touches a blob, in the same words."""

from __future__ import annotations

from collections.abc import Sequence

from mdstudio.engine.errors import BlobChangedError, UsageError
from mdstudio.engine.storage.protocol import MAX_BLOCKS, MUST_NOT_EXIST

MAX_BLOCK_ID = 64  # bytes, as Azure allows
MAX_BLOCK_BYTES = 4_000 << 20  # of one block, as Azure allows
MAX_WHOLE_BYTES = 4_000 << 20  # of a blob that is put whole; Azure allows a little more, older versions no more


def check_range(where: str, offset: int, count: int) -> None:
    """Refuse a range from the end or of no bytes."""
    if offset < 0 or count < 1:
        raise UsageError(f"A range holds a byte or more from 0 or later, not {count} from {offset}.", where=where)


def check_block(where: str, block_id: str, size: int) -> None:
    """Refuse a block that Azure would not stage: empty, too large, or with an id that is empty or too long."""
    if not size:
        raise UsageError(f"The block {block_id} is empty.", where=where)
    if size > MAX_BLOCK_BYTES:
        raise UsageError(f"A block has at most {MAX_BLOCK_BYTES} bytes, {block_id} has {size}.", where=where)
    _check_id(where, block_id)


def check_whole(where: str, size: int) -> None:
    """Refuse a blob that Azure would not take in one put."""
    if size > MAX_WHOLE_BYTES:
        raise UsageError(f"A blob put whole has at most {MAX_WHOLE_BYTES} bytes, not {size}.", where=where,
                         advice="Choose smaller time groups or tiles.")


def check_block_ids(where: str, block_ids: Sequence[str]) -> None:
    """Refuse a block list that Azure would not commit: too many blocks, ids of several lengths."""
    if len(block_ids) > MAX_BLOCKS:
        raise UsageError(f"A blob has at most {MAX_BLOCKS} blocks, not {len(block_ids)}.", where=where)
    for block_id in block_ids:
        _check_id(where, block_id)
    lengths = sorted({len(block_id.encode()) for block_id in block_ids})
    if len(lengths) > 1:
        raise UsageError(f"The block ids of a blob have one length, not {', '.join(map(str, lengths))}.", where=where)


def check_condition(where: str, found: str | None, if_match: str | None, if_none_match: str | None) -> None:
    """Raise `BlobChangedError` unless the version found (None: no blob) meets the conditions of a write."""
    check_none_match(where, if_none_match)
    if if_match is not None and found != if_match:
        what = "is gone" if found is None else "was changed by another writer"
        raise BlobChangedError(f"The blob {what} since it was read.", where=where, advice="Run it again.")
    if if_none_match is not None and found is not None:
        raise BlobChangedError("The blob was made by another writer in between.", where=where, advice="Run it again.")


def check_none_match(where: str, if_none_match: str | None) -> None:
    """Refuse any other value than `MUST_NOT_EXIST`."""
    if if_none_match not in (None, MUST_NOT_EXIST):
        raise UsageError(f"if_none_match takes {MUST_NOT_EXIST!r} only.", where=where)


def _check_id(where: str, block_id: str) -> None:
    if not 1 <= len(block_id.encode()) <= MAX_BLOCK_ID:
        raise UsageError(f"A block id has 1 to {MAX_BLOCK_ID} bytes, {block_id!r} has not.", where=where)
