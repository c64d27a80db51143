"""Plot items that are painted in screen pixels at data places: crisp at every zoom. Main thread only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QPainter, QRegion, QTransform

from mdstudio.app.plots.mesh_items import element_pixels
from mdstudio.app.plots.mesh_raster import MeshRaster, MeshWindow, Pixels
from mdstudio.app.plots.paint import argb_image, hatch
from mdstudio.app.plots.picture import MapPicture
from mdstudio.app.plots.raster import GridRaster
from mdstudio.app.theme import Theme
from mdstudio.engine.model import Array


@dataclass(frozen=True)
class Screen:
    """How data places map to the screen: axis-parallel, so two scales and two shifts.

    Attributes:
        box: the visible part in logical pixels.
        ratio: device pixels a logical pixel.
    """

    sx: float
    sy: float
    dx: float
    dy: float
    box: QRectF
    ratio: float

    @classmethod
    def of(cls, transform: QTransform, view: QRectF, ratio: float) -> Screen:
        return cls(transform.m11(), transform.m22(), transform.dx(), transform.dy(),
                   transform.mapRect(view).normalized(), ratio)

    def x(self, value: float) -> float:
        return value * self.sx + self.dx

    def y(self, value: float) -> float:
        return value * self.sy + self.dy

    def point(self, x: float, y: float) -> QPointF:
        return QPointF(self.x(x), self.y(y))

    def rect(self, x0: float, y0: float, x1: float, y1: float) -> QRectF:
        return QRectF(self.point(x0, y0), self.point(x1, y1)).normalized()

    def device_pixels(self) -> tuple[QRectF, Array, Array]:
        """The visible part on whole device pixels, and the data places of the pixel columns' and rows' centres."""
        left, top = np.floor(self.box.left() * self.ratio), np.floor(self.box.top() * self.ratio)
        right, bottom = np.ceil(self.box.right() * self.ratio), np.ceil(self.box.bottom() * self.ratio)
        xs = ((left + 0.5 + np.arange(max(1, int(right - left)))) / self.ratio - self.dx) / self.sx
        ys = ((top + 0.5 + np.arange(max(1, int(bottom - top)))) / self.ratio - self.dy) / self.sy
        return QRectF(left / self.ratio, top / self.ratio, xs.size / self.ratio, ys.size / self.ratio), xs, ys

    def pixels(self) -> Pixels:
        """The visible part as a lattice of device pixels."""
        _, xs, ys = self.device_pixels()
        return Pixels(float(xs[0]), float(ys[0]), 1 / self.ratio / self.sx, 1 / self.ratio / self.sy, ys.size, xs.size)

    def lay(self, painter: QPainter, image: QImage, window: MeshWindow) -> QRectF:
        """Draw an image of a window of a mesh where the window is: pixel on pixel when it was made for this screen."""
        exact = window.pixels == self.pixels()
        target = self.device_pixels()[0] if exact else self.rect(*window.pixels.extent)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        painter.drawImage(target, image)
        return target


class ScreenItem(pg.GraphicsObject):  # type: ignore[misc]
    """Covers the view; subclasses paint in screen pixels."""

    def __init__(self, z: float = 0.0) -> None:
        super().__init__()
        self.setZValue(z)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)

    def boundingRect(self) -> QRectF:
        rect = self.viewRect()
        return QRectF() if rect is None else QRectF(rect)

    def viewTransformChanged(self) -> None:
        super().viewTransformChanged()  # forgets the view that it keeps
        self.prepareGeometryChange()
        self.update()

    def dataBounds(self, axis: int, frac: float = 1.0, orthoRange: Any = None) -> None:
        """Never part of an automatic range."""
        return None

    def paint(self, painter: QPainter, *_: Any) -> None:
        view = self.boundingRect()
        if view.isEmpty():
            return
        painter.save()
        device = painter.device()
        screen = Screen.of(painter.transform(), view, device.devicePixelRatioF() if device else 1.0)
        painter.resetTransform()
        self.draw(painter, screen)
        painter.restore()

    def draw(self, painter: QPainter, screen: Screen) -> None:
        raise NotImplementedError


class MapImageItem(ScreenItem):
    """The cells of a map: smooth while those of a grid are smaller than a pixel, else each pixel shows its own cell.
    Cells without data are hatched: they are not where no cell is.

    The elements under the pixels of a mesh come as a window from a worker thread; until it is there the last one moves
    along, over the picture of the whole mesh.
    """

    def __init__(self) -> None:
        super().__init__(z=-10)
        self._picture: MapPicture | None = None
        self._kept: tuple[Any, QImage] | None = None
        self._window: MeshWindow | None = None

    def set_picture(self, picture: MapPicture | None) -> None:
        self._picture, self._kept = picture, None
        self.update()

    def set_window(self, window: MeshWindow | None) -> None:
        self._window, self._kept = window, None
        self.update()

    def draw(self, painter: QPainter, screen: Screen) -> None:
        if self._picture is None:
            return
        if isinstance(self._picture.raster, MeshRaster):
            self._draw_elements(painter, screen, self._picture, self._picture.raster)
            return
        width, height = self._picture.raster.cell_size()
        smooth = min(abs(width * screen.sx), abs(height * screen.sy)) * screen.ratio < 1.0
        self._draw_cells(painter, screen, self._picture, self._picture.raster, hatch_only=smooth)
        if smooth:
            self._draw_smooth(painter, screen, self._picture)

    def _draw_smooth(self, painter: QPainter, screen: Screen, picture: MapPicture) -> None:
        whole = screen.rect(*picture.raster.extent)
        level = picture.levels[0]
        for smaller in picture.levels[1:]:  # the smallest one that still has a pixel for each on the screen
            if smaller.width() >= whole.width() * screen.ratio and smaller.height() >= whole.height() * screen.ratio:
                level = smaller
        seen = whole.intersected(screen.box.adjusted(-1, -1, 1, 1))
        if seen.isEmpty():
            return
        ax, ay = level.width() / whole.width(), level.height() / whole.height()
        left, top = np.floor((seen.left() - whole.left()) * ax), np.floor((seen.top() - whole.top()) * ay)
        right = min(np.ceil((seen.right() - whole.left()) * ax), level.width())
        bottom = min(np.ceil((seen.bottom() - whole.top()) * ay), level.height())
        target = QRectF(whole.left() + left / ax, whole.top() + top / ay, (right - left) / ax, (bottom - top) / ay)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(target, level, QRectF(left, top, right - left, bottom - top))

    def _draw_cells(self, painter: QPainter, screen: Screen, picture: MapPicture, raster: GridRaster, *,
                    hatch_only: bool) -> None:
        """The colour of the cell under each pixel, or, beneath smooth ones, just the hatch of those without data."""
        if hatch_only and not picture.numbers.no_data:
            return
        key = (screen, id(picture), hatch_only, Theme.current().dark)
        if self._kept is None or self._kept[0] != key:
            _, xs, ys = screen.device_pixels()
            numbers = raster.cells_at(xs, ys)
            pixels = np.where(numbers >= 0, picture.colours.reshape(-1)[numbers], np.uint32(0))
            empty = (numbers >= 0) & (pixels == 0)
            if hatch_only:
                pixels[:] = 0
            hatch(pixels, empty)
            self._kept = key, argb_image(pixels)
        target, _, _ = screen.device_pixels()
        painter.drawImage(target, self._kept[1])

    def _draw_elements(self, painter: QPainter, screen: Screen, picture: MapPicture, raster: MeshRaster) -> None:
        window = self._window
        if window is None or window is raster.whole:
            self._draw_smooth(painter, screen, picture)
            return
        if window.pixels != screen.pixels():
            beside = QRegion(screen.box.toAlignedRect()) - QRegion(screen.rect(*window.pixels.extent).toRect())
            painter.save()
            painter.setClipRegion(beside)
            self._draw_smooth(painter, screen, picture)
            painter.restore()
        key = Theme.current().dark
        if self._kept is None or self._kept[0] != key:
            self._kept = key, argb_image(element_pixels(window, picture.colours))
        screen.lay(painter, self._kept[1], window)
