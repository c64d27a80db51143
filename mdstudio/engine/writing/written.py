"""What an import has written so far, so that it can be taken back without touching what others wrote."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable

from mdstudio.engine.errors import BlobChangedError, MdError
from mdstudio.engine.layout.metadata import METADATA_BLOB
from mdstudio.engine.storage import MUST_NOT_EXIST, BlobStorage


class Written:
    """Blobs with the version that this import gave them, and blobs with staged blocks. Thread-safe."""

    def __init__(self, storage: BlobStorage) -> None:
        self._storage = storage
        self._lock = threading.Lock()
        self._versions: dict[str, str] = {}
        self._staging: dict[str, list[str]] = {}

    def add(self, blob: str, version: str) -> None:
        """A blob was written or committed."""
        with self._lock:
            self._versions[blob] = version
            self._staging.pop(blob, None)

    def staging(self, blob: str, block_id: str) -> None:
        """A block of a blob is about to be staged."""
        with self._lock:
            self._staging[blob] = [block_id, *self._staging.get(blob, ())][:2]  # should this one fail, the last did not

    def domain(self, store: Callable[[], str], name: str) -> None:
        """Store the domain blob; it is ours to take back only where it was not there before."""
        if not self._storage.exists(name):
            self.add(store(), self._storage.properties(name).version)

    def verified_bytes(self, folders: Iterable[str]) -> int:
        """The bytes of all data blobs, listed once (D8), after a check that every blob still is as we wrote it.

        Raises `BlobChangedError` when another import of the same destination overwrote or removed one.
        """
        folders = tuple(folders)
        listed = {blob.name: blob for folder in folders for blob in self._storage.list_blobs(folder + "/")}
        for name, version in self._versions.items():
            if name.startswith(tuple(folder + "/" for folder in folders)) and (
                    name not in listed or listed[name].version != version):
                raise _changed(name)
        return sum(blob.length for blob in listed.values())

    def take_back(self) -> None:
        """Remove what was written, newest first, as far as it still is ours; what cannot be removed stays.

        Where another import has meanwhile completed a dataset here, everything stays.
        """
        try:
            if self._storage.exists(METADATA_BLOB):
                return
        except MdError:
            return
        for blob, block_ids in self._staging.items():
            self._drop_staged(blob, block_ids)
        for blob, version in reversed(self._versions.items()):
            self._delete(blob, version)

    def _drop_staged(self, blob: str, block_ids: list[str]) -> None:
        """Staged blocks go with the next commit of their blob (P25): make a commit of one of them, and delete that."""
        if self._is_there(blob):
            return
        for block_id in block_ids:
            try:
                version = self._storage.commit_blocks(blob, [block_id], if_none_match=MUST_NOT_EXIST)
            except MdError:
                continue
            self._delete(blob, version)
            return

    def _is_there(self, blob: str) -> bool:
        try:
            return self._storage.exists(blob)
        except MdError:
            return True

    def _delete(self, blob: str, version: str) -> None:
        with contextlib.suppress(MdError):  # another import has it now, or the storage cannot
            self._storage.delete(blob, if_match=version)


def _changed(blob: str) -> BlobChangedError:
    return BlobChangedError("Another import wrote this blob at the same time.", where=blob,
                            advice="Run the import again when the other one has ended.")
