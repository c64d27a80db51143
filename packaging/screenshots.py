"""Pictures of the application for the documentation: a real window, a real import, a grab of each view.

    python packaging/screenshots.py [OUTPUT]        default: resources/docs/images

On a machine without a screen it starts Xvfb for itself, and falls back to Qt's offscreen platform where there is none.
Real files are taken from ../shared/data where they are, else the computed sample dataset.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
SIZE = (1440, 900)
SOURCES = ((ROOT.parent / "shared/data/grid/SMALL_total_column_co2.nc", "co2-total-column"),
           (ROOT.parent / "shared/data/odd/tmmx_20190121.nc", "gridmet-temperature"))


def main(output: Path) -> int:
    from PySide6.QtWidgets import QApplication

    from mdstudio.app.preferences import Preferences
    from mdstudio.app.theme import Theme
    from mdstudio.app.window import MainWindow

    output.mkdir(parents=True, exist_ok=True)
    application = QApplication([])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # short locations in the pictures
        datasets = make_datasets(Path("climate-archive"))
        Theme.current().set_mode("light")
        Theme.current().install(application)
        window = MainWindow(Preferences(Path(folder) / "mdstudio.ini"))
        window.resize(*SIZE)
        window.show()
        window.library.add("climate-archive")
        shots(window, datasets, output)
        window.close()
        window.reader.close()
        os.chdir(ROOT)
    return 0


def make_datasets(folder: Path) -> list[str]:
    """Import the real files, or make the sample; the locations, the one for the map first."""
    from mdstudio.engine.progress import Progress
    from mdstudio.jobs.recipe import Recipe
    from mdstudio.jobs.run import run_recipe

    found = [(source, name) for source, name in SOURCES if source.exists()]
    if not found:
        from mdstudio.app.workers import make_sample
        from mdstudio.jobs.sample import sample_recipe

        recipe = sample_recipe(folder)
        make_sample(recipe, Progress())
        return [recipe.target]
    for source, name in found:
        parameters = {"Compression": "ZstdAuto", "GridTileWidth": 16}
        run_recipe(Recipe((str(source),), str(folder / name), parameters), Progress())
    return [str(folder / name) for _, name in found]


def shots(window: Any, datasets: list[str], output: Path) -> None:
    """The views in light, the map in dark too."""
    map_page = opened(window, datasets[0])
    storage_page = opened(window, datasets[-1])
    shot(window, map_page, "overview", output / "overview-light.png", short_place)
    shot(window, storage_page, "storage", output / "storage-light.png", pick_page)
    shot(window, map_page, "map", output / "map-light.png", ask_the_map)
    shot(window, map_page, "series", output / "series-light.png")
    window.set_scheme("dark")
    shot(window, map_page, "map", output / "map-dark.png", ask_the_map)


def opened(window: Any, location: str) -> Any:
    page = window.open_dataset(location)
    wait(lambda: page.session.dataset is not None)
    rest(window)
    return page


def shot(window: Any, page: Any, key: str, path: Path, act: Callable[[Any], None] | None = None) -> None:
    window.documents.bring(page)
    page.show_view(key)
    rest(window)
    if act is not None:
        act(page.view(key))
        rest(window)
    window.grab().save(str(path))
    print(path)


def short_place(view: Any) -> None:
    """The location as it was opened, not where this run keeps its files."""
    view.place.setText(view.session.location)


def pick_page(view: Any) -> None:
    """The page with the most bytes, read."""
    view.plot.setFocus()
    view.select_page(int(view.pages.table.length.argmax()))
    view.read_page()


def ask_the_map(view: Any) -> None:
    """Two points, a rectangle in the middle, the pointer on a cell."""
    x0, y0, x1, y1 = view.picture.raster.extent
    wide, high = x1 - x0, y1 - y0
    if not view.points.points:
        view.points.add(x0 + 0.16 * wide, y0 + 0.62 * high)
        view.points.add(x0 + 0.86 * wide, y0 + 0.34 * high)
        view.set_rectangle((x0 + 0.42 * wide, y0 + 0.30 * high, x0 + 0.60 * wide, y0 + 0.62 * high))
        view.session.select(time=min(5, len(view.dataset.metadata.times) - 1))
    view.plot.setFocus()
    view.plot.probe_cell((int(0.35 * view.picture.raster.shape[0]), int(0.7 * view.picture.raster.shape[1])))


def rest(window: Any, seconds: float = 0.5) -> None:
    """Until nothing is read for a while."""
    quiet = time.monotonic()
    wait(lambda: time.monotonic() - quiet > seconds and not window.reader.busy())


def wait(done: Callable[[], bool], seconds: float = 60.0) -> None:
    from PySide6.QtWidgets import QApplication

    until = time.monotonic() + seconds
    while not done() and time.monotonic() < until:
        QApplication.processEvents()
        time.sleep(0.005)


def with_a_screen() -> int | None:
    """Run again under Xvfb where there is no screen; None where this process can go on."""
    if os.environ.get("DISPLAY") or os.environ.get("QT_QPA_PLATFORM") or sys.platform in ("win32", "darwin"):
        return None
    if shutil.which("xvfb-run"):
        words = ["xvfb-run", "-a", "-s", "-screen 0 1600x1000x24", sys.executable, *sys.argv]
        return subprocess.run(words, check=False, env={**os.environ, "QT_QPA_PLATFORM": "xcb"}).returncode
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    return None


if __name__ == "__main__":
    status = with_a_screen()
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "resources/docs/images"
    sys.exit(main(folder) if status is None else status)
