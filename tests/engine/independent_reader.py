"""A second reader, written from the format specification alone: nothing of the engine, plain struct and zlib.

It reads None, DeflateFast, DeflateOptimal and LZ4 datasets of grids whole, and asserts what the specification promises
about their bytes on the way.
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import lz4.block

Cells = dict[tuple[int, int], bytes]  # (row, column) -> the bytes of one element
SIZES = {"int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "float32": 4,
         "float64": 8}
CODES = dict(zip(SIZES, "bBhHiIqQfd", strict=True))


class Reader:
    """A dataset in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.document = json.loads((folder / "dataset.json").read_bytes())
        self.kept = self.document["ItemStorage"]
        self.rows, self.columns = self.document["SpatialDomain"]["Rows"], self.document["SpatialDomain"]["Columns"]
        self.tiles = quad_tree(self.rows, self.columns, self.kept["GridTileWidth"])
        self.times = self.document["Times"]["Count"]

    def slice(self, item: int, layer: int, time: int) -> Cells:
        """All cells of one slice."""
        facts = self.document["Items"][item]
        folder = self.folder / facts["Folder"] / ("L-1" if layer < 0 else f"L{layer:04d}")
        size = SIZES[facts["DataType"]]
        if self.kept["StorageType"] == "TimeSeries":
            return self.series(folder, facts, size, time)
        if self.kept["StorageType"] == "SingleTimestep":
            hour = time  # the datasets of the tests begin in 1970 and go by the hour
            data = (folder / f"19700101T{hour:02d}0000.dat").read_bytes()
            index = (folder / f"19700101T{hour:02d}0000.idx").read_bytes() if self.compressed else b""
            lengths = list(struct.unpack(f"<{len(index) // 4}i", index))
        else:
            group, slot = divmod(time, self.kept["TimeGroupSize"])
            blob = (folder / f"G{group:08d}.dat").read_bytes()
            data, lengths = self.group_step(blob, slot, size)
        cells: Cells = {}
        if not self.compressed:
            lengths = [(r1 - r0) * (c1 - c0) * size for r0, r1, c0, c1 in self.tiles]
        assert sum(lengths) == len(data)
        assert len(lengths) == len(self.tiles)
        at = 0
        for (r0, r1, c0, c1), length in zip(self.tiles, lengths, strict=True):
            raw = self.page(data[at:at + length], (r1 - r0) * (c1 - c0), size, facts, self.kept["GridTileWidth"] ** 2)
            at += length
            for n, (row, column) in enumerate((r, c) for r in range(r0, r1) for c in range(c0, c1)):
                cells[row, column] = raw[n * size:(n + 1) * size]
        return cells

    @property
    def compressed(self) -> bool:
        return bool(self.kept["Compression"] != "None")

    def group_step(self, blob: bytes, slot: int, size: int) -> tuple[bytes, list[int]]:
        """The bytes and page lengths of one timestep of a group."""
        if not self.compressed:
            step = self.rows * self.columns * size
            assert len(blob) % step == 0
            return blob[slot * step:(slot + 1) * step], []
        assert blob[-4:] == b"MDPI"
        (index_bytes,) = struct.unpack("<i", blob[-8:-4])
        index = struct.unpack(f"<{index_bytes // 4}i", blob[-8 - index_bytes:-8])
        assert sum(index) == len(blob) - 8 - index_bytes
        pages = len(self.tiles)
        start = sum(index[:slot * pages])
        lengths = list(index[slot * pages:(slot + 1) * pages])
        return blob[start:start + sum(lengths)], lengths

    def series(self, folder: Path, facts: dict[str, Any], size: int, time: int) -> Cells:
        """One slice out of the blobs of all spatial groups."""
        group_size = self.kept["TimeGroupSize"]
        group, column = divmod(time, group_size)
        early_lz4 = self.kept["Compression"] == "LZ4" and self.kept.get("LayoutVersion", 0) < 2
        full = self.kept.get("FixedStep", False) or not self.compressed or early_lz4
        columns = group_size if full else min(group_size, self.times - group * group_size)
        cells: Cells = {}
        for n, (r0, r1, c0, c1) in enumerate(self.tiles):
            places = [(r, c) for r in range(r0, r1) for c in range(c0, c1)]
            blob = (folder / f"S{n:08d}" / f"G{group:08d}.dat").read_bytes()
            block_rows = self.kept["TimeSeriesBlockRows"]
            blocks = -(-len(places) // block_rows) if self.compressed else 0
            lengths = struct.unpack(f"<{blocks}i", blob[:4 * blocks])
            raw, at = b"" if blocks else blob, 4 * blocks
            for block, length in enumerate(lengths):
                rows = min(block_rows, len(places) - block * block_rows)
                raw += self.page(blob[at:at + length], rows * columns, size, facts, block_rows * group_size)
                at += length
            assert at == len(blob) or not blocks
            assert len(raw) == len(places) * columns * size
            for row, place in enumerate(places):
                start = (row * columns + column) * size
                cells[place] = raw[start:start + size]
        return cells

    def page(self, stored: bytes, count: int, size: int, facts: dict[str, Any], buffer: int) -> bytes:
        """The elements of one stored page."""
        if not self.compressed:
            return stored
        if not stored:
            value = facts["NoData"]
            if isinstance(value, dict):
                value = float(value["$float"])
            return struct.pack(f"<{CODES[facts['DataType']]}", value) * count
        version = self.kept.get("LayoutVersion", 0)
        if version >= 3:
            assert zlib.crc32(stored[:-4]) == struct.unpack("<I", stored[-4:])[0]
            stored = stored[:-4]
        if self.kept["Compression"] == "LZ4":
            whole = buffer if version < 2 else count
            return lz4.block.decompress(stored, uncompressed_size=whole * size)[:count * size]
        return zlib.decompress(stored, -15)


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
