"""Files that survive a power cut and several processes: durable writes, moves, locks, and what a version is made of.

Everything here works on paths and raises plain `OSError`; `translated` turns those into the errors of the engine.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterable, Iterator

from mdstudio.engine.errors import AccessError, NotFoundError, StorageError

LOCK_PATIENCE = 300.0  # seconds that a live process may hold the lock of a blob before others give up
_MOVE_PATIENCE = 2.0  # seconds to wait for a reader to close a file that Windows does not replace while it is open
_SHARING_VIOLATIONS = (32, 33)  # of Windows: another program holds the file


def mark(status: os.stat_result) -> str:
    """What tells one content of a path from every other and is known before the file is moved into place.

    File number, time of the write and length. `write_file` gives each content a later time than the one it replaces,
    whatever the clock and the file system's resolution, so no rewrite repeats a mark; it lives on the disk, so it
    survives restarts; and a file copied in by hand has one.
    """
    return f"{status.st_ino & 0xFFFFFFFFFFFFFFFF:x}-{status.st_mtime_ns:x}-{status.st_size:x}"


def version(status: os.stat_result) -> str:
    """The version of a blob: its mark and the time of its last change, which a forged write time does not hide."""
    return f"{mark(status)}-{status.st_ctime_ns:x}"


def write_file(path: str, chunks: Iterable[bytes | memoryview], *, later_than: int = 0) -> os.stat_result:
    """Write a new file and force it to the disk; its write time is after `later_than` [ns since 1970]."""
    with open(path, "wb") as file:
        for chunk in chunks:
            file.write(chunk)
    # Windows sets the write time when the handle closes, so ours is set afterwards, and the flush comes last.
    moment = max(time.time_ns(), later_than + 1)
    for step in (0, 1_000, 1_000_000_000, 4_000_000_000):  # resolutions of file systems: 1 ns, 100 ns, 1 s, 2 s
        os.utime(path, ns=(moment + step, moment + step))
        if os.stat(path).st_mtime_ns > later_than:
            break
    with open(path, "r+b") as file:
        flush(file.fileno())
        return os.fstat(file.fileno())


def flush(descriptor: int) -> None:
    """Force a file or folder to the disk itself, past its own cache on macOS."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def flush_folder(path: str) -> None:
    """Force the names in a folder to the disk; nothing on Windows, which has no such call."""
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        flush(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot
            raise
    finally:
        os.close(descriptor)


def make_folder(path: str) -> None:
    """Make a folder with its parents, durably; one that another process removes meanwhile is made again.

    Raises `PermissionError` where the system takes no folder (/proc), `FileExistsError` and `NotADirectoryError`.
    """
    parent = os.path.dirname(path)
    for _ in range(100):
        if os.path.isdir(path):
            return
        make_folder(parent)
        try:
            os.mkdir(path)
            flush_folder(parent)
            return
        except FileExistsError:
            if not os.path.isdir(path):
                raise
        except FileNotFoundError:  # a delete has just removed the empty parent
            continue
    raise PermissionError(errno.EPERM, "no folder can be made here", path)


def move(source: str, target: str) -> None:
    """Put a file in the place of another, atomically.

    Raises `PermissionError` where a reader holds the target open (Windows).
    """
    deadline = time.monotonic() + _MOVE_PATIENCE
    while True:
        try:
            os.replace(source, target)
            return
        except PermissionError as error:
            if not _is_held(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def remove(path: str) -> None:
    """Remove a file; one that is not there is fine."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold the lock file `path` against every thread and process; one left by a dead process holds nobody up.

    The lock is the operating system's and ends with its process; the file is only what it is put on, and is removed.
    """
    descriptor = _lock(path)
    try:
        yield
    finally:
        unlock(descriptor, path)


if sys.platform == "win32":
    import msvcrt

    def try_lock(path: str) -> int | None:
        """The descriptor that holds the lock, None where somebody else does; `unlock` ends it."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOINHERIT)
        except PermissionError:
            if os.path.exists(path):  # just being removed by its last holder
                return None
            raise
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            os.close(descriptor)
            return None
        return descriptor

    def unlock(descriptor: int, path: str) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        os.close(descriptor)
        with contextlib.suppress(OSError):  # the next holder has it open already, and removes it
            os.unlink(path)

else:
    import fcntl

    def try_lock(path: str) -> int | None:
        """The descriptor that holds the lock, None where somebody else does; `unlock` ends it."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except (BlockingIOError, FileNotFoundError):
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # held, or removed by its last holder after we opened it
        return None

    def unlock(descriptor: int, path: str) -> None:
        remove(path)
        os.close(descriptor)


def _lock(path: str) -> int:
    deadline = time.monotonic() + LOCK_PATIENCE
    pause = 0.0005
    while (descriptor := try_lock(path)) is None:
        if time.monotonic() > deadline:
            raise StorageError(
                f"Another process has held the blob for {LOCK_PATIENCE:.0f} s.",
                where=path.removesuffix(".lock"),
                advice="Run it again when that process has ended.",
            )
        time.sleep(pause)
        pause = min(0.02, pause * 2)
    return descriptor


@contextlib.contextmanager
def translated(where: str) -> Iterator[None]:
    """Turn an `OSError` about the blob `where` into the error of the engine that says what to do."""
    try:
        yield
    except OSError as error:
        raise _translation(error, where) from error


def _translation(error: OSError, where: str) -> Exception:
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR):
        return NotFoundError("There is no such blob.", where=where)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(
            f"The disk is full ({reason}).",
            where=where,
            advice="The old blob is unchanged; make room and run it again.",
        )
    if _is_held(error):
        return StorageError(
            f"Another program holds the file open ({reason}).",
            where=where,
            advice="Close it there and run it again.",
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AccessError(f"No permission ({reason}).", where=where, advice="Check the rights on the file and folder.")
    return StorageError(f"The storage failed ({reason}).", where=where)


def _is_held(error: OSError) -> bool:
    return getattr(error, "winerror", None) in _SHARING_VIOLATIONS or (
        sys.platform == "win32" and isinstance(error, PermissionError) and os.path.exists(str(error.filename2 or ""))
    )
