"""Run a recipe in this process: open the source, choose grid and items, choose settings, write the dataset."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mdstudio.engine.errors import AlreadyExistsError, NotFoundError, UsageError
from mdstudio.engine.items import find_item
from mdstudio.engine.layout.metadata import METADATA_BLOB, Metadata
from mdstudio.engine.model import Array, Description, Domain, Dropped, MeshDomain
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import redact
from mdstudio.jobs.recipe import Recipe, command_text, parameter_list

if TYPE_CHECKING:
    from mdstudio.engine.parameters import Value
    from mdstudio.engine.settings import Settings
    from mdstudio.engine.storage.protocol import BlobStorage
    from mdstudio.engine.writer import SliceReader, WriteSummary
    from mdstudio.sources.contract import Source


@dataclass(frozen=True)
class Plan:
    """What a recipe would do: what is written (`description`, with the chosen items only) and how (`settings`).

    `given`: the explicit writer parameters, by name.
    """

    recipe: Recipe
    description: Description
    settings: Settings
    environ: Mapping[str, str]
    given: Mapping[str, Value]

    def to_json(self) -> dict[str, Any]:
        """The document of `import --dry-run --json`."""
        d, s = self.description, self.settings.storage
        return {
            "dataset": redact(self.recipe.target),
            "mode": self.recipe.mode,
            "grid": d.name,
            **_domain_json(d.domain),
            "timesteps": len(d.times),
            "times": {"count": len(d.times), "first": d.times.text(0), "last": d.times.text(len(d.times) - 1),
                      "calendar": d.times.calendar},
            "items": [{"name": i.name, "type": i.dtype, "unit": i.unit, "layers": len(i.layers) if i.layers else None}
                      for i in d.items],
            "raw_bytes": d.raw_bytes,
            "settings": {
                "storage_type": s.storage_type, "compression": s.compression, "time_group_size": s.time_group_size,
                "grid_tile_width": s.grid_tile_width, "compressed_mesh_page_size": s.compressed_mesh_page_size,
                "time_series_block_rows": s.time_series_block_rows, "spatial_group_size": s.spatial_group_size,
                "layout_version": s.layout_version,
            },
            "origins": dict(self.settings.origins),
            "notes": list(self.settings.notes),
            "dropped": dropped_json(d.dropped),
        }


def _domain_json(domain: Domain) -> dict[str, Any]:
    if isinstance(domain, MeshDomain):
        return {"kind": "mesh", "elements": domain.elements, "nodes": domain.nodes}
    return {"kind": domain.kind, "rows": domain.rows, "columns": domain.columns}


def _size_text(domain: Domain) -> str:
    if isinstance(domain, MeshDomain):
        return f"{domain.elements} elements"
    return f"{domain.rows} x {domain.columns} cells"


class Slices:
    """The writer's view of a source: slices of one description."""

    def __init__(self, source: Source, description: Description) -> None:
        self._source, self._description = source, description

    def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        return self._source.read(self._description, item, times, layer, rows, columns)


def run_recipe(recipe: Recipe, progress: Progress, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Import; returns the summary of `import --json` (design 5a): dataset, items, timesteps, raw_bytes, stored_bytes,
    seconds, dropped.

    Raises `AlreadyExistsError` for a destination that is a dataset where one is to be made, `NotFoundError` where one
    is to be appended to or updated and is not there, `SourceError`, `UsageError`, `StorageError`, `Cancelled`. A new
    dataset leaves nothing behind then, the other modes the old dataset (an update what it has written of it). A kill
    leaves no dataset, or the old one, and the same recipe run again completes (W2); a new dataset goes on where the
    kill came, by its journal. `SourceError` too for a source that changes while a new dataset is made of it.
    """
    from mdstudio.engine.storage import open_storage
    from mdstudio.jobs.journal import forget_journal, source_identity

    check_parameters(recipe)
    target = open_storage(recipe.target)
    if recipe.mode == "create" and target.exists(METADATA_BLOB):
        forget_journal(target.location)  # of a run that was killed when all but this was done
    refuse_existing(target, recipe)
    identities = {path: source_identity(path) for path in recipe.sources}
    with planned(recipe, environ) as (source, plan):
        for note in plan.settings.notes:
            progress.note(note)
        for left in plan.description.dropped:
            progress.note(left.text)
        before = set(source.dropped())  # those of every grid; what reading finds comes on top
        written = _write(plan, target, Slices(source, plan.description), progress, identities)
        dropped = (*plan.description.dropped, *(d for d in source.dropped() if d not in before))
    return {
        "dataset": target.location,
        "items": written.items,
        "timesteps": written.timesteps,
        "raw_bytes": written.raw_bytes,
        "stored_bytes": written.stored_bytes,
        "seconds": round(written.seconds, 3),
        "dropped": dropped_json(dropped),
    }


def _write(
    plan: Plan, target: BlobStorage, reader: SliceReader, progress: Progress, identities: dict[str, str | None]
) -> WriteSummary:
    """Do what the plan's mode says; "replace" makes a dataset where none is."""
    from mdstudio.engine.operations.append import append_times
    from mdstudio.engine.operations.replace import replace_dataset
    from mdstudio.engine.operations.update import update_times
    from mdstudio.engine.writer import create_dataset
    from mdstudio.jobs.journal import journal_of

    mode, description, environ = plan.recipe.mode, plan.description, plan.environ
    if mode in ("append", "update"):
        write = append_times if mode == "append" else update_times
        return write(target, description, reader, plan.given, progress, environ)
    name = dataset_name(plan.recipe.target)
    if mode == "replace" and target.exists(METADATA_BLOB):
        return replace_dataset(target, name, description, reader, plan.settings, progress, environ)
    journal = journal_of(plan.recipe, target.location, description, plan.settings, identities)
    return create_dataset(target, name, description, reader, plan.settings, progress, environ, journal)


@contextmanager
def planned(recipe: Recipe, environ: Mapping[str, str] | None = None) -> Iterator[tuple[Source, Plan]]:
    """The open source and what the recipe would do with it; reads metadata and coordinates only, writes nothing.

    An append or update that would be refused is refused here.
    """
    from mdstudio.engine.layout.metadata import load_metadata
    from mdstudio.engine.storage import open_storage
    from mdstudio.sources.registry import open_source

    environ = dict(os.environ if environ is None else environ)
    if recipe.workers is not None:
        environ["MD_ENCODE_WORKERS"] = str(recipe.workers)
    given = check_parameters(recipe)
    target = open_storage(recipe.target)
    stored = load_metadata(target)[0] if recipe.mode in ("append", "update") else None
    with open_source(recipe.sources, recipe.reader_parameters) as source:
        wanted = recipe.items or tuple(item.name for item in stored.items) if stored else recipe.items
        grid = choose_grid(source.descriptions(), replace(recipe, items=wanted))
        others = (_left([i.name for i in d.items], f"in another grid, {d.name}")
                  for d in source.descriptions() if d is not grid)
        description = choose_items(replace(grid, dropped=(*grid.dropped, *others)), recipe.items)
        yield source, _plan(recipe, description, given, environ, target, stored)


def _plan(
    recipe: Recipe, description: Description, given: Mapping[str, Value], environ: Mapping[str, str],
    target: BlobStorage, stored: Metadata | None,
) -> Plan:
    """Settings chosen for a dataset that is made, those of the dataset for one that is there (`stored`; D7)."""
    from mdstudio.engine.operations.append import check_append
    from mdstudio.engine.operations.update import check_update
    from mdstudio.engine.parameters import parameters
    from mdstudio.engine.settings import Settings, choose_settings

    if stored is None:
        return Plan(recipe, description, choose_settings(description, given, environ), environ, given)
    if recipe.mode == "append":
        description = check_append(target, stored, description, given)
    else:
        description, _ = check_update(target, stored, description, given)
    settings = Settings(stored.storage, (), dict.fromkeys(parameters("writer"), "dataset"))
    return Plan(recipe, description, settings, environ, given)


def check_parameters(recipe: Recipe) -> dict[str, Value]:
    """The writer parameters that are given, in their types; those of the reader are checked too.

    Raises `UsageError`, with the nearest known name for one that there is not. Nothing is read for it.
    """
    from mdstudio.engine.parameters import parse_parameters

    parse_parameters(parameter_list(recipe.reader_parameters), "reader")
    return parse_parameters(parameter_list(recipe.writer_parameters), "writer")


def refuse_existing(target: BlobStorage, recipe: Recipe) -> None:
    """Say so before a long job when the destination is taken; the writer checks again."""
    if recipe.mode == "create" and target.exists(METADATA_BLOB):
        raise AlreadyExistsError("There is a dataset already.", where=target.location,
                                 advice="Choose another destination, or say --append (later times), --update (times "
                                        "that it has) or --replace (the whole dataset).")


def choose_grid(descriptions: Sequence[Description], recipe: Recipe) -> Description:
    """The one grid to import: the named one, the only one, or the only one that holds the chosen items.

    Raises `UsageError` listing the grids with their items and the command to use where the choice is open.
    """
    if recipe.grid:
        for number, description in enumerate(descriptions):
            if recipe.grid in (description.name, f"#{number}"):
                return description
        if len(descriptions) == 1 and not descriptions[0].name:
            raise NotFoundError(f"The source has no grid '{recipe.grid}'; it holds a single one, without a name.",
                                advice="Leave the grid out.")
        raise NotFoundError(f"The source has no grid '{recipe.grid}'. It has:\n{_grid_lines(descriptions)}")
    holders = [d for d in descriptions if recipe.items and set(recipe.items) <= {i.name for i in d.items}]
    if len(descriptions) == 1:
        return descriptions[0]
    if len(holders) == 1:
        return holders[0]
    names = [redact(s) for s in recipe.sources]
    target = redact(recipe.target)
    command = command_text(["mdstudio", "import", *names, target, "--grid", descriptions[0].name,
                            *([f"--{recipe.mode}"] if recipe.mode != "create" else [])])
    raise UsageError(
        f"The source holds {len(descriptions)} grids, and a dataset holds one:\n{_grid_lines(descriptions)}\n"
        f"Choose one and a destination for each, such as: {command}", where=", ".join(names))


def _grid_lines(descriptions: Sequence[Description]) -> str:
    return "\n".join(
        f"  {d.name}: {_size_text(d.domain)}, {len(d.times)} time{'s' * (len(d.times) != 1)}, "
        f"items {', '.join(i.name for i in d.items)}"
        for d in descriptions)


def choose_items(description: Description, names: Sequence[str]) -> Description:
    """The description with the named items only (`#n` counts from 0), in the order given; all for no names."""
    if not names:
        return description
    chosen = {item.name: item for item in (find_item(description.items, name) for name in names)}
    left = [i.name for i in description.items if i.name not in chosen]
    return replace(
        description, items=tuple(chosen.values()),
        hints={name: hints for name, hints in description.hints.items() if name in chosen},
        dropped=(*description.dropped, *([_left(left, "not chosen")] if left else [])),
    )


def _left(names: Sequence[str], reason: str) -> Dropped:
    """Items that are left out for one reason, as one."""
    return Dropped(", ".join(names), reason, len(names))


def dropped_json(dropped: Sequence[Dropped]) -> list[dict[str, Any]]:
    return [{"what": d.what, "reason": d.reason, "count": d.count} for d in dropped]


def dataset_name(location: str) -> str:
    """The name of a dataset: the last part of its location, as text, which the name of a folder need not be."""
    parts = [p for p in redact(location).replace("\\", "/").split("/") if p not in ("", ".", "..")]
    name = parts[-1] if parts else os.path.basename(os.path.abspath(location))
    return name.encode("utf-8", "replace").decode()
