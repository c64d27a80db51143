"""The source side of an import: which grid, what it holds, which items are taken."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from mdstudio.app import formats
from mdstudio.app.session import short_name
from mdstudio.app.widgets import Badge, Button, Card, Cell, Column, Combo, KeyValueList, Label, Table
from mdstudio.engine.model import Description, Domain, Item, MeshDomain, values_of

_KINDS = {"regular": "Regular grid", "projected": "Projected grid", "rotated": "Rotated grid",
          "curvilinear": "Curvilinear grid"}
_NOTES = 3  # of what is left out that are told in full; the tool tip of the badge has all


class SourceCard(Card):
    """Signal `changed`: another grid or other items were chosen."""

    changed = Signal()

    def __init__(self, sources: Sequence[str], parent: QWidget | None = None) -> None:
        more = f"and {formats.count(len(sources) - 1)} more" if len(sources) > 1 else ""
        super().__init__(short_name(sources[0]), more, parent=parent)
        self._descriptions: Sequence[Description] = ()
        self._taken: list[bool] = []
        self.grid = Combo("Grid", "grid")
        self.grid.currentIndexChanged.connect(self._grid_chosen)
        self._facts = KeyValueList(spacing=6)
        self.all = Button("All", kind="ghost", dense=True)
        self.none = Button("None", kind="ghost", dense=True)
        self.all.clicked.connect(lambda: self._take(True))
        self.none.clicked.connect(lambda: self._take(False))
        self._count = Label("", "dense", "text3")
        head = QHBoxLayout()
        head.addWidget(Label("Items", "dense-strong"))
        head.addWidget(self._count, 1)
        head.addWidget(self.all)
        head.addWidget(self.none)
        self.table = Table([Column("", "check", 36), Column("Item", stretch=True), Column("Type", "mono", 76),
                            Column("Unit", width=90), Column("Layers", "number", 64), Column("Raw MB", "number", 84)],
                           "Items to import")
        self.table.row_toggled.connect(self._toggle)
        self.table.row_activated.connect(self._toggle)
        self._dropped = Badge("", "info")
        self._notes = Label("", "caption", "text2", wrap=True)
        self.body.addWidget(self.grid)
        self.body.addWidget(self._facts)
        self.body.addLayout(head)
        self.body.addWidget(self.table, 1)
        self.body.addWidget(self._dropped)
        self.body.addWidget(self._notes)
        self._dropped.hide()
        self._notes.hide()
        self.grid.hide()

    def set_descriptions(self, descriptions: Sequence[Description]) -> None:
        """Show what the source holds; the choice of items stays where the items are the same."""
        before = [item.name for item in self.items()] if self._descriptions else None
        index = max(0, self.grid.currentIndex())
        self._descriptions = descriptions
        self.grid.blockSignals(True)
        self.grid.clear()
        for i, description in enumerate(descriptions):
            domain = description.domain
            self.grid.addItem(f"{description.name or f'#{i}'}  ({_extent_text(domain)}, "
                              f"{formats.plural(len(description.items), 'item')})")
        self.grid.setCurrentIndex(min(index, len(descriptions) - 1))
        self.grid.blockSignals(False)
        self.grid.setVisible(len(descriptions) > 1)
        names = [item.name for item in self.description().items]
        kept = before is not None and set(before) <= set(names)
        self._taken = [name in before if kept and before is not None else True for name in names]
        self._show()

    def description(self) -> Description:
        """The chosen grid; only after `set_descriptions`."""
        return self._descriptions[max(0, self.grid.currentIndex())]

    def items(self) -> tuple[Item, ...]:
        """The chosen items, in file order."""
        pairs = zip(self.description().items, self._taken, strict=True)
        return tuple(item for item, taken in pairs if taken)

    def chosen_names(self) -> tuple[str, ...]:
        """Names for a recipe: () where every item of the grid is taken."""
        return () if all(self._taken) else tuple(item.name for item in self.items())

    def grid_name(self) -> str:
        """Name for a recipe: "" where the source has one grid."""
        if len(self._descriptions) < 2:
            return ""
        return self.description().name or f"#{self.grid.currentIndex()}"

    def _grid_chosen(self) -> None:
        self._taken = [True] * len(self.description().items)
        self._show()
        self.changed.emit()

    def _toggle(self, row: int) -> None:
        self._taken[row] = not self._taken[row]
        self._show()
        self.changed.emit()

    def _take(self, taken: bool) -> None:
        self._taken = [taken] * len(self._taken)
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        description = self.description()
        domain, times = description.domain, description.times
        self._facts.set_rows([
            ("Kind", "Mesh" if isinstance(domain, MeshDomain) else _KINDS.get(domain.kind, domain.kind)),
            ("Cells", _extent_text(domain)),
            ("Times", _times_text(description)),
            ("Raw size", formats.size(description.raw_bytes)),
        ])
        self.table.set_rows([
            [Cell(checked=taken), Cell(item.name, item.long_name, "layers"), Cell(item.dtype), Cell(item.unit),
             Cell(formats.count(len(item.layers)) if item.layers else formats.DASH, muted=not item.layers),
             Cell(formats.megabytes(_raw(description, item)))]
            for item, taken in zip(description.items, self._taken, strict=True)
        ])
        steps = formats.plural(len(times), "step")
        self._count.setText(f"{sum(self._taken)} of {len(self._taken)} \u00b7 {steps} each")
        dropped = description.dropped
        self._dropped.setVisible(bool(dropped))
        if dropped:
            things = formats.plural(len(dropped), "thing")
            self._dropped.set_badge(f"{things} of the source left out or changed", "info")
            self._dropped.setToolTip("\n".join(entry.text for entry in dropped))
        more = [f"and {formats.count(len(dropped) - _NOTES)} more"] if len(dropped) > _NOTES else []
        self._notes.setText("\n".join([*(entry.text for entry in dropped[:_NOTES]), *more]))
        self._notes.setVisible(bool(dropped))


def _raw(description: Description, item: Item) -> int:
    return item.raw_bytes(values_of(description.domain, item)) * len(description.times)


def _extent_text(domain: Domain) -> str:
    if isinstance(domain, MeshDomain):
        return f"{formats.count(domain.elements)} elements"
    return f"{formats.count(domain.columns)} \u00d7 {formats.count(domain.rows)}"


def _times_text(description: Description) -> str:
    times = description.times
    if times.static:
        return "none"
    first, last = times.text(0)[:16], times.text(len(times) - 1)[:16]
    calendar = "" if times.calendar in ("standard", "proleptic_gregorian") else f" \u00b7 {times.calendar}"
    return f"{first} \u2192 {last}{calendar}" if len(times) > 1 else f"{first}{calendar}"
