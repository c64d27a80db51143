"""Compare two datasets, or a dataset with the files it was made of: stored bits, coordinates, times, units.

One slice of each side is in memory at a time, whatever the sizes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mdstudio.engine.errors import NotFoundError
from mdstudio.engine.model import Array, Description, GridDomain, Item
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import MapRequest
from mdstudio.engine.storage import redact
from mdstudio.engine.times import TimeAxis

if TYPE_CHECKING:
    from mdstudio.engine.dataset import Dataset
    from mdstudio.sources.contract import Source


class Side(Protocol):
    """One of the two: what it holds, and its stored slices."""

    items: tuple[Item, ...]
    times: TimeAxis
    domain: GridDomain

    def slice(self, item: Item, time: int, layer: int) -> Array:
        """(rows, columns) as stored; layer -1 for an item without layers."""


class _DatasetSide:
    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self.items, self.times, self.domain = dataset.metadata.items, dataset.metadata.times, dataset.domain

    def slice(self, item: Item, time: int, layer: int) -> Array:
        return self._dataset.map(MapRequest(item.name, time, layer if layer >= 0 else None)).stored


class _SourceSide:
    def __init__(self, source: Source, description: Description) -> None:
        self._source, self._description = source, description
        self.items, self.times, self.domain = description.items, description.times, description.domain

    def slice(self, item: Item, time: int, layer: int) -> Array:
        whole = slice(0, self.domain.rows), slice(0, self.domain.columns)
        return self._source.read(self._description, item.name, slice(time, time + 1), layer, *whole)[0]


@dataclass(frozen=True)
class _Pair:
    """The sides, and the time indices of each that mean the same time."""

    a: Side
    b: Side
    times: tuple[tuple[int, int], ...]


def compare(a: str, b: str | Sequence[str], progress: Progress, grid: str = "") -> dict[str, Any]:
    """Compare A with B, each a dataset or source files (B may be several); the document of `compare --json`.

    Equal are items whose type, packing, layers and stored bits at every common time are the same. Where one side holds
    float32 and the other float64, float32 of the doubles is compared (W4). Items of source files that the dataset does
    not hold are listed under `not_in_a` / `not_in_b` and are no difference; items that one of two datasets lacks are.
    `grid` chooses among the grids of a source; without it the one with the most items in common is taken.

    Raises `NotFoundError`, `SourceError`, `DamagedDataError`, `Cancelled`.
    """
    with _opened([a], grid) as candidates_a, _opened([b] if isinstance(b, str) else list(b), grid) as candidates_b:
        side_a, side_b = max(((x, y) for x in candidates_a for y in candidates_b), key=_likeness)
        times = _common_times(side_a.times, side_b.times)
        names_a, names_b = {i.name: i for i in side_a.items}, {i.name: i for i in side_b.items}
        shared = [name for name in names_a if name in names_b]
        progress.start(sum(names_a[n].layer_count for n in shared) * len(times), "slices")
        pair = _Pair(side_a, side_b, times)
        items = [_compare_item(pair, names_a[name], names_b[name], progress) for name in shared]
        only_a, only_b = ([n for n in x if n not in y] for x, y in ((names_a, names_b), (names_b, names_a)))
        items += [_missing(name, "a") for name in only_a if not isinstance(side_a, _SourceSide)]
        items += [_missing(name, "b") for name in only_b if not isinstance(side_b, _SourceSide)]
        if not shared and not items:
            raise NotFoundError("The two have no item in common.", where=f"{redact(a)}")
        result: dict[str, Any] = {
            "items": items,
            "coordinates_equal": _coordinates_equal(side_a.domain, side_b.domain),
            "times_equal": side_a.times == side_b.times,
            "units_equal": all(names_a[name].unit == names_b[name].unit for name in shared),
            "not_in_a": only_b if isinstance(side_b, _SourceSide) else [],
            "not_in_b": only_a if isinstance(side_a, _SourceSide) else [],
        }
    facts = ("coordinates_equal", "times_equal", "units_equal")
    return {"equal": all(i["equal"] for i in items) and all(result[f] for f in facts), **result}


@contextmanager
def _opened(locations: Sequence[str], grid: str) -> Iterator[list[Side]]:
    """The sides that a location may stand for: one of a dataset, one a grid of source files."""
    from mdstudio.engine.dataset import Dataset
    from mdstudio.sources.registry import open_source

    if len(locations) == 1 and not os.path.isfile(locations[0]):
        yield [_DatasetSide(Dataset.open(locations[0]))]
        return
    with open_source(locations) as source:
        descriptions = [d for d in source.descriptions() if grid in ("", d.name)]
        if not descriptions:
            names = ", ".join(d.name for d in source.descriptions())
            raise NotFoundError(f"There is no grid '{grid}'; it has {names}.", where=redact(locations[0]))
        yield [_SourceSide(source, description) for description in descriptions]


def _likeness(pair: tuple[Side, Side]) -> tuple[int, bool]:
    """How likely two sides are the same grid: items in common, then the shape."""
    a, b = pair
    shared = {i.name for i in a.items} & {i.name for i in b.items}
    return len(shared), (a.domain.rows, a.domain.columns) == (b.domain.rows, b.domain.columns)


def _common_times(a: TimeAxis, b: TimeAxis) -> tuple[tuple[int, int], ...]:
    if a.static or b.static:
        return ((0, 0),) if a.static and b.static else ()
    if a.calendar != b.calendar:
        return ()
    _, at_a, at_b = np.intersect1d(a.microseconds, b.microseconds, assume_unique=True, return_indices=True)
    return tuple(zip(at_a.tolist(), at_b.tolist(), strict=True))


def _missing(name: str, side: str) -> dict[str, Any]:
    return {"name": name, "equal": False, "times_compared": 0, "first_difference": {"only_in": side}}


def _compare_item(pair: _Pair, a: Item, b: Item, progress: Progress) -> dict[str, Any]:
    """One item: its facts first, then every common time and layer; goes on after a difference to count its times."""
    as_float = {a.dtype, b.dtype} == {"float32", "float64"}
    result: dict[str, Any] = {"name": a.name, "equal": False, "times_compared": 0, "times_different": 0,
                              "first_difference": _fact_difference(pair, a, b, as_float)}
    if as_float:
        result["compared_as"] = "float32"
    if result["first_difference"] is not None:
        progress.advance(a.layer_count * len(pair.times))
        return result
    for time_a, time_b in pair.times:
        different = False
        for layer in a.layer_ids():
            difference = _slice_difference(pair.a.slice(a, time_a, layer), pair.b.slice(b, time_b, layer), as_float)
            if difference is not None and result["first_difference"] is None:
                result["first_difference"] = {
                    "time": pair.a.times.text(time_a), "time_index": time_a, "layer": layer if layer >= 0 else None,
                    **difference}
            different |= difference is not None
            progress.advance()
        result["times_compared"] += 1
        result["times_different"] += different
    return result | {"equal": not result["times_different"]}


def _fact_difference(pair: _Pair, a: Item, b: Item, as_float: bool) -> dict[str, Any] | None:
    """The first fact that makes stored bits incomparable or mean another value."""
    shapes = [(side.domain.rows, side.domain.columns) for side in (pair.a, pair.b)]
    facts: dict[str, tuple[Any, Any]] = {
        "shape": (shapes[0], shapes[1]),
        "type": ("", "") if as_float else (a.dtype, b.dtype),
        "layers": (a.layers.values if a.layers else None, b.layers.values if b.layers else None),
        "scale": (a.scale, b.scale),
        "offset": (a.offset, b.offset),
        "no_data": (a.no_data, b.no_data),
    }
    for fact, (left, right) in facts.items():
        if as_float and fact == "no_data" and None not in (left, right):
            left, right = np.float32(left).item(), np.float32(right).item()
        if not _same(left, right):
            return {"fact": fact, "a": left, "b": right}
    return None


def _same(a: Any, b: Any) -> bool:
    return bool(a == b or (a is not None and b is not None and not isinstance(a, tuple | str) and a != a and b != b))


def _slice_difference(a: Array, b: Array, as_float: bool) -> dict[str, Any] | None:
    if as_float:
        with np.errstate(over="ignore", invalid="ignore"):
            a, b = a.astype("<f4"), b.astype("<f4")
    bits = np.dtype(f"<u{a.dtype.itemsize}")
    unequal = np.ascontiguousarray(a).view(bits) != np.ascontiguousarray(b).view(bits)
    if not unequal.any():
        return None
    row, column = map(int, np.unravel_index(int(np.argmax(unequal)), unequal.shape))
    return {"row": row, "column": column, "cells_different": int(unequal.sum()),
            "a": a[row, column].item(), "b": b[row, column].item(),
            "a_bits": _hex(a[row, column], bits), "b_bits": _hex(b[row, column], bits)}


def _hex(value: Any, bits: np.dtype[Any]) -> str:
    return f"0x{int(np.asarray(value).view(bits)):0{bits.itemsize * 2}x}"


def _coordinates_equal(a: GridDomain, b: GridDomain) -> bool:
    """Whether the axes and, where both have them, the true coordinates are the same numbers."""
    pairs = [(a.x, b.x), (a.y, b.y), (a.longitude, b.longitude), (a.latitude, b.latitude)]
    return a.kind == b.kind and all(
        (x is None) == (y is None) and (x is None or y is None or np.array_equal(x, y, equal_nan=x.dtype.kind == "f"))
        for x, y in pairs)


def describe_difference(difference: Mapping[str, Any] | None) -> str:
    """A difference in one line for a person."""
    if difference is None:
        return ""
    if "only_in" in difference:
        return f"only in {difference['only_in'].upper()}"
    if "fact" in difference:
        return f"{difference['fact'].replace('_', ' ')}: {difference['a']} and {difference['b']}"
    time = difference["time"] or "the only time"
    layer = "" if difference["layer"] is None else f", layer {difference['layer']}"
    a, b = f"{difference['a']!r}", f"{difference['b']!r}"
    if a == b:  # two NaNs, two zeros: the bits tell them apart
        a, b = f"{a} ({difference['a_bits']})", f"{b} ({difference['b_bits']})"
    return f"{time}{layer}, row {difference['row']}, column {difference['column']}: {a} and {b}"
