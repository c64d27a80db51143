"""The compressors behind the codecs: raw deflate, zstd frames, LZ4 blocks.

Each decompressor gives exactly the bytes asked for or raises `DamagedDataError`; it never allocates more than that.
zstd contexts belong to one thread each: shared ones gave wrong bytes and crashes.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Sequence

import lz4.block
import zstandard

from mdstudio.engine.errors import DamagedDataError

try:
    import deflate as _libdeflate
except ImportError:  # the standard library reads and writes the same streams, several times slower
    _libdeflate = None  # type: ignore[assignment]

Bytes = bytes | bytearray | memoryview

_RAW_DEFLATE = -15  # zlib's window bits for a stream without header and checksum
_contexts = threading.local()


def crc32(data: Bytes) -> int:
    """The CRC-32 of zlib and PNG."""
    return _libdeflate.crc32(data) if _libdeflate is not None else zlib.crc32(data)  # 15 times as fast


def deflate_compress(data: Bytes, level: int) -> bytes:
    """A raw deflate stream (RFC 1951)."""
    if _libdeflate is not None:
        return bytes(_libdeflate.deflate_compress(data, level))
    return zlib.compress(data, level, wbits=_RAW_DEFLATE)


def deflate_decompress(data: Bytes, size: int) -> Bytes:
    """Exactly `size` bytes of a raw deflate stream."""
    if _libdeflate is not None and size > 0:
        try:
            raw: Bytes = _libdeflate.deflate_decompress(data, size)
        except (_libdeflate.DeflateError, ValueError) as error:
            raise DamagedDataError(f"the deflate stream does not decode to {size} bytes") from error
    else:
        raw = _zlib_decompress(data, size)
    if len(raw) != size:
        raise DamagedDataError(f"the deflate stream holds {len(raw)} bytes, expected {size}")
    return raw


def _zlib_decompress(data: Bytes, size: int) -> bytes:
    stream = zlib.decompressobj(_RAW_DEFLATE)
    try:
        raw = stream.decompress(data, size + 1)
    except zlib.error as error:
        raise DamagedDataError(f"the deflate stream does not decode: {error}") from error
    if len(raw) == size and not stream.eof:
        raise DamagedDataError("the deflate stream is cut short")
    return raw


def deflate_size(data: Bytes, most: int) -> int:
    """How many bytes a raw deflate stream holds, counted up to `most` + 1."""
    try:
        return len(zlib.decompressobj(_RAW_DEFLATE).decompress(data, most + 1))
    except zlib.error as error:
        raise DamagedDataError(f"the deflate stream does not decode: {error}") from error


def zstd_compress(parts: Sequence[Bytes], level: int) -> bytes:
    """One zstd frame (RFC 8878) with its content size; a zstd block ends with each part."""
    compressor = _zstd_compressor(level)
    if len(parts) == 1:
        return compressor.compress(parts[0])
    stream = compressor.compressobj(size=sum(len(part) for part in parts))
    pieces = []
    for part in parts[:-1]:
        pieces.append(stream.compress(part))
        pieces.append(stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
    pieces.append(stream.compress(parts[-1]))
    pieces.append(stream.flush())
    return b"".join(pieces)


def zstd_decompress(data: Bytes, size: int) -> bytes:
    """Exactly `size` bytes of one zstd frame, with nothing after it."""
    try:
        claimed = zstandard.frame_content_size(data)
        if claimed != size:
            raise DamagedDataError(f"the zstd frame claims {claimed} bytes, expected {size}")
        return zstd_decompressor()(data, 0, False, False)  # no bytes after the frame; by position: keywords cost 0.8 us
    except zstandard.ZstdError as error:
        raise DamagedDataError(f"the zstd frame does not decode: {error}") from error


def _zstd_compressor(level: int) -> zstandard.ZstdCompressor:
    by_level: dict[int, zstandard.ZstdCompressor] | None = getattr(_contexts, "compressors", None)
    if by_level is None:
        by_level = _contexts.compressors = {}
    compressor = by_level.get(level)
    if compressor is None:
        compressor = by_level[level] = zstandard.ZstdCompressor(level=level, write_content_size=True)
    return compressor


def zstd_decompressor() -> Callable[[Bytes, int, bool, bool], bytes]:
    """The calling thread's own `ZstdDecompressor.decompress`."""
    try:
        return _contexts.decompress  # type: ignore[no-any-return]
    except AttributeError:
        _contexts.decompress = zstandard.ZstdDecompressor().decompress
        return _contexts.decompress  # type: ignore[no-any-return]


def lz4_compress(data: Bytes) -> bytes:
    """A raw LZ4 block without a size in front."""
    return lz4.block.compress(data, store_size=False)  # type: ignore[no-any-return]


def lz4_decompress(data: Bytes, limit: int) -> bytes:
    """All the bytes of a raw LZ4 block, at most `limit`."""
    try:
        most = min(limit, 255 * len(data) + 64)  # no block decodes to more, whatever the metadata speaks of
        return lz4.block.decompress(data, uncompressed_size=most)  # type: ignore[no-any-return]
    except (lz4.block.LZ4BlockError, ValueError, OverflowError) as error:
        raise DamagedDataError(f"the LZ4 block does not decode to at most {limit} bytes") from error
