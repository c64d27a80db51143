"""The entry: nothing heavy before the first paint, a picture on demand, the sheet of components."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from mdstudio.app import gallery
from mdstudio.app.gallery import Gallery
from mdstudio.app.theme import Theme

ROOT = Path(__file__).resolve().parents[3]
HEAVY = (
    "numpy", "pyqtgraph", "netCDF4", "h5py", "azure", "xarray", "zarr", "shapely", "pyproj", "eccodes",
    "mdstudio.engine.dataset",
)


def run(code: str, tmp_path: Path) -> str:
    environ = os.environ | {"QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_heavy_is_imported_before_the_first_paint(tmp_path: Path) -> None:
    code = f"""
import sys
from PySide6.QtWidgets import QApplication
from mdstudio.app.preferences import Preferences
from mdstudio.app.theme import Theme
import mdstudio.app.main
application = QApplication([])
Theme.current().install(application)
from mdstudio.app.window import MainWindow
window = MainWindow(Preferences())
window.show()
window.grab()
print([name for name in {HEAVY!r} if name in sys.modules])
window.close()
"""
    assert run(code, tmp_path).strip() == "[]"


def test_the_application_opens_writes_a_picture_and_ends(tmp_path: Path) -> None:
    picture = tmp_path / "start.png"
    code = (f"import sys; from mdstudio.app.main import main; "
            f"sys.exit(main(['--grab', {str(picture)!r}, '--wait', '0.1', '--size', '1440x900', '--scheme', 'dark']))")
    run(code, tmp_path)
    image = QImage(str(picture))
    assert (image.width(), image.height()) == (1440, 900)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_component_sheet_shows_every_component(qtbot, mode: str) -> None:
    Theme.current().set_mode(mode)
    sheet = Gallery()
    qtbot.addWidget(sheet)
    sheet.show()
    image = sheet.grab().toImage()
    assert (image.width(), image.height()) == gallery.SIZE
    assert image.pixelColor(2, 2).name() == Theme.current().hex("window").lower()
