"""One file to what can be imported of it: a `Part` for each grid or mesh and time axis, with where each item lies."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import DTYPES, Array, Description, Domain, Dropped, Hint, Item
from mdstudio.sources.netcdf.attributes import json_attributes, text, units
from mdstudio.sources.netcdf.clock import Clock, clock_of, ordered, time_dims
from mdstudio.sources.netcdf.encoding import encoding_of, stored_type
from mdstudio.sources.netcdf.grids import domain_of, same_domain
from mdstudio.sources.netcdf.hdf5 import FILTER_ADVICE
from mdstudio.sources.netcdf.hints import hints_of
from mdstudio.sources.netcdf.horizontal import Horizontal, NotOnAGridError, horizontal_of
from mdstudio.sources.netcdf.layers import layer_axis, split
from mdstudio.sources.netcdf.mesh_domain import MeshDomains, is_mapping, mesh_domain
from mdstudio.sources.netcdf.mesh_place import MeshElsewhereError, MeshPlace, is_mesh_data, is_mesh_part, mesh_place
from mdstudio.sources.netcdf.mesh_topology import Mesh, find_meshes, part_notes
from mdstudio.sources.netcdf.roles import role_of
from mdstudio.sources.netcdf.view import FileView, Variable


@dataclass(frozen=True)
class Binding:
    """Where the values of an item lie in a file.

    Attributes:
        variable: path of the variable.
        order: positions in the variable's shape of (time, layer, row, column); -1 where it has no such dimension. The
            columns of a mesh are its nodes or elements.
        fixed: (position, index) of the dimensions that split the variable into items.
        stored: the type its bits are read as (`_Unsigned` taken into account), native byte order.
        target: the item's type: another one only with DoubleAsFloat.
    """

    variable: str
    order: tuple[int, int, int, int]
    fixed: tuple[tuple[int, int], ...]
    stored: np.dtype[Any]
    target: np.dtype[Any]


@dataclass(frozen=True)
class Part:
    """One grid or mesh and time axis of one file: description, where the items lie, the file's index of each step."""

    description: Description
    bindings: Mapping[str, Binding]
    steps: Array
    grid_name: str
    time_name: str


@dataclass
class _Draft:
    """A part in the making."""

    domain: Domain
    clock: Clock
    grid_name: str
    items: list[Item] = field(default_factory=list)
    bindings: dict[str, Binding] = field(default_factory=dict)
    hints: dict[str, tuple[Hint, ...]] = field(default_factory=dict)


@dataclass
class _Refused:
    """What is not imported, by reason; `elsewhere` where some of it is on a mesh that the file has not."""

    by_reason: dict[str, list[str]] = field(default_factory=dict)
    elsewhere: bool = False
    largest: str = ""
    largest_size: int = -1
    advice: str = ""

    def add(self, name: str, error: NotOnAGridError, size: int = 0) -> None:
        self.by_reason.setdefault(str(error), []).append(name)
        self.elsewhere |= isinstance(error, MeshElsewhereError)
        if not error.quiet and size > self.largest_size:
            self.largest_size, self.advice = size, error.advice
            self.largest = f"'{name}' is {error}" if str(error).startswith(("on ", "not on ")) else f"'{name}': {error}"

    def dropped(self) -> list[Dropped]:
        return [Dropped(_listing(names), reason, len(names)) for reason, names in self.by_reason.items()]


def _listing(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


class NoMeshError(SourceError):
    """Nothing of a file can be imported, because it has not the mesh that its values are on."""


@dataclass(frozen=True)
class Meshes:
    """Meshes beside those of a file itself: `others` of further files of the source, and all that were `made`."""

    others: tuple[Mesh, ...] = ()
    made: MeshDomains = field(default_factory=MeshDomains)


def describe_file(view: FileView, policy: str, double_as_float: bool, meshes: Meshes | None = None) -> list[Part]:
    """The parts of a file in file order, those with times first. Reads coordinates only.

    Raises `SourceError` naming the file and the reason when nothing of it can be imported: `NoMeshError` where its mesh
    may be in another file.
    """
    meshes = meshes or Meshes()
    refused, notes = _Refused(), _Notes()
    own = find_meshes(view)
    drafts = _drafts(view, [*own, *meshes.others], meshes.made, refused, notes, double_as_float)
    parts, last_error = [], None
    for draft in drafts:
        try:
            times, steps, found = ordered(draft.clock, policy, view.path)
        except NotOnAGridError as error:
            for item in draft.items:
                refused.add(item.name, error)
            last_error = last_error or error
            continue
        notes.extend([*draft.clock.notes, *found])
        parts.append((draft, times, steps))
    if not parts:
        raise _nothing(view, own, refused, last_error)
    dropped = (*notes.all(), *refused.dropped(), *part_notes(view, own), *_others(view, own))
    source = ({"file": view.path, "format": view.format, "bytes": os.path.getsize(view.path)},)
    attributes = json_attributes(view.attributes)
    described = [
        Part(Description(d.domain, times, tuple(d.items), "", d.hints, source, attributes, d.clock.attributes, dropped),
             d.bindings, steps, d.grid_name, d.clock.name)
        for d, times, steps in parts]
    return _named(sorted(described, key=lambda p: p.description.times.static))


class _Notes:
    """Notes without repetition, those of one reason made one."""

    def __init__(self) -> None:
        self._found: dict[Dropped, None] = {}

    def extend(self, notes: Iterable[Dropped]) -> None:
        self._found.update(dict.fromkeys(notes))

    def all(self) -> list[Dropped]:
        by_reason: dict[str, list[Dropped]] = {}
        for note in self._found:
            by_reason.setdefault(note.reason, []).append(note)
        return [Dropped(_listing([n.what for n in notes]), reason, sum(n.count for n in notes))
                for reason, notes in by_reason.items()]


Place = Horizontal | MeshPlace


def _drafts(view: FileView, meshes: list[Mesh], made: MeshDomains, refused: _Refused, notes: _Notes,
            double_as_float: bool) -> list[_Draft]:
    times = time_dims(view) - {dim for mesh in meshes for dim in mesh.dims}  # a temperature t names no times
    clocks: dict[tuple[Any, ...], Clock] = {}
    placed: list[tuple[Variable, Place, Clock]] = []
    for variable in _data_variables(view, meshes):
        try:
            grid = mesh_place(view, variable, meshes) or horizontal_of(view, variable, times)
            if 0 in variable.shape and not any(view.sizes[d] == 0 for d in variable.dims if d in times):
                raise NotOnAGridError("not on a grid: it has a dimension of length 0")
            clues = (tuple(d for d in variable.dims if d in times), variable.group,
                     str(variable.attributes.get("coordinates")), str(variable.attributes.get("time")))
            if clues not in clocks:
                clocks[clues] = clock_of(view, variable, times)
        except NotOnAGridError as error:
            refused.add(variable.path, error, math.prod(variable.shape))
            continue
        placed.append((variable, grid, clocks[clues]))
    domains = _Domains(view, [(v, g) for v, g, _ in placed], notes, made)
    drafts: list[_Draft] = []
    for variable, grid, clock in placed:
        try:
            domain, grid_name = domains.get(grid)
            draft = next((d for d in drafts if d.domain is domain and _same_clock(d.clock, clock)), None)
            fresh = draft or _Draft(domain, clock, grid_name)
            _add_items(view, variable, grid, clock, fresh, notes, double_as_float)
            if draft is None:
                drafts.append(fresh)
        except (NotOnAGridError, ValueError) as error:
            refused.add(variable.path, error if isinstance(error, NotOnAGridError) else NotOnAGridError(str(error)),
                        math.prod(variable.shape))
    return drafts


def _same_clock(a: Clock, b: Clock) -> bool:
    return a.static == b.static and a.calendar == b.calendar and bool(np.array_equal(a.microseconds, b.microseconds))


def _data_variables(view: FileView, meshes: list[Mesh]) -> list[Variable]:
    """Everything that is not a coordinate, a bound, a grid mapping, a part of a mesh or text."""
    found = []
    for variable in view.variables.values():
        if variable.kind or not variable.dims or variable.path in view.helpers or is_mesh_part(variable, meshes):
            continue
        if is_mesh_data(variable, meshes):
            found.append(variable)
            continue
        if view.coordinate(variable.path) is not None or _is_place(variable) or _is_axis(variable):
            continue
        found.append(variable)
    return found


def _is_axis(variable: Variable) -> bool:
    """True for 1-D coordinates that are not named as their dimension is."""
    standard = text(variable.attributes, "standard_name")
    told = standard or text(variable.attributes, "units", "unit", "axis")
    return len(variable.dims) == 1 and (
        (role_of(variable) != "" and told != "") or standard in ("forecast_period", "forecast_reference_time"))


def _is_place(variable: Variable) -> bool:
    """True for longitudes, latitudes and the like over several dimensions: coordinates, also where none names them."""
    return len(variable.dims) > 1 and role_of(variable) in (
        "longitude", "latitude", "grid_longitude", "grid_latitude", "projection_x", "projection_y")


class _Domains:
    """The domains of a file by grid, each read once; equal ones (of several groups) are one."""

    def __init__(self, view: FileView, placed: list[tuple[Variable, Place]], notes: _Notes, made: MeshDomains) -> None:
        self._view, self._notes, self._made_meshes = view, notes, made
        self._mappings: dict[tuple[str, ...], Variable] = {}
        self._best: dict[tuple[str, ...], Horizontal] = {}
        self._made: dict[tuple[str, ...], tuple[Domain, str] | NotOnAGridError] = {}
        for variable, grid in placed:
            if isinstance(grid, Horizontal):
                self._best.setdefault(grid.key, grid)
            for mapping in view.grid_mappings(variable)[:1]:
                self._mappings.setdefault(grid.key, mapping)

    def get(self, grid: Place) -> tuple[Domain, str]:
        key = self._key(grid) if isinstance(grid, Horizontal) else grid.key
        if key not in self._made:
            try:
                self._made[key] = self._make(key) if isinstance(grid, Horizontal) else self._make_mesh(grid)
            except NotOnAGridError as error:
                self._made[key] = error
        made = self._made[key]
        if isinstance(made, NotOnAGridError):
            raise made
        return made

    def _key(self, grid: Horizontal) -> tuple[str, ...]:
        """Its own key, or that of the only grid over the same dimensions that has the places this one lacks."""
        if grid.longitude is not None:
            return grid.key
        same = [k for k in self._best if k[:2] == grid.key[:2] and k[2]]
        return same[0] if len(same) == 1 else grid.key

    def _make_mesh(self, place: MeshPlace) -> tuple[Domain, str]:
        domain, notes = mesh_domain(self._view, place.mesh, self._mappings.get(place.key), self._made_meshes)
        self._notes.extend(notes)
        return domain, place.mesh.name.replace("/", ".")

    def _make(self, key: tuple[str, ...]) -> tuple[Domain, str]:
        grid = self._best[key]
        mapping = self._mappings.get(key) or next((m for k, m in self._mappings.items() if k[:2] == key[:2]), None)
        domain, notes = domain_of(self._view, grid, mapping)
        name = f"{grid.y_dim}-{grid.x_dim}".replace("/", ".")
        for made in self._made.values():
            if not isinstance(made, NotOnAGridError) and not same_domain(made[0], domain) and (
                    made[0].x_name, made[0].y_name, made[0].crs) == (domain.x_name, domain.y_name, domain.crs):
                return made
        self._notes.extend(notes)
        return domain, name


def _add_items(view: FileView, variable: Variable, grid: Place, clock: Clock, draft: _Draft, notes: _Notes,
               double_as_float: bool) -> None:
    """The items of one variable, one or (by further dimensions) several."""
    plain = (clock.dim, grid.x_dim, grid.y_dim)
    layer, splits = split(view, variable, [d for d in variable.dims if d not in plain])
    stored = stored_type(variable)
    if stored.name not in DTYPES:
        raise NotOnAGridError(f"values of the type {stored.name} are not supported")
    encoding, found = encoding_of(variable, double_as_float)
    notes.extend(found)
    axis = layer_axis(view, variable, layer) if layer else None
    position = {d: i for i, d in enumerate(variable.dims)}
    order = tuple(position.get(d, -1) for d in (clock.dim, layer, grid.y_dim, grid.x_dim))
    attributes = json_attributes(variable.attributes)
    item = Item(
        variable.path, encoding.dtype, units(variable.attributes), text(variable.attributes, "long_name", "title"),
        text(variable.attributes, "standard_name"), encoding.no_data, encoding.missing, encoding.valid_min,
        encoding.valid_max, encoding.scale, encoding.offset, encoding.decoded, axis,
        location=grid.location if isinstance(grid, MeshPlace) else "cell", attributes=attributes)
    for one in splits:
        name = variable.path + one.suffix
        draft.items.append(replace(item, name=name))
        draft.bindings[name] = Binding(
            variable.path, (order[0], order[1], order[2], order[3]),
            tuple((position[d], i) for d, i in one.fixed), stored, np.dtype(encoding.dtype))
        hints = hints_of(variable, encoding.dtype)
        if hints:
            draft.hints[name] = hints


def _others(view: FileView, meshes: list[Mesh]) -> list[Dropped]:
    """Variables that are no fields: text and the like by kind, single numbers, bounds of times."""
    kinds: dict[str, list[str]] = {}
    for variable in view.variables.values():
        if is_mesh_part(variable, meshes):
            continue
        if variable.path in view.helpers:
            if variable.dims and any(variable in view.listed(v, "bounds") and role_of(v) == "time"
                                     for v in view.variables.values()):
                kinds.setdefault("bounds of times are not kept", []).append(variable.path)
        elif variable.failure:
            kinds.setdefault(f"cannot be read: {variable.failure}", []).append(variable.path)
        elif variable.kind:
            kinds.setdefault(f"{variable.kind} values", []).append(variable.path)
        elif not variable.dims and not is_mapping(variable) and role_of(variable) not in ("time", "x", "y"):
            kinds.setdefault("single numbers, not on a grid", []).append(variable.path)
    return [Dropped(_listing(names), kind, len(names)) for kind, names in kinds.items()]


def _named(parts: list[Part]) -> list[Part]:
    """Names that tell the parts apart: the grid's where grids differ, the time's where times differ."""
    if len(parts) == 1:
        return parts
    several_grids = len({p.grid_name for p in parts}) > 1
    named: list[Part] = []
    used: set[str] = set()
    for part in parts:
        clocks = [p for p in parts if p.grid_name == part.grid_name]
        timed = [p for p in clocks if not p.description.times.static]
        time = part.time_name.replace("/", ".") if not part.description.times.static else "static"
        words = [part.grid_name] if several_grids else []
        if len(clocks) > 1 and (time == "static" or len(timed) > 1 or not several_grids):
            words.append(time)
        name = base = "-".join(words) or part.grid_name
        number = 2
        while name in used:
            name, number = f"{base}-{number}", number + 1
        used.add(name)
        named.append(replace(part, description=replace(part.description, name=name)))
    return named


def _nothing(view: FileView, meshes: list[Mesh], refused: _Refused, error: NotOnAGridError | None) -> SourceError:
    """Why nothing of the file can be imported."""
    if error is not None:
        text_ = str(error)
        return SourceError(text_[0].upper() + text_[1:] + ".", where=view.path, advice=error.advice)
    unreadable = next((v for v in view.variables.values() if v.failure), None)
    if refused.largest:
        reason = f"The file has no gridded variable: {refused.largest}."
        if refused.elsewhere:
            return NoMeshError(reason, where=view.path, advice="Name the file that has the mesh beside it.")
        also = "" if unreadable is None else f" '{unreadable.path}' cannot be read: {unreadable.failure}."
        return SourceError(reason + also, where=view.path, advice=refused.advice)
    if unreadable is not None:
        return SourceError(f"The file has no gridded variable that can be read: '{unreadable.path}' is "
                           f"{unreadable.failure}.", where=view.path,
                           advice=FILTER_ADVICE if "HDF5" in unreadable.failure else "")
    if meshes:
        return SourceError(f"The file holds a mesh ({_listing([m.name for m in meshes], 4)}) and no values on it.",
                           where=view.path, advice="Name the files of its values beside it.")
    numeric = [v.path for v in view.variables.values() if not v.kind]
    have = f"it has {_listing(numeric)} only" if numeric else (
        "it has no variable of numbers" if view.variables else "it has no variables")
    return SourceError(f"The file has no gridded variable: {have}.", where=view.path,
                       advice="Values over rows and columns, or on a mesh, can be imported.")
