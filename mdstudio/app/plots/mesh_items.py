"""What a mesh is painted with: element lines over its colours, pages that were touched. Made from a window of element
numbers, so the cost is that of the screen. Main thread only."""

from __future__ import annotations

import numpy as np

from mdstudio.app.plots.mesh_pages import MeshPages
from mdstudio.app.plots.mesh_raster import MeshWindow
from mdstudio.app.plots.paint import color, hatch
from mdstudio.engine.model import Array

LINES_FROM, LINES_FULL, LINES_ALPHA = 4.0, 14.0, 0.34  # pixels an element: where its lines begin to show, and wholly
_HATCH = 9  # pixels from line to line
_HALO, _LINE = 3, 1  # pixels on either side of the outline of pages


def element_pixels(window: MeshWindow, colours: Array) -> Array:
    """(rows, columns) uint32 premultiplied: the colour of each element, a hatch where it has no data, and lines
    between them where they are large."""
    pixels = window.spread(colours, 0)
    hatch(pixels, (pixels == 0) & (window.ids >= 0))
    part = (window.pixels_an_element - LINES_FROM) / (LINES_FULL - LINES_FROM)
    if part > 0:
        alpha = min(part, 1.0) * LINES_ALPHA
        pixels[window.edges] = _lined(pixels[window.edges], alpha)
    return pixels


def _lined(pixels: Array, alpha: float) -> Array:
    """(n,) premultiplied pixels with a line of an opacity over them: black over light colours, white over dark ones,
    grey where there is no data."""
    channels = np.ascontiguousarray(pixels).view(np.uint8).reshape(-1, 4).astype(np.float64)  # blue, green, red, alpha
    light = channels[:, :3] @ (0.11, 0.59, 0.3)
    line = np.where(channels[:, 3] == 0, 127.0, np.where(light > 110, 0.0, 255.0))
    over = np.stack([line, line, line, np.full_like(line, 255.0)], axis=1)
    return np.round(channels * (1 - alpha) + over * alpha).astype(np.uint8).view(np.uint32)[:, 0]


def touched_pixels(window: MeshWindow, pages: MeshPages, *, hatched: bool, parted: bool) -> Array:
    """(rows, columns) uint32 premultiplied: the outline of the pages in the colour of explain on white, lines between
    pages, white hatch inside."""
    entries = pages.on_window(window)
    held = entries >= 0
    pixels = np.zeros(held.shape, np.uint32)
    if hatched:
        i, j = np.ogrid[:held.shape[0], :held.shape[1]]
        pixels[held & ((i + j) % _HATCH < 1)] = _white(120)
    if parted:
        between = np.zeros(held.shape, bool)
        between[:, :-1] = held[:, :-1] & held[:, 1:] & (entries[:, :-1] != entries[:, 1:])
        between[:-1] |= held[:-1] & held[1:] & (entries[:-1] != entries[1:])
        pixels[between] = _white(150)
    around = _border(held)
    pixels[_wider(around, _HALO)] = np.uint32(color("halo").rgba())
    pixels[_wider(around, _LINE)] = np.uint32(color("explain").rgba())
    return pixels


def outline_pixels(held: Array) -> Array:
    """(rows, columns) uint32: a line around what is held, white on black, that shows on any colour."""
    around = _border(held)
    pixels = np.zeros(held.shape, np.uint32)
    pixels[_wider(around, 2)] = np.uint32(color("ink").rgba())
    pixels[_wider(around, 1)] = np.uint32(color("halo").rgba())
    return pixels


def _border(held: Array) -> Array:
    around = np.zeros(held.shape, bool)
    around[:, :-1] = held[:, :-1] != held[:, 1:]
    around[:-1] |= held[:-1] != held[1:]
    return around


def _white(alpha: int) -> np.uint32:
    return np.uint32(alpha * 0x01010101)


def _wider(mask: Array, by: int) -> Array:
    """A mask grown by so many pixels to each side."""
    for _ in range(by):
        grown = mask.copy()
        grown[1:] |= mask[:-1]
        grown[:-1] |= mask[1:]
        grown[:, 1:] |= mask[:, :-1]
        grown[:, :-1] |= mask[:, 1:]
        mask = grown
    return mask
