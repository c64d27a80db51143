"""The map of a mesh of a million triangles: what its first picture, pans, zooms, time steps and picks cost (design 4).

    QT_QPA_PLATFORM=offscreen python -m tests.benchmarks.mesh_map [--keep FOLDER] [--elements N] [--rounds N]

Printed: milliseconds from the wish until the exact picture is on the screen, until something of it is (the coarse
buffer, or the last one moved along), and the longest time that the event loop was held meanwhile.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QCoreApplication, QEventLoop
from PySide6.QtWidgets import QApplication

from mdstudio.app.reading import Reader
from mdstudio.app.session import DatasetSession
from mdstudio.app.theme import Theme
from mdstudio.app.views.map_view import MapView
from mdstudio.engine.model import Array, Description, Item, MeshDomain
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import choose_settings
from mdstudio.engine.spatial.mesh_index import index_mesh
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.writer import create_dataset
from tests.app.event_loop import Stopwatch
from tests.engine.made_datasets import Arrays, axis

ELEMENTS, STEPS = 1_000_000, 6
SIZE = 1280, 860  # of the view
DEADLINE = 60.0  # seconds
_LAND = ((0.22, 0.3, 0.13), (0.68, 0.62, 0.17), (0.4, 0.85, 0.08))  # islands: x, y, radius of a unit square


def sea(elements: int) -> MeshDomain:
    """Triangles of a square sea of 100 x 100 km with three islands, small ones around the first; about so many."""
    side = round(math.sqrt(elements / 2 / (1 - sum(math.pi * radius**2 for *_, radius in _LAND))))
    random = np.random.default_rng(4)
    u, v = np.meshgrid(np.linspace(0, 1, side + 1), np.linspace(0, 1, side + 1))
    inside = (u > 0) & (u < 1) & (v > 0) & (v < 1)
    for axis_ in (u, v):
        axis_ += np.where(inside, random.uniform(-0.3, 0.3, u.shape) / side, 0.0)
    dx, dy = u - _LAND[0][0], v - _LAND[0][1]
    pull = 0.6 * np.exp(-(dx**2 + dy**2) / 0.08) * (np.minimum(u, 1 - u) * np.minimum(v, 1 - v) * 16).clip(0, 1)
    x, y = (u - pull * dx * 0.7).ravel(), (v - pull * dy * 0.7).ravel()
    a = (np.arange(side)[:, None] * (side + 1) + np.arange(side)).ravel()
    b, c, d = a + 1, a + side + 2, a + side + 1
    corners = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    middle_x, middle_y = x[corners].mean(1), y[corners].mean(1)
    wet = np.ones(len(corners), bool)
    for at_x, at_y, radius in _LAND:
        wet &= np.hypot(middle_x - at_x, middle_y - at_y) > radius
    return index_mesh(x * 1e5, y * 1e5, corners[wet], crs="EPSG:32631", x_unit="m", y_unit="m")


def tide(mesh: MeshDomain, steps: int) -> Array:
    """(steps, 1, 1, elements) float32 in source order: waves that turn around the islands."""
    corners = mesh.element_nodes
    x, y = (part[corners].mean(1)[np.argsort(mesh.element_number)] / 1e5 for part in (mesh.node_x, mesh.node_y))
    phase = 9 * np.hypot(x - 0.22, y - 0.3) + np.arctan2(y - 0.62, x - 0.68)
    waves = np.stack([np.sin(phase - 0.7 * step) * (1.2 - x) + 0.15 * np.cos(25 * y) for step in range(steps)])
    return np.asarray(np.round(waves, 3).astype(np.float32)[:, None, None, :])


def write(folder: Path, elements: int = ELEMENTS, steps: int = STEPS) -> str:
    """The dataset in `folder`; returns its location."""
    mesh = sea(elements)
    description = Description(mesh, axis(steps), (Item("surface_elevation", "float32", "m", no_data=-1e-35),))
    create_dataset(FolderStorage(folder), "sea", description, Arrays({"surface_elevation": tide(mesh, steps)}),
                   choose_settings(description, {"StorageType": "MultiTimestep", "Compression": "ZstdAuto"}, {}),
                   Progress(), {})
    return str(folder)


@dataclass(frozen=True)
class Cost:
    """Milliseconds: until the exact picture, until the event loop first painted, the longest hold of the event loop."""

    exact: float
    first: float
    held: float


class Timed:
    """A map on the screen and the means to time what is done to it."""

    def __init__(self, location: str, reader: Reader) -> None:
        self.reader = reader
        self.session = DatasetSession(location, reader)
        self.session.open()
        self._until(lambda: self.session.dataset is not None)

    def open(self) -> None:
        self.view = MapView(self.session, self.reader)
        self.view.resize(*SIZE)
        self.view.show()

    def measure(self, action: Callable[[], Any]) -> Cost:
        """What it takes until the picture is the exact one."""
        watch = Stopwatch()
        started = time.perf_counter()
        action()
        QCoreApplication.processEvents()
        first = time.perf_counter()
        self._until(self.exact)
        exact = time.perf_counter()
        watch.stop()
        return Cost(1000 * (exact - started), 1000 * (first - started), max(watch.worst(), 1000 * (first - started)))

    def exact(self) -> bool:
        """Nothing is read or drawn any more, the buffer is that of the screen and of this time step."""
        view = self.view
        picture, window = view.picture, view.plot.mesh_window
        return (picture is not None and window is not None and not self.reader.busy()
                and picture.result.request.time == self.session.selection.time
                and window.pixels == view.plot._wanted and not view.plot._ask.isActive())

    def close(self) -> None:
        self.view.close()
        self.view.deleteLater()
        self.session.close()

    @staticmethod
    def _until(reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE
        while True:
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 5)
            if reached():
                return
            if time.monotonic() > deadline:
                raise TimeoutError("The map does not come to rest.")
            time.sleep(0.001)


def costs(location: str, rounds: int = 5) -> Mapping[str, list[Cost]]:
    """{what: cost of each round}; the application must be there."""
    reader = Reader()
    map_ = Timed(location, reader)
    found = {"first picture": [map_.measure(map_.open)]}
    box, session, random = map_.view.plot.box, map_.session, np.random.default_rng(2)
    steps = len(session.dataset.metadata.times) if session.dataset else 1

    def several(what: str, action: Callable[[int], Any]) -> None:
        found[what] = [map_.measure(lambda number=number: action(number)) for number in range(1, rounds + 1)]

    several("new time step", lambda number: session.select(time=number % steps))
    several("pan of the whole", lambda number: box.translateBy(x=(-1) ** number * 4e3, y=1e3))
    several("zoom, twice as near", lambda number: box.zoom(2.0))
    several("pan, near", lambda number: box.translateBy(x=(-1) ** number * 300.0, y=100.0))
    several("new time step, near", lambda number: session.select(time=(number + 1) % steps))
    several("zoom to the whole", lambda number: box.fit() if number % 2 else box.zoom(3.0))
    box.fit()
    map_.measure(lambda: None)
    view = map_.view
    picks = random.uniform(0.05e5, 0.95e5, (200, 2))
    taken = []
    for x, y in picks:
        started = time.perf_counter()
        view.plot.probe_cell(view.plot._cell_under(x, y))
        taken.append(1000 * (time.perf_counter() - started))
    found["pick an element"] = [Cost(each, each, each) for each in taken]
    map_.close()
    reader.close(10.0)
    QCoreApplication.processEvents()
    return found


def print_report(found: Mapping[str, list[Cost]]) -> None:
    print(f"{'milliseconds, median (worst)':<28} {'exact picture':>22} {'first paint':>22} {'event loop held':>22}")
    for what, rounds in found.items():
        cells = []
        for name in ("exact", "first", "held"):
            values = [getattr(cost, name) for cost in rounds]
            cells.append(f"{statistics.median(values):.1f} ({max(values):.1f})")
        print(f"{what:<28} " + " ".join(f"{cell:>22}" for cell in cells))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the dataset is or shall be")
    parser.add_argument("--elements", type=int, default=ELEMENTS)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    application = QApplication.instance() or QApplication([])
    assert isinstance(application, QApplication)
    Theme.current().install(application)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary) / "sea"
        started = time.perf_counter()
        location = str(folder) if (folder / "dataset.json").exists() else write(folder, options.elements)
        print(f"dataset: {time.perf_counter() - started:.1f} s")
        print_report(costs(location, options.rounds))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
