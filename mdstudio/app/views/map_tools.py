"""The row of controls over the map: item, layer, tool, range, colours, explain. Main thread only."""

from __future__ import annotations

import math

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from mdstudio.app import colormaps
from mdstudio.app.plots.map_view_box import Tool
from mdstudio.app.plots.picture import Colouring, RangeMode
from mdstudio.app.plots.ranges import Range
from mdstudio.app.session import DatasetSession
from mdstudio.app.views.pickers import ItemPicker
from mdstudio.app.widgets import Button, Combo, LineEdit, Segmented

_MODES: dict[str, RangeMode] = {"Exact": "exact", "2–98 %": "percentile", "Manual": "manual"}
TOOLS: tuple[Tool, ...] = ("pan", "point", "rectangle", "polygon", "transect")


class MapTools(QWidget):
    """Signals: `tool_changed`; `colouring_changed`: `colouring()` is another one; `explain_changed`."""

    tool_changed = Signal(str)
    colouring_changed = Signal()
    explain_changed = Signal(bool)

    def __init__(self, session: DatasetSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.picker = ItemPicker(session, self)
        self.tools = Segmented([("Pan", "", "pan"), ("Point", "", "pin"), ("Rectangle", "", "rect"),
                                ("Polygon", "", "poly"), ("Transect", "", "transect")], "Tool")
        self.mode = Segmented([(name, name) for name in _MODES], "Range of the colours")
        self.low, self.high = (LineEdit(name=f"{name} value", placeholder=name) for name in ("Lowest", "Highest"))
        for field in (self.low, self.high):
            field.setFixedWidth(84)
            field.hide()
            field.editingFinished.connect(self._manual_edited)
        self.lock = Button("Lock range", "lock", "toggle", tip="Keep the range over time (L)")
        self.colours = Combo("Colours", name="Colour map")
        for name in colormaps.NAMES:
            self.colours.addItem(colormaps.TITLES[name], name)
        self.explain = Button("Explain", "explain", "toggle", tip="What the read touched and cost (X)")
        self.explain.setChecked(True)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        for widget in (self.picker.item, self.picker.layer, self.picker.component, self.tools, self.mode, self.low,
                       self.high, self.lock, self.colours):
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(self.explain)
        self._shown: Range | None = None  # of the picture on the screen
        self._locked: Range | None = None
        self._manual: Range | None = None
        self.tools.changed.connect(lambda name: self.tool_changed.emit(name.lower()))
        self.mode.changed.connect(self._mode_changed)
        self.lock.toggled.connect(self._lock_toggled)
        self.colours.currentIndexChanged.connect(lambda _: self.colouring_changed.emit())
        self.explain.toggled.connect(self.explain_changed)

    def colouring(self) -> Colouring:
        """What is chosen now."""
        mode = _MODES[self.mode.value()]
        fixed = self._manual if mode == "manual" else self._locked if self.lock.isChecked() else None
        return Colouring(str(self.colours.currentData()), mode, fixed, self._session.selection.component)

    def show_range(self, shown: Range | None) -> None:
        """The range of the picture on the screen: what a lock keeps and a manual range starts from."""
        self._shown = shown
        if self.lock.isChecked() and self._locked is None:
            self._locked = shown
        if not self.low.hasFocus() and not self.high.hasFocus() and _MODES[self.mode.value()] != "manual" and shown:
            self.low.setText(f"{shown[0]:.6g}")
            self.high.setText(f"{shown[1]:.6g}")

    def forget_range(self) -> None:
        """Another item or layer: a locked or manual range of the last one means nothing for it."""
        self._locked = self._manual = None
        if _MODES[self.mode.value()] == "manual":
            self.mode.set_value("Exact")

    def set_compact(self, compact: bool) -> None:
        """Icons alone on the toggles, for a narrow window; their names stay for tips and screen readers."""
        for button, text in ((self.lock, "Lock range"), (self.explain, "Explain")):
            button.setText("" if compact else text)

    def set_tool(self, tool: Tool) -> None:
        self.tools.set_value(tool.capitalize())

    def full_range(self) -> None:
        self.lock.setChecked(False)
        self.mode.set_value("Exact")

    def _mode_changed(self, name: str) -> None:
        manual = _MODES[name] == "manual"
        self.low.setVisible(manual)
        self.high.setVisible(manual)
        if manual:
            self._manual = self._shown
            self.low.setFocus()
        elif self.lock.isChecked():
            self._locked = None  # keep the range that this mode finds
        self.colouring_changed.emit()

    def _lock_toggled(self, on: bool) -> None:
        self._locked = self._shown if on else None
        self.colouring_changed.emit()

    def _manual_edited(self) -> None:
        values: list[float] = []
        for field in (self.low, self.high):
            try:
                value = float(field.text().replace("−", "-").replace(",", "."))
            except ValueError:
                value = math.nan
            field.set_invalid(not math.isfinite(value))
            values.append(value)
        if all(map(math.isfinite, values)) and _MODES[self.mode.value()] == "manual":
            wanted = (min(values), max(values))
            if wanted != self._manual:
                self._manual = wanted
                self.colouring_changed.emit()
