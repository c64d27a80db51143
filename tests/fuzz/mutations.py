"""Mutated blobs of a dataset, made without end from a seed; every structural byte of it is met first."""

from __future__ import annotations

import copy
import json
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.fuzz.subjects import Subject

JSON_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3, 16, 100, 46_341, 50_000, 2**26, 2**26 + 1, 2**31 - 1, 2**31, 2**40, 2**53 + 1,
    2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -2**63, -2**63 - 1, 10**30, 0.5, -0.0, 1e308, 5e-324, "", "x", "Grid",
    "Mesh", "ZLevel", "Sigma", "Vector", "Node", "None", "ZstdAuto", "LZ4", "TimeSeries", "SingleTimestep",
    "MultiTimestep", "int8", "float64", "360_day", "julian", "..", "a/../b", "a\x00b", "x" * 5000, "\ud800", "é", [],
    {}, [[]], [0], [None], [1, 2, 3], [[0, 1, 2**26]], [[0, 0, 2]], [[2**62, 1, 3]], {"$float": "NaN"}, {"$float": "x"},
    {"$float": "NaN:7ff8000000000001"}, {"$float": "Infinity"}, {"a": {"b": []}},
)
RAW_JSON = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 5000, "1" + "0" * 400, "1.0e-400",
            "[" * 60 + "]" * 60, "[" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000, "nul", '"\\u12"', "01", "0x1", "'a'",
            "", ",")
# Fields that claim much together.
CLAIMS: tuple[dict[str, Any], ...] = (
    {"Times.Count": 2**26, "Times.Runs": [[0, 1, 2**26]]},
    {"Times.Count": 2**24, "Times.Runs": [[0, 1, 2**24]]},
    {"Times.Count": 2**16, "Times.Runs": [[0, 2, 1]] * 2**16},
    {"Times.Count": 0, "Times.Runs": []},
    {"SpatialDomain.Rows": 2**20, "SpatialDomain.Columns": 2**20},
    {"SpatialDomain.Rows": 2**15, "SpatialDomain.Columns": 2**15},
    {"SpatialDomain.Rows": 2**31 - 1, "SpatialDomain.Columns": 1},
    {"SpatialDomain.Rows": 2**13, "SpatialDomain.Columns": 2**13, "ItemStorage.GridTileWidth": 1},
    {"SpatialDomain.Rows": 2**20, "SpatialDomain.Columns": 2**20, "ItemStorage.GridTileWidth": 46_340},
    {"ItemStorage.GridTileWidth": 46_340},
    {"ItemStorage.TimeGroupSize": 2**31 - 1, "ItemStorage.TimeSeriesBlockRows": 2**31 - 1},
    {"ItemStorage.TimeGroupSize": 2**31 - 1, "ItemStorage.FixedStep": True},
    {"ItemStorage.TimeGroupSize": 2**28, "ItemStorage.FixedStep": False, "Times.Count": 2, "Times.Runs": [[0, 1, 2]]},
    {"Items.0.Layers.Values": [0.5] * 10_000},
    {"Items.0.Layers.Values": [0.5] * 10_001},
    {"Kind": "Mesh", "SpatialDomain.Elements": 2**31 - 1, "SpatialDomain.Nodes": 2**31 - 1},
    {"Kind": "Mesh", "SpatialDomain.Elements": 2**25, "SpatialDomain.Nodes": 3,
     "ItemStorage.CompressedMeshPageSize": 1, "ItemStorage.SpatialGroupSize": 1},
    {"Kind": "Mesh", "SpatialDomain.Elements": 2**31 - 1, "SpatialDomain.Nodes": 3, "Items.0.ValueKind": "ZLevel",
     "Items.0.Location": "Node", "ItemStorage.ZLevelPagedNodeCount": 2**62},
    {"Items.0.Components": 1_000_000, "Items.0.ValueKind": "Vector", "ItemStorage.Compression": "None"},
)
_INTS = (0, 1, -1, 4, 2**31 - 1, -2**31, 2**30, 255, 65536)


@dataclass(frozen=True)
class Mutation:
    """One blob changed (None: gone).

    Attributes:
        kind: "document", "domain", "index", "page" (its checksum right), "moved" (sound pages in another's place, which
            no checksum tells), "bytes" (anything else).
        note: what was done, for a failure's message.
    """

    blob: str
    data: bytes | Callable[[], bytes] | None  # a function where making the bytes takes longer
    kind: str
    note: str

    @property
    def bytes(self) -> bytes | None:
        return self.data() if callable(self.data) else self.data


def mutations(subject: Subject, seed: int) -> Iterator[Mutation]:
    """Great claims (of one codec's datasets), the systematic ones of all kinds in turn, then random ones for ever."""
    if (subject.compression, subject.version) == ("ZstdAuto", 3):
        yield from _claims(subject)
    sources = [list(_document(subject)), list(_domain(subject)), list(_data(subject))]
    rng = random.Random(seed)
    for source in sources:
        rng.shuffle(source)
    while any(sources):
        for source in sources:
            if source:
                yield source.pop()
    while True:
        yield _random(subject, rng)


def count_systematic(subject: Subject) -> int:
    return sum(1 for part in (_document, _domain, _data) for _ in part(subject))


# ------------------------------------------------------------------------------------------------- dataset.json

def _document(subject: Subject) -> Iterator[Mutation]:
    name = "dataset.json"
    before = subject.blobs[name]
    document = json.loads(before)
    for path in _paths(document):
        where = ".".join(map(str, path))
        for value in JSON_VALUES:
            data = partial(_with, document, path, value)
            yield Mutation(name, data, "document", f"{where} = {value!r:.60}")
        for raw in RAW_JSON:
            data = partial(_with, document, path, "@@@@", raw.encode())
            yield Mutation(name, data, "document", f"{where} = {raw:.40}")
        yield Mutation(name, partial(_with, document, path, ...), "document", f"{where} removed")
        if isinstance(path[-1], str):
            for other in (b"1", b'"x"', b"[]"):
                twice = b'"@@@@", ' + json.dumps(path[-1]).encode() + b": " + other
                yield Mutation(name, partial(_with, document, path, "@@@@", twice), "document", f"{where} twice")
    for at in range(0, len(before), 7):
        yield Mutation(name, before[:at], "document", f"cut at {at}")
    for junk in (b"\xef\xbb\xbf" + before, b"\xff\xfe" + before.decode().encode("utf-16-le"), before + b"x", before * 2,
                 before.replace(b'"', b"'"), b"\x00" * 100, b"null", b"[]", b"{}", b'"x"', b"{" * 1000):
        yield Mutation(name, junk, "document", f"{junk[:20]!r}")


def _claims(subject: Subject) -> Iterator[Mutation]:
    name = "dataset.json"
    for claim in CLAIMS:
        changed = json.loads(subject.blobs[name])
        for path_text, value in claim.items():
            *parents, last = path_text.split(".")
            target = changed
            for key in parents:
                target = target[int(key)] if key.isdigit() else target.setdefault(key, {})
            target[int(last) if last.isdigit() else last] = value
        yield Mutation(name, _dump(changed), "document", f"{claim!s:.200}")


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from _paths(child, (*path, key))


def _changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    target = changed
    for key in path[:-1]:
        target = target[key]
    if value is ...:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return changed


def _with(document: Any, path: tuple[Any, ...], value: Any, raw: bytes = b"") -> bytes:
    """The document with another value, `raw` in place of a value that stands for it."""
    data = _dump(_changed(document, path, value))
    return data.replace(b'"@@@@"', raw) if raw or value == "@@@@" else data


def _dump(document: Any) -> bytes:
    return json.dumps(document).encode()


# ------------------------------------------------------------------------------------------------- domain blob

def _domain(subject: Subject) -> Iterator[Mutation]:
    name = next(blob for blob in subject.blobs if blob.startswith("domain-"))
    before = subject.blobs[name]
    for at in range(len(before)):
        yield Mutation(name, _flip(before, at, at % 8), "domain", f"bit {at % 8} of byte {at}")
        for value in (0, 0xFF, before[at] ^ 1 << (at + 3) % 8):
            yield Mutation(name, _crc(before[:at] + bytes([value]) + before[at + 1:-4]), "domain",
                           f"byte {at} = {value}, checksum right")
    length = struct.unpack_from("<I", before, 12)[0]
    header, arrays = json.loads(before[16:16 + length]), before[16 + length:-4]
    for path in _paths(header):
        for value in (*JSON_VALUES, ...):
            yield Mutation(name, partial(_with_header, before, arrays, header, path, value), "domain",
                           f"header {'.'.join(map(str, path))} = {value!r:.60}")
    for raw in RAW_JSON:
        data = raw.encode()
        mutated = _crc(before[:12] + struct.pack("<I", len(data)) + data + arrays)
        yield Mutation(name, mutated, "domain", f"header {raw:.30}")
    yield from _cuts(name, before)


def _with_header(before: bytes, arrays: bytes, header: Any, path: tuple[Any, ...], value: Any) -> bytes:
    data = _dump(_changed(header, path, value))
    return _crc(before[:12] + struct.pack("<I", len(data)) + data + arrays)


def _crc(data: bytes) -> bytes:
    return data + zlib.crc32(data).to_bytes(4, "little")


# ------------------------------------------------------------------------------------------------- data blobs

def _data(subject: Subject) -> Iterator[Mutation]:
    names = sorted(name for name in subject.blobs if "/" in name)
    for name in names:
        before = subject.blobs[name]
        for start, stop in _index_ranges(subject, name):
            yield from _index(name, before, start, stop)
        for start, stop in page_ranges(subject, name):
            yield from _page(subject, name, before, start, stop)
        yield from _cuts(name, before)
        for other in (names[0], names[-1], names[len(names) // 2]):
            yield Mutation(name, subject.blobs[other], "moved", f"the bytes of {other}")


def _index_ranges(subject: Subject, name: str) -> list[tuple[int, int]]:
    """The bytes of indexes and headers in a blob."""
    data = subject.blobs[name]
    if name.endswith(".idx"):
        return [(0, len(data))]
    layout = _layout(subject, name)
    if subject.compression == "None" or layout == "SingleTimestep":
        return []
    if layout == "MultiTimestep":
        return [(len(data) - 8 - struct.unpack("<i", data[-8:-4])[0], len(data))]
    return [(0, 4 * _blocks(subject, data))]


def _layout(subject: Subject, name: str) -> str:
    """The layout of a blob: z-level items are pairs in any (P6)."""
    return "SingleTimestep" if name.removesuffix(".dat") + ".idx" in subject.blobs else subject.layout


def _blocks(subject: Subject, data: bytes) -> int:
    """Blocks of a TimeSeries blob: the header whose lengths add up to the blob."""
    for count in range(1, min(9, len(data) // 4) + 1):
        lengths = struct.unpack_from(f"<{count}i", data)
        if min(lengths) >= 0 and 4 * count + sum(lengths) == len(data):
            return count
    raise AssertionError("no header of a TimeSeries blob fits")


def page_ranges(subject: Subject, name: str) -> list[tuple[int, int]]:
    """The bytes of each stored page of a compressed blob."""
    data = subject.blobs[name]
    if subject.compression == "None" or name.endswith(".idx"):
        return []
    at = 0
    layout = _layout(subject, name)
    if layout == "SingleTimestep":
        lengths = _ints(subject.blobs[name.removesuffix(".dat") + ".idx"])
    elif layout == "MultiTimestep":
        lengths = _ints(data[len(data) - 8 - struct.unpack("<i", data[-8:-4])[0]:-8])
    else:
        at = 4 * _blocks(subject, data)
        lengths = _ints(data[:at])
    found = []
    for length in lengths:
        if length:
            found.append((at, at + length))
        at += length
    return found


def _ints(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 4}i", data)


def _index(name: str, before: bytes, start: int, stop: int) -> Iterator[Mutation]:
    for at in range(start, stop):
        for bit in range(8):
            yield Mutation(name, _flip(before, at, bit), "index", f"bit {bit} of byte {at}")
    for at in range(start, stop - 3, 4):
        for value in _INTS:
            yield Mutation(name, before[:at] + struct.pack("<i", value) + before[at + 4:], "index", f"{value} at {at}")
        if at + 8 <= stop:
            swapped = before[at + 4:at + 8] + before[at:at + 4]
            yield Mutation(name, before[:at] + swapped + before[at + 8:], "moved", f"swapped at {at}")
            first, second = struct.unpack_from("<ii", before, at)
            moved = struct.pack("<ii", max(first + 1, -2**31), max(second - 1, -2**31))
            yield Mutation(name, before[:at] + moved + before[at + 8:], "index", f"a byte moved at {at}")


def _page(subject: Subject, name: str, before: bytes, start: int, stop: int) -> Iterator[Mutation]:
    """The header of a page (its checksum made right), and its first bytes as they are."""
    end = stop - 4 if subject.version >= 3 else stop
    for at in range(start, min(end, start + 40)):
        for value in {before[at] ^ 1 << bit for bit in range(8)} | {0, 255}:
            block = before[start:at] + bytes([value]) + before[at + 1:end]
            page = _crc(block) if subject.version >= 3 else block
            yield Mutation(name, before[:start] + page + before[stop:], "page", f"byte {at} = {value}")
    yield Mutation(name, _flip(before, start, 0), "bytes", f"bit 0 of byte {start}")
    yield Mutation(name, _flip(before, stop - 1, 7), "bytes", f"bit 7 of byte {stop - 1}")


def _cuts(name: str, before: bytes) -> Iterator[Mutation]:
    kind = "domain" if name.startswith("domain-") else "bytes"
    for length in sorted({0, 1, 3, 4, 7, 8, len(before) // 2, len(before) - 9, len(before) - 4, len(before) - 1}):
        if 0 <= length < len(before):
            yield Mutation(name, before[:length], kind, f"cut at {length}")
    for more in (b"\0", b"\0\0\0\0", b"MDPI", before):
        yield Mutation(name, before + more, kind, f"{len(more)} bytes more")
    yield Mutation(name, None, kind, "gone")
    yield Mutation(name, bytes(len(before)), kind, "zeros")
    yield Mutation(name, b"\xff" * len(before), kind, "ones")


# ------------------------------------------------------------------------------------------------- random

def _random(subject: Subject, rng: random.Random) -> Mutation:
    """Some bytes anywhere, checksums made right half of the time where there are any."""
    name = rng.choice(sorted(subject.blobs))
    before = subject.blobs[name]
    change: Callable[[bytearray], None] = rng.choice((_some_bytes, _some_run, _some_int))(rng)
    if name == "dataset.json" or rng.random() < 0.3:
        data = bytearray(before)
        change(data)
        kind = {"dataset.json": "document"}.get(name, "domain" if name.startswith("domain-") else "bytes")
        return Mutation(name, bytes(data), kind, "random bytes")
    if name.startswith("domain-"):
        data = bytearray(before[:-4])
        change(data)
        return Mutation(name, _crc(bytes(data)), "domain", "random bytes, checksum right")
    pages = page_ranges(subject, name)
    if not pages:
        data = bytearray(before)
        change(data)
        return Mutation(name, bytes(data), "bytes", "random bytes")
    start, stop = rng.choice(pages)
    tail = 4 if subject.version >= 3 else 0
    block = bytearray(before[start:stop - tail])
    change(block)
    page = _crc(bytes(block)) if tail else bytes(block)
    return Mutation(name, before[:start] + page + before[stop:], "page", f"random bytes in the page at {start}")


def _some_bytes(rng: random.Random) -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)

    return change


def _some_run(rng: random.Random) -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        start = rng.randrange(len(data))
        stop = min(len(data), start + rng.randint(1, 12))
        data[start:stop] = rng.randbytes(stop - start)

    return change


def _some_int(rng: random.Random) -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        if len(data) >= 4:
            at = rng.randrange(len(data) - 3)
            data[at:at + 4] = struct.pack("<i", rng.choice(_INTS))

    return change


def _flip(data: bytes, at: int, bit: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:]
