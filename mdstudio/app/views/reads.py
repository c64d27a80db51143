"""The reads of the map: what worker threads do and give back. No widget here, any thread but the main one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mdstudio.app.plots.components import one_number
from mdstudio.app.plots.hud import ExplainNote
from mdstudio.app.plots.mesh_pages import MeshPages
from mdstudio.app.plots.pages import PageShape
from mdstudio.app.plots.picture import Colouring, MapPicture, make_picture, touched_by
from mdstudio.app.plots.ranges import Range, Statistics, histogram, statistics
from mdstudio.app.views.fields import field_of
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.layout.metadata import Metadata
from mdstudio.engine.model import Array
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import Explain, MapRequest, MapResult

ASK_ABOVE_LOCAL, ASK_ABOVE_REMOTE = 4000, 200  # requests of a series that waits for a click


@dataclass(frozen=True)
class RectangleRead:
    """The cells of a rectangle: numbers, histogram over `held` (their exact range), pages touched; of a vector those of
    one component or the magnitude."""

    result: MapResult
    numbers: Statistics
    held: Range | None
    counts: Array
    touched: PageShape | MeshPages | None

    @property
    def explain(self) -> Explain:
        return self.result.explain


def read_picture(dataset: Dataset, request: MapRequest, colouring: Colouring, progress: Progress) -> MapPicture:
    """A whole slice, coloured."""
    raster = field_of(dataset).raster
    progress.check()
    result = dataset.map(request, progress)
    progress.check()
    return make_picture(result, raster, colouring)


def read_rectangle(dataset: Dataset, request: MapRequest, component: int, progress: Progress) -> RectangleRead:
    """The cells that a rectangle touches, in numbers."""
    raster = field_of(dataset).raster
    result = dataset.map(request, progress)
    values = one_number(result.item, result.values, component)
    numbers = statistics(values, np.asarray(result.mask))
    held = (numbers.minimum, numbers.maximum) if numbers.valid else None
    counts = histogram(values[result.mask], held) if held is not None else np.zeros(256, np.int64)
    return RectangleRead(result, numbers, held, counts, touched_by(result, raster)[1])


def explain_note(title: str, explain: Explain, draw_us: int = 0) -> ExplainNote:
    return ExplainNote(title, explain.pages_touched, explain.requests, explain.bytes_read, explain.read_us,
                       explain.decode_us, draw_us)


def series_requests(metadata: Metadata, points: int) -> int:
    """About how many requests a series takes: index and pages of each timestep or group."""
    storage, count = metadata.storage, len(metadata.times)
    each = 2 if metadata.compressed else 1
    groups = -(-count // (storage.time_group_size or 1))
    if storage.storage_type == "TimeSeries":
        return each * groups * points
    return (each if storage.storage_type == "SingleTimestep" else each + 1) * groups


def series_waits(metadata: Metadata, location: str, points: int) -> bool:
    """Whether a series is so dear that a person is asked first."""
    remote = "://" in location
    return series_requests(metadata, points) > (ASK_ABOVE_REMOTE if remote else ASK_ABOVE_LOCAL)
