"""The points that a person pinned: shared by Map and Series of one dataset. Main thread only."""

from __future__ import annotations

import re
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from mdstudio.app.plots.series_plot import letter_of, token_of
from mdstudio.app.session import DatasetSession

MOST_POINTS = 26
_NUMBER = r"([+-]?\d+(?:[.]\d+)?(?:[eE][+-]?\d+)?)"
_PAIR = re.compile(rf"^\s*{_NUMBER}\s*°?\s*([NSEWnsew]?)\s*[,;\s]\s*{_NUMBER}\s*°?\s*([NSEWnsew]?)\s*$")


@dataclass(frozen=True)
class Point:
    """A place in the dataset's CRS; the letter and colour stay with it when others are removed."""

    number: int
    x: float
    y: float

    @property
    def letter(self) -> str:
        return letter_of(self.number)

    @property
    def token(self) -> str:
        return token_of(self.number)


class PointSet(QObject):
    """Signal `changed`: `points` is another tuple."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.points: tuple[Point, ...] = ()

    def add(self, x: float, y: float) -> bool:
        """Pin a place under the first free letter; False when all are taken."""
        taken = {point.number for point in self.points}
        free = next((n for n in range(MOST_POINTS) if n not in taken), None)
        if free is None:
            return False
        self.points = tuple(sorted((*self.points, Point(free, x, y)), key=lambda p: p.number))
        self.changed.emit()
        return True

    def remove(self, number: int) -> None:
        kept = tuple(point for point in self.points if point.number != number)
        if kept != self.points:
            self.points = kept
            self.changed.emit()

    def clear(self) -> None:
        if self.points:
            self.points = ()
            self.changed.emit()

    def places(self) -> tuple[tuple[float, float], ...]:
        return tuple((point.x, point.y) for point in self.points)


def points_of(session: DatasetSession) -> PointSet:
    """The one set of points of a session, made at first use."""
    found = session.findChild(PointSet)
    return found if isinstance(found, PointSet) else PointSet(session)


def parse_place(text: str) -> tuple[float, float] | None:
    """`x, y` or `35.1 N, 106.65 W` (either order of the letters); None for anything else."""
    match = _PAIR.match(text.replace("−", "-"))
    if not match:
        return None
    first, second = float(match[1]), float(match[3])
    letters = match[2].upper(), match[4].upper()
    if letters == ("", ""):
        return first, second
    signed = [-value if letter in "SW" and letter else value
              for value, letter in zip((first, second), letters, strict=True)]
    if letters[0] in ("N", "S") and letters[1] in ("E", "W"):
        return signed[1], signed[0]
    if letters[0] in ("E", "W") and letters[1] in ("N", "S"):
        return signed[0], signed[1]
    return None
