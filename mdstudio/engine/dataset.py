"""A dataset that is open for reading: metadata, guards, queries, page tables, sizes (design 2, 5a)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from mdstudio.engine import query
from mdstudio.engine.area_query import read_area
from mdstudio.engine.errors import (
    BlobChangedError,
    DamagedDataError,
    MdError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from mdstudio.engine.items import find_item
from mdstudio.engine.layout.domain import load_domain
from mdstudio.engine.layout.guards import Guard, guards, require_readable
from mdstudio.engine.layout.item_layout import ItemLayout, layouts_of
from mdstudio.engine.layout.metadata import Metadata, load_metadata, most_pages
from mdstudio.engine.line_query import read_line
from mdstudio.engine.mesh_query import MeshPlaces, read_mesh_map, read_mesh_series
from mdstudio.engine.model import Array, Domain, GridDomain, Item, MeshDomain, require_grid
from mdstudio.engine.page_table import PageDetails, PageTable, page_details, page_table
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import (
    AreaRequest,
    AreaResult,
    LineRequest,
    LineResult,
    MapRequest,
    MapResult,
    SeriesRequest,
    SeriesResult,
)
from mdstudio.engine.sizes import Sizes, inspection, read_sizes
from mdstudio.engine.spatial.grid import GridGeometry
from mdstudio.engine.storage import BlobStorage, open_storage

__all__ = ["Dataset", "PageDetails", "PageTable", "Sizes"]

_MANY_PAGES = 1 << 16  # of a slice: tables of more are made when the coordinates bear the metadata out


class Dataset:
    """A dataset as it was when it was opened: the times listed then, read from any thread.

    Where another job has replaced it since, removed times or changed its mesh, what is gone raises `BlobChangedError`:
    it must be opened again. What an update has written meanwhile is read as it is now.

    Attributes:
        storage: where its blobs are.
        location: as a person may see it, without a secret.
        metadata: what `dataset.json` said.
        metadata_version: the version of that blob, for a conditional save (W2).
        guards: what forbids reading or writing, with what to do about it (V9); empty for most datasets.
    """

    def __init__(self, storage: BlobStorage, metadata: Metadata, metadata_version: str) -> None:
        self.storage = storage
        self.location = storage.location
        self.metadata = metadata
        self.metadata_version = metadata_version
        self.guards: tuple[Guard, ...] = guards(metadata)
        self.sleep = time.sleep  # how a read waits before it tries again (P18); tests put a clock of their own here
        self._lock = threading.Lock()
        self._layouts: dict[str, ItemLayout] = {}
        self._domain: Domain | None = None
        self._geometry: GridGeometry | None = None
        self._mesh: MeshPlaces | None = None

    def __repr__(self) -> str:
        kind, items, times = self.metadata.kind, len(self.metadata.items), len(self.metadata.times)
        return f"<Dataset {self.location}: {kind}, {items} items, {times} times>"

    @classmethod
    def open(cls, storage: BlobStorage | str) -> Dataset:
        """Open the dataset of a storage or location; reads `dataset.json` only.

        Raises `NotFoundError`, `NotADatasetError`, `DamagedDataError`. A dataset under a guard opens and shows (V5-V7).
        """
        place = open_storage(storage) if isinstance(storage, str) else storage
        metadata, version = load_metadata(place)
        return cls(place, metadata, version)

    @property
    def domain(self) -> Domain:
        """The coordinates; one blob is read at first use. Raises `DamagedDataError`, also for those of another grid or
        mesh than the metadata speaks of."""
        with self._lock:
            if self._domain is None:
                with self._reading():
                    domain = load_domain(self.storage, self.metadata.domain_blob)
                _require_same(self.metadata, domain)
                self._domain = domain
            return self._domain

    @property
    def grid(self) -> GridDomain:
        """The coordinates of a grid; `UnsupportedError` for a mesh."""
        return require_grid(self.domain, self.location)

    @property
    def geometry(self) -> GridGeometry:
        """Where the cells of a grid lie; reads the domain at first use. `UnsupportedError` for a mesh."""
        domain = self.grid
        with self._lock:
            if self._geometry is None:
                self._geometry = GridGeometry(domain)
            return self._geometry

    @property
    def mesh(self) -> MeshPlaces:
        """Where the elements of a mesh lie, on the map and in its blobs; reads the domain at first use.
        `UnsupportedError` for a grid."""
        domain = self.domain
        if not isinstance(domain, MeshDomain):
            raise UnsupportedError("This is a grid, not a mesh.", where=self.location)
        with self._lock:
            if self._mesh is None:
                self._mesh = MeshPlaces(domain)
            return self._mesh

    def item(self, name: str) -> Item:
        """The item of a name or of `#n`, counted from 0; raises `NotFoundError` with the nearest name."""
        return find_item(self.metadata.items, name, self.location)

    def layout(self, name: str) -> ItemLayout:
        """Where the values of an item lie; refused under a guard that forbids reading, before anything is read.

        Reads the domain first where a slice has more than 65 536 pages: no memory is taken for what `dataset.json`
        alone speaks of."""
        require_readable(self.metadata, self.location)
        item = self.item(name)
        if not self._layouts and most_pages(self.metadata) > _MANY_PAGES:
            _ = self.domain
        with self._lock, self._reading():
            if not self._layouts:
                self._layouts = {layout.item.name: layout for layout in layouts_of(self.metadata)}
            return self._layouts[item.name]

    def map(self, request: MapRequest, progress: Progress | None = None) -> MapResult:
        """Cells of one slice; see `query.read_map`, of a mesh `mesh_query.read_mesh_map`."""
        source = self._source(request.item, progress)
        with self._reading():
            if self.metadata.kind == "mesh":
                return read_mesh_map(source, self.mesh, request)
            return query.read_map(source, self.geometry, request)

    def series(self, request: SeriesRequest, progress: Progress | None = None) -> SeriesResult:
        """Values at points over time; see `query.read_series`, of a mesh `mesh_query.read_mesh_series`."""
        source = self._source(request.item, progress)
        with self._reading():
            if self.metadata.kind == "mesh":
                return read_mesh_series(source, self.mesh, request)
            return query.read_series(source, self.geometry, request)

    def area(self, request: AreaRequest, progress: Progress | None = None) -> AreaResult:
        """Statistics over an area at each time; see `area_query.read_area`."""
        source = self._source(request.item, progress)
        with self._reading():
            return read_area(source, self._places(), request)

    def line(self, request: LineRequest, progress: Progress | None = None) -> LineResult:
        """Values along a line; see `line_query.read_line`."""
        source = self._source(request.item, progress)
        with self._reading():
            return read_line(source, self._places(), request)

    def block(self, item: str, times: slice, layer: int, rows: slice, columns: slice,
              progress: Progress | None = None) -> Array:
        """Stored values of a part of the grid over some times; see `query.read_block`."""
        with self._reading():
            return query.read_block(self._source(item, progress), times, layer, rows, columns)

    def pages(self, item: str, time: int, layer: int | None = None) -> PageTable:
        """Where the pages of one slice lie and what cells they hold, from the index alone: no page is read."""
        layout = self.layout(item)
        with self._reading():
            return page_table(self.storage, layout, query.layer_number(layout.item, layer),
                              query.time_number(layout, time), self.sleep)

    def page_details(self, item: str, time: int, layer: int | None, page: int) -> PageDetails:
        """One page, read and taken apart: header facts, checksum, values; a damaged one says how."""
        layout = self.layout(item)
        with self._reading():
            return page_details(self.storage, layout, query.layer_number(layout.item, layer),
                                query.time_number(layout, time), page, self.sleep)

    def sizes(self, progress: Progress | None = None) -> Sizes:
        """Stored bytes of each item and time; see `sizes.read_sizes`."""
        require_readable(self.metadata, self.location)
        layouts = [self.layout(item.name) for item in self.metadata.items]
        with self._reading():
            sizes = read_sizes(self.storage, self.metadata, layouts, progress)
        if not sizes.stored.all() and self._is_gone():  # a listing misses what is gone without an error
            raise self._gone()
        return sizes

    def inspect(self) -> Mapping[str, Any]:
        """Everything on Overview, with exactly the keys of `inspect --json` (design 5a); one listing, no page."""
        return inspection(self.storage, self.metadata, self.guards)

    def _places(self) -> GridGeometry | MeshPlaces:
        return self.mesh if self.metadata.kind == "mesh" else self.geometry

    def _source(self, item: str, progress: Progress | None) -> query.Source:
        return query.Source(self.storage, self.layout(item), progress, self.sleep)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """A `BlobChangedError` for what is missing because the dataset was changed since; a `StorageError` for what
        does not fit in memory: too much was asked for, or damaged metadata speaks of it."""
        try:
            yield
        except (NotFoundError, DamagedDataError) as error:
            if self._is_gone():
                raise self._gone() from error
            raise
        except MemoryError as error:
            raise StorageError(f"This does not fit in memory: {error}.", where=self.location,
                               advice="Ask for a smaller part, or check the dataset.") from error

    def _gone(self) -> BlobChangedError:
        return BlobChangedError("The dataset was replaced, or times of it removed, since it was opened.",
                                where=self.location, advice="Open it again.")

    def _is_gone(self) -> bool:
        """Whether what is stored now no longer leads to all that was listed when this was opened; one request."""
        try:
            now, version = load_metadata(self.storage)
        except MdError:  # no dataset any more, or none that can be read: what was found is what is told
            return False
        then = self.metadata
        return version != self.metadata_version and (
            (dict(now.folders), now.domain_blob, now.storage) != (dict(then.folders), then.domain_blob, then.storage)
            or not np.isin(then.times.microseconds, now.times.microseconds).all())


def _require_same(metadata: Metadata, domain: Domain) -> None:
    """`DamagedDataError` for coordinates of another grid or mesh than `dataset.json` speaks of."""
    if isinstance(domain, MeshDomain):
        facts = "mesh", (1, domain.elements), domain.nodes, domain.element3d_count
    else:
        facts = "grid", (domain.rows, domain.columns), 0, 0
    if facts != (metadata.kind, metadata.shape, metadata.nodes, metadata.element3d_count):
        raise DamagedDataError(
            f"The coordinates are those of a {facts[0]} of {facts[1][0]} x {facts[1][1]} cells and {facts[2]} nodes; "
            f"the metadata speaks of a {metadata.kind} of {metadata.shape[0]} x {metadata.shape[1]} and "
            f"{metadata.nodes}.",
            where=metadata.domain_blob, advice="Restore the blob from a copy, or import the data again.")
