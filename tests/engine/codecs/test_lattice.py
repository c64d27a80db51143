"""The arithmetic of quantised floats: each operation rounded by itself, on any machine (C2, C5).

The oracle is exact: rationals, rounded once an operation.
"""

from __future__ import annotations

import struct
from fractions import Fraction

import numpy as np
import pytest

from mdstudio.engine.codecs import _numpy, codec
from mdstudio.engine.codecs.block import Header, Lattice, pack
from mdstudio.engine.codecs.forms import LATTICE, NONE, STORED, Form
from mdstudio.engine.codecs.kernels import kernels

MODULES = (kernels, _numpy)
K = range(0, 4096, 3)
# Chosen so that a fused multiply-add changes values; the share is asserted below.
VECTORS = (
    (1, "float64", 0.0005335360526703865, -0.9424741044521164, 1.0),
    (1, "float64", -0.00014464652924695, 3.50254559516907, 1.0),
    (2, "float32", float(np.float32(-2.3787688e-05)), float(np.float32(0.3410598)), 1.0),
    (4, "float64", 0.1, -271.5, 0.1),
)


def rounded(value: Fraction, dtype: str) -> Fraction:
    """To the nearest float, ties to even; the conversion of a fraction to float rounds once."""
    wide = float(value)
    if dtype == "float64":
        return Fraction(wide)
    near = np.float32(wide)
    below, above = np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))
    best = min((abs(Fraction(float(one)) - value), one.view(np.uint32) & 1, float(one)) for one in (below, near, above))
    return Fraction(best[2])


def exact(arithmetic: int, dtype: str, k: int, s: float, o: float, d: float, *, fused: bool) -> float:
    """One value; `fused` leaves out the rounding of the product."""
    inner = "float32" if arithmetic == 2 else "float64"
    start = rounded(Fraction(k), inner)
    product = start / Fraction(s) if arithmetic == 3 else start * Fraction(s)
    total = rounded((product if fused else rounded(product, inner)) + Fraction(o), inner)
    if arithmetic == 4:
        total = rounded(total * Fraction(d), inner)
    return float(rounded(total, dtype))


def block_of(arithmetic: int, dtype: str, s: float, o: float, d: float, shift: float | None = None) -> bytes:
    """A stored block of the integers K, built by hand."""
    k = np.array(K, dtype=np.uint16)
    form = Form(STORED, LATTICE, NONE, 2, 8 if dtype == "float32" else 9, 0, 2)
    header = Header(form, 1, k.size, lattice=Lattice(arithmetic, s, o, d, shift))
    return pack(header) + k.view(np.uint8).reshape(-1, 2).T.tobytes()


@pytest.mark.rule("C2", "C5", "C9")
@pytest.mark.parametrize("vector", VECTORS)
def test_decoding_uses_no_fused_multiply_add(vector: tuple[int, str, float, float, float]) -> None:
    arithmetic, dtype, s, o, d = vector
    plain = np.array([exact(arithmetic, dtype, k, s, o, d, fused=False) for k in K], dtype=dtype)
    fused = np.array([exact(arithmetic, dtype, k, s, o, d, fused=True) for k in K], dtype=dtype)
    assert np.count_nonzero(plain != fused) >= 20, "the vector would not notice"
    out = np.zeros(plain.size, dtype=dtype)
    codec("ZstdAuto").decode(block_of(*vector), out)
    assert out.tobytes() == plain.tobytes()


@pytest.mark.rule("C2", "C5")
@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.NAME))
@pytest.mark.parametrize(
    ("arithmetic", "dtype", "s", "o", "d"),
    [*VECTORS, (1, "float32", 0.01, 5.0, 1.0), (3, "float32", 100.0, 0.0, 1.0), (3, "float64", 1000.0, 0.7, 1.0)],
)
def test_encoding_finds_the_integers_of_exact_values(
    module: object, arithmetic: int, dtype: str, s: float, o: float, d: float
) -> None:
    values = np.array([exact(arithmetic, dtype, k, s, o, d, fused=False) for k in K], dtype=dtype)
    k, escapes = np.zeros(values.size, dtype=np.int64), np.zeros(64, dtype=np.uint32)
    size = values.itemsize
    answer = module.lattice_map(values, size, arithmetic, s, o, d, k, escapes, 0)  # type: ignore[attr-defined]
    assert answer == (0, K[-1], 0)
    assert (k == np.array(K)).all()


@pytest.mark.rule("C2", "C5")
def test_a_post_shift_is_one_more_float32_addition() -> None:
    out = np.zeros(len(K), dtype=np.float32)
    codec("ZstdAuto").decode(block_of(1, "float32", 0.01, 250.0, 1.0, shift=-273.15), out)
    inner = [exact(1, "float32", k, 0.01, 250.0, 1.0, fused=False) for k in K]
    c = Fraction(struct.unpack("<f", struct.pack("<f", -273.15))[0])
    expected = np.array([float(rounded(Fraction(x) + c, "float32")) for x in inner], dtype=np.float32)
    assert out.tobytes() == expected.tobytes()


@pytest.mark.rule("C2", "C5")
def test_minus_zero_and_a_few_strays_are_escapes() -> None:
    from mdstudio.engine.codecs.block import parse
    from mdstudio.engine.codecs.transforms import Tile, Transform
    from mdstudio.engine.model import Hint

    elements = (np.arange(400).reshape(20, 20) / 100).astype(np.float32)
    elements[0, 0], elements[3, 3], elements[19, 19] = -0.0, np.float32(0.123456), np.inf
    coded = Tile(elements, None).code(Transform(LATTICE, hint=Hint(3, 100.0)), ranked=False)
    assert coded is not None
    one = codec("ZstdAuto")
    block = one._compress(coded)  # type: ignore[attr-defined]
    assert parse(block).escapes == 3
    out = np.zeros_like(elements)
    one.decode(block, out)
    assert out.tobytes() == elements.tobytes()


@pytest.mark.rule("C5")
def test_floats_on_a_decimal_or_binary_step_need_no_hint() -> None:
    from mdstudio.engine.codecs import describe_block

    rng = np.random.default_rng(8)
    walk = np.cumsum(np.cumsum(rng.normal(size=(64, 64)), axis=0), axis=1)
    for values in (np.round(walk, 1), np.round(walk, 2), np.round(walk * 32) / 32):
        for dtype in ("float32", "float64"):
            block = codec("ZstdAuto").encode(values.astype(dtype))
            assert describe_block("ZstdAuto", block).key == "quantised"


@pytest.mark.rule("C2", "C5")
def test_an_extension_built_with_contraction_is_not_used() -> None:
    from types import ModuleType

    from mdstudio.engine.codecs.kernels import rounds_each_operation

    def contracted(k: bytes, out: bytearray, size: int, arithmetic: int, s: float, o: float, d: float) -> None:
        values = [float(Fraction(one) * Fraction(s) + Fraction(o)) for (one,) in struct.iter_unpack("<q", k)]
        out[:] = struct.pack(f"<{len(values)}d", *values)

    fused = ModuleType("fused")
    fused.lattice_values = contracted  # type: ignore[attr-defined]
    assert not rounds_each_operation(fused)
    assert all(map(rounds_each_operation, MODULES))
