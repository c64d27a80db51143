"""One import at a time makes a dataset of a place (D15)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mdstudio.engine.storage import BlobStorage, FolderStorage


@contextmanager
def claimed(storage: BlobStorage) -> Iterator[None]:
    """Hold the place against other imports; raises `BlobChangedError` at once where one is running.

    Without it an import could count on a blob of another's that this one takes back, or write over it as a left-over
    after the other has listed it. A folder is held by a lock of the operating system, which ends with its process;
    other storages have the conditions of their writes alone.
    """
    inner: object = storage
    while not isinstance(inner, FolderStorage) and hasattr(inner, "inner"):
        inner = inner.inner
    if not isinstance(inner, FolderStorage):
        yield
        return
    with inner.claimed():
        yield
