"""The card with the series at the pinned points: reads them when they change, says what they cost. Main thread only."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from mdstudio.app import formats
from mdstudio.app.plots.components import component_words, one_number
from mdstudio.app.plots.series_plot import Line, SeriesPlot
from mdstudio.app.plots.units import unit_text
from mdstudio.app.session import DatasetSession
from mdstudio.app.views.points import PointSet, points_of
from mdstudio.app.views.read_card import ReadCard
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import Array, Item
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import SeriesRequest, SeriesResult


class SeriesCard(ReadCard):
    """Signal `index_chosen`: a step that was clicked."""

    index_chosen = Signal(int)

    def __init__(self, session: DatasetSession, channel: str, parent: QWidget | None = None) -> None:
        self.plot = SeriesPlot()
        super().__init__(session, channel, self.plot, parent)
        self._points: PointSet = points_of(session)
        self.plot.index_chosen.connect(self.index_chosen)

    def request(self) -> SeriesRequest | None:
        chosen = self._session.selection
        return SeriesRequest(chosen.item, self._points.places(), chosen.layer) if self._points.points else None

    def dear(self) -> int:
        return len(self._points.points)

    def renew(self, *, confirmed: bool = False) -> None:
        if self._session.dataset is None:
            return
        points = self._points.points
        self.plot.set_index(self._session.selection.time)
        self.set_title(f"Series at {', '.join(p.letter for p in points[:8])}" if points else "Series",
                       "" if points else "pin a point to read its values through time")
        super().renew(confirmed=confirmed)

    def ask(self, dataset: Dataset, request: Any, progress: Progress) -> SeriesResult:
        return dataset.series(request, progress)

    def empty(self, result: Any) -> tuple[str, str] | None:
        if np.isfinite(result.values).any():
            return None
        outside = bool((result.cells[:, 0] < 0).all())
        return ("No data at these points",
                "They lie outside the area." if outside else "Their cells hold no data at any time.")

    def numbers(self, result: SeriesResult) -> Array:
        """(time, point) float64: the values, of a vector the chosen component."""
        return one_number(result.item, result.values, self._session.selection.component)

    def show_result(self, result: Any) -> None:
        if result is None:
            dataset = self._session.dataset
            if dataset is not None:
                self.plot.set_lines(dataset.metadata.times, ())
            return
        points, values = self._points.points, self.numbers(result)
        self.plot.set_lines(result.times, tuple(
            Line(point.letter, point.token, values[:, k]) for k, point in enumerate(points[:values.shape[1]])))
        self.plot.set_index(self._session.selection.time)

    def words(self, result: Any) -> str:
        return (f"{unit_words(result.item, self._session.selection.component)}"
                f"{formats.plural(result.values.shape[1], 'point')} × {formats.plural(len(result.times), 'step')}")

    def write(self, path: str, result: Any, dataset: Dataset) -> str:
        from mdstudio.app.views.export import write_series

        return write_series(path, result, dataset)


def unit_words(item: Item, component: int) -> str:
    """`m s⁻¹ · magnitude · `: what the numbers of an item are, before other words."""
    unit = unit_text(item.unit)
    unit = f"{unit} · " if unit else ""
    return f"{unit}{component_words(component)} · " if item.value_kind == "vector" else unit
