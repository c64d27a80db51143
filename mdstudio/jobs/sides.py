"""What is compared: blocks of stored values, out of a dataset or out of source files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mdstudio.engine.model import Array, Description, GridDomain, Item, require_grid
from mdstudio.engine.progress import Progress
from mdstudio.engine.times import TimeAxis

if TYPE_CHECKING:
    from mdstudio.engine.dataset import Dataset
    from mdstudio.sources.contract import Source

BAND_CELLS = 1 << 22  # cells of one time that are held at once


class Side(Protocol):
    """One of the two: what it holds, and its stored blocks.

    Attributes:
        unit: (timesteps, tile width) of what is stored together; one timestep for all but TimeSeries.
    """

    name: str
    items: tuple[Item, ...]
    times: TimeAxis
    domain: GridDomain
    unit: tuple[int, int]

    def read(self, item: Item, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        """(time, row, column) as stored; layer -1 for an item without layers."""


class DatasetSide:
    """An MD dataset; each page that a block touches is decoded once a block."""

    def __init__(self, dataset: Dataset, progress: Progress) -> None:
        self._dataset, self._progress = dataset, progress
        storage = dataset.metadata.storage
        self.name = dataset.location
        self.items, self.times, self.domain = dataset.metadata.items, dataset.metadata.times, dataset.grid
        steps = storage.time_group_size if storage.storage_type == "TimeSeries" else None
        self.unit = (steps or 1, storage.grid_tile_width or 128)

    def read(self, item: Item, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        return self._dataset.block(item.name, times, layer, rows, columns, self._progress)


class SourceSide:
    """One grid of source files."""

    def __init__(self, source: Source, description: Description, name: str) -> None:
        self._source, self._description, self.name = source, description, name
        self.items, self.times = description.items, description.times
        self.domain = require_grid(description.domain, name)
        self.unit = (1, 1)

    def read(self, item: Item, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        return self._source.read(self._description, item.name, times, layer, rows, columns)


@dataclass(frozen=True)
class Block:
    """A part of both sides: time ranges that mean the same times, and cells."""

    times_a: slice
    times_b: slice
    rows: slice
    columns: slice


def blocks(a: Side, b: Side, times: Sequence[tuple[int, int]]) -> Iterator[Block]:
    """What is read at once, so that it fits in memory and cuts no stored group of A needlessly.

    `times` are pairs of indices, ascending in both.
    """
    lead = a if a.unit[0] > 1 or b.unit[0] == 1 else b
    steps, width = lead.unit
    width = max(width, a.unit[1], b.unit[1])
    rows, columns = a.domain.rows, a.domain.columns
    if steps == 1:  # whole rows, as many tiles high as fit
        height, span = max(width, BAND_CELLS // columns // width * width), columns
    else:
        height = span = width
    for first, count in _runs(times, steps, 0 if lead is a else 1):
        at_a, at_b = times[first]
        for row in range(0, rows, height):
            for column in range(0, columns, span):
                yield Block(slice(at_a, at_a + count), slice(at_b, at_b + count),
                            slice(row, min(row + height, rows)), slice(column, min(column + span, columns)))


def _runs(times: Sequence[tuple[int, int]], steps: int, lead: int) -> Iterator[tuple[int, int]]:
    """(position, count) of runs that are contiguous on both sides and lie in one group of the leading side."""
    first = 0
    for position in range(1, len(times) + 1):
        together = position < len(times) and all(
            times[position][side] == times[position - 1][side] + 1 for side in (0, 1)
        ) and times[position][lead] // steps == times[first][lead] // steps
        if not together:
            yield first, position - first
            first = position
