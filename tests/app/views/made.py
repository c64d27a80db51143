"""Small real datasets for the views: written by the engine, every number known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mdstudio.engine.model import Array, Description, GridDomain, Item, LayerAxis
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import choose_settings
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.times import TimeAxis, parse_time
from mdstudio.engine.writer import create_dataset

ROWS, COLUMNS, TIMES, LAYERS = 40, 60, 5, 3
X, Y = np.arange(COLUMNS) * 0.5 - 10.0, 60.0 - np.arange(ROWS) * 0.5  # north first


class Reader:
    """Slices of arrays {item: (time, layer, row, column)}."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self.arrays = arrays

    def read(self, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        return self.arrays[item][times, max(layer, 0), rows, columns]


def arrays() -> dict[str, Array]:
    """`t` float32 with a corner of NaN, `depth` int16 with layers and one hot cell."""
    rng = np.random.default_rng(7)
    t = rng.normal(280, 5, (TIMES, 1, ROWS, COLUMNS)).astype(np.float32)
    t[:, :, :16, :16] = np.nan
    depth = rng.integers(-500, 500, (TIMES, LAYERS, ROWS, COLUMNS)).astype(np.int16)
    depth[2, 1, 30, 50] = 30_000
    return {"t": t, "depth": depth}


def make_dataset(folder: Path, name: str = "made", **parameters: Any) -> str:
    """Write the dataset; returns its location. `parameters` are writer parameters."""
    domain = GridDomain("regular", X, Y, crs="EPSG:4326", x_name="lon", y_name="lat", x_unit="degrees_east",
                        y_unit="degrees_north")
    items = (
        Item("t", "float32", "K", "Air temperature", no_data=float("nan"), attributes={"cell_methods": "time: mean"}),
        Item("depth", "int16", "m", "Depth", no_data=-32768, scale=0.1,
             layers=LayerAxis("level", (0.0, 10.0, 20.0), "m", "down", "depth")),
    )
    times = TimeAxis(parse_time("2095-02-28", "360_day") + np.arange(TIMES) * 86_400_000_000, "360_day")
    description = Description(domain, times, items, attributes={"title": "A test"},
                              source=({"file": "made.nc", "format": "NetCDF"},))
    settings = choose_settings(description, {"Compression": "ZstdAuto", "GridTileWidth": 16, **parameters}, {})
    location = folder / name
    create_dataset(FolderStorage(location), name, description, Reader(arrays()), settings, Progress(), {})
    return str(location)
