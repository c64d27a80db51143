"""Open the window, where there is a screen for it."""

from __future__ import annotations

import os
import sys

from mdstudio.engine.errors import UsageError


def open_window(location: str | None) -> int:
    """Run the application at a location (None: where it was); returns its exit status when it closes."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in screens):
        raise UsageError("There is no screen to open a window on (neither DISPLAY nor WAYLAND_DISPLAY is set).",
                         advice="'demo --no-gui' and all other commands need none: see 'mdstudio --help'.")
    from mdstudio.app.main import main

    return main([location] if location else [])
