"""Hints that need no source: the steps that floats commonly have, found by one pass or one verification each.

Powers of two (GRIB with a binary scale, fields rounded to bits) and decimals. The search for any other lattice is not
here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mdstudio.engine.codecs.forms import COMPACT, LATTICE, NO_MASK
from mdstudio.engine.codecs.kernels import kernels
from mdstudio.engine.codecs.transforms import Tile, Transform
from mdstudio.engine.model import Hint

_DECIMALS = range(1, 7)


def verified(tile: Tile, hints: Sequence[Hint]) -> Hint | None:
    """The hint that gives every element back: the first of the source's own, else the widest common step."""
    if tile.kind != 2:
        return None
    mask = COMPACT if tile.masked else NO_MASK

    def steps(hint: Hint) -> int:
        return tile.steps(Transform(LATTICE, mask=mask, hint=hint))

    own = next((hint for hint in hints if steps(hint)), None)
    if own is not None:
        return own
    found = [(count, i, hint) for i, hint in enumerate(_common(tile)) if (count := steps(hint))]
    return min(found, key=lambda one: one[:2])[2] if found else None


def _common(tile: Tile) -> Iterator[Hint]:
    for digits in _DECIMALS:
        yield Hint(3, 10.0**digits)
        if tile.size == 8:
            yield Hint(1, 10.0**-digits)
    exponent = kernels.binary_step(tile.valid_elements(), tile.size)
    if -1000 < exponent < 1000:
        yield Hint(1, 2.0**exponent)
