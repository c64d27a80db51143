"""Meshes of triangles and quads for the tests, in a source's order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from mdstudio.engine.model import Array
from tests.engine.spatial.brute_force import Point


@dataclass(frozen=True)
class Source:
    """Nodes and elements as a source has them."""

    x: Array
    y: Array
    corners: Array

    def rings(self) -> dict[int, list[Point]]:
        """The corners of every element."""
        return {number: [(float(self.x[node]), float(self.y[node])) for node in row if node >= 0]
                for number, row in enumerate(self.corners.tolist())}


def lattice(rows: int, columns: int, step: float) -> Source:
    """rows x columns squares, every other one cut in two triangles."""
    y, x = (part.ravel() * step for part in np.indices((rows + 1, columns + 1)))
    row, column = (part.ravel() for part in np.indices((rows, columns)))
    a = row * (columns + 1) + column
    b, c, d = a + 1, a + columns + 2, a + columns + 1
    none = np.full(a.size, -1)
    cut = (row + column) % 2 == 0
    return Source(x, y, np.concatenate([
        np.stack([a, b, c, d], 1)[~cut], np.stack([a, b, c, none], 1)[cut], np.stack([a, c, d, none], 1)[cut]]))


@st.composite
def meshes(draw: st.DrawFn, exact: bool = False) -> Source:
    """Up to 60 elements in any order, some left out, coordinates in tenths (in quarters where `exact`), moved about."""
    step = 0.25 if exact else draw(st.sampled_from([0.1, 0.3, 1 / 3]))
    source = lattice(draw(st.integers(1, 7)), draw(st.integers(1, 7)), step)
    seed = np.random.default_rng(draw(st.integers(0, 99)))
    count = len(source.corners)
    corners = source.corners[seed.permutation(count)[:draw(st.integers(1, count))]]
    nodes = seed.permutation(source.x.size)
    place = np.empty(source.x.size + 1, int)
    place[nodes], place[-1] = np.arange(nodes.size), -1
    move = 0.0 if exact else draw(st.sampled_from([0.0, 0.2])) * step
    x, y = (part[nodes] + move * seed.uniform(-1, 1, nodes.size) for part in (source.x, source.y))
    turned = np.array([np.roll(row[row >= 0], seed.integers(4)).tolist() + [-1] * int((row < 0).sum())
                       for row in place[corners]])
    return Source(x, y, turned[:, ::-1] if draw(st.booleans()) and (turned >= 0).all() else turned)
