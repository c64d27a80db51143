"""The domain blob: there, whole, of the grid or mesh that the metadata speaks of. Parsed here from format.md."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from mdstudio.engine.codecs import codec, describe_block
from mdstudio.engine.errors import DamagedDataError, NotFoundError, StorageError, UnsupportedVersionError
from mdstudio.engine.health import findings as codes
from mdstudio.engine.health.findings import Finding
from mdstudio.engine.layout.metadata import Metadata
from mdstudio.engine.model import DTYPES, Array
from mdstudio.engine.storage import BlobStorage

_LOST = "the coordinates: maps and queries by place"
_ADVICE = "Restore it from a copy, or import again."
_VERSION = 1
_MAX_DEPTH = 50
_TEXTS = ("Crs", "XName", "YName", "XUnit", "YUnit")


class _Wrong(Exception):  # noqa: N818 - it ends the parse, nobody else sees it
    """(expected, found) of the first thing that is not as it must be."""


def domain_findings(storage: BlobStorage, metadata: Metadata) -> Iterator[Finding]:
    """At most one finding; reads the blob. Raises `UnsupportedVersionError` for a blob of a newer build."""
    name = metadata.domain_blob
    try:
        data = storage.read(name).data
    except NotFoundError:
        yield Finding(codes.DOMAIN_MISSING, "damage", name, expected="the blob with the coordinates", found="no blob",
                      lost=_LOST, advice=_ADVICE)
        return
    except StorageError as error:
        yield Finding(codes.UNREADABLE, "damage", name, expected="a readable blob", found=error.message,
                      permanent=False, lost=_LOST, advice="Check again.")
        return
    try:
        _check(data, metadata)
    except _Wrong as wrong:
        expected, found = wrong.args
        yield Finding(codes.DOMAIN_DAMAGED, "damage", name, expected=expected, found=found, lost=_LOST, advice=_ADVICE)


def _check(data: bytes, metadata: Metadata) -> None:
    if len(data) < 20 or data[:8] != b"MDDOMAIN":
        raise _Wrong("a blob that begins with MDDOMAIN", f"{len(data)} bytes that begin with {data[:8]!r}")
    stored, actual = struct.unpack("<I", data[-4:])[0], zlib.crc32(data[:-4])
    if stored != actual:
        raise _Wrong(f"the checksum {stored:08x} of its last 4 bytes", f"{actual:08x}")
    version, length = struct.unpack_from("<II", data, 8)
    if version > _VERSION:
        raise UnsupportedVersionError(f"The coordinates have format version {version}; this build checks {_VERSION}.",
                                      where=metadata.domain_blob, advice="Check it with a newer build.")
    if version < 1 or length + 20 > len(data):
        raise _Wrong("version 1 and a header within the blob", f"version {version} and {length} bytes of header")
    header = _json(data[16:16 + length])
    arrays = _arrays(header, memoryview(data)[16 + length:-4])
    _fields(header)
    if header.get("Kind") == "Mesh":
        _mesh(arrays, metadata)
    else:
        _grid(header, arrays, metadata)


def _json(data: bytes) -> Mapping[str, Any]:
    def refuse(token: str) -> NoReturn:
        raise ValueError(f"{token} is no number of JSON")

    def finite(token: str) -> float:
        return number if math.isfinite(number := float(token)) else refuse(token)

    try:
        header = json.loads(data.decode(), parse_constant=refuse, parse_float=finite)
    except (ValueError, RecursionError) as error:
        raise _Wrong("a header of JSON", f"{len(data)} bytes of something else: {error}") from None
    if not isinstance(header, dict) or _depth(header) > _MAX_DEPTH:
        raise _Wrong(f"a JSON object of at most {_MAX_DEPTH} levels", f"a {type(header).__name__}")
    return header


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [part for one in level if isinstance(one, dict | list)
                 for part in (one.values() if isinstance(one, dict) else one)]
    return depth


def _fields(header: Mapping[str, Any]) -> None:
    kinds = ("Regular", "Projected", "Rotated", "Curvilinear", "Mesh")
    if header.get("Kind") not in kinds:
        raise _Wrong(f"one of the kinds {', '.join(kinds)}", repr(header.get("Kind")))
    objects = ("Attributes",) if header["Kind"] == "Mesh" else ("GridMapping", "CoordinateAttributes")
    types: tuple[tuple[tuple[str, ...], type], ...] = ((_TEXTS, str), (objects, dict))
    if header["Kind"] == "Mesh":
        types = (*types, (("Geographic",), bool))
    for names, kind in types:
        for name in names:
            if header.get(name) is not None and not isinstance(header[name], kind):
                raise _Wrong(f"{name} of the header as {kind.__name__}", type(header[name]).__name__)


def _arrays(header: Mapping[str, Any], blocks: memoryview) -> dict[str, Array]:
    """The arrays by name, each decoded: memory is taken for as many values as its block says."""
    entries, arrays, start = header.get("Arrays"), {}, 0
    if not isinstance(entries, list):
        raise _Wrong("a header that lists the arrays", repr(entries)[:60])
    for entry in entries:
        try:
            name, dtype, shape, codec_name, length = (
                entry[key] for key in ("Name", "DataType", "Shape", "Codec", "Length"))
            right = (isinstance(name, str) and name not in arrays and dtype in DTYPES
                     and codec_name in ("None", "ZstdAuto") and 1 <= len(shape) <= 3
                     and all(type(n) is int and 1 <= n < 2**31 for n in shape)
                     and type(length) is int and 1 <= length <= len(blocks) - start)
        except (TypeError, KeyError, IndexError):
            right = False
        if not right:
            raise _Wrong("arrays with name, type, shape, codec and length", repr(entry)[:200])
        arrays[name] = _array(name, np.dtype(dtype).newbyteorder("<"), tuple(shape), codec_name,
                              blocks[start:start + length])
        start += length
    if start != len(blocks):
        raise _Wrong(f"arrays of {start} bytes", f"{len(blocks)} bytes")
    return arrays


def _array(name: str, dtype: np.dtype[Any], shape: tuple[int, ...], codec_name: str, block: memoryview) -> Array:
    count = math.prod(shape)
    rows = (1, count) if len(shape) == 1 else (shape[0], count // shape[0])
    try:
        held = len(block) // dtype.itemsize if codec_name == "None" else describe_block(codec_name, block).count
        if held != count:
            raise _Wrong(f"{count} values of {name}", f"{held}")
        values = np.empty(rows, dtype)
        codec(codec_name).decode(block, values)
    except DamagedDataError as error:
        raise _Wrong(f"a block of {count} values of {name}", error.message) from None
    except MemoryError:
        raise _Wrong(f"values of {name} that fit in memory", f"{count}") from None
    return values.reshape(shape)


def _shape(arrays: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> None:
    if name in arrays and arrays[name].shape != shape:
        raise _Wrong(f"{name} of the shape {shape}", f"{arrays[name].shape}")


def _grid(header: Mapping[str, Any], arrays: Mapping[str, Array], metadata: Metadata) -> None:
    rows, columns = metadata.shape
    found = [arrays[name].shape if name in arrays else None for name in ("Y", "X")]
    if metadata.kind != "grid" or found != [(rows,), (columns,)]:
        what = f"{rows} rows and {columns} columns" if metadata.kind == "grid" else f"a mesh of {columns} elements"
        raise _Wrong(f"coordinates of {what}", f"shapes {_text(found[0])} and {_text(found[1])}")
    for name in ("Longitude", "Latitude"):
        _shape(arrays, name, (rows, columns))
        _shape(arrays, f"Corner{name}", (rows, columns, 4))
        if header["Kind"] == "Curvilinear" and name not in arrays:
            raise _Wrong(f"{name} of a curvilinear grid", "no such array")
    _shape(arrays, "XBounds", (columns, 2))
    _shape(arrays, "YBounds", (rows, 2))


def _text(shape: tuple[int, ...] | None) -> str:
    return "none" if shape is None else str(list(shape))


def _mesh(arrays: Mapping[str, Array], metadata: Metadata) -> None:
    for name in ("NodeX", "NodeY", "NodeNumber", "ElementNodes", "ElementNumber"):
        if name not in arrays:
            raise _Wrong(f"{name} of a mesh", "no such array")
    corners, nodes = arrays["ElementNodes"], arrays["NodeX"].size
    if corners.ndim != 2 or corners.shape[1] < 3:
        raise _Wrong("ElementNodes of three or more corners", f"the shape {corners.shape}")
    for name in arrays.keys() & {"NodeX", "NodeY"}:
        if arrays[name].dtype.kind != "f":
            raise _Wrong(f"{name} of floats", str(arrays[name].dtype))
    for name in arrays.keys() & {"NodeCode", "NodeNumber", "ElementNodes", "ElementNumber", "LayerCounts"}:
        if arrays[name].dtype != np.int32:
            raise _Wrong(f"{name} of int32", str(arrays[name].dtype))
    for name in ("NodeX", "NodeY", "NodeZ", "NodeCode", "NodeNumber"):
        _shape(arrays, name, (nodes,))
    for name in ("ElementNumber", "LayerCounts"):
        _shape(arrays, name, corners.shape[:1])
    used = corners >= 0
    if (corners < -1).any() or (corners >= nodes).any() or not used[:, :3].all() or (used[:, 1:] & ~used[:, :-1]).any():
        raise _Wrong(f"elements of three or more of {nodes} nodes, then -1", "other corners")
    for name in ("NodeNumber", "ElementNumber"):
        if not np.array_equal(np.sort(arrays[name]), np.arange(arrays[name].size)):
            raise _Wrong(f"each number from 0 to {arrays[name].size - 1} once in {name}", "others")
    _counts(arrays, metadata)


def _counts(arrays: Mapping[str, Array], metadata: Metadata) -> None:
    """Elements, nodes and 3-D elements against the metadata."""
    stated: Mapping[str, Any] = metadata.raw["SpatialDomain"] if metadata.kind == "mesh" else {}
    found: dict[str, int] = {"Elements": len(arrays["ElementNodes"]), "Nodes": arrays["NodeX"].size}
    layers = arrays.get("LayerCounts")
    if layers is not None:
        if (layers < 0).any() or not layers.any():
            raise _Wrong("LayerCounts from 0 and some above", f"{int(layers.min())} to {int(layers.max())}")
        found["Element3DCount"] = int(layers.sum(dtype=np.int64))
    names = ("Elements", "Nodes", "Element3DCount")
    expected = {name: stated[name] for name in names if stated.get(name) is not None}
    if metadata.kind != "mesh" or any(found.get(name) != count for name, count in expected.items()):
        raise _Wrong(f"a mesh of {expected}" if expected else f"a grid of the shape {metadata.shape}", f"{found}")
