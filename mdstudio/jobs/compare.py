"""Compare two datasets, or a dataset with the files it was made of: stored bits, coordinates, times, units.

Block by block: a tile over one time group where a side is TimeSeries, a band of rows of one time otherwise; so each
stored page is decoded once, and memory does not depend on the sizes. Values of meshes are compared element by element
(node by node) of the sources, also where the two are stored in different orders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from mdstudio.engine.errors import NotFoundError
from mdstudio.engine.model import Domain, GridDomain, Item, MeshDomain
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import redact
from mdstudio.engine.times import TimeAxis
from mdstudio.jobs.mesh_places import place_of, same_coordinates
from mdstudio.jobs.sides import Block, DatasetSide, Side, SourceSide, blocks, reordered

Difference = dict[str, Any]


def compare(a: str, b: str | Sequence[str], progress: Progress, grid: str = "") -> dict[str, Any]:
    """Compare A with B, each a dataset or source files (B may be several); the document of `compare --json`.

    Equal are items whose type, packing, layers and stored bits at every common time are the same. Where one side holds
    float32 and the other float64, float32 of the doubles is compared (W4). Items of source files that the dataset does
    not hold are listed under `not_in_a` / `not_in_b` and are no difference; items that one of two datasets lacks are.
    `grid` chooses among the grids of a source; without it the one with the most items in common is taken.

    Raises `NotFoundError`, `SourceError`, `DamagedDataError`, `Cancelled`.
    """
    with _opened([a], grid, progress) as candidates_a, \
            _opened([b] if isinstance(b, str) else list(b), grid, progress) as candidates_b:
        side_a, side_b = max(((x, y) for x in candidates_a for y in candidates_b), key=_likeness)
        return _compare(side_a, side_b, reordered(side_b, side_a), progress)


def _compare(a: Side, original_b: Side, b: Side, progress: Progress) -> dict[str, Any]:
    items_a, items_b = {i.name: i for i in a.items}, {i.name: i for i in b.items}
    shared = [name for name in items_a if name in items_b]
    only_a, only_b = ([n for n in x if n not in y] for x, y in ((items_a, items_b), (items_b, items_a)))
    times = _common_times(a.times, b.times)
    facts = {name: _fact_difference(a, b, items_a[name], items_b[name]) for name in shared}
    shapes = {name: a.places.shape(items_a[name]) for name in shared if facts[name] is None}
    steps = {shape: list(blocks(a, b, times, shape)) for shape in set(shapes.values())}
    progress.start(sum(items_a[name].layer_count * len(steps[shape]) for name, shape in shapes.items()), "blocks")
    items = [_compare_item(a, b, items_a[name], items_b[name], facts[name],
                           steps[shapes[name]] if name in shapes else [], len(times), progress) for name in shared]
    items += [_missing(name, "a") for name in only_a if not isinstance(a, SourceSide)]
    items += [_missing(name, "b") for name in only_b if not isinstance(original_b, SourceSide)]
    if not items:
        raise NotFoundError("The two have no item in common.", where=a.name)
    result = {
        "coordinates_equal": _coordinates_equal(a.domain, b.domain),
        "times_equal": a.times == b.times,
        "units_equal": all(items_a[name].unit == items_b[name].unit for name in shared),
    }
    return {
        "equal": all(item["equal"] for item in items) and all(result.values()), "items": items, **result,
        "not_in_a": only_b if isinstance(original_b, SourceSide) else [],
        "not_in_b": only_a if isinstance(a, SourceSide) else [],
    }


@contextmanager
def _opened(locations: Sequence[str], grid: str, progress: Progress) -> Iterator[list[Side]]:
    """The sides that a location may stand for: one of a dataset, one a grid of source files."""
    from mdstudio.engine.dataset import Dataset
    from mdstudio.sources.registry import is_source, open_source

    if len(locations) == 1 and not is_source(locations[0]):
        yield [DatasetSide(Dataset.open(locations[0]), progress)]
        return
    with open_source(locations) as source:
        descriptions = [d for d in source.descriptions() if grid in ("", d.name)]
        if not descriptions:
            names = ", ".join(d.name for d in source.descriptions())
            raise NotFoundError(f"There is no grid '{grid}'; it has {names}.", where=redact(locations[0]))
        yield [SourceSide(source, description, redact(locations[0]), progress) for description in descriptions]


def _likeness(pair: tuple[Side, Side]) -> tuple[int, bool, bool]:
    """How likely two sides are the same grid: items in common, then the shape and the times."""
    a, b = pair
    shared = {i.name for i in a.items} & {i.name for i in b.items}
    return len(shared), _shape(a) == _shape(b), a.times == b.times


def _shape(side: Side) -> tuple[int, int]:
    domain = side.domain
    return (domain.elements, domain.nodes) if isinstance(domain, MeshDomain) else (domain.rows, domain.columns)


def _common_times(a: TimeAxis, b: TimeAxis) -> list[tuple[int, int]]:
    """Indices in A and B of the times that both have."""
    if a.static or b.static:
        return [(0, 0)] if a.static and b.static else []
    if a.calendar != b.calendar:
        return []
    _, at_a, at_b = np.intersect1d(a.microseconds, b.microseconds, assume_unique=True, return_indices=True)
    return list(zip(at_a.tolist(), at_b.tolist(), strict=True))


def _missing(name: str, side: str) -> dict[str, Any]:
    return {"name": name, "equal": False, "times_compared": 0, "times_different": 0,
            "first_difference": {"only_in": side}}


def _compare_item(a: Side, b: Side, item_a: Item, item_b: Item, fact: Difference | None, steps: Sequence[Block],
                  times: int, progress: Progress) -> dict[str, Any]:
    """One item; goes on after the first difference, to count the times that differ."""
    result: dict[str, Any] = {"name": item_a.name, "equal": False, "times_compared": 0, "times_different": 0,
                              "first_difference": fact}
    if as_float(item_a, item_b):
        result["compared_as"] = "float32"
    if fact is not None:
        return result
    different: set[int] = set()
    first: Difference | None = None
    for layer in item_a.layer_ids():
        for block in steps:
            found = _block_difference(a, b, item_a, item_b, layer, block)
            if found is not None:
                different.update(found.pop("times"))
                first = found if first is None else min(first, found, key=_order)
            progress.advance()
    return result | {"equal": first is None, "times_compared": times, "times_different": len(different),
                     "first_difference": first}


def _order(difference: Difference) -> tuple[int, int, int, int]:
    layer = difference["layer"]
    return difference["time_index"], -1 if layer is None else layer, difference["row"], difference["column"]


def as_float(a: Item, b: Item) -> bool:
    """W4: whether float32 of doubles is compared."""
    return {a.dtype, b.dtype} == {"float32", "float64"}


def _fact_difference(a: Side, b: Side, item_a: Item, item_b: Item) -> Difference | None:
    """The first fact that makes stored bits incomparable or mean another value."""
    facts: dict[str, tuple[Any, Any]] = {
        "kind": ("mesh" if isinstance(a.domain, MeshDomain) else "grid",
                 "mesh" if isinstance(b.domain, MeshDomain) else "grid"),
        "shape": (_shape(a), _shape(b)),
        "location": (item_a.location, item_b.location),
        "values": (item_a.value_kind, item_b.value_kind),
        "components": (item_a.components, item_b.components),
        "type": ("", "") if as_float(item_a, item_b) else (item_a.dtype, item_b.dtype),
        "layers": (item_a.layers.values if item_a.layers else None, item_b.layers.values if item_b.layers else None),
        "scale": (item_a.scale, item_b.scale),
        "offset": (item_a.offset, item_b.offset),
        "no_data": (item_a.no_data, item_b.no_data),
    }
    for fact, (left, right) in facts.items():
        if as_float(item_a, item_b) and fact == "no_data" and None not in (left, right):
            left, right = np.float32(left).item(), np.float32(right).item()
        both_nan = isinstance(left, float) and isinstance(right, float) and left != left and right != right
        if left != right and not both_nan:
            return {"fact": fact, "a": left, "b": right}
    if a.places.shape(item_a) != b.places.shape(item_b):
        return {"fact": "shape", "a": a.places.shape(item_a), "b": b.places.shape(item_b)}
    return None


def _block_difference(a: Side, b: Side, item_a: Item, item_b: Item, layer: int, block: Block) -> Difference | None:
    """The first difference of a block in time, row, column order, with the time indices of A that differ."""
    left = a.read(item_a, block.times_a, layer, block.rows, block.columns)
    right = b.read(item_b, block.times_b, layer, block.rows, block.columns)
    if as_float(item_a, item_b):
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            left, right = left.astype("<f4"), right.astype("<f4")
    bits = np.dtype(f"<u{left.dtype.itemsize}")
    unequal = np.ascontiguousarray(left).view(bits) != np.ascontiguousarray(right).view(bits)
    if not unequal.any():
        return None
    first = np.unravel_index(int(np.argmax(unequal)), unequal.shape)
    one, other = left[first], right[first]
    time, row, column = map(int, first[:3])
    found = {
        "time": a.times.text(block.times_a.start + time), "time_index": block.times_a.start + time,
        "layer": layer if layer >= 0 else None, "row": block.rows.start + row, "column": block.columns.start + column,
        "a": one.item(), "b": other.item(), "a_bits": _hex(one, bits), "b_bits": _hex(other, bits),
        "times": (np.flatnonzero(unequal.any(axis=tuple(range(1, unequal.ndim)))) + block.times_a.start).tolist(),
    }
    positions = a.places.positions(item_a)
    return found if positions is None else found | place_of(item_a, int(positions[found["column"]]))


def _hex(value: Any, bits: np.dtype[Any]) -> str:
    return f"0x{int(np.asarray(value).view(bits)):0{bits.itemsize * 2}x}"


def _coordinates_equal(a: Domain, b: Domain) -> bool:
    """Whether axes and true coordinates, of meshes nodes and corners, are the same numbers."""
    if isinstance(a, MeshDomain) and isinstance(b, MeshDomain):
        return same_coordinates(a, b)
    if not isinstance(a, GridDomain) or not isinstance(b, GridDomain):
        return False
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
    if a == b:  # two NaNs: the bits tell them apart
        a, b = f"{a} ({difference['a_bits']})", f"{b} ({difference['b_bits']})"
    place = f"{difference['place']} {difference['number']}" if "place" in difference else \
        f"row {difference['row']}, column {difference['column']}"
    return f"{time}{layer}, {place}: {a} and {b}"
