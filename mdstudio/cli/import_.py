"""`mdstudio import SOURCE... DATASET`: make a dataset of files of every family, or write to one that is there."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mdstudio.cli.output import Output, counted, duration, size
from mdstudio.cli.progress import shown_progress, told_to_the_end
from mdstudio.cli.select import split_names
from mdstudio.engine.errors import NotFoundError, UsageError
from mdstudio.engine.model import Dropped
from mdstudio.jobs.recipe import Mode, Recipe, parameter_list, parameter_mapping

LEFT_OUT = "Left out or changed"
_DONE: dict[Mode, str] = {"create": "Imported to", "append": "Appended to", "update": "Updated", "replace": "Replaced"}
_TO_DO: dict[Mode, str] = {"create": "import to", "append": "append to", "update": "update", "replace": "replace"}


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "import", parents=[common], help="make a dataset of NetCDF, GRIB, DHI or Zarr files, or add to one",
        formatter_class=argparse.RawDescriptionHelpFormatter, usage="mdstudio import SOURCE... DATASET [options]",
        description="Makes a dataset of NetCDF, GRIB, DHI (dfs0 to dfs3, dfsu, mesh) or Zarr files; several are\n"
                    "joined by time, of DHI files one after the other with --append.\n"
                    "A failed or cancelled import leaves nothing behind. A killed one leaves no dataset, and the same\n"
                    "command goes on where it stopped.\n\n"
                    "--append, --update and --replace write to a dataset that is there. A killed one leaves the old\n"
                    "dataset (an update: a part of the times new), and the same command completes it. --append and\n"
                    "--update keep the dataset's settings and take its items; the environment has no say.")
    parser.add_argument("locations", nargs="*", metavar="SOURCE... DATASET",
                        help="the files, then the dataset to make")
    parser.add_argument("--params", metavar="FILE.json",
                        help="writerParameters and readerParameters as JSON lists of name and value, or a whole recipe")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                        help="a writer parameter; repeatable")
    parser.add_argument("--reader", action="append", default=[], metavar="NAME=VALUE",
                        help="a reader parameter; repeatable")
    parser.add_argument("--items", metavar="A,B", help="the items to take, by name or number, '#1' (all)")
    parser.add_argument("--grid", default="", metavar="NAME", help="which grid of a source that holds several")
    parser.add_argument("--workers", type=int, metavar="N", help="encode workers, 1 to 4 (one per processor)")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written and how; write nothing")
    mode = parser.add_mutually_exclusive_group()
    for name, text in (
        ("append", "add the source's times, all later than the dataset's last"),
        ("update", "import times again that the dataset has, in place"),
        ("replace", "make the whole dataset anew where there is one; the old one stays whole until then"),
    ):
        mode.add_argument(f"--{name}", dest="mode", action="store_const", const=name, help=text)
    parser.set_defaults(run=run)
    own_help = parser.format_help
    parser.format_help = lambda: f"{own_help()}\n{_parameter_help()}"  # read only when somebody asks for it


def run(args: argparse.Namespace, out: Output) -> int:
    from mdstudio.jobs.run import planned, run_recipe

    recipe = recipe_of(args)
    if args.dry_run:
        with planned(recipe) as (_, plan):
            document = plan.to_json()
        _print_plan(out, document)
        return 0
    with shown_progress(args, "Importing") as progress:
        summary = run_recipe(recipe, progress)
    with told_to_the_end():
        if out.json:
            out.line({"summary": summary})
        else:
            print_summary(out, summary, recipe.mode)
    return 0


def recipe_of(args: argparse.Namespace) -> Recipe:
    """The recipe that the arguments say: those of the command over those of `--params`."""
    given = _params_file(args.params) if args.params else {}
    if len(args.locations) == 1:
        raise UsageError(f"'{args.locations[0]}' is the source; the dataset to make is missing.",
                         advice="Write: mdstudio import SOURCE... DATASET.")
    data = dict(given)
    if args.locations:
        data |= {"sources": args.locations[:-1], "target": args.locations[-1]}
    elif "sources" not in data or "target" not in data:
        raise UsageError("The source and the dataset to make are missing.",
                         advice="Write: mdstudio import SOURCE... DATASET.")
    for key, words in (("writerParameters", args.set), ("readerParameters", args.reader)):
        assigned = assignments(words, "--set" if key == "writerParameters" else "--reader")
        in_file = parameter_mapping(data.get(key, []), key)
        data[key] = parameter_list(in_file | assigned)
    if args.items is not None:
        data["items"] = split_names(args.items, "--items")
    options = {"grid": args.grid or None, "workers": args.workers, "mode": args.mode}
    data |= {key: value for key, value in options.items() if value is not None}
    return Recipe.from_json(data)


def assignments(words: Sequence[str], option: str) -> dict[str, Any]:
    """`Name=Value` words as name -> value; a number or true/false is one, all else is text."""
    result: dict[str, Any] = {}
    for word in words:
        name, mark, text = word.partition("=")
        if not mark or not name:
            raise UsageError(f"{option} takes Name=Value, not '{word}'.")
        if name in result:
            raise UsageError(f"{option} gives {name} twice.")
        try:
            value = json.loads(text.lower() if text.lower() in ("true", "false") else text)
        except ValueError:
            value = text
        result[name] = value if isinstance(value, int | float | bool) else text
    return result


def print_summary(out: Output, summary: Mapping[str, Any], mode: Mode = "create") -> None:
    """What an import did, for a person."""
    raw, stored = summary["raw_bytes"], summary["stored_bytes"]
    ratio = f", ratio {stored / raw:.3f}" if raw else ""
    part = mode in ("append", "update")
    out.title(f"{_DONE[mode]} {summary['dataset']}")
    out.facts([
        ("Wrote" if part else "Holds",
         f"{counted(summary['items'], 'item')} x {counted(summary['timesteps'], 'time')}"),
        ("Size", f"{size(raw)} raw written, {size(stored)} stored in all" if part
         else f"{size(stored)} stored, {size(raw)} raw{ratio}"),
        ("Took", duration(summary["seconds"])),
        *[(LEFT_OUT if n == 0 else "", Dropped(**d).text) for n, d in enumerate(summary["dropped"])],
    ])


def _print_plan(out: Output, plan: Mapping[str, Any]) -> None:
    if out.json:
        out.document(plan)
        return
    times, settings, origins = plan["times"], plan["settings"], plan["origins"]
    out.title(f"Would {_TO_DO[plan['mode']]} {plan['dataset']}")
    first, last = times["first"], times["last"]
    span = f", {first}{f' to {last}' if last != first else ''} ({times['calendar']})" if first else ""
    out.facts([
        ("Mesh" if plan["kind"] == "mesh" else "Grid", f"{plan['grid']} {plan['kind']}, {_extent(plan)}".lstrip()),
        ("Times", f"{counted(times['count'], 'time')}{span}"),
        ("Raw size", size(plan["raw_bytes"])),
    ])
    out.text()
    out.table(("Item", "Type", "Unit", ">Layers"),
              [(i["name"], i["type"], i["unit"], str(i["layers"] or "")) for i in plan["items"]])
    out.text()
    out.table(("Setting", "Value", "Origin"),
              [(_setting_name(key), str(value), origins.get(_setting_name(key), origins.get(key, "")))
               for key, value in settings.items() if value is not None])
    for note in plan["notes"]:
        out.text(f"note: {note}")
    for d in plan["dropped"]:
        out.text(f"{LEFT_OUT.lower()}: {Dropped(**d).text}")


def _extent(plan: Mapping[str, Any]) -> str:
    if plan["kind"] == "mesh":
        return f"{counted(plan['elements'], 'element')}, {counted(plan['nodes'], 'node')}"
    return f"{plan['rows']:,} x {plan['columns']:,} cells"


def _setting_name(key: str) -> str:
    """`grid_tile_width` as the parameter `GridTileWidth`."""
    return "".join(part.capitalize() for part in key.split("_"))


def _params_file(path: str) -> dict[str, Any]:
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise NotFoundError("The parameter file is not there.", where=path) from None
    except (ValueError, UnicodeDecodeError) as error:
        raise UsageError(f"The parameter file is no JSON: {error}.", where=path) from None
    except RecursionError:
        raise UsageError("The parameter file is nested too deeply.", where=path) from None
    if not isinstance(data, dict):
        raise UsageError("The parameter file must be a JSON object.", where=path,
                         advice='Such as {"writerParameters": [{"name": "Compression", "value": "ZstdAuto"}]}.')
    return data


def _parameter_help() -> str:
    from mdstudio.cli.parameters import parameter_help

    return parameter_help(os.environ)
