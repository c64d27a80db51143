"""The theme as users see it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from mdstudio.app.theme import Theme

if not os.environ.get("DISPLAY"):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A warning of Qt fails the test; that this platform has no window manager is none."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))
            item.add_marker(pytest.mark.qt_log_ignore("propagateSizeHints", extend=True))


@pytest.fixture(autouse=True)
def theme(qapp: QApplication) -> Iterator[Theme]:
    """The application styled, in light; put back to light afterwards."""
    current = Theme.current()
    current.install(qapp)
    current.set_mode("light")
    yield current
    current.set_mode("light")
