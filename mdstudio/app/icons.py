"""Icons: one stroke SVG each in resources/icons, coloured by token, cached. Main thread only.

`currentColor` in the file becomes the asked colour; white, the knock-out inside status shapes, becomes the background.
"""

from __future__ import annotations

import functools

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from mdstudio.app.theme import Theme
from mdstudio.resources import resource


def paint(painter: QPainter, name: str, rect: QRectF, colour: QColor, ground: QColor | None = None) -> None:
    """Draw an icon into a rectangle with a painter of any device; `ground` is the colour of knock-outs."""
    ratio = painter.device().devicePixelRatioF()
    size = round(min(rect.width(), rect.height()))
    knock = (ground or Theme.current().color("surface")).name()
    pixmap = _pixmap(name, size, colour.name(QColor.NameFormat.HexArgb), knock, ratio)
    painter.drawPixmap(rect.topLeft(), pixmap)


def pixmap(name: str, size: int, token: str = "text2", ground: str = "surface", ratio: float = 0.0) -> QPixmap:
    """An icon of `size` logical pixels in the colour of a token; shared, do not paint on it."""
    theme = Theme.current()
    if not ratio:
        screen = QGuiApplication.primaryScreen()
        ratio = screen.devicePixelRatio() if screen else 1.0
    return _pixmap(name, size, theme.color(token).name(QColor.NameFormat.HexArgb), theme.hex(ground), ratio)


def icon(name: str, size: int = 16, token: str = "text2", checked: str = "", disabled: str = "text3") -> QIcon:
    """A QIcon with its checked and disabled colours; made anew after a change of scheme."""
    result = QIcon()
    modes = ((QIcon.Mode.Normal, QIcon.State.Off, token), (QIcon.Mode.Normal, QIcon.State.On, checked or token),
             (QIcon.Mode.Disabled, QIcon.State.Off, disabled), (QIcon.Mode.Disabled, QIcon.State.On, disabled))
    ratios = {screen.devicePixelRatio() for screen in QGuiApplication.screens()} or {1.0}
    for mode, state, colour in modes:
        for ratio in ratios:
            result.addPixmap(pixmap(name, size, colour, ratio=ratio), mode, state)
    return result


def application_icon() -> QIcon:
    """The application's own icon."""
    result = QIcon()
    for size in (16, 24, 32, 48, 128, 256):
        result.addPixmap(_pixmap("mdstudio", size, "#ff000000", "#ffffff", 1.0))
    return result


@functools.cache
def _source(name: str) -> str:
    return resource(f"icons/{name}.svg").read_text("utf-8")


@functools.lru_cache(maxsize=2048)
def _pixmap(name: str, size: int, colour: str, ground: str, ratio: float) -> QPixmap:
    alpha = int(colour[1:3], 16) / 255
    svg = _source(name).replace("currentColor", f"#{colour[3:]}").replace('"white"', f'"{ground}"')
    renderer = QSvgRenderer(QByteArray(svg.encode()))
    result = QPixmap(round(size * ratio), round(size * ratio))
    result.fill(Qt.GlobalColor.transparent)
    painter = QPainter(result)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setOpacity(alpha)
    renderer.render(painter, QRectF(0, 0, result.width(), result.height()))
    painter.end()
    result.setDevicePixelRatio(ratio)
    return result
