"""What lies over a map: graticule, touched pages, pins, the rectangle, paths, the probe. Main thread only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QImage, QPainter, QPainterPath, QPen

from mdstudio.app.plots.axes import AxisItem
from mdstudio.app.plots.mesh_items import touched_pixels
from mdstudio.app.plots.mesh_pages import MeshPages
from mdstudio.app.plots.mesh_raster import MeshWindow
from mdstudio.app.plots.pages import PageShape
from mdstudio.app.plots.paint import argb_image, color, font, hairline, line, rounded_panel
from mdstudio.app.plots.screen_items import Screen, ScreenItem
from mdstudio.app.widgets.hatch import hatch
from mdstudio.engine.requests import Bbox

MOST_BORDERS, SMALLEST_PAGE = 1500, 400.0  # lines, square pixels a page: beyond, lines only cover what they part


class Graticule(ScreenItem):
    """Hairlines at the ticks of the two axes."""

    def __init__(self, bottom: AxisItem, left: AxisItem) -> None:
        super().__init__(z=5)
        self._axes = bottom, left

    def draw(self, painter: QPainter, screen: Screen) -> None:
        painter.setPen(hairline("graticule", 46))
        bottom, left = self._axes
        box = screen.box
        for x, _ in bottom.shown_ticks():
            at = round(screen.x(x)) + 0.5
            painter.drawLine(QLineF(at, box.top(), at, box.bottom()))
        for y, _ in left.shown_ticks():
            at = round(screen.y(y)) + 0.5
            painter.drawLine(QLineF(box.left(), at, box.right(), at))


class ExplainItem(ScreenItem):
    """Pages that a read touched: pink outline on white, lines between them, white hatch inside.

    The hatch is left out for pages from the cache; a whole slice has the outline alone, which hides nothing.
    """

    def __init__(self) -> None:
        super().__init__(z=20)
        self._shape: PageShape | MeshPages | None = None
        self._window: MeshWindow | None = None
        self._image: tuple[int, QImage] | None = None  # of the pages of a mesh, and the scheme it was made for
        self._hatched = self._parted = True

    def set_shape(self, shape: PageShape | MeshPages | None, *, hatched: bool = True, parted: bool = True) -> None:
        """`parted`: with the lines between pages."""
        self._shape, self._hatched, self._parted, self._image = shape, hatched, parted, None
        self.update()

    def set_window(self, window: MeshWindow | None) -> None:
        self._window, self._image = window, None
        self.update()

    def draw(self, painter: QPainter, screen: Screen) -> None:
        shape = self._shape
        if isinstance(shape, MeshPages):
            self._draw_elements(painter, screen, shape)
        elif shape is not None:
            self._draw_shape(painter, screen, shape)

    def _draw_elements(self, painter: QPainter, screen: Screen, pages: MeshPages) -> None:
        if self._window is None:
            return
        scheme = color("explain").rgba()
        if self._image is None or self._image[0] != scheme:
            self._image = scheme, argb_image(
                touched_pixels(self._window, pages, hatched=self._hatched, parted=self._parted))
        screen.lay(painter, self._image[1], self._window)

    def _draw_shape(self, painter: QPainter, screen: Screen, shape: PageShape) -> None:
        if self._hatched:
            path = QPainterPath()
            for x0, y0, x1, y1 in shape.areas:
                path.addRect(screen.rect(x0, y0, x1, y1))
            painter.fillPath(path, hatch("diagonal", color("halo", 120), screen.ratio, 1.0))
        if self._parted and len(shape.borders) <= MOST_BORDERS and _room(screen, shape) >= SMALLEST_PAGE:
            painter.setPen(line(color("halo", 150), 1.0))
            painter.drawLines(_lines(screen, shape.borders))
        outline = _lines(screen, shape.outline)
        for pen in (line(color("halo"), 5.0), line("explain", 2.5)):
            pen.setCapStyle(Qt.PenCapStyle.SquareCap)
            painter.setPen(pen)
            painter.drawLines(outline)


def _room(screen: Screen, shape: PageShape) -> float:
    """Square pixels between the lines."""
    a = shape.areas
    pixels = abs(screen.sx * screen.sy) * float(((a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])).sum())
    return pixels / (len(shape.borders) + 1)


def _lines(screen: Screen, parts: object) -> list[QLineF]:
    return [QLineF(round(screen.x(x0)), round(screen.y(y0)), round(screen.x(x1)), round(screen.y(y1)))
            for x0, y0, x1, y1 in parts]  # type: ignore[attr-defined]


class RectangleItem(ScreenItem):
    """The asked rectangle; exact, not snapped to cells."""

    def __init__(self) -> None:
        super().__init__(z=25)
        self.bbox: Bbox | None = None

    def set_bbox(self, bbox: Bbox | None) -> None:
        self.bbox = bbox
        self.update()

    def draw(self, painter: QPainter, screen: Screen) -> None:
        if self.bbox is None:
            return
        box = screen.rect(*self.bbox)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for pen in (line(color("halo"), 3.0), line(color("ink"), 1.4)):
            painter.setPen(pen)
            painter.drawRect(box)
        painter.setPen(line(color("ink"), 1.2))
        painter.setBrush(color("halo"))
        for corner in (box.topLeft(), box.topRight(), box.bottomLeft(), box.bottomRight()):
            painter.drawRect(QRectF(corner.x() - 3.5, corner.y() - 3.5, 7, 7))


class PathItem(ScreenItem):
    """An asked polygon (a `ring`) or line, or the corners of one that is being drawn; exact, not snapped to cells."""

    def __init__(self, *, ring: bool) -> None:
        super().__init__(z=25)
        self.ring = ring
        self.corners: tuple[tuple[float, float], ...] = ()
        self.closed = False  # or ended: it is not being drawn any more
        self._mark: tuple[float, float] | None = None

    @property
    def least(self) -> int:
        """As many corners as one needs."""
        return 3 if self.ring else 2

    @property
    def drawing(self) -> bool:
        return bool(self.corners) and not self.closed

    def set_corners(self, corners: tuple[tuple[float, float], ...], *, closed: bool) -> None:
        self.corners, self.closed, self._mark = corners, closed, None
        self.update()

    def set_mark(self, place: tuple[float, float] | None) -> None:
        """Where the pointer is beside a plot of what lies along it."""
        self._mark = place
        self.update()

    def draw(self, painter: QPainter, screen: Screen) -> None:
        places = [screen.point(*corner) for corner in self.corners]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for pen in (line(color("halo"), 3.0), line(color("ink"), 1.4)):
            painter.setPen(pen)
            painter.drawPolyline([*places, *(places[:1] if self.closed and self.ring else [])])
        painter.setPen(line(color("ink"), 1.2))
        painter.setBrush(color("halo"))
        for place in places:
            painter.drawRect(QRectF(place.x() - 3.5, place.y() - 3.5, 7, 7))
        if self._mark is not None:
            painter.setPen(QPen(color("halo"), 1.6))
            painter.setBrush(color("ink"))
            painter.drawEllipse(screen.point(*self._mark), 4.6, 4.6)


@dataclass(frozen=True)
class Pin:
    """A point that was asked for: letter and colour token are the same in the map, the table and the series."""

    letter: str
    token: str
    x: float
    y: float
    text: str = ""


class PinsItem(ScreenItem):
    """Dots with a letter and a value beside them."""

    def __init__(self) -> None:
        super().__init__(z=30)
        self._pins: tuple[Pin, ...] = ()

    def set_pins(self, pins: tuple[Pin, ...]) -> None:
        self._pins = pins
        self.update()

    def draw(self, painter: QPainter, screen: Screen) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for pin in self._pins:
            at = screen.point(pin.x, pin.y)
            if not screen.box.adjusted(-4, -4, 4, 4).contains(at):
                continue
            painter.setPen(QPen(color("halo"), 1.6))
            painter.setBrush(color(pin.token))
            painter.drawEllipse(at, 4.6, 4.6)
            self._draw_label(painter, screen, pin, at)

    def _draw_label(self, painter: QPainter, screen: Screen, pin: Pin, at: QPointF) -> None:
        strong = font("caption-strong")
        metrics = QFontMetricsF(strong)
        width = 26 + (metrics.horizontalAdvance(pin.text) + 6 if pin.text else 0)
        box = QRectF(at.x() + 9, at.y() - 25, width, 20)
        if box.right() > screen.box.right():
            box.moveRight(at.x() - 9)
        if box.top() < screen.box.top():
            box.moveTop(at.y() + 6)
        rounded_panel(painter, box, 10.0, 250)
        disc = QRectF(box.left() + 3, box.top() + 2.5, 15, 15)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color(pin.token))
        painter.drawEllipse(disc)
        painter.setFont(strong)
        painter.setPen(color("onaccent"))
        painter.drawText(disc, Qt.AlignmentFlag.AlignCenter, pin.letter)
        painter.setPen(color("text"))
        painter.drawText(box.adjusted(23, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, pin.text)


class ProbeItem(ScreenItem):
    """The cell under the keyboard probe, outlined in black and white so that it shows on any colour."""

    def __init__(self, outline: Callable[[int, int], Bbox]) -> None:
        super().__init__(z=28)
        self._outline = outline
        self._cell: tuple[int, int] | None = None

    @property
    def marked(self) -> bool:
        return self._cell is not None

    def set_cell(self, cell: tuple[int, int] | None) -> None:
        self._cell = cell
        self.update()

    def draw(self, painter: QPainter, screen: Screen) -> None:
        if self._cell is None:
            return
        draw_selected(painter, screen.rect(*self._outline(*self._cell)))


def draw_selected(painter: QPainter, box: QRectF, least: float = 8.0) -> None:
    """A selection on any colour: white 2 px inside black 1 px, on whole pixels, at least `least` wide."""
    grow_x, grow_y = max(0.0, least - box.width()) / 2, max(0.0, least - box.height()) / 2
    box = box.adjusted(-grow_x, -grow_y, grow_x, grow_y)
    box = QRectF(round(box.left()) + 0.5, round(box.top()) + 0.5, round(box.width()) - 1, round(box.height()) - 1)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(color("halo"), 2))
    painter.drawRect(box.adjusted(1, 1, -1, -1))
    painter.setPen(QPen(color("ink"), 1))
    painter.drawRect(box.adjusted(-1, -1, 1, 1))
