"""Overview: is this the one, and may I trust it? All above the preview comes from metadata and listing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

from mdstudio.app import formats
from mdstudio.app.plots.calendar_ticks import time_label
from mdstudio.app.plots.time_strip import TimeStrip, describe_step
from mdstudio.app.reading import Reader
from mdstudio.app.session import DatasetSession
from mdstudio.app.views import facts
from mdstudio.app.views.commands import inspect_command
from mdstudio.app.views.guard_list import GuardList
from mdstudio.app.views.preview_card import PreviewCard
from mdstudio.app.views.view import GAP, PAGE_MARGIN, DatasetView
from mdstudio.app.widgets import Badge, Card, Column, ElidedLabel, FactCard, IconButton, Label, StateStack, Table
from mdstudio.app.widgets.base import UNBOUND
from mdstudio.app.widgets.delegate import ROW_HEIGHT
from mdstudio.engine.dataset import Sizes
from mdstudio.engine.errors import Cancelled, MdError
from mdstudio.engine.model import Domain, GridDomain

COLUMNS = (
    Column("Item", stretch=True, width=150), Column("Type", "mono", 70), Column("Unit", width=66),
    Column("Layers", "number", 58), Column("No data", "number", 72), Column("Scale", "number", 136),
    Column("Raw MB", "number", 66), Column("Stored MB", "number", 80), Column("Ratio", "bar", 118, role="dense-strong"),
)
_LAYERS, _NO_DATA, _SCALE = 3, 4, 5  # columns that are shown only where some item has them
_PAGE_HEIGHT = 450  # of head, facts, items without their rows, and a preview that is worth its room
_STRIP_HEIGHT = 112
_CARDS = (("kind", "Kind", "grid"), ("storage", "Storage type", "layers"), ("layout", "Layout version", "file"),
          ("compression", "Compression", "storage"), ("ratio", "Ratio", "overview"), ("times", "Times", "clock"))
_WIDE, _NARROW = (20, 17, 19, 17, 17, 21), (1, 1, 1)  # how the cards share a row; narrow: two rows of three


class OverviewView(DatasetView):
    """Mock-up 01."""

    key, title, icon = "overview", "Overview", "overview"

    def __init__(self, session: DatasetSession, reader: Reader, parent: QWidget | None = None) -> None:
        super().__init__(session, reader, parent)
        self.inspection: Mapping[str, Any] | None = None
        self.sizes: Sizes | None = None
        self.name = ElidedLabel("", "title")
        self.kind, self.crs, self.verdict = Badge(), Badge(), Badge()
        self.place = ElidedLabel("", "mono-small", "text2", mode=Qt.TextElideMode.ElideMiddle)
        self.copy = IconButton("copy", "Copy location", dense=True)
        self.guards = GuardList()
        self.cards = {key: FactCard(label, icon) for key, label, icon in _CARDS}
        self._card_grid = QGridLayout()
        self.items = Card("Items")
        self.parameters = Label("", "dense-medium", "text2")
        self.table = Table(COLUMNS, "Items")
        self.preview = PreviewCard(session)
        self.strip = TimeStrip("bars", self._describe_step)
        self.strip_stack = StateStack(self.strip)
        self.strip_card = Card("Stored bytes per timestep")
        self.now = Label("", "dense-strong")
        self._placed = False  # whether the preview lies beneath the items
        self._arrange()
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.place.full_text()))
        self.table.row_selected.connect(self._choose)
        self.table.row_activated.connect(self._open_item)
        self.preview.opened.connect(lambda: session.view_requested.emit("map"))
        self.strip.index_chosen.connect(lambda index: session.select(time=index))

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.name)
        for badge in (self.kind, self.crs, self.verdict):
            head.addWidget(badge)
        head.addStretch(1)
        head.addWidget(self.place, 2)
        head.addWidget(self.copy)
        self.place.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._card_grid.setSpacing(GAP)
        self._place_cards(_WIDE)
        self.items.body.setContentsMargins(-11, 0, -11, 0)
        self.items.add_to_head(self.parameters)
        self.items.body.addWidget(self.table)
        self._middle = QGridLayout()
        self._middle.setSpacing(GAP)
        self.strip_card.add_to_head(self.now)
        self.strip_card.body.addWidget(self.strip_stack)
        page = QVBoxLayout(self)
        page.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)  # the room decides how it is laid out
        page.setContentsMargins(PAGE_MARGIN, 14, PAGE_MARGIN, 14)
        page.setSpacing(GAP)
        page.addLayout(head)
        page.addWidget(self.guards)
        page.addLayout(self._card_grid)
        page.addLayout(self._middle, 1)
        self.preview.hide()
        self.setFocusProxy(self.table)

    def _place_cards(self, stretches: tuple[int, ...]) -> None:
        """In rows of as many cards as there are stretches: the widest texts get the most room."""
        for i, card in enumerate(self.cards.values()):
            self._card_grid.addWidget(card, *divmod(i, len(stretches)))
        for column in range(len(self.cards)):
            self._card_grid.setColumnStretch(column, stretches[column] if column < len(stretches) else 0)

    def _few(self) -> bool:
        """Whether all items, the preview beneath them (where it is shown) and the strip fit on the page."""
        assert self.dataset is not None
        room = 440 if self._narrow else _PAGE_HEIGHT + (0 if self.strip_card.isHidden() else _STRIP_HEIGHT + GAP)
        return self.height() >= room + ROW_HEIGHT * len(self.dataset.metadata.items)

    def minimumSizeHint(self) -> QSize:
        return QSize(480, 400)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.dataset is not None and self._few() != self._placed:
            self._place_middle()

    def _place_middle(self) -> None:
        """Items beside the preview; few of them above it, for then they need little room and the map has the rest."""
        assert self.dataset is not None
        grid, few = self._middle, self._few()
        self._placed = few
        grid.addWidget(self.items, 0, 0, *((1, 2) if few else (2, 1)))
        grid.addWidget(self.preview, *((1, 0, 1, 2) if few else (0, 1, 2, 1)))
        grid.addWidget(self.strip_card, 2, 0, 1, 2)
        alone = few and bool(self._narrow)  # without a preview the strip takes what is left
        grid.setColumnStretch(0, 1)
        grid.setRowStretch(1, 0 if alone else 1)
        grid.setRowStretch(2, 1 if alone else 0)
        self.strip_card.setMinimumHeight(_STRIP_HEIGHT)
        self.strip_card.setMaximumHeight(UNBOUND if alone else _STRIP_HEIGHT)
        self.preview.set_wide(few)
        self.table.fit_height(few)

    def side_panel(self) -> QWidget:
        return self.preview

    def set_narrow(self, narrow: bool) -> None:
        super().set_narrow(narrow)
        self._place_cards(_NARROW if narrow else _WIDE)
        if self.dataset is not None:
            self._place_middle()
        if not narrow:
            self.preview.renew()

    def toggle_side_panel(self) -> None:
        super().toggle_side_panel()
        self.preview.renew()

    def command_text(self) -> str:
        return inspect_command(self.dataset.location) if self.dataset is not None else ""

    def dataset_changed(self) -> None:
        assert self.dataset is not None
        dataset, metadata = self.dataset, self.dataset.metadata
        self.inspection = self.sizes = None
        self.name.setText(metadata.name or self.session.title)
        self.kind.set_badge("Grid" if metadata.kind == "grid" else "Mesh", "neutral", metadata.kind)
        self.crs.hide()
        count = len(dataset.guards)
        self.verdict.set_badge(f"{count} guards" if count > 1 else "1 guard" if count else "not checked",
                               "advice" if count else "unknown")
        self.place.setText(dataset.location)
        self.guards.show_guards(dataset.guards)
        types = {item.dtype for item in metadata.items}
        same = f"{len(metadata.items)} of one type" if len(types) == 1 < len(metadata.items) else \
            formats.plural(len(metadata.items), "item")
        self.items.set_title("Items", f"{same}, ratio = stored / raw, smaller is better")
        self.parameters.setText(facts.layout_parameters(metadata))
        self.table.setColumnHidden(_LAYERS, not any(item.layers for item in metadata.items))
        self.table.setColumnHidden(_NO_DATA, all(item.no_data is None for item in metadata.items))
        self.table.setColumnHidden(_SCALE, not any(item.scale or item.offset for item in metadata.items))
        self._show_facts(None)
        readable = not any(guard.blocks_read for guard in dataset.guards)
        self.strip_card.setVisible(readable and len(metadata.times) > 1)
        self._place_middle()
        self.session.submit("inspect", lambda progress: dataset.inspect(), self._inspected, self._listing_failed)
        if not readable:
            return
        self.session.submit("domain", lambda progress: dataset.domain, self._domain_arrived, self._quiet)
        if len(metadata.times) > 1:
            self._read_sizes()

    def _read_sizes(self) -> None:
        assert self.dataset is not None
        self.strip_stack.show_loading("Listing blobs")
        self.session.submit("sizes-overview", self.dataset.sizes, self._sizes_arrived, self._sizes_failed)

    def renew(self) -> None:
        dataset, chosen = self.dataset, self.session.selection
        assert dataset is not None
        names = [item.name for item in dataset.metadata.items]
        if chosen.item in names and self.table.selected_row() != names.index(chosen.item):
            self.table.select_row(names.index(chosen.item))
        self.strip.set_index(chosen.time)
        self.now.setText(time_label(dataset.metadata.times, chosen.time))
        if self.preview.isVisible():
            QTimer.singleShot(0, self, self.preview.renew)  # after the rest is painted

    def _show_facts(self, domain: Domain | None) -> None:
        assert self.dataset is not None
        metadata = self.dataset.metadata
        shown = {"kind": facts.kind_fact(metadata, domain), "storage": facts.storage_fact(metadata),
                 "layout": facts.layout_fact(metadata), "compression": facts.compression_fact(metadata),
                 "ratio": facts.ratio_fact(self.inspection), "times": facts.times_fact(metadata.times)}
        for key, fact in shown.items():
            self.cards[key].set_fact(fact.value, fact.note, fact.bar)
        self._show_items()

    def _show_items(self) -> None:
        assert self.dataset is not None
        self.table.set_rows(facts.item_rows(self.dataset.metadata, self.inspection))
        self.table.fit_columns()

    def _inspected(self, inspection: Mapping[str, Any]) -> None:
        assert self.dataset is not None
        self.inspection = inspection
        fact = facts.ratio_fact(inspection)
        self.cards["ratio"].set_fact(fact.value, fact.note, fact.bar)
        self._show_items()

    def _listing_failed(self, error: MdError) -> None:
        self.cards["ratio"].set_fact(formats.DASH, "not listed" if isinstance(error, Cancelled) else error.message)

    def _domain_arrived(self, domain: Domain) -> None:
        assert self.dataset is not None
        fact = facts.kind_fact(self.dataset.metadata, domain)
        self.cards["kind"].set_fact(fact.value, fact.note)
        short = domain.crs if 0 < len(domain.crs) <= 24 else ""
        mapping = domain.grid_mapping if isinstance(domain, GridDomain) else {}
        named = str(mapping.get("grid_mapping_name", "")).replace("_", " ")
        self.crs.set_badge(short or named or "CRS unknown", "neutral", "none")
        self.crs.setToolTip(domain.crs or named)
        self.crs.show()

    def _quiet(self, error: MdError) -> None:
        """The preview tells the same error where it can be read."""

    def _sizes_arrived(self, sizes: Sizes) -> None:
        assert self.dataset is not None
        self.sizes = sizes
        total = sizes.stored.sum(axis=0)
        self.strip_stack.show_contents()
        self.strip.set_values(self.dataset.metadata.times, total.astype(np.float64))
        self.strip.set_index(self.session.selection.time)
        self.strip_card.set_title("Stored bytes per timestep", f"all items · mean {formats.size(float(total.mean()))}")

    def _sizes_failed(self, error: MdError) -> None:
        self.strip_stack.show_error(error, [("List again", self._read_sizes)])

    def _describe_step(self, index: int) -> str:
        dataset, sizes = self.dataset, self.sizes
        if dataset is None or sizes is None or index >= sizes.stored.shape[1]:
            return ""
        return describe_step(dataset.metadata.times, index, formats.size(int(sizes.stored[:, index].sum())))

    def _choose(self, row: int) -> None:
        if row >= 0 and self.dataset is not None:
            self.session.select(item=self.dataset.metadata.items[row].name)

    def _open_item(self, row: int) -> None:
        self._choose(row)
        self.session.view_requested.emit("map")
