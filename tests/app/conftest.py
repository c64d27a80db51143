"""What all tests of the application share: Qt without a screen, the theme, a reader that ends.

A warning of Qt or a thread that outlives its test fails the test.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from mdstudio.app.reading import Reader
from mdstudio.app.theme import Theme


@pytest.fixture(autouse=True)
def theme(qapp: QApplication) -> Iterator[Theme]:
    """The application styled, in light; put back to light afterwards; threads of readers do not outlive the test."""
    current = Theme.current()
    current.set_mode("light")
    current.install(qapp)
    gc.disable()  # widgets that are left go below: one that goes in a reader's thread stops it for good
    yield current
    current.set_mode("light")
    gc.collect()
    gc.enable()
    deadline = time.monotonic() + 5
    while left := [thread for thread in threading.enumerate() if thread.name.startswith(("reader-", "job-"))]:
        assert time.monotonic() < deadline, f"threads left behind: {left}"
        time.sleep(0.01)


@pytest.fixture
def reader(qapp: QApplication) -> Iterator[Reader]:
    """A reader whose threads end with the test."""
    made = Reader()
    yield made
    assert made.close(10.0)
