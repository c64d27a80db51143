"""One page as stored bytes: checksums by version, no-data pages by bit pattern, the whole-buffer LZ4 of version 1."""

from __future__ import annotations

import zlib
from typing import Any

import lz4.block
import numpy as np
import pytest

from mdstudio.engine.codecs import NAMES, codec
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.layout.pages import PageEncoder, PageFormat, decode_page, no_data_pattern, page_format
from mdstudio.engine.model import Array, Item, ItemStorage

COMPRESSED = tuple(name for name in NAMES if name != "None")


def form(compression: str = "ZstdAuto", version: int | None = 3, no_data: Any = None, dtype: str = "int16",
         elements: int = 16) -> PageFormat:
    kept = ItemStorage("SingleTimestep", compression, layout_version=version)
    return page_format(Item("v", dtype, no_data=no_data), kept, elements)


def page(*shape: int, dtype: str = "<i2") -> Array:
    return (np.arange(np.prod(shape)) * 3 % 91).astype(dtype).reshape(shape)


def decoded(page_form: PageFormat, data: bytes, shape: tuple[int, ...]) -> Array:
    into = np.empty(shape, page_form.dtype)
    decode_page(page_form, data, into, "a.dat page 3")
    return into


@pytest.mark.rule("V1")
@pytest.mark.parametrize("compression", COMPRESSED)
def test_from_version_3_a_page_ends_with_the_crc_32_of_its_encoded_bytes(compression: str) -> None:
    elements = page(4, 4)
    stored = PageEncoder(form(compression)).encode(elements)
    assert stored[-4:] == zlib.crc32(stored[:-4]).to_bytes(4, "little")
    assert stored[:-4] == PageEncoder(form(compression, version=2)).encode(elements)
    plain = np.empty_like(elements)
    codec(compression).decode(stored[:-4], plain)
    assert plain.tobytes() == elements.tobytes()


@pytest.mark.rule("V1")
def test_raw_data_has_no_checksum() -> None:
    assert PageEncoder(form("None")).encode(page(4, 4)) == page(4, 4).tobytes()


@pytest.mark.rule("V1")
@pytest.mark.parametrize("compression", COMPRESSED)
def test_every_flipped_bit_is_found(compression: str) -> None:
    stored = PageEncoder(form(compression)).encode(page(4, 4))
    for bit in range(len(stored) * 8):
        broken = bytearray(stored)
        broken[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DamagedDataError) as caught:
            decoded(form(compression), bytes(broken), (4, 4))
        assert caught.value.where == "a.dat page 3"


@pytest.mark.rule("V1")
def test_a_page_too_short_for_a_checksum_is_refused() -> None:
    for stored in (b"x", b"xyza"):
        with pytest.raises(DamagedDataError, match="too short"):
            decoded(form(), stored, (4, 4))


@pytest.mark.rule("P5")
@pytest.mark.parametrize(("dtype", "no_data"), [
    ("int8", -1), ("uint8", 255), ("int16", -999), ("uint64", 2**64 - 1), ("int64", -2**63), ("float32", 1e20),
    ("float64", float("nan")), ("float32", float("nan")), ("float32", -0.0)])
def test_an_all_no_data_page_has_length_0_and_comes_back_to_the_bit(dtype: str, no_data: Any) -> None:
    page_form = form("DeflateFast", no_data=no_data, dtype=dtype)
    elements = np.full((3, 5), np.array(no_data).astype(dtype))
    assert PageEncoder(page_form).encode(elements) == b""
    assert decoded(page_form, b"", (3, 5)).tobytes() == elements.tobytes()
    assert PageEncoder(page_form).encode(elements, even_if_empty=True) != b""


@pytest.mark.rule("P5")
@pytest.mark.parametrize("at", [0, 7, 14])
def test_one_other_bit_makes_a_page_data(at: int) -> None:
    elements = np.full(15, np.nan, "<f4")
    elements.view("<u4")[at] ^= 1
    assert PageEncoder(form("DeflateFast", no_data=float("nan"), dtype="float32")).encode(elements.reshape(3, 5)) != b""


@pytest.mark.rule("P5")
def test_an_item_without_no_data_and_raw_data_have_no_empty_page() -> None:
    zeros = np.zeros((3, 5), "<i2")
    assert PageEncoder(form("DeflateFast")).encode(zeros) != b""
    assert len(PageEncoder(form("None", no_data=0)).encode(zeros)) == 30
    with pytest.raises(DamagedDataError):
        decoded(form("None", no_data=0), b"", (3, 5))


@pytest.mark.rule("P5", "K7")
def test_a_no_data_value_that_the_type_cannot_hold_has_no_pattern() -> None:
    for dtype, value in (("uint8", -1), ("int16", 40000), ("int32", 0.5), ("int8", float("nan")), ("uint8", 1e20)):
        assert no_data_pattern(Item("v", dtype, no_data=value)) is None
    assert no_data_pattern(Item("v", "int16", no_data=-999.0)) == np.int16(-999).tobytes()
    assert no_data_pattern(Item("v", "float32", no_data=1e300)) == np.float32(np.inf).tobytes()


@pytest.mark.rule("C4")
@pytest.mark.parametrize("version", [1, None])
def test_lz4_before_version_2_encodes_the_whole_buffer_with_what_the_page_before_left(version: int | None) -> None:
    encoder = PageEncoder(form("LZ4", version=version))
    first, second = page(4, 4), page(2, 3) + 100
    encoder.encode(first)
    buffer = np.frombuffer(lz4.block.decompress(encoder.encode(second), uncompressed_size=32), "<i2")
    assert buffer.tolist() == [*second.ravel().tolist(), *first.ravel().tolist()[6:]]


@pytest.mark.rule("C4")
def test_the_buffer_of_an_encode_chunk_begins_zeroed() -> None:
    stored = PageEncoder(form("LZ4", version=1)).encode(page(2, 3) + 1)
    buffer = np.frombuffer(lz4.block.decompress(stored, uncompressed_size=32), "<i2")
    assert buffer[6:].tolist() == [0] * 10


@pytest.mark.rule("C4")
@pytest.mark.parametrize("version", [2, 3])
def test_lz4_from_version_2_encodes_the_elements_alone(version: int) -> None:
    stored = PageEncoder(form("LZ4", version=version)).encode(page(2, 3))
    block = stored[:-4] if version == 3 else stored
    assert lz4.block.decompress(block, uncompressed_size=12) == page(2, 3).tobytes()


@pytest.mark.rule("C4")
@pytest.mark.parametrize("version", [1, None])
def test_a_reader_of_an_early_lz4_page_takes_either_length(version: int | None) -> None:
    page_form, elements = form("LZ4", version=version), page(2, 3)
    whole = PageEncoder(page_form).encode(elements)
    alone = lz4.block.compress(elements.tobytes(), store_size=False)
    assert decoded(page_form, whole, (2, 3)).tobytes() == elements.tobytes()
    assert decoded(page_form, alone, (2, 3)).tobytes() == elements.tobytes()
    with pytest.raises(DamagedDataError):
        decoded(page_form, lz4.block.compress(bytes(14), store_size=False), (2, 3))


@pytest.mark.rule("P10")
@pytest.mark.parametrize("compression", COMPRESSED)
def test_the_limit_of_a_page_is_what_its_codec_writes_at_most_and_its_checksum(compression: str) -> None:
    counts = np.array([16, 6, 16])
    most = [codec(compression).max_encoded(int(n) * 2) for n in counts]
    assert form(compression).limits(counts).tolist() == [m + 4 for m in most]
    assert form(compression, version=2).limits(counts).tolist() == most


@pytest.mark.rule("P10")
def test_the_limit_of_an_early_lz4_page_is_that_of_the_whole_buffer() -> None:
    assert form("LZ4", version=1).limits(np.array([6])).tolist() == [codec("LZ4").max_encoded(32)]
    assert form("None").limits(np.array([6, 4])).tolist() == [12, 8]
