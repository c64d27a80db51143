"""Blocks as they were once written decode to the same bits for ever (C9); the files are never written again."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from mdstudio.engine.codecs import NAMES, _numpy, auto, codec, describe_block, inverse, is_auto
from mdstudio.engine.codecs.block import pack, parse
from mdstudio.engine.codecs.forms import COMPACT, FILL, LATTICE, PREDICTORS
from mdstudio.engine.model import DTYPES
from tests.engine.codecs.independent_reader import read

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.bin"))


def load(path: Path) -> tuple[str, np.ndarray, bytes]:
    """Codec, elements, block."""
    name, _, dtype, shape = path.name.removesuffix(".bin").split(".")
    data = path.read_bytes()
    length = struct.unpack_from("<I", data)[0]
    elements = np.frombuffer(data[4 : 4 + length], dtype=dtype).reshape([int(side) for side in shape.split("x")])
    return name, elements, data[4 + length :]


@pytest.mark.rule("C9")
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_block_decodes_to_the_same_bits(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, elements, block = load(path)
    for kernels in (inverse.kernels, _numpy):
        monkeypatch.setattr(auto, "kernels", kernels)
        monkeypatch.setattr(inverse, "kernels", kernels)
        out = np.zeros_like(elements)
        codec(name).decode(block, out)
        assert out.tobytes() == elements.tobytes()


@pytest.mark.rule("C9", "C8")
def test_headers_are_written_as_they_were() -> None:
    """Backends may change their bytes with their versions; headers may not."""
    for path in GOLDEN:
        name, _, block = load(path)
        if is_auto(name):
            h = parse(block)
            assert pack(h) == block[: h.length], path.name


@pytest.mark.rule("C9")
def test_goldens_cover_every_codec_map_predictor_and_mask() -> None:
    blocks = [(name, block) for name, _, block in map(load, GOLDEN)]
    assert {name for name, _ in blocks} == set(NAMES)
    headers = [parse(block) for name, block in blocks if is_auto(name)]
    forms = [h.form for h in headers]
    assert {f.map for f in forms} == set(range(7))
    assert {f.predictor for f in forms} == set(PREDICTORS | {4})
    assert {f.backend for f in forms} == {0, 1, 2}
    assert {f.dtype for f in forms} == set(range(10))
    assert {(f.map, f.mask) for f in forms} >= {(m, k) for m in (2, 3, LATTICE, 5) for k in (FILL, COMPACT)}
    lattices = [h.lattice for h in headers if h.lattice is not None]
    assert {one.arithmetic for one in lattices} == {1, 2, 3, 4}
    assert any(one.shift is not None for one in lattices)
    assert any(h.table for h in headers if h.form.map == LATTICE)
    assert any(h.escapes for h in headers)
    assert {describe_block(name, block).key for name, block in blocks} >= {"none", "constant", "shuffle", "quantised"}


@pytest.mark.rule("C8", "C9")
@pytest.mark.parametrize("path", [one for one in GOLDEN if is_auto(one.name.split(".")[0])], ids=lambda path: path.stem)
def test_a_second_reader_written_from_the_specification_agrees(path: Path) -> None:
    _, elements, block = load(path)
    dtype, rows, row_length, data = read(block)
    assert (DTYPES[dtype], (rows, row_length)) == (elements.dtype.name, elements.shape)
    assert data == elements.tobytes()
