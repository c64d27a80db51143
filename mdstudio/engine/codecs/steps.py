"""Hints that need no source: the steps that floats commonly have, found by one pass or one verification each.

Powers of two (GRIB with a binary scale, fields rounded to bits) and decimals. The search for any other lattice is not
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mdstudio.engine.codecs.block import COMPACT, LATTICE, NO_MASK
from mdstudio.engine.codecs.kernels import kernels
from mdstudio.engine.codecs.transforms import Tile, Transform
from mdstudio.engine.model import Hint

_NO_STEP = 1 << 15
_DECIMALS = range(1, 7)


def verified(tile: Tile, hints: Sequence[Hint]) -> tuple[Hint, ...]:
    """The first hint that gives every element of the tile back: the source's own, else a common step; or none."""
    if tile.kind != 2:
        return ()
    mask = COMPACT if tile.masked else NO_MASK
    for hint in (*hints, *_common(tile)):
        if tile.applies(Transform(LATTICE, mask=mask, hint=hint)):
            return (hint,)
    return ()


def _common(tile: Tile) -> Iterator[Hint]:
    exponent = kernels.binary_step(tile.valid_elements(), tile.size)
    if -1000 < exponent < 1000 and exponent != _NO_STEP:
        yield Hint(1, 2.0**exponent)
    for digits in _DECIMALS:
        yield Hint(3, 10.0**digits)
        if tile.size == 8:
            yield Hint(1, 10.0**-digits)
