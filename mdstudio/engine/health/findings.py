"""What a check reports: one record a finding, one at the end for the whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["damage", "advice"]

# Stable: a code is never used for another meaning.
METADATA = "MD-H001"  # dataset.json is not readable
GUARD = "MD-H002"  # the metadata lacks what the data needs
CLAIMS = "MD-H003"  # the metadata speaks of far more than is there
DOMAIN_MISSING = "MD-H010"
DOMAIN_DAMAGED = "MD-H011"
BLOB_MISSING = "MD-H020"  # a data blob of a listed time
INDEX_MISSING = "MD-H021"  # the .idx of a timestep
RAW_LENGTH = "MD-H022"  # uncompressed data of another length than its values take
INDEX_LENGTH = "MD-H030"  # a page index of another length than its pages take
PAGE_LENGTH = "MD-H031"  # a page length that no codec writes
INDEX_SUM = "MD-H032"  # page lengths that do not add up to the blob
GROUP_TAIL = "MD-H033"  # a group without a page index at its end
BLOCK_ID = "MD-H034"  # a block of a group whose id is that of another timestep
GROUP_SHORT = "MD-H035"  # fewer timesteps in a group than the dataset lists
STEP_EMPTY = "MD-H036"  # a timestep without any stored page
SEPARATE_INDEX = "MD-H037"  # a group of the builds that kept the index beside it
NO_BLOCK_LIST = "MD-H038"  # a group without its block list: read, but neither appended to nor updated
HEADER_LENGTH = "MD-H040"  # a TimeSeries blob shorter than its header
BLOCK_LENGTH = "MD-H041"  # a block length that no codec writes
HEADER_SUM = "MD-H042"  # a header that does not add up to its blob
ORPHAN = "MD-H050"  # a blob that nothing refers to
UNLISTED_STEPS = "MD-H051"  # timesteps in a group that the dataset does not list
LEFT_OVER = "MD-H052"  # a file that a write left behind
DATA_SIZE = "MD-H053"  # DataSizeBytes is not what is stored
UNREADABLE = "MD-H060"  # the storage failed
CHANGED = "MD-H061"  # the blob changed while it was checked
PAGE_CHECKSUM = "MD-H070"  # pages whose bytes changed
PAGE_CONTENT = "MD-H071"  # pages that do not decode to their elements
BLOCK_HASH = "MD-H072"  # a block of a group whose bytes are not those that its id names


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or could be tidied up; the keys of design 5a.

    Attributes:
        code: one of the codes above.
        severity: "damage" (data cannot be read, or not safely) or "advice".
        blob: name below the dataset's root; a file name for left-overs; "" for the whole dataset.
        item: name; "" where none is concerned.
        timesteps: indices of the listed times concerned.
        pages: page or block numbers concerned, of each of the timesteps; empty where it is the whole blob.
        expected, found: in words and numbers.
        permanent: False where checking again may find nothing.
        lost: what cannot be read because of it; "" for nothing.
        advice: what to do.
        command: the command that does it, or "" where there is none.
    """

    code: str
    severity: Severity
    blob: str = ""
    item: str = ""
    timesteps: tuple[int, ...] = ()
    pages: tuple[int, ...] = ()
    expected: str = ""
    found: str = ""
    permanent: bool = True
    lost: str = ""
    advice: str = ""
    command: str = ""


@dataclass(frozen=True)
class Summary:
    """How a check ended; the keys of design 5a.

    Attributes:
        status: "damaged" with any damage, "advice" with advice only, else "clean" (at this level).
        pages_checked: pages whose bytes were read and decoded; 0 at the levels probe and index.
        pages_total: pages and blocks of all listed times, items and layers.
        pages_not_checkable: pages of level full in which a changed byte need not show: raw data, and pages of layout
            versions without a checksum (those are decoded, and count as checked too).
    """

    level: str
    status: Literal["clean", "advice", "damaged"]
    findings: int
    pages_checked: int
    pages_total: int
    bytes_read: int
    requests: int
    pages_not_checkable: int = 0
