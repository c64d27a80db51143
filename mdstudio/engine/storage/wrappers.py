"""Storages around a storage: one that counts what is read, one that keeps what was read."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Self, TypeVar

from mdstudio.engine.storage.checks import check_range
from mdstudio.engine.storage.protocol import BlobProperties, BlobStorage, BlockList, RangeRead, nothing

T = TypeVar("T")


class Wrapper:
    """Passes every call on to `inner` through `_request`, which a wrapper overrides."""

    def __init__(self, inner: BlobStorage) -> None:
        self.inner = inner

    def _request(self, call: str, name: str, request: Callable[[], T]) -> T:
        """Do the one request of the method `call` on the blob (or prefix) `name`."""
        return request()

    def _around(self, inner: BlobStorage) -> Self:
        """The same wrapper around a child of `inner`, sharing its state."""
        return type(self)(inner)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"

    @property
    def location(self) -> str:
        return self.inner.location

    def child(self, prefix: str) -> Self:
        return self._around(self.inner.child(prefix))

    def properties(self, name: str) -> BlobProperties:
        return self._request("properties", name, lambda: self.inner.properties(name))

    def exists(self, name: str) -> bool:
        return self._request("exists", name, lambda: self.inner.exists(name))

    def read(self, name: str, *, version: str | None = None) -> RangeRead:
        return self._request("read", name, lambda: self.inner.read(name, version=version))

    def read_range(self, name: str, offset: int, count: int, *, version: str | None = None) -> RangeRead:
        return self._request("read_range", name, lambda: self.inner.read_range(name, offset, count, version=version))

    def write(self, name: str, data: bytes, *, if_match: str | None = None, if_none_match: str | None = None) -> str:
        return self._request(
            "write", name, lambda: self.inner.write(name, data, if_match=if_match, if_none_match=if_none_match)
        )

    def stage_block(self, name: str, block_id: str, data: bytes) -> None:
        self._request("stage_block", name, lambda: self.inner.stage_block(name, block_id, data))

    def commit_blocks(
        self, name: str, block_ids: Sequence[str], *, if_match: str | None = None, if_none_match: str | None = None
    ) -> str:
        return self._request(
            "commit_blocks",
            name,
            lambda: self.inner.commit_blocks(name, block_ids, if_match=if_match, if_none_match=if_none_match),
        )

    def block_list(self, name: str) -> BlockList:
        return self._request("block_list", name, lambda: self.inner.block_list(name))

    def list_blobs(self, prefix: str = "") -> Iterator[BlobProperties]:
        yield from self._request("list_blobs", prefix, lambda: self.inner.list_blobs(prefix))

    def list_folders(self, prefix: str = "") -> tuple[list[str], list[BlobProperties]]:
        return self._request("list_folders", prefix, lambda: self.inner.list_folders(prefix))

    def delete(self, name: str, *, if_match: str | None = None) -> None:
        self._request("delete", name, lambda: self.inner.delete(name, if_match=if_match))

    def claimed(self, wait: float = 0.0, check: Callable[[], None] = nothing) -> AbstractContextManager[None]:
        return self.inner.claimed(wait, check)

    def copy_from(self, source: BlobStorage, name: str, target: str | None = None) -> str:
        return self._request("copy_from", target or name, lambda: self.inner.copy_from(source, name, target))


@dataclass(frozen=True, slots=True)
class Counts:
    """What was asked of a storage: requests, bytes read, and the time that callers waited [ns], added over threads."""

    requests: int = 0
    bytes_read: int = 0
    wait_ns: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.requests + other.requests, self.bytes_read + other.bytes_read, self.wait_ns + other.wait_ns)

    def __sub__(self, other: Counts) -> Counts:
        return Counts(self.requests - other.requests, self.bytes_read - other.bytes_read, self.wait_ns - other.wait_ns)


def innermost(storage: BlobStorage) -> BlobStorage:
    """The storage that wrappers stand around; itself where none does."""
    while isinstance(storage, Wrapper):
        storage = storage.inner
    return storage


class CountingStorage(Wrapper):
    """Counts the requests made through it and through its children; any thread.

    A call counts as one request, failed or not; a listing as one however long it is, its bytes not at all.
    """

    def __init__(self, inner: BlobStorage, tally: _Tally | None = None) -> None:
        super().__init__(inner)
        self._tally = tally or _Tally()

    @property
    def requests(self) -> int:
        return self._tally.counts.requests

    @property
    def bytes_read(self) -> int:
        return self._tally.counts.bytes_read

    @property
    def wait_ns(self) -> int:
        return self._tally.counts.wait_ns

    def snapshot(self) -> Counts:
        """The counts at this moment."""
        return self._tally.counts

    def delta(self, since: Counts) -> Counts:
        """What was counted after the snapshot `since`."""
        return self._tally.counts - since

    def _around(self, inner: BlobStorage) -> Self:
        return type(self)(inner, self._tally)

    def _request(self, call: str, name: str, request: Callable[[], T]) -> T:
        start = time.perf_counter_ns()
        bytes_read = 0
        try:
            result = request()
            if isinstance(result, RangeRead):
                bytes_read = len(result.data)
            return result
        finally:
            self._tally.add(Counts(1, bytes_read, time.perf_counter_ns() - start))


class _Tally:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.counts = Counts()

    def add(self, counts: Counts) -> None:
        with self._lock:
            self.counts += counts


class CachingStorage(Wrapper):
    """Keeps what was read, up to `max_bytes`, the longest unused dropped first; any thread.

    Only a read that names its version is answered from the cache: what it holds of that version is right for ever,
    though the blob may have been rewritten since. A read without a version always asks.
    """

    def __init__(self, inner: BlobStorage, max_bytes: int, cache: _Cache | None = None) -> None:
        super().__init__(inner)
        self._cache = cache or _Cache(max_bytes)

    def read(self, name: str, *, version: str | None = None) -> RangeRead:
        return self._cached(name, 0, None, version, lambda: self.inner.read(name, version=version))

    def read_range(self, name: str, offset: int, count: int, *, version: str | None = None) -> RangeRead:
        check_range(f"{self.location}/{name}", offset, count)
        return self._cached(
            name, offset, count, version, lambda: self.inner.read_range(name, offset, count, version=version)
        )

    def _around(self, inner: BlobStorage) -> Self:
        return type(self)(inner, self._cache.max_bytes, self._cache)

    def _request(self, call: str, name: str, request: Callable[[], T]) -> T:
        if call in ("write", "commit_blocks", "delete", "copy_from"):
            self._cache.forget(f"{self.location}/{name}")
        return super()._request(call, name, request)

    def _cached(
        self, name: str, offset: int, count: int | None, version: str | None, request: Callable[[], RangeRead]
    ) -> RangeRead:
        key = f"{self.location}/{name}"
        found = self._cache.find(key, version, offset, count) if version is not None else None
        if found is None:
            found = request()
            self._cache.keep(key, offset, found)
        return found


class _Cache:
    """Pieces of blobs by name, version and offset."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._bytes = 0
        self._pieces: OrderedDict[tuple[str, int, int], RangeRead] = OrderedDict()  # (name, offset, bytes), old first
        self._of_name: dict[str, list[tuple[str, int, int]]] = {}

    def find(self, name: str, version: str, offset: int, count: int | None) -> RangeRead | None:
        """The range from a kept piece of that version that holds all of it; None if there is none."""
        with self._lock:
            for key in self._of_name.get(name, ()):
                piece = self._pieces[key]
                end = piece.length if count is None else min(offset + count, piece.length)
                if piece.version == version and key[1] <= offset < max(end, 1) and end <= key[1] + key[2]:
                    self._pieces.move_to_end(key)
                    return RangeRead(piece.data[offset - key[1] : end - key[1]], piece.length, version)
        return None

    def keep(self, name: str, offset: int, piece: RangeRead) -> None:
        key = name, offset, len(piece.data)
        if len(piece.data) > self.max_bytes:
            return
        with self._lock:
            self._drop(key)
            self._pieces[key] = piece
            self._of_name.setdefault(name, []).append(key)
            self._bytes += len(piece.data)
            while self._bytes > self.max_bytes:
                self._drop(next(iter(self._pieces)))

    def forget(self, name: str) -> None:
        with self._lock:
            for key in list(self._of_name.get(name, ())):
                self._drop(key)

    def _drop(self, key: tuple[str, int, int]) -> None:
        piece = self._pieces.pop(key, None)
        if piece is not None:
            self._bytes -= len(piece.data)
            self._of_name[key[0]].remove(key)
            if not self._of_name[key[0]]:
                del self._of_name[key[0]]
