"""Changing the `dataset.json` that is there: conditionally, and anew on top of what another job saved (W2)."""

from __future__ import annotations

from collections.abc import Callable

from mdstudio.engine.errors import BlobChangedError, MdError, StorageError
from mdstudio.engine.layout.document import render_document
from mdstudio.engine.layout.metadata import METADATA_BLOB, Metadata, load_metadata, save_metadata
from mdstudio.engine.storage import BlobStorage

TRIES = 10  # saves of other jobs that may come in between


def save_change(storage: BlobStorage, change: Callable[[Metadata], Metadata]) -> Metadata:
    """Load the metadata, change it and save it with If-Match; where another job saved in between, the change is made
    anew from what that one saved. Returns what is stored.

    `change` must do without effects: it is called once a try. What it raises, and the error of a guard, leaves
    everything as it was. An answer that was lost counts when what is stored is ours.
    """
    for _ in range(TRIES):
        before, version = load_metadata(storage)
        after = change(before)
        try:
            save_metadata(storage, after, if_match=version)
        except StorageError as error:  # no answer; or it was sent twice, and the first of the two was ours
            if is_stored(storage, after):
                return after
            if isinstance(error, BlobChangedError):
                continue
            raise
        return after
    raise BlobChangedError("Other jobs save the metadata faster than this one can.", where=storage.location,
                           advice="Run it again when they have ended.")


def is_stored(storage: BlobStorage, metadata: Metadata) -> bool:
    """Whether `dataset.json` is, to the byte, what saving this metadata writes."""
    try:
        return storage.read(METADATA_BLOB).data == render_document(metadata)
    except MdError:  # whatever it is: the save that failed is what is told
        return False
