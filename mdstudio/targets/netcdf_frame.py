"""The NetCDF file of an export in the making: layers, coordinates and data variables, for grids and meshes alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mdstudio.engine.model import Array, Item, LayerAxis
from mdstudio.engine.progress import Progress
from mdstudio.targets.netcdf_cf import NAMING, PACKING, Names, fill_value, packing_attributes, set_attributes

if TYPE_CHECKING:
    from mdstudio.engine.dataset import Dataset

BLOCK_BYTES = 64 << 20  # values that are read and written together
CHUNK_BYTES = 1 << 20  # of a chunk of the file, about


@dataclass(frozen=True)
class Frame:
    """The file in the making, and what its data variables share.

    Attributes:
        start, stop: times of the dataset.
        time_dim: name of the time dimension; "" for data without times.
    """

    file: Any
    dataset: Dataset
    names: Names
    start: int
    stop: int
    time_dim: str
    progress: Progress

    @property
    def count(self) -> int:
        return self.stop - self.start

    def read(self, item: Item, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        """Stored values of a part of the dataset, as `Dataset.block`."""
        return self.dataset.block(item.name, times, layer, rows, columns, Unseen(self.progress))


class Unseen(Progress):
    """What a read within an export is given: it shows nothing, and a cancel of the export reaches it."""

    def __init__(self, outer: Progress) -> None:
        super().__init__()
        self._outer = outer

    def check(self) -> None:
        self._outer.check()


class Layers:
    """The layer dimensions of a file: one for each layer axis, however many items have it."""

    def __init__(self, file: Any, names: Names) -> None:
        self._file, self._names = file, names
        self._made: list[tuple[LayerAxis, str, tuple[str, ...]]] = []

    def dimension(self, axis: LayerAxis) -> tuple[str, tuple[str, ...]]:
        """Name of the dimension of an axis, and of its auxiliary coordinates."""
        for made, name, auxiliary in self._made:
            if made == axis:
                return name, auxiliary
        name = self._names.take(axis.name, "layer")
        self._file.createDimension(name, len(axis))
        attributes = dict(axis.attributes)
        others = attributes.pop("auxiliary", {})
        numbers = np.array(axis.values)
        if attributes or axis.unit or not np.array_equal(numbers, np.arange(len(axis))):  # more than bare numbers
            told = {"units": axis.unit, "positive": axis.positive}
            coordinate(self._file, name, (name,), numbers.astype(axis.dtype),
                       {key: text for key, text in told.items() if text} | attributes)
        auxiliary = tuple(self._names.take(str(other)) for other in others)
        for other, entry in zip(auxiliary, others.values(), strict=True):
            coordinate(self._file, other, (name,), np.asarray(entry["values"]), entry.get("attributes", {}))
        self._made.append((axis, name, auxiliary))
        return name, auxiliary


def coordinate(file: Any, name: str, dims: tuple[str, ...], values: Array, attributes: Any, **more: str) -> None:
    """A coordinate as it was; its own packing was undone when it was imported."""
    variable = file.createVariable(name, values.dtype.newbyteorder("="), dims, fill_value=False,
                                   zlib=values.ndim > 1, complevel=4)
    variable.set_auto_maskandscale(False)
    set_attributes(variable, attributes, NAMING | PACKING)
    set_attributes(variable, more)
    variable[...] = values


def data_variable(frame: Frame, layers: Layers, item: Item, dims: tuple[str, ...], chunk: tuple[int, ...],
                  attributes: dict[str, str]) -> Any:
    """The empty variable of an item over (time, layer, *dims, component), `chunk` being that of time and `dims`."""
    file = frame.file
    name = frame.names.take(item.name)
    before, sizes = ([frame.time_dim], [chunk[0]]) if frame.time_dim else ([], [])
    auxiliary: tuple[str, ...] = ()
    if item.layers:
        layer_dim, auxiliary = layers.dimension(item.layers)
        before, sizes = [*before, layer_dim], [*sizes, 1]
    after: tuple[str, ...] = ()
    if item.components > 1:
        after = (frame.names.take(f"{name}_component"),)
        file.createDimension(after[0], item.components)
    sizes = [*sizes, *chunk[1:], *([item.components] if after else [])]
    fill = fill_value(item)
    variable = file.createVariable(
        name, item.numpy.newbyteorder("="), (*before, *dims, *after), zlib=True, complevel=4, shuffle=True,
        chunksizes=sizes or None, fill_value=False if fill is None else fill)
    variable.set_auto_maskandscale(False)
    told = {key: text for key, text in (("units", item.unit), ("long_name", item.long_name),
                                        ("standard_name", item.standard_name)) if text}
    set_attributes(variable, dict(item.attributes) | told, NAMING | PACKING)
    set_attributes(variable, packing_attributes(item))
    coordinates = " ".join(part for part in (attributes.get("coordinates", ""), *auxiliary) if part)
    set_attributes(variable, attributes | ({"coordinates": coordinates} if coordinates else {}))
    return variable


def put(variable: Any, frame: Frame, item: Item, layer: int, times: slice, where: tuple[slice, ...],
        values: Array) -> None:
    """Write values of (time, *where) of one layer."""
    at: list[Any] = [slice(times.start - frame.start, times.stop - frame.start)] if frame.time_dim else []
    variable[(*at, *([max(layer, 0)] if item.layers else []), *where)] = values if frame.time_dim else values[0]


def ranges(start: int, stop: int, unit: int, most: int, origin: int = 0) -> Iterator[slice]:
    """Ranges of at most `most`, cut at each multiple of `unit` from `origin` on."""
    at = start
    while at < stop:
        end = min(stop, at + most, at + unit - (at - origin) % unit)
        yield slice(at, end)
        at = end
