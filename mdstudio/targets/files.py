"""Output files: there whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mdstudio.engine.errors import NotFoundError, UsageError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; it becomes `path` when the block ends well, and is removed otherwise."""
    if not path.parent.is_dir():
        raise NotFoundError("The folder of the output file is not there.", where=str(path.parent))
    if path.is_dir():
        raise UsageError("The output file is a folder.", where=str(path))
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def format_of(path: str, known: tuple[str, ...]) -> str:
    """The format that a file name asks for, by its ending; raises `UsageError` naming the known ones."""
    ending = Path(path).suffix.lower()
    if ending not in known:
        raise UsageError(f"'{path}' has no ending that says a known format.",
                         advice=f"Known are {', '.join(known)}.")
    return ending
