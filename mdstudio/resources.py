"""Where the files of `resources/` are: beside the package in a clone, installed as `mdstudio_resources` otherwise."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path


def resource(name: str) -> Path:
    """Path of a file or folder of `resources/`, such as `icons/map.svg`; it need not exist."""
    return _root() / name


@cache
def _root() -> Path:
    package = Path(__file__).resolve().parent
    clone = package.parent / "resources"
    if clone.is_dir() and package.parent.joinpath("pyproject.toml").is_file():
        return clone
    spec = find_spec("mdstudio_resources")  # a namespace package: it has places, and no file
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else clone
