"""Which files of a local folder are blobs (P22), and in which order."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

from mdstudio.engine.storage.files import version
from mdstudio.engine.storage.names import MAX_NAME, is_side_file, segment_of
from mdstudio.engine.storage.protocol import BlobProperties


def status_of(path: str, *, folder: bool = False) -> os.stat_result | None:
    """The status of a file (or folder); None if there is none."""
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link to itself: nothing is there
            return None
        raise
    return status if folder == stat.S_ISDIR(status.st_mode) else None


def properties_of(name: str, status: os.stat_result) -> BlobProperties:
    """The properties of the blob `name` whose file has this status."""
    return BlobProperties(name, status.st_size, version(status), status.st_mtime)


def one_level(path: str, base: str) -> tuple[list[str], list[BlobProperties]]:
    """The folders and the blobs directly in the folder `path`, whose blob names start with `base`.

    A link to a folder that it lies in is none: whoever goes down the folders would never come to an end.
    """
    entries = _entries(path)
    folders = [segment for segment, file, is_folder in entries
               if is_folder and len(base + segment) < MAX_NAME and not _leads_up(file, path)]
    files = [(segment, status_of(file)) for segment, file, is_folder in entries if not is_folder]
    return folders, [properties_of(base + segment, status) for segment, status in files if status is not None]


def walk(path: str, base: str, prefix: str, above: tuple[tuple[int, int], ...] = ()) -> Iterator[BlobProperties]:
    """The blobs at any depth below the folder `path` whose names start with `prefix`, by name."""
    for segment, file, is_folder in _entries(path):
        name = base + segment
        if is_folder:
            inside = name + "/"
            status = status_of(file, folder=True)
            if status is None or not (inside.startswith(prefix) or prefix.startswith(inside)):
                continue
            identity = status.st_dev, status.st_ino
            if identity not in above:  # not a link to a folder that it lies in
                yield from walk(file, inside, prefix, (*above, identity))
        elif name.startswith(prefix) and (status := status_of(file)) is not None:
            yield properties_of(name, status)


def _leads_up(file: str, folder: str) -> bool:
    """Whether a folder in `folder` is a link to that one, or to one above it on the way that led here."""
    if not os.path.islink(file):
        return False
    above = [folder]
    while (parent := os.path.dirname(above[-1])) != above[-1]:
        above.append(parent)
    return any(os.path.samefile(file, one) for one in above)


def _is_no_text(name: str) -> bool:
    """Whether a file's name is no text, which is no blob's: of bytes that are no UTF-8."""
    return not name.isprintable() and any("\ud800" <= character <= "\udfff" for character in name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _entries(folder: str) -> list[tuple[str, str, bool]]:
    """(segment, path, is a folder) of what can be a blob or hold one, in the order of full blob names; empty for no
    folder."""
    found: dict[str, tuple[str, str, bool]] = {}
    try:
        with os.scandir(folder) as scan:
            for entry in scan:
                if is_side_file(entry.name) or _is_no_text(entry.name):
                    continue
                segment = segment_of(entry.name)
                if segment != entry.name or segment not in found:  # a plain name yields to an encoded one
                    found[segment] = (segment, entry.path, _is_folder(entry))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(found.values(), key=lambda entry: entry[0] + "/" * entry[2])
