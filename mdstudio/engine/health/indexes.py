"""One data blob against what it must be: its presence, its length, its page index or header. No page is read.

The bytes are parsed here from format.md, not by the readers in `engine.layout`.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mdstudio.engine.errors import BlobChangedError, NotFoundError
from mdstudio.engine.health import findings as codes
from mdstudio.engine.health.expected import Expectation, ExpectedBlob
from mdstudio.engine.health.findings import Finding
from mdstudio.engine.model import Array
from mdstudio.engine.storage import BlobProperties, BlobStorage, Block

MAGIC = b"MDPI"
TAIL = 4096
_TRAILER = 8  # the byte length of the entries, the magic number
_INDEX_ID = re.compile(r"IDX0{9}-([0-9a-f]{16})")
_STEP_ID = re.compile(r"TS(\d{10})-([0-9a-f]{16})")
_REIMPORT = "Import these times again from the source."


@dataclass(frozen=True)
class StoredPages:
    """The pages of the listed times in a blob whose index or header is sound.

    Attributes:
        version: of the blob; its pages are read from this one.
        offset: where the first page begins; the others follow back to back.
        lengths: (timesteps, pages) int64 stored bytes; (1, blocks) for TimeSeries.
        hashes: the hash in the id of each timestep's block; empty where the ids say none (P11).
    """

    version: str
    offset: int
    lengths: Array
    hashes: tuple[str, ...] = ()


Looked = tuple[list[Finding], StoredPages | None]  # the pages, where no finding forbids to read them


@dataclass(frozen=True)
class IndexChecker:
    """Looks at the blobs of one dataset; any thread.

    Attributes:
        listed: the blobs that are there.
        again: the command that makes the dataset anew; "" where the source is not known.
        read: whether indexes and headers are read (from level "index" on).
    """

    storage: BlobStorage
    expectation: Expectation
    listed: Mapping[str, BlobProperties]
    again: str
    read: bool

    def look(self, blob: ExpectedBlob, fresh: bool = False) -> Looked:
        """The findings of one blob; `fresh`: its length is asked for, not taken from the listing.

        Raises `BlobChangedError` for a blob that changes meanwhile, and what the storage raises.
        """
        found = self.properties(blob.name, fresh)
        if found is None:
            return [self.damage(codes.BLOB_MISSING, blob, "the blob", "no blob of that name")], None
        if not self.expectation.compressed:
            return self._raw(blob, found)
        if blob.storage_type == "SingleTimestep":
            return self._step(blob, found, fresh)
        return self._group(blob, found) if blob.storage_type == "MultiTimestep" else self._series(blob, found)

    def properties(self, name: str, fresh: bool) -> BlobProperties | None:
        """Length and version of a blob; None where there is none."""
        if not fresh:
            return self.listed.get(name)
        try:
            return self.storage.properties(name)
        except NotFoundError:
            return None

    def _raw(self, blob: ExpectedBlob, found: BlobProperties) -> Looked:
        """Uncompressed: the length says it all (K9); a group may hold later timesteps that are not listed."""
        expected, step = self.expectation.raw_length(blob), self.expectation.cut(blob.item).bytes
        group = blob.storage_type == "MultiTimestep"
        right = found.length >= expected and found.length % step == 0 if group else found.length == expected
        if not right:
            return [self.damage(codes.RAW_LENGTH, blob, f"{expected} bytes", f"{found.length} bytes")], None
        cut = self.expectation.cut(blob.item)
        pages = cut.cells * cut.element_bytes
        if blob.storage_type == "TimeSeries":
            row_bytes = self.expectation.group_size * cut.element_bytes  # the blob is as long as all rows
            pages = self.expectation.blocks(blob) * row_bytes
            return [], StoredPages(found.version, 0, pages[None])
        lengths = np.broadcast_to(pages, (blob.stop - blob.start, cut.pages))
        if not group:
            return [], StoredPages(found.version, 0, lengths)
        extra = (found.length - expected) // step
        blocks = self._blocks(blob, found) if self.read else ()
        wrong = self._wrong_ids(blob, blocks)
        whole = [block for block in blocks if block.size == step]
        notes = (self._unlisted(blob, extra) if extra else []) + self._list_missing(blob, blocks)
        return wrong + notes, StoredPages(found.version, 0, lengths, self._hashes(blob, whole, blocks))

    def _step(self, blob: ExpectedBlob, found: BlobProperties, fresh: bool) -> Looked:
        """SingleTimestep: the `.idx` beside the blob (P7)."""
        index, pages = self.properties(blob.index_name, fresh), self.expectation.cut(blob.item).pages
        if index is None:
            return [self.damage(codes.INDEX_MISSING, blob, f"the page index {blob.index_name}", "no such blob")], None
        if index.length != 4 * pages:
            return [self.damage(codes.INDEX_LENGTH, blob, f"an index of {4 * pages} bytes for {pages} pages",
                                f"{index.length} bytes", name=blob.index_name)], None
        if not self.read:
            return [], None
        data = self.storage.read(blob.index_name, version=index.version).data
        if len(data) != 4 * pages:
            raise BlobChangedError("The index changed.", where=blob.index_name)
        lengths = np.frombuffer(data, "<i4").reshape(1, pages)
        wrong = self._lengths(blob, lengths, blob.index_name)
        total = int(lengths.sum(dtype=np.int64))
        if not wrong and total != found.length:
            wrong = [self.damage(codes.INDEX_SUM, blob, f"{total} bytes, as the lengths in its index add up to",
                                 f"{found.length} bytes")]
        return wrong, None if wrong else StoredPages(found.version, 0, lengths.astype(np.int64))

    def _group(self, blob: ExpectedBlob, found: BlobProperties) -> Looked:
        """MultiTimestep: the index block at the end of the blob (P8, P10)."""
        if not self.read:
            return [], None
        step = 4 * self.expectation.cut(blob.item).pages
        if found.length < _TRAILER:
            return [self.damage(codes.GROUP_TAIL, blob, "a page index at its end", f"{found.length} bytes")], None
        count = min(TAIL, found.length)
        tail = self.exactly(blob.name, found.length - count, count, found.version)
        entry_bytes, magic = struct.unpack("<i4s", tail[-_TRAILER:])
        if magic != MAGIC:
            return [self._no_tail(blob, magic)], None
        most = step * self.expectation.group_size
        if entry_bytes <= 0 or entry_bytes % step or entry_bytes > min(most, found.length - _TRAILER):
            return [self.damage(codes.INDEX_LENGTH, blob, f"an index of a multiple of {step} bytes, up to {most}, in a "
                                f"blob of {found.length}", f"{entry_bytes} bytes")], None
        start, block = found.length - _TRAILER - entry_bytes, entry_bytes + _TRAILER
        if block > count:
            tail = self.exactly(blob.name, start, block, found.version)
        return self._group_lengths(blob, found, tail[-block:], start)

    def _no_tail(self, blob: ExpectedBlob, magic: bytes) -> Finding:
        if blob.index_name in self.listed:
            return self.damage(codes.SEPARATE_INDEX, blob, "a page index at its end",
                               f"one in {blob.index_name}, as an early build wrote it")
        return self.damage(codes.GROUP_TAIL, blob, f"the magic number {MAGIC!r} at its end", repr(magic))

    def _group_lengths(self, blob: ExpectedBlob, found: BlobProperties, index: bytes, data_bytes: int) -> Looked:
        lengths = np.frombuffer(index[:-_TRAILER], "<i4").reshape(-1, self.expectation.cut(blob.item).pages)
        wanted, slots = blob.stop - blob.start, len(lengths)
        blocks = self._blocks(blob, found)
        wrong = self._lengths(blob, lengths, blob.name) or self._sums(blob, lengths, data_bytes, blocks)
        if slots < wanted:
            wrong.append(self.damage(codes.GROUP_SHORT, blob, f"{wanted} timesteps", f"{slots} timesteps",
                                     times=blob.times[slots:]))
        wrong = wrong or self._index_hash(blob, index, blocks)
        if wrong:
            return wrong, None
        notes = (self._unlisted(blob, slots - wanted) if slots > wanted else []) + self._list_missing(blob, blocks)
        hashes = self._hashes(blob, blocks[:-1], blocks[:-1]) if len(blocks) == slots + 1 else ()
        return (self._wrong_ids(blob, blocks) + notes,
                StoredPages(found.version, 0, lengths[:wanted].astype(np.int64), hashes))

    def _index_hash(self, blob: ExpectedBlob, index: bytes, blocks: tuple[Block, ...]) -> list[Finding]:
        """P11: entries that add up may be changed all the same; the id of the index block tells."""
        said = _INDEX_ID.fullmatch(blocks[-1].id) if blocks and blocks[-1].size == len(index) else None
        found = hashlib.sha256(index).hexdigest()[:16]
        if said is None or said[1] == found:
            return []
        return [self.damage(codes.BLOCK_HASH, blob, f"a page index of the hash {said[1]}, as the id of its block says",
                            f"one of the hash {found}")]

    def _sums(
        self, blob: ExpectedBlob, lengths: Array, data_bytes: int, blocks: tuple[Block, ...]
    ) -> list[Finding]:
        """The lengths of each timestep against its block where there is a block list, and of all against the blob."""
        sums = lengths.sum(axis=1, dtype=np.int64)
        sizes = np.array([block.size for block in blocks], np.int64)
        if len(sizes) == len(sums) + 1 and int(sizes[:-1].sum()) == data_bytes:
            wrong = np.flatnonzero(sums != sizes[:-1])
            if wrong.size:
                at = int(wrong[0])
                times = tuple(t for t in (blob.start + wrong).tolist() if t < blob.stop)
                return [self.damage(codes.INDEX_SUM, blob, f"{int(sizes[at])} bytes, the block of timestep "
                                    f"{blob.start + at}", f"page lengths that add up to {int(sums[at])}", times=times)]
        total = int(sums.sum())
        if total == data_bytes:
            return []
        return [self.damage(codes.INDEX_SUM, blob, f"{total} bytes of pages, as the index adds up to",
                            f"{data_bytes} bytes before it")]

    def _blocks(self, blob: ExpectedBlob, found: BlobProperties) -> tuple[Block, ...]:
        """The committed block list of a group; empty where it has none."""
        listed = self.storage.block_list(blob.name)
        if listed.version != found.version:
            raise BlobChangedError("The group changed.", where=blob.name)
        return listed.blocks

    def _wrong_ids(self, blob: ExpectedBlob, blocks: tuple[Block, ...]) -> list[Finding]:
        """P11: a block lies in the slot of the timestep that its id names."""
        wrong = [(t, int(name[1])) for t, block in zip(blob.times, blocks, strict=False)
                 if (name := _STEP_ID.fullmatch(block.id)) and int(name[1]) != t]
        if not wrong:
            return []
        return [self.damage(codes.BLOCK_ID, blob, f"the block of timestep {wrong[0][0]} in its slot",
                            f"that of timestep {wrong[0][1]}, as its id says", times=tuple(t for t, _ in wrong))]

    def _hashes(self, blob: ExpectedBlob, steps: list[Block] | tuple[Block, ...],
                blocks: tuple[Block, ...]) -> tuple[str, ...]:
        """The hashes of the listed timesteps' blocks, where each block is a timestep and its id says one."""
        names = [_STEP_ID.fullmatch(block.id) for block in steps[:blob.stop - blob.start]]
        if len(steps) != len(blocks) or len(names) != blob.stop - blob.start or not all(names):
            return ()
        return tuple(name[2] for name in names if name)

    def _list_missing(self, blob: ExpectedBlob, blocks: tuple[Block, ...]) -> list[Finding]:
        """P17: a group that was copied without its block list."""
        if blocks or not self.read:
            return []
        return [Finding(codes.NO_BLOCK_LIST, "advice", blob.name, blob.item.name, blob.times,
                        expected="the block list of the group", found="none",
                        advice="It was copied without it: it is read, but not appended to. Copy it with its list.")]

    def _series(self, blob: ExpectedBlob, found: BlobProperties) -> Looked:
        """TimeSeries: the header of block lengths (T1, T5)."""
        rows = self.expectation.blocks(blob)
        header = 4 * rows.size
        if found.length < header:
            return [self.damage(codes.HEADER_LENGTH, blob, f"a header of {header} bytes for {rows.size} blocks",
                                f"{found.length} bytes in all")], None
        if not self.read:
            return [], None
        lengths = np.frombuffer(self.exactly(blob.name, 0, header, found.version), "<i4").astype(np.int64)
        size = self.expectation.cut(blob.item).element_bytes
        limits = self.expectation.limits(rows, self.expectation.columns(blob)[1], size)
        wrong = np.flatnonzero((lengths < self._least(blob)) | (lengths > limits))
        if wrong.size:
            at = int(wrong[0])
            return [self.damage(codes.BLOCK_LENGTH, blob, f"blocks of {self._least(blob)} to {int(limits[at])} bytes",
                                f"{int(lengths[at])} bytes in block {at}", pages=tuple(wrong.tolist()))], None
        total = header + int(lengths.sum())
        if total != found.length:
            return [self.damage(codes.HEADER_SUM, blob, f"{total} bytes, as its header adds up to",
                                f"{found.length} bytes")], None
        return [], StoredPages(found.version, header, lengths[None])

    def _lengths(self, blob: ExpectedBlob, lengths: Array, name: str) -> list[Finding]:
        """Page lengths (timesteps, pages) that no codec writes (P10), and timesteps without any page (P5)."""
        limits = self.expectation.page_limits(blob.item)
        least = self._least(blob)
        wrong = (lengths < least) | (lengths > limits)
        found = []
        for steps, pages in exact_groups(wrong):
            value, limit = int(lengths[steps[0], pages[0]]), int(limits[pages[0]])
            found.append(self.damage(
                codes.PAGE_LENGTH, blob, f"pages of {least} to {limit} bytes",
                f"{value} bytes for page {pages[0]} of timestep {blob.start + steps[0]}",
                times=tuple(blob.start + s for s in steps if blob.start + s < blob.stop), pages=pages, name=name))
        empty = [] if found else np.flatnonzero(~lengths.any(axis=1)).tolist()
        if empty:
            times = tuple(blob.start + s for s in empty if blob.start + s < blob.stop)
            found.append(self.damage(codes.STEP_EMPTY, blob, "at least one stored page a timestep", "none",
                                     times=times, name=name))
        return found

    def _least(self, blob: ExpectedBlob) -> int:
        return 0 if self.expectation.may_be_empty(blob.item) else 1

    def exactly(self, name: str, offset: int, count: int, version: str) -> bytes:
        """So many bytes of a version of a blob; `BlobChangedError` where fewer come."""
        data = self.storage.read_range(name, offset, count, version=version).data
        if len(data) != count:
            raise BlobChangedError(f"{len(data)} bytes came for {count}.", where=name)
        return data

    def _unlisted(self, blob: ExpectedBlob, extra: int) -> list[Finding]:
        return [Finding(codes.UNLISTED_STEPS, "advice", blob.name, blob.item.name,
                        expected=f"the {blob.stop - blob.start} timesteps that the dataset lists",
                        found=f"{extra} more",
                        advice="An append stored them and did not list them: it was killed, or is still running.")]

    def damage(
        self, code: str, blob: ExpectedBlob, expected: str, found: str, *, times: tuple[int, ...] | None = None,
        pages: tuple[int, ...] = (), name: str = "",
    ) -> Finding:
        steps = blob.times if times is None else times
        return Finding(code, "damage", name or blob.name, blob.item.name, steps, pages, expected, found,
                       lost=self._lost(blob, len(steps)), advice=_REIMPORT, command=self.again)

    def transient(self, code: str, blob: ExpectedBlob, found: str) -> Finding:
        return Finding(code, "damage", blob.name, blob.item.name, blob.times, (), "a blob that can be read", found,
                       permanent=False, lost=self._lost(blob, blob.stop - blob.start), advice="Check again.",
                       command=f"mdstudio check {self.storage.location}")

    def _lost(self, blob: ExpectedBlob, steps: int) -> str:
        layer = f", layer {blob.layer}" if blob.layer >= 0 else ""
        kind = "cells of tile" if self.expectation.metadata.kind == "grid" else "elements of spatial group"
        where = f", {kind} {blob.tile}" if blob.tile >= 0 else ""
        return f"{blob.item.name}{layer}{where}: {steps} of {len(self.expectation.metadata.times)} times"


def exact_groups(marked: Array) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The marked places of (steps, pages) as pairs of steps and pages, whose products are the marked ones exactly."""
    steps = np.flatnonzero(marked.any(axis=1))
    of_pages: dict[bytes, list[int]] = {}
    for step in steps.tolist():
        of_pages.setdefault(np.packbits(marked[step]).tobytes(), []).append(step)
    for same in of_pages.values():
        yield tuple(same), tuple(np.flatnonzero(marked[same[0]]).tolist())
