"""Numbers to colours: one lookup per cell, no data transparent. NumPy only, any thread."""

from __future__ import annotations

import numpy as np

from mdstudio.app.plots.ranges import HISTOGRAM_BINS, Range, place_in_range
from mdstudio.engine.model import Array

_BLOCK = 1 << 20  # cells at a time: bounds the temporary arrays


def colourise(values: Array, shown: Range | None, table: Array) -> tuple[Array, Array]:
    """Colours of an array and the histogram of what falls into the range.

    Args:
        values: any shape, float64, NaN for no data.
        shown: lowest and highest colour; values beyond take the end colours. None: nothing is finite.
        table: (256,) uint32 0xAARRGGBB (`colormaps.argb`).

    Returns:
        (same shape) uint32 0xAARRGGBB, alpha 0 for NaN; (256,) int64 counts.
    """
    colours = np.zeros(values.size, np.uint32)
    counts = np.zeros(HISTOGRAM_BINS, np.int64)
    if shown is not None:
        flat = values.reshape(-1)
        for start in range(0, flat.size, _BLOCK):
            place = place_in_range(flat[start:start + _BLOCK], shown)
            known = ~np.isnan(place)
            clipped = np.clip(np.where(known, place, 0.0), 0.0, 1.0)
            index = np.minimum((clipped * 256).astype(np.int64), 255)
            colours[start:start + _BLOCK] = np.where(known, table[index], np.uint32(0))
            inside = index[known & (place >= 0.0) & (place <= 1.0)]
            counts += np.bincount(inside, minlength=HISTOGRAM_BINS)
    return colours.reshape(values.shape), counts
