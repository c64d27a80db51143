"""Each transform by itself: every map, predictor and mask on every backend, whether or not it would win (C5)."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from mdstudio.engine.codecs import codec, describe_block, kernels
from mdstudio.engine.codecs.auto import AutoCodec
from mdstudio.engine.codecs.block import parse
from mdstudio.engine.codecs.forms import (
    BITS,
    BYTE_DELTA,
    COMPACT,
    DICT,
    FILL,
    FORD,
    INT,
    LATTICE,
    NO_MASK,
    NONE,
    PREDICTORS,
    RAW,
)
from mdstudio.engine.codecs.transforms import Tile, Transform
from mdstudio.engine.model import DTYPES, Hint
from tests.engine.codecs.fields import KINDS, Array, every_field, field

DECIMAL = Hint(3, 100.0)


def encode(name: str, elements: Array, transform: Transform, no_data: int | float | None = None) -> bytes | None:
    """A block by this transform, or None where it does not apply."""
    one = codec(name)
    assert isinstance(one, AutoCodec)
    coded = Tile(elements, no_data).code(transform, ranked=False)
    return None if coded is None else one._compress(coded)


def transforms(dtype: str) -> list[Transform]:
    number = FORD if dtype.startswith("float") else INT
    maps = [(number, None), (DICT, None)] + ([(LATTICE, DECIMAL)] if number == FORD else [])
    mapped = [
        Transform(kind, predictor, mask, hint)
        for kind, hint in maps
        for predictor in sorted(PREDICTORS)
        for mask in (NO_MASK, FILL, COMPACT)
    ]
    return [Transform(RAW), Transform(BITS), Transform(BITS, BYTE_DELTA), *mapped]


def with_holes(dtype: str, shape: tuple[int, ...], seed: int = 0) -> tuple[Array, float]:
    """Few distinct values on a decimal lattice, a third of them no-data: every transform applies."""
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.integers(-2, 3, int(np.prod(shape))) % 7) % 20
    if dtype.startswith("float"):
        values = np.where(rng.random(values.size) < 0.3, np.nan, np.round(values * 0.25, 2))
        return values.astype(dtype).reshape(shape), float("nan")
    values[rng.random(values.size) < 0.3] = 99
    return values.astype(dtype).reshape(shape), 99


@pytest.mark.rule("C5", "C2")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(40, 30), (1, 400), (400, 1), (2, 300), (3, 3), (300,)])
def test_every_transform_is_exactly_reversible(dtype: str, shape: tuple[int, ...]) -> None:
    elements, no_data = with_holes(dtype, shape)
    seen = set()
    for transform in transforms(dtype):
        for name in ("ZstdAuto", "DeflateOptimalAuto"):
            block = encode(name, elements, transform, no_data)
            if block is None:
                unmasked_nan = transform.map == LATTICE and not transform.mask
                assert elements.size < 10 or unmasked_nan, f"{transform} does not apply"
                continue
            out = np.zeros_like(elements)
            codec(name).decode(block, out)
            assert out.tobytes() == elements.tobytes(), transform
            form = parse(block).form
            assert (form.map, form.predictor, form.mask) == (transform.map, transform.predictor, transform.mask)
            seen.add(describe_block(name, block).transform)
    assert elements.size < 10 or len(seen) >= 55


@pytest.mark.rule("C2", "C5")
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_transform_takes_any_bits_or_says_that_it_does_not_apply(dtype: str) -> None:
    for kind in KINDS:
        elements = field(kind, dtype, (23, 31))
        for transform in transforms(dtype):
            block = encode("ZstdAuto", elements, transform)
            if block is not None:
                out = np.zeros_like(elements)
                codec("ZstdAuto").decode(block, out)
                assert out.tobytes() == elements.tobytes(), (kind, transform)


@pytest.mark.rule("C2")
def test_a_transform_kept_from_another_type_does_not_apply() -> None:
    whole, real = field("smooth", "int32", (9, 9)), field("smooth", "float32", (9, 9))
    for transform in (Transform(FORD), Transform(LATTICE, NONE, NO_MASK, DECIMAL)):
        assert encode("ZstdAuto", whole, transform) is None
    assert encode("ZstdAuto", real, Transform(INT)) is None


@pytest.mark.rule("C5")
def test_a_lattice_with_holes_is_coded_by_rank() -> None:
    rng = np.random.default_rng(3)
    k = rng.choice(np.array([0, 3, 900, 901, 40000, 700001]), (40, 40))
    elements = (k / 100).astype(np.float64)
    block = encode("ZstdAuto", elements, Transform(LATTICE, NONE, NO_MASK, DECIMAL))
    assert block is not None
    assert parse(block).table == 6
    assert parse(block).form.width == 1
    out = np.zeros_like(elements)
    codec("ZstdAuto").decode(block, out)
    assert out.tobytes() == elements.tobytes()


@pytest.mark.rule("C5", "D9")
@pytest.mark.skipif(
    kernels.kernels.NAME != "native", reason="the C extension is not built here: nothing to compare with"
)
def test_blocks_are_the_same_bytes_without_the_extension() -> None:
    code = (
        "from tests.engine.codecs.test_transforms import digests\n"
        "from mdstudio.engine.codecs.kernels import kernels\n"
        "assert kernels.NAME == 'numpy'\n"
        "print('\\n'.join(digests()))"
    )
    environ = {**os.environ, "MD_STUDIO_NO_NATIVE": "1"}
    found = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:-1] == digests()


def digests() -> list[str]:
    """Label and hash of the block of each field, competed for and by each transform."""
    lines = []
    for label, elements in every_field(((7,), (16, 16), (30, 41), (1, 1500))):
        block = codec("ZstdAuto").encode(elements, None, (DECIMAL,))
        lines.append(f"{label} {hashlib.sha256(block).hexdigest()}")
    for dtype in DTYPES:
        elements, no_data = with_holes(dtype, (20, 31))
        for transform in transforms(dtype):
            block = encode("ZstdAuto", elements, transform, no_data) or b""
            lines.append(f"{dtype} {transform} {hashlib.sha256(block).hexdigest()}")
    return lines
