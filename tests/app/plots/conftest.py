"""The theme as users see it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

from mdstudio.app.theme import Theme

if not os.environ.get("DISPLAY"):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


@pytest.fixture(autouse=True)
def theme(qapp: QApplication) -> Iterator[Theme]:
    """The application styled, in light; put back to light afterwards."""
    current = Theme.current()
    current.install(qapp)
    current.set_mode("light")
    yield current
    current.set_mode("light")


@pytest.fixture(autouse=True)
def no_qt_warnings(qtlog: object) -> Iterator[None]:
    """Qt itself has nothing to complain about (but that this platform has no window manager)."""
    yield
    said = [record.message for record in qtlog.records  # type: ignore[attr-defined]
            if "propagateSizeHints" not in record.message]
    assert not said
