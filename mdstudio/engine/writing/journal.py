"""The journal of a write: which units are finished, so that the same write, killed and run again, goes on (C6, W2).

A file of JSON lines outside of the dataset: the first line is the fingerprint of what is written, each further one a
finished unit of an item with the versions of its blobs. What is there counts only where every blob still has that
version. A line that a kill cut short is no line.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mdstudio.engine.progress import Progress

VERSION = 1


class Journal:
    """Used by one write at a time, which holds the claim of its dataset, from one thread."""

    def __init__(self, path: Path, fingerprint: Mapping[str, str], check: Callable[[], None]) -> None:
        """`fingerprint`: name of a part of the job -> its digest; `check`: raises where the source is not what it was
        when the fingerprint was taken."""
        self.path, self._fingerprint, self.check = path, dict(fingerprint), check
        self._finished: dict[str, dict[str, str]] = {}
        self._kept = False

    def start(self, progress: Progress) -> dict[str, str]:
        """Take up what a killed write left, or begin anew. A journal of something else does not count, which is noted:
        then the versions of the blobs it lists are returned, which nobody needs. A folder that cannot be written to
        is noted too; the write then goes without a journal."""
        left, lines = _parsed(self.path)
        head = json.dumps({"journal": VERSION, "fingerprint": self._fingerprint}, sort_keys=True)
        stale: dict[str, str] = {}
        if left is not None and left == self._fingerprint:
            self._finished = lines
        elif left is not None:
            changed = sorted(k for k in left.keys() | self._fingerprint if left.get(k) != self._fingerprint.get(k))
            progress.note(f"A run that was ended here earlier is not resumed, for this one differs: "
                          f"{', '.join(changed)}. It starts over.")
            stale = {blob: version for blobs in lines.values() for blob, version in blobs.items()}
        kept = [head, *(_line(key, blobs) for key, blobs in self._finished.items())]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self.path.with_suffix(".new")
            fresh.write_bytes("".join(line + "\n" for line in kept).encode())
            os.replace(fresh, self.path)
            self._kept = True
        except OSError as error:
            progress.note(f"No journal can be kept in {self.path.parent} ({error.strerror}): a killed run starts over.")
        return stale

    def finished(self, key: str) -> Mapping[str, str] | None:
        """Blob -> version of a unit that is finished; None for one that is not."""
        return self._finished.get(key)

    def record(self, key: str, blobs: Mapping[str, str]) -> None:
        """A unit is finished: one write, so that a kill leaves it whole or as no line. A disk without room ends the
        journal, not the write."""
        if self._kept:
            try:
                with self.path.open("ab", buffering=0) as file:
                    file.write((_line(key, blobs) + "\n").encode())
            except OSError:
                self._kept = False

    def forget(self) -> None:
        """The write has ended, well or taken back: nothing is to be resumed, and nothing is left over."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


def _line(key: str, blobs: Mapping[str, str]) -> str:
    return json.dumps({"unit": key, "blobs": dict(blobs)})


def _parsed(path: Path) -> tuple[dict[str, str] | None, dict[str, dict[str, str]]]:
    """The fingerprint and the finished units of a journal; None without one that this build can read."""
    try:
        lines = path.read_bytes().split(b"\n")[:-1]  # what follows the last line end was cut short
    except OSError:
        return None, {}
    documents: list[Any] = []
    for line in lines:
        try:
            documents.append(json.loads(line))
        except ValueError:
            break
    if not documents or not isinstance(documents[0], dict) or documents[0].get("journal") != VERSION:
        return None, {}
    try:
        return dict(documents[0]["fingerprint"]), {d["unit"]: dict(d["blobs"]) for d in documents[1:]}
    except (KeyError, TypeError, ValueError):
        return None, {}
