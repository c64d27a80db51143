"""The blobs of an import, append or update: written only where nobody else writes, taken back when it fails."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from mdstudio.engine.errors import BlobChangedError, MdError, NotFoundError
from mdstudio.engine.storage import MUST_NOT_EXIST, BlobProperties, BlobStorage, BlockList, write_resolved

KEPT_IDS = 16  # of the blocks staged last: more than can fail at once


class NewBlobs:
    """Every write is conditional on what a listing found at the start: of two imports of one destination neither
    overwrites a blob of the other's, the loser gets `BlobChangedError` (D15). Thread-safe.
    """

    def __init__(self, storage: BlobStorage, folders: Iterable[str], is_unlisted: Callable[[], bool], *,
                 keeps: bool = False) -> None:
        """`folders`: of the items; `is_unlisted`: whether no dataset refers to what is written, so that it may be taken
        back; `keeps`: the blobs that are there at the start belong to a dataset, and stay. Cost: a listing of each
        folder."""
        self._storage, self._is_unlisted, self._keeps = storage, is_unlisted, keeps
        self._prefixes = tuple(folder + "/" for folder in folders)
        self._before = {name: blob.version for name, blob in self._list().items()}
        self._lock = threading.Lock()
        self._versions: dict[str, str] = {}
        self._putting: dict[str, bytes] = {}
        self._staging: dict[str, list[str]] = {}

    def version_before(self, blob: str) -> str | None:
        """The version of a blob that was there at the start (the dataset's, or a killed job left it); None for a new
        one."""
        return self._before.get(blob)

    def put(self, blob: str, data: bytes) -> None:
        """Write a whole blob; a write whose answer was lost is ours when the blob holds our bytes."""
        with self._lock:
            self._putting[blob] = data
        before = self._before.get(blob)
        try:
            version = write_resolved(self._storage, blob, data, if_match=before,
                                     if_none_match=None if before else MUST_NOT_EXIST)
        except BlobChangedError:
            if self._stored(blob, data) is None:
                raise
            with self._lock:  # a twin of this import wrote it, or we did: right in any case, and not taken back
                del self._putting[blob]
        else:
            self.add(blob, version)

    def add(self, blob: str, version: str) -> None:
        """A blob was written or committed."""
        with self._lock:
            self._versions[blob] = version
            self._putting.pop(blob, None)
            self._staging.pop(blob, None)

    @property
    def written(self) -> int:
        """How many blobs are written."""
        return len(self._versions)

    def written_since(self, count: int) -> dict[str, str]:
        """Blob -> version of what was written after the first `count` blobs."""
        with self._lock:
            return dict(islice(self._versions.items(), count, None))

    def adopt(self, versions: Mapping[str, str]) -> bool:
        """Take blobs that a killed run of this write left for ours; False, and none, where one has not this version."""
        if any(self._before.get(blob) != version for blob, version in versions.items()):
            return False
        with self._lock:
            self._versions.update(versions)
        return True

    def staging(self, blob: str, block_id: str) -> None:
        """A block of a blob is about to be staged."""
        with self._lock:
            self._staging[blob] = [block_id, *self._staging.get(blob, ())][:KEPT_IDS]

    def domain(self, name: str, store: Callable[[], str]) -> None:
        """Store the domain blob, which has its name from its content; it is ours where it was not there before."""
        if not self._storage.exists(name):
            self.add(name, "")  # ours, whatever its version
            self.add(name, self._storage.properties(store()).version)

    def verified_bytes(self) -> int:
        """The bytes of all data blobs, listed once (D8), after a check that ours still are as we wrote them.

        Raises `BlobChangedError` when another import of the same destination overwrote or removed one.
        """
        listed = self._list()
        for name, version in self._versions.items():
            found = listed[name].version if name in listed else "" if name.startswith(self._prefixes) else version
            if found != version:
                raise BlobChangedError("Another import wrote this blob at the same time.", where=name,
                                       advice="Run the import again when the other one has ended.")
        return sum(blob.length for blob in listed.values())

    def _list(self) -> dict[str, BlobProperties]:
        return {blob.name: blob for prefix in self._prefixes for blob in self._storage.list_blobs(prefix)}

    def take_back(self) -> None:
        """Remove what was written, newest first, as far as it still is ours; what the storage cannot remove stays.

        Where a dataset refers to it by now, or nobody can tell, everything stays; so do rewritten blobs that it keeps.
        """
        try:
            unlisted = self._is_unlisted()
        except MdError:
            unlisted = False
        for blob, block_ids in self._staging.items():
            if unlisted or self._is_kept(blob):
                with contextlib.suppress(MdError):
                    self._drop_staged(blob, block_ids)
        if not unlisted:
            return
        for blob, data in self._putting.items():
            version = self._stored(blob, data)
            if version is not None and version != self._before.get(blob) and not self._is_kept(blob):
                self._delete(blob, version)
        for blob, version in reversed(self._versions.items()):
            if not self._is_kept(blob):
                self._delete(blob, version or None)

    def _is_kept(self, blob: str) -> bool:
        """Whether the blob was there before, and a dataset needs it."""
        return self._keeps and blob in self._before

    def _drop_staged(self, blob: str, block_ids: list[str]) -> None:
        """Staged blocks go with the next commit of their blob (P25): commit what was there, or none to delete."""
        listed = self._listed(blob)
        if listed is not None and listed.version == self._before.get(blob):
            self._storage.commit_blocks(blob, [block.id for block in listed.blocks], if_match=listed.version)
        elif listed is not None:
            ours = bool(listed.blocks) and listed.blocks[-1].id in block_ids  # our commit, whose answer was lost
            if ours and not self._is_kept(blob):
                self._delete(blob, listed.version)
        else:  # an empty list, which a full disk takes too
            self._delete(blob, self._storage.commit_blocks(blob, [], if_none_match=MUST_NOT_EXIST))

    def _listed(self, blob: str) -> BlockList | None:
        try:
            return self._storage.block_list(blob)
        except NotFoundError:
            return None

    def _stored(self, blob: str, data: bytes) -> str | None:
        """The version of the blob when it holds these bytes."""
        with contextlib.suppress(MdError):
            found = self._storage.read(blob)
            return found.version if found.data == data else None
        return None

    def _delete(self, blob: str, version: str | None) -> None:
        with contextlib.suppress(MdError):  # another import has it now, or the storage cannot
            self._storage.delete(blob, if_match=version)
