"""What append and update share: some times of a dataset that is there are written, then `dataset.json` is saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mdstudio.engine.errors import BlobChangedError
from mdstudio.engine.layout.item_layout import layouts_of
from mdstudio.engine.layout.metadata import METADATA_BLOB, Metadata
from mdstudio.engine.model import Array, Description
from mdstudio.engine.operations.matching import NOT_IN_DATASET
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import BlobStorage
from mdstudio.engine.writer import write_units
from mdstudio.engine.writing.new_blobs import NewBlobs
from mdstudio.engine.writing.saving import save_change
from mdstudio.engine.writing.source_order import in_stored_order
from mdstudio.engine.writing.units import SliceReader, units_within


def write_times(
    storage: BlobStorage, metadata: Metadata, version: str, description: Description, reader: SliceReader,
    positions: Array, progress: Progress, workers: int, change: Callable[[Metadata], Metadata],
    is_unlisted: Callable[[], bool],
) -> Metadata:
    """Write the description's times as the times at `positions` (n,) int64 of the dataset; returns what was saved.
    Items of the source that the dataset has not are noted.

    Args:
        metadata: of the dataset with those times listed.
        version: of `dataset.json` that it comes from. The blobs that are written over are those of that moment, so that
            a job without the claim cannot list in between what is lost here.
        change: what is saved, of what is stored at that moment; called once a try, `DataSizeBytes` is put in here (D8).
        is_unlisted: as `NewBlobs` takes it.
    """
    for left in description.dropped:
        if left.reason == NOT_IN_DATASET:
            progress.note(left.text)
    layouts = layouts_of(metadata, description.hints)
    blobs = NewBlobs(storage, metadata.folders.values(), is_unlisted, keeps=True)
    if storage.properties(METADATA_BLOB).version != version:
        raise BlobChangedError("Another job saved the metadata in between.", where=storage.location,
                               advice="Run it again.")
    try:
        ordered = in_stored_order(reader, description.domain, description.items, progress)
        units = list(units_within(layouts[0], positions))
        write_units(storage, layouts, units, _Placed(ordered, positions), progress, workers, blobs)
        progress.check()
        return save_change(storage, lambda stored: _counted(change(stored), blobs))
    except BaseException:
        blobs.take_back()
        raise


def _counted(metadata: Metadata, blobs: NewBlobs) -> Metadata:
    return replace(metadata, data_size_bytes=blobs.verified_bytes())


def require_same_generation(stored: Metadata, base: Metadata, where: str) -> None:
    """`BlobChangedError` where another job has replaced the dataset, or changed how it is stored, since `base`."""
    if dict(stored.folders) != dict(base.folders) or stored.storage != base.storage or (
            stored.domain_blob != base.domain_blob):
        raise BlobChangedError("Another job replaced the dataset in between.", where=where, advice="Run it again.")


class _Placed:
    """A reader by the dataset's positions of a source whose times lie at some of them.

    Neighbours in the dataset that are both written are neighbours in the source, for both increase.
    """

    def __init__(self, reader: SliceReader, positions: Array) -> None:
        self._reader, self._positions = reader, positions

    def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        first = int(np.searchsorted(self._positions, times.start))
        asked = slice(first, first + times.stop - times.start)
        return self._reader.read(item, asked, layer, rows, columns)
