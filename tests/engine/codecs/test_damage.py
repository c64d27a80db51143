"""Garbage, mutations and blocks of something else are refused, never decoded into wrong numbers (C8, P10)."""

from __future__ import annotations

import numpy as np
import pytest

from mdstudio.engine.codecs import NAMES, codec, describe_block, is_auto
from mdstudio.engine.codecs.block import Header, Lattice, pack
from mdstudio.engine.codecs.forms import COMPACT, D1, DICT, FILL, INT, LATTICE, STORED, Form
from mdstudio.engine.errors import DamagedDataError
from tests.engine.codecs.fields import KINDS, Array, field

AUTO = tuple(name for name in NAMES if is_auto(name))


def decode(name: str, block: bytes, like: Array) -> Array | None:
    """The elements, or None where the block is refused."""
    out = np.zeros_like(like)
    try:
        codec(name).decode(block, out)
    except DamagedDataError:
        return None
    return out


@pytest.mark.rule("C8", "C9")
@pytest.mark.parametrize("name", NAMES)
def test_garbage_is_refused_or_of_the_right_length(name: str) -> None:
    rng = np.random.default_rng(5)
    for size in (0, 1, 3, 4, 5, 11, 12, 40, 500, 5000):
        for _ in range(20):
            garbage = rng.bytes(size)
            for like in (np.zeros((16, 16), dtype=np.int16), np.zeros(9, dtype=np.float64)):
                decode(name, garbage, like)  # must not crash, hang or raise anything else
                if is_auto(name) and size:
                    assert decode(name, bytes([0x12]) + garbage, like) is None


@pytest.mark.rule("C8")
@pytest.mark.parametrize("name", AUTO)
def test_a_block_of_something_else_is_refused(name: str) -> None:
    elements = field("smooth", "int16", (20, 30))
    block = codec(name).encode(elements)
    for like in (
        np.zeros((20, 30), dtype=np.uint16),
        np.zeros((20, 30), dtype=np.float32),
        np.zeros((30, 20), dtype=np.int16),
        np.zeros((20, 29), dtype=np.int16),
        np.zeros((21, 30), dtype=np.int16),
        np.zeros(600, dtype=np.int16),
    ):
        with pytest.raises(DamagedDataError, match="expected"):
            codec(name).decode(block, like)


@pytest.mark.rule("C8")
@pytest.mark.parametrize("name", NAMES)
def test_missing_and_trailing_bytes_are_refused(name: str) -> None:
    for kind in KINDS:
        for dtype in ("int8", "int16", "float32", "float64"):
            elements = field(kind, dtype, (17, 19))
            block = codec(name).encode(elements)
            for cut in {1, 2, len(block) // 2, len(block) - 1, len(block)}:
                assert decode(name, block[: len(block) - cut], elements) is None
            for extra in (b"\0", b"\xff" * 3, b"\0" * 700):
                found = decode(name, block + extra, elements)
                # A plain deflate stream ends by itself and its decoder does not see what follows.
                assert found is None or (name.startswith("DeflateF") or name == "DeflateOptimal")
                assert found is None or found.tobytes() == elements.tobytes()


@pytest.mark.rule("C8")
@pytest.mark.parametrize("name", AUTO)
def test_every_change_of_one_header_bit_is_refused_or_changes_only_values(name: str) -> None:
    """A flipped base or lattice number gives other values (the page checksum finds it); nothing else may pass."""
    for kind in KINDS:
        for dtype in ("int16", "float32"):
            elements = field(kind, dtype, (24, 16))
            block = codec(name).encode(elements)
            for at in range(min(len(block), 2 + describe_block(name, block).header_bytes)):
                for bit in range(8):
                    mutated = bytearray(block)
                    mutated[at] ^= 1 << bit
                    out = np.zeros_like(elements)
                    try:
                        codec(name).decode(bytes(mutated), out)
                    except DamagedDataError:
                        continue
                    assert at > 0, "a version or backend of no build was read"


@pytest.mark.rule("C8")
@pytest.mark.parametrize("name", NAMES)
def test_mutations_never_crash(name: str) -> None:
    rng = np.random.default_rng(11)
    for kind in KINDS:
        for dtype in ("uint8", "int32", "float32", "float64"):
            elements = field(kind, dtype, (15, 40))
            block = codec(name).encode(elements)
            for _ in range(15):
                mutated = bytearray(block)
                for at in rng.integers(0, len(block), int(rng.integers(1, 4))):
                    mutated[at] = rng.integers(0, 256)
                decode(name, bytes(mutated), elements)


def stored(h: Header, payload: bytes) -> bytes:
    return pack(h) + payload


@pytest.mark.rule("C8")
def test_numbers_out_of_range_are_refused() -> None:
    floats = np.zeros(8, dtype=np.float32)
    planes = bytes(range(8))

    def lattice(**changes: object) -> bytes:
        numbers: dict[str, object] = {"arithmetic": 1, "scale": 0.5, "offset": 1.0, "base": 0, **changes}
        base = numbers.pop("base")
        form = Form(STORED, LATTICE, D1, 1, 8, 0, 1)
        header = Header(form, 1, 8, base=base, lattice=Lattice(**numbers))  # type: ignore[arg-type]
        return stored(header, planes)

    assert decode("ZstdAuto", lattice(), floats) is not None
    for changes in (
        {"arithmetic": 0},
        {"arithmetic": 5},
        {"scale": 0.0},
        {"scale": float("nan")},
        {"scale": float("inf")},
        {"offset": float("inf")},
        {"arithmetic": 4, "factor": 0.0},
        {"arithmetic": 2, "scale": 0.1},
        {"arithmetic": 2, "scale": 1e300},
        {"base": 1 << 53},
        {"base": -(1 << 53)},
        {"shift": float("nan")},
    ):
        assert decode("ZstdAuto", lattice(**changes), floats) is None, changes
    numbers = np.zeros(8, dtype=np.int32)
    for form, header, payload in (
        (Form(STORED, DICT, 0, 1, 4, 0, 1), {"table": 2}, bytes(8) + bytes([0, 1, 2, 0, 0, 0, 0, 0])),
        (Form(STORED, DICT, 0, 1, 4, 0, 1), {"table": 9}, bytes(36) + bytes(8)),
        (Form(STORED, DICT, 0, 1, 4, 0, 1), {"table": 0}, bytes(8)),
        (Form(STORED, INT, 0, 1, 4, FILL, 1), {"pattern": 7, "valid": 8}, bytes(1) + bytes(8)),
        (Form(STORED, INT, 0, 1, 4, FILL, 1), {"pattern": 7, "valid": 0}, b"\xff" + bytes(8)),
        (Form(STORED, INT, 0, 1, 4, FILL, 1), {"pattern": 7, "valid": 5}, b"\x03" + bytes(8)),
        (Form(STORED, INT, 0, 1, 4, COMPACT, 1), {"pattern": 7, "valid": 5}, b"\x0f" + bytes(5)),
    ):
        assert decode("ZstdAuto", stored(Header(form, 1, 8, **header), payload), numbers) is None, (form, header)


@pytest.mark.rule("C8", "P10")
def test_a_header_that_claims_gigabytes_allocates_nothing() -> None:
    import tracemalloc

    form = Form(STORED, INT, D1, 2, 2, 0, 2)
    block = stored(Header(form, 1 << 20, 1 << 11), bytes(100))
    like = np.zeros((16, 16), dtype=np.int16)
    frame = codec("ZstdAuto").encode(np.arange(1 << 20, dtype=np.int64).reshape(1024, 1024))
    tracemalloc.start()
    assert decode("ZstdAuto", block, like) is None
    assert decode("ZstdAuto", frame, like) is None
    assert decode("ZstdAuto", pack(Header(Form(2, INT, D1, 2, 2, 0, 2), 16, 16)) + frame[20:], like) is None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 17


@pytest.mark.rule("C8")
@pytest.mark.parametrize("name", AUTO)
def test_the_header_can_be_described_without_decoding(name: str) -> None:
    elements = field("smooth", "int16", (20, 30))
    block = codec(name).encode(elements)
    info = describe_block(name, block)
    assert (info.dtype, info.count, info.row_length) == ("int16", 600, 30)
    assert info.backend == ("deflate" if name.startswith("Deflate") else "zstd")
    assert info.key.startswith("delta")
    assert 6 <= info.header_bytes <= 16
    assert describe_block(name, block[: info.header_bytes]) == info
    with pytest.raises(DamagedDataError):
        describe_block(name, b"\x00" * 20)
