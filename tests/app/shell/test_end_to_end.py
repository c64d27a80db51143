"""The main job in one window: a file is imported from the dialog, its dataset opens, every view shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from mdstudio.app.import_dialog import ImportDialog
from mdstudio.app.preferences import Preferences
from mdstudio.app.widgets import StateStack
from mdstudio.app.window import MainWindow

WAIT = 60_000


@pytest.mark.rule("G7", "G1", "G10")
def test_import_open_and_look_at_every_view(qtbot, preferences: Preferences, source: Path, tmp_path: Path) -> None:
    window = MainWindow(preferences)
    qtbot.addWidget(window)
    window.resize(1440, 900)
    window.show()
    window.open_location(str(source))
    qtbot.waitUntil(lambda: bool(window.findChildren(ImportDialog)))
    dialog = window.findChildren(ImportDialog)[0]
    qtbot.waitUntil(lambda: dialog.states.state == "contents", timeout=WAIT)
    dialog.target.setText(str(tmp_path / "made"))
    qtbot.waitUntil(lambda: dialog.submit.isEnabled())
    qtbot.mouseClick(dialog.submit, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: (page := window.documents.dataset_page()) is not None and page.session.dataset is not None,
                    timeout=WAIT)
    page = window.documents.dataset_page()
    assert page is not None
    for number in range(1, page.tabs.count() + 1):
        qtbot.keyClick(window, Qt.Key.Key_0 + number, Qt.KeyboardModifier.ControlModifier)
        qtbot.waitUntil(lambda: not window.reader.busy(), timeout=WAIT)
        view = page.view()
        assert view is not None
        stacks = [stack for stack in (view, *view.findChildren(StateStack)) if isinstance(stack, StateStack)]
        troubled = [stack.message() for stack in stacks if stack.isVisible() and stack.state in ("error", "loading")]
        assert troubled == [], page.view_key()
        assert page.command_text().startswith("mdstudio ")
    window.close()
