"""What is compared: blocks of stored values, out of a dataset or out of source files.

Values of a mesh are one row, in the stored order of the side's own domain: that of a source is the one it would be
stored in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mdstudio.engine.layout.mesh_order import MeshOrder
from mdstudio.engine.model import Array, Description, Domain, Item, MeshDomain
from mdstudio.engine.progress import Progress
from mdstudio.engine.times import TimeAxis

if TYPE_CHECKING:
    from mdstudio.engine.dataset import Dataset
    from mdstudio.sources.contract import Source

BAND_CELLS = 1 << 22  # cells of one time that are held at once
RUN_VALUES = 1 << 24  # values of a run of a mesh over a time group: the source's slices are read once for each run


class Side(Protocol):
    """One of the two: what it holds, and its stored blocks.

    Attributes:
        unit: (timesteps, tile width or page size) of what is stored together; one timestep for all but TimeSeries.
    """

    name: str
    items: tuple[Item, ...]
    times: TimeAxis
    domain: Domain
    unit: tuple[int, int]
    places: Places

    def read(self, item: Item, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        """(time, row, column) as stored, of vectors with their components; layer -1 for an item without layers."""


class Places:
    """Where the stored values of a domain lie in its source."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._order = MeshOrder(domain) if isinstance(domain, MeshDomain) else None
        self._known: dict[tuple[str, str, int], Array] = {}

    def positions(self, item: Item) -> Array | None:
        """(stored values,) int64 position in the source's slice of each stored value of a mesh; None for a grid, which
        is stored as it came."""
        if self._order is None:
            return None
        key = item.value_kind, item.location, len(item.layers or ())
        if key not in self._known:
            self._known[key] = self._order.source_positions(item)
        return self._known[key]

    def shape(self, item: Item) -> tuple[int, int]:
        """Rows and columns of a stored slice; one row for a mesh."""
        if not isinstance(self._domain, MeshDomain):
            return self._domain.rows, self._domain.columns
        positions = self.positions(item)
        return 1, 0 if positions is None else int(positions.size)


class DatasetSide:
    """An MD dataset; each page that a block touches is decoded once a block."""

    def __init__(self, dataset: Dataset, progress: Progress) -> None:
        self._dataset, self._progress = dataset, progress
        storage = dataset.metadata.storage
        self.name = dataset.location
        self.items, self.times, self.domain = dataset.metadata.items, dataset.metadata.times, dataset.domain
        self.places = Places(self.domain)
        steps = storage.time_group_size if storage.storage_type == "TimeSeries" else None
        page = storage.spatial_group_size if steps else storage.compressed_mesh_page_size
        self.unit = (steps or 1, (page if dataset.metadata.kind == "mesh" else storage.grid_tile_width) or 128)

    def read(self, item: Item, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        return self._dataset.block(item.name, times, layer, rows, columns, self._progress)


class SourceSide:
    """One grid of source files."""

    def __init__(self, source: Source, description: Description, name: str, progress: Progress) -> None:
        from mdstudio.engine.writing.source_order import in_stored_order
        from mdstudio.jobs.run import Slices

        self.name, self.items, self.times = name, description.items, description.times
        self.domain = description.domain
        self.places = Places(self.domain)
        self.unit = (1, 1)
        self._reader = in_stored_order(Slices(source, description), self.domain, self.items, progress)

    def read(self, item: Item, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        return self._reader.read(item.name, times, layer, rows, columns)


class Reordered:
    """A side whose mesh is stored in another order, read in that of `like`: the same places of the source in both."""

    def __init__(self, side: Side, like: Side) -> None:
        self._side, self._like = side, like
        self.name, self.items, self.times, self.domain = side.name, side.items, side.times, side.domain
        self.unit, self.places = side.unit, like.places

    def read(self, item: Item, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        mine, theirs = self._side.places.positions(item), self._like.places.positions(item)
        assert mine is not None
        assert theirs is not None
        at = np.empty(int(max(mine.max(), theirs.max())) + 1, np.int64)
        at[mine] = np.arange(mine.size)
        return self._side.read(item, times, layer, rows, slice(0, mine.size))[:, :, at[theirs[columns]]]


def reordered(side: Side, like: Side) -> Side:
    """`side` with its values in the order of `like`; itself where that is its own, or where the meshes do not go
    together (their shapes differ then, and nothing is read)."""
    a, b = side.domain, like.domain
    if not isinstance(a, MeshDomain) or not isinstance(b, MeshDomain) or (a.elements, a.nodes) != (b.elements, b.nodes):
        return side
    same = np.array_equal(a.element_number, b.element_number) and np.array_equal(a.node_number, b.node_number)
    return side if same else Reordered(side, like)


@dataclass(frozen=True)
class Block:
    """A part of both sides: time ranges that mean the same times, and cells."""

    times_a: slice
    times_b: slice
    rows: slice
    columns: slice


def blocks(a: Side, b: Side, times: Sequence[tuple[int, int]], shape: tuple[int, int]) -> Iterator[Block]:
    """What is read at once of slices of this shape, so that it fits in memory and cuts no stored group of A needlessly.

    `times` are pairs of indices, ascending in both.
    """
    lead = a if a.unit[0] > 1 or b.unit[0] == 1 else b
    steps, width = lead.unit
    width = max(width, a.unit[1], b.unit[1])
    rows, columns = shape
    if rows == 1:  # a mesh, or what is read as one
        height, span = 1, max(width, RUN_VALUES // steps // width * width)
    elif steps == 1:  # whole rows, as many tiles high as fit
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
