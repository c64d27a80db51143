"""Choices of item and layer that follow the session's selection. Main thread only."""

from __future__ import annotations

from PySide6.QtCore import QObject

from mdstudio.app.formats import number
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
    """Two combos, `item` and `layer`; the second is hidden for an item without layers."""

    def __init__(self, session: DatasetSession, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.item = Combo("Item", "layers", "Item")
        self.layer = Combo("Layer", "", "Layer")
        self.item.currentIndexChanged.connect(self._choose_item)
        self.layer.currentIndexChanged.connect(self._choose_layer)
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

    def _choose_item(self, index: int) -> None:
        dataset = self._session.dataset
        if dataset is not None and index >= 0:
            self._session.select(item=dataset.metadata.items[index].name)

    def _choose_layer(self, index: int) -> None:
        if index >= 0:
            self._session.select(layer=index)


def _fill(combo: Combo, texts: list[str], index: int) -> None:
    combo.blockSignals(True)
    if [combo.itemText(i) for i in range(combo.count())] != texts:
        combo.clear()
        combo.addItems(texts)
        combo.updateGeometry()
    combo.setCurrentIndex(index if texts else -1)
    combo.blockSignals(False)
    combo.update()
