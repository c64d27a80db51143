"""Files that a killed write left beside the blobs of a local folder (P22, P25)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from mdstudio.engine.health import findings as codes
from mdstudio.engine.health.findings import Finding
from mdstudio.engine.storage import BlobStorage, FolderStorage, innermost

OLD = 3600.0  # seconds: a younger one may belong to a write that is running
STAGED, LOCK = ".staged", ".lock"
_LIST, _PENDING = ".blocks", ".blocks.commit"
_SUFFIXES = (".write", ".commit", _LIST, LOCK)


@dataclass(frozen=True)
class LeftOver:
    """A file, or a folder of staged blocks, that a killed write left more than an hour ago.

    Attributes:
        path: of the local file system.
        name: below the storage's root, with slashes.
        bytes: of the file, or of all files in the folder.
    """

    path: str
    name: str
    is_folder: bool
    bytes: int

    @property
    def blob(self) -> str:
        """The file name of the blob that the write was for, below the root."""
        stem = self.name.removesuffix(_PENDING)
        return stem if stem != self.name else self.name.rpartition(".")[0]


def left_overs(storage: BlobStorage) -> Iterator[LeftOver]:
    """The left-overs below a folder; none of storages that keep no files.

    A block list in `.blocks.commit` beside its blob is a finished commit (P20), and no left-over.
    """
    folder = local_folder(storage)
    if folder is None:
        return
    limit = time.time() - OLD
    root = folder.location
    for path, is_folder in _side_files(root):
        try:
            status = os.stat(path)
            size = _folder_bytes(path) if is_folder else status.st_size
        except OSError:
            continue  # its write has just ended
        if status.st_mtime <= limit:
            yield LeftOver(path, os.path.relpath(path, root).replace(os.sep, "/"), is_folder, size)


def left_over_findings(storage: BlobStorage) -> Iterator[Finding]:
    """One finding a left-over; a lock that nobody holds is none."""
    for found in left_overs(storage):
        if not found.name.endswith(LOCK):
            what = "staged blocks that no commit took" if found.is_folder else \
                f"{found.bytes} bytes of an unfinished write"
            yield Finding(codes.LEFT_OVER, "advice", found.name, expected="no file of an unfinished write", found=what,
                          advice="A killed write left it; the blob's next write drops it, and 'mdstudio clean' does.")


def local_folder(storage: BlobStorage) -> FolderStorage | None:
    """The folder that wrappers stand around; None for a storage of another kind."""
    inner = innermost(storage)
    return inner if isinstance(inner, FolderStorage) else None


def _folder_bytes(path: str) -> int:
    with os.scandir(path) as entries:
        return sum(entry.stat().st_size for entry in entries if entry.is_file())


def _side_files(root: str) -> Iterator[tuple[str, bool]]:
    """(path, is a folder) of what a write may have left, in order."""
    for folder, folders, files in os.walk(root):
        folders.sort()
        staged = [name for name in folders if name.endswith(STAGED)]
        folders[:] = [name for name in folders if name not in staged]
        there = set(files)
        for name in sorted(there):
            if name.endswith(_SUFFIXES) and not _in_use(name, there):
                yield os.path.join(folder, name), False
        yield from ((os.path.join(folder, name), True) for name in staged)


def _in_use(name: str, there: set[str]) -> bool:
    """Whether it is the block list of a blob that is there (P20)."""
    for suffix in (_PENDING, _LIST):
        if name.endswith(suffix):
            blob = name.removesuffix(suffix)
            return blob in there and not (suffix == _PENDING and f"{blob}.commit" in there)
    return False
