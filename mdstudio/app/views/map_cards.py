"""The cards beneath the map or at its right: series at points, an area over time, a transect. Main thread only."""

from __future__ import annotations

from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtWidgets import QSplitter, QWidget

from mdstudio.app.plots.map_plot import Corners
from mdstudio.app.plots.picture import MapPicture
from mdstudio.app.session import DatasetSession
from mdstudio.app.views.area_card import AreaCard
from mdstudio.app.views.points import points_of
from mdstudio.app.views.reads import RectangleRead
from mdstudio.app.views.series_card import SeriesCard
from mdstudio.app.views.transect_card import TransectCard
from mdstudio.app.views.view import GAP


class MapCards(QSplitter):
    """Each card is made when it is first needed, and hidden while nothing is asked of it.

    Signals: `series_read`; `probed` (x, y) of the transect under the pointer, or None; `line_closed`; `changed`:
    `commands` says something else.
    """

    series_read = Signal()
    probed = Signal(object)
    line_closed = Signal()
    changed = Signal()

    def __init__(self, session: DatasetSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._points = points_of(session)
        self._series: SeriesCard | None = None
        self._area: AreaCard | None = None
        self._transect: TransectCard | None = None
        self._picture: MapPicture | None = None
        self._open: set[QWidget] = set()  # a splitter shows what is added to it: a card cannot be asked
        self.setHandleWidth(GAP)
        self.setChildrenCollapsible(False)
        self.hide()

    @property
    def series(self) -> SeriesCard:
        if self._series is None:
            self._series = SeriesCard(self._session, "map-series")
            self._series.read.connect(lambda _: self.series_read.emit())
            self._series.index_chosen.connect(lambda index: self._session.select(time=index))
            self.addWidget(self._series)
        return self._series

    @property
    def area(self) -> AreaCard:
        if self._area is None:
            self._area = AreaCard(self._session)
            self._area.index_chosen.connect(lambda index: self._session.select(time=index))
            self._area.closed.connect(self.close_area)
            self.addWidget(self._area)
        return self._area

    @property
    def transect(self) -> TransectCard:
        if self._transect is None:
            self._transect = TransectCard(self._session)
            self._transect.plot.probed.connect(self.probed)
            self._transect.closed.connect(self.line_closed)
            self.addWidget(self._transect)
            if self._picture is not None:
                self._transect.set_picture(self._picture)
        return self._transect

    @property
    def made(self) -> bool:
        """The card of the series was needed before."""
        return self._series is not None

    def sizeHint(self) -> QSize:
        return QSize(330, 210)

    def renew(self) -> None:
        """The selection is another one."""
        self.renew_series()
        if self._transect is not None and self._transect.request() is not None:
            self._transect.renew()
        if self._area is not None:
            self._area.plot.set_index(self._session.selection.time)

    def renew_series(self) -> None:
        """The points are others."""
        if self._series is not None or self._points.points:
            self._show(self.series, bool(self._points.points))
            self.series.renew()

    def set_picture(self, picture: MapPicture) -> None:
        """Another picture is on the map."""
        self._picture = picture
        if self._transect is not None:
            self._transect.set_picture(picture)

    def set_line(self, corners: Corners) -> None:
        """Read along another line; () closes the transect."""
        if self._transect is None and not corners:
            return
        self.transect.set_line(corners)
        self._show(self.transect, bool(corners))
        self.transect.renew()
        self.changed.emit()

    def open_area(self, read: RectangleRead) -> None:
        """Show the area of a read over time."""
        request = read.result.request
        self.area.set_area(request.bbox, request.polygon, max(1, read.explain.pages_touched))
        self._show(self.area, True)
        self.area.renew()
        self.changed.emit()

    def follow_area(self, read: RectangleRead) -> None:
        """Another area, item or layer was read: the card follows, when it is open."""
        if self._area is not None and self._area.request() is not None:
            self.open_area(read)

    def close_area(self) -> None:
        if self._area is not None and self._area.request() is not None:
            self._area.set_area(None, "")
            self._show(self._area, False)
            self._area.renew()
            self.changed.emit()

    def commands(self) -> list[str]:
        """The commands of the area over time and of the transect."""
        texts = [card.command_text() for card in (self._area, self._transect) if card is not None]
        return [text for text in texts if text]

    def _show(self, card: QWidget, shown: bool) -> None:
        card.setVisible(shown)
        if shown and card not in self._open:
            QTimer.singleShot(0, self, self._share)  # when the splitter knows of it
        (self._open.add if shown else self._open.discard)(card)
        cards = (self._series, self._area, self._transect)
        self.setVisible(any(one is not None and not one.isHidden() for one in cards))

    def _share(self) -> None:
        """Give each card as much room."""
        self.setSizes([10_000] * self.count())
