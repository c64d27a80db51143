"""MD Studio: multidimensional environmental data, stored as tiles that a map or a time series reads at once.

`mdstudio.open(location)` gives a dataset, `mdstudio.import_(recipe)` makes one; `MapRequest` and `SeriesRequest` are
what a dataset is asked with. Importing the package costs nothing: each name loads what it needs when it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mdstudio.engine.dataset import Dataset
    from mdstudio.engine.progress import Progress
    from mdstudio.engine.requests import MapRequest, SeriesRequest
    from mdstudio.jobs.recipe import Recipe

__all__ = ["MapRequest", "SeriesRequest", "__version__", "import_", "open"]


def open(location: str) -> Dataset:
    """The dataset at a path, an `az://account/container/prefix` or an `https://...?sas` address.

    Reads `dataset.json` only. Raises `NotFoundError`, `AccessError` or `NotADatasetError`.
    """
    from mdstudio.engine.dataset import Dataset

    return Dataset.open(location)


def import_(recipe: Recipe | Mapping[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """Run an import in this process and return its summary (the keys of `import --json`).

    `recipe` is a `mdstudio.jobs.recipe.Recipe` or its JSON form. Raises what the command line would report, always a
    subclass of `mdstudio.engine.errors.MdError`; nothing is left half-written then.
    """
    from mdstudio.engine.progress import Progress
    from mdstudio.jobs.recipe import Recipe
    from mdstudio.jobs.run import run_recipe

    if not isinstance(recipe, Recipe):
        recipe = Recipe.from_json(recipe)
    return run_recipe(recipe, progress or Progress())


def __getattr__(name: str) -> Any:
    if name in ("MapRequest", "SeriesRequest"):
        from mdstudio.engine import requests

        return getattr(requests, name)
    if name != "__version__":
        raise AttributeError(f"module 'mdstudio' has no attribute '{name}'")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("mdstudio")
    except PackageNotFoundError:  # run from a clone that was never installed
        return "0+unknown"
