"""Blob names and the files that hold them: one reversible encoding that every platform can store.

A segment of a blob name is its file name unless Windows could not hold it or it would look like one of the storage's
own files; then the characters concerned stand as %XX (their code in upper-case hexadecimal). Files that somebody copied
in under a plain name that would be encoded are found under it too (not on Windows, which cannot hold one).
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass

from mdstudio.engine.errors import UsageError

MAX_NAME = 1024  # characters, as Azure allows
CLAIM_BLOB = "dataset.lock"  # what a job holds in Azure while it writes; no blob
SIDE_SUFFIXES = (".blocks", ".commit", ".write", ".staged", ".lock")

_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\%]')
_ESCAPE = re.compile("%([0-9A-F]{2})")
_DEVICES = frozenset(
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"] + [port + n for port in ("COM", "LPT") for n in "0123456789¹²³"]
)


@dataclass(frozen=True, slots=True)
class BlobFiles:
    """The paths of one blob: itself and what its writes put next to it (P19, P22); only `blob` is a blob."""

    blob: str

    @property
    def folder(self) -> str:
        return os.path.dirname(self.blob)

    @property
    def write(self) -> str:
        """A whole blob before it is moved into place."""
        return self.blob + ".write"

    @property
    def commit(self) -> str:
        """A blob made of blocks before it is moved into place."""
        return self.blob + ".commit"

    @property
    def sidecar(self) -> str:
        """The block list."""
        return self.blob + ".blocks"

    @property
    def pending(self) -> str:
        """The block list before it is moved into place."""
        return self.blob + ".blocks.commit"

    @property
    def staged(self) -> str:
        """The folder of staged blocks."""
        return self.blob + ".staged"

    @property
    def lock(self) -> str:
        return self.blob + ".lock"


def check_name(name: str) -> str:
    """The blob name itself, or `UsageError` for one that no storage takes: empty, too long, with "." or ".." or empty
    segments (no name leads out of the root), with a zero character or a lone surrogate, or that of the lock."""
    if not name or len(name) > MAX_NAME:
        raise UsageError(f"A blob name has 1 to {MAX_NAME} characters, this one has {len(name)}.", where=name[:80])
    for segment in name.split("/"):
        if segment in ("", ".", ".."):
            raise UsageError('A blob name has no empty, "." or ".." part.', where=name)
    if name.rpartition("/")[2] == CLAIM_BLOB:
        raise UsageError(f"{CLAIM_BLOB} is what jobs hold while they write; no blob has this name.", where=name)
    if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in name):
        raise UsageError("A blob name has no zero character and no lone surrogate.", where=repr(name))
    return name


def check_prefix(prefix: str) -> str:
    """The listing prefix itself, or `UsageError`: its folders are checked as `check_name` does, its end is free."""
    folder, slash, _ = prefix.rpartition("/")
    if slash:
        check_name(folder)
    return prefix


def is_side_file(file_name: str) -> bool:
    """Whether a file or folder of this name belongs to the storage itself and is no blob (P22)."""
    return file_name.lower().endswith(SIDE_SUFFIXES)


def file_name(segment: str) -> str:
    """The file name of one segment of a blob name."""
    text = _UNSAFE.sub(lambda match: _escaped(match.group()), segment)
    if text[-1] in ". ":
        text = text[:-1] + _escaped(text[-1])
    if text.split(".")[0].rstrip(" ").upper() in _DEVICES:
        text = _escaped(text[0]) + text[1:]
    if is_side_file(text):
        stem, _, suffix = text.rpartition(".")
        text = stem + _escaped(".") + suffix
    return text


def segment_of(file: str) -> str:
    """The segment that a file or folder holds; one not named by `file_name` stands for its plain name."""
    segment = _ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), file)
    return segment if segment and file_name(segment) == file else file


def path_of(root: str, name: str) -> str:
    """The path of a (checked) blob or folder name below `root`; looks at the disk only where a segment is encoded."""
    path = root
    for segment in name.split("/"):
        encoded = os.path.join(path, file_name(segment))
        plain = os.path.join(path, segment)
        if encoded == plain or sys.platform == "win32" or is_side_file(segment) or os.path.lexists(encoded):
            path = encoded
        else:
            path = plain if os.path.lexists(plain) else encoded
    return path


def _escaped(character: str) -> str:
    return f"%{ord(character):02X}"
