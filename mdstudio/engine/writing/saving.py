"""Saving `dataset.json` at the end of a write: where none is, or anew on top of what another job saved (W2)."""

from __future__ import annotations

from collections.abc import Callable

from mdstudio.engine.errors import AlreadyExistsError, BlobChangedError, MdError, StorageError
from mdstudio.engine.layout.document import render_document
from mdstudio.engine.layout.metadata import METADATA_BLOB, Metadata, load_metadata, save_metadata
from mdstudio.engine.storage import MUST_NOT_EXIST, BlobStorage

TRIES = 10  # saves of other jobs that may come in between


def save_new(storage: BlobStorage, metadata: Metadata) -> None:
    """Save the metadata where there is none; `AlreadyExistsError` where another job has made a dataset meanwhile.

    An answer that was lost counts when what is stored is ours.
    """
    try:
        _save(storage, metadata, if_none_match=MUST_NOT_EXIST)
    except BlobChangedError as error:
        raise AlreadyExistsError("Another job has made a dataset here meanwhile.", where=storage.location,
                                 advice="Choose another destination.") from error


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
            _save(storage, after, if_match=version)
        except BlobChangedError:
            continue
        return after
    raise BlobChangedError("Other jobs save the metadata faster than this one can.", where=storage.location,
                           advice="Run it again when they have ended.")


def _save(
    storage: BlobStorage, metadata: Metadata, *, if_match: str | None = None, if_none_match: str | None = None
) -> None:
    """As `save_metadata`; what fails though our bytes are stored has succeeded."""
    try:
        save_metadata(storage, metadata, if_match=if_match, if_none_match=if_none_match)
    except StorageError:  # no answer; or it was sent twice, and the first of the two was ours
        if not _is_stored(storage, metadata):
            raise


def _is_stored(storage: BlobStorage, metadata: Metadata) -> bool:
    """Whether `dataset.json` is, to the byte, what saving this metadata writes."""
    try:
        return storage.read(METADATA_BLOB).data == render_document(metadata)
    except MdError:  # whatever it is: the save that failed is what is told
        return False
