"""Left-over Qt objects go in the main thread, whoever allocates meanwhile."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mdstudio.app.garbage import MainThreadCollector


class _Left(QObject):
    """An object that only the collector can free."""

    def __init__(self) -> None:
        super().__init__()
        self.itself = self


def _allocate(stop: threading.Event) -> None:
    kept: list[list[int]] = []
    while not stop.is_set():
        kept = [[n] for n in range(3000)]
        time.sleep(0.001)
    assert kept


@pytest.mark.rule("G10")
def test_garbage_goes_in_the_main_thread_while_a_worker_allocates(qapp: QApplication, qtbot: QtBot) -> None:
    freed_in: list[threading.Thread] = []
    stop = threading.Event()
    worker = threading.Thread(target=_allocate, args=(stop,))
    gc.enable()
    collector = MainThreadCollector(qapp)
    try:
        assert not gc.isenabled()
        worker.start()
        left = _Left()
        weakref.finalize(left, lambda: freed_in.append(threading.current_thread()))
        del left
        qtbot.waitUntil(lambda: bool(freed_in), timeout=20_000)
        assert freed_in == [threading.main_thread()]
    finally:
        stop.set()
        worker.join()
        collector.stop()
        collector.deleteLater()
    assert gc.isenabled()
