"""The datasets below a location, found by their `dataset.json`; no data is read (W3, G1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mdstudio.engine.layout.metadata import METADATA_BLOB
from mdstudio.engine.progress import Progress

if TYPE_CHECKING:
    from mdstudio.engine.storage.protocol import BlobStorage

_ITEM_FOLDER = re.compile(r"\d{3,}-")


def find_datasets(storage: BlobStorage, progress: Progress | None = None) -> Iterator[str]:
    """Prefixes of the datasets below the storage's root, "" for the root itself, by name.

    Cost: one listing a folder; the folders of a dataset's items are not entered. `Cancelled` between two folders.
    """
    progress = progress or Progress()
    open_folders = [""]
    while open_folders:
        progress.check()
        folder = open_folders.pop()
        folders, blobs = storage.list_folders(folder)
        progress.advance()
        if any(blob.name.rpartition("/")[2] == METADATA_BLOB for blob in blobs):
            yield folder
            folders = [name for name in folders if not _ITEM_FOLDER.match(name)]  # others may hold datasets too
        prefix = f"{folder}/" if folder else ""
        open_folders += [prefix + name for name in sorted(folders, reverse=True)]
