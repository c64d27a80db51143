"""`check`: what there is against what there must be, at the levels that exist so far."""

from __future__ import annotations

import re
import shlex
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

from mdstudio.engine.errors import (
    BlobChangedError,
    Cancelled,
    DamagedDataError,
    MdError,
    NotFoundError,
    RangeError,
    UsageError,
)
from mdstudio.engine.health import findings as codes
from mdstudio.engine.health.domains import domain_findings
from mdstudio.engine.health.expected import Expectation, ExpectedBlob
from mdstudio.engine.health.findings import Finding, Summary
from mdstudio.engine.health.indexes import IndexChecker
from mdstudio.engine.health.leftovers import left_over_findings
from mdstudio.engine.health.pages import PagesReport, check_pages
from mdstudio.engine.layout.guards import guards
from mdstudio.engine.layout.metadata import METADATA_BLOB, Metadata, load_metadata
from mdstudio.engine.layout.names import DATA_NAME
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import BlobProperties, BlobStorage, CountingStorage

LEVELS = ("probe", "index", "full")
LATER_LEVELS = ("sample", "meaning")
PAIR_WAITS = (0.2, 1.0)  # seconds before SingleTimestep pairs that are damaged are looked at again, and once more
_READERS = 8  # requests that wait at once
_OF_A_DATASET = re.compile(r"\d{3,}-[^/]*/|domain-[0-9a-f]{16}\.bin$")  # what an import may have left
_AHEAD = 256  # blobs handed to the readers before their findings are taken
_FAR_MORE = 100_000  # pages or blobs that the metadata may speak of beyond what is there: each of them is missed

Sleep = Callable[[float], None]


def check(
    storage: BlobStorage, level: str = "index", progress: Progress | None = None, sleep: Sleep = time.sleep
) -> Iterator[Finding | Summary]:
    """The findings of a dataset as they come, then one `Summary`.

    Args:
        level: "probe" reads `dataset.json`, the domain blob and a listing: whether every blob is there, and as long as
            uncompressed data must be. "index" reads every page index and TimeSeries header too, no page. "full" reads
            every page: its checksum, what it decodes to, the hash of each block of a group.
        sleep: how to wait before SingleTimestep pairs are looked at again (P18).

    Raises `UsageError` for another level, `NotFoundError` and `NotADatasetError` where there is no dataset, and the
    guard's error for one that this build cannot read (V5-V7); everything else that is wrong is a finding. Reads with 8
    threads, each of which holds the index of its blob and at most 8 MB of pages (or one page); progress counts blobs,
    at level full pages; `Cancelled`.
    """
    if level not in LEVELS:
        later = f"{level} is not built yet;" if level in LATER_LEVELS else f"There is no level '{level}';"
        raise UsageError(f"{later} available are {', '.join(LEVELS[:-1])} and {LEVELS[-1]}.")
    return _Check(storage, level, progress or Progress(), sleep).run()


class _Check:
    """One run of a check."""

    def __init__(self, storage: BlobStorage, level: str, progress: Progress, sleep: Sleep) -> None:
        self._storage, self._level, self._progress, self._sleep = storage, level, progress, sleep
        self._counting = CountingStorage(storage)
        self._pages_total = self._pages_checked = self._not_checkable = 0
        self._written_to = False  # somebody writes to the dataset meanwhile: its sizes say nothing

    def run(self) -> Iterator[Finding | Summary]:
        """The findings, then the summary."""
        count = {"damage": 0, "advice": 0}
        for finding in self._findings():
            count[finding.severity] += 1
            yield finding
        yield Summary(self._level, "damaged" if count["damage"] else "advice" if count["advice"] else "clean",
                      sum(count.values()), self._pages_checked, self._pages_total, self._counting.bytes_read,
                      self._counting.requests, self._not_checkable)

    def _findings(self) -> Iterator[Finding]:
        try:
            metadata, _ = load_metadata(self._counting)
        except DamagedDataError as error:
            yield Finding(codes.METADATA, "damage", METADATA_BLOB, expected="readable metadata", found=error.message,
                          lost="the whole dataset", advice=error.advice or "Restore dataset.json from a copy.")
            return
        yield from _guard_findings(metadata)
        unread = any(guard.blocks_read for guard in guards(metadata))
        yield from domain_findings(self._counting, metadata)
        listed = {blob.name: blob for blob in _own_blobs(self._counting, metadata)}
        if unread:
            return
        expectation = Expectation(metadata)
        claims = _claims(expectation, listed)
        if claims:
            yield claims
            return
        blob_count, self._pages_total = expectation.totals()
        checker = IndexChecker(self._counting, expectation, listed, _again_command(self._storage, metadata),
                               self._level != "probe")
        if self._level == "full":
            self._progress.start(self._pages_total, "pages")
        else:
            self._progress.start(blob_count, "blobs")
        noticed = set()
        for finding in self._of_all_blobs(checker):
            noticed.add(finding.code if finding.severity == "advice" else "damage")
            yield finding
        known = _known(expectation)
        yield from _orphans(metadata, known, listed)
        if not self._written_to and not noticed & {"damage", codes.UNLISTED_STEPS}:
            yield from _data_size(metadata, known, listed)
        yield from left_over_findings(self._storage)

    def _of_all_blobs(self, checker: IndexChecker) -> Iterator[Finding]:
        """The findings of every blob, those of damaged SingleTimestep pairs last.

        A re-import writes the `.dat`, then the `.idx`: what does not add up, or decode, is looked at again after the
        waits before it is a finding (P18), all pairs together.
        """
        suspects: list[ExpectedBlob] = []
        for blob, report in self._reports(checker, checker.expectation.blobs(), fresh=False):
            if self._is_suspect(checker, blob, report):
                suspects.append(blob)
            else:
                yield from self._count(report)
            self._advance(checker, blob)
        for number, wait in enumerate(PAIR_WAITS):
            if not suspects:
                return
            self._written_to = True
            self._wait(wait)
            again, suspects = suspects, []
            for blob, report in self._reports(checker, iter(again), fresh=True):
                if number + 1 < len(PAIR_WAITS) and self._is_suspect(checker, blob, report):
                    suspects.append(blob)
                else:
                    yield from self._count(report)

    @staticmethod
    def _is_suspect(checker: IndexChecker, blob: ExpectedBlob, report: PagesReport) -> bool:
        """Whether a blob may be half of a pair that is being written."""
        pair = checker.expectation.compressed and blob.storage_type == "SingleTimestep"
        return pair and any(part.severity == "damage" and part.code != codes.BLOB_MISSING for part in report.findings)

    def _count(self, report: PagesReport) -> list[Finding]:
        self._pages_checked += report.checked
        self._not_checkable += report.not_checkable
        return report.findings

    def _advance(self, checker: IndexChecker, blob: ExpectedBlob) -> None:
        self._progress.advance(checker.expectation.pages(blob) if self._level == "full" else 1)

    def _wait(self, seconds: float) -> None:
        """Wait, and notice a cancel meanwhile."""
        parts = round(seconds / 0.1)
        for _ in range(parts):
            self._progress.check()
            self._sleep(seconds / parts)

    def _reports(
        self, checker: IndexChecker, blobs: Iterator[ExpectedBlob], fresh: bool
    ) -> Iterator[tuple[ExpectedBlob, PagesReport]]:
        """What came of every blob, in order, looked at by several threads, a bounded number of blobs ahead."""
        pool = ThreadPoolExecutor(_READERS, "check")

        def submit(count: int) -> Iterator[tuple[ExpectedBlob, Future[PagesReport]]]:
            return ((blob, look(blob)) for blob in islice(blobs, count))

        def look(blob: ExpectedBlob) -> Future[PagesReport]:
            if fresh or blob.name in checker.listed:
                return pool.submit(self._look, checker, blob, fresh)
            missing: Future[PagesReport] = Future()
            missing.set_result(self._look(checker, blob, fresh))  # no request: not worth a thread
            return missing

        try:
            pending = deque(submit(_AHEAD))
            while pending:
                blob, future = pending.popleft()
                yield blob, future.result()
                pending.extend(submit(1))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _look(self, checker: IndexChecker, blob: ExpectedBlob, fresh: bool) -> PagesReport:
        """One blob at the level of the check. One that changes or goes meanwhile is looked at once more."""
        for again in (fresh, True):
            try:
                found, pages = checker.look(blob, again)
                report = PagesReport(found)
                if self._level == "full" and pages is not None:
                    report = check_pages(checker, blob, pages, self._progress)
                    report.findings[:0] = found
                return report
            except (BlobChangedError, NotFoundError, RangeError):
                self._written_to = True
            except Cancelled:
                raise
            except (MdError, OSError) as error:
                return PagesReport([checker.transient(codes.UNREADABLE, blob, str(error))])
            except MemoryError:
                return PagesReport([checker.transient(codes.UNREADABLE, blob, "pages that do not fit in memory")])
        return PagesReport([checker.transient(
            codes.CHANGED, blob, "a blob that changed twice while it was checked")])


def _guard_findings(metadata: Metadata) -> Iterator[Finding]:
    """Guards that speak of lost metadata are findings; those for another build end the check (exit status 12)."""
    for guard in guards(metadata):
        if guard.code not in ("MD-G004", "MD-G005"):
            raise guard.error(f"{guard.message} It cannot be checked.", where=METADATA_BLOB, advice=guard.advice)
        unread = guard.blocks_read
        yield Finding(codes.GUARD, "damage" if unread else "advice", METADATA_BLOB,
                      expected="metadata as it was written", found=guard.message,
                      lost="the data of every item" if unread else "", advice=guard.advice)


def _own_blobs(storage: BlobStorage, metadata: Metadata) -> Iterator[BlobProperties]:
    """The blobs of this dataset, without those of datasets that lie below it, be it in the folder of an item."""
    blobs = list(storage.list_blobs())
    nested = tuple(blob.name.removesuffix(METADATA_BLOB) for blob in blobs if blob.name.endswith("/" + METADATA_BLOB))
    folders = tuple(f"{folder}/" for folder in metadata.folders.values())
    return (blob for blob in blobs if not (nested and blob.name.startswith(nested)) or (
        blob.name.startswith(folders) and DATA_NAME.match(blob.name)))


def _claims(expectation: Expectation, listed: Mapping[str, BlobProperties]) -> Finding | None:
    """Pages and blobs that what is there cannot hold, found before memory is taken for them.

    A page takes 4 bytes of an index, or its values, at each of the listed times.
    """
    if not len(expectation.metadata.times):
        return None
    stored = sum(blob.length for blob in listed.values())
    pages = max(map(expectation.page_count, expectation.metadata.items), default=0)
    if pages > stored + _FAR_MORE:
        return _too_much(f"slices of {pages} pages", f"{stored} bytes in all")
    blobs = expectation.totals()[0]
    if blobs > 4 * len(listed) + _FAR_MORE:
        return _too_much(f"{blobs} blobs", f"{len(listed)} blobs")
    return None


def _too_much(expected: str, found: str) -> Finding:
    return Finding(codes.CLAIMS, "damage", METADATA_BLOB, expected=f"{expected}, of which the metadata speaks",
                   found=found, lost="the whole dataset", advice="Restore dataset.json from a copy, or import again.")


def _again_command(storage: BlobStorage, metadata: Metadata) -> str:
    """The command that makes the dataset anew from its source, where that is a file that was noted."""
    files = [str(entry["file"]) for entry in metadata.source if isinstance(entry.get("file"), str)]
    target = storage.location.rstrip("/\\") + "-again"
    return f"mdstudio import {' '.join(map(shlex.quote, [*files, target]))}" if files else ""


def _known(expectation: Expectation) -> set[str]:
    """The data blobs of the listed times, and what lies beside them."""
    known: set[str] = set()
    for blob in expectation.blobs():
        known.add(blob.name)
        if expectation.compressed and blob.storage_type != "TimeSeries":
            known.add(blob.index_name)  # a group's is a finding of its own
    return known


def _orphans(metadata: Metadata, known: set[str], listed: dict[str, BlobProperties]) -> Iterator[Finding]:
    """Blobs that nothing refers to."""
    items = {f"{folder}/": name for name, folder in metadata.folders.items()}
    for name in sorted(listed.keys() - known - {METADATA_BLOB, metadata.domain_blob}):
        item = next((item for folder, item in items.items() if name.startswith(folder)), "")
        advice = ("Nothing refers to it: a killed import left it, or one is running. Remove it when none is."
                  if _OF_A_DATASET.match(name) else
                  "No import writes such a file: it is somebody's own. Keep it outside the dataset's folder.")
        yield Finding(codes.ORPHAN, "advice", name, item, expected="a blob of a listed time",
                      found=f"{listed[name].length} bytes", advice=advice)


def _data_size(metadata: Metadata, known: set[str], listed: dict[str, BlobProperties]) -> Iterator[Finding]:
    """D8: what `DataSizeBytes` says against the listing, with or without what nothing refers to."""
    said = metadata.data_size_bytes
    folders = tuple(f"{folder}/" for folder in metadata.folders.values())
    referred = sum(blob.length for name, blob in listed.items() if name in known)
    listed_bytes = sum(blob.length for name, blob in listed.items() if name.startswith(folders))
    if said is not None and said not in (referred, listed_bytes):
        yield Finding(codes.DATA_SIZE, "advice", METADATA_BLOB, expected=f"{said} bytes of data, as DataSizeBytes says",
                      found=f"{referred} bytes",
                      advice="Reading does not need it; the next append or update counts the bytes anew.")
