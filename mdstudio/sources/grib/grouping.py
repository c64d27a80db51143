"""Fields to items: which belong together, which is a layer, which a time, and which of two for one place counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import LayerAxis
from mdstudio.engine.times import format_time
from mdstudio.sources.grib.fields import DETAILS, Field, Level

Details = Callable[[Field], tuple[str, ...]]  # of a field, those of `fields.DETAILS`
_MEANINGS = (("isobaric", "pressure", "down"), ("heightAbove", "height", "up"), ("depthBelow", "depth", "down"),
             ("hybrid", "hybrid", "down"), ("sigma", "sigma", "down"))


@dataclass
class Group:
    """The fields of one item.

    Attributes:
        suffix: what tells it from other items of the same parameter, level and step type: `[number=3]`, or "".
        slots: the field of each (time, layer).
        earlier, repeated: fields left out for one of a later (or with keep-first, earlier) forecast, and for another of
            the same.
    """

    fields: list[Field]
    suffix: str = ""
    layers: LayerAxis | None = None
    slots: dict[tuple[int, int], Field] = field(default_factory=dict)
    earlier: int = 0
    repeated: int = 0

    @property
    def first(self) -> Field:
        return self.fields[0]


def groups_of(fields: Iterable[Field], details: Details, policy: str, paths: Sequence[str]) -> list[Group]:
    """The items of the fields of one grid, in file order.

    One item is one parameter at one type of level with one type of step (instant, accumulated, ...), members apart from
    what is no member. Where fields of one reference time contend for a place, what tells them apart (percentiles,
    windows of accumulation, ...) makes items of them. Levels are the layers; members are where there is one level only,
    else each is an item. Where several fields are left for one valid time and layer, `keep-last` takes the one of the
    latest forecast, of equal ones the last of the files, `keep-first` the other way round; `fail` raises `SourceError`.
    """
    alike: dict[object, list[Field]] = {}
    for one in fields:
        key = (one.parameter.identity, one.level.kind, one.step_type, one.member is None)
        alike.setdefault(key, []).append(one)
    found = []
    for together in alike.values():
        for suffix, parted in _told_apart(together, details):
            for member_suffix, of_members in _members(parted):
                group = Group(of_members, suffix + member_suffix)
                _fill(group, policy, paths)
                found.append(group)
    return found


def _told_apart(fields: list[Field], details: Details) -> list[tuple[str, list[Field]]]:
    """(suffix, fields) of the items that contending fields make."""
    places: dict[object, list[Field]] = {}
    for one in fields:
        places.setdefault((one.valid, one.level, one.member), []).append(one)
    contending = [p for p in places.values() if len(p) > 1]
    if not contending:
        return [("", fields)]
    parts: dict[str, list[Field]] = {}
    by_window = any(len({f.window for f in p}) > 1 for p in contending)
    differing: set[int] = set()
    for place in contending:
        same = [f for f in place if sum(f.reference == g.reference and _window(f) == _window(g) for g in place) > 1]
        told = [details(f) for f in same]
        differing |= {n for n in range(len(DETAILS)) if len({t[n] for t in told}) > 1}
    for one in fields:
        said = [_window(one)] if by_window else []
        if differing:
            values = details(one)
            said += [f"{DETAILS[n]}={values[n]}" for n in sorted(differing)]
        parts.setdefault(f"[{','.join(said)}]" if said else "", []).append(one)
    return list(parts.items())


def _window(one: Field) -> str:
    """What a statistic is of: all since the start of the forecast, or a fixed span before each time."""
    if one.from_start:
        return "from=start"
    hours = one.window / 3600
    return f"last={hours:g}h"


def _members(fields: list[Field]) -> list[tuple[str, list[Field]]]:
    members = sorted({f.member for f in fields if f.member is not None})
    if len(members) < 2 or len({f.level for f in fields}) < 2:
        return [("", fields)]
    return [(f"[number={m}]", [f for f in fields if f.member == m]) for m in members]


def _fill(group: Group, policy: str, paths: Sequence[str]) -> None:
    """Layers and slots of a group."""
    levels = sorted({f.level for f in group.fields}, key=lambda v: (v.first, v.second))
    members = sorted({f.member for f in group.fields if f.member is not None})
    index: Mapping[object, int]
    if len(levels) > 1:
        group.layers, index = _level_axis(levels), {v: i for i, v in enumerate(levels)}
    elif len(members) > 1:
        group.layers = LayerAxis("number", tuple(float(m) for m in members), "1", "", "index", "int32",
                                 {"standard_name": "realization"})
        index = {m: i for i, m in enumerate(members)}
    else:
        index = {}
    ordered = sorted(group.fields, key=lambda f: f.reference)  # stable: of one forecast in the order of the files
    for one in ordered if policy == "keep-last" else reversed(ordered):
        place = one.valid, index.get(one.level if len(levels) > 1 else one.member, 0)
        other = group.slots.get(place)
        if other is not None:
            if policy == "fail":
                raise SourceError(
                    f"The time {format_time(one.valid, 'standard')} of {one.parameter.name} is there twice, and "
                    "TimePolicy is fail.", where=paths[one.place.file])
            group.earlier += other.reference != one.reference
            group.repeated += other.reference == one.reference
        group.slots[place] = one


def _level_axis(levels: Sequence[Level]) -> LayerAxis:
    """An axis of levels: their values, of layers between two surfaces the middles with the surfaces as bounds."""
    kind, unit = levels[0].kind, levels[0].unit
    values = [v.middle for v in levels]
    bounded = any(v.first != v.second for v in levels)
    attributes: dict[str, object] = {"GRIB_typeOfLevel": kind}
    if bounded:
        attributes["bounds_values"] = [[v.first, v.second] for v in levels]
    meaning, positive = next(((m, p) for start, m, p in _MEANINGS if kind.startswith(start)), ("index", ""))
    if len(set(values)) < len(values) or not all(math.isfinite(v) for v in values):
        values, unit, meaning, positive = [float(i) for i in range(len(levels))], "", "index", ""
    return LayerAxis(kind, tuple(values), unit, positive, meaning, "float64", attributes)


def names_of(groups: Sequence[Group]) -> list[str]:
    """A name for each item: the short name where no other has it; else with the type of level, the type of step, and
    what else tells them apart, only as far as that is needed."""
    names = [g.first.parameter.name for g in groups]
    for part in (lambda g: f"_{g.first.level.kind}", lambda g: f"_{g.first.step_type}", lambda g: g.suffix,
                 lambda g: "_" + "_".join(str(n) for n in g.first.parameter.identity)):
        names = _lengthened(names, [part(g) for g in groups])
    return [name if names.index(name) == i else f"{name}_{i}" for i, name in enumerate(names)]


def _lengthened(names: list[str], parts: list[str]) -> list[str]:
    differing: dict[str, set[str]] = {}
    for name, part in zip(names, parts, strict=True):
        differing.setdefault(name, set()).add(part)
    return [name + part if len(differing[name]) > 1 else name for name, part in zip(names, parts, strict=True)]
