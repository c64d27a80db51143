"""Where the journal of an import lies and what it is of: the recipe with its sources as they are now (C6, W2).

Journals lie in the user's data folder, named after the target, so that a dataset never holds anything but itself and
any later process of the same user finds them. Only local sources have an identity (path, size, time of change); an
import of anything else is not resumed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from mdstudio.engine.errors import SourceError

if TYPE_CHECKING:
    from mdstudio.engine.model import Description
    from mdstudio.engine.settings import Settings
    from mdstudio.engine.writing.journal import Journal
    from mdstudio.jobs.recipe import Recipe


def journal_path(location: str) -> Path:
    """The journal of a target, by its location as its storage tells it (without a secret)."""
    from mdstudio.jobs.sample import user_data_folder

    return user_data_folder() / "journals" / f"{_digest(location)[:32]}.jsonl"


def forget_journal(location: str) -> None:
    """Remove the journal of a target, if there is one: nothing is to be resumed there."""
    with contextlib.suppress(OSError):
        journal_path(location).unlink(missing_ok=True)


def source_identity(path: str) -> str | None:
    """Size and time of change of a file, or of all files of a folder; None for what is not local."""
    try:
        if not os.path.isdir(path):
            return _stat(path)
        files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
        return _digest("\n".join(f"{file} {_stat(file)}" for file in files))
    except OSError:
        return None


def journal_of(
    recipe: Recipe, location: str, description: Description, settings: Settings, identities: dict[str, str | None]
) -> Journal | None:
    """The journal of a recipe that makes the dataset at `location`; None where a source has no identity.

    `identities`: of the sources, taken before they were opened. The number of workers is no part of the fingerprint,
    for the bytes do not depend on it (D9).
    """
    import mdstudio
    from mdstudio.engine.writing.journal import Journal

    found = {path: identity for path, identity in identities.items() if identity is not None}
    if len(found) < len(identities):
        return None
    asked = recipe.to_json()
    asked.pop("workers", None)
    asked["sources"] = [os.path.abspath(s) for s in recipe.sources]
    fingerprint = {
        "the recipe": _digest(json.dumps(asked, sort_keys=True)),
        "the settings": _digest(repr(settings.storage)),
        "items and times": _digest(repr((description.items, description.times.microseconds.tolist()))),
        "the version of the program": mdstudio.__version__,
        **{f"the source {os.path.abspath(path)}": identity for path, identity in found.items()},
    }

    def check() -> None:
        for path, identity in found.items():
            if source_identity(path) != identity:
                raise SourceError("The source changed while it was read. Nothing was written.", where=path,
                                  advice="Run the import again when nothing writes to it any more.")

    return Journal(journal_path(location), fingerprint, check)


def _stat(path: str) -> str:
    found = os.stat(path)
    return f"{found.st_size} bytes, changed at {found.st_mtime_ns} ns"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
