"""Relocate a dataset: every blob with its block list, the metadata last (P26, W1, W2)."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from mdstudio.engine.errors import AlreadyExistsError, BlobChangedError, StorageError, UsageError
from mdstudio.engine.layout.guards import guards
from mdstudio.engine.layout.metadata import METADATA_BLOB, Metadata, load_metadata
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import CLAIM_WAIT, BlobProperties, BlobStorage, Block
from mdstudio.engine.writing.saving import save_new

COPIES = 4  # blobs that are copied at once, each through memory where the service does not copy it itself


@dataclass(frozen=True)
class Relocation:
    """What was copied; `kept_blobs` were there from a copy that did not end. Bytes and blobs without the metadata."""

    blobs: int
    bytes: int
    kept_blobs: int
    seconds: float


def relocate(source: BlobStorage, target: BlobStorage, progress: Progress | None = None) -> Relocation:
    """Copy the dataset of `source` to `target`, between storages of any kind; nothing of `source` changes.

    Each blob of the dataset's items, and its domain, is copied with its block list and compared with the original by
    length and list; `dataset.json` comes last, through the one save path, and only where none is. `progress` counts
    bytes. Memory: at most `COPIES` blocks, or blobs that have no blocks.

    A kill, a cancel or an error leaves a copy without `dataset.json`, which is no dataset. Run again it goes on: groups
    whose block lists are equal are kept (their ids hold the hashes of their blocks), everything else is copied anew,
    since a length alone proves nothing. `clean` removes a copy that is not wanted any more. So it does with the copy of
    a dataset whose metadata this build does not save (V4-V7): that save is refused at the end, as a note says first.

    Raises `AlreadyExistsError` where `target` is a dataset, or holds blobs that are not of this one, `UsageError` where
    one of the two lies in the other's data, `BlobChangedError` when `source` changed meanwhile (the copy is then no
    dataset; run it again), and what the storages raise.
    """
    started = time.monotonic()
    progress = progress or Progress()
    metadata, version = load_metadata(source)
    _require_apart(source, target, metadata)
    _require_no_dataset(target)
    for guard in guards(metadata):
        if guard.blocks_save:
            progress.note(f"The copy will not become a dataset: {guard.message} {guard.advice}")
    with target.claimed(CLAIM_WAIT, progress.check):
        _require_no_dataset(target)
        wanted = _blobs(source, metadata)
        kept = _kept(source, target, metadata, wanted)
        progress.start(sum(blob.length for blob in wanted.values()), "bytes")
        progress.advance(sum(wanted[name].length for name in kept))
        _copy_all(source, target, [blob for name, blob in wanted.items() if name not in kept], progress)
        if _blobs(source, metadata) != wanted or source.properties(METADATA_BLOB).version != version:
            raise _changed(source)
        progress.check()
        save_new(target, metadata)
    return Relocation(len(wanted), sum(blob.length for blob in wanted.values()), len(kept), time.monotonic() - started)


def _require_apart(source: BlobStorage, target: BlobStorage, metadata: Metadata) -> None:
    a, b = (_resolved(storage.location) for storage in (source, target))
    folders = {*metadata.folders.values(), ""}
    if a == b or b.startswith(f"{a}/") or (a.startswith(f"{b}/") and a[len(b) + 1:].partition("/")[0] in folders):
        raise UsageError("A dataset cannot be relocated into itself. Nothing was copied.", where=target.location,
                         advice="Choose a folder or prefix beside it.")


def _resolved(location: str) -> str:
    return location if "://" in location else os.path.realpath(location).replace(os.sep, "/")


def _require_no_dataset(target: BlobStorage) -> None:
    if target.exists(METADATA_BLOB):
        raise AlreadyExistsError("There is a dataset already. Nothing was copied.", where=target.location,
                                 advice="Choose another destination.")


def _blobs(storage: BlobStorage, metadata: Metadata) -> dict[str, BlobProperties]:
    """The blobs of a dataset by name, without its metadata; the domain first, so that it is there early."""
    found = {metadata.domain_blob: storage.properties(metadata.domain_blob)}
    for folder in metadata.folders.values():
        found |= {blob.name: blob for blob in storage.list_blobs(folder + "/")}
    return found


def _kept(source: BlobStorage, target: BlobStorage, metadata: Metadata, wanted: Mapping[str, BlobProperties]
          ) -> set[str]:
    """The blobs that a copy of before has left whole; raises where others lie in their folders."""
    kept = set()
    for folder in metadata.folders.values():
        for blob in target.list_blobs(folder + "/"):
            if blob.name not in wanted:
                raise AlreadyExistsError("This blob is not of the dataset that is to come here. Nothing was copied.",
                                         where=f"{target.location}/{blob.name}",
                                         advice="Look with 'mdstudio clean' at what lies there, or choose another "
                                                "destination.")
            if blob.length == wanted[blob.name].length:
                blocks = source.block_list(blob.name).blocks
                if blocks and blocks == target.block_list(blob.name).blocks:
                    kept.add(blob.name)
    return kept


def _copy_all(source: BlobStorage, target: BlobStorage, blobs: list[BlobProperties], progress: Progress) -> None:
    """Copy several at once; the first error ends it."""

    def copy(blob: BlobProperties) -> None:
        progress.check()
        target.copy_from(source, blob.name)
        original = source.block_list(blob.name)
        if original.version != blob.version:
            raise _changed(source)
        length, blocks = _facts(target, blob.name, bool(original.blocks))
        if (length, blocks) != (original.length, original.blocks):
            raise StorageError(
                f"The copy has {length} bytes in {len(blocks)} blocks, the original {original.length} in "
                f"{len(original.blocks)}.", where=f"{target.location}/{blob.name}", advice="Run it again.")
        progress.advance(blob.length)

    with ThreadPoolExecutor(COPIES, "copy") as pool:
        futures = [pool.submit(copy, blob) for blob in blobs]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _facts(storage: BlobStorage, name: str, blocks: bool) -> tuple[int, tuple[Block, ...]]:
    """Length and blocks; a blob that is to have none is not asked for them, which Azure answers in four requests."""
    if blocks:
        found = storage.block_list(name)
        return found.length, found.blocks
    return storage.properties(name).length, ()


def _changed(source: BlobStorage) -> BlobChangedError:
    return BlobChangedError("The dataset was changed while it was copied; the copy is no dataset.",
                            where=source.location, advice="Run it again.")
