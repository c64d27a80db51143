"""The heatmap of pages over a grid: one screen-sized picture, whatever the number of pages. Main thread only."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from mdstudio.app.plots.overlays import draw_selected
from mdstudio.app.plots.pages import PageLattice
from mdstudio.app.plots.paint import argb_image, color
from mdstudio.app.plots.raster import GridRaster
from mdstudio.app.plots.screen_items import Screen, ScreenItem
from mdstudio.engine.model import Array

SMALLEST_PARTED = 6  # device pixels: smaller pages touch without a line between them


class HeatmapItem(ScreenItem):
    """Each device pixel looks up the page it lies in, so neighbours meet without a gap and a million pages cost what
    the screen costs."""

    def __init__(self) -> None:
        super().__init__(z=0)
        self._lattice: PageLattice | None = None
        self._raster: GridRaster | None = None
        self._colours = np.zeros(0, np.uint32)
        self._entries: tuple[Any, Array] | None = None
        self._image: tuple[Any, QImage] | None = None
        self.selected: int | None = None

    def set_pages(self, lattice: PageLattice | None, raster: GridRaster | None) -> None:
        self._lattice, self._raster, self._entries, self._image = lattice, raster, None, None
        self.update()

    def set_colours(self, colours: Array) -> None:
        """(entries,) uint32 0xAARRGGBB, alpha 0 for a page without a colour (all no data)."""
        self._colours, self._image = np.asarray(colours, np.uint32), None
        self.update()

    def select(self, entry: int | None) -> None:
        self.selected = entry
        self.update()

    def entry_at(self, x: float, y: float) -> int:
        """The entry of the page at a place, -1 where there is none."""
        cell = self._raster.cell_at(x, y) if self._raster is not None else None
        return -1 if cell is None or self._lattice is None else self._lattice.page_at(*cell)

    def draw(self, painter: QPainter, screen: Screen) -> None:
        if self._lattice is None or self._raster is None or not self._colours.size:
            return
        target, xs, ys = screen.device_pixels()
        if self._entries is None or self._entries[0] != screen:
            self._entries, self._image = (screen, self._lattice.on_screen(self._raster, xs, ys)), None
        entries = self._entries[1]
        no_data = color("nodata").rgba()
        if self._image is None or self._image[0] != no_data:
            self._image = no_data, argb_image(self._pixels(entries, no_data))
        painter.drawImage(target, self._image[1])
        if self.selected is not None:
            found = np.nonzero(entries == self.selected)
            if found[0].size:
                left, right, top, bottom = found[1].min(), found[1].max() + 1, found[0].min(), found[0].max() + 1
                box = QRectF(left, top, right - left, bottom - top)
                draw_selected(painter, QRectF(target.left() + box.left() / screen.ratio,
                                              target.top() + box.top() / screen.ratio,
                                              box.width() / screen.ratio, box.height() / screen.ratio))

    def _pixels(self, entries: Array, no_data: int) -> Array:
        table = np.append(np.where(self._colours == 0, np.uint32(no_data), self._colours), np.uint32(0))
        pixels = np.asarray(table[np.where(entries < self._colours.size, entries, -1)])
        across, down = _lines_between(entries)
        pixels[across] = 0
        pixels[down] = 0
        return pixels


def _lines_between(entries: Array) -> tuple[Array, Array]:
    """Masks of the pixels that part pages: the last column and row of each, where pages are large enough."""
    right, below = np.zeros(entries.shape, bool), np.zeros(entries.shape, bool)
    right[:, :-1] = entries[:, :-1] != entries[:, 1:]
    below[:-1] = entries[:-1] != entries[1:]
    inside = max(1, int(np.count_nonzero(entries >= 0)))
    pages = max(1, np.unique(entries[::3, ::3]).size)
    if inside / pages < SMALLEST_PARTED ** 2:
        right[:], below[:] = False, False
    return right, below
