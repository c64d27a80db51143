"""Whether files of a folder were touched."""

from __future__ import annotations

from pathlib import Path

from tests.engine.made_datasets import files


def states(folder: Path) -> dict[str, tuple[int, int, int, int]]:
    """{file: what changes with every write, also one that restores times}."""
    found = {name: (folder / name).stat() for name in files(folder)}
    return {name: (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for name, s in found.items()}
