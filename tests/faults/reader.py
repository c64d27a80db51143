"""A process that reads datasets for as long as another writes to them: `python reader.py LOCATION...`.

What is written is `value_of`: the values of time 0 as they were first, seven more each hour, and a thousand more each
generation (any write of the test is one). So each value tells by itself whether it is one that was written for its
place and time. Reads with datasets that stay open and with fresh ones until the standard input ends; then prints a line
of JSON: how many reads there were, how many generations they found, and what they raised. Used by test_readers.py.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from typing import Any

import numpy as np

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import BlobChangedError, MdError
from mdstudio.engine.model import Array, Item
from mdstudio.engine.requests import MapRequest, SeriesRequest
from tests.engine.made_datasets import HOUR

HOURLY, GENERATION = 7, 1000


def value_of(first: Array, hour: int, generation: int) -> Array:
    """What a generation writes for an hour, of the values of the first write for time 0."""
    return first + np.asarray(HOURLY * hour + GENERATION * generation, first.dtype)


def generations(found: Array, first: Array, hours: Array) -> Array:
    """Which generations values are of; `AssertionError` for one that was never written there."""
    rest = found.astype(np.int64) - first - HOURLY * hours
    assert not (rest % GENERATION).any(), "a value of another place or time, or of none"
    assert (rest >= 0).all(), "a value that was never written"
    return np.unique(rest // GENERATION)


class Reader:
    """One dataset, opened at the start, and the values that it held then."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.dataset = Dataset.open(location)
        self.first: dict[tuple[str, int | None], tuple[Array, Array]] = {}
        self.points: dict[tuple[str, int | None], tuple[tuple[int, ...], tuple[float, float]]] = {}
        for item in self.dataset.metadata.items:
            for layer in layers(item):
                found = self.dataset.map(MapRequest(item.name, 0, layer))
                self.first[item.name, layer] = found.stored, found.mask
                at = tuple(np.argwhere(found.mask)[found.mask.sum() // 2].tolist())
                self.points[item.name, layer] = at, (float(found.x[at[-1]]), float(found.y[at[0]]))
        self.raised: Counter[str] = Counter()
        self.seen: set[int] = set()
        self.reads = 0

    def look(self, turn: int) -> None:
        """Read something of everything, with the dataset that is open or a fresh one."""
        try:
            if turn % 3 == 0:
                self.dataset = Dataset.open(self.location)
            for item in self.dataset.metadata.items:
                for layer in layers(item):
                    self._map(item, layer, turn)
                    self._series(item, layer)
        except BlobChangedError as error:  # replaced, or rewritten faster than it is read
            self.raised[type(error).__name__] += 1
            self.dataset = Dataset.open(self.location)
        except MdError as error:
            self.raised[f"{type(error).__name__}: {error} ({self.location})"] += 1

    def _map(self, item: Item, layer: int | None, turn: int) -> None:
        dataset = self.dataset
        time = turn % len(dataset.metadata.times)
        found = dataset.map(MapRequest(item.name, time, layer))
        first, mask = self.first[item.name, layer]
        hour = np.asarray(int(dataset.metadata.times.microseconds[time]) // HOUR)
        of = generations(found.stored[mask], first[mask], hour)
        whole = dataset.metadata.storage.storage_type != "TimeSeries" or item.value_kind == "zlevel"
        assert of.size == 1 or not whole, f"a timestep of the generations {of}"
        self.seen |= set(of.tolist())
        self.reads += 1

    def _series(self, item: Item, layer: int | None) -> None:
        at, point = self.points[item.name, layer]
        first, _ = self.first[item.name, layer]
        found = self.dataset.series(SeriesRequest(item.name, (point,), layer))
        hours = found.times.microseconds // HOUR
        self.seen |= set(generations(found.stored[:, 0], first[at], hours).tolist())
        self.reads += 1


def layers(item: Item) -> list[int | None]:
    return list(range(len(item.layers))) if item.layers else [None]


def main() -> None:
    readers = [Reader(location) for location in sys.argv[1:]]
    print("ready", flush=True)
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    turn = 0
    while not ended.is_set():
        for reader in readers:
            reader.look(turn)
        turn += 1
    for reader in readers:  # however busy the machine was, all have found what was written last
        reader.look(0)
    told: dict[str, Any] = {
        "reads": sum(reader.reads for reader in readers),
        "generations": min(len(reader.seen) for reader in readers),
        "raised": dict(sum((reader.raised for reader in readers), Counter())),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
