"""Where the cells of an open dataset lie and how a map of it is labelled: made once per dataset, in a worker thread."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass

from mdstudio.app.plots.frames import Frame, frame_of
from mdstudio.app.plots.raster import GridRaster, grid_raster
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import UnsupportedError


@dataclass(frozen=True)
class Field:
    """The raster of a dataset's grid and the meaning of its coordinates."""

    raster: GridRaster
    frame: Frame


_made: weakref.WeakKeyDictionary[Dataset, Field] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def require_single(dataset: Dataset, item: str) -> None:
    """`UnsupportedError` for an item of vectors: the views draw one value a cell."""
    known = dataset.item(item)
    if known.value_kind == "vector":
        raise UnsupportedError(f"'{known.name}' is a vector of {known.components} components; single values are drawn.",
                               where=dataset.location)


def field_of(dataset: Dataset) -> Field:
    """The field of a dataset; any thread but the main one: the first call reads the domain and may take seconds."""
    with _lock:
        field = _made.get(dataset)
        if field is None:
            raster = grid_raster(dataset.geometry)
            field = _made[dataset] = Field(raster, frame_of(dataset.grid, raster))
        return field
