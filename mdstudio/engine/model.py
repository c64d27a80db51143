"""What a dataset is, as frozen data: items, domains, storage settings, the description that an import starts from.

No I/O here. `engine.layout.metadata` reads and writes these as `dataset.json`; sources make a `Description`; the
writer, the queries and the views consume them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mdstudio.engine.errors import UnsupportedError
from mdstudio.engine.times import TimeAxis

Array = np.ndarray[Any, np.dtype[Any]]
Kind = Literal["grid", "mesh"]
StorageType = Literal["SingleTimestep", "MultiTimestep", "TimeSeries"]
ValueKind = Literal["single", "vector", "zlevel", "sigma"]
Location = Literal["cell", "node"]
GridKind = Literal["regular", "projected", "rotated", "curvilinear"]

NO_LAYER = -1  # the layer of an item without layers (P7)
COMPONENTS = "components"  # the field of `Item.cell_type` of vector items
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")

LAYOUT_COMPRESSION, LAYOUT_LZ4_ELEMENTS, LAYOUT_CHECKSUMS = 1, 2, 3
LAYOUT_CURRENT = LAYOUT_CHECKSUMS


@dataclass(frozen=True, slots=True)
class LayerAxis:
    """The layers of an item (depths, pressure levels, model levels, members).

    Attributes:
        name: the dimension's name in the source.
        values: one value a layer, in stored order, as the source has it.
        unit: unit of `values`; "" when they are bare numbers.
        positive: "up", "down" or "".
        meaning: what it is: "depth", "height", "pressure", "sigma", "hybrid", "index".
        dtype: type of the coordinate in the source.
        attributes: the source's attributes of the coordinate.
    """

    name: str
    values: tuple[float, ...]
    unit: str = ""
    positive: str = ""
    meaning: str = "index"
    dtype: str = "float64"
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Item:
    """One variable of a dataset.

    Attributes:
        name: unique in the dataset.
        dtype: stored type, one of `DTYPES`; stored values are kept to the bit.
        no_data: the stored no-data value (in the stored domain, before scaling), NaN for float items whose fill is NaN,
            or None. Compared by *bit pattern* of the stored type (P5).
        missing: further stored values that mean "no data" (a second fill value, say); never used for length-0
            pages.
        valid_min, valid_max: stored-domain limits; values outside show as no data; None: no limit.
        scale, offset: value = stored * scale + offset, computed in float64; None: not scaled.
        decoded: the CF type of a decoded value, "float32" or "float64" (the type of scale_factor/add_offset).
        layers: the layer axis, or None.
        value_kind: "single": one value a cell (a layer); "vector": `components` values a cell; on meshes also "zlevel":
            one value a node and layer of `layers`, and "sigma": one value a 3-D element of a mesh with sigma layers.
        components: values a cell for "vector" items, else 1.
        location: what of a mesh the values belong to: "cell" (elements) or "node"; z-level items: "node".
        attributes: the source's attributes, JSON-able.
    """

    name: str
    dtype: str
    unit: str = ""
    long_name: str = ""
    standard_name: str = ""
    no_data: int | float | None = None
    missing: tuple[int | float, ...] = ()
    valid_min: int | float | None = None
    valid_max: int | float | None = None
    scale: float | None = None
    offset: float | None = None
    decoded: str = "float64"
    layers: LayerAxis | None = None
    value_kind: ValueKind = "single"
    components: int = 1
    location: Location = "cell"
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The stored type of one number, little-endian."""
        return np.dtype(self.dtype).newbyteorder("<")

    @property
    def cell_type(self) -> np.dtype[Any]:
        """The stored type of what a cell holds: `numpy`; of a vector item its components side by side, in one field."""
        return np.dtype([(COMPONENTS, self.numpy, (self.components,))]) if self.value_kind == "vector" else self.numpy

    @property
    def layers_together(self) -> bool:
        """Whether all layers of a time lie in one blob (z-level and sigma items of meshes), not in one each."""
        return self.value_kind in ("zlevel", "sigma")

    @property
    def layer_count(self) -> int:
        """Slices a time: one a layer, 1 for an item without layers or with all `layers_together`."""
        return len(self.layer_ids())

    def raw_bytes(self, values: int) -> int:
        """Raw bytes of one time, of slices of so many values (`values_of`)."""
        return values * self.layer_count * self.cell_type.itemsize

    def layer_ids(self) -> range:
        """The layer numbers in blob names: -1 alone for an item without layers (P7) or with all `layers_together`."""
        return range(len(self.layers)) if self.layers and not self.layers_together else range(NO_LAYER, 0)


@dataclass(frozen=True)
class GridDomain:
    """A grid: rows x columns of cells, stored in the source's own row and column order.

    Attributes:
        kind: "regular" (1-D longitude/latitude), "projected" (1-D x/y in a CRS), "rotated" (1-D rotated lon/lat),
            "curvilinear" (2-D coordinates only).
        x: (columns,) cell centres along a row in the dataset's CRS, the source's own dtype; for "curvilinear" the
            column numbers.
        y: (rows,) likewise; ascending or descending as in the source.
        longitude, latitude: (rows, columns) true coordinates where the source has them (always for "curvilinear").
        x_bounds, y_bounds: (n, 2) cell bounds where the source has them.
        corner_longitude, corner_latitude: (rows, columns, 4) cell corners of a curvilinear grid where the source has
            them.
        crs: WKT, "EPSG:n" or "" where unknown; regular lon/lat grids are "EPSG:4326".
        grid_mapping: attributes of the source's grid mapping variable, kept verbatim.
        x_name, y_name, x_unit, y_unit: of the source's coordinates.
        coordinate_attributes: {variable: attributes} of the source's coordinates.
    """

    kind: GridKind
    x: Array
    y: Array
    crs: str = ""
    longitude: Array | None = None
    latitude: Array | None = None
    x_bounds: Array | None = None
    y_bounds: Array | None = None
    corner_longitude: Array | None = None
    corner_latitude: Array | None = None
    x_name: str = "x"
    y_name: str = "y"
    x_unit: str = ""
    y_unit: str = ""
    grid_mapping: Mapping[str, Any] = field(default_factory=dict)
    coordinate_attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> int:
        return int(self.x.size)

    @property
    def rows(self) -> int:
        return int(self.y.size)

    @property
    def cells(self) -> int:
        """Cells of one layer."""
        return self.rows * self.columns

    @property
    def geographic(self) -> bool:
        """True where x is a longitude in degrees that wraps at 360."""
        return self.kind == "regular"


@dataclass(frozen=True)
class MeshDomain:
    """A flexible mesh: elements of three or more corners over nodes, in stored order (`spatial.mesh_index` makes it).

    Attributes:
        node_x, node_y: (nodes,) float, coordinates in the dataset's CRS.
        element_nodes: (elements, corners) int32 positions of each element's corners in `node_x`, in turn around it;
            -1 at the end of elements with fewer corners than the widest.
        element_number: (elements,) int32 the source's position (from 0) of each stored element.
        node_number: (nodes,) int32 the source's position of each stored node.
        node_z: (nodes,) float, bed level or depth where the source has it.
        node_code: (nodes,) int32 boundary codes where the source has them.
        layer_counts: (elements,) int32 layers of each element of a mesh with sigma layers; None for others. Their 3-D
            elements are stored element by element, the layers of each from the bottom up.
        crs: WKT, "EPSG:n" or "" where unknown.
        geographic: x is a longitude in degrees.
        attributes: of the source's mesh, JSON-able, kept verbatim.
    """

    node_x: Array
    node_y: Array
    element_nodes: Array
    element_number: Array
    node_number: Array
    node_z: Array | None = None
    node_code: Array | None = None
    layer_counts: Array | None = None
    crs: str = ""
    geographic: bool = False
    x_name: str = "x"
    y_name: str = "y"
    x_unit: str = ""
    y_unit: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def elements(self) -> int:
        return int(self.element_nodes.shape[0])

    @property
    def nodes(self) -> int:
        return int(self.node_x.size)

    @property
    def cells(self) -> int:
        """Elements of one layer."""
        return self.elements

    @property
    def sigma(self) -> bool:
        return self.layer_counts is not None

    @property
    def element3d_count(self) -> int:
        """3-D elements of a mesh with sigma layers; 0 without."""
        return 0 if self.layer_counts is None else int(self.layer_counts.sum(dtype=np.int64))


Domain = GridDomain | MeshDomain


def require_grid(domain: Domain, where: str = "") -> GridDomain:
    """The domain, if it is a grid; `UnsupportedError` for a mesh, of callers that do not handle one."""
    if isinstance(domain, MeshDomain):
        raise UnsupportedError("This is a mesh; this part of the program handles grids only.", where=where)
    return domain


def values_of(domain: Domain, item: Item) -> int:
    """Values of one slice of an item in its source: cells or elements, nodes, nodes x layers, or 3-D elements."""
    if not isinstance(domain, MeshDomain):
        return domain.cells
    if item.value_kind == "sigma":
        return domain.element3d_count
    if item.value_kind == "zlevel":
        return domain.nodes * (len(item.layers) if item.layers else 1)
    return domain.nodes if item.location == "node" else domain.elements


@dataclass(frozen=True)
class Hint:
    """How the source made the floats of an item: the codec's first candidate, always verified (format.md, "Lattice").

    x = T(arith(k, scale, offset)), arithmetic as in format.md: 1 MULADD64, 2 MULADD32, 3 DIV64, 4 MULADDMUL64; then,
    for float32 only, fl32(x + shift) where there is a shift.
    """

    arithmetic: int
    scale: float
    offset: float = 0.0
    factor: float = 1.0
    shift: float | None = None


@dataclass(frozen=True)
class Dropped:
    """Something of the source that the dataset does not hold, or holds changed; counted by reason."""

    what: str
    reason: str
    count: int = 1

    @property
    def text(self) -> str:
        """One line for a person; the count where it says more than the names do."""
        return f"{self.what}: {self.reason}" + (f" ({self.count})" if self.count > 1 else "")


@dataclass(frozen=True)
class Description:
    """What an import writes: made by a source without reading any data.

    Attributes:
        name: of this grid within the source ("" when it has only one); shown where a choice is offered.
        hints: per item name, codec hints in order of preference; may depend on nothing but the source's attributes.
        source: where it comes from, for the metadata: [{"file", "format", ...}], no secret.
        attributes: the source's global attributes, JSON-able.
        time_attributes: the attributes of the source's time coordinate (units, calendar, ...), kept verbatim.
    """

    domain: Domain
    times: TimeAxis
    items: tuple[Item, ...]
    name: str = ""
    hints: Mapping[str, tuple[Hint, ...]] = field(default_factory=dict)
    source: tuple[Mapping[str, Any], ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    time_attributes: Mapping[str, Any] = field(default_factory=dict)
    dropped: tuple[Dropped, ...] = ()

    @property
    def raw_bytes(self) -> int:
        """Of all items and times."""
        return sum(item.raw_bytes(values_of(self.domain, item)) for item in self.items) * len(self.times)


@dataclass(frozen=True)
class ItemStorage:
    """How a dataset is stored; persisted, and followed by every append and update (D7).

    Attributes:
        compression: the persisted name (C1), or a name this build does not know, kept as it stood.
        time_group_size: timesteps a group (MultiTimestep, TimeSeries), None for SingleTimestep.
        spatial_group_size: rows of a TimeSeries spatial group: grid_tile_width squared, or values of a mesh.
        fixed_step: TimeSeries only: groups are filled to time_group_size with no-data (T4).
        layout_version: None for datasets from before versions (V1).
    """

    storage_type: StorageType
    compression: str = "None"
    time_group_size: int | None = None
    grid_tile_width: int | None = 128
    compressed_mesh_page_size: int | None = None
    time_series_block_rows: int | None = None
    spatial_group_size: int | None = None
    zlevel_paged_node_count: int | None = None
    fixed_step: bool = False
    layout_version: int | None = LAYOUT_CURRENT
