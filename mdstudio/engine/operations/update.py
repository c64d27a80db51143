"""Update: times that are in a dataset are imported again, in place (D7, P13, T4).

Nothing is undone: each timestep of a layout per timestep, each blob of TimeSeries, is the old one or the new one,
however the update ends. Run again it completes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from mdstudio.engine.errors import BlobChangedError, NotFoundError
from mdstudio.engine.layout.metadata import Metadata, load_metadata
from mdstudio.engine.model import Array, Description
from mdstudio.engine.operations.matching import matched, with_source
from mdstudio.engine.operations.rewriting import require_same_generation, write_times
from mdstudio.engine.parameters import Value
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import encode_workers
from mdstudio.engine.storage import CLAIM_WAIT, BlobStorage
from mdstudio.engine.writer import WriteSummary
from mdstudio.engine.writing.units import SliceReader


def update_times(
    storage: BlobStorage, description: Description, reader: SliceReader, given: Mapping[str, Value],
    progress: Progress, environ: Mapping[str, str],
) -> WriteSummary:
    """Write all times of a source, each of which the dataset has, over what is stored; `progress` counts slices.

    Settings and items as in `append_times`. Raises before any blob is touched: the error of a guard (V4-V7);
    `UsageError` for other settings, another domain or calendar, an item that lacks; `UnsupportedError` for an item that
    means something else; `NotFoundError` for a time that is not in the dataset. `BlobChangedError` where another job
    writes to the dataset all the time.

    A kill or failure leaves a part of the times new; in SingleTimestep, between a `.dat` and its `.idx`, a timestep
    that is refused until the update is run again (P18). A group whose listed times are all updated is not read: so
    a damaged one is repaired.
    """
    started = time.monotonic()
    workers = encode_workers(environ)
    before, version = load_metadata(storage)
    fitting, positions = check_update(storage, before, description, given)  # refused before the claim
    with storage.claimed(CLAIM_WAIT, progress.check):
        base, now = load_metadata(storage)
        if now != version:
            fitting, positions = check_update(storage, base, description, given)
        saved = write_times(
            storage, base, now, fitting, reader, positions, progress, workers,
            lambda stored: with_source(_still_there(stored, base, fitting, storage.location), fitting), lambda: False)
    return WriteSummary(len(saved.items), len(fitting.times), fitting.raw_bytes, saved.data_size_bytes or 0,
                        time.monotonic() - started, fitting.dropped)


def check_update(
    storage: BlobStorage, metadata: Metadata, description: Description, given: Mapping[str, Value]
) -> tuple[Description, Array]:
    """The description as it would be written, and the (n,) int64 positions of its times; raises where that is refused.
    Reads the domain at most."""
    where = storage.location
    fitting = matched(storage, metadata, description, given)
    if metadata.times.static:
        return fitting, np.zeros(1, np.int64)
    wanted, listed = fitting.times.microseconds, metadata.times.microseconds
    missing = np.flatnonzero(~np.isin(wanted, listed))
    if missing.size:
        raise NotFoundError(f"The time {fitting.times.text(int(missing[0]))} is not in the dataset, with "
                            f"{missing.size} of the {len(wanted)} times of the source. Nothing was changed.",
                            where=where, advice="Add later times with --append.")
    return fitting, np.searchsorted(listed, wanted).astype(np.int64)


def _still_there(stored: Metadata, base: Metadata, description: Description, where: str) -> Metadata:
    """What is stored, if the times still have the places that they were written to."""
    require_same_generation(stored, base, where)
    if stored.times[:len(base.times)] == base.times:
        return stored
    there = bool(np.isin(description.times.microseconds, stored.times.microseconds).all())
    if base.storage.storage_type == "SingleTimestep" and there:
        return stored
    raise BlobChangedError("Another job changed the times of the dataset in between.", where=where,
                           advice="Run it again.")
