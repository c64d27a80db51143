"""The domain blob, the stored order of tiles and the mesh index, from the specification."""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zlib
from typing import Any

import numpy as np

from tests.engine.codecs.independent_reader import must, read
from tests.engine.independent.document import Values, parsed

TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
INDEX_PAGE = 1024


def domain_of(blob: bytes) -> tuple[dict[str, Any], dict[str, Values]]:
    """The header and the arrays by name."""
    must(blob[:8] == b"MDDOMAIN" and len(blob) >= 20, "no domain blob")
    version, length = struct.unpack("<II", blob[8:16])
    must(version == 1, "a newer domain blob")
    must(zlib.crc32(blob[:-4]) == struct.unpack("<I", blob[-4:])[0], "a damaged domain blob")
    header = parsed(blob[16:16 + length])
    arrays, at = {}, 16 + length
    for entry in header["Arrays"]:
        raw = blob[at:at + entry["Length"]]
        at += entry["Length"]
        shape = entry["Shape"]
        if entry["Codec"] == "ZstdAuto":
            rows, columns = (1, shape[0]) if len(shape) == 1 else (shape[0], math.prod(shape[1:]))
            number, *sides, raw = read(raw)
            must((TYPES[number], sides) == (entry["DataType"], [rows, columns]), "a block of another array")
        else:
            must(entry["Codec"] == "None", "an unknown codec")
        arrays[entry["Name"]] = np.frombuffer(raw, np.dtype(entry["DataType"]).newbyteorder("<")).reshape(shape)
    must(at == len(blob) - 4, "arrays that do not fill the blob")
    return header, arrays


def domain_name(header: dict[str, Any], arrays: dict[str, Values]) -> str:
    """The name that the hash gives a domain blob."""
    reduced = header | {"Arrays": [{key: entry[key] for key in ("Name", "DataType", "Shape")}
                                   for entry in header["Arrays"]]}
    digest = hashlib.sha256(json.dumps(reduced, ensure_ascii=False).encode())
    for values in arrays.values():
        digest.update(values.tobytes())
    return f"domain-{digest.hexdigest()[:16]}.bin"


def quad_tree(rows: int, columns: int, width: int) -> list[tuple[int, int, int, int]]:
    """(row0, row1, column0, column1) of each tile in stored order, by walking the tree."""
    across = max(-(-rows // width), -(-columns // width))
    side = 1
    while side < across:
        side *= 2

    def walk(i: int, j: int, side: int) -> list[tuple[int, int, int, int]]:
        if i * width >= rows or j * width >= columns:
            return []
        if side == 1:
            return [(i * width, min((i + 1) * width, rows), j * width, min((j + 1) * width, columns))]
        half = side // 2
        return [t for di in (0, half) for dj in (0, half) for t in walk(i + di, j + dj, half)]

    return walk(0, 0, side)


def runs(count: int, size: int) -> list[tuple[int, int, int, int]]:
    """The pages of one row of values, as tiles of it."""
    return [(0, 1, at, min(at + size, count)) for at in range(0, count, size)]


def index_pages(element_nodes: Values) -> list[Values]:
    """The nodes of each page of the mesh index."""
    pages = []
    for at in range(0, len(element_nodes), INDEX_PAGE):
        corners = element_nodes[at:at + INDEX_PAGE]
        pages.append(np.array(sorted(set(corners[corners >= 0].tolist())), np.int64))
    return pages
