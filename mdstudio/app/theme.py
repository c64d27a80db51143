"""The colour scheme in force: light or dark, by the system or by choice. Main thread only.

`Theme.current()` is the one theme of the process. Whoever paints asks it at paint time, or listens to `changed` where
colours are baked in (plots, icons).
"""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory

from mdstudio.app import fonts, style
from mdstudio.app.tokens import DARK, LIGHT, STATUSES, Status

Mode = Literal["system", "light", "dark"]


class Theme(QObject):
    """Colours by token name. `changed` comes after the application's palette and style sheet have been renewed."""

    changed = Signal()

    _current: Theme | None = None

    def __init__(self) -> None:
        super().__init__()
        self._mode: Mode = "system"
        self._dark = False
        self._colours: dict[str, QColor] = {}
        self._follow(False)

    @classmethod
    def current(cls) -> Theme:
        """The theme of this process, made at first use."""
        if cls._current is None:
            cls._current = cls()
        return cls._current

    @property
    def dark(self) -> bool:
        return self._dark

    @property
    def mode(self) -> Mode:
        return self._mode

    def hex(self, name: str) -> str:
        """`#RRGGBB` of a token."""
        return (DARK if self._dark else LIGHT)[name]

    def color(self, name: str, alpha: int = 255) -> QColor:
        """A token as a colour; a copy."""
        colour = QColor(self._colours[name])
        colour.setAlpha(alpha)
        return colour

    @staticmethod
    def status(name: str) -> Status:
        return STATUSES[name]

    def install(self, application: QApplication) -> None:
        """Give the application its style, font, palette and sheet, and follow the system from now on."""
        application.setStyle(QStyleFactory.create("Fusion"))
        application.setFont(fonts.font("dense"))
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._system_changed, Qt.ConnectionType.UniqueConnection)
        self._apply(self._wanted())

    def set_mode(self, mode: Mode) -> None:
        """Choose light or dark, or follow the system."""
        self._mode = mode
        self._renew()

    def _system_changed(self) -> None:
        if self._mode == "system":
            self._renew()

    def _renew(self) -> None:
        """Dress every widget anew, which Qt takes some 0.1 ms a widget for: only where the scheme is another."""
        if self._wanted() != self._dark:
            self._apply(self._wanted())

    def _wanted(self) -> bool:
        if self._mode != "system":
            return self._mode == "dark"
        return QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark

    def _follow(self, dark: bool) -> None:
        self._dark = dark
        self._colours = {name: QColor(value) for name, value in (DARK if dark else LIGHT).items()}

    def _apply(self, dark: bool) -> None:
        self._follow(dark)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.setStyleSheet("")  # while it wears one Qt dresses a widget anew once for each of its parents
            application.setPalette(self._palette())
            application.setStyleSheet(style.sheet(DARK if dark else LIGHT))
        self.changed.emit()

    def _palette(self) -> QPalette:
        palette = QPalette()
        role = QPalette.ColorRole
        for which, name in (
            (role.Window, "panel"), (role.WindowText, "text"), (role.Base, "surface"), (role.AlternateBase, "sunken"),
            (role.Text, "text"), (role.Button, "surface"), (role.ButtonText, "text"), (role.BrightText, "onaccent"),
            (role.Highlight, "accent"), (role.HighlightedText, "onaccent"), (role.ToolTipBase, "surface"),
            (role.ToolTipText, "text"), (role.PlaceholderText, "text3"), (role.Link, "accent"),
            (role.LinkVisited, "accent"), (role.Light, "hover"), (role.Midlight, "line"), (role.Mid, "line2"),
            (role.Dark, "line2"), (role.Shadow, "line2"), (role.Accent, "accent"),
        ):
            palette.setColor(which, self._colours[name])
        for which in (role.WindowText, role.Text, role.ButtonText):
            palette.setColor(QPalette.ColorGroup.Disabled, which, self._colours["text3"])
        return palette
