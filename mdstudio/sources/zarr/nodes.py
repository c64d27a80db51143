"""The groups and arrays of a store, found by their metadata documents; nothing but these is read.

Found here and not by zarr-python: stores without a document at their root, and zip files with the tree one folder down,
are read as well as others.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mdstudio.engine.errors import AccessError, NotFoundError, SourceError, UnsupportedError

_ARRAY, _GROUP, _ATTRIBUTES, _V3 = ".zarray", ".zgroup", ".zattrs", "zarr.json"
_DOCUMENTS = (_ARRAY, _GROUP, _ATTRIBUTES, _V3)
_ICECHUNK = ({"snapshots", "refs"}, {"snapshots", "repo"})
_MATERIALISE = "Write it as a plain Zarr store or NetCDF first (xarray: open it, then to_zarr or to_netcdf)."


@dataclass(frozen=True)
class Node:
    """A group or an array.

    Attributes:
        path: in the store, "" of its root; `prefix` of the store before it.
        document: of an array, its `.zarray`, or its `zarr.json`; empty of a group.
        attributes: the user's attributes.
        version: 2 or 3.
    """

    path: str
    document: Mapping[str, Any]
    attributes: Mapping[str, Any]
    version: int

    @property
    def is_array(self) -> bool:
        return bool(self.document)

    @property
    def parent(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def is_zarr(path: str) -> bool:
    """Whether a path is a Zarr store, or an Icechunk repository or references to chunks, which are refused with the
    reason when they are opened. Looks at names, and into the index of a zip file."""
    lower = path.lower()
    if os.path.isdir(path):
        names = set(os.listdir(path))
        return bool(names & {_ARRAY, _GROUP, _V3, ".zmetadata"}) or any(needed <= names for needed in _ICECHUNK) or (
            lower.rstrip("/\\").endswith(".zarr"))
    if lower.endswith((".json", ".json.gz", ".parq")):
        return os.path.isfile(path)
    if os.path.isfile(path) and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as file:
            return any(name.rpartition("/")[2] in _DOCUMENTS for name in file.namelist())
    return lower.endswith((".zarr", ".zarr.zip"))


def find_nodes(path: str) -> tuple[str, list[Node]]:
    """What lies before all nodes in the store ("" or the folder of a zip file), and the nodes, parents first.

    Raises `NotFoundError`, `AccessError`, `SourceError` or `UnsupportedError` naming the store, and the document that
    is damaged. Cost: the metadata documents.
    """
    try:
        if not os.path.exists(path):
            raise NotFoundError("There is no such store.", where=path)
        _refuse_others(path)
        if os.path.isdir(path):
            return "", _read(path, _documents_of_folder(path), lambda name: _bytes(os.path.join(path, name)))
        with zipfile.ZipFile(path) as file:
            names = [n for n in file.namelist() if n.rpartition("/")[2] in _DOCUMENTS]
            prefix = _prefix(names)
            return prefix, _read(path, [n[len(prefix):] for n in names if n.startswith(prefix)],
                                 lambda name: file.read(prefix + name))
    except PermissionError:
        raise AccessError("The store may not be read: no permission.", where=path) from None
    except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError) as error:
        raise SourceError(f"The store cannot be read: {error}.", where=path) from None  # encrypted, packed otherwise


def _refuse_others(path: str) -> None:
    if os.path.isdir(path):
        if any(needed <= set(os.listdir(path)) for needed in _ICECHUNK):
            raise UnsupportedError("This is an Icechunk repository; its chunks lie in a history of versions, which is "
                                   "not read.", where=path, advice=_MATERIALISE)
    elif not zipfile.is_zipfile(path):
        if path.lower().endswith((".json", ".json.gz", ".parq")):
            raise UnsupportedError("This file holds references (kerchunk) to chunks of other files, which are not "
                                   "followed.", where=path, advice="Import the files that it refers to.")
        raise SourceError("This is no Zarr store: neither a folder nor a zip file.", where=path)


def _documents_of_folder(path: str) -> Iterable[str]:
    """The documents below a folder, links followed, each folder once; the chunks of arrays are not listed."""
    seen: set[str] = set()
    for folder, folders, files in os.walk(path, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        found = [f for f in files if f in _DOCUMENTS]
        below = os.path.relpath(folder, path).replace(os.sep, "/")
        yield from (f if below == "." else f"{below}/{f}" for f in found)
        folders.sort()
        if _ARRAY in found or (_V3 in found and _is_array(_bytes(os.path.join(folder, _V3)))):
            folders.clear()


def _is_array(document: bytes) -> bool:
    try:
        found = json.loads(document)
    except (ValueError, RecursionError):
        return False  # said when all documents are read
    return isinstance(found, dict) and found.get("node_type") == "array"


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _prefix(names: list[str]) -> str:
    """The one folder that holds the whole tree of a zip file: netcdf-c writes it so, with a root document or not."""
    arrays = [n for n in names if n.rpartition("/")[2] in (_ARRAY, _V3)] or names
    tops = {n.partition("/")[0] for n in arrays}
    if len(tops) != 1 or any("/" not in n for n in arrays):
        return ""
    top = tops.pop()
    own = {n for n in names if n.startswith(top + "/") and n.count("/") == 1}
    return "" if f"{top}/{_ARRAY}" in own or not own else top + "/"


def _read(path: str, names: Iterable[str], read: Callable[[str], bytes]) -> list[Node]:
    documents: dict[str, dict[str, Any]] = {}
    for name in names:
        folder, _, document = name.rpartition("/")
        try:
            found = json.loads(read(name))
            if not isinstance(found, dict):
                raise ValueError("it holds no JSON object")
            documents.setdefault(folder, {})[document] = found
        except (ValueError, RecursionError) as error:
            raise SourceError(f"The document '{name}' is damaged: {error}.", where=path,
                              advice="Get the store again, or mend the document by hand.") from None
    nodes = [_node(folder, own) for folder, own in documents.items()]
    if not any(node.is_array for node in nodes):
        raise SourceError("There is no array in this store.", where=path)
    return sorted(nodes, key=lambda node: node.path.count("/") + bool(node.path))


def _node(folder: str, own: Mapping[str, Any]) -> Node:
    if _V3 in own:
        document = own[_V3]
        array = document if document.get("node_type") == "array" else {}
        return Node(folder, array, document.get("attributes") or {}, 3)
    return Node(folder, own.get(_ARRAY, {}), own.get(_ATTRIBUTES) or {}, 2)
