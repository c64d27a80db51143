"""Which lattice the floats of a tile lie on: what the source says, what served tiles before, common steps, the search.

Powers of two (GRIB with a binary scale, fields rounded to bits) and decimals are found by one pass or one verification
each; any other lattice by `quantisation`. Every one is verified on the whole tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mdstudio.engine.codecs import quantisation
from mdstudio.engine.codecs.forms import COMPACT, LATTICE, NO_MASK
from mdstudio.engine.codecs.kernels import kernels
from mdstudio.engine.codecs.lattice_path import TESTS
from mdstudio.engine.codecs.quantisation import Budget
from mdstudio.engine.codecs.transforms import Tile, Transform
from mdstudio.engine.model import DTYPES, Array, Hint

_DECIMALS = range(1, 7)
_KEPT = 4
ZERO_CELSIUS = -float(np.float32(273.15))
STRAYS = 4  # escapes up to which a lattice of tiles before is kept without looking for a better one


@dataclass(slots=True)
class Lattices:
    """Lattices found in the unit of work so far, the latest first, and what the next search goes by (C6)."""

    hints: list[Hint] = field(default_factory=list)
    support: Array | None = None
    budget: Budget = field(default_factory=lambda: Budget(2 * TESTS))

    def keep(self, hint: Hint) -> None:
        """The lattice that served last, first."""
        self.hints = [hint, *(one for one in self.hints if one != hint)][:_KEPT]


def verified(tile: Tile, hints: Sequence[Hint], lattices: Lattices) -> Hint | None:
    """The lattice of a tile: the first of the source's own, else one of tiles before, else the widest common step."""
    if tile.kind != 2:
        return None
    for own in hints:
        if _fit(tile, own) is not None:
            return own
    for before in lattices.hints:
        fit = _fit(tile, before)
        if fit is not None and fit[1] <= STRAYS:
            return before
    fits = [(fit[0], i, hint) for i, hint in enumerate(_common(tile)) if (fit := _fit(tile, hint)) is not None]
    best = min(fits, key=lambda one: one[:2]) if fits else None
    hint = _searched(tile, lattices, best[0] if best else 0) or (best[2] if best else None)
    if hint is not None:
        lattices.keep(hint)
    return hint


def refitted(tile: Tile, hint: Hint, lattices: Lattices) -> Hint | None:
    """A lattice for a tile that the kept one does not fit: one of before, the same step moved, or a new search."""
    for known in lattices.hints:
        fit = _fit(tile, known) if known != hint else None
        if fit is not None and fit[1] <= STRAYS:
            return known
    other = quantisation.moved(_elements(tile), hint, lambda one: _escapes(tile, one)) if hint.shift is None else None
    other = other or _searched(tile, lattices, 0)
    if other is not None:
        lattices.keep(other)
    return other


def _searched(tile: Tile, lattices: Lattices, known: int) -> Hint | None:
    budget = Budget(min(TESTS, lattices.budget.left))
    lattices.budget.left -= budget.left
    found = None
    for support in (lattices.support, None) if lattices.support is not None else (None,):
        found = quantisation.search(_elements(tile), lambda one: _escapes(tile, one), support, known, budget)
        if found is not None:
            lattices.support = found.support
            break
    hint = found.hint if found else _celsius(tile, known, budget)
    lattices.budget.left += budget.left
    return hint


def _celsius(tile: Tile, known: int, budget: Budget) -> Hint | None:
    """The lattice of kelvins that were made degrees Celsius in float32."""
    before = tile.unshifted(tile.valid_elements(), ZERO_CELSIUS)
    if before is None:
        return None
    found = quantisation.search(
        before.view(np.float32), lambda one: _escapes(tile, replace(one, shift=ZERO_CELSIUS)), None, known, budget
    )
    return replace(found.hint, shift=ZERO_CELSIUS) if found else None


def _elements(tile: Tile) -> Array:
    return tile.valid_elements().view(DTYPES[tile.dtype])


def _fit(tile: Tile, hint: Hint) -> tuple[int, int] | None:
    return tile.fit(Transform(LATTICE, mask=COMPACT if tile.masked else NO_MASK, hint=hint))


def _escapes(tile: Tile, hint: Hint) -> int | None:
    fit = _fit(tile, hint)
    return fit[1] if fit is not None else None


def _common(tile: Tile) -> Iterator[Hint]:
    for digits in _DECIMALS:
        yield Hint(3, 10.0**digits)
        if tile.size == 8:
            yield Hint(1, 10.0**-digits)
    exponent = kernels.binary_step(tile.valid_elements(), tile.size)
    if -1000 < exponent < 1000:
        yield Hint(1, 2.0**exponent)
