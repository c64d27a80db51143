"""Replace: a dataset is made anew in its place, beside the old one, which is removed at the end (W1, W2, T9).

The new one is a new generation of item folders: their numbers go on after the greatest of the old one. `dataset.json`
is switched in one conditional write.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterable, Mapping

from mdstudio.engine.errors import BlobChangedError, MdError, NotFoundError, UsageError
from mdstudio.engine.layout.guards import require_writable
from mdstudio.engine.layout.metadata import Metadata, load_metadata
from mdstudio.engine.layout.names import DATA_NAME
from mdstudio.engine.model import Description
from mdstudio.engine.operations.clean import unreferenced_blobs
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import Settings, encode_workers
from mdstudio.engine.storage import CLAIM_WAIT, BlobProperties, BlobStorage
from mdstudio.engine.writer import WriteSummary, new_metadata, write_all
from mdstudio.engine.writing.new_blobs import NewBlobs
from mdstudio.engine.writing.saving import save_change
from mdstudio.engine.writing.units import SliceReader


def replace_dataset(
    storage: BlobStorage, name: str, description: Description, reader: SliceReader, settings: Settings,
    progress: Progress, environ: Mapping[str, str],
) -> WriteSummary:
    """Make the dataset anew, of any domain, items, times and settings; as `writer.create_dataset` otherwise.

    Nothing of the old dataset is removed or written over before `dataset.json` refers to the new one: a kill or
    failure leaves the old one whole; after the switch, the new one and blobs of the old, which the next replace
    or `clean` removes. Whoever reads the old one while it is removed meets missing blobs and opens it again. Takes the
    room of both for a while.

    Raises `NotFoundError` where no dataset is, the error of a guard of the old or the new one (V4-V7) before anything
    is written, `BlobChangedError` where another job writes here.
    """
    started = time.monotonic()
    workers = encode_workers(environ)
    if not description.items or not len(description.times):
        raise UsageError("A dataset needs at least one item and one time.")
    require_writable(load_metadata(storage)[0], storage.location)
    with storage.claimed(CLAIM_WAIT, progress.check):
        old, _ = load_metadata(storage)
        require_writable(old, storage.location)
        metadata = new_metadata(name, description, settings, _next_folder(old.folders.values()))
        require_writable(metadata, storage.location)
        _remove(storage, _data_blobs(storage, metadata.folders.values()))
        blobs = NewBlobs(storage, metadata.folders.values(), lambda: not _refers_to(storage, metadata))
        stored_bytes = write_all(storage, metadata, description, reader, progress, workers, blobs,
                                 lambda whole: save_change(storage, lambda stored: _switched(storage, stored, old,
                                                                                             whole)))
        _remove_old(storage, old, progress)
    return WriteSummary(len(metadata.items), len(metadata.times), description.raw_bytes, stored_bytes,
                        time.monotonic() - started, description.dropped)


def _next_folder(folders: Iterable[str]) -> int:
    """The number after the greatest that a listed folder has."""
    numbers = (re.match(r"\d+", folder) for folder in folders)
    return max((int(match[0]) for match in numbers if match), default=-1) + 1


def _refers_to(storage: BlobStorage, metadata: Metadata) -> bool:
    return bool(set(load_metadata(storage)[0].folders.values()) & set(metadata.folders.values()))


def _switched(storage: BlobStorage, stored: Metadata, old: Metadata, whole: Metadata) -> Metadata:
    if set(stored.folders.values()) & set(whole.folders.values()) or dict(stored.folders) != dict(old.folders):
        raise BlobChangedError("Another job replaced the dataset in between.", where=storage.location,
                               advice="Run it again.")
    return whole


def _remove_old(storage: BlobStorage, old: Metadata, progress: Progress) -> None:
    """Remove what the new metadata does not refer to: of the old dataset, and what killed jobs left. The dataset is
    replaced by now, so that what cannot be removed is only noted."""
    try:
        stored, _ = load_metadata(storage)
        gone = _data_blobs(storage, set(old.folders.values()) - set(stored.folders.values()))
        _remove(storage, {blob.name: blob for blob in (*gone, *unreferenced_blobs(storage, stored))}.values())
    except MdError as error:
        progress.note(f"The dataset is replaced, but blobs of the old one are left ({error}). 'mdstudio clean' removes "
                      "them.")


def _data_blobs(storage: BlobStorage, folders: Iterable[str]) -> list[BlobProperties]:
    """The data blobs of item folders; not what else lies there, which may be a dataset of its own."""
    return [blob for folder in folders for blob in storage.list_blobs(folder + "/") if DATA_NAME.match(blob.name)]


def _remove(storage: BlobStorage, blobs: Iterable[BlobProperties]) -> None:
    for blob in blobs:
        with contextlib.suppress(NotFoundError):  # gone already
            storage.delete(blob.name, if_match=blob.version)
