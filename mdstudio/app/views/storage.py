"""Storage: where the bytes go, page by page over the map and step by step over time. The index alone is read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from mdstudio.app import colormaps, formats
from mdstudio.app.plots.calendar_ticks import time_label
from mdstudio.app.plots.colour_bar import ColourBar
from mdstudio.app.plots.heatmap_plot import HeatmapPlot, Tip
from mdstudio.app.plots.mesh_pages import MeshPages, mesh_pages
from mdstudio.app.plots.mesh_raster import MeshRaster
from mdstudio.app.plots.pages import PageLattice, page_lattice
from mdstudio.app.plots.ranges import Range, histogram, place_in_range
from mdstudio.app.plots.ticks import Tick, number_ticks
from mdstudio.app.plots.time_strip import TimeStrip, describe_step, percent
from mdstudio.app.reading import Reader
from mdstudio.app.session import DatasetSession
from mdstudio.app.views.commands import pages_command
from mdstudio.app.views.fields import Field, field_of, serve_windows
from mdstudio.app.views.page_panel import PagePanel, PageRead, read_page
from mdstudio.app.views.pickers import ItemPicker
from mdstudio.app.views.step_picker import StepPicker
from mdstudio.app.views.view import GAP, PAGE_MARGIN, DatasetView
from mdstudio.app.widgets import Badge, Card, Segmented, StateStack
from mdstudio.engine.dataset import Dataset, PageTable, Sizes
from mdstudio.engine.errors import Cancelled, MdError
from mdstudio.engine.model import Array
from mdstudio.engine.page_table import Rect


@dataclass(frozen=True)
class PagesRead:
    """The pages of one slice, ready to draw. The key is what was asked: item, time, layer."""

    key: tuple[str, int, int | None]
    table: PageTable
    lattice: PageLattice | MeshPages
    field: Field

    @property
    def requests(self) -> int:
        return self.table.requests

    @property
    def bytes_read(self) -> int:
        return self.table.bytes_read


@dataclass(frozen=True)
class PageColours:
    """What the heatmap shows: the number of each page (NaN for all no data), the range and (pages,) uint32 colours."""

    numbers: Array
    shown: Range
    colours: Array
    counts: Array


def read_pages(dataset: Dataset, item: str, time: int, layer: int | None) -> PagesRead:
    """Worker thread: the page table from the index, laid out over the map."""
    field = field_of(dataset)
    table = dataset.pages(item, time, layer)
    lattice: PageLattice | MeshPages
    if isinstance(field.raster, MeshRaster):
        lattice = mesh_pages(field.raster.places.order, dataset.item(item), layer, table.column0, table.column1,
                             table.rect_page)
    else:
        lattice = page_lattice(table.row0, table.row1, table.column0, table.column1, table.rect_page)
    return PagesRead((item, time, layer), table, lattice, field)


def page_colours(table: PageTable, what: str) -> PageColours:
    """Ratio in per cent, or stored bytes, of each page in the ember ramp; pages of length 0 have none (P9)."""
    stored = table.length.astype(np.float64)
    numbers = stored if what == "bytes" else 100.0 * stored / np.maximum(table.raw, 1)
    numbers = np.where(table.length > 0, numbers, np.nan)
    known = numbers[np.isfinite(numbers)]
    top = _round_up(float(known.max())) if known.size else 1.0
    shown = (0.0, top)
    place = np.nan_to_num(place_in_range(numbers, shown))
    index = np.minimum((np.clip(place, 0.0, 1.0) * 256).astype(np.int64), 255)
    colours = np.where(np.isfinite(numbers), colormaps.argb("ember")[index], np.uint32(0)).astype(np.uint32)
    return PageColours(numbers, shown, colours, histogram(numbers, shown))


def _round_up(value: float) -> float:
    """A round number at or above a value, for the top of a scale."""
    if value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(n * power for n in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if n * power >= value * (1 - 1e-12)))


class StorageView(DatasetView):
    """Mock-up 02 with the layers that the index gives: ratio and bytes."""

    key, title, icon = "storage", "Storage", "storage"

    def __init__(self, session: DatasetSession, reader: Reader, parent: QWidget | None = None) -> None:
        super().__init__(session, reader, parent)
        self.pages: PagesRead | None = None
        self.colours: PageColours | None = None
        self.sizes: Sizes | None = None
        self.page = -1
        self._asked: tuple[str, int, int | None] | None = None
        self.picker, self.step = ItemPicker(session, self), StepPicker(session)
        self.layer = Segmented([("ratio", "Ratio"), ("bytes", "Bytes")], "What the colours show")
        self.plot, self.bar = HeatmapPlot(self.describe), ColourBar()
        self.stack = StateStack(self.plot)
        self.cost = Badge()
        self.card = Card("Ratio per page")
        self.strip = TimeStrip("line", self._describe_step)
        self.strip_stack = StateStack(self.strip)
        self.strip_card = Card("Ratio per timestep")
        self.panel = PagePanel()
        self._arrange()
        serve_windows(session, self.plot, "heatmap-window")
        self.layer.changed.connect(lambda _: self._colour())
        self.plot.page_selected.connect(self.select_page)
        self.plot.page_hovered.connect(self._hovered)
        self.strip.index_chosen.connect(lambda index: session.select(time=index))
        self.panel.read_asked.connect(self.read_page)
        self.panel.closed.connect(lambda: self.select_page(-1))

    def _arrange(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(8)
        for widget in (self.picker.item, self.picker.layer, self.step, self.layer):
            row.addWidget(widget)
        row.addStretch(1)
        self.card.add_to_head(self.cost)
        grid = QGridLayout()
        grid.setSpacing(6)
        grid.addWidget(self.stack, 0, 0)
        grid.addWidget(self.bar, 0, 1)
        grid.setColumnStretch(0, 1)
        self.card.body.addLayout(grid, 1)
        self.strip_card.body.addWidget(self.strip_stack)
        self.strip_card.setFixedHeight(150)
        column = QVBoxLayout()
        column.setSpacing(GAP)
        column.addWidget(self.card, 1)
        column.addWidget(self.strip_card)
        body = QHBoxLayout()
        body.setSpacing(GAP)
        body.addLayout(column, 1)
        body.addWidget(self.panel)
        page = QVBoxLayout(self)
        page.setContentsMargins(PAGE_MARGIN, GAP, PAGE_MARGIN, 12)
        page.setSpacing(GAP)
        page.addLayout(row)
        page.addLayout(body, 1)
        self.panel.hide()
        self.setFocusProxy(self.plot)

    def command_text(self) -> str:
        dataset, chosen = self.dataset, self.session.selection
        if dataset is None:
            return ""
        return pages_command(dataset.location, chosen.item, dataset.metadata.times, chosen.time, chosen.layer)

    def dataset_changed(self) -> None:
        assert self.dataset is not None
        dataset = self.dataset
        self._asked, self.pages, self.sizes = None, None, None
        self.select_page(-1)
        single = len(dataset.metadata.times) < 2
        self.strip_card.setVisible(not single)
        if not single:
            self._read_sizes()

    def _read_sizes(self) -> None:
        assert self.dataset is not None
        self.strip_stack.show_loading("Listing blobs")
        self.session.submit("sizes", self.dataset.sizes, self._sizes_arrived, self._sizes_failed, self._sizes_progress)

    def _sizes_progress(self, done: int, total: int, unit: str) -> None:
        self.strip_stack.show_loading(f"Reading {unit}", done, total)

    def renew(self) -> None:
        dataset, chosen = self.dataset, self.session.selection
        assert dataset is not None
        self._show_strip()
        key = (chosen.item, chosen.time, chosen.layer)
        if key == self._asked:
            return
        self._asked = key
        self.stack.show_loading("Reading the page index")
        self.session.submit("pages", lambda progress: read_pages(dataset, *key), self._arrived, self._failed)

    def _arrived(self, pages: PagesRead) -> None:
        before = self.pages.key if self.pages is not None else None
        self.pages = pages
        self.stack.show_contents()
        self._colour()
        keep = before is not None and before[0] == pages.key[0] and self.page < len(pages.table)
        self.select_page(self.page if keep else -1)

    def _failed(self, error: MdError) -> None:
        self._asked = None
        if isinstance(error, Cancelled):
            held = f"{self.pages.key[0]}, {self._time_text(self.pages.key[1])}" if self.pages is not None else ""
            self.stack.show_stopped(held, [("Read again", self.renew)])
        else:
            self.stack.show_error(error, [("Try again", self.renew)])

    def _time_text(self, time: int) -> str:
        return time_label(self.dataset.metadata.times, time) if self.dataset is not None else ""

    def _colour(self) -> None:
        pages = self.pages
        if pages is None:
            return
        what = self.layer.value()
        self.colours = page_colours(pages.table, what)
        self.plot.set_pages(pages.lattice, pages.field.raster, pages.field.frame, self.colours.colours)
        ticks = _percent_ticks if what == "ratio" else _byte_ticks
        self.bar.set_scale(self.colours.shown, "ember", "Ratio" if what == "ratio" else "Stored", self.colours.counts,
                           ticks)
        self.card.set_title("Ratio per page" if what == "ratio" else "Stored bytes per page", self.summary())
        self.cost.set_badge(f"{formats.plural(pages.requests, 'request')} · {formats.size(pages.bytes_read)} · "
                            "0 pages read", "neutral", "explain")

    def summary(self) -> str:
        """Counts that add up, and the mean without the all-no-data pages."""
        pages, colours = self.pages, self.colours
        if pages is None or colours is None:
            return ""
        known = colours.numbers[np.isfinite(colours.numbers)]
        empty = len(pages.table) - known.size
        text = f"{formats.plural(known.size, 'page')} with data, {formats.count(empty)} all no data{self._drawn()}"
        if not known.size:
            return text
        if self.layer.value() == "bytes":
            return f"{text} · mean {formats.size(float(known.mean()))}, largest {formats.size(float(known.max()))}"
        mean, worst = formats.number(float(known.mean()), 1), formats.number(float(known.max()), 1)
        return f"{text} · mean {mean} %, worst {worst} %"

    def _drawn(self) -> str:
        """What the colour of an element of a mesh is of, where that is not its own value."""
        pages, dataset = self.pages, self.dataset
        if pages is None or dataset is None or not isinstance(pages.lattice, MeshPages):
            return ""
        by_node = dataset.item(pages.key[0]).location == "node"
        return " · an element shows the page of its first node" if by_node else ""

    def describe(self, entry: int) -> Tip:
        """The two lines of the tip of a page."""
        assert self.pages is not None
        table = self.pages.table
        length, raw = int(table.length[entry]), int(table.raw[entry])
        if not length:
            return f"Page {formats.count(int(table.page[entry]))}", "all no data, nothing stored"
        return (f"Page {formats.count(int(table.page[entry]))}   {formats.ratio(length, raw)}",
                f"{formats.count(length)} of {formats.count(raw)} B")

    def select_page(self, position: int) -> None:
        """Show a page in the panel, from the index; -1 closes it."""
        self.page = position
        self.plot.select(position)
        self.session.cancel("one-page")
        pages, colours = self.pages, self.colours
        if position < 0 or pages is None or colours is None:
            self.panel.hide()
            return
        self.panel.show_page(pages.table, position, *self._place(pages, position), colours.colours,
                             mesh=isinstance(pages.lattice, MeshPages))
        self.panel.show()

    def read_page(self) -> None:
        """Read the chosen page: the only thing in this view that reads one."""
        dataset, pages, position = self.dataset, self.pages, self.page
        if dataset is None or pages is None or position < 0:
            return
        name, time, layer = pages.key
        item = dataset.item(name)
        self.panel.show_reading()
        self.session.submit("one-page", lambda progress: read_page(dataset, item, time, layer, position),
                            self._page_arrived, self._page_failed)

    def _page_arrived(self, page: PageRead) -> None:
        if self.dataset is not None and self.pages is not None:
            self.panel.show_read(page, self.dataset.item(self.pages.key[0]))

    def _page_failed(self, error: MdError) -> None:
        self.panel.show_error(error)

    def _place(self, pages: PagesRead, position: int) -> tuple[str, str]:
        """Where a page lies, and its rows and columns."""
        rects = pages.table.rectangles(position)
        if not rects:
            return "", ""
        if isinstance(pages.lattice, MeshPages):
            return self._mesh_place(pages, pages.lattice, position, rects[0])
        assert not isinstance(pages.field.raster, MeshRaster)
        rows = min(r[0] for r in rects), max(r[1] for r in rects)
        columns = min(r[2] for r in rects), max(r[3] for r in rects)
        place = pages.field.frame.place(
            *pages.field.raster.cell_centre((rows[0] + rows[1] - 1) // 2, (columns[0] + columns[1] - 1) // 2), 1)
        return f"around {place}" if place else "", f"{rows[0]}–{rows[1] - 1}, {columns[0]}–{columns[1] - 1}"

    def _mesh_place(self, pages: PagesRead, lattice: MeshPages, position: int, rect: Rect) -> tuple[str, str]:
        """Around the element in the middle of those that the page shows at, and its run of stored values."""
        shown = np.flatnonzero(lattice.entries == position)
        raster = pages.field.raster
        assert isinstance(raster, MeshRaster)
        place = pages.field.frame.place(*raster.cell_centre(0, int(shown[shown.size // 2])), 1) if shown.size else ""
        return f"around {place}" if place else "in no element's first value", f"{rect[2]}–{rect[3] - 1}"

    def _hovered(self, entry: int) -> None:
        self.bar.set_value(float(self.colours.numbers[entry]) if entry >= 0 and self.colours is not None else None)

    def _sizes_arrived(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.strip_stack.show_contents()
        self._show_strip()

    def _sizes_failed(self, error: MdError) -> None:
        self.strip_stack.show_error(error, [("List again", self._read_sizes)])

    def ratios(self) -> Array:
        """Stored / raw of each step of the chosen item in per cent, all layers together."""
        dataset, sizes = self.dataset, self.sizes
        if dataset is None or sizes is None:
            return np.zeros(0)
        row = sizes.items.index(self.session.selection.item)
        return np.asarray(100.0 * sizes.stored[row] / max(1, int(sizes.raw[row])))

    def _show_strip(self) -> None:
        dataset, chosen = self.dataset, self.session.selection
        if dataset is None or self.sizes is None:
            return
        times, ratios = dataset.metadata.times, self.ratios()
        self.strip.set_values(times, ratios, " %")
        self.strip.set_index(chosen.time)
        spread = dataset.metadata.storage.storage_type == "TimeSeries"
        self.strip_card.set_title("Ratio per timestep", f"{chosen.item} · "
                                  + ("a group's bytes spread evenly over its steps" if spread
                                     else "all layers, index included")
                                  + f" · {time_label(times, chosen.time)} {percent(float(ratios[chosen.time]))}")

    def _describe_step(self, index: int) -> str:
        dataset, ratios = self.dataset, self.ratios()
        if dataset is None or index >= ratios.size:
            return ""
        return describe_step(dataset.metadata.times, index, percent(float(ratios[index])))

    def close_panel(self) -> bool:
        if self.page < 0:
            return False
        self.select_page(-1)
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self.step.handle_key(event):
            super().keyPressEvent(event)


def _percent_ticks(low: float, high: float, most: int) -> list[Tick]:
    return [(value, f"{text} %") for value, text in number_ticks(low, high, most)]


def _byte_ticks(low: float, high: float, most: int) -> list[Tick]:
    return [(value, formats.size(value)) for value, _ in number_ticks(low, high, most)]
