"""Several files as one dataset: the same grid and items in each, their times sorted and made one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import Array, Description, Dropped, Item
from mdstudio.engine.times import TimeAxis, format_time
from mdstudio.sources.netcdf.describe import Binding, Part
from mdstudio.sources.netcdf.grids import same_domain


@dataclass(frozen=True)
class Joined:
    """A part over all files.

    Attributes:
        bindings: of each file that holds steps of it, by item.
        file_of_step, index_of_step: (time,) which file, and which step in it, holds each time.
    """

    description: Description
    bindings: Sequence[Mapping[str, Binding]]
    file_of_step: Array
    index_of_step: Array


def join(paths: Sequence[str], described: Sequence[Sequence[Part]], policy: str) -> list[Joined]:
    """The parts of all files joined by time.

    Files are sorted by their first time (equal ones stay in the given order); where files overlap, `keep-last` takes
    the step of the file that starts last, `keep-first` that of the one that starts first, and the number of steps left
    out is noted. Parts without times are taken from the first file. Raises `SourceError` naming both files and the
    difference where grids, items or encodings disagree.
    """
    if len(paths) == 1:
        return [Joined(p.description, [p.bindings], np.zeros(len(p.steps), np.int64), p.steps) for p in described[0]]
    if all(p.description.times.static for p in described[0]):
        raise SourceError("Several files are joined by time, and this one has no time.", where=paths[0],
                          advice="Import such files one by one.")
    joined = []
    for number, part in enumerate(described[0]):
        others = [_partner(paths, described, file, part) for file in range(1, len(paths))]
        if part.description.times.static:
            joined.append(_first_only(paths, described, number, part))
        else:
            joined.append(_by_time(paths, [part, *others], policy))
    return joined


def _partner(paths: Sequence[str], described: Sequence[Sequence[Part]], file: int, part: Part) -> Part:
    """The part of another file that continues this one; checked to be of the same grid, items and encodings."""
    first = part.description
    found = [p for p in described[file] if p.description.name == first.name]
    if not found and len(described[0]) == len(described[file]) == 1:
        found = list(described[file])
    if not found:
        found = [p for p in described[file] if {i.name for i in p.description.items} == {i.name for i in first.items}]
    if not found:
        raise _differ(paths[0], paths[file], f"it has no '{first.name or first.items[0].name}'")
    other = found[0].description
    reason = same_domain(first.domain, other.domain) or _same_items(first.items, other.items)
    if first.times.static != other.times.static:
        reason = "one has times and the other has none"
    elif first.times.calendar != other.times.calendar:
        reason = f"calendar {first.times.calendar} against {other.times.calendar}"
    if reason:
        raise _differ(paths[0], paths[file], reason)
    return found[0]


def _same_items(one: Sequence[Item], other: Sequence[Item]) -> str:
    theirs = {i.name: i for i in other}
    lacks = [i.name for i in one if i.name not in theirs] or sorted({i.name for i in other} - {i.name for i in one})
    if lacks:
        return f"'{lacks[0]}' is in one only"
    for item in one:
        for name in ("dtype", "scale", "offset", "no_data", "missing", "valid_min", "valid_max", "decoded", "unit"):
            mine, its = getattr(item, name), getattr(theirs[item.name], name)
            if mine != its and not (mine != mine and its != its):
                return f"'{item.name}' has {name} {mine} against {its}"
        layers, their_layers = item.layers, theirs[item.name].layers
        if (layers and (layers.name, layers.values)) != (their_layers and (their_layers.name, their_layers.values)):
            return f"'{item.name}' has other layers"
    return ""


def _differ(first: str, other: str, reason: str) -> SourceError:
    return SourceError(f"The file does not go with {first}: {reason}.", where=other,
                       advice="Import files that differ into datasets of their own.")


def _first_only(paths: Sequence[str], described: Sequence[Sequence[Part]], number: int, part: Part) -> Joined:
    note = Dropped(", ".join(i.name for i in part.description.items),
                   f"without times: taken from the first of {len(paths)} files", len(part.description.items))
    description = replace(part.description, dropped=(*part.description.dropped, note), source=_sources(described))
    return Joined(description, [part.bindings], np.zeros(len(part.steps), np.int64), part.steps)


def _sources(described: Sequence[Sequence[Part]]) -> tuple[Mapping[str, object], ...]:
    return tuple(s for parts in described for s in parts[0].description.source)


def _by_time(paths: Sequence[str], parts: Sequence[Part], policy: str) -> Joined:
    by_start = sorted(range(len(parts)), key=lambda f: int(parts[f].description.times.microseconds[0]))
    times = np.concatenate([parts[f].description.times.microseconds for f in by_start])
    files = np.concatenate([np.full(len(parts[f].steps), f, np.int64) for f in by_start])
    steps = np.concatenate([parts[f].steps for f in by_start])
    order = np.argsort(times, kind="stable")  # within equal times: the file that starts first comes first
    times, files, steps = times[order], files[order], steps[order]
    same = np.diff(times) == 0
    repeats = int(same.sum())
    first = parts[0].description
    if repeats and policy == "fail":
        at = int(np.flatnonzero(same)[0])
        time = format_time(int(times[at]), first.times.calendar)
        raise SourceError(f"The time {time} is in {paths[int(files[at])]} too, and TimePolicy is fail.",
                          where=paths[int(files[at + 1])])
    keep = np.concatenate([~same, [True]]) if policy == "keep-last" else np.concatenate([[True], ~same])
    dropped = dict.fromkeys(note for p in parts for note in p.description.dropped)
    if repeats:
        dropped[Dropped("times", f"repeated times of overlapping files ({policy})", repeats)] = None
    description = replace(
        first, times=TimeAxis(times[keep], first.times.calendar), dropped=tuple(dropped),
        source=tuple(s for p in parts for s in p.description.source))
    return Joined(description, [p.bindings for p in parts], files[keep], steps[keep])
