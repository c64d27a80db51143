"""Clean: find, and remove when asked, what killed jobs left and nothing refers to (W1, P25, P26)."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from mdstudio.engine.errors import BlobChangedError, Cancelled, MdError, NotFoundError
from mdstudio.engine.health import leftovers
from mdstudio.engine.layout.guards import require_writable
from mdstudio.engine.layout.item_layout import ItemLayout, layouts_of
from mdstudio.engine.layout.metadata import METADATA_BLOB, Metadata, load_metadata
from mdstudio.engine.layout.names import DATA_NAME
from mdstudio.engine.model import NO_LAYER
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import MUST_NOT_EXIST, BlobProperties, BlobStorage, innermost
from mdstudio.engine.storage import files as fs

What = Literal["no dataset", "unreferenced", "domain", "unfinished", "uncommitted"]

_ITEM = re.compile(r"\d{3,}-[a-z0-9_-]{0,40}$")
_LAYER = re.compile(r"L(-1|\d{4,})$")
_DOMAIN = re.compile(r"domain-[0-9a-f]{16}\.bin$")
_STAGED_FILE = re.compile(r"[0-9a-f]+\.(block|write)$")


@dataclass(frozen=True)
class LeftOver:
    """One blob, file or folder of staged blocks that nothing refers to.

    Attributes:
        place: the dataset's folder, or one that looks like it, below the location that was cleaned; "" for itself.
        name: below the place.
        what: "no dataset": a blob where no dataset.json is (a killed import, a relocation that was refused);
            "unreferenced": a data blob that the metadata does not reach; "domain": coordinates that another blob has
            replaced; "unfinished": a local file of a write; "uncommitted": blocks in Azure that no commit took.
    """

    place: str
    name: str
    what: What
    bytes: int


@dataclass(frozen=True)
class Cleaning:
    """What was found, and whether it was removed; `skipped`: {place: why it was left alone}."""

    left_overs: tuple[LeftOver, ...]
    skipped: Mapping[str, str]
    applied: bool
    seconds: float

    @property
    def bytes(self) -> int:
        return sum(found.bytes for found in self.left_overs)


def clean(storage: BlobStorage, apply: bool = False, progress: Progress | None = None) -> Cleaning:
    """Find what nothing refers to in every dataset, and in what looks like one, below a storage's root; `apply` removes
    it. `progress` counts these places.

    Only names that this engine writes are ever looked at. Each place is held by its claim meanwhile, and left alone
    where another job holds that, where `dataset.json` is not readable, and where this build must not write (V4-V7):
    what such metadata reaches is not known. Local files of writes count from an hour on. A blob is removed only as it
    was listed. A kill or cancel leaves the rest for the next time. No dataset's content changes.

    Cost: listings, and the metadata of each dataset.
    """
    started = time.monotonic()
    progress = progress or Progress()
    staged = _uncommitted(storage, progress)
    found: list[LeftOver] = []
    skipped: dict[str, str] = {}
    places = sorted({*_places(storage, progress), *staged})
    progress.start(len(places), "datasets")
    for place in places:
        inside = storage.child(place) if place else storage
        try:
            with _claim(inside, apply):
                for left, remove in _of_place(inside, place, staged.get(place, ())):
                    progress.check()
                    if apply and not remove():
                        continue
                    found.append(left)
        except Cancelled:
            raise
        except MdError as error:  # one place that cannot be cleaned keeps no other from it
            skipped[place] = f"{error.message} {error.advice}".strip()
        if apply and place:
            _remove_empty_folder(inside)
        progress.advance()
    return Cleaning(tuple(found), skipped, apply, time.monotonic() - started)


# ------------------------------------------------------------------------------------------------------------- places

def _places(storage: BlobStorage, progress: Progress) -> Iterator[str]:
    """The folders that are datasets, or hold blobs named as theirs; "" for the root itself."""
    folders = [""]
    while folders:
        progress.check()
        folder = folders.pop()
        below, blobs = storage.list_folders(folder)
        prefix = f"{folder}/" if folder else ""
        items = {name for name in below if _ITEM.match(name) and _is_item(storage, prefix + name)}
        names = {blob.name.rpartition("/")[2] for blob in blobs}
        if items or METADATA_BLOB in names or any(map(_DOMAIN.match, names)):
            yield folder
        folders += [prefix + name for name in below if name not in items]


def _is_item(storage: BlobStorage, folder: str) -> bool:
    """Whether a folder holds the layers of an item; a dataset of such a name (2020-waves) does not."""
    below, blobs = storage.list_folders(folder)
    return any(map(_LAYER.match, below)) and f"{folder}/{METADATA_BLOB}" not in {blob.name for blob in blobs}


@contextlib.contextmanager
def _claim(storage: BlobStorage, apply: bool) -> Iterator[None]:
    """Hold the place; to look at one that may only be read does not need it."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(storage.claimed())
        except MdError as error:
            if apply or isinstance(error, BlobChangedError):
                raise
        yield


def _remove_empty_folder(storage: BlobStorage) -> None:
    folder = leftovers.local_folder(storage)
    if folder is not None:
        with contextlib.suppress(OSError):  # not empty
            os.rmdir(folder.location)


# ---------------------------------------------------------------------------------------------------------- left-overs

def _of_place(storage: BlobStorage, place: str, staged: Iterable[BlobProperties]
              ) -> Iterator[tuple[LeftOver, Callable[[], bool]]]:
    """The left-overs of a place, each with what removes it and says whether it did."""
    metadata = load_metadata(storage)[0] if storage.exists(METADATA_BLOB) else None
    if metadata is not None:
        require_writable(metadata)
    reached = _Reached(metadata)
    for blob in _blobs(storage, reached):
        what = reached.left_over(blob.name)
        if what:
            yield LeftOver(place, blob.name, what, blob.length), partial(_remove_blob, storage, blob)
    for file in leftovers.left_overs(storage):
        if reached.knows(file.blob):
            size = 0 if file.name.endswith(leftovers.LOCK) else file.bytes
            yield LeftOver(place, file.name, "unfinished", size), partial(_remove_file, file)
    for blob in staged:
        if reached.knows(blob.name):
            yield LeftOver(place, blob.name, "uncommitted", blob.length), partial(_remove_staged, storage, blob.name)


def unreferenced_blobs(storage: BlobStorage, metadata: Metadata) -> list[BlobProperties]:
    """The blobs of a dataset's place, of items and domains, that its metadata does not reach."""
    reached = _Reached(metadata)
    return [blob for blob in _blobs(storage, reached) if reached.left_over(blob.name)]


class _Reached:
    """Which names of a place are the engine's own, and which of them the metadata reaches (None: none)."""

    def __init__(self, metadata: Metadata | None) -> None:
        self._is_dataset = metadata is not None
        self._domain = metadata.domain_blob if metadata else ""
        self._layouts = {layout.folder: layout for layout in layouts_of(metadata)} if metadata else {}
        self._metadata = metadata
        self.folders = tuple(self._layouts)

    @cached_property
    def _keys(self) -> set[str]:
        """The keys of all times; made where an item is stored timestep by timestep."""
        metadata = self._metadata
        return {metadata.times.key(t) for t in range(len(metadata.times))} if metadata else set()

    def knows(self, name: str) -> bool:
        """Whether it is the name of a blob that this engine writes."""
        match = DATA_NAME.match(name)
        if match is None:
            return name == METADATA_BLOB or bool(_DOMAIN.match(name))
        return match["folder"] in self._layouts or bool(_ITEM.match(match["folder"]))

    def left_over(self, name: str) -> What | Literal[""]:
        """What a blob is that nothing refers to; "" for others, those of other names among them."""
        if not self.knows(name) or name in (METADATA_BLOB, self._domain):
            return ""
        if not self._is_dataset:
            return "no dataset"
        match = DATA_NAME.match(name)
        if match is None:
            return "domain"
        layout = self._layouts.get(match["folder"])
        return "" if layout is not None and self._holds(layout, match) else "unreferenced"

    def _holds(self, layout: ItemLayout, match: re.Match[str]) -> bool:
        """Whether a blob of the item's folder is one of the listed times; an .idx goes with its .dat."""
        if int(match["layer"]) not in (layout.item.layer_ids() if int(match["layer"]) >= 0 else (NO_LAYER,)):
            return False
        if layout.stored_as == "SingleTimestep":
            return match["key"] in self._keys
        if match["group"] is None or int(match["group"]) >= layout.groups:
            return False
        if layout.stored_as == "MultiTimestep":
            return match["spatial"] is None
        return match["spatial"] is not None and int(match["spatial"]) < layout.tiles.pages


def _blobs(storage: BlobStorage, reached: _Reached) -> Iterator[BlobProperties]:
    """The blobs of the items and domains of a place, not of others below it. Listed whole before any is removed."""
    folders, blobs = storage.list_folders()
    items = [name for name in folders if name in reached.folders or (_ITEM.match(name) and _is_item(storage, name))]
    yield from blobs
    for item in items:
        yield from list(storage.list_blobs(item + "/"))


def _uncommitted(storage: BlobStorage, progress: Progress) -> dict[str, list[BlobProperties]]:
    """{place: names below it that hold blocks and no blob}; of storages that have such."""
    found: dict[str, list[BlobProperties]] = defaultdict(list)
    for blob in getattr(innermost(storage), "list_uncommitted", lambda: ())():
        progress.check()
        match = re.search(rf"(^|/){DATA_NAME.pattern}", blob.name)
        if match:
            place, name = blob.name[:match.start()], blob.name[match.start():].lstrip("/")
            found[place].append(BlobProperties(name, blob.length, blob.version))
    return found


# -------------------------------------------------------------------------------------------------------------- removal

def _remove_blob(storage: BlobStorage, blob: BlobProperties) -> bool:
    try:
        storage.delete(blob.name, if_match=blob.version)
    except (NotFoundError, BlobChangedError):  # somebody has it now
        return False
    return True


def _remove_file(file: leftovers.LeftOver) -> bool:
    """Under the lock of its blob; not where a write has begun since it was found."""
    if file.name.endswith(leftovers.LOCK):
        return _remove_lock(file.path)
    with contextlib.suppress(OSError), fs.locked(os.path.join(os.path.dirname(file.path),
                                                              file.blob.rpartition("/")[2] + leftovers.LOCK)):
        if time.time() - os.stat(file.path).st_mtime < leftovers.OLD:
            return False
        if file.is_folder:
            for name in os.listdir(file.path):
                if _STAGED_FILE.match(name):
                    fs.remove(os.path.join(file.path, name))
            os.rmdir(file.path)
        else:
            fs.remove(file.path)
    _prune(os.path.dirname(file.path), file.name.count("/"))
    return not os.path.exists(file.path)


def _remove_lock(path: str) -> bool:
    with contextlib.suppress(OSError):
        held = fs.try_lock(path)
        if held is not None:
            fs.unlock(held, path)
            return True
    return False


def _prune(folder: str, levels: int) -> None:
    """Remove the folders that this left empty, up to the place."""
    with contextlib.suppress(OSError):
        for _ in range(levels):
            os.rmdir(folder)
            folder = os.path.dirname(folder)


def _remove_staged(storage: BlobStorage, name: str) -> bool:
    """Blocks go with a commit (P25): make an empty blob of them and delete it."""
    try:
        version = storage.commit_blocks(name, [], if_none_match=MUST_NOT_EXIST)
        storage.delete(name, if_match=version)
    except BlobChangedError:  # somebody has committed a blob
        return False
    return True
