"""What the plots share in painting: tokens as pens, panels, images. Main thread only."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from mdstudio.app.fonts import font as font
from mdstudio.app.theme import Theme
from mdstudio.engine.model import Array

_HATCH = 10  # device pixels from line to line of what has no data
LEFT_WIDTH = 52  # of the value axis of every plot, so that plots beneath each other line up


def color(name: str, alpha: int = 255) -> QColor:
    """A token of the theme in force."""
    return Theme.current().color(name, alpha)


def hairline(name: str, alpha: int = 255) -> QPen:
    """A cosmetic pen of one device pixel."""
    pen = QPen(color(name, alpha))
    pen.setWidth(0)
    return pen


def line(name: str | QColor, width: float = 1.5, *, dashed: bool = False) -> QPen:
    """A pen of a width in screen pixels."""
    pen = QPen(color(name) if isinstance(name, str) else name, width)
    pen.setCosmetic(True)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if dashed:
        pen.setDashPattern([4, 3])
    return pen


def hatch(pixels: Array, where: Array) -> None:
    """Lines over (rows, columns) uint32 `pixels` where there are cells without data, to tell them from no cells."""
    i, j = np.ogrid[:pixels.shape[0], :pixels.shape[1]]
    pixels[where & ((i - j) % _HATCH == 0)] = np.uint32(color("line2").rgba())


def argb_image(pixels: Array) -> QImage:
    """A QImage that owns its copy of (height, width) uint32 0xAARRGGBB whose alpha is 0 or 255; any thread."""
    height, width = pixels.shape
    view = QImage(pixels.tobytes(), width, height, width * 4, QImage.Format.Format_ARGB32_Premultiplied)
    return view.copy()


def rounded_panel(painter: QPainter, box: QRectF, radius: float = 6.0, alpha: int = 240) -> None:
    """The ground of a note that lies over a plot."""
    painter.setPen(hairline("line"))
    painter.setBrush(color("surface", alpha))
    painter.drawRoundedRect(box, radius, radius)
