"""What the tests of the shell share: an application with its theme, a reader that ends, a small real dataset and its
source, and the rule that a Qt warning or a thread that is left behind fails the test.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from mdstudio.app.preferences import Preferences
from mdstudio.app.reading import Reader
from mdstudio.app.theme import Theme

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))
            item.add_marker(pytest.mark.qt_log_ignore("propagateSizeHints", extend=True))


@pytest.fixture(autouse=True)
def _application(qapp: QApplication) -> Iterator[None]:
    """The theme is installed, light, for every test; threads of the reader do not outlive it."""
    Theme.current().set_mode("light")
    Theme.current().install(qapp)
    yield
    deadline = time.monotonic() + 5
    while (left := [t for t in threading.enumerate() if t.name.startswith(("reader-", "job-"))]):
        assert time.monotonic() < deadline, f"threads left behind: {left}"
        time.sleep(0.01)


@pytest.fixture
def reader() -> Iterator[Reader]:
    reader = Reader()
    yield reader
    reader.close()


@pytest.fixture
def preferences(tmp_path: Path) -> Preferences:
    return Preferences(tmp_path / "config" / "mdstudio.ini")


def write_source(path: Path, items: tuple[str, ...] = ("temperature", "wind")) -> Path:
    """A NetCDF file as small as it can be: 3 times, 20 x 30 cells, packed and float."""
    import netCDF4

    path.parent.mkdir(parents=True, exist_ok=True)
    with netCDF4.Dataset(path, "w") as file:
        for name, size in (("time", 3), ("lat", 20), ("lon", 30)):
            file.createDimension(name, size)
        for name, dtype, values, units in (
            ("time", "f8", np.arange(3.0), "days since 2020-01-01"),
            ("lat", "f4", np.linspace(60, 50, 20), "degrees_north"),
            ("lon", "f4", np.linspace(0, 15, 30), "degrees_east"),
        ):
            variable = file.createVariable(name, dtype, (name,))
            variable.units = units
            variable[:] = values
        for number, name in enumerate(items):
            variable = file.createVariable(name, "f4", ("time", "lat", "lon"))
            variable.units = "m"
            variable[:] = np.arange(1800, dtype=np.float32).reshape(3, 20, 30) / 7 + number
    return path


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
