"""The source of an MD dataset: its own description, its stored values, in the order of the source that it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import NotFoundError
from mdstudio.engine.layout.mesh_order import MeshOrder
from mdstudio.engine.model import NO_LAYER, Array, Description, Dropped, Item, MeshDomain, values_of
from mdstudio.engine.progress import Progress

AHEAD_BYTES = 64 << 20  # of the time group of a TimeSeries dataset that is decoded at once


class MdSource:
    """One dataset as something to import (`sources.contract.Source`); one thread at a time.

    It is read at the version it was opened at: a commit in between is a `BlobChangedError`, nothing of two versions is
    mixed. Values are the stored ones to the bit; those of meshes come in the order of the file that the mesh was
    imported from, so that a copy has the same numbers of elements and nodes.

    Args:
        location: a folder or an address (with a SAS, which no description repeats).
        double_as_float: float64 items are described and read as float32 (W4).
    """

    def __init__(self, location: str, *, double_as_float: bool = False) -> None:
        self._dataset = Dataset.open(location)
        self._double_as_float = double_as_float
        self._progress = Progress()
        self._ahead: tuple[tuple[object, ...], range, Array] | None = None
        self._overflows = 0

    def __enter__(self) -> MdSource:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget what was decoded."""
        self._ahead = None

    def descriptions(self) -> Sequence[Description]:
        """One description: that of the dataset. Cost: the blob of its coordinates."""
        return [self._description]

    def dropped(self) -> Sequence[Dropped]:
        """What the dataset says it lacks of its own source, and the values that float32 could not hold."""
        found = list(self._description.dropped)
        if self._overflows:
            found.append(Dropped("values", "beyond the range of float32: stored as infinite", self._overflows))
        return found

    def read(self, description: Description, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        """(time, row, column) stored values, of vectors with their components last; of a mesh one row in the source's
        order.

        Cost: the pages that hold them. Of a TimeSeries dataset a time group is decoded at once, as far as it fits into
        `AHEAD_BYTES`, and kept for the steps that follow. Raises as `Dataset.block`; `NotFoundError` for an unknown
        item.
        """
        known = {i.name: i for i in self._dataset.metadata.items}
        if item not in known:
            raise NotFoundError(f"There is no item '{item}'.", where=self._dataset.location)
        wanted = range(*times.indices(len(self._dataset.metadata.times)))
        stored = known[item]
        if isinstance(self._domain, MeshDomain):
            values = self._in_source_order(stored, wanted, layer)[:, rows, columns]
        else:
            spans = [s.indices(n) for s, n in zip((rows, columns), self._dataset.metadata.shape, strict=True)]
            held = self._steps(stored, wanted, layer, *(slice(first, max(first, end)) for first, end, _ in spans))
            values = held[:, ::spans[0][2], ::spans[1][2]]
        return np.ascontiguousarray(self._narrowed(stored, values))

    def _in_source_order(self, item: Item, times: range, layer: int) -> Array:
        assert isinstance(self._domain, MeshDomain)
        stored = self._steps(item, times, layer, slice(0, 1), slice(0, self._positions(item).size))
        out = np.empty((len(times), 1, values_of(self._domain, item), *stored.shape[3:]), stored.dtype)
        if item.value_kind == "zlevel":
            out[:] = 0 if item.no_data is None else item.no_data  # nodes of no element are not stored
        out[:, :, self._positions(item)] = stored
        return out

    def _steps(self, item: Item, times: range, layer: int, rows: slice, columns: slice) -> Array:
        """Stored values of some steps, out of those read ahead where they are there."""
        if len(times) > 1 and times.step != 1:
            return np.concatenate([self._steps(item, range(t, t + 1), layer, rows, columns) for t in times])
        if not len(times) or self._group == 1:
            return self._block(item, range(times.start, times.start + len(times)), layer, rows, columns)
        key = item.name, layer, str(rows), str(columns)
        if self._ahead is None or self._ahead[0] != key or not set(times) <= set(self._ahead[1]):
            self._ahead = None  # the old block goes before the new one comes
            held = self._held(item, times, rows, columns)
            self._ahead = key, held, self._block(item, held, layer, rows, columns)
        first = self._ahead[1].start
        return self._ahead[2][times.start - first:times.start - first + len(times)]

    def _held(self, item: Item, times: range, rows: slice, columns: slice) -> range:
        """The steps to decode: to the end of the time group, as many as memory allows, never fewer than asked for."""
        cells = (rows.stop - rows.start) * (columns.stop - columns.start)
        step_bytes = max(1, cells * item.cell_type.itemsize)
        end = -(-times.stop // self._group) * self._group
        stop = min(end, times.start + AHEAD_BYTES // step_bytes, len(self._dataset.metadata.times))
        return range(times.start, max(times.stop, stop))

    def _block(self, item: Item, times: range, layer: int, rows: slice, columns: slice) -> Array:
        layer = NO_LAYER if item.layers_together else layer
        return self._dataset.block(item.name, slice(times.start, times.stop), layer, rows, columns, self._progress)

    def _narrowed(self, item: Item, values: Array) -> Array:
        """As float32 where that was asked for; a no-data value that float32 has not becomes NaN."""
        if not self._narrows(item):
            return values
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            out = values.astype("<f4")
        marks = [m for m in (item.no_data, *item.missing) if m is not None and not _fits(m)]
        for mark in marks:
            out[values == mark] = np.nan
        self._overflows += int((np.isinf(out) & np.isfinite(values)).sum())
        return out

    def _narrows(self, item: Item) -> bool:
        return self._double_as_float and item.dtype == "float64"

    @cached_property
    def _group(self) -> int:
        storage = self._dataset.metadata.storage
        return (storage.time_group_size or 1) if storage.storage_type == "TimeSeries" else 1

    @cached_property
    def _domain(self) -> object:
        return self._dataset.domain

    @cached_property
    def _order(self) -> MeshOrder:
        assert isinstance(self._domain, MeshDomain)
        return MeshOrder(self._domain)

    def _positions(self, item: Item) -> Array:
        return self._order.source_positions(item)

    @cached_property
    def _description(self) -> Description:
        metadata = self._dataset.metadata
        items = tuple(_as_float(i) if self._narrows(i) else i for i in metadata.items)
        return Description(self._dataset.domain, metadata.times, items, source=metadata.source,
                           attributes=metadata.attributes, time_attributes=metadata.time_attributes,
                           dropped=metadata.dropped)


def _as_float(item: Item) -> Item:
    no_data = item.no_data if item.no_data is None or _fits(item.no_data) else float("nan")
    return replace(item, dtype="float32", no_data=no_data, missing=tuple(m for m in item.missing if _fits(m)))


def _fits(value: float) -> bool:
    with np.errstate(over="ignore", under="ignore"):
        return bool(np.isnan(value)) or float(np.float32(value)) == value
