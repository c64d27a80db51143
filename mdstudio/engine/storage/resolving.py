"""Conditional writes whose answer was lost: the blob itself says whether they took effect (as P15 for commits)."""

from __future__ import annotations

from mdstudio.engine.errors import BlobChangedError, CommitUncertainError, NotFoundError
from mdstudio.engine.storage.protocol import BlobStorage, RangeRead

ATTEMPTS = 3  # of a write whose answer was lost while the blob stays as it was


def write_resolved(
    storage: BlobStorage, name: str, data: bytes, *, if_match: str | None = None, if_none_match: str | None = None
) -> str:
    """Put a whole blob as `BlobStorage.write` does, and where the answer is lost read it: a blob with these bytes is
    what was written, an unchanged one is written again; anything else is a `BlobChangedError`. Returns the version. A
    write without a condition is simply repeated.

    Cost: one read of the blob after each lost answer. Raises `CommitUncertainError` where the service stays silent.
    """
    for attempt in range(ATTEMPTS):
        try:
            return storage.write(name, data, if_match=if_match, if_none_match=if_none_match)
        except CommitUncertainError:
            conditional = if_match is not None or if_none_match is not None
            found = _stored(storage, name) if conditional else None
            if found is not None and found.data == data and found.version != if_match:
                return found.version
            if (found.version if found is not None else None) != if_match:
                raise BlobChangedError("Another job wrote the blob in between.", where=name,
                                       advice="Run it again.") from None
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _stored(storage: BlobStorage, name: str) -> RangeRead | None:
    try:
        return storage.read(name)
    except NotFoundError:
        return None
