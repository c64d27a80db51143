"""Where the files of `resources/` are: beside the package in a clone, inside the installed package otherwise."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def resource(name: str) -> Path:
    """Path of a file or folder of `resources/`, such as `icons/map.svg`; it need not exist."""
    clone = Path(__file__).resolve().parent.parent / "resources"
    if clone.is_dir():
        return clone / name
    return Path(str(files("mdstudio_resources"))) / name
