"""One data blob against what it must be: its presence, its length, its page index or header. No page is read.

The bytes are parsed here from format.md, not by the readers in `engine.layout`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mdstudio.engine.errors import BlobChangedError, MdError
from mdstudio.engine.health import findings as codes
from mdstudio.engine.health.expected import Expectation, ExpectedBlob
from mdstudio.engine.health.findings import Finding
from mdstudio.engine.model import Array
from mdstudio.engine.storage import BlobProperties, BlobStorage

MAGIC = b"MDPI"
TAIL = 4096
_TRAILER = 8  # the byte length of the entries, the magic number
_REIMPORT = "Import these times again from the source."


@dataclass(frozen=True)
class IndexChecker:
    """Checks blobs of one dataset; any thread.

    Attributes:
        listed: the blobs that are there.
        again: the command that makes the dataset anew; "" where the source is not known.
        read: whether indexes and headers are read (level "index").
    """

    storage: BlobStorage
    expectation: Expectation
    listed: Mapping[str, BlobProperties]
    again: str
    read: bool

    def check(self, blob: ExpectedBlob) -> list[Finding]:
        """The findings of one blob. A blob that changes meanwhile is looked at once more."""
        listed = self.listed.get(blob.name)
        if listed is None:
            return [self._damage(codes.BLOB_MISSING, blob, "the blob", "no blob of that name")]
        check = self._by_type()
        try:
            return check(blob, listed)
        except BlobChangedError:
            pass
        except (MdError, OSError) as error:
            return [self._transient(codes.UNREADABLE, blob, str(error))]
        try:
            return check(blob, self.storage.properties(blob.name))
        except BlobChangedError:
            return [self._transient(codes.CHANGED, blob, "a blob that changed twice while it was checked")]
        except (MdError, OSError) as error:
            return [self._transient(codes.UNREADABLE, blob, str(error))]

    def _by_type(self) -> Callable[[ExpectedBlob, BlobProperties], list[Finding]]:
        if not self.expectation.compressed:
            return self._raw
        return {"SingleTimestep": self._step, "MultiTimestep": self._group}.get(
            self.expectation.storage.storage_type, self._series)

    def _raw(self, blob: ExpectedBlob, listed: BlobProperties) -> list[Finding]:
        """Uncompressed: the length says it all (K9); a group may hold later timesteps that are not listed."""
        expected, step = self.expectation.raw_length(blob), self.expectation.step_bytes(blob.item)
        if self.expectation.storage.storage_type != "MultiTimestep":
            right = listed.length == expected
        else:
            right = listed.length >= expected and listed.length % step == 0
            extra = (listed.length - expected) // step
            if right:
                blocks = self._block_sizes(blob, listed) if self.read else None
                return (self._unlisted(blob, extra) if extra else []) + self._list_missing(blob, blocks)
        return [] if right else [self._damage(codes.RAW_LENGTH, blob, f"{expected} bytes", f"{listed.length} bytes")]

    def _step(self, blob: ExpectedBlob, listed: BlobProperties) -> list[Finding]:
        """SingleTimestep: the `.idx` beside the blob (P7)."""
        index = self.listed.get(blob.index_name)
        pages = self.expectation.tile_cells.size
        if index is None:
            return [self._damage(codes.INDEX_MISSING, blob, f"the page index {blob.index_name}", "no such blob")]
        if index.length != 4 * pages:
            return [self._damage(codes.INDEX_LENGTH, blob, f"an index of {4 * pages} bytes for {pages} pages",
                                 f"{index.length} bytes", name=blob.index_name)]
        if not self.read:
            return []
        data = self.storage.read(blob.index_name).data
        if len(data) != 4 * pages:
            raise BlobChangedError("The index changed.", where=blob.index_name)
        lengths = np.frombuffer(data, "<i4").reshape(1, pages)
        found = self._lengths(blob, lengths, blob.index_name)
        if found:
            return found
        total = int(lengths.sum(dtype=np.int64))
        current = listed.length if total == listed.length else self.storage.properties(blob.name).length
        if total != current:  # a re-import in between shows as another length now
            return [self._damage(codes.INDEX_SUM, blob, f"{total} bytes, as the lengths in its index add up to",
                                 f"{current} bytes")]
        return []

    def _group(self, blob: ExpectedBlob, listed: BlobProperties) -> list[Finding]:
        """MultiTimestep: the index block at the end of the blob (P8, P10)."""
        if not self.read:
            return []
        step = 4 * self.expectation.tile_cells.size
        if listed.length < _TRAILER:
            return [self._damage(codes.GROUP_TAIL, blob, "a page index at its end", f"{listed.length} bytes in all")]
        count = min(TAIL, listed.length)
        tail = self._exactly(blob.name, listed.length - count, count, listed.version)
        entry_bytes, magic = struct.unpack("<i4s", tail[-_TRAILER:])
        if magic != MAGIC:
            if blob.index_name in self.listed:
                return [self._damage(codes.SEPARATE_INDEX, blob, "a page index at its end",
                                     f"one in {blob.index_name}, as an early build wrote it")]
            return [self._damage(codes.GROUP_TAIL, blob, f"the magic number {MAGIC!r} at its end", repr(magic))]
        most = step * self.expectation.group_size
        if entry_bytes <= 0 or entry_bytes % step or entry_bytes > min(most, listed.length - _TRAILER):
            return [self._damage(codes.INDEX_LENGTH, blob, f"an index of a multiple of {step} bytes, up to {most}, in "
                                 f"a blob of {listed.length}", f"{entry_bytes} bytes")]
        start, block = listed.length - _TRAILER - entry_bytes, entry_bytes + _TRAILER
        if block > count:
            tail = self._exactly(blob.name, start, block, listed.version)
        lengths = np.frombuffer(tail[-block:-_TRAILER], "<i4").reshape(-1, step // 4)
        return self._group_lengths(blob, listed, lengths, start)

    def _group_lengths(
        self, blob: ExpectedBlob, listed: BlobProperties, lengths: Array, data_bytes: int
    ) -> list[Finding]:
        wanted, slots = blob.stop - blob.start, len(lengths)
        blocks = self._block_sizes(blob, listed)
        found = self._lengths(blob, lengths, blob.name) or self._sums(blob, lengths, data_bytes, blocks)
        if slots < wanted:
            found.append(self._damage(codes.GROUP_SHORT, blob, f"{wanted} timesteps", f"{slots} timesteps",
                                      times=blob.times[slots:]))
        unlisted = self._unlisted(blob, slots - wanted) if slots > wanted else []
        return found or unlisted + self._list_missing(blob, blocks)

    def _sums(self, blob: ExpectedBlob, lengths: Array, data_bytes: int, blocks: Array | None) -> list[Finding]:
        """The lengths of each timestep against its block where there is a block list, and of all against the blob."""
        sums = lengths.sum(axis=1, dtype=np.int64)
        if blocks is not None and len(blocks) == len(sums) + 1 and int(blocks[:-1].sum()) == data_bytes:
            wrong = np.flatnonzero(sums != blocks[:-1])
            if wrong.size:
                at = int(wrong[0])
                times = tuple(t for t in (blob.start + wrong).tolist() if t < blob.stop)
                return [self._damage(codes.INDEX_SUM, blob, f"{int(blocks[at])} bytes, the block of timestep "
                                     f"{blob.start + at}", f"page lengths that add up to {int(sums[at])}", times=times)]
        total = int(sums.sum())
        if total == data_bytes:
            return []
        return [self._damage(codes.INDEX_SUM, blob, f"{total} bytes of pages, as the index adds up to",
                             f"{data_bytes} bytes before it")]

    def _block_sizes(self, blob: ExpectedBlob, listed: BlobProperties) -> Array | None:
        """(blocks,) int64 sizes in the committed block list of a group; None where it has none."""
        found = self.storage.block_list(blob.name)
        if found.version != listed.version:
            raise BlobChangedError("The group changed.", where=blob.name)
        return np.array([block.size for block in found.blocks], np.int64) if found.blocks else None

    def _list_missing(self, blob: ExpectedBlob, blocks: Array | None) -> list[Finding]:
        """P17: a group that was copied without its block list."""
        if blocks is not None or not self.read:
            return []
        return [Finding(codes.NO_BLOCK_LIST, "advice", blob.name, blob.item.name, blob.times,
                        expected="the block list of the group", found="none",
                        advice="It was copied without it: it is read, but not appended to. Copy it with its list.")]

    def _series(self, blob: ExpectedBlob, listed: BlobProperties) -> list[Finding]:
        """TimeSeries: the header of block lengths (T1, T5)."""
        rows = self.expectation.blocks(blob.tile)
        header = 4 * rows.size
        if listed.length < header:
            return [self._damage(codes.HEADER_LENGTH, blob, f"a header of {header} bytes for {rows.size} blocks",
                                 f"{listed.length} bytes in all")]
        if not self.read:
            return []
        lengths = np.frombuffer(self._exactly(blob.name, 0, header, listed.version), "<i4").astype(np.int64)
        limits = self.expectation.limits(blob.item.numpy.itemsize, rows * self.expectation.group_size)
        wrong = np.flatnonzero((lengths < self._least(blob)) | (lengths > limits))
        if wrong.size:
            at = int(wrong[0])
            return [self._damage(codes.BLOCK_LENGTH, blob, f"blocks of {self._least(blob)} to {int(limits[at])} bytes",
                                 f"{int(lengths[at])} bytes in block {at}", pages=tuple(wrong.tolist()))]
        total = header + int(lengths.sum())
        if total != listed.length:
            return [self._damage(codes.HEADER_SUM, blob, f"{total} bytes, as its header adds up to",
                                 f"{listed.length} bytes")]
        return []

    def _lengths(self, blob: ExpectedBlob, lengths: Array, name: str) -> list[Finding]:
        """Page lengths (timesteps, pages) that no codec writes (P10), and timesteps without any page (P5)."""
        limits = self.expectation.page_limits(blob.item)
        least = self._least(blob)
        wrong = (lengths < least) | (lengths > limits)
        if wrong.any():
            steps, pages = np.nonzero(wrong)
            value, limit = int(lengths[steps[0], pages[0]]), int(limits[pages[0]])
            times = tuple(t for t in (blob.start + np.unique(steps)).tolist() if t < blob.stop)
            return [self._damage(codes.PAGE_LENGTH, blob, f"pages of {least} to {limit} bytes",
                                 f"{value} bytes for page {int(pages[0])} of timestep {blob.start + int(steps[0])}",
                                 times=times, pages=tuple(np.unique(pages).tolist()), name=name)]
        empty = np.flatnonzero(~lengths.any(axis=1))
        if empty.size:
            return [self._damage(codes.STEP_EMPTY, blob, "at least one stored page a timestep", "none",
                                 times=tuple(t for t in (blob.start + empty).tolist() if t < blob.stop), name=name)]
        return []

    def _least(self, blob: ExpectedBlob) -> int:
        return 0 if self.expectation.may_be_empty(blob.item) else 1

    def _exactly(self, name: str, offset: int, count: int, version: str) -> bytes:
        data = self.storage.read_range(name, offset, count, version=version).data
        if len(data) != count:
            raise BlobChangedError(f"{len(data)} bytes came for {count}.", where=name)
        return data

    def _unlisted(self, blob: ExpectedBlob, extra: int) -> list[Finding]:
        return [Finding(codes.UNLISTED_STEPS, "advice", blob.name, blob.item.name,
                        expected=f"the {blob.stop - blob.start} timesteps that the dataset lists",
                        found=f"{extra} more",
                        advice="An append stored them and did not list them: it was killed, or is still running.")]

    def _damage(
        self, code: str, blob: ExpectedBlob, expected: str, found: str, *, times: tuple[int, ...] | None = None,
        pages: tuple[int, ...] = (), name: str = "",
    ) -> Finding:
        steps = blob.times if times is None else times
        return Finding(code, "damage", name or blob.name, blob.item.name, steps, pages, expected, found,
                       lost=self._lost(blob, len(steps)), advice=_REIMPORT, command=self.again)

    def _transient(self, code: str, blob: ExpectedBlob, found: str) -> Finding:
        return Finding(code, "damage", blob.name, blob.item.name, blob.times, (), "a blob that can be read", found,
                       permanent=False, lost=self._lost(blob, blob.stop - blob.start), advice="Check again.",
                       command=f"mdstudio check {self.storage.location}")

    def _lost(self, blob: ExpectedBlob, steps: int) -> str:
        layer = f", layer {blob.layer}" if blob.layer >= 0 else ""
        where = f", cells of tile {blob.tile}" if blob.tile >= 0 else ""
        return f"{blob.item.name}{layer}{where}: {steps} of {len(self.expectation.metadata.times)} times"
