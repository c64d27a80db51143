"""The heatmap of pages over a grid or mesh: one picture of the screen, however many pages. Main thread only."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter

from mdstudio.app.plots.mesh_items import outline_pixels
from mdstudio.app.plots.mesh_pages import MeshPages
from mdstudio.app.plots.mesh_raster import MeshRaster, MeshWindow
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
        self._lattice: PageLattice | MeshPages | None = None
        self._raster: GridRaster | MeshRaster | None = None
        self._window: MeshWindow | None = None
        self._colours = np.zeros(0, np.uint32)
        self._entries: tuple[Any, Array] | None = None
        self._image: tuple[Any, QImage] | None = None
        self.selected: int | None = None

    def set_pages(self, lattice: PageLattice | MeshPages | None, raster: GridRaster | MeshRaster | None) -> None:
        self._lattice, self._raster, self._entries, self._image = lattice, raster, None, None
        self.update()

    def set_window(self, window: MeshWindow | None) -> None:
        """The elements of a mesh under the pixels."""
        self._window, self._entries, self._image = window, None, None
        self.update()

    def set_colours(self, colours: Array) -> None:
        """(entries,) uint32 0xAARRGGBB, alpha 0 for a page without a colour (all no data)."""
        self._colours, self._image = np.asarray(colours, np.uint32), None
        self.update()

    def select(self, entry: int | None) -> None:
        self.selected = entry
        self.update()

    def entry_of(self, cell: tuple[int, int] | None) -> int:
        """The entry of the page that holds a cell, -1 where there is none."""
        return -1 if cell is None or self._lattice is None else self._lattice.page_at(*cell)

    def draw(self, painter: QPainter, screen: Screen) -> None:
        if self._lattice is None or self._raster is None or not self._colours.size:
            return
        target, xs, ys = screen.device_pixels()
        key: Any = screen
        if isinstance(self._lattice, MeshPages):
            window = self._window
            if window is None:
                return
            key = window
            target = target if window.pixels == screen.pixels() else screen.rect(*window.pixels.extent)
        if self._entries is None or self._entries[0] != key:
            self._entries, self._image = (key, self._entries_on(xs, ys)), None
        entries = self._entries[1]
        no_data = color("nodata").rgba()
        if self._image is None or self._image[0] != no_data:
            self._image = no_data, argb_image(self._pixels(entries, no_data))
        painter.drawImage(target, self._image[1])
        if self.selected is not None:
            self._draw_selected(painter, target, entries == self.selected)

    def _entries_on(self, xs: Array, ys: Array) -> Array:
        if isinstance(self._lattice, MeshPages):
            assert self._window is not None
            return self._lattice.on_window(self._window)
        assert isinstance(self._lattice, PageLattice)
        assert isinstance(self._raster, GridRaster)
        return self._lattice.on_screen(self._raster, xs, ys)

    def _draw_selected(self, painter: QPainter, target: QRectF, held: Array) -> None:
        """The box around a page; of a mesh, whose pages have any shape, its outline."""
        found = np.nonzero(held)
        if not found[0].size:
            return
        width, height = target.width() / held.shape[1], target.height() / held.shape[0]
        if isinstance(self._lattice, MeshPages):
            painter.drawImage(target, argb_image(outline_pixels(held)))
            return
        left, right, top, bottom = found[1].min(), found[1].max() + 1, found[0].min(), found[0].max() + 1
        draw_selected(painter, QRectF(target.left() + left * width, target.top() + top * height,
                                      (right - left) * width, (bottom - top) * height))

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
