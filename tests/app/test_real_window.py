"""The program in a real window: the pictures of the documentation, taken under an X server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def display() -> str:
    """The X display that the test command started; the tests say so where there is none, and fail in CI."""
    name = os.environ.get("MD_STUDIO_TEST_DISPLAY", "")
    if not name:
        if os.environ.get("CI"):
            pytest.fail("no X display: packaging/test starts one where Xvfb is installed")
        pytest.skip("no X display: packaging/test starts one")
    return name


@pytest.mark.window
def test_every_view_is_drawn_in_a_real_window(display: str, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, str(ROOT / "packaging" / "screenshots.py"), str(tmp_path)], check=True, timeout=240,
        env={**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"},
    )
    pictures = sorted(tmp_path.glob("*.png"))
    assert [picture.stem for picture in pictures] == [
        "map-dark", "map-light", "overview-light", "series-light", "storage-light"]
    for picture in pictures:
        image = QImage(str(picture))
        assert (image.width(), image.height()) == (1440, 900)
        colours = {image.pixel(x, y) for x in range(0, 1440, 4) for y in range(0, 900, 4)}
        assert len(colours) > 60, f"{picture.name} shows next to nothing"
