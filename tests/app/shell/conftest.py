"""What the tests of the shell share: preferences of their own, a small real dataset and its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdstudio.app.preferences import Preferences
from tests.app.shell.made import write_source


@pytest.fixture
def preferences(tmp_path: Path) -> Preferences:
    return Preferences(tmp_path / "config" / "mdstudio.ini")


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("source") / "small.nc")


@pytest.fixture(scope="session")
def archive(source: Path) -> Path:
    """A folder with the dataset `small` and the source `small.nc`."""
    from mdstudio.engine.progress import Progress
    from mdstudio.jobs.recipe import Recipe
    from mdstudio.jobs.run import run_recipe

    run_recipe(Recipe((str(source),), str(source.parent / "small"), {"Compression": "ZstdAuto"}), Progress(), {})
    (source.parent / "empty").mkdir()
    return source.parent
