"""Moving through the window by keys, and taking in what is dropped on it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtWidgets import QWidget

from mdstudio.app import listing


def step_pane(panes: Sequence[QWidget], focus: QWidget | None, by: int) -> None:
    """Give the focus to the next or previous of the visible panes, seen from the one that has it."""
    shown = [pane for pane in panes if pane.isVisible()]
    holds = (i for i, pane in enumerate(shown) if focus is not None and (pane is focus or pane.isAncestorOf(focus)))
    at = next(holds, -1 if by > 0 else 0)
    pane = shown[(at + by) % len(shown)]
    pane.setFocus(Qt.FocusReason.TabFocusReason)
    if not pane.hasFocus():
        _first_focus(pane)


def _first_focus(pane: QWidget) -> None:
    """Give the focus to the first widget inside that takes it by Tab."""
    for child in pane.findChildren(QWidget):
        if child.isVisible() and child.isEnabled() and child.focusPolicy() & Qt.FocusPolicy.TabFocus:
            child.setFocus(Qt.FocusReason.TabFocusReason)
            return


def dropped(data: QMimeData) -> list[str]:
    """Paths and addresses in what was dropped."""
    locations = [url.toLocalFile() if url.isLocalFile() else url.toString() for url in data.urls()]
    if not locations and data.hasText() and listing.is_remote(data.text().strip()):
        locations = [data.text().strip()]
    return [location for location in locations if location]
