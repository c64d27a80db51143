"""Blobs: protocol, local folder, Azure, wrappers; one version rule for all (If-Match, BlobChangedError).

May be imported from here: what `__all__` names. Azure is imported only when a location asks for it.
"""

from mdstudio.engine.storage.folder import FolderStorage
from mdstudio.engine.storage.locations import open_storage, redact
from mdstudio.engine.storage.protocol import (
    CLAIM_WAIT,
    MAX_BLOCKS,
    MUST_NOT_EXIST,
    BlobProperties,
    BlobStorage,
    Block,
    BlockList,
    RangeRead,
)
from mdstudio.engine.storage.ranges import plan_requests
from mdstudio.engine.storage.resolving import write_resolved
from mdstudio.engine.storage.wrappers import CachingStorage, CountingStorage, Counts, Wrapper, innermost

__all__ = [
    "CLAIM_WAIT",
    "MAX_BLOCKS",
    "MUST_NOT_EXIST",
    "BlobProperties",
    "BlobStorage",
    "Block",
    "BlockList",
    "CachingStorage",
    "CountingStorage",
    "Counts",
    "FolderStorage",
    "RangeRead",
    "Wrapper",
    "innermost",
    "open_storage",
    "plan_requests",
    "redact",
    "write_resolved",
]
