"""Writes the golden blocks that are not there yet; never one that is: a stored format does not change (C9).

    python -m tests.engine.codecs.make_golden

Each file is named <codec>.<what>.<type>.<rows>x<row length>.bin and holds a u32 length, the elements, the block.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mdstudio.engine.codecs import codec
from mdstudio.engine.codecs._numpy import lattice_values
from mdstudio.engine.codecs.forms import (
    BITS,
    BYTE_DELTA,
    COMPACT,
    D1,
    DICT,
    FILL,
    FORD,
    INT,
    LATTICE,
    LOR,
    NO_MASK,
    NONE,
    PREDICTORS,
    RAW,
)
from mdstudio.engine.codecs.transforms import Transform
from mdstudio.engine.model import DTYPES, Hint
from tests.engine.codecs.fields import Array, field
from tests.engine.codecs.test_lattice import K, block_of, exact, rounded
from tests.engine.codecs.test_transforms import encode, with_holes

FOLDER = Path(__file__).parent / "golden"
PREDICTOR_NAMES = ["none", "d1", "lor", "avg", "byte-delta", "d2", "lor21", "up", "up2", "lor12", "lor22"]
MASK_NAMES = ("", "-fill", "-compact")
MAP_NAMES = {INT: "int", FORD: "ford", DICT: "dict", LATTICE: "lattice"}
Golden = tuple[str, str, Array, bytes]


def goldens() -> Iterator[Golden]:
    """Codec, what it shows, elements, block."""
    for name in ("None", "DeflateFast", "DeflateOptimal", "LZ4"):
        elements = field("smooth", "int16", (12, 10))
        yield name, "plain", elements, codec(name).encode(elements)
    for dtype in DTYPES:
        elements = np.full((3, 4), 7, dtype=dtype)
        yield "ZstdAuto", "constant", elements, codec("ZstdAuto").encode(elements)
        noise = field("noise", dtype, (4, 5))
        yield "ZstdAuto", "stored", noise, _must(encode("ZstdAuto", noise, Transform(RAW)))
    for name in ("DeflateOptimalAuto", "ZstdAuto", "ZstdFastAuto"):
        for transform, dtype in _transforms():
            if name == "ZstdAuto" or transform.predictor in (NONE, LOR, BYTE_DELTA):
                elements, no_data = with_holes(dtype, (16, 15))
                yield name, _label(transform), elements, _must(encode(name, elements, transform, no_data))
    yield from _lattices()


def _transforms() -> Iterator[tuple[Transform, str]]:
    yield Transform(RAW), "int32"
    yield Transform(BITS), "float32"
    yield Transform(BITS, BYTE_DELTA), "int16"
    for predictor in sorted(PREDICTORS):
        yield Transform(INT, predictor), "int16"
    for kind, dtype, hint in ((INT, "int8", None), (FORD, "float64", None), (DICT, "float32", None)):
        for mask in (NO_MASK, FILL, COMPACT):
            for predictor in (NONE, D1, LOR):
                yield Transform(kind, predictor, mask, hint), dtype
    for mask in (FILL, COMPACT):
        yield Transform(LATTICE, LOR, mask, Hint(3, 100.0)), "float32"


def _lattices() -> Iterator[Golden]:
    for arithmetic, s, o, d in (
        (1, 0.0013179950193703076, 389.63283727841815, 1.0),
        (2, float(np.float32(0.01)), float(np.float32(273.15)), 1.0),
        (3, 100.0, 0.0, 1.0),
        (4, 0.125, 2731.5, 0.1),
    ):
        for dtype in ("float32",) if arithmetic == 2 else ("float32", "float64"):
            k = field("smooth", "int16", (16, 15)).astype(np.int64)
            bits = np.empty(k.size, dtype=f"<u{np.dtype(dtype).itemsize}")
            lattice_values(k, bits, bits.itemsize, arithmetic, s, o, d)
            elements = bits.view(dtype).reshape(k.shape)
            hint = Hint(arithmetic, s, o, d)
            yield "ZstdAuto", f"lattice{arithmetic}-lor", elements, _must(_lattice(elements, hint))
    holes = (np.random.default_rng(3).choice(np.array([0, 3, 900, 40001]), (16, 15)) / 100).astype(np.float64)
    yield "ZstdAuto", "lattice3-rank-table", holes, _must(_lattice(holes, Hint(3, 100.0)))
    strays = (np.arange(240).reshape(16, 15) / 100).astype(np.float32)
    strays[0, 0], strays[9, 9] = -0.0, np.inf
    yield "ZstdAuto", "lattice3-escapes", strays, _must(_lattice(strays, Hint(3, 100.0)))
    numbers = (2, "float32", float(np.float32(-2.3787688e-05)), float(np.float32(0.3410598)), 1.0)
    plain = np.array([[exact(numbers[0], numbers[1], k, *numbers[2:], fused=False) for k in K]], dtype=np.float32)
    yield "ZstdAuto", "lattice2-no-fma", plain, block_of(*numbers)
    shifted = [rounded(_fraction(exact(1, "float32", k, 0.01, 250.0, 1.0, fused=False)), "float32") for k in K]
    c = np.float32(-273.15)
    values = np.array([[float(rounded(x + _fraction(float(c)), "float32")) for x in shifted]], dtype=np.float32)
    yield "ZstdAuto", "lattice1-post-shift", values, block_of(1, "float32", 0.01, 250.0, 1.0, shift=float(c))


def _fraction(value: float):  # type: ignore[no-untyped-def]
    from fractions import Fraction

    return Fraction(value)


def _lattice(elements: Array, hint: Hint) -> bytes | None:
    return encode("ZstdAuto", elements, Transform(LATTICE, LOR, NO_MASK, hint))


def _label(transform: Transform) -> str:
    if transform.map in (RAW, BITS):
        return {RAW: "raw", BITS: "shuffle"}[transform.map] + ("-byte-delta" if transform.predictor else "")
    return f"{MAP_NAMES[transform.map]}-{PREDICTOR_NAMES[transform.predictor]}{MASK_NAMES[transform.mask]}"


def _must(block: bytes | None) -> bytes:
    assert block is not None, "a golden transform does not apply"
    return block


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, what, elements, block in goldens():
        rows = elements.size // elements.shape[-1]
        path = FOLDER / f"{name}.{what}.{elements.dtype.name}.{rows}x{elements.shape[-1]}.bin"
        if not path.exists():
            path.write_bytes(struct.pack("<I", elements.nbytes) + elements.tobytes() + block)


if __name__ == "__main__":
    main()
