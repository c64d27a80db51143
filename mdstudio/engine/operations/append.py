"""Append: later times to a dataset, as it is stored (D7, P12-P15, T4, W2).

Blobs first, `dataset.json` last: a kill leaves the old dataset, and the same append run again completes it, counting
what the first had committed. The probe state starts fresh with what is appended to a group (C6).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mdstudio.engine.errors import BlobChangedError, UsageError
from mdstudio.engine.layout.metadata import Metadata, load_metadata
from mdstudio.engine.model import Array, Description
from mdstudio.engine.operations.matching import matched, with_source
from mdstudio.engine.operations.rewriting import require_same_generation, write_times
from mdstudio.engine.parameters import Value
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import encode_workers
from mdstudio.engine.storage import CLAIM_WAIT, BlobStorage
from mdstudio.engine.times import TimeAxis
from mdstudio.engine.writer import WriteSummary
from mdstudio.engine.writing.units import SliceReader


def append_times(
    storage: BlobStorage, description: Description, reader: SliceReader, given: Mapping[str, Value],
    progress: Progress, environ: Mapping[str, str],
) -> WriteSummary:
    """Add a source's times, all later than the dataset's last; `progress` counts slices.

    Compression, layout and their parameters are those of the dataset, whatever the environment says (D7); `given`:
    explicit writer parameters by name, which may only say the same. Items of the source that the dataset has not are
    left out, with a note. The bytes do not depend on the number of workers (`MD_ENCODE_WORKERS`).

    Raises before any blob is touched: the error of a guard (V4-V7); `UsageError` for other settings, another domain or
    calendar, an item that lacks, times that are stored already or lie before the last; `UnsupportedError` for an item
    that means something else. `BlobChangedError` where another job appended the same times meanwhile, or writes to the
    dataset all the time; one that appended other times is waited for, and then both are in. What ends it early takes
    its new blobs back; of groups that were there already the times that nobody lists may stay.
    """
    started = time.monotonic()
    workers = encode_workers(environ)
    before, version = load_metadata(storage)
    fitting = check_append(storage, before, description, given)  # what is refused is refused before the claim
    with storage.claimed(CLAIM_WAIT, progress.check):
        base, now = load_metadata(storage)
        if now != version:
            if np.isin(description.times.microseconds, base.times.microseconds).any():  # they were not in before
                raise BlobChangedError("Another job appended these times in the meantime.", where=storage.location,
                                       advice="If it took them from the same source, nothing is left to do.")
            fitting = check_append(storage, base, description, given)
        new = fitting.times.microseconds
        after = replace(base, times=_joined(base.times, new))
        positions = np.arange(len(base.times), len(after.times))
        saved = write_times(
            storage, after, now, fitting, reader, positions, progress, workers,
            lambda stored: with_source(_listing(stored, base, after, storage.location), fitting),
            lambda: not np.isin(new, load_metadata(storage)[0].times.microseconds).any())
    return WriteSummary(len(saved.items), len(new), fitting.raw_bytes, saved.data_size_bytes or 0,
                        time.monotonic() - started, fitting.dropped)


def check_append(
    storage: BlobStorage, metadata: Metadata, description: Description, given: Mapping[str, Value]
) -> Description:
    """The description as it would be appended; raises where that is refused. Reads the domain at most."""
    where = storage.location
    fitting = matched(storage, metadata, description, given)
    if metadata.times.static:
        raise UsageError("The dataset has no times, so none can be added to it.", where=where,
                         advice="Import it again in place with --update.")
    times, listed = fitting.times, metadata.times.microseconds
    stored = np.flatnonzero(np.isin(times.microseconds, listed))
    if stored.size:
        raise UsageError(f"The time {times.text(int(stored[0]))} is stored already, with {stored.size} of the "
                         f"{len(times)} times of the source. Nothing was changed.", where=where,
                         advice="Import times that are there again with --update.")
    if len(listed) and int(times.microseconds[0]) < int(listed[-1]):
        raise UsageError(f"The time {times.text(0)} lies before the last one of the dataset, "
                         f"{metadata.times.text(len(listed) - 1)}: only later times can be appended. Nothing was "
                         "changed.", where=where, advice="Make the whole dataset anew with --replace.")
    return fitting


def _joined(times: TimeAxis, more: Array) -> TimeAxis:
    return replace(times, microseconds=np.concatenate((times.microseconds, more)))


def _listing(stored: Metadata, base: Metadata, after: Metadata, where: str) -> Metadata:
    """What is stored, with the new times: where another job saved since `base`, both are listed, if both are stored.

    Each timestep of SingleTimestep has blobs of its own. In groups a time has a place, which two jobs cannot share.
    """
    require_same_generation(stored, base, where)
    if stored.times == base.times:
        return replace(stored, times=after.times)
    if stored.times[:len(after.times)] == after.times:  # a twin of this job has listed them, or somebody after it
        return stored
    if base.storage.storage_type == "SingleTimestep":
        new = after.times.microseconds[len(base.times):]
        return replace(stored, times=replace(stored.times, microseconds=np.union1d(stored.times.microseconds, new)))
    raise BlobChangedError("Another job appended other times in between.", where=where,
                           advice="Run it again: the dataset then holds both.")
