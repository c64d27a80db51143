"""Which transform serves the next tile: the state that a caller keeps per unit of work (C6)."""

from __future__ import annotations

from dataclasses import replace

from mdstudio.engine.codecs.steps import Lattices
from mdstudio.engine.codecs.transforms import Transform
from mdstudio.engine.model import Hint

PROBE_STRIDE = 32  # DEFAULT_PROBE_STRIDE: transforms compete on every so manyth tile


class ProbeState:
    """The winner of the last competition and how it fared there.

    One per encode chunk or unit, used by one thread at a time; it depends on the data alone, so the bytes do not depend
    on who encodes. Constant and nearly all-masked tiles neither compete nor count.
    """

    __slots__ = ("lattices", "reference", "since", "strays", "winner")

    def __init__(self) -> None:
        self.winner: Transform | None = None
        self.reference = 0.0
        self.since = 0
        self.strays = 0
        self.lattices = Lattices()

    def kept(self) -> Transform | None:
        """The winner to use for this tile, or None where it is time to compete."""
        self.since += 1
        return self.winner if self.since < PROBE_STRIDE else None

    def fares_worse(self, ratio: float) -> bool:
        """Whether the winner compresses a tile more than 15 % + 1 point worse than its reference tile."""
        return ratio > self.reference * 1.15 + 0.01

    def won(self, transform: Transform, ratio: float, strays: int) -> None:
        """Keep the winner of a competition, with its ratio (stored / raw) on that tile as the reference."""
        self.winner, self.reference, self.since, self.strays = transform, ratio, 0, strays

    def refitted(self, hint: Hint | None, strays: int) -> None:
        """Keep the winner with the lattice that served instead of its own, and how many elements it did not give."""
        if self.winner is not None and self.winner.hint != hint:
            self.winner, self.strays = replace(self.winner, hint=hint), strays
