"""The pages of one blob, read and decoded: level full. Checksum, content, element count, hash of a group's blocks.

Where they lie and what they hold comes from the check's own parser; only the codecs are those of the reader.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import lz4.block
import numpy as np

from mdstudio.engine.codecs import codec, describe_block
from mdstudio.engine.codecs.names import is_auto
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.health import findings as codes
from mdstudio.engine.health.expected import CHECKSUM, Expectation, ExpectedBlob
from mdstudio.engine.health.findings import Finding
from mdstudio.engine.health.indexes import IndexChecker, StoredPages, exact_groups
from mdstudio.engine.model import Array
from mdstudio.engine.processors import available_processors
from mdstudio.engine.progress import Progress

REQUEST = 8 << 20  # bytes held of a blob at once; a larger page is held whole

_processors = threading.BoundedSemaphore(available_processors())


@dataclass
class PagesReport:
    """What came of the pages of one blob.

    Attributes:
        checked: pages read and decoded, those stored as no-data (length 0) among them.
        not_checkable: pages that have no checksum.
    """

    findings: list[Finding] = field(default_factory=list)
    checked: int = 0
    not_checkable: int = 0


def check_pages(checker: IndexChecker, blob: ExpectedBlob, stored: StoredPages, progress: Progress) -> PagesReport:
    """Read every page of the listed times, at most 8 MB at once, and decode it.

    Raises as the storage does, `BlobChangedError` for another version of the blob, `Cancelled`.
    """
    expectation = checker.expectation
    pages = _Pages(expectation, blob, stored)
    hashes = _Hashes(stored)
    lengths = stored.lengths.ravel()
    starts = stored.offset + np.cumsum(lengths) - lengths
    for first, stop in _batches(lengths):
        progress.check()
        begin, end = int(starts[first]), int(starts[stop - 1] + lengths[stop - 1])
        data = memoryview(checker.exactly(blob.name, begin, end - begin, stored.version) if end > begin else b"")
        bounds = [*(starts[first:stop] - begin).tolist(), end - begin]  # pages lie back to back
        with _processors:
            for page, at, after in zip(range(first, stop), bounds, bounds[1:], strict=False):
                if page % 16 == 0:
                    progress.check()
                part = data[at:after]
                if stored.hashes:
                    hashes.add(page, part)
                if after > at and expectation.compressed:
                    pages.check(page, part)
    report = PagesReport(pages.findings(checker) + hashes.findings(checker, blob, pages.damaged_steps()))
    report.checked = lengths.size if expectation.compressed else 0
    report.not_checkable = 0 if expectation.checksums else int((lengths > 0).sum())
    return report


def _batches(lengths: Array) -> Iterator[tuple[int, int]]:
    """Runs of pages of at most `REQUEST` bytes, or one page."""
    ends = np.cumsum(lengths)
    first = 0
    while first < lengths.size:
        limit = int(ends[first] - lengths[first]) + REQUEST
        stop = max(first + 1, int(np.searchsorted(ends, limit, "right")))
        yield first, stop
        first = stop


class _Pages:
    """Decodes the pages of a blob and keeps which are damaged. One thread."""

    def __init__(self, expectation: Expectation, blob: ExpectedBlob, stored: StoredPages) -> None:
        self._expectation, self._blob = expectation, blob
        self._codec = codec(expectation.storage.compression)
        self._dtype = blob.item.numpy
        self._series = blob.storage_type == "TimeSeries"
        if self._series:
            self._heights = expectation.blocks(blob)
            self._widths = np.full_like(self._heights, expectation.columns(blob)[0])
            self._columns_known = len(set(expectation.columns(blob))) == 1
        else:
            cut = expectation.cut(blob.item)
            self._heights, self._widths = cut.heights, cut.widths
        self._checksums = expectation.checksums
        self._full_bytes = expectation.buffer_bytes(self._dtype.itemsize)
        self._buffers: dict[tuple[int, int], Array] = {}
        self._shape = stored.lengths.shape
        self._changed = np.zeros(stored.lengths.size, bool)
        self._broken: dict[int, str] = {}

    def check(self, number: int, data: memoryview) -> None:
        """One page that is not empty, by its number in the blob."""
        if self._checksums:
            data, stored = data[:-CHECKSUM], data[-CHECKSUM:]
            if zlib.crc32(data).to_bytes(CHECKSUM, "little") != stored:
                self._changed[number] = True
                return
        page = number % self._shape[1]
        try:
            if self._series and not self._columns_known:
                self._find_columns(data, int(self._heights[page]))
            self._codec.decode(data, self._into(int(self._heights[page]), int(self._widths[page])), self._full_bytes)
        except DamagedDataError as error:
            self._broken[number] = error.message

    def _into(self, height: int, width: int) -> Array:
        """Room for a page: tiles have four shapes at most, blocks and runs two."""
        if (height, width) not in self._buffers:
            self._buffers[height, width] = np.empty((height, width), self._dtype)
        return self._buffers[height, width]

    def _find_columns(self, encoded: memoryview, rows: int) -> None:
        """The last group of a variable step may hold more times than are listed: its blocks say how many."""
        least, most = self._expectation.columns(self._blob)
        columns = _row_length(self._codec.name, encoded, rows, rows * most * self._dtype.itemsize, self._dtype.itemsize)
        if least <= columns <= most:
            self._widths = np.full_like(self._heights, columns)
            self._columns_known = True

    def findings(self, checker: IndexChecker) -> list[Finding]:
        """One finding a set of pages that are damaged alike."""
        broken = np.zeros_like(self._changed)
        broken[list(self._broken)] = True
        found = []
        for marked, code in ((self._changed, codes.PAGE_CHECKSUM), (broken, codes.PAGE_CONTENT)):
            for steps, pages in exact_groups(marked.reshape(self._shape)):
                number = steps[0] * self._shape[1] + pages[0]
                if code == codes.PAGE_CHECKSUM:
                    expected, what = "pages whose bytes give the checksum they end with", "another checksum"
                else:
                    expected, what = f"pages of {self._codec.name} that hold their elements", self._broken[number]
                found.append(checker.damage(code, self._blob, expected, f"{self._name(steps[0], pages[0])}: {what}",
                                            times=self._times(steps), pages=pages))
        return found

    def damaged_steps(self) -> set[int]:
        """The timesteps (0 for TimeSeries) with a page that is damaged."""
        numbers = {*np.flatnonzero(self._changed).tolist(), *self._broken}
        return {number // self._shape[1] for number in numbers}

    def _name(self, step: int, page: int) -> str:
        return f"block {page}" if self._series else f"page {page} of timestep {self._blob.start + step}"

    def _times(self, steps: tuple[int, ...]) -> tuple[int, ...]:
        return self._blob.times if self._series else tuple(self._blob.start + step for step in steps)


def _row_length(name: str, encoded: memoryview, rows: int, most_bytes: int, size: int) -> int:
    """Elements a row that a block of so many rows holds; 0 where that cannot be told."""
    if is_auto(name):
        return describe_block(name, encoded).row_length
    try:
        if name == "LZ4":
            most = min(most_bytes, 255 * len(encoded) + 64)  # no block decodes to more
            length = len(lz4.block.decompress(encoded, uncompressed_size=most))
        else:
            length = len(zlib.decompressobj(-15).decompress(encoded, most_bytes + 1))
    except (zlib.error, lz4.block.LZ4BlockError, ValueError):
        return 0
    return length // (rows * size) if length % (rows * size) == 0 else 0


class _Hashes:
    """The SHA-256 of each timestep of a group, against the one in its block's id (P11)."""

    def __init__(self, stored: StoredPages) -> None:
        self._wanted = stored.hashes
        self._pages = stored.lengths.shape[1]
        self._hash = hashlib.sha256()
        self._wrong: list[tuple[int, str]] = []

    def add(self, number: int, data: memoryview) -> None:
        """The next page."""
        step, page = divmod(number, self._pages)
        if page == 0:
            self._hash = hashlib.sha256()
        self._hash.update(data)
        if page == self._pages - 1 and (found := self._hash.hexdigest()[:16]) != self._wanted[step]:
            self._wrong.append((step, found))

    def findings(self, checker: IndexChecker, blob: ExpectedBlob, known: set[int]) -> list[Finding]:
        """One finding, for timesteps whose pages have shown nothing."""
        wrong = [(step, found) for step, found in self._wrong if step not in known]
        if not wrong:
            return []
        step, found = wrong[0]
        return [checker.damage(codes.BLOCK_HASH, blob, f"bytes of the hash {self._wanted[step]}, as the id of the "
                               f"block of timestep {blob.start + step} says", f"bytes of the hash {found}",
                               times=tuple(blob.start + step for step, _ in wrong))]
