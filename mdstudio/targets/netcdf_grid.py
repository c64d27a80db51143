"""The grid part of an export to NetCDF-4: CF coordinates, bounds and grid mapping, and the items block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdstudio.engine.model import Array, GridDomain, Item
from mdstudio.targets.netcdf_cf import PACKING, Names, attribute_variable
from mdstudio.targets.netcdf_frame import (
    BLOCK_BYTES,
    CHUNK_BYTES,
    Frame,
    Layers,
    coordinate,
    data_variable,
    put,
    ranges,
)

CHUNK_SIDE = 512  # cells of a chunk of a map


def write_grid_items(frame: Frame, domain: GridDomain, layers: Layers, items: Sequence[Item]) -> None:
    """The coordinates and every item."""
    place = write_grid(frame.file, frame.names, domain)
    for item in items:
        _write_item(frame, domain, place, layers, item)


@dataclass(frozen=True)
class Place:
    """Names of the dimensions of a grid, and what its data variables say of it."""

    y_dim: str
    x_dim: str
    attributes: dict[str, str]


_STANDARD = {
    "regular": ("longitude", "latitude", "degrees_east", "degrees_north"),
    "projected": ("projection_x_coordinate", "projection_y_coordinate", "", ""),
    "rotated": ("grid_longitude", "grid_latitude", "degrees", "degrees"),
}


def write_grid(file: Any, names: Names, domain: GridDomain) -> Place:
    own = domain.coordinate_attributes
    plane = _plane_names(domain)
    flat = domain.kind != "curvilinear"
    y_dim, x_dim = (names.take(name if flat or name not in plane else other)
                    for name, other in ((domain.y_name, "y"), (domain.x_name, "x")))
    file.createDimension(y_dim, domain.rows)
    file.createDimension(x_dim, domain.columns)
    for axis, (name, dim, values, bounds, unit, own_name) in enumerate([
            ("x", x_dim, domain.x, domain.x_bounds, domain.x_unit, domain.x_name),
            ("y", y_dim, domain.y, domain.y_bounds, domain.y_unit, domain.y_name)]):
        if not flat or (own_name not in own and values.dtype == np.int32
                        and np.array_equal(values, np.arange(values.size))):
            continue  # row and column numbers that stood in for coordinates
        standard, units = _STANDARD[domain.kind][axis], unit or _STANDARD[domain.kind][axis + 2]
        told = own.get(own_name) or {"standard_name": standard, "axis": name.upper()} | ({"units": units} if units
                                                                                         else {})
        _with_bounds(file, names, dim, (dim,), values, bounds, told)
    attributes = {}
    if domain.longitude is not None and domain.latitude is not None:
        found = []
        for name, values, corners, unit in ((plane[1], domain.latitude, domain.corner_latitude, "north"),
                                            (plane[0], domain.longitude, domain.corner_longitude, "east")):
            found.append(names.take(name))
            told = own.get(name) or {"units": f"degrees_{unit}",
                                     "standard_name": "latitude" if unit == "north" else "longitude"}
            _with_bounds(file, names, found[-1], (y_dim, x_dim), values, corners, told)
        attributes["coordinates"] = " ".join(found)
    mapping = dict(domain.grid_mapping) or _mapping_of(domain)
    if mapping:
        attributes["grid_mapping"] = names.take("crs")
        attribute_variable(file, attributes["grid_mapping"], mapping, PACKING)
    return Place(y_dim, x_dim, attributes)


def _plane_names(domain: GridDomain) -> tuple[str, str]:
    """Names of the 2-D longitude and latitude: those of the source, which lists them after its axes."""
    if domain.longitude is None:
        return "", ""
    others = [name for name in domain.coordinate_attributes
              if domain.kind == "curvilinear" or name not in (domain.x_name, domain.y_name)]
    return (others[-2], others[-1]) if len(others) >= 2 else ("longitude", "latitude")


def _mapping_of(domain: GridDomain) -> dict[str, Any]:
    """A grid mapping for a coordinate system that came without one."""
    if domain.kind in ("regular", "curvilinear") or not domain.crs:
        return {}
    import pyproj

    return {"crs_wkt": pyproj.CRS.from_user_input(domain.crs).to_wkt()}


def _with_bounds(file: Any, names: Names, name: str, dims: tuple[str, ...], values: Array, bounds: Array | None,
                 attributes: Any) -> None:
    """A coordinate, and the bounds of its cells where there are any."""
    if bounds is None:
        coordinate(file, name, dims, values, attributes)
        return
    corner = "bnds" if bounds.shape[-1] == 2 else "vertices"
    if corner not in file.dimensions:
        file.createDimension(corner, bounds.shape[-1])
    wanted = attributes.get("bounds")
    bounds_name = names.take(wanted if isinstance(wanted, str) and wanted else f"{name}_bnds")
    coordinate(file, name, dims, values, attributes, bounds=bounds_name)
    coordinate(file, bounds_name, (*dims, corner), bounds, {})


def _write_item(frame: Frame, domain: GridDomain, place: Place, layers: Layers, item: Item) -> None:
    """One data variable, block by block."""
    cut = _Cut.of(frame, item, domain.rows, domain.columns)
    shape = (cut.chunk_times, cut.chunk_rows, cut.chunk_columns)
    variable = data_variable(frame, layers, item, (place.y_dim, place.x_dim), shape, place.attributes)
    for layer in item.layer_ids():
        for times, rows, columns in cut.blocks():
            values = frame.read(item, times, layer, rows, columns)
            put(variable, frame, item, layer, times, (rows, columns), values)
            frame.progress.advance(values.nbytes)


@dataclass(frozen=True)
class _Cut:
    """How an item is taken out in blocks: no stored page is decoded twice as far as `BLOCK_BYTES` allow, and no chunk
    of the file is written twice.

    Attributes:
        start, stop: times of the dataset.
        group: timesteps that lie together; a block begins anew at each multiple of it from `origin` on.
        tile: a block of rows or columns begins anew at each multiple of it.
        block_*: the most of a block; chunk_*: of a chunk of the file.
    """

    start: int
    stop: int
    rows: int
    columns: int
    group: int
    origin: int
    tile: int
    block_rows: int
    block_columns: int
    chunk_times: int
    chunk_rows: int
    chunk_columns: int

    @classmethod
    def of(cls, frame: Frame, item: Item, rows: int, columns: int) -> _Cut:
        layout = frame.dataset.layout(item.name)
        tile, size = layout.tiles.width, item.cell_type.itemsize
        if layout.stored_as == "TimeSeries":
            times = min(layout.group_size, frame.count)
            cells = max(1, BLOCK_BYTES // (times * size))
            block_columns = min(tile, columns, cells)
            block_rows = min(tile, rows, max(1, cells // block_columns))
            chunk = max(1, CHUNK_BYTES // (times * size))
            chunk_columns = min(block_columns, chunk)
            return cls(frame.start, frame.stop, rows, columns, layout.group_size, 0, tile, block_rows, block_columns,
                       times, min(block_rows, max(1, chunk // chunk_columns)), chunk_columns)
        side = tile * (CHUNK_SIDE // tile) if tile <= CHUNK_SIDE else CHUNK_SIDE
        chunk_rows, chunk_columns = min(rows, side), min(columns, side)
        times = min(frame.count, max(1, CHUNK_BYTES // (chunk_rows * chunk_columns * size)))
        band = max(tile, side)
        most = max(1, BLOCK_BYTES // (times * size))  # cells of a block
        block_columns = columns if band * columns <= most else band * max(1, most // (band * band))
        block_rows = band * max(1, most // (band * block_columns))
        return cls(frame.start, frame.stop, rows, columns, times, frame.start, max(rows, columns), block_rows,
                   block_columns, times, chunk_rows, chunk_columns)

    def blocks(self) -> Iterator[tuple[slice, slice, slice]]:
        """(times, rows, columns) of each block; times outside."""
        for times in ranges(self.start, self.stop, self.group, self.group, self.origin):
            for rows in ranges(0, self.rows, self.tile, self.block_rows):
                for columns in ranges(0, self.columns, self.tile, self.block_columns):
                    yield times, rows, columns
