"""Whether a source fits a dataset: settings, domain, items and calendar, all checked before a blob is touched (D7)."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from mdstudio.engine.errors import UnsupportedError, UsageError
from mdstudio.engine.layout.domain import domain_name, load_domain
from mdstudio.engine.layout.domain_kinds import array_names
from mdstudio.engine.layout.guards import require_writable
from mdstudio.engine.layout.metadata import Metadata
from mdstudio.engine.model import Array, Description, Domain, Dropped, GridDomain, Item, MeshDomain
from mdstudio.engine.operations.mesh_update import in_order_of
from mdstudio.engine.parameters import Value
from mdstudio.engine.storage import BlobStorage
from mdstudio.engine.times import TimeAxis

ADVICE = "Import it to a dataset of its own, or make the whole dataset anew with --replace."
NOT_IN_DATASET = "not in the dataset"  # why an item of the source is left out
# What of an item tells how its stored values are to be understood; the rest describes it.
_MEANING = ("dtype", "unit", "no_data", "missing", "valid_min", "valid_max", "scale", "offset", "decoded", "value_kind",
            "components", "location")
_GREGORIAN = ("standard", "proleptic_gregorian")
_GREGORIAN_START = -12219292800_000000  # 1582-10-15: from then on the two are one


def require_same_settings(metadata: Metadata, given: Mapping[str, Value], where: str) -> None:
    """Refuse explicit writer parameters that differ from the stored settings, naming both values (D7)."""
    for name, value in given.items():
        stored = getattr(metadata.storage, re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(), None)
        unused = (metadata.storage.storage_type == "SingleTimestep" and name == "TimeGroupSize") or (
            metadata.kind == "mesh" and name == "GridTileWidth")
        if value != stored and not unused:
            raise UsageError(
                f"{name} is {value}; the dataset was made with {'none' if stored is None else stored}, which stays.",
                where=where, advice=f"Leave {name} out, or make the whole dataset anew with --replace.")


def matched(
    storage: BlobStorage, metadata: Metadata, description: Description, given: Mapping[str, Value]
) -> Description:
    """What of a description can be written into a dataset: the dataset's items in its order, a note of those that are
    left out, and its mesh in the order in which the dataset stores it. Reads the domain at most.

    Raises the error of a guard, and `UsageError` for a setting (`given`), domain or calendar that differs, for an item
    that lacks or differs, by name, and for a source without times.
    """
    where = storage.location
    require_writable(metadata, where)
    require_same_settings(metadata, given, where)
    domain = _same_domain(storage, metadata, description.domain)
    _require_same_calendar(metadata.times, description.times, where)
    found = {item.name: item for item in description.items}
    lacking = [item.name for item in metadata.items if item.name not in found]
    if lacking:
        raise UsageError(f"The source lacks {_named('item', lacking)} of the dataset; all of them are written together."
                         " Nothing was changed.", where=where, advice=ADVICE)
    for item in metadata.items:
        _require_same_item(item, found[item.name], where)
    if not len(description.times):
        raise UsageError("The source has no times.", where=where)
    extra = [name for name in found if name not in metadata.folders]
    left = (Dropped(", ".join(extra), NOT_IN_DATASET, len(extra)),) if extra else ()
    return replace(description, domain=domain, items=tuple(found[item.name] for item in metadata.items),
                   dropped=(*description.dropped, *left))


def with_source(metadata: Metadata, description: Description) -> Metadata:
    """The metadata with the source of an append or update added, and what of it is not here: an entry that stands there
    already is not added again, a note keeps the largest count that one source gave it."""
    added = [dict(entry) for entry in description.source if dict(entry) not in map(dict, metadata.source)]
    counts = {(d.what, d.reason): d.count for d in metadata.dropped}
    for d in description.dropped:
        counts[d.what, d.reason] = max(d.count, counts.get((d.what, d.reason), 0))
    return replace(metadata, source=(*metadata.source, *added),
                   dropped=tuple(Dropped(what, reason, count) for (what, reason), count in counts.items()))


def _named(noun: str, names: Iterable[str]) -> str:
    names = list(names)
    return f"the {noun}{'s' * (len(names) > 1)} {', '.join(names)}"


def _same_domain(storage: BlobStorage, metadata: Metadata, domain: Domain) -> Domain:
    """The domain as it is stored, if it is the dataset's; else `UsageError`.

    By its name, which comes from the content; where texts differ only, by kind, CRS and the coordinates' bits. A mesh
    whose coordinates were updated is stored in the order of the mesh before (V13).
    """
    if domain_name(domain) == metadata.domain_blob:
        return domain
    stored = load_domain(storage, metadata.domain_blob)
    if isinstance(stored, MeshDomain) and isinstance(domain, MeshDomain) and (
            (stored.elements, stored.nodes) == (domain.elements, domain.nodes)):
        domain = in_order_of(domain, stored)
    difference = _domain_difference(stored, domain)
    if difference:
        raise UsageError(f"The source lies on another {metadata.kind}: {difference}. Nothing was changed.",
                         where=storage.location, advice=ADVICE)
    return stored


def _domain_difference(stored: Domain, other: Domain) -> str:
    """What differs, in words; "" for the same coordinates."""
    if type(stored) is not type(other):
        return "one is a grid, the other a mesh"
    if isinstance(stored, GridDomain) and isinstance(other, GridDomain):
        if stored.kind != other.kind:
            return f"it is {other.kind}, that of the dataset {stored.kind}"
        if (stored.rows, stored.columns) != (other.rows, other.columns):
            return (f"it has {other.rows} x {other.columns} cells, that of the dataset {stored.rows} x "
                    f"{stored.columns}")
    if isinstance(stored, MeshDomain) and isinstance(other, MeshDomain) and (
            (stored.elements, stored.nodes) != (other.elements, other.nodes)):
        return (f"it has {other.elements} elements and {other.nodes} nodes, that of the dataset {stored.elements} and "
                f"{stored.nodes}")
    if stored.crs != other.crs:
        return f"its CRS is '{other.crs}', that of the dataset '{stored.crs}'"
    for attribute, name in array_names(stored).items():
        one, two = getattr(stored, attribute), getattr(other, attribute)
        if one is None and two is None:
            continue
        if one is None or two is None:
            return f"{'the dataset' if one is None else 'it'} has no {name}"
        if one.shape != two.shape:
            return f"{name} has the shape {two.shape}, that of the dataset {one.shape}"
        if not _same_numbers(one, two):
            at = int(np.flatnonzero((one != two).ravel())[0])
            return f"{name} differs, first at {at}: {two.ravel()[at]}, that of the dataset {one.ravel()[at]}"
    return ""


def _same_numbers(one: Array, two: Array) -> bool:
    return bool(np.array_equal(one, two, equal_nan=one.dtype.kind == "f" and two.dtype.kind == "f"))


def _require_same_calendar(stored: TimeAxis, other: TimeAxis, where: str) -> None:
    if stored.static != other.static:
        which = ("the dataset", "the source") if stored.static else ("the source", "the dataset")
        raise UsageError(f"{which[0].capitalize()} has no times, and {which[1]} has. Nothing was changed.", where=where,
                         advice=ADVICE)
    gregorian = stored.calendar in _GREGORIAN and other.calendar in _GREGORIAN and min(
        int(axis.microseconds[0]) for axis in (stored, other) if len(axis)) >= _GREGORIAN_START
    if stored.calendar != other.calendar and not gregorian:
        raise UsageError(f"The source goes by the calendar {other.calendar}, the dataset by {stored.calendar}. Nothing "
                         "was changed.", where=where, advice=ADVICE)


def _require_same_item(stored: Item, other: Item, where: str) -> None:
    for name in _MEANING:
        one, two = getattr(stored, name), getattr(other, name)
        if not _same(one, two):
            raise UnsupportedError(
                f"The item '{stored.name}' has another {name.replace('_', '-')} in the source: {_shown(two)}, not "
                f"{_shown(one)}; its stored values would mean something else. Nothing was changed.", where=where,
                advice=ADVICE)
    ours, theirs = stored.layers, other.layers
    if (ours is None) != (theirs is None) or (ours and theirs and not _same(ours.values, theirs.values)):
        raise UnsupportedError(
            f"The item '{stored.name}' has other layers in the source: {_layers_text(other)}, not "
            f"{_layers_text(stored)}. Nothing was changed.", where=where, advice=ADVICE)
    if ours and theirs and (ours.unit, ours.positive) != (theirs.unit, theirs.positive):
        raise UnsupportedError(
            f"The layers of the item '{stored.name}' are in '{theirs.unit}' {theirs.positive} in the source, not "
            f"'{ours.unit}' {ours.positive}. Nothing was changed.", where=where, advice=ADVICE)


def _same(one: object, two: object) -> bool:
    """Equal, numbers to the bit: NaN is NaN, and -0.0 is not 0.0."""
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(_same(a, b) for a, b in zip(one, two, strict=True))
    if isinstance(one, float) and isinstance(two, float):
        return struct.pack("<d", one) == struct.pack("<d", two)
    return one == two


def _shown(value: object) -> str:
    return "none" if value is None else str(value) if value != "" else "''"


def _layers_text(item: Item) -> str:
    if item.layers is None:
        return "none"
    values = item.layers.values
    return f"{len(values)} ({values[0]:g} to {values[-1]:g})"
