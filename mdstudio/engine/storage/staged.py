"""The blocks of a local blob: staged as files next to it, found among the staged and the committed ones (P19, P25)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterable, Sequence
from secrets import token_hex

from mdstudio.engine.errors import BlobChangedError, UsageError
from mdstudio.engine.storage import files as fs
from mdstudio.engine.storage import sidecar as block_lists
from mdstudio.engine.storage.names import BlobFiles

_STAGED = ".block"
_COPY_BYTES = 1 << 20

Part = tuple[str, int, int]  # where the bytes of a block are: file, offset, size


def stage(files: BlobFiles, where: str, block_id: str, data: bytes) -> None:
    """Put a block into the folder of staged blocks, which is there; `UsageError` for another id length than theirs.

    Raises `FileNotFoundError` when a commit drops the folder meanwhile.
    """
    part = os.path.join(files.staged, token_hex(8) + ".write")
    try:
        _check_length(files, where, block_id)
        with open(part, "wb") as file:
            file.write(data)
        fs.move(part, os.path.join(files.staged, _file_name(block_id)))
    except BaseException:
        fs.remove(part)
        raise


def find(files: BlobFiles, where: str, status: os.stat_result | None, block_ids: Sequence[str]) -> list[Part]:
    """The bytes of each block, staged before committed ones; `BlobChangedError` for one that is neither.

    `status` is that of the blob's file, None where there is none.
    """
    committed: dict[str, Part] = {}
    offset = 0
    found = None if status is None else block_lists.current(files, status)
    for block in found.blocks if found else ():
        committed.setdefault(block.id, (files.blob, offset, block.size))
        offset += block.size
    staged = set(_names(files.staged))
    parts = []
    for block_id in block_ids:
        if _file_name(block_id) in staged:
            path = os.path.join(files.staged, _file_name(block_id))
            parts.append((path, 0, os.path.getsize(path)))
        elif block_id in committed:
            parts.append(committed[block_id])
        else:
            raise BlobChangedError(
                f"The block {block_id} is neither staged nor committed: another commit dropped it.",
                where=where,
                advice="Run it again.",
            )
    return parts


def contents(parts: Iterable[Part]) -> Generator[bytes]:
    """The bytes of the parts, a piece at a time."""
    for path, offset, size in parts:
        with open(path, "rb", buffering=0) as file:
            file.seek(offset)
            while size:
                piece = file.read(min(size, _COPY_BYTES))
                if not piece:
                    raise OSError(None, "a block ended early", path)
                size -= len(piece)
                yield piece


def drop(files: BlobFiles) -> None:
    """P25; a block that is being staged at this moment may stay, or is staged anew into a new folder."""
    with contextlib.suppress(OSError):
        for name in _names(files.staged):
            fs.remove(os.path.join(files.staged, name))
        if os.path.isdir(files.staged):
            os.rmdir(files.staged)


def _check_length(files: BlobFiles, where: str, block_id: str) -> None:
    wanted = len(_file_name(block_id))
    with os.scandir(files.staged) as scan:  # all have one length, so one is enough
        other = next((entry.name for entry in scan if entry.name.endswith(_STAGED)), None)
    if other is not None and len(other) != wanted:
        raise UsageError(
            f"The block id {block_id} has another length than the blocks staged before it.", where=where
        )


def _file_name(block_id: str) -> str:
    return block_id.encode().hex() + _STAGED


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
