"""The four colour maps, 256 entries each, the same in light and dark: viridis, ember, tide, cividis.

The tables are in `resources/style/<name>.txt`, one `RRGGBB` a line. viridis is the published table, ember is magma from
0.10 to 0.96; tide and cividis join their nine stops smoothly in Oklab, lightness monotone (tide: on each half).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from mdstudio.resources import resource

if TYPE_CHECKING:
    from mdstudio.engine.model import Array

NAMES = ("viridis", "ember", "tide", "cividis")
TITLES = {"viridis": "Viridis", "ember": "Ember", "tide": "Tide", "cividis": "Cividis"}


@functools.cache
def colours(name: str) -> tuple[tuple[int, int, int], ...]:
    """The 256 colours as (red, green, blue), without NumPy. Raises `KeyError` for an unknown name."""
    if name not in NAMES:
        raise KeyError(name)
    lines = resource(f"style/{name}.txt").read_text("ascii").split()
    return tuple((int(line[0:2], 16), int(line[2:4], 16), int(line[4:6], 16)) for line in lines)


@functools.cache
def table(name: str) -> Array:
    """(256, 3) uint8 sRGB, read-only. Raises `KeyError` for an unknown name."""
    import numpy as np

    values = np.array(colours(name), np.uint8)
    values.setflags(write=False)
    return values


@functools.cache
def argb(name: str) -> Array:
    """(256,) uint32 opaque 0xAARRGGBB, read-only: ready for `QImage.Format_RGB32` and `Format_ARGB32`."""
    import numpy as np

    rgb = table(name).astype(np.uint32)
    packed = np.uint32(0xFF000000) | rgb[:, 0] << 16 | rgb[:, 1] << 8 | rgb[:, 2]
    packed.setflags(write=False)
    return packed


def lightness(rgb: Array) -> Array:
    """(n,) Oklab lightness, 0 to 1, of (n, 3) uint8 sRGB."""
    return srgb_to_oklab(rgb)[:, 0]


def srgb_to_oklab(rgb: Array) -> Array:
    """(n, 3) float64 Oklab of (n, 3) uint8 sRGB."""
    import numpy as np

    c = np.asarray(rgb, np.float64) / 255.0
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.cbrt(linear @ np.transpose(_TO_LMS)) @ np.transpose(_TO_LAB))


def oklab_to_srgb(lab: Array) -> Array:
    """(n, 3) uint8 sRGB, clipped to the gamut, of (n, 3) Oklab."""
    import numpy as np

    linear = np.clip((np.linalg.solve(_TO_LAB, lab.T) ** 3).T @ np.linalg.inv(_TO_LMS).T, 0.0, 1.0)
    c = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.asarray(np.rint(c * 255.0).astype(np.uint8))


_TO_LMS = ((0.4122214708, 0.5363325363, 0.0514459929),
           (0.2119034982, 0.6806995451, 0.1073969566),
           (0.0883024619, 0.2817188376, 0.6299787005))
_TO_LAB = ((0.2104542553, 0.7936177850, -0.0040720468),
           (1.9779984951, -2.4285922050, 0.4505937099),
           (0.0259040371, 0.7827717662, -0.8086757660))
