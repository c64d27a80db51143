"""All files together to what can be imported of them: a `Part` for each grid, with where each item's values lie."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import Description, Dropped, Item
from mdstudio.engine.times import TimeAxis
from mdstudio.sources.grib.fields import Field, details_of, field_of
from mdstudio.sources.grib.framing import FOREIGN, Damage, Found, Place, check_file, header_bytes, message_bytes, scan
from mdstudio.sources.grib.grids import Grid, grid_of, needs_data, same_places
from mdstudio.sources.grib.grouping import Group, groups_of, names_of
from mdstudio.sources.grib.index_lines import disagreements
from mdstudio.sources.grib.library import UndecodableError, opened

NO_MESSAGE = "no message for some times or layers: no data there"
_LISTED = 8


@dataclass(frozen=True)
class Part:
    """One grid of all files.

    Attributes:
        grids: how the points of each field are scanned, by `Field.grid`.
        slots: of each item, the field of each (microseconds, layer from 0); what is absent has no message.
    """

    description: Description
    grids: Mapping[bytes, Grid]
    slots: Mapping[str, Mapping[tuple[int, int], Field]]


class Problems:
    """What is damaged or contradictory, counted by reason; the first is an error in strict mode."""

    def __init__(self, paths: Sequence[str], strict: bool) -> None:
        self._paths, self._strict = paths, strict
        self._found: dict[tuple[str, str], tuple[str, int]] = {}

    def add(self, what: str, reason: str, file: int, offset: int | None = None, count: int = 1) -> None:
        """Raises `SourceError` in strict mode."""
        place = "" if offset is None else f"at byte {offset}"
        if self._strict:
            raise SourceError(f"It has {what} {reason}{f' ({place})' if place else ''}.", where=self._paths[file],
                              advice="Without Strict the rest of the file is read.")
        name = os.path.basename(self._paths[file])
        first, before = self._found.get((what, reason), (f"{place} of {name}" if place else name, 0))
        self._found[what, reason] = first, before + count

    def dropped(self) -> list[Dropped]:
        return [Dropped(what, f"{reason} (first: {first})", count)
                for (what, reason), (first, count) in self._found.items()]


@dataclass
class _Scanned:
    """What the headers of all files say."""

    fields: list[Field] = field(default_factory=list)
    grids: dict[bytes, Grid | str] = field(default_factory=dict)  # a text: why it is refused
    refused: dict[str, list[str]] = field(default_factory=dict)  # names of parameters by that reason
    editions: list[set[int]] = field(default_factory=list)  # of each file
    attributes: dict[str, Any] = field(default_factory=dict)


def describe(paths: Sequence[str], policy: str, double_as_float: bool, problems: Problems) -> list[Part]:
    """The parts in the order of the files. Reads headers, and one whole message of each reduced grid.

    Raises `NotFoundError`, `AccessError`, and `SourceError` naming the file and the reason where nothing can be
    imported or, in strict mode, anything is damaged.
    """
    for path in paths:
        check_file(path)
    scanned = _Scanned()
    for number in range(len(paths)):
        _scan_file(paths, number, scanned, problems)
    if not scanned.fields:
        reason = next(iter(scanned.refused), "") or next((d.text for d in problems.dropped()), "no message is whole")
        raise SourceError(f"Nothing in this GRIB file can be imported: {reason}.", where=paths[0])
    sources = tuple(
        {"file": path, "format": "GRIB" + "+".join(str(e) for e in sorted(editions)), "bytes": os.path.getsize(path)}
        for path, editions in zip(paths, scanned.editions, strict=True))
    parts = []
    for keys in _one_place(scanned):
        fields = [f for f in scanned.fields if f.grid in keys]
        parts.append(_part(paths, fields, {key: scanned.grids[key] for key in keys}, policy, double_as_float, scanned))
    dropped = (*problems.dropped(),
               *(Dropped(_listing(names), reason, len(names)) for reason, names in scanned.refused.items()))
    return _named([replace(p, description=replace(p.description, source=sources, dropped=(
        *p.description.dropped, *dropped))) for p in parts])


def _scan_file(paths: Sequence[str], number: int, scanned: _Scanned, problems: Problems) -> None:
    before = len(scanned.fields)
    editions: set[int] = set()
    others: list[Field] = []
    for found in scan(paths[number], number):
        if isinstance(found, Damage):
            what = "bytes" if found.reason == FOREIGN else "messages"
            problems.add(what, found.reason, number, found.offset, found.length or 1)
            continue
        try:
            one = _taken(paths[number], found, scanned)
        except UndecodableError as error:
            problems.add("messages", f"not understood: {error}", number, found.place.offset)
            continue
        editions.add(found.header[7])
        grid = scanned.grids[one.grid]
        if isinstance(grid, str):
            scanned.refused.setdefault(grid, []).append(one.parameter.name)
            others.append(one)
        else:
            scanned.fields.append(one)
    scanned.editions.append(editions)
    wrong = list(disagreements(paths[number], scanned.fields[before:] + others))
    if wrong:
        problems.add("index lines", f"that disagree with the messages, which are believed: {wrong[0]}", number,
                     count=len(wrong))


def _taken(path: str, found: Found, scanned: _Scanned) -> Field:
    """The field of a header; its grid is looked at where it is a new one."""
    with opened(found.header) as header:
        one = field_of(header, found.place, found.grid)
        if not scanned.attributes:
            scanned.attributes |= {"GRIB_centre": header.text("centre"),
                                   "institution": header.text("centreDescription")}
        if one.grid not in scanned.grids:
            try:
                if needs_data(header):
                    with opened(message_bytes(path, found.place)) as whole:
                        scanned.grids[one.grid] = grid_of(whole)
                else:
                    scanned.grids[one.grid] = grid_of(header)
            except UndecodableError as error:
                scanned.grids[one.grid] = str(error)
    return one


def _one_place(scanned: _Scanned) -> list[list[bytes]]:
    """The keys of the grids, those of the same places together."""
    found: list[tuple[Grid, list[bytes]]] = []
    for key, grid in scanned.grids.items():
        if isinstance(grid, str):
            continue
        same = next((keys for other, keys in found if same_places(other.domain, grid.domain)), None)
        if same is None:
            found.append((grid, [key]))
        else:
            same.append(key)
    return [keys for _, keys in found]


def _part(paths: Sequence[str], fields: Sequence[Field], grids: Mapping[bytes, Any], policy: str,
          double_as_float: bool, scanned: _Scanned) -> Part:
    def details(one: Field) -> tuple[str, ...]:
        with opened(header_bytes(paths[one.place.file], one.place)) as header:
            return details_of(header)

    groups = groups_of(fields, details, policy, paths)
    names = names_of(groups)
    times = np.array(sorted({f.valid for f in fields}), np.int64)
    items, hints, slots, notes = [], {}, {}, [
        Dropped(grid.kind, note) for grid in grids.values() for note in grid.notes]
    for group, name in zip(groups, names, strict=True):
        items.append(_item(group, name, "float32" if double_as_float else "float64", paths))
        hint = next((f.hint for f in group.fields if f.hint is not None), None)
        if hint is not None:
            hints[name] = (hint,)
        slots[name] = group.slots
    notes += _counted(groups, names, times.size, policy)
    first = next(iter(grids.values()))
    description = Description(
        first.domain, TimeAxis(times), tuple(items), first.name, hints, attributes=scanned.attributes,
        time_attributes={"standard_name": "time", "long_name": "time of validity"}, dropped=tuple(notes))
    return Part(description, grids, slots)


def _item(group: Group, name: str, dtype: str, paths: Sequence[str]) -> Item:
    parameter, level = group.first.parameter, group.first.level
    attributes = dict(parameter.attributes)
    layers = group.layers
    if layers is None or layers.name == "number":
        attributes["GRIB_level"] = level.first
        if level.second != level.first:
            attributes["GRIB_level_to"] = level.second
    elif level.kind.startswith("hybrid"):
        layers = replace(layers, attributes={**layers.attributes, **_coefficients(paths, group.first.place)})
    if group.suffix:
        attributes["GRIB_selection"] = group.suffix.strip("[]").replace("][", ",")
    return Item(name, dtype, parameter.unit, parameter.long_name, parameter.standard_name, float("nan"), decoded=dtype,
                layers=layers, attributes=attributes)


def _coefficients(paths: Sequence[str], place: Place) -> dict[str, list[float]]:
    """The coefficients of hybrid levels, where the message has them."""
    with opened(header_bytes(paths[place.file], place)) as header:
        try:
            return {"GRIB_pv": header.array("pv").tolist()}
        except UndecodableError:
            return {}


def _counted(groups: Sequence[Group], names: Sequence[str], times: int, policy: str) -> Iterable[Dropped]:
    """Notes on what several messages were there for, and on what none was."""
    which = "latest" if policy == "keep-last" else "earliest"
    for reason, counts in (
        (f"messages of another forecast for the same time (the {which} is kept)", [g.earlier for g in groups]),
        (f"messages that repeat another ({policy})", [g.repeated for g in groups]),
        (NO_MESSAGE, [times * (len(g.layers) if g.layers else 1) - len(g.slots) for g in groups]),
    ):
        if any(counts):
            yield Dropped(_listing([n for n, c in zip(names, counts, strict=True) if c]), reason, sum(counts))


def _listing(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    return ", ".join(unique[:_LISTED]) + (f" and {len(unique) - _LISTED} more" if len(unique) > _LISTED else "")


def _named(parts: list[Part]) -> list[Part]:
    """The name "" for the only grid, else names that differ."""
    if len(parts) == 1:
        return [replace(parts[0], description=replace(parts[0].description, name=""))]
    names = [p.description.name for p in parts]
    return [replace(p, description=replace(p.description, name=n if names.count(n) == 1 else f"{n}-{i + 1}"))
            for i, (p, n) in enumerate(zip(parts, names, strict=True))]
