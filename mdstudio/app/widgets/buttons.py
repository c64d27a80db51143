"""Buttons: QPushButton with a kind that the style sheet knows and an icon that follows the scheme; segmented choices.

Buttons take the focus by Tab only, so that the focus ring is shown for the keyboard and never after a click.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from mdstudio.app import fonts, icons
from mdstudio.app.theme import Theme
from mdstudio.app.widgets.base import is_scheme_change

Kind = Literal["default", "primary", "ghost", "link", "toggle", "icon", "segment"]
_ICON_TOKENS = {"default": "text", "primary": "onaccent", "ghost": "text2", "link": "accent", "toggle": "text2",
                "icon": "text2", "segment": "text2"}
_CHECKED_TOKENS = {"toggle": "accent", "icon": "accent", "segment": "text"}


class Button(QPushButton):
    """A button of a kind, 30 high (`dense`: 26). `toggle` and `segment` are checkable; `icon` shows no text."""

    def __init__(self, text: str = "", icon: str = "", kind: Kind = "default", *, dense: bool = False, tip: str = "",
                 parent: QWidget | None = None) -> None:
        super().__init__("" if kind == "icon" else text, parent)
        self._icon = icon
        self._kind = kind
        self.setProperty("kind", kind)
        self.setProperty("dense", dense)
        self.setFont(fonts.font("dense-medium" if kind != "segment" else "dense"))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCheckable(kind in ("toggle", "segment"))
        self.setAccessibleName(text)
        self.setToolTip(tip or (text if kind == "icon" else ""))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        if kind == "segment":
            self.toggled.connect(self._weigh)
        self._renew()

    def set_icon(self, name: str) -> None:
        self._icon = name
        self._renew()

    def set_text(self, text: str) -> None:
        """Text and accessible name; the text stays hidden on an icon button."""
        if self._kind != "icon":
            self.setText(text)
        self.setAccessibleName(text)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if is_scheme_change(event) and self._dark != Theme.current().dark:  # it comes several times a change
            self._renew()

    def _weigh(self, checked: bool) -> None:
        self.setFont(fonts.font("dense-strong" if checked else "dense"))

    def _renew(self) -> None:
        self._dark = Theme.current().dark
        if not self._icon:
            return
        size = 15 if self._kind != "icon" else 16
        self.setIconSize(QSize(size, size))
        self.setIcon(icons.icon(self._icon, size, _ICON_TOKENS[self._kind], _CHECKED_TOKENS.get(self._kind, "")))


class IconButton(Button):
    """A square button that shows only an icon; its name is for the tool tip and for screen readers."""

    def __init__(self, icon: str, name: str, *, checkable: bool = False, dense: bool = False,
                 parent: QWidget | None = None) -> None:
        super().__init__(name, icon, "icon", dense=dense, parent=parent)
        self.setCheckable(checkable)


class PrimaryButton(Button):
    """The one main action of a view."""

    def __init__(self, text: str, icon: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, icon, "primary", parent=parent)


class Segmented(QFrame):
    """One choice of a few, side by side; arrow keys move within it.

    Options are (key, text) or (key, text, icon); with an empty text only the icon is shown and the key names it.
    """

    changed = Signal(str)

    def __init__(self, options: Sequence[tuple[str, str] | tuple[str, str, str]], name: str,
                 parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("segmented")
        self.setAccessibleName(name)
        self.setFixedHeight(30)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout(self)
        row.setContentsMargins(1, 1, 1, 1)
        row.setSpacing(0)
        self._group = QButtonGroup(self)
        self._buttons: dict[str, Button] = {}
        for option in options:
            key, text = option[0], option[1]
            button = Button(text, option[2] if len(option) > 2 else "", "segment", parent=self)
            if not text:
                button.setAccessibleName(key)
                button.setToolTip(key)
            self._group.addButton(button)
            self._buttons[key] = button
            row.addWidget(button)
            button.toggled.connect(lambda on, key=key: self.changed.emit(key) if on else None)
        if options:
            first = self._buttons[options[0][0]]
            first.blockSignals(True)
            first.setChecked(True)
            first.blockSignals(False)
            first.setFont(fonts.font("dense-strong"))

    def value(self) -> str:
        return next((key for key, button in self._buttons.items() if button.isChecked()), "")

    def set_value(self, key: str) -> None:
        """Choose; `changed` follows if it is another one."""
        self._buttons[key].setChecked(True)

    def button(self, key: str) -> Button:
        return self._buttons[key]
