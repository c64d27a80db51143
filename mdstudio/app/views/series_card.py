"""The card with the series at the pinned points: reads them when they change, says what they cost. Main thread only."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from mdstudio.app import formats
from mdstudio.app.plots.components import component_words, one_number
from mdstudio.app.plots.series_plot import Line, SeriesPlot
from mdstudio.app.plots.units import unit_text
from mdstudio.app.session import DatasetSession
from mdstudio.app.views.points import PointSet, points_of
from mdstudio.app.views.reads import series_requests, series_waits
from mdstudio.app.widgets import Button, Card, StateStack
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import MdError
from mdstudio.engine.model import Array
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import SeriesRequest, SeriesResult


class SeriesCard(Card):
    """Signals: `index_chosen` a step that was clicked; `read` the `SeriesResult` that is shown now, None for none."""

    index_chosen = Signal(int)
    read = Signal(object)

    def __init__(self, session: DatasetSession, channel: str, parent: QWidget | None = None) -> None:
        super().__init__("Series", parent=parent)
        self._session, self._channel = session, channel
        self._points: PointSet = points_of(session)
        self._asked: tuple[Dataset, SeriesRequest] | None = None
        self.result: SeriesResult | None = None
        self.plot = SeriesPlot()
        self.stack = StateStack(self.plot)
        self.body.addWidget(self.stack)
        self.export = Button("Export CSV", "export", "ghost", dense=True)
        self.export.clicked.connect(self._export)
        self.add_to_head(self.export)
        self.plot.index_chosen.connect(self.index_chosen)
        self.setMinimumHeight(150)

    def request(self) -> SeriesRequest:
        """What the selection and the points ask for."""
        chosen = self._session.selection
        return SeriesRequest(chosen.item, self._points.places(), chosen.layer)

    def renew(self, *, confirmed: bool = False) -> None:
        """Read the series of the selection unless it is shown already; a dear one waits until it is `confirmed`."""
        dataset = self._session.dataset
        if dataset is None:
            return
        points = self._points.points
        request = self.request()
        self.plot.set_index(self._session.selection.time)
        self.set_title(f"Series at {', '.join(p.letter for p in points[:8])}" if points else "Series",
                       "" if points else "pin a point to read its values through time")
        self.export.setEnabled(False)
        if not points:
            self._session.cancel(self._channel)
            self._asked = None
            self._show(None)
            self.stack.show_contents()
            return
        if self._asked == (dataset, request) and not confirmed:
            if self.result is not None:
                self._show(self.result)  # of another component, maybe
            return
        count = series_requests(dataset.metadata, len(points))
        if series_waits(dataset.metadata, dataset.location, len(points)) and not confirmed:
            self._asked = None
            self.stack.show_empty("series", f"About {formats.count(count)} requests",
                                  "This series is stored time by time; reading it may take a while.",
                                  [("Read series", lambda: self.renew(confirmed=True))])
            return
        self._asked = (dataset, request)
        self.stack.show_loading("Reading series")
        self._session.submit(self._channel, lambda progress: _read(dataset, request, progress), self._arrived,
                             self._failed, self._progress)

    def _arrived(self, result: SeriesResult) -> None:
        if np.isfinite(result.values).any():
            self.stack.show_contents()
        else:
            outside = bool((result.cells[:, 0] < 0).all())
            self.stack.show_empty("series", "No data at these points",
                                  "They lie outside the area." if outside else "Their cells hold no data at any time.")
        self._show(result)

    def numbers(self, result: SeriesResult) -> Array:
        """(time, point) float64: the values, of a vector the chosen component."""
        return one_number(result.item, result.values, self._session.selection.component)

    def _show(self, result: SeriesResult | None) -> None:
        self.result = result
        if result is None:
            dataset = self._session.dataset
            if dataset is not None:
                self.plot.set_lines(dataset.metadata.times, ())
        else:
            points, values = self._points.points, self.numbers(result)
            self.plot.set_lines(result.times, tuple(
                Line(point.letter, point.token, values[:, k]) for k, point in enumerate(points[:values.shape[1]])))
            self.plot.set_index(self._session.selection.time)
        self._caption()
        self.read.emit(result)

    def _caption(self) -> None:
        result = self.result
        self.export.setEnabled(result is not None)
        if result is None:
            return
        explain = result.explain
        unit = unit_text(result.item.unit)
        unit = f"{unit} · " if unit else ""
        if result.item.value_kind == "vector":
            unit += f"{component_words(self._session.selection.component)} · "
        self.caption.setText(
            f"{unit}{formats.plural(result.values.shape[1], 'point')} × {formats.plural(len(result.times), 'step')} · "
            f"{formats.plural(explain.pages_touched, 'page')}, {formats.plural(explain.requests, 'request')}, "
            f"{formats.size(explain.bytes_read)}")

    def _failed(self, error: MdError) -> None:
        self._asked = None
        self.stack.show_error(error, [("Try again", self.renew)])

    def _progress(self, done: int, total: int, unit: str) -> None:
        self.stack.show_loading("Reading series", done, total)

    def _export(self) -> None:
        if self.result is None:
            return
        path, _ = QFileDialog.getSaveFileName(self, "Export series", "series.csv", "CSV (*.csv);;NumPy (*.npz)")
        if path:
            self.export_to(path)

    def export_to(self, path: str) -> None:
        """Write the shown series to a file, in a worker thread."""
        from mdstudio.app.views.export import write_series

        result, dataset = self.result, self._session.dataset
        assert result is not None
        assert dataset is not None
        self._session.submit("export-" + self._channel, lambda progress: write_series(path, result, dataset),
                             self._exported, self._failed)

    def _exported(self, path: str) -> None:
        self.caption.setText(f"Written to {path}")


def _read(dataset: Dataset, request: SeriesRequest, progress: Progress) -> SeriesResult:
    return dataset.series(request, progress)
