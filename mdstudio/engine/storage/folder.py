"""Blobs as files below a local folder (P19-P22): atomic, durable, safe for several threads and processes.

What else lies next to a blob while it is written, and in which order it is made and moved, is in `names`, `sidecar` and
the format specification. Readers take no lock and move nothing, so a read-only folder can be read.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from mdstudio.engine.errors import (
    BlobChangedError,
    CommitUncertainError,
    NotFoundError,
    RangeError,
    StorageError,
)
from mdstudio.engine.storage import files as fs
from mdstudio.engine.storage import sidecar as block_lists
from mdstudio.engine.storage import staged
from mdstudio.engine.storage.checks import check_block, check_block_ids, check_condition, check_range, check_whole
from mdstudio.engine.storage.copying import copy_blob
from mdstudio.engine.storage.listing import one_level, properties_of, status_of, walk
from mdstudio.engine.storage.names import BlobFiles, check_name, check_prefix, path_of
from mdstudio.engine.storage.protocol import (
    BlobProperties,
    BlobStorage,
    Block,
    BlockList,
    RangeRead,
    another_job,
    nothing,
)


class FolderStorage:
    """A folder of blobs; it need not exist until the first write. Relative paths are taken from the current folder."""

    def __init__(self, root: str | Path) -> None:
        self._location = os.path.abspath(root)
        self._root = _long_path(self._location)
        self._made_root = False

    @property
    def location(self) -> str:
        return self._location

    def __repr__(self) -> str:
        return f"FolderStorage({self._location!r})"

    def child(self, prefix: str) -> FolderStorage:
        return FolderStorage(path_of(self._location, check_name(prefix.rstrip("/")))) if prefix.rstrip("/") else self

    # Reading

    def properties(self, name: str) -> BlobProperties:
        with fs.translated(self._where(name)):
            status = status_of(self._files(name).blob)
        if status is None:
            raise NotFoundError("There is no such blob.", where=self._where(name))
        return properties_of(name, status)

    def exists(self, name: str) -> bool:
        with fs.translated(self._where(name)):
            return status_of(self._files(name).blob) is not None

    def read(self, name: str, *, version: str | None = None) -> RangeRead:
        return self._read(name, 0, None, version)

    def read_range(self, name: str, offset: int, count: int, *, version: str | None = None) -> RangeRead:
        check_range(self._where(name), offset, count)
        return self._read(name, offset, count, version)

    def block_list(self, name: str) -> BlockList:
        files = self._files(name)
        with fs.translated(self._where(name)):
            for _ in range(100):  # until no commit falls in between; each try is a commit that somebody finished
                status = status_of(files.blob)
                if status is None:
                    raise NotFoundError("There is no such blob.", where=self._where(name))
                found = block_lists.current(files, status)
                after = status_of(files.blob)
                if after is not None and fs.version(after) == fs.version(status):
                    return BlockList(found.blocks if found else (), status.st_size, fs.version(status))
        raise BlobChangedError("The blob is rewritten faster than it can be read.", where=self._where(name))

    def list_blobs(self, prefix: str = "") -> Iterator[BlobProperties]:
        folder, slash, _ = check_prefix(prefix).rpartition("/")
        start = path_of(self._root, folder) if folder else self._root
        with fs.translated(self._where(folder)):
            yield from walk(start, folder + slash, prefix)

    def list_folders(self, prefix: str = "") -> tuple[list[str], list[BlobProperties]]:
        folder = prefix.rstrip("/")
        path = path_of(self._root, check_name(folder)) if folder else self._root
        with fs.translated(self._where(folder)):
            return one_level(path, folder + "/" if folder else "")

    # Writing

    def write(self, name: str, data: bytes, *, if_match: str | None = None, if_none_match: str | None = None) -> str:
        check_whole(self._where(name), len(data))
        with self._writing(name) as files:
            before = self._prepare(name, files, if_match, if_none_match)
            has_list = os.path.exists(files.sidecar)
            try:
                made = fs.write_file(files.write, [data], later_than=_write_time(before))
                if has_list:  # an empty list takes over from the old one in the moment of the move
                    fs.write_file(files.pending, [block_lists.encode(fs.mark(made), ())])
                fs.move(files.write, files.blob)
            except BaseException:
                _discard(files)
                raise
            if has_list:
                with contextlib.suppress(OSError):  # a reader holds it open; the empty list is pending then
                    fs.remove(files.sidecar)
                    fs.remove(files.pending)
            return self._finish(name, files)

    def stage_block(self, name: str, block_id: str, data: bytes) -> None:
        files = self._files(name)
        check_block(self._where(name), block_id, len(data))
        with fs.translated(self._where(name)):
            for tries_left in range(99, -1, -1):
                self._make_folder(name, files.staged)
                try:
                    staged.stage(files, self._where(name), block_id, data)
                    return
                except FileNotFoundError:  # a commit has just dropped the folder of staged blocks
                    if not tries_left:
                        raise

    def commit_blocks(
        self, name: str, block_ids: Sequence[str], *, if_match: str | None = None, if_none_match: str | None = None
    ) -> str:
        check_block_ids(self._where(name), block_ids)
        with self._writing(name) as files:
            before = self._prepare(name, files, if_match, if_none_match)
            parts = staged.find(files, self._where(name), before, block_ids)
            try:
                with contextlib.closing(staged.contents(parts)) as pieces:  # a failed write leaves no block open
                    made = fs.write_file(files.commit, pieces, later_than=_write_time(before))
                sizes = [Block(block_id, size) for block_id, (_, _, size) in zip(block_ids, parts, strict=True)]
                fs.write_file(files.pending, [block_lists.encode(fs.mark(made), sizes)])
                fs.move(files.commit, files.blob)
            except BaseException:
                _discard(files)
                raise
            with self._after_the_move(name):
                fs.flush_folder(files.folder)
            with contextlib.suppress(OSError):  # P21: a reader holds the old list open; the new one is pending
                fs.move(files.pending, files.sidecar)
            return self._finish(name, files)

    def delete(self, name: str, *, if_match: str | None = None) -> None:
        with self._writing(name, make_folder=False) as files:
            if self._prepare(name, files, if_match, None) is None:
                raise NotFoundError("There is no such blob.", where=self._where(name))
            fs.remove(files.blob)
            with contextlib.suppress(OSError):  # a reader holds it open; without the blob it means nothing
                fs.remove(files.sidecar)
            staged.drop(files)
            fs.flush_folder(files.folder)
        self._prune(self._files(name).folder)

    def copy_from(self, source: BlobStorage, name: str, target: str | None = None) -> str:
        return copy_blob(source, name, self, target or name)

    @contextlib.contextmanager
    def claimed(self, wait: float = 0.0, check: Callable[[], None] = nothing) -> Iterator[None]:
        """As the protocol. The folder is made, and removed again if it stayed empty."""
        path = os.path.join(self._root, _CLAIM)
        deadline = time.monotonic() + wait
        with fs.translated(self._location):
            while (held := self._claim(path)) is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise another_job(self._location)
                check()
                time.sleep(min(left, _LOOK_SECONDS))
        try:
            yield
        finally:
            fs.unlock(held, path)
            self._prune(self._root)

    # Inside

    def _claim(self, path: str) -> int | None:
        for _ in range(100):
            self._make_folder("", self._root)
            with contextlib.suppress(FileNotFoundError):  # its last holder has just removed the empty folder
                return fs.try_lock(path)
        return None

    def _files(self, name: str) -> BlobFiles:
        return BlobFiles(path_of(self._root, check_name(name)))

    def _where(self, name: str) -> str:
        return os.path.join(self._location, *name.split("/")) if name else self._location

    def _read(self, name: str, offset: int, count: int | None, version: str | None) -> RangeRead:
        where = self._where(name)
        with fs.translated(where), open(self._files(name).blob, "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            found = fs.version(status)
            if version is not None and version != found:
                raise BlobChangedError("The blob was changed in between.", where=where, advice="Read it again.")
            length = status.st_size
            if count is not None and offset >= length:
                raise RangeError(f"Bytes from {offset} were asked of a blob of {length} bytes.", where=where)
            file.seek(offset)
            wanted = length - offset if count is None else min(count, length - offset)
            data = _read_fully(file, wanted)
            # Another program may write into a file in place, which no write of ours does.
            if len(data) != wanted or fs.mark(os.fstat(file.fileno())) != fs.mark(status):
                raise BlobChangedError("The file was changed while it was read.", where=where, advice="Read it again.")
        return RangeRead(data, length, found)

    @contextlib.contextmanager
    def _writing(self, name: str, *, make_folder: bool = True) -> Iterator[BlobFiles]:
        """The blob's files under its lock."""
        files = self._files(name)
        try:
            with fs.translated(self._where(name)), contextlib.ExitStack() as held:
                while True:
                    if make_folder:
                        self._make_folder(name, files.folder)
                    try:
                        held.enter_context(fs.locked(files.lock))
                        break
                    except FileNotFoundError:
                        if not make_folder or os.path.isdir(files.folder):
                            raise
                        # else a delete has just removed the empty folder
                yield files
        except BaseException:
            self._prune(files.folder)  # made for a blob that could not be written
            raise

    def _prepare(
        self, name: str, files: BlobFiles, if_match: str | None, if_none_match: str | None
    ) -> os.stat_result | None:
        """The blob's status once the conditions hold, then what an earlier write left is settled (P20, P21).

        Nothing is changed before the conditions hold and a pending list is in place.
        """
        where = self._where(name)
        status = status_of(files.blob)
        if status is None and os.path.isdir(files.blob):
            raise StorageError("A folder has the name of the blob.", where=where)
        check_condition(where, None if status is None else fs.version(status), if_match, if_none_match)
        if status is not None and block_lists.is_pending(files, status):
            try:
                fs.move(files.pending, files.sidecar)
            except PermissionError as error:
                raise StorageError(
                    "A reader still holds the block list of the last commit open.",
                    where=where,
                    advice="Nothing was changed; run it again.",
                ) from error
            fs.flush_folder(files.folder)
        _discard(files)
        return status

    def _finish(self, name: str, files: BlobFiles) -> str:
        with self._after_the_move(name):
            status = os.stat(files.blob)
            staged.drop(files)
            fs.flush_folder(files.folder)
        return fs.version(status)

    @contextlib.contextmanager
    def _after_the_move(self, name: str) -> Iterator[None]:
        """An error from here on leaves open whether the write lasts: it is in place, but perhaps not on the disk."""
        try:
            yield
        except OSError as error:
            raise CommitUncertainError(
                f"The blob was written, but may not be on the disk yet ({error.strerror}).",
                where=self._where(name),
                advice="Read it to see whether it is, before writing again.",
            ) from error

    def _make_folder(self, name: str, path: str) -> None:
        if os.path.isdir(path):
            return
        self._made_root = self._made_root or not os.path.isdir(self._root)
        try:
            fs.make_folder(path)
        except (FileExistsError, NotADirectoryError) as error:
            raise StorageError("A file is where the blob needs a folder.", where=self._where(name)) from error

    def _prune(self, folder: str) -> None:
        """Remove folders that a delete left empty: below the root, and the root if this storage made it."""
        with contextlib.suppress(OSError):
            while folder != self._root and folder.startswith(self._root):
                os.rmdir(folder)
                folder = os.path.dirname(folder)
            if self._made_root:
                os.rmdir(folder)


_CLAIM = ".import.lock"  # a side file by its ending: no blob
_LOOK_SECONDS = 0.1  # how soon a job that waits sees that the folder is free, or that it was cancelled


def _write_time(status: os.stat_result | None) -> int:
    return 0 if status is None else status.st_mtime_ns


def _read_fully(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:  # the system returns at most 2 GB at once
        pieces = [data]
        while pieces[-1] and (count := count - len(pieces[-1])):
            pieces.append(file.read(count))
        data = b"".join(pieces)
    return data


def _discard(files: BlobFiles) -> None:
    """Remove what a failed write left, the list first: without the `.commit` blob it would count (P20)."""
    for path in (files.pending, files.commit, files.write):
        fs.remove(path)


def _long_path(path: str) -> str:
    """The path in the form that Windows takes beyond 260 characters."""
    if sys.platform != "win32" or path.startswith("\\\\?\\"):
        return path
    return "\\\\?\\UNC\\" + path[2:] if path.startswith("\\\\") else "\\\\?\\" + path
