"""A read-only storage in memory: thousands of mutated datasets a minute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mdstudio.engine.errors import BlobChangedError, NotFoundError, RangeError
from mdstudio.engine.storage import BlobProperties, Block, BlockList, RangeRead
from mdstudio.engine.storage.checks import check_range


class MemoryStorage:
    """The blobs of a dict, each of one version for ever. Has the reading half of the storage contract."""

    location = "memory"

    def __init__(self, blobs: Mapping[str, bytes], lists: Mapping[str, tuple[Block, ...]]) -> None:
        self.blobs, self.lists = blobs, lists

    def _data(self, name: str, version: str | None = None) -> bytes:
        if name not in self.blobs:
            raise NotFoundError("There is no such blob.", where=name)
        if version not in (None, "1"):
            raise BlobChangedError("The blob changed.", where=name)
        return self.blobs[name]

    def properties(self, name: str) -> BlobProperties:
        return BlobProperties(name, len(self._data(name)), "1")

    def exists(self, name: str) -> bool:
        return name in self.blobs

    def read(self, name: str, *, version: str | None = None) -> RangeRead:
        data = self._data(name, version)
        return RangeRead(data, len(data), "1")

    def read_range(self, name: str, offset: int, count: int, *, version: str | None = None) -> RangeRead:
        check_range(name, offset, count)
        data = self._data(name, version)
        if offset >= len(data):
            raise RangeError("The range starts past the end.", where=name)
        return RangeRead(data[offset:offset + count], len(data), "1")

    def block_list(self, name: str) -> BlockList:
        data, blocks = self._data(name), self.lists.get(name, ())
        kept = blocks if sum(block.size for block in blocks) == len(data) else ()
        return BlockList(kept, len(data), "1")

    def list_blobs(self, prefix: str = "") -> Iterator[BlobProperties]:
        for name in sorted(self.blobs):
            if name.startswith(prefix):
                yield BlobProperties(name, len(self.blobs[name]), "1")

    def list_folders(self, prefix: str = "") -> tuple[list[str], list[BlobProperties]]:
        base = f"{prefix}/" if prefix else ""
        below = list(self.list_blobs(base))
        folders = {blob.name[len(base):].split("/")[0] for blob in below if "/" in blob.name[len(base):]}
        return sorted(folders), [blob for blob in below if "/" not in blob.name[len(base):]]
