"""The codecs without a transform: their streams are what other software reads (C3, C4)."""

from __future__ import annotations

import subprocess
import sys
import zlib

import lz4.block
import numpy as np
import pytest

from mdstudio.engine.codecs import backends, codec
from mdstudio.engine.errors import DamagedDataError
from tests.engine.codecs.fields import field


@pytest.mark.rule("C3")
@pytest.mark.parametrize("name", ["DeflateFast", "DeflateOptimal"])
def test_deflate_is_a_raw_rfc_1951_stream(name: str) -> None:
    elements = field("smooth", "int16", (50, 50))
    assert zlib.decompress(codec(name).encode(elements), wbits=-15) == elements.tobytes()
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    out = np.zeros_like(elements)
    codec(name).decode(stream.compress(elements.tobytes()) + stream.flush(), out)
    assert out.tobytes() == elements.tobytes()


@pytest.mark.rule("C3")
def test_optimal_is_smaller_than_fast() -> None:
    elements = field("smooth", "int32", (128, 128))
    assert len(codec("DeflateOptimal").encode(elements)) < len(codec("DeflateFast").encode(elements))


@pytest.mark.rule("C4")
def test_lz4_is_a_raw_block_without_a_size() -> None:
    elements = field("sparse", "float32", (40, 40))
    block = codec("LZ4").encode(elements)
    assert lz4.block.decompress(block, uncompressed_size=elements.nbytes) == elements.tobytes()


@pytest.mark.rule("C4")
def test_lz4_reads_the_elements_and_the_whole_buffer_of_a_tile() -> None:
    tile = field("smooth", "int16", (16, 16))
    elements = tile.reshape(-1)[:120].reshape(12, 10).copy()
    for block in (codec("LZ4").encode(elements), codec("LZ4").encode(tile)):
        out = np.zeros_like(elements)
        codec("LZ4").decode(block, out, full_bytes=tile.nbytes)
        assert out.tobytes() == elements.tobytes()
    with pytest.raises(DamagedDataError):
        codec("LZ4").decode(codec("LZ4").encode(tile), np.zeros_like(elements))
    for count in (119, 121, 255):
        wrong = codec("LZ4").encode(tile.reshape(-1)[:count].copy())
        with pytest.raises(DamagedDataError, match="expected"):
            codec("LZ4").decode(wrong, np.zeros_like(elements), full_bytes=tile.nbytes)


@pytest.mark.rule("C3")
def test_without_libdeflate_the_standard_library_reads_and_writes_the_same_streams() -> None:
    code = """
import sys; sys.modules["deflate"] = None
import numpy as np
from mdstudio.engine.codecs import backends, codec
assert backends._libdeflate is None
a = np.arange(5000, dtype=np.int16).reshape(50, 100) % 977
for name in ("DeflateFast", "DeflateOptimal", "DeflateOptimalAuto"):
    block, out = codec(name).encode(a), np.zeros_like(a)
    codec(name).decode(block, out)
    assert (a == out).all()
    sys.stdout.write(block.hex() + "\\n")
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    expected = np.arange(5000, dtype=np.int16).reshape(50, 100) % 977
    for name, block in zip(("DeflateFast", "DeflateOptimal", "DeflateOptimalAuto"), out, strict=True):
        found = np.zeros_like(expected)
        codec(name).decode(bytes.fromhex(block), found)
        assert (found == expected).all()


@pytest.mark.rule("C5")
def test_a_zstd_frame_states_its_size_and_ends_a_block_after_each_plane() -> None:
    parts = [memoryview(np.random.default_rng(i).bytes(1000)) for i in range(3)]
    frame = backends.zstd_compress(parts, 7)
    assert frame[:4] == bytes.fromhex("28b52ffd")
    assert backends.zstd_decompress(frame, 3000) == b"".join(parts)
    blocks, at = 0, 6 + 1  # magic, descriptor, two bytes of content size; then block headers of three bytes
    while True:
        header = int.from_bytes(frame[at : at + 3], "little")
        blocks, at = blocks + 1, at + 3 + (header >> 3 if header >> 1 & 3 != 1 else 1)
        if header & 1:
            break
    assert blocks == 3
    assert at == len(frame)
