"""The card with the statistics of the rectangle or polygon over all times. Main thread only."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from mdstudio.app import formats
from mdstudio.app.plots.series_plot import Line, SeriesPlot
from mdstudio.app.session import DatasetSession
from mdstudio.app.views.commands import area_command
from mdstudio.app.views.read_card import ReadCard
from mdstudio.app.views.series_card import unit_words
from mdstudio.app.widgets import Combo
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import Array
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import AreaRequest, AreaResult, Bbox

STATISTICS = {"Mean": "mean", "Area mean": "area_mean", "Sum": "total", "Count": "count"}
_WITH_BAND = ("Mean", "Area mean")


class AreaCard(ReadCard):
    """Signal `index_chosen`: a step that was clicked. Of a vector, which has no statistics of its magnitude, those of
    its first component stand for it."""

    index_chosen = Signal(int)
    noun = "area over time"

    def __init__(self, session: DatasetSession, parent: QWidget | None = None) -> None:
        self.plot = SeriesPlot()
        super().__init__(session, "area", self.plot, parent, closable=True)
        self.statistic = Combo(name="Statistic", dense=True)
        self.statistic.addItems(list(STATISTICS))
        self.head.insertWidget(2, self.statistic)
        self._bbox: Bbox | None = None
        self._polygon, self._pages = "", 1
        self.statistic.currentTextChanged.connect(lambda _: self.show_again())
        self.plot.index_chosen.connect(self.index_chosen)

    def set_area(self, bbox: Bbox | None, polygon: str, pages: int = 1) -> None:
        """What `renew` asks for: a rectangle or a polygon that touches so many pages; neither: nothing."""
        self._bbox, self._polygon, self._pages = bbox, polygon, pages

    def request(self) -> AreaRequest | None:
        if self._bbox is None and not self._polygon:
            return None
        chosen = self._session.selection
        return AreaRequest(chosen.item, self._bbox, self._polygon, chosen.layer)

    def command_text(self) -> str:
        """The command of what is asked."""
        request, dataset = self.request(), self._session.dataset
        return area_command(dataset.location, request) if dataset is not None and request is not None else ""

    def dear(self) -> int:
        return self._pages

    def renew(self, *, confirmed: bool = False) -> None:
        if self._session.dataset is not None:
            self.plot.set_index(self._session.selection.time)
            self.set_title("Over time")
            super().renew(confirmed=confirmed)

    def ask(self, dataset: Dataset, request: Any, progress: Progress) -> AreaResult:
        return dataset.area(request, progress)

    def empty(self, result: Any) -> tuple[str, str] | None:
        if result.empty_reason:
            return "Nothing to count", result.empty_reason
        if self.statistic.currentText() == "Area mean" and not result.weights:
            return "No areas", "The values of nodes have no areas; the mean counts each node once."
        return None

    def numbers(self, result: AreaResult, name: str) -> Array:
        """(time,) float64: one statistic by its name in the result, of a vector that of a component."""
        values = np.asarray(getattr(result, name), np.float64)
        return values if values.ndim == 1 else values[:, self._component()]

    def _component(self) -> int:
        return max(self._session.selection.component, 0)

    def show_result(self, result: Any) -> None:
        dataset = self._session.dataset
        if result is None:
            if dataset is not None:
                self.plot.set_lines(dataset.metadata.times, ())
            return
        chosen = self.statistic.currentText()
        band = (self.numbers(result, "minimum"), self.numbers(result, "maximum")) if chosen in _WITH_BAND else None
        self.plot.set_lines(result.times, (Line("", "s1", self.numbers(result, STATISTICS[chosen]), band),))
        self.plot.set_index(self._session.selection.time)

    def words(self, result: Any) -> str:
        chosen = self.statistic.currentText()
        what = {"sphere": ", areas on the sphere", "plane": ", areas in the plane"}.get(result.weights, "") \
            if chosen == "Area mean" else ""
        unit = "" if chosen == "Count" else unit_words(result.item, self._component())
        band = ", from lowest to highest" if chosen in _WITH_BAND else ""
        area = "polygon" if result.request.polygon else "rectangle"
        return f"{area} · {unit}{chosen.lower()}{what}{band} · {formats.plural(result.cells, 'place')}"

    def write(self, path: str, result: Any, dataset: Dataset) -> str:
        from mdstudio.app.views.export import write_area

        return write_area(path, result)
