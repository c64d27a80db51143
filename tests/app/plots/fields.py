"""Grids and finished reads that the plot tests show; the numbers are known cell by cell."""

from __future__ import annotations

import numpy as np

from mdstudio.app.plots.picture import Colouring, MapPicture, make_picture
from mdstudio.app.plots.raster import grid_raster
from mdstudio.engine.model import Array, GridDomain, Item
from mdstudio.engine.requests import Explain, MapRequest, MapResult, PageRef
from mdstudio.engine.spatial.grid import GridGeometry

CORNERS = {"north-west": 10.0, "north-east": 20.0, "south-west": 30.0, "south-east": 40.0}


def regular(x: Array, y: Array) -> GridDomain:
    return GridDomain("regular", np.asarray(x, np.float64), np.asarray(y, np.float64), crs="EPSG:4326")


def curvilinear(longitude: Array, latitude: Array) -> GridDomain:
    rows, columns = longitude.shape
    return GridDomain("curvilinear", np.arange(columns), np.arange(rows), longitude=longitude, latitude=latitude)


def turned_grid(rows: int = 30, columns: int = 40, degrees: float = 30.0) -> GridDomain:
    """A curvilinear grid turned about its middle."""
    u, v = np.meshgrid(np.arange(columns) - columns / 2, np.arange(rows) - rows / 2)
    angle = np.radians(degrees)
    return curvilinear(10 + 0.2 * (u * np.cos(angle) - v * np.sin(angle)),
                       50 + 0.2 * (u * np.sin(angle) + v * np.cos(angle)))


def corner_marked(domain: GridDomain) -> Array:
    """0 everywhere but in the four corners, by where they lie on earth whatever the stored order."""
    values = np.zeros((domain.rows, domain.columns))
    north = int(np.argmax(domain.y))
    east = int(np.argmax(domain.x))
    south, west = domain.rows - 1 - north, domain.columns - 1 - east
    values[north, west], values[north, east] = CORNERS["north-west"], CORNERS["north-east"]
    values[south, west], values[south, east] = CORNERS["south-west"], CORNERS["south-east"]
    return values


def result_of(domain: GridDomain, values: Array, tile: int = 8, unit: str = "K") -> MapResult:
    """A whole-slice read of a grid in square tiles."""
    rows, columns = domain.rows, domain.columns
    values = np.asarray(values, np.float64)
    pages = tuple(
        PageRef("blob", number, 100 * number, 100, (row, min(row + tile, rows)), (column, min(column + tile, columns)))
        for number, (row, column) in enumerate(
            (row, column) for row in range(0, rows, tile) for column in range(0, columns, tile)))
    plane = domain.kind == "curvilinear"
    return MapResult(
        MapRequest("t"), Item("t", "float64", unit), np.arange(rows), np.arange(columns), values, values,
        np.ones(values.shape, bool), domain.longitude if plane else domain.x, domain.latitude if plane else domain.y,
        Explain(len(pages), len(pages), 2, 4096, 3000, 1000, pages))


def picture_of(domain: GridDomain, values: Array, colouring: Colouring | None = None, tile: int = 8) -> MapPicture:
    return make_picture(result_of(domain, values, tile), grid_raster(GridGeometry(domain)), colouring or Colouring())
