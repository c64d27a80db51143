"""A store in the shape of a netCDF4 data set, as `sources.netcdf` reads it: groups, dimensions, variables."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mdstudio.engine.errors import SourceError
from mdstudio.sources.zarr.arrays import ZarrVariable, codecs_missing, open_array
from mdstudio.sources.zarr.attributes import plain_attributes
from mdstudio.sources.zarr.nodes import Node, find_nodes


@dataclass
class ZarrDimension:
    """A dimension of a group: arrays share it by name, as xarray and NCZarr mean it."""

    name: str
    size: int
    owner: ZarrGroup = field(repr=False)

    def __len__(self) -> int:
        return self.size

    def group(self) -> ZarrGroup:
        return self.owner


@dataclass
class ZarrGroup:
    """A group, with the part of netCDF4's interface that describing a file needs."""

    path: str
    data_model: str
    attributes: Mapping[str, Any]
    dimensions: dict[str, ZarrDimension] = field(default_factory=dict)
    variables: dict[str, ZarrVariable] = field(default_factory=dict)
    groups: dict[str, ZarrGroup] = field(default_factory=dict)
    parent: ZarrGroup | None = field(default=None, repr=False)
    store: Any = field(default=None, repr=False)

    def __getitem__(self, path: str) -> ZarrVariable:
        """The variable of a path below this group."""
        first, _, rest = path.partition("/")
        return self.groups[first][rest] if rest else self.variables[first]

    def ncattrs(self) -> list[str]:
        return list(self.attributes)

    def getncattr(self, name: str) -> Any:
        return self.attributes[name]

    def close(self) -> None:
        """Close the zip file, so that it can be moved or deleted on every platform."""
        if self.store is not None:
            self.store.close()
            self.store = None


def open_store(path: str) -> ZarrGroup:
    """A store as a data set; its documents are read, no chunk.

    An array whose codecs are not installed is a variable that cannot be read, named with the codec; where no other
    array is left, `SourceError` says so. Raises as `find_nodes`.
    """
    prefix, nodes = find_nodes(path)
    root = ZarrGroup("/", f"Zarr v{max(n.version for n in nodes)}", {})
    store = _store(path)
    root.store = store
    groups = {"": root}
    try:
        for node in nodes:
            if not node.is_array:
                _group(node.path, groups).attributes = plain_attributes(node)
        for node in nodes:
            if node.is_array:
                group = _group(node.parent, groups)
                name = node.name or os.path.basename(path.rstrip("/\\")).partition(".")[0] or "array"
                group.variables[name] = _variable(store, prefix, node, name, group, root, path)
        failures = [v.failure for v in _all(root)]
        if all(failures):
            raise SourceError(f"No array of this store can be read: {failures[0]}.", where=path)
    except BaseException:
        root.close()
        raise
    return root


def _store(path: str) -> Any:
    from zarr.storage import LocalStore, ZipStore

    try:
        return LocalStore(path, read_only=True) if os.path.isdir(path) else ZipStore(path, mode="r", read_only=True)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise SourceError(f"The store cannot be read: {error}.", where=path) from None


def _all(group: ZarrGroup) -> list[ZarrVariable]:
    return [*group.variables.values(), *(v for child in group.groups.values() for v in _all(child))]


def _group(path: str, groups: dict[str, ZarrGroup]) -> ZarrGroup:
    if path not in groups:
        parent = _group(path.rpartition("/")[0], groups)
        groups[path] = ZarrGroup("/" + path, parent.data_model, {}, parent=parent)
        parent.groups[path.rpartition("/")[2]] = groups[path]
    return groups[path]


def _variable(store: Any, prefix: str, node: Node, name: str, group: ZarrGroup, root: ZarrGroup, path: str
              ) -> ZarrVariable:
    shape = tuple(int(n) for n in node.document.get("shape", ()))
    dims = _dimensions(node, shape, group, root)
    missing = codecs_missing(node)
    array, failure = (None, missing) if missing else open_array(store, prefix + node.path, node.version)
    return ZarrVariable(name, path, node, array, shape, dims, failure)


def _dimensions(node: Node, shape: tuple[int, ...], group: ZarrGroup, root: ZarrGroup) -> list[ZarrDimension]:
    """The dimensions of an array: by the names that it gives (`_ARRAY_DIMENSIONS`, `dimension_names`, NCZarr's
    references), which mean that of the nearest group above with this size; else one for each size, as netCDF4 does for
    HDF5 files without any."""
    names = _names(node, len(shape))
    found: list[ZarrDimension] = []
    for name, size in zip(names, shape, strict=True):
        owner: ZarrGroup | None = group
        if name is None:
            found.append(_without_name(group, size, found))
            continue
        if name.startswith("/"):
            owner = root
            for part in name.strip("/").split("/")[:-1]:
                owner = owner.groups.get(part, owner)
            name = name.rpartition("/")[2]
        first = owner
        while owner is not None and (name not in owner.dimensions or owner.dimensions[name].size != size):
            owner = owner.parent
        if owner is None:
            assert first is not None
            key = name if name not in first.dimensions else f"{name}_{size}"
            first.dimensions.setdefault(key, ZarrDimension(key, size, first))
            found.append(first.dimensions[key])
        else:
            found.append(owner.dimensions[name])
    return found


def _names(node: Node, rank: int) -> list[str | None]:
    details = node.document.get("_nczarr_array") or node.attributes.get("_nczarr_array") or (
        node.attributes.get("_NCZARR_ARRAY") or node.document.get("_NCZARR_ARRAY") or {})
    for names in (details.get("dimension_references") or details.get("dimrefs"),
                  node.document.get("dimension_names"), node.attributes.get("_ARRAY_DIMENSIONS")):
        if isinstance(names, list) and len(names) == rank:
            return [None if name is None else str(name) for name in names]
    return [None] * rank


def _without_name(group: ZarrGroup, size: int, taken: list[ZarrDimension]) -> ZarrDimension:
    for dimension in group.dimensions.values():
        if dimension.name.startswith("phony_dim_") and dimension.size == size and dimension not in taken:
            return dimension
    name = f"phony_dim_{len(group.dimensions)}"
    return group.dimensions.setdefault(name, ZarrDimension(name, size, group))
