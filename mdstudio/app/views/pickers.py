"""Choices of item, layer and component that follow the session's selection. Main thread only."""

from __future__ import annotations

from PySide6.QtCore import QObject

from mdstudio.app.formats import number
from mdstudio.app.plots.components import MAGNITUDE, component_words
from mdstudio.app.plots.units import unit_text
from mdstudio.app.session import DatasetSession
from mdstudio.app.widgets import Combo
from mdstudio.engine.model import Item


def layer_text(item: Item, layer: int) -> str:
    """`10 m`, `500 hPa`; the index for bare numbers."""
    assert item.layers is not None
    axis = item.layers
    value = number(axis.values[layer], digits=6)
    return f"{value} {unit_text(axis.unit)}" if axis.unit not in ("", "1") else f"#{layer}  {value}"


class ItemPicker(QObject):
    """Combos `item`, `layer` (hidden for an item without layers) and `component` (hidden for one that is no vector)."""

    def __init__(self, session: DatasetSession, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.item = Combo("Item", "layers", "Item")
        self.layer = Combo("Layer", "", "Layer")
        self.component = Combo("Show", "", "Component")
        self.item.currentIndexChanged.connect(self._choose_item)
        self.layer.currentIndexChanged.connect(self._choose_layer)
        self.component.currentIndexChanged.connect(self._choose_component)
        session.opened.connect(self.renew)
        session.selection_changed.connect(self.renew)
        self.renew()

    def renew(self) -> None:
        """Show what the session has selected."""
        dataset = self._session.dataset
        if dataset is None:
            return
        chosen = self._session.selection
        items = dataset.metadata.items
        names = [f"{item.name}  {unit_text(item.unit)}".rstrip() for item in items]
        _fill(self.item, names, next((i for i, item in enumerate(items) if item.name == chosen.item), 0))
        item = next((item for item in items if item.name == chosen.item), None)
        layers = [layer_text(item, i) for i in range(len(item.layers))] if item and item.layers else []
        self.layer.setVisible(bool(layers))
        _fill(self.layer, layers, chosen.layer or 0)
        components = range(MAGNITUDE, item.components) if item and item.value_kind == "vector" else range(0)
        self.component.setVisible(bool(components))
        _fill(self.component, [component_words(i).capitalize() for i in components], chosen.component - MAGNITUDE)

    def _choose_item(self, index: int) -> None:
        dataset = self._session.dataset
        if dataset is not None and index >= 0:
            self._session.select(item=dataset.metadata.items[index].name)

    def _choose_layer(self, index: int) -> None:
        if index >= 0:
            self._session.select(layer=index)

    def _choose_component(self, index: int) -> None:
        if index >= 0:
            self._session.select(component=index + MAGNITUDE)


def _fill(combo: Combo, texts: list[str], index: int) -> None:
    combo.blockSignals(True)
    if [combo.itemText(i) for i in range(combo.count())] != texts:
        combo.clear()
        combo.addItems(texts)
        combo.updateGeometry()
    combo.setCurrentIndex(index if texts else -1)
    combo.blockSignals(False)
    combo.update()
