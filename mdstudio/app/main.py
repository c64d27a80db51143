"""The application's entry: `main(argv) -> exit status`. Nothing heavy is imported before the first paint."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Sequence

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from mdstudio.app import icons
from mdstudio.app.garbage import MainThreadCollector
from mdstudio.app.preferences import Preferences
from mdstudio.app.theme import Theme


def main(argv: Sequence[str] | None = None) -> int:
    """Open the window at the given locations; returns the exit status when it closes."""
    options = _parse(argv)
    application = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(application, QApplication)
    application.setApplicationName("mdstudio")
    application.setApplicationDisplayName("MD Studio")
    application.setDesktopFileName("mdstudio")
    application.setWindowIcon(icons.application_icon())
    garbage = MainThreadCollector(application)
    preferences = Preferences()
    Theme.current().set_mode(options.scheme or preferences.scheme)
    Theme.current().install(application)
    from mdstudio.app.window import MainWindow

    window = MainWindow(preferences)
    if options.size:
        window.resize(*options.size)
    else:
        window.fit_screen()
    window.show()
    _heed_signals(window)
    for location in options.locations:
        window.open_location(location)
    if options.grab:
        QTimer.singleShot(round(1000 * options.wait), window, lambda: _grab(window, options))
    else:
        QTimer.singleShot(0, window, _warm_up)
        QTimer.singleShot(0, window, window.keep_jobs)
    QTimer.singleShot(0, window, window.library.expand_folders)
    status = application.exec()
    garbage.stop()
    if not window.reader.close():
        sys.stdout.flush()
        os._exit(status)  # a thread still waits for a service: it must not keep the process
    return status


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mdstudio-window", description="MD Studio, the application.")
    parser.add_argument("locations", nargs="*", metavar="LOCATION", help="datasets, folders or files to open")
    parser.add_argument("--scheme", choices=("light", "dark"), help=argparse.SUPPRESS)
    parser.add_argument("--size", type=_size, help=argparse.SUPPRESS)
    parser.add_argument("--grab", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--view", default="", help=argparse.SUPPRESS)
    parser.add_argument("--wait", type=float, default=2.0, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def _size(text: str) -> tuple[int, int]:
    width, height = text.split("x")
    return int(width), int(height)


def _grab(window: object, options: argparse.Namespace) -> None:
    """Show a view, wait for it, write a picture and end: for screenshots."""
    from mdstudio.app.window import MainWindow

    assert isinstance(window, MainWindow)
    page = window.documents.dataset_page()
    if page and options.view:
        page.show_view(options.view)

    def finish() -> None:
        window.grab().save(options.grab)
        window.close()

    QTimer.singleShot(round(1000 * options.wait), window, finish)


def _warm_up() -> None:
    """After the first paint: import on a thread what the first dataset and its views will need."""
    import threading

    def load() -> None:
        with contextlib.suppress(ImportError):
            import mdstudio.engine.dataset  # noqa: F401
            from mdstudio.app import views

            views.warm()

    threading.Thread(target=load, name="warm-up", daemon=True).start()


def _heed_signals(window: object) -> None:
    """Ctrl C in the terminal closes the window; the timer lets Python see the signal."""
    from PySide6.QtWidgets import QWidget

    assert isinstance(window, QWidget)
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, lambda *_: window.close())
    timer = QTimer(window)
    timer.start(250)
    timer.timeout.connect(lambda: None)


if __name__ == "__main__":
    sys.exit(main())
