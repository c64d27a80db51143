"""mikecore: loaded when it is needed, its failures turned into errors that name the file."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mdstudio.engine.errors import AccessError, MdError, NotFoundError, SourceError, UnsupportedError

BINARY = (".dfs0", ".dfs1", ".dfs2", ".dfs3", ".dfsu")
MESH = ".mesh"
_MAGIC = b"DHI_DFS_"
_ONE_AT_A_TIME = threading.RLock()  # the library keeps state between calls


def is_dfs(path: str) -> bool:
    """Whether a file is one of DHI's, by its name, or by its first bytes where it is called otherwise."""
    if path.lower().endswith((*BINARY, MESH)):
        return True
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        return False
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def require_library(path: str) -> None:
    """`UnsupportedError` where mikecore has no library: macOS, and processors other than x86-64."""
    import platform

    machine = platform.machine().lower()
    if sys.platform == "darwin" or machine not in ("x86_64", "amd64"):
        where = "macOS" if sys.platform == "darwin" else f"the processor {machine}"
        raise UnsupportedError(f"DHI files are read by DHI's own library, which does not exist for {where}.",
                               where=path, advice="Convert the file on Linux or Windows (x86-64).")


def require_file(path: str) -> None:
    """Raises `NotFoundError`, `AccessError` or `SourceError` where there is no file that can be read."""
    if not os.path.exists(path):
        raise NotFoundError("There is no such file.", where=path)
    if os.path.isdir(path):
        raise SourceError("This is a folder, not a DHI file.", where=path)
    if not os.access(path, os.R_OK):
        raise AccessError("The file cannot be read: permission denied.", where=path)
    if not os.path.getsize(path):
        raise SourceError("The file is empty.", where=path)


@contextmanager
def reading(path: str, what: str) -> Iterator[None]:
    """Around calls of mikecore: one at a time in the process; what it raises becomes a `SourceError` naming the file.

    mikecore raises plain `Exception` of its own for most of what goes wrong.
    """
    with _ONE_AT_A_TIME:
        try:
            yield
        except MdError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise SourceError(f"{what} cannot be read: {reason}.", where=path,
                              advice="The file is damaged or no DHI file; open it in MIKE Zero to see what it has."
                              ) from None


def open_file(path: str) -> Any:
    """An open `mikecore.DfsFile.DfsFile`; its header is read.

    Raises `SourceError` for what the library cannot open, also where it would end this process; `UnsupportedError`
    for a path that it cannot be given.
    """
    from mdstudio.sources.dfs.guard import require_openable
    from mdstudio.sources.dfs.probe import opened

    if sys.platform == "win32":
        try:
            path.encode("cp1252")
        except UnicodeEncodeError:
            raise UnsupportedError("DHI's library opens only files whose path is of Western European letters.",
                                   where=path, advice="Rename the file or its folder, or copy it elsewhere.") from None
    with reading(path, "The header"):
        require_openable(path)
        return opened(path)
