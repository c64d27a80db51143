"""MultiTimestep: a group blob of one block a timestep and a page index as the last block (P8, P9, P11-P17).

Uncompressed groups hold the same blocks without an index; the pages of a timestep lie at computed offsets (K9).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mdstudio.engine.errors import BlobChangedError, DamagedDataError, NotFoundError, StorageError, UsageError
from mdstudio.engine.layout.encoding import EncodedStep
from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.layout.page_index import (
    ENTRY,
    GroupIndex,
    index_block,
    offsets_of,
    parse_index_block,
    read_group_index,
)
from mdstudio.engine.layout.step_pages import StepPages
from mdstudio.engine.model import Array
from mdstudio.engine.storage import MAX_BLOCKS, MUST_NOT_EXIST, BlobStorage, Block, BlockList

COMMIT_ATTEMPTS = 3  # of a commit whose answer was lost while its base stays unchanged (P15)


def step_block_id(time: int, data: bytes) -> str:
    """`TS0000000005-<hash>` of the dataset's timestep number and the block (P11)."""
    return f"TS{time:010d}-{block_hash(data)}"


def index_block_id(data: bytes) -> str:
    """`IDX000000000-<hash>` of the index block (P11)."""
    return f"IDX{0:09d}-{block_hash(data)}"


def block_hash(data: bytes) -> str:
    """The first 16 hex digits of the SHA-256 of a block."""
    return hashlib.sha256(data).hexdigest()[:16]


def read_index(storage: BlobStorage, layout: ItemLayout, layer: int, group: int) -> GroupIndex:
    """The page index of a group: 2 requests, 3 for an index over 4 KB. Compressed datasets only.

    Raises `DamagedDataError` for fewer timesteps than the dataset lists, and as `read_group_index`.
    """
    blob = layout.group_blob(layer, group)
    index = read_group_index(storage, blob, layout.limits, max_slots=layout.group_size,
                             may_be_empty=layout.format.may_be_empty)
    start, stop = layout.group_times(group)
    if index.slots < stop - start:
        raise DamagedDataError(f"The group holds {index.slots} timesteps; the dataset lists {stop - start} in it.",
                               where=blob, advice="Import these times again.")
    return index


def step_pages(storage: BlobStorage, layout: ItemLayout, layer: int, time: int) -> StepPages:
    """Where the pages of one timestep lie; reads the index of a compressed group, nothing for an uncompressed one."""
    group, slot = divmod(time, layout.group_size)
    if not layout.format.compressed:
        return raw_step_pages(layout, layer, time)
    index = read_index(storage, layout, layer, group)
    return StepPages(index.blob, index.version, index.offsets(slot), index.lengths[slot].astype(np.int64))


def raw_step_pages(layout: ItemLayout, layer: int, time: int) -> StepPages:
    """The pages of one timestep of an uncompressed group: at offsets that need no reading."""
    group, slot = divmod(time, layout.group_size)
    offsets = slot * layout.slice_bytes + offsets_of(layout.raw_bytes)[:-1]
    return StepPages(layout.group_blob(layer, group), None, offsets, layout.raw_bytes, multiple=layout.slice_bytes)


@dataclass(frozen=True)
class GroupBase:
    """The version of a group that a write builds on (P14).

    Attributes:
        version: None where the blob is not there yet.
        blocks: the timesteps' blocks that are kept, by slot.
        lengths: (slots, pages) int32 of the kept blocks; no rows for an uncompressed group.
        ids: of all committed blocks, the index included.
    """

    version: str | None
    blocks: tuple[Block, ...]
    lengths: Array
    ids: tuple[str, ...] = ()


def stored_base(storage: BlobStorage, layout: ItemLayout, layer: int, group: int) -> GroupBase:
    """The stored group as the base of an append or update: block list, and the index read with its version (P12).

    Raises `StorageError` for a blob without a block list (P17), `BlobChangedError`, `DamagedDataError`.
    """
    blob = layout.group_blob(layer, group)
    try:
        listed = require_block_list(storage, blob)
    except NotFoundError:
        return empty_base(layout, None)
    if not listed.blocks:
        raise DamagedDataError("The group is empty; it held timesteps.", where=blob,
                               advice="Import all times of the group again.")
    ids = tuple(block.id for block in listed.blocks)
    if not layout.format.compressed:
        if any(block.size != layout.slice_bytes for block in listed.blocks):
            raise DamagedDataError(f"The blocks of the group are not all of {layout.slice_bytes} bytes.", where=blob,
                                   advice="Import all times of the group again.")
        return GroupBase(listed.version, listed.blocks, np.empty((0, layout.tiles.pages), ENTRY), ids)
    *steps, last = listed.blocks
    data_bytes = sum(block.size for block in steps)
    read = storage.read_range(blob, data_bytes, last.size, version=listed.version)
    lengths = parse_index_block(read.data, data_bytes, layout.limits, max_slots=layout.group_size,
                                may_be_empty=layout.format.may_be_empty, where=blob)
    sizes = lengths.sum(axis=1, dtype=np.int64)
    if sizes.size != len(steps) or any(int(s) != block.size for s, block in zip(sizes, steps, strict=True)):
        raise DamagedDataError("The page index does not fit the blocks of the group.", where=blob)
    return GroupBase(listed.version, tuple(steps), lengths, ids)


def empty_base(layout: ItemLayout, version: str | None) -> GroupBase:
    """The base of a group that is written whole, over a version of it or none: nothing of it is kept."""
    return GroupBase(version, (), np.empty((0, layout.tiles.pages), ENTRY))


def require_block_list(storage: BlobStorage, blob: str) -> BlockList:
    """The block list of a blob that is to be written; `StorageError` for content without one (P17)."""
    listed = storage.block_list(blob)
    if listed.length and not listed.blocks:
        raise StorageError("The blob has content but no block list: it was copied without it.", where=blob,
                           advice="Relocate datasets with 'mdstudio relocate', which keeps the block lists.")
    return listed


class GroupWriter:
    """Stages timesteps of one group of one layer and commits them with the index in one step (P12).

    `place` and `commit` in one thread; `upload` in any, several at once. Nothing is visible before `commit`; a kill
    leaves the group as it was.
    """

    def __init__(
        self, storage: BlobStorage, layout: ItemLayout, layer: int, group: int, base: GroupBase,
        staging: Callable[[str, str], None],
    ) -> None:
        """`staging(blob, block id)` is called before each block is staged."""
        self.blob = layout.group_blob(layer, group)
        self._storage, self._layout, self._base, self._staging = storage, layout, base, staging
        self._held = frozenset(base.ids)
        self._ids = [block.id for block in base.blocks]
        self._lengths: list[Array] = list(base.lengths)

    def place(self, time: int, step: EncodedStep) -> str:
        """Give one timestep its slot, the next one or that of a stored one (P8, P13); returns the id to `upload` as."""
        slot = time % self._layout.group_size
        if slot > len(self._ids):
            raise UsageError(f"Timestep {time} would leave a gap: the group holds {len(self._ids)} timesteps.",
                             where=self.blob)
        block_id = step_block_id(time, step.data)
        if slot == len(self._ids):
            self._ids.append(block_id)
            self._lengths.append(step.lengths)
        else:
            self._ids[slot] = block_id
            if self._layout.format.compressed:  # the others have no index, and no lengths of what is kept
                self._lengths[slot] = step.lengths
        return block_id

    def upload(self, block_id: str, data: bytes) -> None:
        """Stage a block; every one that was placed must be staged before `commit`.

        One that the group holds already, with the same bytes (D15), is taken from there.
        """
        if block_id in self._held:
            return
        self._staging(self.blob, block_id)
        self._storage.stage_block(self.blob, block_id, data)

    def commit(self) -> str:
        """Commit kept and staged blocks and the index; returns the new version (P12, P14, P15).

        A group that another run has committed alike already is left as it is (W2, D15).
        """
        ids = list(self._ids)
        if self._layout.format.compressed:
            block = index_block(np.stack(self._lengths))
            ids.append(index_block_id(block))
            self.upload(ids[-1], block)
        if len(ids) > MAX_BLOCKS:
            raise UsageError(f"A group of {len(ids)} blocks is more than the {MAX_BLOCKS} of a blob.", where=self.blob)
        if self._base.version is not None and tuple(ids) == self._base.ids:
            return self._base.version
        return commit_list(self._storage, self.blob, ids, self._base.version)


def commit_list(storage: BlobStorage, blob: str, ids: list[str], base_version: str | None) -> str:
    """Commit a block list on one version of the blob; returns the new version.

    An answer that was lost, or that speaks of a version which may be our own commit, is resolved by the block list
    (P15): our own list is our commit, an unchanged base is sent again, anything else raises `BlobChangedError`.
    """
    for attempt in range(COMMIT_ATTEMPTS):
        try:
            if base_version is None:
                return storage.commit_blocks(blob, ids, if_none_match=MUST_NOT_EXIST)
            return storage.commit_blocks(blob, ids, if_match=base_version)
        except StorageError:
            version, stored = _stored_list(storage, blob)
            if version is not None and version != base_version and stored == ids:
                return version
            if version != base_version:
                raise BlobChangedError("Another job committed the group in between.", where=blob,
                                       advice="Run it again: the group then holds both.") from None
            if attempt == COMMIT_ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _stored_list(storage: BlobStorage, blob: str) -> tuple[str | None, list[str]]:
    try:
        listed = storage.block_list(blob)
    except NotFoundError:
        return None, []
    return listed.version, [block.id for block in listed.blocks]
