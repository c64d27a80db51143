"""What the golden datasets hold: domains, items and values by formula, without random numbers and without rounding.

`GOLDEN_KINDS` makes them as `made_datasets.Made`. The values are exact in every type, so that they are the same on
every machine for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from mdstudio.engine.model import Array, Description, Domain, GridDomain, Item, LayerAxis, MeshDomain, values_of
from mdstudio.engine.spatial.mesh_index import index_mesh
from mdstudio.engine.times import TimeAxis
from tests.engine.made_datasets import PER_STEP, Made

TIMES = 5
SECOND = 1_000_000
MOMENTS = np.array([0, 3600, 7200, 10_800, 86_400 * 60]) * SECOND + 1_548_050_400 * SECOND  # from 2019-01-21T06:00:00
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
NAN = float("nan")


def numbers(shape: Sequence[int], seed: int = 0) -> Array:
    """int64: slopes along every axis with a ripple, from -300 to 300 or so."""
    places = np.indices(tuple(shape), dtype=np.int64)
    slopes = (17, 29, 7, -3, 11)
    flat = sum(slope * place for slope, place in zip(slopes, places, strict=False))
    return np.asarray((flat + seed * 13) % 401 - 200 + (places[-1] * 37 + places[0]) % 5, np.int64)


def _values(item: Item, shape: Sequence[int], seed: int) -> Array:
    """(time, layer, row, column[, component]) with no-data: every seventh column, most of a page, the third time."""
    whole = numbers(shape, seed)
    if item.dtype.startswith("float"):
        values = (whole / np.float64(4)).astype(item.dtype)
    else:
        limits = np.iinfo(item.dtype)
        values = (whole % 120 if limits.min == 0 else whole // 2 % 100 - 50).astype(item.dtype)
    if item.no_data is not None:
        values[:, :, :, ::7] = item.no_data
        values[:, :, :4, 4:8] = item.no_data
        values[2:3] = item.no_data
    return values


def _made(domain: Domain, items: Sequence[Item], *, times: int = TIMES, calendar: str = "standard",
          static: bool = False, **more: Any) -> Made:
    values = {}
    for seed, item in enumerate(items):
        sides = (1, values_of(domain, item)) if isinstance(domain, MeshDomain) else (domain.rows, domain.columns)
        parts = (item.components,) if item.value_kind == "vector" else ()
        values[item.name] = _values(item, (times, item.layer_count, *sides, *parts), seed)
    axis = TimeAxis(np.zeros(1, np.int64) if static else MOMENTS[:times].copy(), calendar, static)
    return Made(Description(domain, axis, tuple(items)), values, **more)


def _layers(count: int, name: str = "depth") -> LayerAxis:
    return LayerAxis(name, tuple(float(i) for i in range(count)), "m")


# ------------------------------------------------------------------------------------------------------------- grids


def regular() -> GridDomain:
    """11 x 13 cells of half a degree from the north, across Greenwich, with bounds."""
    x, y = np.arange(-3, 3.5, 0.5), np.arange(55, 49.5, -0.5)
    return GridDomain("regular", x, y, "EPSG:4326", x_bounds=np.stack([x - 0.25, x + 0.25], axis=1),
                      y_bounds=np.stack([y + 0.25, y - 0.25], axis=1), x_name="lon", y_name="lat")


def curvilinear() -> GridDomain:
    """9 x 10 leaning cells with their corners."""
    row, column = np.mgrid[0:9, 0:10].astype(np.float64)
    around = ((-0.5, -0.5), (-0.5, 0.5), (0.5, 0.5), (0.5, -0.5))
    lon, lat = (lambda r, c: 3 + c / 2 + r / 4), (lambda r, c: 50 + r / 2 - c / 8)
    corners = [np.stack([f(row + dr, column + dc) for dr, dc in around], axis=2) for f in (lon, lat)]
    return GridDomain("curvilinear", np.arange(10.0), np.arange(9.0), longitude=lon(row, column),
                      latitude=lat(row, column), corner_longitude=corners[0], corner_latitude=corners[1])


def rotated() -> GridDomain:
    """9 x 7 cells with true coordinates beside."""
    row, column = np.mgrid[0:9, 0:7].astype(np.float32)
    return GridDomain("rotated", np.arange(7, dtype=np.float32), np.arange(9, dtype=np.float32),
                      longitude=column / 2 + row / 8, latitude=50 + row / 2,
                      grid_mapping={"grid_mapping_name": "rotated_latitude_longitude"})


def _every_type() -> Made:
    """An item of each type, with extremes, -0.0, infinities and NaN payloads."""
    items = [Item(name, name, no_data=[None, 100, -50, 65_535, None, 7, -50, 2**64 - 1, NAN, 1e30][number])
             for number, name in enumerate(DTYPES)]
    made = _made(rotated(), items, times=4, calendar="noleap")
    for name, array in made.values.items():
        if name.startswith("float"):
            bits = array.view(f"u{array.itemsize}")
            quiet = (0x7FC00123, 0xFF800001) if name == "float32" else (0x7FF8000000000123, 0xFFF0000000000001)
            array[1, 0, 8, :3] = -0.0, np.inf, -np.inf
            bits[1, 0, 8, 3:5] = quiet
            bits[3, 0, 0, 0] = 1  # the smallest denormal
        else:
            limits = np.iinfo(array.dtype)
            array[1, 0, 8, :2] = limits.min, limits.max
    return made


# ------------------------------------------------------------------------------------------------------------ meshes


def mesh_arrays(columns: int, rows: int) -> tuple[Array, Array, Array]:
    """(node x, node y, element nodes) in source order: leaning quads, every third cell two triangles, all scattered
    over the numbers; one node that no element has."""
    row, column = (a.ravel().astype(np.float64) for a in np.mgrid[0:rows + 1, 0:columns + 1])
    x, y = np.append(column + row / 4, -5.0), np.append(row - column / 8, -5.0)
    elements = []
    for r in range(rows):
        for c in range(columns):
            first = r * (columns + 1) + c
            corners = [first, first + 1, first + columns + 2, first + columns + 1]
            elements += [corners] if (r + c) % 3 else [[*corners[:3], -1], [corners[0], *corners[2:], -1]]
    nodes, shuffled = _scattered(x.size), _scattered(len(elements))
    place = np.empty(x.size + 1, np.int64)
    place[nodes], place[-1] = np.arange(x.size), -1
    return x[nodes], y[nodes], place[np.array(elements)][shuffled]


def _scattered(count: int) -> Array:
    """The numbers below `count`, each once, far from their neighbours."""
    step = next(k for k in range(count * 5 // 13 + 1, count + 2) if np.gcd(k, count) == 1)
    return np.arange(count) * step % count


def golden_mesh(columns: int = 8, rows: int = 6, *, sigma: bool = False, geographic: bool = False) -> MeshDomain:
    x, y, corners = mesh_arrays(columns, rows)
    if geographic:  # across the date line
        x = (x / 2 + 177 + 180) % 360 - 180
    counts = (np.arange(len(corners)) * 7 % 4).astype(np.int32) if sigma else None
    return index_mesh(x, y, corners, node_z=x / -2, node_code=(np.arange(x.size) % 3).astype(np.int32),
                      layer_counts=counts, geographic=geographic, attributes={"source": "made"})


def _node(name: str, dtype: str, layers: int = 0, **more: Any) -> Item:
    return Item(name, dtype, location="node", layers=_layers(layers) if layers else None, **more)


GOLDEN_KINDS: Mapping[str, Callable[[], Made]] = {
    "grid": lambda: _made(
        regular(), [Item("v", "int16", no_data=-99, scale=0.01, offset=273.15), Item("w", "float64")]),
    "grid-static": lambda: _made(regular(), [Item("v", "float32", no_data=NAN)], times=1, static=True),
    "grid-layered": lambda: _made(curvilinear(), [Item("v", "float32", no_data=NAN, layers=_layers(2))]),
    "grid-types": _every_type,
    "grid-vector": lambda: _made(
        rotated(), [Item("v", "float32", no_data=-1.5, value_kind="vector", components=2), Item("s", "int32")],
        compressed=()),
    "mesh": lambda: _made(golden_mesh(), [Item("v", "float64", no_data=-7.0), Item("w", "uint8")]),
    "mesh-layered": lambda: _made(golden_mesh(), [Item("v", "int16", no_data=-99, layers=_layers(2))]),
    "mesh-nodes": lambda: _made(golden_mesh(), [_node("v", "float32", no_data=NAN), Item("e", "int64")]),
    "mesh-vector": lambda: _made(
        golden_mesh(), [Item("v", "float32", no_data=-1.5, value_kind="vector", components=3),
                        _node("n", "int16", 2, value_kind="vector", components=2)], compressed=()),
    "mesh-zlevel": lambda: _made(
        golden_mesh(30, 28), [_node("v", "float32", 2, no_data=-7.0, value_kind="zlevel"),
                              _node("w", "int16", 2, value_kind="zlevel"), Item("e", "uint16")],
        times=4, compressed=PER_STEP, layouts=PER_STEP),
    "mesh-sigma": lambda: _made(
        golden_mesh(sigma=True, geographic=True),
        [Item("v", "float32", no_data=-7.0, value_kind="sigma", layers=_layers(3, "sigma")), Item("e", "int16")],
        compressed=()),
}


@cache
def golden_kind(name: str) -> Made:
    """The dataset of a kind in `GOLDEN_KINDS`."""
    return GOLDEN_KINDS[name]()
