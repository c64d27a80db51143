"""Output files: there whole, or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mdstudio.engine.errors import AccessError, MdError, NotFoundError, StorageError, UsageError

_PROBE_BYTES = 8 << 20  # more than what a library's failed write may have left free


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; it becomes `path` when the block ends well, and is removed otherwise.

    Raises `NotFoundError` and `UsageError` where no file can be, and for a write that failed `StorageError` (disk full)
    or `AccessError` naming `path`, also where a library told less or something else.
    """
    if not path.parent.is_dir():
        raise NotFoundError("The folder of the output file is not there.", where=str(path.parent))
    if path.is_dir():
        raise UsageError("The output file is a folder.", where=str(path))
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    except (OSError, RuntimeError) as error:
        known = _refusal(part, path, error)
        if known is None:
            raise
        raise known from error
    finally:
        with suppress(OSError):
            part.unlink()


def _refusal(part: Path, path: Path, error: OSError | RuntimeError) -> MdError | None:
    """What the system says to writing on where a library failed; the error's own reason where it takes that.

    HDF5 says "HDF error" for a disk that is full, netCDF4 "Permission denied" for every file that it cannot make.
    """
    found: OSError | None = error if isinstance(error, OSError) and error.errno not in (None, errno.EACCES) else None
    try:
        with part.open("ab", buffering=0) as file:
            for _ in range(2):  # a short write tells nothing, the next one does
                file.write(bytes(_PROBE_BYTES))
    except OSError as told:
        found = told
    if found is None:
        return None
    reason = found.strerror or str(found)
    if found.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        why = "No file may be larger here" if found.errno == errno.EFBIG else "The disk is full"
        return StorageError(f"{why} ({reason}).", where=str(path),
                            advice="Nothing was written; make room or choose another folder, and run it again.")
    if found.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return AccessError(f"No permission ({reason}).", where=str(path),
                           advice="Check the rights on the folder, or choose another one.")
    return StorageError(f"The file could not be written ({reason}).", where=str(path))


def format_of(path: str, known: tuple[str, ...]) -> str:
    """The format that a file name asks for, by its ending; raises `UsageError` naming the known ones."""
    ending = Path(path).suffix.lower()
    if ending not in known:
        raise UsageError(f"'{path}' has no ending that says a known format.",
                         advice=f"Known are {', '.join(known)}.")
    return ending
