"""A reader of a mesh's source as one in stored order: whole slices are read, then gathered (K9, P6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mdstudio.engine.layout.mesh_order import MeshOrder
from mdstudio.engine.model import Array, Domain, Item, MeshDomain, values_of
from mdstudio.engine.progress import Progress
from mdstudio.engine.writing.units import SliceReader, require_values

READ_BYTES = 32 << 20  # of whole source slices that are read at once; a larger slice alone


def in_stored_order(reader: SliceReader, domain: Domain, items: Sequence[Item], progress: Progress) -> SliceReader:
    """The reader that a write goes through: itself for a grid, which is stored in the order of its source."""
    return _StoredOrder(reader, domain, items, progress) if isinstance(domain, MeshDomain) else reader


class _StoredOrder:
    """Reads whole slices of a mesh in source order and gives runs of their stored values.

    Memory beside the answer: `READ_BYTES` or one slice of the source, and one int64 a stored value for each kind of
    item (elements, nodes, z-level, sigma).
    """

    def __init__(self, reader: SliceReader, domain: MeshDomain, items: Sequence[Item], progress: Progress) -> None:
        self._reader, self._domain, self._order = reader, domain, MeshOrder(domain)
        self._progress = progress
        self._items = {item.name: item for item in items}
        self._positions: dict[str, Array] = {}

    def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        known = self._items[item]
        values = values_of(self._domain, known)
        positions = self._positions_of(known)[columns]
        found: Array | None = None
        together = max(1, READ_BYTES // (values * known.cell_type.itemsize))
        for start in range(times.start, times.stop, together):
            self._progress.check()
            asked = slice(start, min(start + together, times.stop))
            shape = asked.stop - asked.start, 1, values
            source = require_values(known, self._reader.read(item, asked, layer, slice(0, 1), slice(0, values)), shape)
            if found is None:
                found = np.empty((times.stop - times.start, 1, positions.size, *source.shape[3:]), source.dtype)
            into = found[start - times.start:asked.stop - times.start]
            np.take(source, positions, axis=2, out=into, mode="clip")  # "raise" would make a copy of `into`
        assert found is not None  # a write asks for one time or more
        return found

    def _positions_of(self, item: Item) -> Array:
        kind = item.value_kind if item.layers_together else item.location
        if kind not in self._positions:  # the same for all items of a kind: all z-level items have the same layers
            self._positions[kind] = self._order.source_positions(item)
        return self._positions[kind]
