"""What the coordinates of a map mean: labels of its axes, text of a place, length of a unit. No painting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from mdstudio.app.formats import number
from mdstudio.app.plots import ticks
from mdstudio.app.plots.mesh_raster import MeshRaster
from mdstudio.app.plots.raster import Extent, GridRaster
from mdstudio.app.plots.ticks import TickMaker, index_ticks
from mdstudio.engine.model import GridDomain, MeshDomain

Meaning = Literal["degrees", "rotated", "metres", "other", "index"]
_METRES = {"m": 1.0, "metre": 1.0, "metres": 1.0, "meter": 1.0, "meters": 1.0, "km": 1000.0, "kilometre": 1000.0,
           "kilometres": 1000.0, "kilometer": 1000.0, "kilometers": 1000.0}
_METRES_A_DEGREE = 111_195.0  # on a sphere of 6 371 km


@dataclass(frozen=True)
class Frame:
    """The meaning of x and y of a map; `unit` is what "other" coordinates are measured in."""

    meaning: Meaning
    unit: str = ""
    scale: float = 1.0  # coordinates a labelled unit: 1000 where metres are labelled in km
    metres: float = 0.0  # metres a coordinate unit; 0 where unknown

    @property
    def geographic(self) -> bool:
        """Degrees on a sphere, true or rotated: the shape of a cell depends on its latitude."""
        return self.meaning in ("degrees", "rotated")

    def x_ticks(self) -> TickMaker:
        if self.meaning == "degrees":
            return ticks.longitude_ticks
        if self.meaning == "rotated":
            return ticks.rotated_ticks
        if self.meaning == "index":
            return index_ticks
        suffix = f" {self.unit}" if self.unit else ""
        return lambda low, high, most: [
            (v, text + suffix) for v, text in ticks.number_ticks(low, high, most, self.scale)]

    def y_ticks(self) -> TickMaker:
        if self.meaning == "degrees":
            return ticks.latitude_ticks
        if self.meaning == "rotated":
            return ticks.rotated_ticks
        if self.meaning == "index":
            return index_ticks
        return lambda low, high, most: ticks.number_ticks(low, high, most, self.scale)

    def place(self, x: float, y: float, decimals: int = 3) -> str:
        """A place as text: `35.100° N  106.650° W`, `483 214 E  3 617 488 N` in metres."""
        if self.meaning == "degrees":
            return f"{ticks.latitude_text(y, decimals)}  {ticks.longitude_text(x, decimals)}"
        if self.meaning == "rotated":
            return f"{number((x + 180.0) % 360.0 - 180.0, decimals)}°, {number(y, decimals)}°"
        if self.meaning == "metres":
            decimals = 0 if self.metres == 1.0 else decimals
            return f"{number(x, decimals)} E  {number(y, decimals)} N"
        if self.meaning == "index":
            return ""
        return f"{number(x, digits=6)}, {number(y, digits=6)}" + (f" {self.unit}" if self.unit else "")

    def metres_across(self, y: float) -> float:
        """Metres that one unit of x is long at y; 0 where that is not known."""
        if self.geographic:
            return _METRES_A_DEGREE * max(0.0, math.cos(math.radians(y)))
        return self.metres


def frame_of(domain: GridDomain, raster: GridRaster) -> Frame:
    """How to label a map of the domain."""
    axes = [axis for axis in (raster.x_axis, raster.y_axis) if axis is not None]
    if any(axis.index for axis in axes):
        return Frame("index")
    if domain.kind == "regular" or (domain.kind == "curvilinear" and abs(raster.extent[3]) <= 90.5):
        return Frame("degrees")
    if domain.kind == "rotated":
        return Frame("rotated")
    return _plane(domain.x_unit, raster.extent)


def mesh_frame(domain: MeshDomain, raster: MeshRaster) -> Frame:
    """How to label a map of a mesh."""
    return Frame("degrees") if domain.geographic else _plane(domain.x_unit, raster.extent)


def _plane(unit: str, extent: Extent) -> Frame:
    metres = _METRES.get(unit.strip().lower(), 0.0)
    if not metres:
        return Frame("other", unit)
    across = (extent[2] - extent[0]) * metres
    in_km = metres == 1000.0 or across >= 20_000
    return Frame("metres", "km" if in_km else "m", 1000.0 if in_km and metres == 1.0 else 1.0, metres)
