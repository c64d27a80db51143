"""The top bar: brand, document tabs, search, scheme, settings."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QHBoxLayout, QMenu, QWidget

from mdstudio.app.places import WIDTH
from mdstudio.app.preferences import MAX_WORKERS, Preferences
from mdstudio.app.tabs import DocumentTabs
from mdstudio.app.theme import Theme
from mdstudio.app.widgets import Ground, Icon, IconButton, Label, SearchField

HEIGHT = 44
_MODES = (("system", "Follow the system"), ("light", "Light"), ("dark", "Dark"))


class TopBar(Ground):
    """Signals: a scheme was chosen ("system", "light", "dark"), a number of workers, a new tab, the list of keys."""

    scheme_chosen = Signal(str)
    workers_chosen = Signal(int)
    new_tab_requested = Signal()
    keys_requested = Signal()

    def __init__(self, preferences: Preferences, parent: QWidget | None = None) -> None:
        super().__init__("topbar", parent)
        self._preferences = preferences
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName("Top bar")
        self.tabs = DocumentTabs()
        self.search = SearchField("Search or run a command", "Ctrl K")
        self.search.setFixedSize(270, 30)
        self.new_tab = IconButton("plus", "New tab")
        self.scheme = IconButton("sun", "Switch between light and dark")
        self.settings = IconButton("settings", "Settings")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 12, 0)
        row.setSpacing(4)
        row.addWidget(self._brand())
        row.addSpacing(6)
        row.addWidget(self.tabs, 0, Qt.AlignmentFlag.AlignBottom)
        row.addWidget(self.new_tab, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addStretch(1)
        for widget in (self.search, self.scheme, self.settings):
            row.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
        self.new_tab.clicked.connect(self.new_tab_requested)
        self.scheme.clicked.connect(lambda: self.scheme_chosen.emit("light" if Theme.current().dark else "dark"))
        self.settings.clicked.connect(self._show_menu)
        Theme.current().changed.connect(self._scheme_changed)
        self._scheme_changed()

    def _brand(self) -> QWidget:
        brand = QWidget()
        brand.setFixedWidth(WIDTH)
        row = QHBoxLayout(brand)
        row.setContentsMargins(14, 0, 0, 0)
        row.setSpacing(9)
        row.addWidget(Icon("mdstudio", 24))
        row.addWidget(Label("MD Studio", "section"))
        row.addStretch(1)
        return brand

    def _scheme_changed(self) -> None:
        self.scheme.set_icon("moon" if Theme.current().dark else "sun")

    def menu(self) -> QMenu:
        """The settings: look, jobs at once, keys."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        schemes = QActionGroup(menu)
        for mode, text in _MODES:
            action = QAction(text, menu, checkable=True, checked=Theme.current().mode == mode)
            action.triggered.connect(lambda _=False, mode=mode: self.scheme_chosen.emit(mode))
            schemes.addAction(action)
            menu.addAction(action)
        menu.addSeparator()
        jobs = menu.addMenu("Jobs at once")
        counts = QActionGroup(menu)
        for count in range(1, MAX_WORKERS + 1):
            action = QAction(str(count), menu, checkable=True, checked=self._preferences.workers == count)
            action.triggered.connect(lambda _=False, count=count: self.workers_chosen.emit(count))
            counts.addAction(action)
            jobs.addAction(action)
        menu.addSeparator()
        menu.addAction("List of keys\tF1", self.keys_requested.emit)
        return menu

    def _show_menu(self) -> None:
        menu = self.menu()
        menu.popup(self.settings.mapToGlobal(QPoint(self.settings.width() - menu.sizeHint().width(),
                                                    self.settings.height() + 2)))
