"""Where the cells of an open dataset lie and how a map of it is labelled: made once per dataset, in a worker thread."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass

from mdstudio.app.plots.field_plot import FieldPlot
from mdstudio.app.plots.frames import Frame, frame_of, mesh_frame
from mdstudio.app.plots.mesh_raster import MeshRaster, Pixels
from mdstudio.app.plots.raster import GridRaster, grid_raster
from mdstudio.app.session import DatasetSession
from mdstudio.engine.dataset import Dataset


@dataclass(frozen=True)
class Field:
    """The raster of a dataset's grid or mesh and the meaning of its coordinates."""

    raster: GridRaster | MeshRaster
    frame: Frame


_made: weakref.WeakKeyDictionary[Dataset, Field] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def field_of(dataset: Dataset) -> Field:
    """The field of a dataset; any thread but the main one: the first call reads the domain and may take seconds."""
    with _lock:
        field = _made.get(dataset)
        if field is None:
            field = _made[dataset] = _mesh_field(dataset) if dataset.metadata.kind == "mesh" else _grid_field(dataset)
        return field


def _grid_field(dataset: Dataset) -> Field:
    raster = grid_raster(dataset.geometry)
    return Field(raster, frame_of(dataset.grid, raster))


def _mesh_field(dataset: Dataset) -> Field:
    raster = MeshRaster(dataset.mesh)
    return Field(raster, mesh_frame(raster.domain, raster))


def serve_windows(session: DatasetSession, plot: FieldPlot, channel: str) -> None:
    """Give a plot the elements of a mesh that it wants under its pixels, found in a worker thread."""

    def wanted(pixels: Pixels) -> None:
        raster = plot.raster
        if isinstance(raster, MeshRaster):
            session.submit(channel, lambda progress: raster.window(pixels), plot.set_window, plot.window_failed)

    plot.window_wanted.connect(wanted)
