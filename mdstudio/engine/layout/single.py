"""SingleTimestep: a `.dat` of pages back to back for each timestep and layer, its `.idx` beside it (P7, P18)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mdstudio.engine.layout.encoding import EncodedStep
from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.layout.names import index_blob
from mdstudio.engine.layout.page_index import index_bytes, offsets_of, parse_index
from mdstudio.engine.layout.step_pages import StepPages
from mdstudio.engine.storage import BlobStorage


def step_blobs(layout: ItemLayout, layer: int, time: int, step: EncodedStep) -> Iterator[tuple[str, bytes]]:
    """(blob, bytes) to store for one timestep, in this order: the `.dat`, then its `.idx` when compressed (P18)."""
    blob = layout.step_blob(layer, time)
    yield blob, step.data
    if layout.format.compressed:
        yield index_blob(blob), index_bytes(step.lengths)


def step_pages(storage: BlobStorage, layout: ItemLayout, layer: int, time: int) -> StepPages:
    """Where the pages of one timestep lie: one read of the `.idx`, none for an uncompressed one.

    The `.dat` must be as long as `StepPages.length`; its reader tells (P18). Raises `DamagedDataError` (P10).
    """
    blob = layout.step_blob(layer, time)
    if layout.format.compressed:
        index = index_blob(blob)
        data = storage.read(index).data
        entries = parse_index(data, layout.limits, may_be_empty=layout.format.may_be_empty, where=index)
        lengths = entries.astype(np.int64)
    else:
        lengths = layout.raw_bytes
    offsets = offsets_of(lengths)
    return StepPages(blob, None, offsets[:-1], lengths, int(offsets[-1]))
