"""What a DHI file holds, from its header: a `Description`, and where each item's values are found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdstudio.engine.errors import SourceError, UnsupportedError
from mdstudio.engine.model import Array, Description, Domain, Dropped, GridDomain, Item, LayerAxis
from mdstudio.engine.times import TimeAxis
from mdstudio.sources.dfs.library import BINARY, MESH, reading
from mdstudio.sources.dfs.mesh import MeshPlace, dfsu_mesh, file_mesh
from mdstudio.sources.dfs.projections import Place, grid_domain, place_of
from mdstudio.sources.dfs.times import time_axis

_TYPES = {1: "float32", 2: "float64", 3: "int8", 4: "int32", 5: "uint32", 6: "int16", 7: "uint16"}  # DfsSimpleType
_DELETE = {1: "DeleteValueFloat", 2: "DeleteValueDouble", 3: "DeleteValueByte", 4: "DeleteValueInt",
           5: "DeleteValueUnsignedInt"}
_LAYER_POSITIONS = "where the layers lie at each time: 3-D nodes are not stored"
_POINT = "one place: stored as a grid of one cell"


@dataclass(frozen=True, slots=True)
class Binding:
    """Where the values of an item are: its number in the file (from 1), its delete value there, the stored type."""

    number: int
    delete: float | int | None
    target: np.dtype[Any]


@dataclass(frozen=True)
class Described:
    """A file that was described.

    Attributes:
        shape: of one step of an item in the file: (rows, columns), (layers, rows, columns), or (1, n) of a mesh.
        delete_float: the file's delete value of float32.
        constant: the values themselves where they were read with the mesh.
    """

    description: Description
    bindings: Mapping[str, Binding]
    shape: tuple[int, ...]
    delete_float: float = 0.0
    constant: Array | None = None


@dataclass(frozen=True)
class _Layout:
    """The domain of a file, the shape of a step, and what its items share."""

    domain: Domain
    shape: tuple[int, ...]
    notes: tuple[Dropped, ...] = ()
    layers: LayerAxis | None = None
    sigma: bool = False


def describe_file(file: Any, path: str, double_as_float: bool) -> Described:
    """Of an open dfs file of any kind. Cost: its header and static items; of uneven times one item of every step.

    Raises `SourceError` and `UnsupportedError` with the reason.
    """
    with reading(path, "The header"):
        infos = list(file.ItemInfo)
        mesh = any(block.Name == "MIKE_FM" for block in file.FileInfo.CustomBlocks)
        static = [] if mesh else _static_items(file)
    if not infos:
        raise SourceError("The file has no items.", where=path)
    layout = _mesh_layout(dfsu_mesh(file, path)) if mesh else _grid_layout(file, infos[0].SpatialAxis, path)
    times, notes = time_axis(file, path)
    count = int(np.prod(layout.shape))
    items: list[Item] = []
    bindings: dict[str, Binding] = {}
    dropped = [*layout.notes, *notes, *(Dropped(name, "the same at all times: not stored") for name in static)]
    for number, info in enumerate(infos, 1):
        if int(info.ElementCount) != count:
            reason = _LAYER_POSITIONS if layout.sigma and number == 1 else (
                f"has {info.ElementCount} values a time where the others have {count}")
            dropped.append(Dropped(str(info.Name), reason))
            continue
        item, binding = _item(info, number, file.FileInfo, layout, double_as_float, {i.name for i in items})
        items.append(item)
        bindings[item.name] = binding
    description = _description(path, layout.domain, times, items, dropped, str(file.FileInfo.FileTitle or ""))
    return Described(description, bindings, layout.shape, float(file.FileInfo.DeleteValueFloat))


def describe_mesh(path: str, double_as_float: bool) -> Described:
    """Of a .mesh file: the mesh, and the level of its nodes as the one item. Cost: the whole text."""
    place, mesh = file_mesh(path)
    dtype = np.dtype("<f4" if double_as_float else "<f8")
    quantity = mesh.EumQuantity
    item = Item("Bathymetry", str(dtype), unit=_unit(quantity), location="node", attributes=_quantity(quantity),
                long_name="Level of the nodes")
    description = _description(path, place.domain, TimeAxis.none(), [item], list(_notes(place.note)), "")
    levels = np.asarray(mesh.Z, "<f8")
    return Described(description, {item.name: Binding(1, None, dtype)}, (1, levels.size), constant=levels)


def _description(path: str, domain: Domain, times: TimeAxis, items: list[Item], dropped: list[Dropped], title: str
                 ) -> Description:
    import os

    extension = os.path.splitext(path)[1].lower()
    kind = extension.lstrip(".") if extension in (*BINARY, MESH) else "dfs"
    return Description(domain, times, tuple(items), source=({"file": os.path.basename(path), "format": kind},),
                       attributes={"title": title} if title else {}, dropped=tuple(dropped))


def _item(info: Any, number: int, header: Any, layout: _Layout, double_as_float: bool, taken: set[str]
          ) -> tuple[Item, Binding]:
    from mikecore.DfsFile import DataValueType

    kind = int(info.DataType)
    dtype = _TYPES[kind]
    delete = getattr(header, _DELETE[kind]) if kind in _DELETE else None
    stored, no_data = dtype, delete
    if dtype == "float64" and double_as_float:
        stored, no_data = "float32", header.DeleteValueFloat
    name = str(info.Name).strip() or f"item {number}"
    if name in taken:  # the format allows it
        name = f"{name} ({number})"
    attributes = {**_quantity(info.Quantity), "dhi_value_type": DataValueType(int(info.ValueType)).name}
    places = [float(getattr(info, f"ReferenceCoordinate{axis}", np.nan)) for axis in "XYZ"]
    if not isinstance(layout.domain, GridDomain) or layout.domain.cells > 1:
        places = []
    attributes |= {f"dhi_{axis}": value for axis, value in zip("xyz", places, strict=False) if _known(value, header)}
    item = Item(name, stored, unit=_unit(info.Quantity), long_name=str(info.Quantity.ItemDescription), no_data=no_data,
                layers=layout.layers, value_kind="sigma" if layout.sigma else "single", attributes=attributes)
    return item, Binding(number, delete, np.dtype(stored).newbyteorder("<"))


def _known(value: float, header: Any) -> bool:
    return bool(np.isfinite(value)) and np.float32(value) != np.float32(header.DeleteValueFloat) and abs(value) > 1e-29


def _quantity(quantity: Any) -> dict[str, Any]:
    return {"eum_type": int(quantity.ItemInt), "eum_unit": int(quantity.UnitInt)}


def _unit(quantity: Any) -> str:
    """The short form of DHI's unit as the rest of the field writes it; its number stays in the attributes."""
    from mikecore.eum import eumWrapper

    short = str(eumWrapper.eumGetUnitAbbreviation(quantity.Unit))
    return {"()": "", "-": "", "sec": "s", "deg C": "degC", "deg K": "K", "deg": "degree"}.get(short, short)


def _notes(note: str) -> tuple[Dropped, ...]:
    return (Dropped("projection", note),) if note else ()


def _static_items(file: Any) -> list[str]:
    names = []
    while (static := file.ReadStaticItemNext()) is not None:
        names.append(str(static.Name))
    return names


def _mesh_layout(place: MeshPlace) -> _Layout:
    domain = place.domain
    count = domain.element3d_count or domain.elements
    layers = LayerAxis("sigma", tuple(map(float, range(place.layers))), meaning="sigma") if domain.sigma else None
    return _Layout(domain, (1, count), _notes(place.note), layers, domain.sigma)


def _grid_layout(file: Any, axis: Any, path: str) -> _Layout:
    """Of dfs0, dfs1, dfs2 and dfs3 by the spatial axis of the first item."""
    from mikecore.DfsFile import SpaceAxisType

    projection = file.FileInfo.Projection
    place = place_of(str(projection.WKTString or ""), (float(projection.Longitude), float(projection.Latitude)),
                     float(projection.Orientation))
    kind = SpaceAxisType(int(axis.AxisType)).name
    if kind in ("EqD0", "Undefined"):
        domain = GridDomain("projected", np.zeros(1), np.zeros(1))
        return _Layout(domain, (1, 1), (Dropped("place", _POINT),))
    if kind in ("EqD1", "NeqD1"):
        return _line(axis, kind, place)
    if kind not in ("EqD2", "EqD3"):
        raise UnsupportedError(f"The spatial axis of this file is '{kind}'; read are points, lines and grids of even "
                               "steps.", where=path)
    columns, rows = (int(axis.XCount), float(axis.Dx)), (int(axis.YCount), float(axis.Dy))
    domain = grid_domain(place, columns, rows, path)
    if kind == "EqD2":
        return _Layout(domain, (domain.rows, domain.columns), _notes(place.note))
    heights = float(axis.Z0) + float(axis.Dz) * np.arange(int(axis.ZCount))
    layers = LayerAxis("z", tuple(heights.tolist()), "m", "up", "height")
    return _Layout(domain, (len(layers), domain.rows, domain.columns), _notes(place.note), layers)


def _line(axis: Any, kind: str, place: Place) -> _Layout:
    """A dfs1: one row; x is the distance along the line, whose origin and direction stay in the attributes."""
    from mikecore.eum import eumWrapper

    if kind == "EqD1":
        x = float(axis.X0) + float(axis.Dx) * np.arange(int(axis.XCount))
    else:
        x = np.array([float(c[0]) if np.ndim(c) else float(c) for c in axis.Coordinates], np.float64)
    unit = str(eumWrapper.eumGetUnitAbbreviation(axis.AxisUnit))
    mapping = {"dhi_projection": place.text, "dhi_longitude": place.origin[0], "dhi_latitude": place.origin[1],
               "dhi_orientation": place.orientation}
    note = Dropped("place", "a line: stored as one row, x is the distance along it")
    return _Layout(GridDomain("projected", x, np.zeros(1), x_name="distance", x_unit=unit, y_unit=unit,
                              grid_mapping=mapping), (1, x.size), (note,))
