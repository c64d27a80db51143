"""Remove timesteps of a SingleTimestep dataset: the metadata first, then the blobs (D6, W1, W2)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mdstudio.engine.errors import BlobChangedError, MdError, NotFoundError, UnsupportedError, UsageError
from mdstudio.engine.layout.guards import require_writable
from mdstudio.engine.layout.metadata import METADATA_BLOB, Metadata, load_metadata
from mdstudio.engine.layout.names import DATA_NAME
from mdstudio.engine.model import Array
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import CLAIM_WAIT, BlobProperties, BlobStorage
from mdstudio.engine.times import format_time
from mdstudio.engine.writing.saving import save_change


@dataclass(frozen=True)
class Removal:
    """What was removed: times, blobs and their bytes; and the times that are left."""

    removed: int
    left: int
    blobs: int
    bytes: int
    seconds: float


def remove_times(storage: BlobStorage, moments: Sequence[int], progress: Progress | None = None) -> Removal:
    """Remove the times that are `moments` [microseconds since 1970 in the dataset's calendar], with all their data.

    `dataset.json` is saved first, conditionally: from then on nobody sees the times. Their blobs go after it, each only
    as it was listed; `progress` counts them. A kill or cancel in between leaves a whole dataset and blobs that nothing
    refers to, which `clean` removes. Values of other times, and readers of them, are not touched.

    Raises before any blob is touched: the error of a guard (V4-V7), `UnsupportedError` for another storage type than
    SingleTimestep (D6), `NotFoundError` for a time that is not there, `UsageError` for no times, or all of them. Raises
    `BlobChangedError` where another job writes to the dataset.
    """
    started = time.monotonic()
    progress = progress or Progress()
    wanted = np.unique(np.asarray(moments, np.int64))
    _without(load_metadata(storage)[0], wanted, storage.location)  # what is refused is refused before the claim
    with storage.claimed(CLAIM_WAIT, progress.check):
        before, _ = load_metadata(storage)
        doomed, kept_bytes = _split(storage, before, wanted)
        progress.check()
        after = save_change(storage, lambda metadata: replace(
            _without(metadata, wanted, storage.location), data_size_bytes=kept_bytes))
        _remove_blobs(storage, doomed, progress)
    return Removal(len(before.times) - len(after.times), len(after.times), len(doomed),
                   sum(blob.length for blob in doomed), time.monotonic() - started)


def require_removable(metadata: Metadata, where: str) -> None:
    """Raise where no time can be removed, whichever it is: a guard holds (V4-V7), or another storage type (D6)."""
    require_writable(metadata, where)
    storage_type = metadata.storage.storage_type
    if storage_type != "SingleTimestep":
        raise UnsupportedError(
            f"Only SingleTimestep datasets can remove timesteps; this one is {storage_type}, whose blobs hold "
            "several each. Nothing was changed.", where=where,
            advice="Import the times that are to stay into a new dataset.")


def _without(metadata: Metadata, moments: Array, where: str) -> Metadata:
    """The metadata without these times; raises where that is refused."""
    require_removable(metadata, where)
    if not moments.size:
        raise UsageError("No time is named.", where=where)
    times = metadata.times
    missing = np.setdiff1d(moments, times.microseconds)
    if missing.size:
        raise NotFoundError(f"There is no time {format_time(int(missing[0]), times.calendar)} in the dataset. Nothing "
                            "was changed.", where=where)
    kept = ~np.isin(times.microseconds, moments)
    if not kept.any():
        raise UsageError(f"All {len(times)} times would be removed, and a dataset has at least one. Nothing was "
                         "changed.", where=where, advice="Delete the dataset's folder (or prefix) instead.")
    return replace(metadata, times=replace(times, microseconds=times.microseconds[kept]))


def _split(storage: BlobStorage, metadata: Metadata, moments: Array) -> tuple[list[BlobProperties], int]:
    """The blobs of these times, and the bytes of all other data blobs (D8)."""
    keys = {metadata.times.key(int(t)) for t in np.flatnonzero(np.isin(metadata.times.microseconds, moments))}
    doomed: list[BlobProperties] = []
    kept = 0
    for folder in metadata.folders.values():
        for blob in storage.list_blobs(folder + "/"):
            match = DATA_NAME.match(blob.name)
            if match and match["key"] in keys:
                doomed.append(blob)
            else:
                kept += blob.length
    return doomed, kept


def _remove_blobs(storage: BlobStorage, blobs: Sequence[BlobProperties], progress: Progress) -> None:
    progress.start(len(blobs), "blobs")
    try:
        for blob in blobs:
            # Gone already; or a job without the claim imported the time again: that one's now.
            with contextlib.suppress(NotFoundError, BlobChangedError):
                storage.delete(blob.name, if_match=blob.version)
            progress.advance()
    except MdError as error:
        error.where = error.where or METADATA_BLOB
        error.advice = "The times are removed; blobs of theirs are left, which 'mdstudio clean' removes."
        raise
