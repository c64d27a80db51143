"""The block list of a local blob: the `.blocks` file next to it (P19, P20).

ASCII text, each line ended by one line feed: first the version of the commit (the mark of the blob's file), then one
line a block in blob order: its size in bytes, a space, its id (percent-encoded, RFC 3986). No blocks: a blob that was
put whole. A reader that finds the mark of the blob's own file takes the list; else (a blob copied by hand) the sizes
must add up.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from mdstudio.engine.storage.files import mark
from mdstudio.engine.storage.names import BlobFiles
from mdstudio.engine.storage.protocol import Block


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A block list as a file holds it: the mark of the blob that its commit made, and its blocks."""

    mark: str
    blocks: tuple[Block, ...]

    @property
    def length(self) -> int:
        return sum(block.size for block in self.blocks)


def encode(mark: str, blocks: Sequence[Block]) -> bytes:
    """The bytes of a sidecar."""
    lines = [mark, *(f"{block.size} {quote(block.id, safe='')}" for block in blocks)]
    return "".join(line + "\n" for line in lines).encode()


def decode(data: bytes) -> Sidecar | None:
    """The list that the bytes hold; None for anything that `encode` does not write (cut off, edited)."""
    try:
        head, *lines = data.decode("ascii").split("\n")
        if not lines or lines.pop() != "":
            return None
        blocks = tuple(_block(line) for line in lines)
    except ValueError:
        return None
    return Sidecar(head, blocks) if encode(head, blocks) == data else None


def current(files: BlobFiles, status: os.stat_result) -> Sidecar | None:
    """The block list of the blob whose file has this status; None if there is none. Moves nothing (P20).

    A list next to a `.commit` blob is of a commit that failed or is still running, and is ignored. Raises `OSError`
    other than for a file that is not there.
    """
    pending, placed = _read(files.pending), _read(files.sidecar)
    if os.path.exists(files.commit):
        pending = None
    lists = [sidecar for sidecar in (pending, placed) if sidecar]
    own = mark(status)
    for sidecar in lists:
        if sidecar.mark == own:
            return sidecar
    for sidecar in lists:
        if sidecar.length == status.st_size:
            return sidecar
    return None


def is_pending(files: BlobFiles, status: os.stat_result) -> bool:
    """Whether the list left in `.commit` is the blob's current one, to be put in place by the next commit (P20)."""
    pending = _read(files.pending)
    return pending is not None and not os.path.exists(files.commit) and current(files, status) == pending


def _block(line: str) -> Block:
    size, _, block_id = line.partition(" ")
    return Block(unquote(block_id, errors="strict"), int(size))


def _read(path: str) -> Sidecar | None:
    try:
        with open(path, "rb") as file:
            return decode(file.read())
    except FileNotFoundError:
        return None
