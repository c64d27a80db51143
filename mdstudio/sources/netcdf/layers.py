"""What becomes of dimensions beside time, rows and columns: one is the layers, each other one splits the item."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdstudio.engine.model import LayerAxis
from mdstudio.sources.netcdf.attributes import json_attributes, text, units
from mdstudio.sources.netcdf.horizontal import NotOnAGridError
from mdstudio.sources.netcdf.roles import name_role, role_of, vertical_meaning
from mdstudio.sources.netcdf.view import FileView, Variable

_LAYER_NAME = re.compile(r"(lay(er)?|lev(el)?|interface)s?$", re.IGNORECASE)  # of dimensions: mesh2d_nLayers, siglay
MAX_SPLIT = 1000  # items that one variable may be split into


@dataclass(frozen=True)
class Split:
    """One item of a variable: `suffix` for its name ("[member=3]"), and the fixed index of each split dimension."""

    suffix: str
    fixed: tuple[tuple[str, int], ...]


def split(view: FileView, variable: Variable, extra: list[str]) -> tuple[str, list[Split]]:
    """The layer dimension ("" when there is none) and the items.

    The vertical dimension is the layers, else the last one. Raises `NotOnAGridError` where that gives more than
    `MAX_SPLIT` items.
    """
    if not extra:
        return "", [Split("", ())]
    vertical = [d for d in extra if _is_vertical(view, variable, d)]
    layer = (vertical or extra)[-1]
    rest = [d for d in extra if d != layer]
    count = int(np.prod([view.sizes[d] for d in rest], dtype=object)) if rest else 1
    if count > MAX_SPLIT:
        raise NotOnAGridError(f"its dimensions {', '.join(rest)} beside the layers would make {count} items of it")
    labels = [[(d, i, label) for i, label in enumerate(_labels(view, variable, d))] for d in rest]
    return layer, [Split(_suffix([(d, label) for d, _, label in combination]), tuple((d, i) for d, i, _ in combination))
                   for combination in itertools.product(*labels)]


def _suffix(labels: list[tuple[str, str]]) -> str:
    return "[" + ",".join(f"{d.rpartition('/')[2]}={label}" for d, label in labels) + "]" if labels else ""


def layer_axis(view: FileView, variable: Variable, dim: str) -> LayerAxis:
    """The axis of the layer dimension: its coordinate's values and meaning, else the numbers 0, 1, ...

    Further 1-D coordinates of the dimension that the variable names (heights of model levels) are kept among the
    attributes, under "auxiliary".
    """
    name = dim.rpartition("/")[2]
    coordinate = _coordinate(view, variable, dim)
    values = None if coordinate is None else _values(coordinate)
    auxiliary = {
        v.name: {"values": v.decoded().tolist(), "attributes": json_attributes(v.attributes)}
        for v in view.listed(variable, "coordinates") if v.dims == (dim,) and v is not coordinate and not v.kind}
    extra: dict[str, Any] = {"auxiliary": auxiliary} if auxiliary else {}
    if coordinate is None:
        coordinate, values = _everywhere(view, dim)
        extra |= json_attributes(coordinate.attributes) if coordinate is not None and values is None else {}
    if coordinate is None or values is None:
        return LayerAxis(name, tuple(float(i) for i in range(view.sizes[dim])), dtype="int32", attributes=extra)
    meaning = vertical_meaning(coordinate) if role_of(coordinate) == "vertical" else "index"
    positive = text(coordinate.attributes, "positive").lower()
    return LayerAxis(
        name, tuple(float(v) for v in values), units(coordinate.attributes),
        positive if positive in ("up", "down") else "", meaning, values.dtype.name,
        {**json_attributes(coordinate.attributes), **extra})


def _everywhere(view: FileView, dim: str) -> tuple[Variable | None, np.ndarray[Any, np.dtype[Any]] | None]:
    """A vertical coordinate of the dimension's own name over places too (FVCOM), its values where all places agree."""
    own = view.variables.get(dim)
    if own is None or own.kind or len(own.dims) != 2 or dim not in own.dims or role_of(own) != "vertical":
        return None, None
    found = []
    for layer in range(view.sizes[dim]):
        values = own.decoded((layer,) if own.dims[0] == dim else (slice(None), layer))
        if not values.size or not (values == values[0]).all():
            return own, None
        found.append(values[0])
    return own, np.array(found) if found and np.unique(found).size == len(found) else None


def _values(coordinate: Variable) -> np.ndarray[Any, np.dtype[Any]] | None:
    """Its values, None where they tell the layers not apart (all missing, or one repeated)."""
    values = coordinate.decoded()
    usable = bool(np.isfinite(values.astype(np.float64)).all()) and np.unique(values).size == values.size
    return values if usable else None


def _coordinate(view: FileView, variable: Variable, dim: str) -> Variable | None:
    own = view.coordinate(dim)
    if own is not None:
        return own if not own.kind else None
    named = [v for v in view.listed(variable, "coordinates") if v.dims == (dim,) and not v.kind]
    if named:
        return next((v for v in named if role_of(v) == "vertical"), named[0])
    heights = [v for v in view.over(dim) if not v.kind and role_of(v) == "vertical" and v.path not in view.helpers]
    return heights[0] if len(heights) == 1 else None


def _is_vertical(view: FileView, variable: Variable, dim: str) -> bool:
    coordinate = _coordinate(view, variable, dim)
    if coordinate is not None:
        return role_of(coordinate) == "vertical"
    return name_role(dim) == "vertical" or _LAYER_NAME.search(dim) is not None


def _labels(view: FileView, variable: Variable, dim: str) -> list[str]:
    coordinate = _coordinate(view, variable, dim)
    values = None if coordinate is None else _values(coordinate)
    if values is None:
        return [str(i) for i in range(view.sizes[dim])]
    labels = [f"{v:g}" if values.dtype.kind == "f" else str(v) for v in values.tolist()]
    return labels if len(set(labels)) == len(labels) else [str(i) for i in range(view.sizes[dim])]
