"""The coordinates of a grid or mesh in one blob, `domain-<hash>.bin`: content-addressed, restored to the bit
(format.md, "The domain blob").

Bytes: magic "MDDOMAIN", version (uint32), header length (uint32), header (UTF-8 JSON), the arrays one after the other,
CRC-32 of all bytes before it (uint32). The header lists the arrays with name, type, shape, codec and stored length.
"""

from __future__ import annotations

import hashlib
import math
import struct
import zlib
from typing import Any

import numpy as np

from mdstudio.engine.codecs import codec, describe_block
from mdstudio.engine.errors import DamagedDataError, MdError, NotFoundError, UnsupportedVersionError, UsageError
from mdstudio.engine.layout.domain_kinds import array_names, header_fields, make_domain
from mdstudio.engine.layout.fields import Fields, Json, from_bytes, to_bytes
from mdstudio.engine.model import DTYPES, Array, Domain
from mdstudio.engine.storage.protocol import BlobStorage
from mdstudio.engine.storage.resolving import write_resolved

MAGIC = b"MDDOMAIN"
VERSION = 1
_PREFIX = struct.Struct("<8sII")
_CODECS = ("None", "ZstdAuto")


def store_domain(storage: BlobStorage, domain: Domain) -> str:
    """Write the domain and return the name of its blob, which comes from the content alone: the same domain has the
    same name, whatever library compressed it.

    A blob of that name that is there already is left as it is. Writes at most one blob.
    """
    name = domain_name(domain)
    if not storage.exists(name):
        write_resolved(storage, name, render_domain(domain))
    return name


def domain_name(domain: Domain) -> str:
    """`domain-<16 hex digits>.bin`: of the SHA-256 of the header without codecs and lengths, then the raw arrays."""
    arrays = _arrays(domain)
    digest = hashlib.sha256(_header(domain, [_entry(name, values) for name, values in arrays.items()]))
    for values in arrays.values():
        digest.update(values.tobytes())
    return f"domain-{digest.hexdigest()[:16]}.bin"


def load_domain(storage: BlobStorage, name: str) -> Domain:
    """The domain in a blob; one blob is read. Raises `DamagedDataError` for bytes that are not what they should be."""
    try:
        data = storage.read(name).data
    except NotFoundError:
        raise DamagedDataError("The blob with the coordinates is missing.", where=name,
                               advice="Restore it from a copy, or import the data again.") from None
    return parse_domain(data, name)


def render_domain(domain: Domain) -> bytes:
    """The bytes of the blob."""
    entries: list[dict[str, Json]] = []
    blocks: list[bytes] = []
    for name, values in _arrays(domain).items():
        raw = values.tobytes()
        block = codec("ZstdAuto").encode(_rows(values))
        codec_name, stored = ("ZstdAuto", block) if len(block) < len(raw) else ("None", raw)
        entries.append(_entry(name, values) | {"Codec": codec_name, "Length": len(stored)})
        blocks.append(stored)
    header = _header(domain, entries)
    body = b"".join((_PREFIX.pack(MAGIC, VERSION, len(header)), header, *blocks))
    return body + struct.pack("<I", zlib.crc32(body))


def _arrays(domain: Domain) -> dict[str, Array]:
    """The arrays that the domain has, little-endian and C-contiguous, by stored name."""
    arrays: dict[str, Array] = {}
    for field, name in array_names(domain).items():
        values: Array | None = getattr(domain, field)
        if values is None:
            continue
        if values.dtype.name not in DTYPES or not values.size:
            raise UsageError(f"{values.size} coordinates {name} of type {values.dtype.name} cannot be stored.")
        arrays[name] = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return arrays


def _entry(name: str, values: Array) -> dict[str, Json]:
    return {"Name": name, "DataType": values.dtype.name, "Shape": list(values.shape)}


def _header(domain: Domain, entries: list[dict[str, Json]]) -> bytes:
    before, after = header_fields(domain)
    return to_bytes(before | {"Arrays": entries} | after, indent=None)


def _rows(values: Array) -> Array:
    """The 2-D form in which an array is one block: its first axis as rows, a 1-D array as one row."""
    return values.reshape(1, -1) if values.ndim == 1 else values.reshape(values.shape[0], -1)


def parse_domain(data: bytes, where: str) -> Domain:
    """The domain in the bytes of its blob; raises `DamagedDataError`, `UnsupportedVersionError` for a later format."""
    header, blocks = _split(data, where)
    fields = Fields(from_bytes(header, where), "", where)
    arrays = _parse_arrays(fields, blocks)
    return make_domain(fields, arrays)


def _split(data: bytes, where: str) -> tuple[bytes, memoryview]:
    """The header and the bytes of the arrays, after magic, version and checksum have been checked."""
    if len(data) < _PREFIX.size + 4 or data[:8] != MAGIC:
        raise DamagedDataError(f"Expected a domain blob, which begins with {MAGIC!r}, found {data[:8]!r}.", where=where)
    _, version, length = _PREFIX.unpack_from(data)
    stored, actual = struct.unpack("<I", data[-4:])[0], zlib.crc32(memoryview(data)[:-4])
    if stored != actual:
        raise DamagedDataError(f"The coordinates' checksum is {actual:08x}; the blob says {stored:08x}.", where=where,
                               advice="Restore the blob from a copy, or import the data again.")
    if version > VERSION:
        raise UnsupportedVersionError(f"The coordinates have format version {version}; this build knows {VERSION}.",
                                      where=where, advice="Open it with a newer build.")
    if version < 1 or _PREFIX.size + length + 4 > len(data):
        raise DamagedDataError(f"Version {version} and a header of {length} bytes cannot be in {len(data)} bytes.",
                               where=where)
    return data[_PREFIX.size:_PREFIX.size + length], memoryview(data)[_PREFIX.size + length:-4]


def _parse_arrays(fields: Fields, blocks: memoryview) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    start = 0
    for entry in fields.objects("Arrays"):
        name = entry.text("Name")
        dtype = np.dtype(entry.choice("DataType", {name: name for name in DTYPES})).newbyteorder("<")
        shape = entry.items("Shape")
        if not 1 <= len(shape) <= 3 or any(type(n) is not int or not 1 <= n < 2**31 for n in shape):
            raise entry.damaged("Shape", "one to three positive numbers")
        length = entry.integer("Length", 1, 2**62)
        if start + length > len(blocks) or name in arrays:
            raise entry.damaged("Length", f"one array {name} of at most {len(blocks) - start} bytes")
        codec_name = entry.choice("Codec", {name: name for name in _CODECS})
        block = blocks[start:start + length]
        arrays[name] = _decode(codec_name, block, dtype, tuple(shape), f"{fields.where} ({name})")
        start += length
    if start != len(blocks):
        raise DamagedDataError(f"The arrays take {start} bytes; the blob holds {len(blocks)}.", where=fields.where)
    return arrays


def _decode(codec_name: str, block: memoryview, dtype: np.dtype[Any], shape: tuple[int, ...], where: str) -> Array:
    """One array; memory is taken only for as many elements as the block itself says."""
    count = math.prod(shape)
    try:
        held = len(block) // dtype.itemsize if codec_name == "None" else describe_block(codec_name, bytes(block)).count
        if held != count:
            raise DamagedDataError(f"Expected {count} values, found {held}.", where=where)
        values = np.empty(shape, dtype)
        codec(codec_name).decode(block, _rows(values))
    except MdError as error:
        error.where = error.where or where
        raise
    except MemoryError:
        raise DamagedDataError(f"{count} values do not fit in memory.", where=where) from None
    values.setflags(write=False)
    return values
