"""The heatmap of pages with its axes, tip and selection. Reads nothing. Main thread only."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from mdstudio.app.plots.field_plot import FieldPlot
from mdstudio.app.plots.frames import Frame
from mdstudio.app.plots.heatmap import HeatmapItem
from mdstudio.app.plots.mesh_pages import MeshPages
from mdstudio.app.plots.mesh_raster import MeshRaster, MeshWindow
from mdstudio.app.plots.pages import PageLattice
from mdstudio.app.plots.paint import color, font, rounded_panel
from mdstudio.app.plots.raster import GridRaster
from mdstudio.engine.model import Array

Tip = tuple[str, str]  # the two lines about a page


class HeatmapPlot(FieldPlot):
    """Signals: `page_selected` the entry that was clicked (-1: none); `page_hovered` likewise."""

    page_selected = Signal(int)
    page_hovered = Signal(int)
    most_stretch = 3.0  # pages must be wide enough to be told apart; their shape on the ground matters less

    def __init__(self, describe: Callable[[int], Tip], parent: QWidget | None = None) -> None:
        super().__init__("surface", parent)
        self.setAccessibleName("Heatmap of pages")
        self.heatmap = HeatmapItem()
        self.box.addItem(self.heatmap, ignoreBounds=True)
        self._tip = TipPanel(self)
        self._describe = describe
        self._entry = -1
        self.probed.connect(self._probe)
        self.clicked.connect(self._choose)

    def set_pages(self, lattice: PageLattice | MeshPages, raster: GridRaster | MeshRaster, frame: Frame,
                  colours: Array) -> None:
        """Pages to show and the colour of each entry (0: all no data)."""
        if raster is not self.raster:
            self.set_raster(raster, frame)
        self.heatmap.set_pages(lattice, raster)
        self.heatmap.set_colours(colours)
        self._entry = -1
        self._probe(self.cell)

    def select(self, entry: int) -> None:
        self.heatmap.select(entry if entry >= 0 else None)

    def _show_window(self, window: MeshWindow | None) -> None:
        super()._show_window(window)
        self.heatmap.set_window(window)

    def _metres_a_pixel(self) -> float:
        return 0.0

    def _probe(self, cell: tuple[int, int] | None) -> None:
        place = self.raster.cell_centre(*cell) if self.raster is not None and cell is not None else None
        entry = self.heatmap.entry_of(cell)
        if entry >= 0 and place is not None:
            self._tip.show_at(self.screen_place(*place), self._describe(entry))
        else:
            self._tip.hide()
        if entry != self._entry:
            self._entry = entry
            self.page_hovered.emit(entry)

    def _choose(self, x: float, y: float) -> None:
        entry = self.heatmap.entry_of(self._cell_under(x, y))
        self.select(entry)
        self.page_selected.emit(entry)


class TipPanel(QWidget):
    """Two lines beside the pointer, at once."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._lines: Tip = ("", "")
        self.hide()

    @property
    def lines(self) -> Tip:
        return self._lines

    def show_at(self, place: QPointF, lines: Tip) -> None:
        self._lines = lines
        width = 24 + max(QFontMetricsF(font("dense-strong")).horizontalAdvance(lines[0]),
                         QFontMetricsF(font("caption")).horizontalAdvance(lines[1]))
        height = 44
        parent = self.parentWidget()
        assert parent is not None
        around = parent.rect()
        x, y = place.x() + 16, place.y() - height - 8
        x = place.x() - width - 16 if x + width > around.right() else x
        y = place.y() + 16 if y < 0 else y
        self.setGeometry(round(max(0.0, x)), round(y), round(width), height)
        self.raise_()
        self.show()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rounded_panel(painter, QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 250)
        painter.setFont(font("dense-strong"))
        painter.setPen(color("text"))
        painter.drawText(QRectF(12, 5, self.width(), 18), Qt.AlignmentFlag.AlignVCenter, self._lines[0])
        painter.setFont(font("caption"))
        painter.setPen(color("text2"))
        painter.drawText(QRectF(12, 22, self.width(), 18), Qt.AlignmentFlag.AlignVCenter, self._lines[1])
        painter.end()
