"""`check`: what there is against what there must be, at the levels that exist so far."""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from mdstudio.engine.errors import DamagedDataError, UsageError
from mdstudio.engine.health import findings as codes
from mdstudio.engine.health.domains import domain_findings
from mdstudio.engine.health.expected import Expectation, ExpectedBlob
from mdstudio.engine.health.findings import Finding, Summary
from mdstudio.engine.health.indexes import IndexChecker
from mdstudio.engine.health.leftovers import left_over_findings
from mdstudio.engine.layout.guards import guards
from mdstudio.engine.layout.metadata import METADATA_BLOB, Metadata, load_metadata
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import BlobProperties, BlobStorage, CountingStorage

LEVELS = ("probe", "index")
LATER_LEVELS = ("sample", "full", "meaning")
_READERS = 8  # requests that wait at once
_OF_A_DATASET = re.compile(r"\d{3,}-[^/]*/|domain-[0-9a-f]{16}\.bin$")  # what an import may have left
_AHEAD = 256  # blobs handed to the readers before their findings are taken


def check(storage: BlobStorage, level: str = "index", progress: Progress | None = None) -> Iterator[Finding | Summary]:
    """The findings of a dataset as they come, then one `Summary`.

    Args:
        level: "probe" reads `dataset.json`, the domain blob and a listing: whether every blob is there, and as long as
            uncompressed data must be. "index" reads every page index and TimeSeries header too, no page.

    Raises `UsageError` for another level, `NotFoundError` and `NotADatasetError` where there is no dataset, and the
    guard's error for one that this build cannot read (V5-V7); everything else that is wrong is a finding. Reads with 8
    threads; progress counts blobs; `Cancelled`.
    """
    if level not in LEVELS:
        later = f" {level} is not built yet;" if level in LATER_LEVELS else f" There is no level '{level}';"
        raise UsageError(f"{later.strip()} available are {' and '.join(LEVELS)}.")
    return _checked(storage, level, progress or Progress())


def _checked(storage: BlobStorage, level: str, progress: Progress) -> Iterator[Finding | Summary]:
    counting = CountingStorage(storage)
    found: list[Finding] = []
    pages = 0
    for part in _findings(storage, counting, level, progress):
        if isinstance(part, int):
            pages = part
        else:
            found.append(part)
            yield part
    damaged = any(finding.severity == "damage" for finding in found)
    yield Summary(level, "damaged" if damaged else "advice" if found else "clean", len(found), 0, pages,
                  counting.bytes_read, counting.requests)


def _findings(
    storage: BlobStorage, counting: CountingStorage, level: str, progress: Progress
) -> Iterator[Finding | int]:
    """Findings, and once the number of pages in all."""
    try:
        metadata, _ = load_metadata(counting)
    except DamagedDataError as error:
        yield Finding(codes.METADATA, "damage", METADATA_BLOB, expected="readable metadata", found=error.message,
                      lost="the whole dataset", advice=error.advice or "Restore dataset.json from a copy.")
        return
    yield from _guard_findings(metadata)
    yield from domain_findings(counting, metadata)
    listed = {blob.name: blob for blob in _own_blobs(counting)}
    expectation = Expectation(metadata)
    if any(guard.blocks_read for guard in guards(metadata)):
        return
    expected = list(expectation.blobs())
    yield sum(map(expectation.pages, expected))
    checker = IndexChecker(counting, expectation, listed, _again_command(storage, metadata), level == "index")
    progress.start(len(expected), "blobs")
    yield from _all_blobs(checker, expected, progress)
    yield from _orphans(metadata, expected, listed, expectation.compressed)
    yield from left_over_findings(storage)


def _guard_findings(metadata: Metadata) -> Iterator[Finding]:
    """Guards that speak of lost metadata are findings; those for another build end the check (exit status 12)."""
    for guard in guards(metadata):
        if guard.code not in ("MD-G004", "MD-G005"):
            raise guard.error(f"{guard.message} It cannot be checked.", where=METADATA_BLOB, advice=guard.advice)
        unread = guard.blocks_read
        yield Finding(codes.GUARD, "damage" if unread else "advice", METADATA_BLOB,
                      expected="metadata as it was written", found=guard.message,
                      lost="the data of every item" if unread else "", advice=guard.advice)


def _own_blobs(storage: BlobStorage) -> Iterator[BlobProperties]:
    """The blobs of this dataset, without those of datasets that lie below it."""
    blobs = list(storage.list_blobs())
    nested = tuple(blob.name.removesuffix(METADATA_BLOB) for blob in blobs if blob.name.endswith("/" + METADATA_BLOB))
    return (blob for blob in blobs if not (nested and blob.name.startswith(nested)))


def _again_command(storage: BlobStorage, metadata: Metadata) -> str:
    """The command that makes the dataset anew from its source, where that is a file that was noted."""
    files = [str(entry["file"]) for entry in metadata.source if isinstance(entry.get("file"), str)]
    target = storage.location.rstrip("/\\") + "-again"
    return f"mdstudio import {' '.join(map(shlex.quote, [*files, target]))}" if files else ""


def _all_blobs(checker: IndexChecker, expected: list[ExpectedBlob], progress: Progress) -> Iterator[Finding]:
    """The findings of every blob in order, read with several threads, a bounded number of blobs ahead."""
    rest = iter(expected)
    pool = ThreadPoolExecutor(_READERS, "check")
    try:
        pending = deque(pool.submit(checker.check, blob) for blob in islice(rest, _AHEAD))
        while pending:
            yield from pending.popleft().result()
            pending.extend(pool.submit(checker.check, blob) for blob in islice(rest, 1))
            progress.advance()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _orphans(
    metadata: Metadata, expected: list[ExpectedBlob], listed: dict[str, BlobProperties], compressed: bool
) -> Iterator[Finding]:
    """Blobs that nothing refers to."""
    known = {METADATA_BLOB, metadata.domain_blob, *(blob.name for blob in expected)}
    if compressed and metadata.storage.storage_type in ("SingleTimestep", "MultiTimestep"):
        known.update(blob.index_name for blob in expected)  # a group's is a finding of its own
    items = {f"{folder}/": name for name, folder in metadata.folders.items()}
    for name in sorted(listed.keys() - known):
        item = next((item for folder, item in items.items() if name.startswith(folder)), "")
        advice = ("Nothing refers to it: a killed import left it, or one is running. Remove it when none is."
                  if _OF_A_DATASET.match(name) else
                  "No import writes such a file: it is somebody's own. Keep it outside the dataset's folder.")
        yield Finding(codes.ORPHAN, "advice", name, item, expected="a blob of a listed time",
                      found=f"{listed[name].length} bytes", advice=advice)
