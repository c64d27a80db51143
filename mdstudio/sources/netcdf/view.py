"""A file as plain data: variables with dimensions that are unique over groups, attributes, and who names whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import Array
from mdstudio.sources.netcdf.attributes import names_in, number, text
from mdstudio.sources.netcdf.hdf5 import filters_missing
from mdstudio.sources.netcdf.opening import NOT_UTF_8, plain


@dataclass(frozen=True)
class Variable:
    """One variable.

    `dims` are names unique in the file: `time`, `group/time`. `kind` is "" for numbers, else what it is ("text",
    "compound", ...), "unreadable" where `failure` says why. `nc` is usable while the file is open.
    """

    path: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    attributes: Mapping[str, Any]
    kind: str
    nc: Any = field(repr=False, compare=False)
    failure: str = ""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def group(self) -> str:
        return self.path.rpartition("/")[0]

    def raw(self, index: Any = ...) -> Array:
        """Stored values, native byte order; `SourceError`'s reason as `ValueError`."""
        try:
            return native(np.asarray(self.nc[index]))
        except (RuntimeError, OSError, IndexError) as error:
            raise ValueError(f"'{self.path}' cannot be read: {plain(error)}") from None

    def decoded(self, index: Any = ..., parent: Mapping[str, Any] | None = None) -> Array:
        """Coordinate values: the stored ones where they are not packed, else float64 with scale and offset applied and
        fills as NaN. Bounds take what they lack from `parent`'s attributes (CF 7.1)."""
        attributes = {**(parent or {}), **self.attributes}
        values = self.raw(index)
        if text(attributes, "_Unsigned").lower() == "true" and values.dtype.kind == "i":
            values = values.view(values.dtype.str.replace("i", "u"))
        fills = [number(attributes, name) for name in ("_FillValue", "missing_value")]
        scale, offset = number(attributes, "scale_factor"), number(attributes, "add_offset")
        if parent is not None and self.dtype.kind == "f":
            scale = offset = None
        blank = np.zeros(values.shape, bool)
        for fill in fills:
            if fill is not None and fill == fill:
                blank |= values == fill.astype(values.dtype)
        if scale is not None or offset is not None:
            values = values.astype(np.float64) * np.float64(1 if scale is None else scale) + np.float64(offset or 0)
        if blank.any():
            values = values if values.dtype.kind == "f" else values.astype(np.float64)
            values[blank] = np.nan
        return values


def native(values: Array) -> Array:
    """The same values in native byte order (which is little-endian wherever this runs)."""
    return values.astype(values.dtype.newbyteorder("="), copy=False) if values.dtype.kind in "iuf" else values


@dataclass(frozen=True)
class FileView:
    """All of a file's variables by path, in file order, and its global attributes. Names are resolved as CF does: in
    the variable's own group, then upwards."""

    path: str
    format: str
    variables: Mapping[str, Variable]
    sizes: Mapping[str, int]
    attributes: Mapping[str, Any]

    def find(self, name: str, group: str) -> Variable | None:
        """The variable that `name` means when it is written in `group`, or None."""
        if name.startswith("/"):
            return self.variables.get(name.strip("/"))
        while True:
            found = self.variables.get(f"{group}/{name}" if group else name)
            if found is not None or not group:
                return found
            group = group.rpartition("/")[0]

    def listed(self, variable: Variable, *attributes: str) -> Iterator[Variable]:
        """The variables that an attribute such as `coordinates` names and that are there."""
        for attribute in attributes:
            for name in names_in(variable.attributes, attribute):
                found = self.find(name, variable.group)
                if found is not None:
                    yield found

    def coordinate(self, dim: str) -> Variable | None:
        """The coordinate variable of a dimension: of the same name, over this dimension alone."""
        found = self.variables.get(dim)
        return found if found is not None and found.dims == (dim,) else None

    def over(self, *dims: str) -> list[Variable]:
        """The variables over exactly these dimensions, in any order."""
        wanted = set(dims)
        return [v for v in self.variables.values() if len(v.dims) == len(dims) and set(v.dims) == wanted]

    @cached_property
    def helpers(self) -> frozenset[str]:
        """Paths of variables that only describe others: bounds, grid mappings."""
        found: set[str] = set()
        for variable in self.variables.values():
            found.update(v.path for v in self.listed(variable, "bounds", "climatology"))
            found.update(v.path for v in self.grid_mappings(variable))
        return frozenset(found)

    def grid_mappings(self, variable: Variable) -> list[Variable]:
        """The grid mapping variables that a variable names (also in the form `crs: x y`)."""
        names = [n.rstrip(":") for n in names_in(variable.attributes, "grid_mapping")]
        found = (self.find(name, variable.group) for name in names)
        return [v for v in found if v is not None and v.attributes and "axis" not in v.attributes
                and (text(v.attributes, "grid_mapping_name", "crs_wkt", "spatial_ref", "proj4", "epsg_code") != "")]


def view_file(path: str, dataset: Any) -> FileView:
    """Walk all groups; reads no values. Raises `SourceError` where the file is damaged."""
    variables: dict[str, Variable] = {}
    sizes: dict[str, int] = {}
    try:
        _walk(dataset, "", variables, sizes)
        if str(dataset.data_model).startswith("NETCDF4"):
            for name, failure in filters_missing(path, dataset).items():
                variables[name] = replace(variables[name], kind="unreadable", failure=failure)
        return FileView(path, str(dataset.data_model), variables, sizes, _attributes(dataset))
    except UnicodeError:
        raise SourceError(NOT_UTF_8, where=path) from None
    except (RuntimeError, OSError, AttributeError, KeyError) as error:
        raise SourceError(f"The file is damaged: {plain(error)}.", where=path) from None


def _walk(group: Any, prefix: str, variables: dict[str, Variable], sizes: dict[str, int]) -> None:
    for name, dimension in group.dimensions.items():
        sizes[prefix + name] = len(dimension)
    for name, nc in group.variables.items():
        variables[prefix + name] = _variable(prefix + name, nc)
    for name, child in group.groups.items():
        _walk(child, f"{prefix}{name}/", variables, sizes)


def _variable(path: str, nc: Any) -> Variable:
    dims = tuple(f"{d.group().path.strip('/')}/{d.name}".strip("/") for d in nc.get_dims())
    failure = getattr(nc, "failure", "")  # of an array of a Zarr store
    kind, dtype = "unreadable" if failure else "", np.dtype("V1")
    type_name = type(nc.datatype).__name__
    if kind:
        pass
    elif nc.dtype is str:
        kind = "text"
    elif type_name in ("VLType", "CompoundType"):
        kind = {"VLType": "ragged", "CompoundType": "compound"}[type_name]
    else:
        dtype = np.dtype(nc.dtype).newbyteorder("=")
        kind = "" if dtype.kind in "iuf" else {"S": "text", "U": "text", "c": "complex"}.get(dtype.kind, "other")
    return Variable(path, dims, tuple(int(n) for n in nc.shape), dtype, _attributes(nc), kind, nc, failure)


def _attributes(nc: Any) -> dict[str, Any]:
    found = {}
    for name in nc.ncattrs():
        try:
            found[name] = nc.getncattr(name)
        except (KeyError, RuntimeError, AttributeError, TypeError, UnicodeError):
            continue  # of a type that netCDF4 cannot read (references, ragged): nothing that describes values
    return found
