"""The card with what lies along a line at the selected time, in all layers. Main thread only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtWidgets import QWidget

from mdstudio.app import formats
from mdstudio.app.plots.calendar_ticks import time_label
from mdstudio.app.plots.frames import Frame
from mdstudio.app.plots.map_plot import Corners
from mdstudio.app.plots.picture import MapPicture
from mdstudio.app.plots.section import section_of
from mdstudio.app.plots.transect_plot import TransectPlot
from mdstudio.app.session import DatasetSession
from mdstudio.app.views.commands import line_command
from mdstudio.app.views.fields import field_of
from mdstudio.app.views.read_card import ReadCard
from mdstudio.app.views.series_card import unit_words
from mdstudio.app.widgets import ElidedLabel
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import Explain, LineRequest, LineResult

_HINT = "Point at a place to read its value."


@dataclass(frozen=True)
class LineRead:
    """A transect, how its places are told, and its time."""

    result: LineResult
    frame: Frame
    time: str

    @property
    def request(self) -> LineRequest:
        return self.result.request

    @property
    def explain(self) -> Explain:
        return self.result.explain


class TransectCard(ReadCard):
    """`result` is a `LineRead`."""

    noun = "transect"

    def __init__(self, session: DatasetSession, parent: QWidget | None = None) -> None:
        self.plot = TransectPlot()
        super().__init__(session, "transect", self.plot, parent, closable=True)
        self._line: Corners = ()
        self.setMinimumHeight(210)  # layers need room, and what is told a line
        self.told = ElidedLabel(_HINT, "dense", "text2")
        self.body.addWidget(self.told)
        self.plot.told.connect(lambda text: self.told.setText(text or _HINT))

    def set_line(self, corners: Corners) -> None:
        """What `renew` asks for; () for nothing."""
        self._line = corners

    def set_picture(self, picture: MapPicture) -> None:
        """Show layers in the colours of the map."""
        self.plot.set_colours(picture.shown, picture.colouring.name)

    def request(self) -> LineRequest | None:
        chosen = self._session.selection
        return LineRequest(chosen.item, self._line, None, chosen.time, chosen.time + 1) if self._line else None

    def command_text(self) -> str:
        """The command of what is asked."""
        request, dataset = self.request(), self._session.dataset
        return "" if dataset is None or request is None else \
            line_command(dataset.location, dataset.metadata.times, request)

    def ask(self, dataset: Dataset, request: Any, progress: Progress) -> LineRead:
        frame = field_of(dataset).frame
        progress.check()
        return LineRead(dataset.line(request, progress), frame, time_label(dataset.metadata.times, request.start))

    def empty(self, result: Any) -> tuple[str, str] | None:
        reason = result.result.empty_reason
        return ("Nothing there", reason) if reason else None

    def show_result(self, result: Any) -> None:
        if result is None:
            self.plot.set_section(None, Frame("other"))
        else:
            self.plot.set_section(section_of(result.result, self._session.selection.component), result.frame)

    def words(self, result: Any) -> str:
        found: LineResult = result.result
        inside = int((found.cells[:, 0] >= 0).sum())
        layers = f" × {formats.plural(found.layers.size, 'layer')}" if found.item.layers else ""
        length = self.plot.distance_text(float(found.edges[-1]))
        return (f"{unit_words(found.item, self._session.selection.component)}{result.time} · {length} · "
                f"{formats.plural(inside, 'stretch', 'stretches')}{layers}")

    def write(self, path: str, result: Any, dataset: Dataset) -> str:
        from mdstudio.app.views.export import write_line

        return write_line(path, result.result, dataset)
