"""When transforms compete, and when the winner is kept (C6)."""

from __future__ import annotations

import numpy as np
import pytest

from mdstudio.engine.codecs import PROBE_STRIDE, ProbeState, codec, describe_block, new_probe
from mdstudio.engine.codecs.auto import AutoCodec
from tests.engine.codecs.fields import Array, field


@pytest.fixture
def competitions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with every competition."""
    held: list[int] = []
    compete = AutoCodec._compete

    def counted(self: AutoCodec, *arguments: object) -> object:
        held.append(1)
        return compete(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(AutoCodec, "_compete", counted)
    return held


def smooth(seed: int = 0) -> Array:
    return field("smooth", "int16", (32, 32), seed)


@pytest.mark.rule("C6")
def test_transforms_compete_on_every_32nd_tile_only(competitions: list[int]) -> None:
    assert PROBE_STRIDE == 32
    probe = new_probe("ZstdAuto")
    for tile in range(97):
        codec("ZstdAuto").encode(smooth(tile), probe)
        assert len(competitions) == tile // 32 + 1


@pytest.mark.rule("C6")
def test_without_a_probe_every_tile_competes(competitions: list[int]) -> None:
    for tile in range(3):
        codec("ZstdAuto").encode(smooth(tile))
    assert len(competitions) == 3


@pytest.mark.rule("C6")
def test_a_winner_that_does_not_apply_competes_again(competitions: list[int]) -> None:
    probe = new_probe("ZstdAuto")
    few = field("few", "float64", (64, 64))
    assert describe_block("ZstdAuto", codec("ZstdAuto").encode(few, probe)).key == "dictionary"
    codec("ZstdAuto").encode(few, probe)
    assert len(competitions) == 1
    codec("ZstdAuto").encode(field("noise", "float64", (64, 64)), probe)
    assert len(competitions) == 2


@pytest.mark.rule("C6")
def test_a_winner_that_fares_clearly_worse_competes_again(competitions: list[int]) -> None:
    probe = new_probe("ZstdAuto")
    tile = smooth()
    codec("ZstdAuto").encode(tile, probe)
    codec("ZstdAuto").encode(tile + np.int16(3), probe)
    assert len(competitions) == 1
    codec("ZstdAuto").encode(field("noise", "int16", (32, 32)), probe)
    assert len(competitions) == 2


@pytest.mark.rule("C6")
def test_clearly_worse_is_15_percent_and_one_point() -> None:
    probe = ProbeState()
    probe.reference = 0.5
    assert not probe.fares_worse(0.5 * 1.15 + 0.0099)
    assert probe.fares_worse(0.5 * 1.15 + 0.0101)


@pytest.mark.rule("C6")
def test_constant_and_nearly_all_masked_tiles_neither_compete_nor_count(competitions: list[int]) -> None:
    probe = new_probe("ZstdAuto")
    assert isinstance(probe, ProbeState)
    masked = np.full((32, 32), -32767, dtype=np.int16)
    masked[3, 4:9] = (1, 5, 9, 2, 7)
    for _ in range(40):
        codec("ZstdAuto").encode(np.full((32, 32), 7, dtype=np.int16), probe)
        block = codec("ZstdAuto").encode(masked, probe, (), -32767)
        out = np.zeros_like(masked)
        codec("ZstdAuto").decode(block, out)
        assert (out == masked).all()
    assert not competitions
    assert probe.since == 0
    codec("ZstdAuto").encode(smooth(), probe)
    assert len(competitions) == 1


@pytest.mark.rule("C6", "D9")
def test_the_bytes_depend_on_the_tiles_of_the_unit_alone() -> None:
    tiles = [smooth(seed) for seed in range(5)] + [field("sparse", "int16", (32, 32))] + [smooth(9)]
    runs = []
    for _ in range(2):
        probe = new_probe("ZstdFastAuto")
        runs.append([codec("ZstdFastAuto").encode(tile, probe) for tile in tiles])
        codec("ZstdFastAuto").encode(field("noise", "float32", (10, 10)), new_probe("ZstdFastAuto"))
    assert runs[0] == runs[1]


@pytest.mark.rule("C6")
def test_a_mask_of_the_winner_serves_tiles_without_holes(competitions: list[int]) -> None:
    probe = new_probe("ZstdAuto")
    holes = smooth()
    holes[5:20, 3:30] = -32767
    info = describe_block("ZstdAuto", codec("ZstdAuto").encode(holes, probe, (), -32767))
    assert "holes" in info.transform
    block = codec("ZstdAuto").encode(smooth(), probe, (), -32767)
    assert "holes" not in describe_block("ZstdAuto", block).transform
    out = np.zeros((32, 32), dtype=np.int16)
    codec("ZstdAuto").decode(block, out)
    assert (out == smooth()).all()


def _noise(rng: np.random.Generator, dtype: str, masked: float, bits: int) -> Array:
    """Noise in the lowest bits of the elements, some of them one pattern."""
    kind = np.dtype(dtype)
    words = rng.integers(0, 1 << min(bits, 62), (64, 64)).astype(f"<u{kind.itemsize}")
    words[rng.random((64, 64)) < masked] = 0
    return words.view(kind)


@pytest.mark.rule("P10", "C6", "P1")
@pytest.mark.parametrize("name", ["ZstdAuto", "ZstdFastAuto", "DeflateOptimalAuto"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float32", "float64"])
def test_a_winner_kept_for_noise_makes_no_block_that_readers_refuse(name: str, dtype: str) -> None:
    rng, size = np.random.default_rng(5), np.dtype(dtype).itemsize
    for before in (0.4, 0.25, 0.2, 0.15, 0.1, 0.05):
        for bits in (8 * size, 8 * size - 1, 8 * size - 3):
            probe = new_probe(name)
            for masked in (before, before / 2, 0.05, 0.02, 0.01, 0.001):
                tile = _noise(rng, dtype, masked, bits if masked == before else 8 * size)
                block, back = codec(name).encode(tile, probe, no_data=0), np.empty_like(tile)
                assert len(block) <= codec(name).max_encoded(tile.nbytes)
                codec(name).decode(block, back)
                assert back.tobytes() == tile.tobytes()
