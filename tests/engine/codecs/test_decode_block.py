"""The one call that decodes a whole block in C: the blocks that the reference reads, to the same bytes, and no others.

Every test runs with the registers of the processor and without; blocks go into rows that lie apart as well.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.codecs import _numpy, auto, backends, codec, inverse, is_auto
from mdstudio.engine.codecs.block import Header, Lattice, pack, parse
from mdstudio.engine.codecs.forms import (
    BITS,
    BYTE_DELTA,
    COMPACT,
    CONST,
    DICT,
    FORD,
    INT,
    LATTICE,
    PREDICTORS,
    RAW,
    STORED,
    Form,
)
from mdstudio.engine.codecs.transforms import UNSIGNED
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.model import DTYPES
from tests.engine.codecs.fields import KINDS, Array, field
from tests.engine.codecs.test_golden import GOLDEN, load

SHAPES = ((1, 1), (1, 7), (9, 1), (3, 5), (7, 33), (20, 128), (70, 130), (3, 1030), (1, 5000))
GAP = 5  # elements between the rows of a wider array


@pytest.fixture(scope="module", params=("wide", "plain"))
def native(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    try:
        module = importlib.import_module("mdstudio.engine.codecs._native")
    except ImportError:
        pytest.skip("the C extension is not built here: pip install -e . builds it where there is a C compiler")
    if not module.use_avx2(request.param == "wide") and request.param == "wide":
        pytest.skip("this processor has no AVX2")
    yield module
    module.use_avx2(True)


def in_c(native: ModuleType, block: bytes, into: Array) -> bool:
    dtype = DTYPES.index(into.dtype.name)
    done = native.decode_block(block, into, dtype, backends.zstd_decompressor(), backends.deflate_decompress)
    assert isinstance(done, bool)
    return done


def reference(block: bytes, like: Array) -> Array | None:
    """The elements by the functions of NumPy; None where the block is refused."""
    out = np.zeros_like(like)
    try:
        auto._decode(block, out)
    except DamagedDataError:
        return None
    return out


def same(native: ModuleType, block: bytes, like: Array) -> bool:
    """Whether both read the block; they must agree."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inverse, "kernels", _numpy)
        wanted = reference(block, like)
    out = np.zeros_like(like)
    assert in_c(native, block, out) == (wanted is not None)
    if wanted is None:
        return False
    assert out.tobytes() == wanted.tobytes()
    wide = np.full((like.shape[0] + 1, like.shape[1] + GAP), 7, like.dtype)
    assert in_c(native, block, wide[:-1, 2 : 2 + like.shape[1]])
    assert wide[:-1, 2 : 2 + like.shape[1]].tobytes() == wanted.tobytes()
    wide[:-1, 2 : 2 + like.shape[1]] = 7
    assert (wide == 7).all(), "elements beside the rows were written"
    return True


def made(rng: np.random.Generator, map_: int, predictor: int, dtype: int, mask: int, shape: tuple[int, int]) -> bytes:
    """A stored block of a form, with noise for planes where noise will do."""
    size = np.dtype(DTYPES[dtype]).itemsize
    bare = map_ in (RAW, BITS, CONST)
    width = size if bare else int(rng.choice([w for w in (1, 2, 4, 8) if w <= min(size, 2 if map_ == DICT else 8)]))
    planes = 0 if map_ in (RAW, CONST) else int(rng.integers(0, width + 1))
    ranked = map_ == LATTICE and width <= 2 and rng.random() < 0.3
    count = shape[0] * shape[1]
    h = Header(Form(STORED, map_, predictor, planes, dtype, mask, width), *shape, valid=count)
    parts = []
    if mask:
        bits = rng.random(count) < rng.choice([0.02, 0.5, 0.98])
        bits[0], bits[-1] = rng.random() < 0.5, False
        bits[count // 2] |= not bits.any()
        h.pattern, h.valid = int.from_bytes(rng.bytes(size), "little"), count - int(bits.sum())
        parts.append(np.packbits(bits, bitorder="little").tobytes())
    if map_ in (INT, FORD, CONST):
        h.base = int.from_bytes(rng.bytes(size), "little")
        h.shift = int(rng.integers(0, 8 * size)) if map_ == FORD and rng.random() < 0.5 else 0
    if map_ == DICT or ranked:
        h.table = min(h.coded, int(rng.integers(1, 70000)), 65535)
        parts.append(rng.bytes(h.table * (size if map_ == DICT else 4)))
    if map_ == LATTICE:
        arithmetic = int(rng.choice([1, 3, 4] if size == 8 else [1, 2, 3, 4]))
        scale, offset = float(np.float32(rng.normal())), float(np.float32(rng.choice([0.0, -0.0, 1e3, rng.normal()])))
        shift = float(np.float32(rng.normal())) if size == 4 and rng.random() < 0.3 else None
        h.lattice = Lattice(arithmetic, scale, offset, rng.normal() if arithmetic == 4 else 1.0, shift)
        h.base = int(rng.integers(-(1 << 40), 1 << 40))
        h.escapes = min(h.coded, int(rng.integers(1, 65))) if rng.random() < 0.3 else 0
    parts.append(rng.bytes(h.payload - sum(map(len, parts)) - h.escapes * (4 + size)))
    parts.append(rng.integers(0, h.coded, h.escapes).astype("<u4").tobytes() + rng.bytes(h.escapes * size))
    return pack(h) + b"".join(parts)


@pytest.mark.rule("C5", "C8", "D9")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_form_is_read_as_the_reference_reads_it(native: ModuleType, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape)
    read = dict.fromkeys(range(7), 0)
    for dtype, name in enumerate(DTYPES):
        number = (FORD, LATTICE) if name.startswith("float") else (INT,)
        forms = [(RAW, 0, 0), (BITS, 0, 0), (BITS, BYTE_DELTA, 0), (CONST, 0, 0)]
        masks = (0, 1, 2) if shape[0] * shape[1] > 1 else (0,)
        forms += [(map_, p, mask) for map_ in (*number, DICT) for p in sorted(PREDICTORS) for mask in masks]
        for map_, predictor, mask in forms:
            block = made(rng, map_, predictor, dtype, mask, shape)
            read[map_] += same(native, block, np.zeros(shape, name))
    assert all(read[map_] for map_ in (RAW, BITS, INT, FORD, LATTICE, CONST))


@pytest.mark.rule("C5", "C9")
@pytest.mark.parametrize("path", [path for path in GOLDEN if is_auto(load(path)[0])], ids=lambda path: path.stem)
def test_golden_blocks_are_read_in_c(native: ModuleType, path: Any) -> None:
    _, elements, block = load(path)
    assert same(native, block, elements.reshape(-1, elements.shape[-1]))


@pytest.mark.rule("C5")
@pytest.mark.parametrize("name", ["ZstdAuto", "DeflateOptimalAuto"])
def test_blocks_of_the_encoder_are_read_in_c(native: ModuleType, name: str) -> None:
    for kind in KINDS:
        for dtype in DTYPES:
            elements = field(kind, dtype, (37, 41))
            assert same(native, codec(name).encode(elements), elements)


@pytest.mark.rule("C8")
def test_what_is_damaged_is_refused_alike(native: ModuleType) -> None:
    rng = np.random.default_rng(3)
    read = tried = 0
    for path in GOLDEN:
        name, elements, block = load(path)
        if not is_auto(name):
            continue
        like = elements.reshape(-1, elements.shape[-1])
        header = parse(block).length
        damaged = [block[:cut] for cut in (*range(header + 1), len(block) - 1)] + [block + b"\0"]
        for _ in range(60):
            other = bytearray(block)
            other[int(rng.integers(0, header if rng.random() < 0.8 else len(block)))] ^= 1 << int(rng.integers(0, 8))
            damaged.append(bytes(other))
        for one in damaged:
            tried += 1
            read += same(native, one, like)
    assert 0 < read < tried / 2


@pytest.mark.rule("C8", "P10")
def test_a_frame_that_claims_more_than_the_page_is_not_given_to_the_decompressor(native: ModuleType) -> None:
    asked: list[int] = []
    elements = field("smooth", "int32", (64, 64))
    block = codec("ZstdAuto").encode(elements)
    h = parse(block)
    claims = block[: h.length] + codec("ZstdAuto").encode(np.arange(1 << 20).reshape(1024, 1024))[20:]
    for one in (claims, block[: h.length] + block[h.length + 1 :], block[: h.length + 5]):
        assert not native.decode_block(one, elements.copy(), 4, lambda *given: asked.append(1), None)
    assert not asked


@pytest.mark.rule("C8")
def test_arrays_that_no_codec_fills_are_left_alone(native: ModuleType) -> None:
    elements = field("smooth", "int32", (6, 8))
    block = codec("ZstdAuto").encode(elements)
    fixed = np.zeros((6, 8), np.int32)
    fixed.flags.writeable = False
    odd = np.zeros(6 * 8 * 4 + 1, np.uint8)[1:].view(np.int32).reshape(6, 8)
    columns_apart, backwards = np.zeros((6, 16), np.int32)[:, ::2], np.zeros((6, 8), np.int32)[::-1]
    for into in (fixed, odd, columns_apart, backwards, np.zeros((1, 6, 8), np.int32), np.zeros((0, 8), np.int32)):
        assert not in_c(native, block, into)
        assert not into.any()
    assert in_c(native, block, np.zeros(48, np.int32)) is False  # one row of 48 is another shape
    with pytest.raises(ValueError, match="aligned, writable"):
        codec("ZstdAuto").decode(block, fixed)
    for into in (columns_apart, backwards):  # the reference reads into any array
        codec("ZstdAuto").decode(block, into)
        assert into.tobytes() == elements.tobytes()


@pytest.mark.rule("C5")
def test_the_unpackers_agree_whatever_the_registers(native: ModuleType) -> None:
    """Long and short rows, beyond the chunk of the C loops: the row above is kept in another place."""
    rng = np.random.default_rng(8)
    for size in (1, 2, 4, 8):
        for rows, columns in ((1, 3000), (3, 1), (2, 257), (40, 256), (5, 1025), (2, 2500)):
            planes = rng.integers(0, 256, rows * columns * size, dtype=np.uint8)
            for predictor in PREDICTORS:
                out = [np.zeros(rows * columns, UNSIGNED[size]) for _ in range(2)]
                for kernels, one in zip((native, _numpy), out, strict=True):
                    kernels.unpack_keys(planes, size, size, rows, columns, predictor, one, size, 0, 5, 0)
                assert out[0].tobytes() == out[1].tobytes(), (size, rows, columns, predictor)


def test_masks_of_compact_blocks_cross_rows_and_chunks(native: ModuleType) -> None:
    rng = np.random.default_rng(2)
    for density in (0.001, 0.3, 0.7, 0.999):
        for columns in (1, 5, 8, 129, 2600):
            shape = (max(1, 2600 // columns), columns)
            block = made(rng, INT, 1, 4, COMPACT, shape)
            h = parse(block)
            bits = rng.random(h.count) < density
            bits[int(rng.integers(0, h.count))] = False
            bits[0] = True
            h.valid = h.count - int(bits.sum())
            if not 0 < h.valid < h.count:
                continue
            assert same(native, pack(h) + np.packbits(bits, bitorder="little").tobytes()
                        + rng.bytes(h.form.planes * h.valid), np.zeros(shape, np.int32))
