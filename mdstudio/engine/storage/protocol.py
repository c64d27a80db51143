"""The contract of a blob storage: what the folder, Azure and every wrapper do alike (design 2).

One version rule for all: `version` is an opaque string that changes with every write of the blob and that no rewrite
can repeat; a read or write that names a version fails with `BlobChangedError` when the blob has another one. Blob names
use "/" and are relative to the storage's root. Every method may be called from any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mdstudio.engine.errors import BlobChangedError

MAX_BLOCKS = 50_000  # of one blob, as Azure allows
CLAIM_WAIT = 75.0  # seconds that a job waits for another one: longer than a killed job holds a place in Azure
MUST_NOT_EXIST = "*"  # if_none_match: the blob must be new


@dataclass(frozen=True, slots=True)
class BlobProperties:
    """Length [bytes] and version of a blob; `modified` in seconds since 1970, 0.0 where unknown."""

    name: str
    length: int
    version: str
    modified: float = 0.0


@dataclass(frozen=True, slots=True)
class RangeRead:
    """Bytes of one range, with the length and version of the whole blob that they came from."""

    data: bytes
    length: int
    version: str


@dataclass(frozen=True, slots=True)
class Block:
    """A committed block: its id (text, before any base64) and size [bytes]."""

    id: str
    size: int


@dataclass(frozen=True, slots=True)
class BlockList:
    """The committed blocks of a blob in order; `length` and `version` are the blob's at that moment."""

    blocks: tuple[Block, ...]
    length: int
    version: str


def nothing() -> None:
    """No check."""


def another_job(location: str) -> BlobChangedError:
    """The error for a place that another job holds."""
    return BlobChangedError(
        "Another job is writing here.", where=location, advice="Run it again when the other one has ended."
    )


@runtime_checkable
class BlobStorage(Protocol):
    """Blobs below one root: a folder, a container and prefix, or a wrapper around one.

    Raises everywhere: `NotFoundError` for a blob that is not there, `AccessError`, `StorageError` (disk full, network)
    with the blob's name.
    """

    @property
    def location(self) -> str:
        """The root as a person may see it: never with a secret."""

    def child(self, prefix: str) -> BlobStorage:
        """The same storage rooted at `prefix` below this root; no request."""

    def properties(self, name: str) -> BlobProperties:
        """Length and version; one request."""

    def exists(self, name: str) -> bool:
        """Whether the blob is there (committed); one request."""

    def read(self, name: str, *, version: str | None = None) -> RangeRead:
        """The whole blob; `BlobChangedError` if `version` is given and is not the blob's."""

    def read_range(self, name: str, offset: int, count: int, *, version: str | None = None) -> RangeRead:
        """`count` bytes from `offset`; one request. A range that reaches past the end comes back short.

        Raises `RangeError` if the range starts at or past the end, `BlobChangedError` as `read`, `UsageError` for a
        negative offset (a suffix range is not portable: callers ask `properties` first) or no bytes.
        """

    def write(self, name: str, data: bytes, *, if_match: str | None = None, if_none_match: str | None = None) -> str:
        """Put a whole blob atomically (P22); returns its version. An existing block list is gone with it."""

    def stage_block(self, name: str, block_id: str, data: bytes) -> None:
        """Stage one block of a later commit; the same id again replaces it.

        Raises `UsageError` for an empty block, one over 4 000 MiB, an id over 64 bytes or of another length than those
        staged.
        """

    def commit_blocks(
        self, name: str, block_ids: Sequence[str], *, if_match: str | None = None, if_none_match: str | None = None
    ) -> str:
        """Make the blob of committed and staged blocks, in one atomic step; returns its version.

        An id that was staged since the last commit is taken from there, else from the committed blocks. Staged blocks
        that no commit took are dropped (P25). Raises `BlobChangedError` if a condition fails or a block is gone,
        `CommitUncertainError` if the answer was lost (P15: the caller reads the block list; it is never sent again),
        `UsageError` for over `MAX_BLOCKS` or mixed id lengths.
        """

    def block_list(self, name: str) -> BlockList:
        """The committed blocks; empty for a blob that was put whole."""

    def list_blobs(self, prefix: str = "") -> Iterator[BlobProperties]:
        """Committed blobs whose name starts with `prefix`, any depth, by name; left-overs of writes are no blobs."""

    def list_folders(self, prefix: str = "") -> tuple[list[str], list[BlobProperties]]:
        """One level: folder names (no slash) and blobs directly below the folder `prefix`; cheap for tree views.

        A folder that is not there is an empty one.
        """

    def delete(self, name: str, *, if_match: str | None = None) -> None:
        """Remove the blob with its block list; `NotFoundError` if it is not there."""

    def claimed(self, wait: float = 0.0, check: Callable[[], None] = nothing) -> AbstractContextManager[None]:
        """Hold the whole root for one job that writes (D15); every operation that writes data does, with `CLAIM_WAIT`.

        Waits up to `wait` seconds for another one and raises `BlobChangedError` then; `check` is called ten times a
        second meanwhile, and what it raises (a cancel) ends the wait. Without the claim an import could count on a blob
        of another's that this one takes back, or write over it as a left-over after the other has listed it. It keeps
        nobody from reading or from single writes, and holds only the root itself, not a storage above or below it.

        A folder is held by a lock of the operating system, which ends with its process. A prefix in Azure is held by a
        lease of 60 s on the blob `dataset.lock`, which a thread renews: a killed job holds it for 60 s at most. A job
        that was held up for so long that another one took over gets `BlobChangedError` on its next write here, at the
        latest when the claim ends. What holds it is no blob: listings and sizes leave it out.
        """

    def copy_from(self, source: BlobStorage, name: str, target: str | None = None) -> str:
        """Copy a blob with its block list (P26) from a storage of any kind; returns the new version."""
