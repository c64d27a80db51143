"""The values along a line: steps, or with layers a picture of distance by layer. Reads nothing. Main thread only."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Signal
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QWidget

from mdstudio.app import colormaps, formats
from mdstudio.app.plots.axes_plot import AxesPlot
from mdstudio.app.plots.colouring import colourise
from mdstudio.app.plots.frames import Frame
from mdstudio.app.plots.paint import argb_image, hatch, line
from mdstudio.app.plots.ranges import Range
from mdstudio.app.plots.screen_items import Screen, ScreenItem
from mdstudio.app.plots.section import Section, layer_words
from mdstudio.app.plots.ticks import Tick, number_ticks
from mdstudio.app.plots.units import unit_text
from mdstudio.app.theme import Theme

VALUE_DIGITS = 6
_NO_STEPS = [0.0, 0.0], [np.nan]
IN_KILOMETRES = 20_000.0  # metres from which on distances are told so


class TransectPlot(AxesPlot):
    """Signals: `probed` (x, y) of the middle of the stretch under the pointer, or None; `told` value, layer, distance
    and place there, or ""."""

    probed = Signal(object)
    told = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Transect", parent)
        self.section: Section | None = None
        self.frame = Frame("other")
        self.readout = ""
        self.steps = pg.PlotCurveItem(*_NO_STEPS, stepMode="center", connect="finite", antialias=True)
        self.picture = _LayersItem()
        for item in (self.steps, self.picture):
            self.box.addItem(item, ignoreBounds=True)
        self.view.setMouseTracking(True)
        self.view.viewport().installEventFilter(self)
        self.view.scene().sigMouseMoved.connect(self._hover)
        self.restyle()

    def restyle(self) -> None:
        super().restyle()
        self.steps.setPen(line("s1"))

    def set_section(self, section: Section | None, frame: Frame) -> None:
        """Show a section; the zoom stays for the same line and layers."""
        before, self.section, self.frame = self.section, section, frame
        layered = section is not None and section.layered
        self.picture.set_section(section if layered else None)
        self.rules.setVisible(not layered)
        self.steps.setVisible(not layered)
        self.steps.setData(*_NO_STEPS) if section is None or layered else \
            self.steps.setData(section.edges, section.values[0])
        if section is not None:
            self.bottom.set_ticks_by(self._distance_ticks)
            self.left.set_ticks_by(section.height_ticks() if layered else number_ticks)
            self.box.invertY(layered and section.downwards)
            if before is None or not (np.array_equal(before.edges, section.edges)
                                      and np.array_equal(before.bounds, section.bounds)):
                self.fit()
            elif not layered:
                self.show_values([section.values[0]])
        self._show_probe(None)

    def set_colours(self, shown: Range | None, name: str) -> None:
        """The range and the colour map of the picture of layers."""
        self.picture.set_colours(shown, name)

    def fit(self) -> None:
        section = self.section
        if section is None:
            return
        length = float(section.edges[-1]) or 1.0
        self.box.setXRange(0.0, length, padding=0)
        if section.layered:
            self.box.setYRange(float(section.bounds[0]), float(section.bounds[-1]), padding=0)
        else:
            self.show_values([section.values[0]])

    def distance_text(self, distance: float) -> str:
        """A distance with its unit."""
        scale, unit = self._distance_unit()
        return f"{formats.number(distance / scale, digits=VALUE_DIGITS)} {unit}".rstrip()

    def _distance_unit(self) -> tuple[float, str]:
        section = self.section
        unit = section.result.unit if section is not None else ""
        if section is not None and unit == "m" and section.edges[-1] >= IN_KILOMETRES:
            return 1000.0, "km"
        return 1.0, unit_text(unit)

    def _distance_ticks(self, low: float, high: float, most: int) -> list[Tick]:
        scale, unit = self._distance_unit()
        return [(at, f"{text} {unit}".rstrip()) for at, text in number_ticks(low, high, most, scale)]

    def probe(self, distance: float, height: float) -> None:
        """Tell what lies at a place of the plot."""
        self._show_probe(self.section.at(distance, height) if self.section is not None else None, distance)

    def _show_probe(self, found: tuple[int, int] | None, distance: float = 0.0) -> None:
        section = self.section
        if section is None or found is None:
            self.readout = ""
            self.probed.emit(None)
        else:
            layer, stretch = found
            result = section.result
            x, y = float(result.x[stretch]), float(result.y[stretch])
            value = float(section.values[layer, stretch])
            outside = int(result.cells[stretch, 0]) < 0
            told = "outside" if outside else "no data" if np.isnan(value) else \
                f"{formats.number(value, digits=VALUE_DIGITS)} {unit_text(result.item.unit)}".rstrip()
            axis = result.item.layers
            words = [told, layer_words(axis, int(result.layers[layer])) if axis is not None else "",
                     self.distance_text(distance), self.frame.place(x, y)]
            self.readout = " · ".join(word for word in words if word)
            self.probed.emit((x, y))
        self.told.emit(self.readout)

    def _hover(self, place: QPointF) -> None:
        if not self.box.sceneBoundingRect().contains(place):
            self._show_probe(None)
            return
        at = self.box.mapSceneToView(place)
        self.probe(at.x(), at.y())

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._show_probe(None)
        return False


class _LayersItem(ScreenItem):
    """Distance by layer: each pixel shows the stretch and layer under it, hatched where that has no data."""

    def __init__(self) -> None:
        super().__init__(z=-10)
        self._section: Section | None = None
        self._shown: Range | None = None
        self._name = "viridis"
        self._kept: tuple[tuple[Screen, bool], QImage] | None = None

    def set_section(self, section: Section | None) -> None:
        self._section, self._kept = section, None
        self.update()

    def set_colours(self, shown: Range | None, name: str) -> None:
        if (shown, name) != (self._shown, self._name):
            self._shown, self._name, self._kept = shown, name, None
            self.update()

    def draw(self, painter: QPainter, screen: Screen) -> None:
        section = self._section
        if section is None:
            return
        target, xs, ys = screen.device_pixels()
        key = screen, Theme.current().dark
        if self._kept is None or self._kept[0] != key:
            layers, stretches = section.under(xs, ys)
            values = section.values[np.ix_(layers, stretches)]
            inside = (layers[:, None] >= 0) & (stretches >= 0) & (section.result.cells[stretches, 0] >= 0)
            values[~inside] = np.nan
            pixels, _ = colourise(values, self._shown, colormaps.argb(self._name))
            hatch(pixels, inside & (pixels == 0))
            self._kept = key, argb_image(pixels)
        painter.drawImage(target, self._kept[1])
