"""A recipe: an import as data, the same for the window, the command line and Python (design 2; D11, G9).

No secret is ever in one that leaves this process: the query of an `https://` address (a SAS) is cut off in JSON, in
commands and in `repr`. Whoever runs such a recipe again signs in by the environment.
"""

from __future__ import annotations

import json
import pprint
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, get_args

from mdstudio.engine.errors import UsageError
from mdstudio.engine.storage import redact

Mode = Literal["create", "append", "update", "replace"]
MODES: tuple[Mode, ...] = get_args(Mode)

_KEYS = ("job", "sources", "target", "mode", "writerParameters", "readerParameters", "items", "grid", "workers")


@dataclass(frozen=True, repr=False)
class Recipe:
    """An import of sources into one dataset.

    Attributes:
        sources: files that make one dataset (several: joined by time).
        target: location of the dataset.
        writer_parameters, reader_parameters: name -> value as given (D11); checked when the recipe runs.
        items: names of the items to take; () for all of the grid.
        grid: which grid of a source that holds several; "" where there is one.
        mode: "create" a dataset where none is; to one that is there, "append" later times, "update" times that it has;
            "replace" makes the dataset anew where one is already.
        workers: encode workers, None for the environment's choice (D9).
    """

    sources: tuple[str, ...]
    target: str
    writer_parameters: Mapping[str, Any] = field(default_factory=dict)
    reader_parameters: Mapping[str, Any] = field(default_factory=dict)
    items: tuple[str, ...] = ()
    grid: str = ""
    mode: Mode = "create"
    workers: int | None = None

    def __repr__(self) -> str:
        return f"Recipe({json.dumps(self.to_json(), ensure_ascii=False)})"

    def to_json(self) -> dict[str, Any]:
        """The recipe as JSON-able data, without secrets; `from_json` takes it back."""
        data: dict[str, Any] = {
            "job": "import",
            "sources": [redact(s) for s in self.sources],
            "target": redact(self.target),
            "writerParameters": parameter_list(self.writer_parameters),
            "readerParameters": parameter_list(self.reader_parameters),
        }
        optional = {"mode": self.mode if self.mode != "create" else None, "items": list(self.items) or None,
                    "grid": self.grid or None, "workers": self.workers}
        return data | {key: value for key, value in optional.items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Recipe:
        """The recipe of its JSON form; `UsageError` names what is wrong with it."""
        if not isinstance(data, Mapping):
            raise UsageError("A recipe is a JSON object with 'sources' and 'target'.")
        for key in data:
            if key not in _KEYS:
                near = get_close_matches(key, _KEYS, 1, 0.0)
                raise UsageError(f"A recipe has no '{key}'.", advice=f"Did you mean '{near[0]}'?")
        if data.get("job", "import") != "import":
            raise UsageError(f"This build runs no job '{data['job']}'; it runs 'import'.")
        sources, target = data.get("sources"), data.get("target")
        if not _is_texts(sources) or not sources:
            raise UsageError("The recipe's 'sources' must be a list of at least one file.")
        if not isinstance(target, str) or not target:
            raise UsageError("The recipe's 'target' must be the location of the dataset to make.")
        items, grid = data.get("items", []), data.get("grid", "")
        if not _is_texts(items) or not isinstance(grid, str):
            raise UsageError("The recipe's 'items' must be a list of names, its 'grid' a name.")
        workers = data.get("workers")
        if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or workers < 1):
            raise UsageError(f"The recipe's 'workers' must be a whole number from 1, not {json.dumps(workers)}.")
        mode = data.get("mode", "create")
        if mode not in MODES:
            raise UsageError(f"The recipe's 'mode' must be one of {', '.join(MODES)}, not {json.dumps(mode)}.")
        return cls(
            tuple(sources), target,
            parameter_mapping(data.get("writerParameters", []), "writerParameters"),
            parameter_mapping(data.get("readerParameters", []), "readerParameters"),
            tuple(items), grid, mode, workers,
        )

    def to_command(self) -> str:
        """The command that does the same, quoted for the shell of this platform, without secrets."""
        words = ["mdstudio", "import", *map(redact, self.sources), redact(self.target)]
        for option, values in (("--set", self.writer_parameters), ("--reader", self.reader_parameters)):
            for name, value in values.items():
                words += [option, f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
        if self.items:
            words += ["--items", ",".join(item.replace(",", "\\,") for item in self.items)]
        if self.grid:
            words += ["--grid", self.grid]
        if self.workers is not None:
            words += ["--workers", str(self.workers)]
        if self.mode != "create":
            words.append(f"--{self.mode}")
        return command_text(words)

    def to_python(self) -> str:
        """The Python that does the same, without secrets."""
        data = pprint.pformat(self.to_json(), width=100, sort_dicts=False)
        return f"import mdstudio\n\nmdstudio.import_(\n{_indent(data)}\n)\n"


def command_text(words: Sequence[str]) -> str:
    """Words as one line that the platform's shell takes apart into the same words."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def parameter_list(parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The JSON form of the seed: a list of name and value (D11)."""
    return [{"name": name, "value": value} for name, value in parameters.items()]


def parameter_mapping(values: object, key: str) -> dict[str, Any]:
    """Name -> value of the JSON form; `UsageError` for anything that is not it or names a parameter twice."""
    if not isinstance(values, list | tuple):
        raise UsageError(f"'{key}' must be a list of {{\"name\": ..., \"value\": ...}}.")
    result: dict[str, Any] = {}
    for entry in values:
        if not isinstance(entry, Mapping) or set(entry) != {"name", "value"} or not isinstance(entry["name"], str):
            raise UsageError(f"Each entry of '{key}' must be {{\"name\": ..., \"value\": ...}}.")
        if entry["name"] in result:
            raise UsageError(f"'{key}' gives {entry['name']} twice.")
        result[entry["name"]] = entry["value"]
    return result


def _is_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(v, str) and v for v in value)


def _indent(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())
