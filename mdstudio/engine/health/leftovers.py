"""Files that a killed write left beside the blobs of a local folder (P22, P25)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from mdstudio.engine.health import findings as codes
from mdstudio.engine.health.findings import Finding
from mdstudio.engine.storage import BlobStorage, FolderStorage

OLD = 3600.0  # seconds: a younger one may belong to a write that is running
_SUFFIXES = (".write", ".commit", ".staged")
_PENDING = ".blocks.commit"


def left_over_findings(storage: BlobStorage) -> Iterator[Finding]:
    """One finding a file, or folder of staged blocks, that is older than an hour; none for storages that keep no files.

    A block list in `.blocks.commit` beside its blob is a finished commit (P20) and no left-over.
    """
    while not isinstance(storage, FolderStorage):
        inner = getattr(storage, "inner", None)
        if inner is None:
            return
        storage = inner
    limit = time.time() - OLD
    root = storage.location
    for path, is_folder in _side_files(root):
        try:
            status = os.stat(path)
        except OSError:
            continue  # its write has just ended
        if status.st_mtime > limit:
            continue
        what = "staged blocks that no commit took" if is_folder else f"{status.st_size} bytes of an unfinished write"
        yield Finding(codes.LEFT_OVER, "advice", os.path.relpath(path, root).replace(os.sep, "/"),
                      expected="no file of an unfinished write", found=what,
                      advice="A killed write left it; the blob's next write drops it. Remove it when nothing runs.")


def _side_files(root: str) -> Iterator[tuple[str, bool]]:
    """(path, is a folder) of what a write may have left, in order."""
    for folder, folders, files in os.walk(root):
        folders.sort()
        staged = [name for name in folders if name.endswith(".staged")]
        folders[:] = [name for name in folders if name not in staged]
        there = set(files)
        for name in sorted(there):
            pending = name.endswith(_PENDING)
            unfinished = pending and name.removesuffix(_PENDING) + ".commit" in there
            orphaned = pending and name.removesuffix(_PENDING) not in there
            if name.endswith(_SUFFIXES) and (not pending or unfinished or orphaned):
                yield os.path.join(folder, name), False
        yield from ((os.path.join(folder, name), True) for name in staged)
