"""The small map of the Overview: read only after the rest of the view is painted. Main thread only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QVBoxLayout, QWidget

from mdstudio.app import formats
from mdstudio.app.plots.calendar_ticks import time_label
from mdstudio.app.plots.colour_bar import ColourStrip
from mdstudio.app.plots.picture import Colouring, MapPicture
from mdstudio.app.plots.units import unit_text
from mdstudio.app.session import DatasetSession
from mdstudio.app.widgets import Button, Card, Label, StateStack
from mdstudio.app.widgets.base import UNBOUND
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import MdError
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import MapRequest

if TYPE_CHECKING:
    from mdstudio.app.plots.map_plot import MapPlot

WIDTH, MAP_HEIGHT = 348, 236
LEAST_HEIGHT = 130  # of map and colours together: with the jobs open the map gives way, not what stands below it


class PreviewCard(Card):
    """Signal `opened`: show it in the Map."""

    opened = Signal()

    def __init__(self, session: DatasetSession, parent: QWidget | None = None) -> None:
        super().__init__("Preview", parent=parent)
        self.setMinimumWidth(WIDTH)
        self._session = session
        self._asked: tuple[Dataset, MapRequest] | None = None
        self.picture: MapPicture | None = None
        self.plot: MapPlot | None = None  # made with the first picture: pyqtgraph is loaded by the worker
        open_map = Button("Open in Map", "map", "ghost", dense=True)
        open_map.clicked.connect(self.opened)
        self.add_to_head(open_map)
        holder = QWidget()
        self._holder = QVBoxLayout(holder)
        self._holder.setContentsMargins(0, 0, 0, 0)
        self._holder.setSpacing(6)
        self.strip = ColourStrip()
        self._holder.addWidget(self.strip)
        self.strip.hide()
        self.stack = StateStack(holder)
        self.stack.setMinimumHeight(LEAST_HEIGHT)
        numbers = QWidget()
        grid = QGridLayout(numbers)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(0)
        grid.setHorizontalSpacing(18)
        self.values: dict[str, Label] = {}
        for column, name in enumerate(("Minimum", "Maximum", "No data")):
            self.values[name] = Label(formats.DASH, "dense-strong")
            grid.addWidget(Label(name, "caption", "text3"), 0, column)
            grid.addWidget(self.values[name], 1, column)
        self._parts = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._parts.setSpacing(12)
        self._parts.addWidget(self.stack, 100)  # all the room that there is, up to its largest height
        self._parts.addWidget(numbers, 0, Qt.AlignmentFlag.AlignTop)
        self._parts.addStretch(1)
        self.body.addLayout(self._parts)
        self.set_wide(False)

    def set_wide(self, wide: bool) -> None:
        """As large as the page allows with its numbers beside it, or a panel at the side with the numbers beneath."""
        self._parts.setDirection(QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom)
        self.setMaximumWidth(UNBOUND if wide else WIDTH)
        self.stack.setMaximumHeight(UNBOUND if wide else MAP_HEIGHT + 36)

    def renew(self) -> None:
        """Read the selected slice unless it is shown already."""
        dataset, chosen = self._session.dataset, self._session.selection
        if dataset is None or not chosen.item:
            return
        request = MapRequest(chosen.item, chosen.time, chosen.layer)
        if self._asked == (dataset, request):
            return
        self._asked = (dataset, request)
        self.caption.setText(f"{chosen.item} · {time_label(dataset.metadata.times, chosen.time)}")
        self.stack.show_loading("Reading the preview")
        self._session.submit("preview", lambda progress: _read(dataset, request, progress), self._arrived, self._failed)

    def _arrived(self, picture: MapPicture) -> None:
        from mdstudio.app.plots.map_plot import MapPlot
        from mdstudio.app.views.fields import field_of, serve_windows

        dataset = self._session.dataset
        if dataset is None:
            return
        if self.plot is None:
            self.plot = MapPlot()
            serve_windows(self._session, self.plot, "preview-window")
            self._holder.insertWidget(0, self.plot, 1)
        self.picture = picture
        self.stack.show_contents()
        self.plot.set_picture(picture, field_of(dataset).frame)
        item = picture.result.item
        self.strip.setVisible(picture.shown is not None)
        self.strip.set_scale(picture.shown, picture.colouring.name, item.unit)
        numbers, unit = picture.numbers, unit_text(item.unit)
        for name, value in (("Minimum", numbers.minimum), ("Maximum", numbers.maximum)):
            text = formats.number(value, digits=5)
            self.values[name].setText(f"{text} {unit}".strip() if value == value else text)
        self.values["No data"].setText(formats.ratio(numbers.no_data, numbers.cells))

    def _failed(self, error: MdError) -> None:
        self._asked = None
        self.stack.show_error(error, [("Read it again", self.renew)])


def _read(dataset: Dataset, request: MapRequest, progress: Progress) -> MapPicture:
    """Worker thread: also loads the plots, so that the main thread need not."""
    from mdstudio.app.views import warm
    from mdstudio.app.views.reads import read_picture

    warm()
    return read_picture(dataset, request, Colouring(), progress)
