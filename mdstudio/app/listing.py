"""What lies at a place and one level below it: the jobs behind the tree. Worker threads only; reads no data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit, urlunsplit

from mdstudio.engine.errors import MdError, NotFoundError
from mdstudio.engine.progress import Progress
from mdstudio.sources.suffixes import SOURCE_SUFFIXES

if TYPE_CHECKING:
    from mdstudio.engine.storage.protocol import BlobStorage

EntryKind = Literal["folder", "dataset", "source"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the tree.

    Attributes:
        shape: "grid" or "mesh" of a dataset whose metadata was read, "" before.
        ratio: stored / raw of a dataset, None where unknown.
        problem: why its metadata could not be read; "" where it could.
        guards: codes and texts of the guards in force, one a line.
    """

    name: str
    location: str
    kind: EntryKind
    shape: str = ""
    ratio: float | None = None
    problem: str = ""
    guards: str = ""


def is_remote(location: str) -> bool:
    """Whether a location is an address rather than a path."""
    return "://" in location and not location.startswith("file:")


def join(location: str, name: str) -> str:
    """The location of `name` below a location; a query (SAS) stays at the end."""
    if is_remote(location):
        parts = urlsplit(location)
        return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{name}"))
    return os.path.join(location, *name.split("/"))


def parent(location: str) -> str:
    """What a location lies in; a query (SAS) stays at the end."""
    if is_remote(location):
        parts = urlsplit(location)
        return urlunsplit(parts._replace(path=parts.path.rstrip("/").rpartition("/")[0]))
    return os.path.dirname(location)


def probe(location: str) -> EntryKind:
    """What opening a location means. One or two requests; raises `NotFoundError` where nothing is."""
    if not is_remote(location):
        path = os.path.expanduser(location)
        if os.path.isfile(path):
            return "source"
        if not os.path.isdir(path):
            raise NotFoundError("There is nothing here.", where=location, advice="Check the path.")
    if _is_store(location):
        return "source"
    storage = _open(location)
    return "dataset" if storage.exists("dataset.json") else "folder"


def list_level(location: str, progress: Progress) -> list[Entry]:
    """Folders, datasets and source files directly below a place, by name.

    Cost: one listing, and one existence check a folder (remote: a request each).
    """
    storage = _open(location)
    folders, blobs = storage.list_folders("")
    entries: list[Entry] = []
    for name in sorted(folders, key=str.casefold):
        progress.check()
        below = join(location, name)
        kind: EntryKind = "dataset" if storage.exists(f"{name}/dataset.json") else "folder"
        entries.append(Entry(name, below, "source" if kind == "folder" and _is_store(below) else kind))
    if not is_remote(location):
        names = sorted((blob.name for blob in blobs), key=str.casefold)
        entries += [Entry(name, join(location, name), "source") for name in names
                    if name.lower().endswith(SOURCE_SUFFIXES)]
    order = {"folder": 1, "dataset": 0, "source": 2}
    return sorted(entries, key=lambda entry: order[entry.kind])


def _is_store(location: str) -> bool:
    """Whether this is the folder of a Zarr store. Cost: a listing of the folder."""
    from mdstudio.sources.registry import is_source

    path = os.path.expanduser(location)
    return not is_remote(location) and os.path.isdir(path) and is_source(path)


def describe(entries: list[Entry], progress: Progress) -> list[Entry]:
    """The dataset entries with shape, ratio and guards from their metadata: one blob a dataset."""
    described = []
    for entry in entries:
        progress.check()
        described.append(_described(entry) if entry.kind == "dataset" else entry)
    return described


def _described(entry: Entry) -> Entry:
    from mdstudio.engine.layout.guards import guards
    from mdstudio.engine.layout.metadata import load_metadata

    storage = _open(entry.location)
    try:
        metadata, _ = load_metadata(storage)
        found = guards(metadata)
    except MdError as error:
        return Entry(entry.name, entry.location, "dataset", problem=str(error))
    per_step = sum(metadata.raw_bytes(item) for item in metadata.items)
    raw = per_step * len(metadata.times)
    ratio = metadata.data_size_bytes / raw if raw and metadata.data_size_bytes is not None else None
    told = "\n".join(f"{guard.code} {guard.message}" for guard in found)
    return Entry(entry.name, entry.location, "dataset", metadata.kind, ratio, guards=told)


def _open(location: str) -> BlobStorage:
    from mdstudio.engine.storage import open_storage

    return open_storage(location)


