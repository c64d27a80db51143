"""One open dataset, shared by the views of its tab: the engine's handle, what is selected, and who wants which view.

Main thread only. Views read through `session.submit`, which gives each its own channel of the reader.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from mdstudio.app.reading import OnDone, OnError, OnProgress, Reader
from mdstudio.engine.errors import MdError
from mdstudio.engine.progress import Progress

if TYPE_CHECKING:
    from mdstudio.engine.dataset import Dataset

CACHE_BYTES = 128 * 1024 * 1024  # of each open dataset
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Selection:
    """What every view of the tab looks at: an item by name, a time by index, a layer (None: the item has none), of a
    vector one component by index or -1 for the magnitude."""

    item: str = ""
    time: int = 0
    layer: int | None = None
    component: int = -1


@dataclass(frozen=True)
class _Opened:
    dataset: Dataset
    requests: int
    bytes_read: int


class DatasetSession(QObject):
    """An open dataset.

    Signals:
        opened: `dataset` is there; also after a reload.
        failed: an `MdError`; `dataset` stays what it was.
        selection_changed: `selection` is another one.
        view_requested: key of the view that should come to the front ("map", "storage", ...).
    """

    opened = Signal()
    failed = Signal(object)
    selection_changed = Signal()
    view_requested = Signal(str)

    def __init__(self, location: str, reader: Reader, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.location = location
        self.reader = reader
        self.dataset: Dataset | None = None
        self.error: MdError | None = None
        self.selection = Selection()
        self._key = f"session-{next(_numbers)}/"

    @property
    def title(self) -> str:
        """The dataset's name, or what the location ends with while it is not open."""
        name = self.dataset.metadata.name if self.dataset else ""
        return name or short_name(self.location)

    def open(self) -> None:
        """Read the metadata, now or again; `opened` or `failed` follows."""
        location = self.location
        self.submit("open", lambda progress: _open(location), self._opened, self._failed)

    def submit(self, channel: str, job: Callable[[Progress], Any], on_done: OnDone, on_error: OnError | None = None,
               on_progress: OnProgress | None = None) -> None:
        """`Reader.submit` on a channel of this session."""
        self.reader.submit(self._key + channel, job, on_done, on_error, on_progress)

    def cancel(self, channel: str) -> None:
        """Stop what runs on one channel of this session; nothing if the channel rests."""
        self.reader.cancel(self._key + channel)

    def cancel_all(self) -> bool:
        """Stop all that is read for this session; whether something was."""
        return self.reader.cancel_all(self._key)

    def select(self, *, item: str | None = None, time: int | None = None, layer: int | None = None,
               component: int | None = None) -> None:
        """Change what the views look at; what is not named stays. An item without layers takes the layer None, another
        item the magnitude."""
        chosen = self.selection
        if item is not None and item != chosen.item:
            chosen = replace(chosen, item=item, layer=self._first_layer(item), component=-1)
        if time is not None:
            chosen = replace(chosen, time=time)
        if layer is not None:
            chosen = replace(chosen, layer=layer)
        if component is not None:
            chosen = replace(chosen, component=component)
        if chosen != self.selection:
            self.selection = chosen
            self.selection_changed.emit()

    def close(self) -> None:
        """Silence and stop what still reads for this session."""
        self.cancel_all()

    def _first_layer(self, item: str) -> int | None:
        if self.dataset is None:
            return None
        return 0 if self.dataset.item(item).layers else None

    def _opened(self, result: _Opened) -> None:
        self.dataset = result.dataset
        self.error = None
        metadata = result.dataset.metadata
        names = [item.name for item in metadata.items]
        if names and self.selection.item not in names:
            self.selection = Selection(names[0], 0, self._first_layer(names[0]))
        elif self.selection.time >= len(metadata.times):
            self.selection = replace(self.selection, time=0)
        self.opened.emit()

    def _failed(self, error: MdError) -> None:
        self.error = error
        self.failed.emit(error)


def short_name(location: str) -> str:
    """What a tab is called: the last part of a path or address, without a query (which may be a secret)."""
    bare = location.split("?", 1)[0].rstrip("/\\")
    return bare.replace("\\", "/").rsplit("/", 1)[-1] or bare


def _open(location: str) -> _Opened:
    """Worker thread: the dataset behind a cache and a counter; reads `dataset.json` only."""
    from mdstudio.engine.dataset import Dataset
    from mdstudio.engine.storage import CachingStorage, CountingStorage, open_storage

    counting = CountingStorage(open_storage(location))
    dataset = Dataset.open(CachingStorage(counting, CACHE_BYTES))
    return _Opened(dataset, counting.requests, counting.bytes_read)
