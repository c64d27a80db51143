"""The queue of jobs on the disk: it outlives a crash of the window and an upgrade, and the command line reads it (G7).

`queue.json` in the user's data folder holds the jobs that have not ended well, `logs` beside it what each has said. A
job belongs to the window or command that runs it, which holds a lock of the system's as long as it lives: a job whose
owner is gone is interrupted, and whoever takes it over first may resume it. No secret is in any of it: a recipe is
stored as its JSON, without the query of an address.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from mdstudio.engine.errors import MdError, NotFoundError, StorageError, UnsupportedVersionError
from mdstudio.engine.storage import files, redact
from mdstudio.jobs.recipe import Recipe

VERSION = 1
StoredState = Literal["waiting", "running", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job of the queue; `state` as it is now, "interrupted" where its owner has gone before it ended."""

    id: str
    recipe: Recipe
    what: str
    state: StoredState
    owner: str
    message: str = ""

    def to_json(self) -> dict[str, Any]:
        return {**{k: v for k, v in asdict(self).items() if k != "recipe"}, "recipe": self.recipe.to_json()}


class QueueStore:
    """The store, as one owner of jobs sees it. Any thread; each method reads or writes a small file.

    Raises `UnsupportedVersionError` for a queue that a newer build wrote, which is left as it is, and `StorageError`
    or `AccessError` of the disk. A file that is no queue is put aside as `queue.json.damaged`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: None for the user's own."""
        if folder is None:
            from mdstudio.jobs.sample import user_data_folder

            folder = user_data_folder() / "jobs"
        self.path = folder / "queue.json"
        self.owner = uuid.uuid4().hex
        with files.translated(str(self.path)):
            files.make_folder(str(folder / "logs"))
            self._held = files.try_lock(self._lock(self.owner))

    def close(self) -> None:
        """Give up what this owner holds: jobs of its that have not ended are interrupted from now on."""
        if self._held is not None:
            files.unlock(self._held, self._lock(self.owner))
            self._held = None

    def jobs(self) -> list[StoredJob]:
        """All jobs, oldest first."""
        with self._locked():
            return self._read()

    def add(self, recipe: Recipe, what: str) -> StoredJob:
        """Keep a job of this owner that waits."""
        job = StoredJob(uuid.uuid4().hex[:8], recipe, what, "waiting", self.owner)
        with self._locked():
            self._write([*self._read(), job])
        return job

    def mark(self, job_id: str, state: StoredState, message: str = "") -> None:
        """Say how far a job is; one that is not there any more stays away."""
        with self._locked():
            self._write([replace(j, state=state, message=message) if j.id == job_id else j for j in self._read()])

    def take(self, job_id: str) -> StoredJob:
        """Make an interrupted or failed job this owner's, to be run again; `UsageError` where somebody runs it."""
        from mdstudio.engine.errors import UsageError

        with self._locked():
            jobs = self._read()
            job = _named(jobs, job_id)
            if job.state in ("waiting", "running"):
                raise UsageError(f"The job {job_id} is {job.state} in another window.",
                                 advice="Wait for its end, or cancel it there.")
            taken = replace(job, state="waiting", owner=self.owner, message="")
            self._write([taken if j.id == job_id else j for j in jobs])
        return taken

    def remove(self, job_id: str) -> None:
        """Forget a job and its log; fine where it is not there."""
        with self._locked():
            jobs = self._read()
            self._write([j for j in jobs if j.id != job_id])
        with contextlib.suppress(OSError):
            self._log(job_id).unlink(missing_ok=True)

    def find(self, job_id: str) -> StoredJob:
        """`NotFoundError` naming the jobs that there are."""
        return _named(self.jobs(), job_id)

    def busy_elsewhere(self, location: str) -> bool:
        """Whether another owner that lives runs a job on a target."""
        wanted = target_key(location)
        return any(j.state == "running" and j.owner != self.owner and target_key(j.recipe.target) == wanted
                   for j in self.jobs())

    def log(self, job_id: str, line: str) -> None:
        """Add a line to the log of a job; a disk without room ends no job."""
        with contextlib.suppress(OSError), self._log(job_id).open("a", encoding="utf-8", errors="replace") as file:
            file.write(line + "\n")

    def log_lines(self, job_id: str) -> list[str]:
        with contextlib.suppress(OSError):
            return self._log(job_id).read_text("utf-8", errors="replace").splitlines()
        return []

    def _log(self, job_id: str) -> Path:
        return self.path.parent / "logs" / f"{job_id}.log"

    def _lock(self, owner: str) -> str:
        return str(self.path.parent / f"{owner}.owner")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with files.translated(str(self.path)), files.locked(f"{self.path}.lock"):
            yield

    def _read(self) -> list[StoredJob]:
        try:
            document = json.loads(self.path.read_bytes())
            version, entries = document["version"], document["jobs"]
            if isinstance(version, int) and version > VERSION:
                raise UnsupportedVersionError("A newer version of the program wrote this queue.",
                                              where=str(self.path), advice="Use that version.")
            jobs = [_parsed(entry) for entry in entries]
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError, StorageError):
            files.move(str(self.path), f"{self.path}.damaged")
            return []
        living = {owner: self._lives(owner) for owner in {j.owner for j in jobs}}
        return [replace(j, state="interrupted") if j.state in ("waiting", "running") and not living[j.owner] else j
                for j in jobs]

    def _lives(self, owner: str) -> bool:
        if owner == self.owner:
            return self._held is not None
        if not os.path.exists(self._lock(owner)):
            return False
        descriptor = files.try_lock(self._lock(owner))
        if descriptor is None:
            return True
        files.unlock(descriptor, self._lock(owner))  # left by a process that died
        return False

    def _write(self, jobs: list[StoredJob]) -> None:
        data = json.dumps({"version": VERSION, "jobs": [j.to_json() for j in jobs]}, indent=1).encode()
        files.write_file(f"{self.path}.new", [data])
        files.move(f"{self.path}.new", str(self.path))


def target_key(location: str) -> str:
    """The same text for every way to write a target."""
    return redact(location) if "://" in location else os.path.realpath(location)


def _named(jobs: list[StoredJob], job_id: str) -> StoredJob:
    for job in jobs:
        if job.id == job_id:
            return job
    known = ", ".join(j.id for j in jobs)
    raise NotFoundError(f"There is no job '{job_id}'.",
                        advice=f"There are {known}." if known else "The queue is empty.")


def _parsed(entry: dict[str, Any]) -> StoredJob:
    """`StorageError`, `KeyError` or `TypeError` for what is no job."""
    texts = [entry[key] for key in ("id", "what", "state", "owner", "message")]
    if not all(isinstance(text, str) for text in texts) or entry["state"] not in get_args(StoredState) \
            or not entry["id"].isalnum() or not entry["owner"].isalnum():
        raise StorageError("This is no job.")
    try:
        recipe = Recipe.from_json(entry["recipe"])
    except MdError as error:
        raise StorageError("This is no recipe.") from error
    return StoredJob(entry["id"], recipe, entry["what"], entry["state"], entry["owner"], entry["message"])
