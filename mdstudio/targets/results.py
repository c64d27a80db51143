"""Results of queries as files: NumPy archives, CSV and NetCDF (keys of design 5a)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mdstudio.engine.model import Array, Item, MeshDomain
from mdstudio.engine.requests import AreaResult, LineResult, MapResult, SeriesResult
from mdstudio.targets.files import whole_file
from mdstudio.targets.map_netcdf import write_map_netcdf

if TYPE_CHECKING:
    from mdstudio.engine.dataset import Dataset


def write_map(path: str, ending: str, result: MapResult, dataset: Dataset) -> None:
    """`.npz`: stored, values, x, y, mask; of a mesh `numbers` too. `.csv`: x, y and "value (unit)", a line a cell;
    an element or node of a mesh with its number before them, a vector with a column a component. `.nc`: CF or UGRID,
    as stored.

    Elements and nodes of a mesh are numbered as in its source, from 0.
    """
    with whole_file(Path(path)) as part:
        if ending == ".npz":
            with part.open("wb") as file:
                arrays = {"stored": result.stored, "values": result.values, "x": result.x, "y": result.y,
                          "mask": result.mask} | _numbers(result, dataset)
                np.savez_compressed(file, **cast(Any, arrays))
        elif ending == ".csv":
            _map_csv(part, result, _numbers(result, dataset))
        else:
            write_map_netcdf(part, result, dataset)


def write_series(path: str, ending: str, result: SeriesResult, dataset: Dataset) -> None:
    """`.npz`: time, values, stored, cells. `.csv`: time, then a column a point named "x y (unit)"; empty
    for no data."""
    with whole_file(Path(path)) as part:
        if ending == ".npz":
            with part.open("wb") as file:
                np.savez_compressed(file, time=np.array(result.times.texts()), values=result.values,
                                    stored=result.stored, cells=in_source(dataset, result.item, result.cells))
            return
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["time", *(name for x, y in result.request.points
                                       for name in _components(f"{x!r} {y!r}", result.item))])
            flat = result.values.reshape(len(result.times), -1)
            for time, row in zip(result.times.texts(), flat.tolist(), strict=True):
                writer.writerow([time, *map(_cell, row)])


def write_area(path: str, ending: str, result: AreaResult) -> None:
    """`.npz`: time and the statistics by their names. `.csv`: a line a time; of a vector a column a component."""
    names = ("count", "minimum", "maximum", "mean", "area_mean", "deviation", "total")
    columns = {name: getattr(result, name) for name in names}
    with whole_file(Path(path)) as part:
        if ending == ".npz":
            with part.open("wb") as file:
                np.savez_compressed(file, time=np.array(result.times.texts()), **cast(Any, columns))
            return
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["time", *(head for name in names for head in _components(name, result.item))])
            flat = np.concatenate([v.reshape(len(result.times), -1) for v in columns.values()], axis=1)
            for time, row in zip(result.times.texts(), flat.tolist(), strict=True):
                writer.writerow([time, *map(_cell, row)])


def write_line(path: str, ending: str, result: LineResult, dataset: Dataset) -> None:
    """`.npz`: time, layers, edges, x, y, cells, values, stored. `.csv`: a line a time, layer and stretch: where it
    begins and ends, its middle, the value; empty for no data."""
    item = result.item
    with whole_file(Path(path)) as part:
        if ending == ".npz":
            with part.open("wb") as file:
                np.savez_compressed(file, time=np.array(result.times.texts()), layers=result.layers, edges=result.edges,
                                    x=result.x, y=result.y, cells=in_source(dataset, item, result.cells),
                                    values=result.values, stored=result.stored)
            return
        heights = [item.layers.values[at] if item.layers else "" for at in result.layers.tolist()]
        unit = f" ({result.unit})" if result.unit else ""
        values = result.values.reshape(*result.values.shape[:3], item.components)
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["time", "layer", f"from{unit}", f"to{unit}", "x", "y", *_components("value", item)])
            places = list(zip(result.edges[:-1].tolist(), result.edges[1:].tolist(), result.x.tolist(),
                              result.y.tolist(), strict=True))
            for time, layers in zip(result.times.texts(), values, strict=True):
                for height, along in zip(heights, layers.tolist(), strict=True):
                    writer.writerows((time, height, *place, *map(_cell, value))
                                     for place, value in zip(places, along, strict=True))


def _numbers(result: MapResult, dataset: Dataset) -> dict[str, Array]:
    """`numbers` of the elements or nodes of a mesh in its source; nothing for a grid."""
    return {"numbers": in_source(dataset, result.item, result.rows)} if dataset.metadata.kind == "mesh" else {}


def in_source(dataset: Dataset, item: Item, cells: Array) -> Array:
    """Stored numbers of elements or nodes as their numbers in the source, -1 as itself; rows and columns of a grid as
    they are."""
    domain = dataset.domain
    if not isinstance(domain, MeshDomain):
        return cells
    of_source = domain.node_number if item.location == "node" else domain.element_number
    return np.where(cells < 0, -1, of_source[cells])


def _map_csv(path: Path, result: MapResult, numbers: Mapping[str, Array]) -> None:
    item, mask = result.item, result.mask
    x, y = result.x, result.y
    if x.shape != mask.shape:
        x, y = np.broadcast_to(x, mask.shape), np.broadcast_to(y[:, None], mask.shape)
    places = [np.atleast_2d(part) for part in (*numbers.values(), x, y)]
    rows = np.atleast_2d(mask)
    values = result.values.reshape(*rows.shape, item.components)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*(["node" if item.location == "node" else "element"] if numbers else []), "x", "y",
                         *_components("value", item)])
        for row, at in enumerate(rows):
            told = zip(*(part[row][at].tolist() for part in places), values[row][at].tolist(), strict=True)
            writer.writerows((*place, *map(_cell, cell)) for *place, cell in told)


def _components(name: str, item: Item) -> list[str]:
    """The name of a column, or those of the components of a vector; with the unit where the item has one."""
    unit = f" ({item.unit})" if item.unit else ""
    names = [name] if item.components == 1 else [f"{name} [{i}]" for i in range(item.components)]
    return [name + unit for name in names]


def _cell(value: float) -> str:
    return "" if value != value else repr(value)
