"""Every codec gives every array back to the bit (C2)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mdstudio.engine.codecs import NAMES, codec, describe_block, new_probe
from mdstudio.engine.model import DTYPES, Hint
from tests.engine.codecs.fields import KINDS, SHAPES, Array, every_field, field


def assert_round_trip(name: str, elements: Array, block: bytes) -> None:
    out = np.full(elements.shape, 0xA5, dtype=np.uint8).astype(elements.dtype)
    codec(name).decode(block, out)
    assert out.tobytes() == elements.tobytes()
    assert len(block) <= codec(name).max_encoded(elements.nbytes)


@pytest.mark.rule("C2", "K7", "P10")
@pytest.mark.parametrize("name", NAMES)
def test_every_type_shape_and_kind_of_field_comes_back_to_the_bit(name: str) -> None:
    probe = new_probe(name)
    for label, elements in every_field():
        block = codec(name).encode(elements)
        assert_round_trip(name, elements, block)
        assert codec(name).encode(elements) == block, f"{label}: not the same twice"
        assert_round_trip(name, elements, codec(name).encode(elements, probe))


@pytest.mark.rule("C2")
@settings(max_examples=150, deadline=None)
@given(
    hnp.arrays(
        dtype=st.sampled_from([np.dtype(name) for name in DTYPES]),
        shape=hnp.array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=40),
    )
)
def test_arrays_of_any_bits_come_back_to_the_bit(elements: Array) -> None:
    for name in NAMES:
        assert_round_trip(name, elements, codec(name).encode(elements))


@pytest.mark.rule("C2", "K7")
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_data_of_any_kind_is_only_a_guess(dtype: str) -> None:
    elements = field("ends", dtype, (40, 40))
    for no_data in (None, 0, -1, 255, 1e20, float("nan"), float("inf"), -32767, 2**64, elements.flat[0].item()):
        for name in ("ZstdAuto", "DeflateOptimalAuto"):
            assert_round_trip(name, elements, codec(name).encode(elements, None, (), no_data))


@pytest.mark.rule("C2", "C5")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_wrong_hints_change_nothing_but_the_size(dtype: str) -> None:
    hints = (
        Hint(1, 0.01, 5.0),
        Hint(2, 0.1, 3.0),
        Hint(3, 7.0),
        Hint(4, 0.5, 1.0, 0.1),
        Hint(1, 5e-324),
        Hint(1, 1e308, 1e308),
        Hint(9, 1.0),
        Hint(1, 0.0),
        Hint(1, float("nan")),
        Hint(1, 1.0, float("inf")),
    )
    for kind in KINDS:
        elements = field(kind, dtype, (33, 20))
        for hint in hints:
            assert_round_trip("ZstdAuto", elements, codec("ZstdAuto").encode(elements, None, (hint,)))


@pytest.mark.rule("C5")
@pytest.mark.parametrize(
    ("dtype", "hint"),
    [
        ("float32", Hint(1, 0.0013179950193703076, 389.63283727841815)),
        ("float64", Hint(1, 0.0013179950193703076, 389.63283727841815)),
        ("float32", Hint(2, float(np.float32(0.0013)), float(np.float32(273.15)))),
        ("float32", Hint(3, 100.0)),
        ("float64", Hint(3, 1000.0, 7.5)),
        ("float64", Hint(4, 0.125, 2731.5, 0.1)),
        ("float32", Hint(4, 0.25, -40.0, 0.01)),
    ],
)
def test_the_sources_own_arithmetic_makes_floats_as_small_as_their_integers(dtype: str, hint: Hint) -> None:
    from mdstudio.engine.codecs._numpy import lattice_values

    k = field("smooth", "int16", (96, 96)).astype(np.int64)
    bits = np.empty(k.size, dtype=f"<u{np.dtype(dtype).itemsize}")
    lattice_values(k, bits, bits.itemsize, hint.arithmetic, hint.scale, hint.offset, hint.factor)
    elements = bits.view(dtype).reshape(k.shape)
    block = codec("ZstdAuto").encode(elements, None, (hint,))
    assert_round_trip("ZstdAuto", elements, block)
    assert describe_block("ZstdAuto", block).key == "quantised"
    assert len(block) <= len(codec("ZstdAuto").encode(k.astype(np.int16))) + 40


@pytest.mark.rule("C2")
@pytest.mark.parametrize("name", NAMES)
def test_what_a_codec_cannot_take_is_a_programming_error(name: str) -> None:
    for wrong in (np.zeros((4, 4), dtype=np.int16)[:, ::2], np.zeros(3, dtype=">i2"), np.zeros((0, 3), dtype=np.int16)):
        with pytest.raises(ValueError, match="takes"):
            codec(name).encode(wrong)


@pytest.mark.rule("C2")
def test_shapes_cover_one_row_one_column_and_beyond_a_chunk() -> None:
    assert {(1,), (300, 1), (5, 1100)} <= set(SHAPES)
