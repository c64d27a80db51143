"""Pages, groups and block lists: the bytes of the data blobs, from the specification."""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import lz4.block

from tests.engine.codecs.independent_reader import RefusedError, must, read
from tests.engine.independent.domain import TYPES

AUTO = ("DeflateOptimalAuto", "ZstdAuto", "ZstdFastAuto")


@dataclass(frozen=True)
class Pages:
    """How the pages of one item are stored.

    Attributes:
        buffer: elements of the whole buffer of LZ4 before version 2.
        as_written: take LZ4 before version 2 only as writers make it, the whole buffer (C4).
        pattern: the bytes of a no-data element, None where no page may have length 0.
    """

    compression: str
    version: int
    dtype: str
    size: int
    pattern: bytes | None
    buffer: int
    as_written: bool = False

    @property
    def early_lz4(self) -> bool:
        return self.compression == "LZ4" and self.version < 2

    @property
    def compressed(self) -> bool:
        return self.compression != "None"

    def limit(self, count: int) -> int:
        """The largest stored length of `count` elements."""
        n = (self.buffer if self.early_lz4 else count) * self.size
        largest = {"None": n, "DeflateFast": n + n // 16 + 64, "DeflateOptimal": n + n // 16 + 64,
                   "LZ4": n + n // 255 + 16}.get(self.compression, n + 96)
        return largest + 4 * (self.version >= 3)

    def check_lengths(self, lengths: list[int], counts: list[int], *, may_be_empty: bool = False) -> None:
        for length, count in zip(lengths, counts, strict=True):
            must(0 <= length <= self.limit(count), "a length that no codec writes")
            must(length > 0 or self.pattern is not None, "a page of length 0 of an item without no-data")
        must(may_be_empty or any(lengths), "a timestep without a page")

    def page(self, stored: bytes, rows: int, columns: int) -> bytes:
        """The elements of a stored page of rows x columns."""
        return self.block(stored, rows, columns, columns)[0]

    def block(self, stored: bytes, rows: int, columns: int, most: int) -> tuple[bytes, int]:
        """The elements of a block of so many rows, and its row length, from `columns` to `most`."""
        count = rows * columns
        if not self.compressed:
            must(len(stored) == count * self.size, "a raw page of another length")
            return stored, columns
        if not stored:
            assert self.pattern is not None
            return self.pattern * count, columns
        if self.version >= 3:
            must(len(stored) > 4 and zlib.crc32(stored[:-4]) == struct.unpack("<I", stored[-4:])[0], "a checksum")
            stored = stored[:-4]
        if self.compression in AUTO:
            number, found, length, raw = read(stored)
            must(TYPES[number] == self.dtype, "a block of another type")
            must(found == rows and columns <= length <= most, "a block of another shape")
            return raw, length
        if self.compression == "LZ4":
            try:
                raw = lz4.block.decompress(stored, uncompressed_size=max(self.buffer, rows * most) * self.size)
            except lz4.block.LZ4BlockError as error:
                raise RefusedError(str(error)) from error
            if self.early_lz4:
                lengths = (self.buffer, self.buffer if self.as_written else count)
                must(len(raw) in [length * self.size for length in lengths], "an LZ4 block of another length")
                return raw[:count * self.size], columns
        else:
            stream = zlib.decompressobj(-15)
            try:
                raw = stream.decompress(stored)
            except zlib.error as error:
                raise RefusedError(str(error)) from error
            must(stream.eof and not stream.unused_data, "a deflate stream that does not end with its block")
        length, rest = divmod(len(raw), rows * self.size)
        must(rest == 0 and columns <= length <= most, "a block of another length")
        return raw, length


def step_pages(data: bytes, lengths: list[int], pages: Pages, tiles: list[tuple[int, int, int, int]]) -> list[bytes]:
    """The elements of every page of one timestep."""
    sides = [(r1 - r0, c1 - c0) for r0, r1, c0, c1 in tiles]
    if not pages.compressed:
        lengths = [rows * columns * pages.size for rows, columns in sides]
    else:
        pages.check_lengths(lengths, [rows * columns for rows, columns in sides])
    must(sum(lengths) == len(data), "lengths that do not add up")
    at, out = 0, []
    for (rows, columns), length in zip(sides, lengths, strict=True):
        out.append(pages.page(data[at:at + length], rows, columns))
        at += length
    return out


def single_step(folder: Path, key: str, pages: Pages,
                tiles: list[tuple[int, int, int, int]]) -> list[bytes]:
    data = (folder / f"{key}.dat").read_bytes()
    index = (folder / f"{key}.idx").read_bytes() if pages.compressed else b""
    must(len(index) == 4 * len(tiles) * pages.compressed, "an .idx of another length")
    return step_pages(data, list(struct.unpack(f"<{len(index) // 4}i", index)), pages, tiles)


def group_step(folder: Path, group: int, slot: int, most: int, pages: Pages,
               tiles: list[tuple[int, int, int, int]]) -> list[bytes]:
    blob = (folder / f"G{group:08d}.dat").read_bytes()
    if not pages.compressed:
        step = sum((r1 - r0) * (c1 - c0) for r0, r1, c0, c1 in tiles) * pages.size
        must(len(blob) % step == 0 and len(blob) > slot * step, "a group of another length")
        return step_pages(blob[slot * step:(slot + 1) * step], [], pages, tiles)
    must(len(blob) >= 8 and blob[-4:] == b"MDPI", "no magic number")
    (index_bytes,) = struct.unpack("<i", blob[-8:-4])
    count = len(tiles)
    must(index_bytes > 0 and index_bytes % (4 * count) == 0 and index_bytes // (4 * count) <= most
         and index_bytes + 8 <= len(blob), "a length of the index")
    index = list(struct.unpack(f"<{index_bytes // 4}i", blob[-8 - index_bytes:-8]))
    must(min(index) >= 0 and sum(index) == len(blob) - 8 - index_bytes, "an index that does not add up")
    must(slot * count < len(index), "fewer timesteps than listed")
    start = sum(index[:slot * count])
    lengths = index[slot * count:(slot + 1) * count]
    return step_pages(blob[start:start + sum(lengths)], lengths, pages, tiles)


def series_rows(blob: bytes, rows: int, block_rows: int, columns: int, most: int, pages: Pages) -> tuple[bytes, int]:
    """The rows of one spatial group, and how many columns they have."""
    if not pages.compressed:
        must(len(blob) == rows * columns * pages.size, "a raw blob of another length")
        return blob, columns
    blocks = -(-rows // block_rows)
    must(len(blob) >= 4 * blocks, "a blob shorter than its header")
    lengths = list(struct.unpack(f"<{blocks}i", blob[:4 * blocks]))
    heights = [min(block_rows, rows - at) for at in range(0, rows, block_rows)]
    pages.check_lengths(lengths, [height * most for height in heights], may_be_empty=True)
    must(sum(lengths) == len(blob) - 4 * blocks, "a header that does not add up")
    at, out, found = 4 * blocks, [], columns
    for height, length in zip(heights, lengths, strict=True):
        raw, found_here = pages.block(blob[at:at + length], height, columns, most)
        out.append((raw, found_here, height, length))
        found = found_here if length else found
        at += length
    must(all(here == found for _, here, _, length in out if length), "blocks of other numbers of columns")
    empty = (pages.pattern or b"") * found
    return b"".join(raw if length else empty * height for raw, _, height, length in out), found


# -------------------------------------------------------------------------------------------------- block lists


def block_list(file: Path) -> list[tuple[str, int]] | None:
    """(id, size) of each block of a blob in a folder; None where it has no list."""
    pending = file.with_name(file.name + ".blocks.commit")
    if file.with_name(file.name + ".commit").exists():
        candidates = [file.with_name(file.name + ".blocks")]
    else:
        candidates = [pending, file.with_name(file.name + ".blocks")]
    sidecars = [parsed for one in candidates if one.exists() and (parsed := sidecar(one.read_bytes())) is not None]
    facts = file.stat()
    mark = f"{facts.st_ino & (1 << 64) - 1:x}-{facts.st_mtime_ns:x}-{facts.st_size:x}"
    for its_mark, blocks in sidecars:
        if its_mark == mark:
            return blocks
    for _, blocks in sidecars:
        if sum(size for _, size in blocks) == facts.st_size:
            return blocks
    return None


def sidecar(text: bytes) -> tuple[str, list[tuple[str, int]]] | None:
    """Mark and blocks; None where the file is not of the form."""
    try:
        lines = text.decode("ascii").split("\n")
        must(lines[-1] == "" and len(lines) > 1, "no line feed at the end")
        blocks = []
        for line in lines[1:-1]:
            size, name = line.split(" ")
            must(str(int(size)) == size and int(size) > 0, "a size")
            blocks.append((unquote(name, errors="strict"), int(size)))
        must(len({len(name.encode()) for name, _ in blocks}) <= 1, "ids of one length")
    except (ValueError, RefusedError):
        return None
    return lines[0], blocks


def check_group_blocks(file: Path, first_time: int, pages: int, compressed: bool) -> int:
    """Assert what the specification says of the block list of a MultiTimestep group; the number of its timesteps."""
    blocks = block_list(file)
    must(blocks is not None, "a group without its list")
    assert blocks is not None
    blob, at = file.read_bytes(), 0
    for number, (name, size) in enumerate(blocks):
        is_index = compressed and number == len(blocks) - 1
        what = "IDX000000000" if is_index else f"TS{first_time + number:010d}"
        digest = hashlib.sha256(blob[at:at + size]).hexdigest()[:16]
        must(name == f"{what}-{digest}" and len(name) == 29, f"block id {name}")
        if is_index:
            must(size == 4 * pages * (len(blocks) - 1) + 8, "an index block of another size")
        at += size
    must(at == len(blob), "blocks that do not add up")
    return len(blocks) - compressed
