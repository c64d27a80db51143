"""Floats that were packed integers are found from the values alone, and always stored lossless (C5, C6)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdstudio.engine.codecs import _numpy, codec, describe_block, lattice_path, new_probe, quantisation
from mdstudio.engine.codecs.block import Header, parse
from mdstudio.engine.codecs.forms import LATTICE
from mdstudio.engine.codecs.kernels import kernels
from mdstudio.engine.codecs.lattice_fit import integers_of, step_of, strip_of
from mdstudio.engine.codecs.nice_numbers import shortest_decimal, simplest_binary
from mdstudio.engine.codecs.quantisation import Budget
from mdstudio.engine.model import Hint
from tests.engine.codecs.fields import KINDS, Array, field

NAMES = ("float32", "float64")
SHAPE = (64, 64)
# How a source makes floats of integers: the arithmetic of format.md, in the element type's own steps.
WAYS = ("double", "single", "grib", "grib decimal", "decimal")


def integers(seed: int, bits: int, shape: tuple[int, int] = SHAPE) -> Array:
    """A smooth field of integers of so many bits, somewhere within int16."""
    rng = np.random.default_rng(seed)
    rows, columns = np.meshgrid(*(np.linspace(0, 3, n) for n in shape), indexing="ij")
    smooth = np.sin(rows + rng.random()) * np.cos(2 * columns + rng.random()) + 0.02 * rng.normal(size=shape)
    low, high = smooth.min(), smooth.max()
    k = np.round((smooth - low) / (high - low) * ((1 << bits) - 1)).astype(np.int64)
    return k + int(rng.integers(-32768, 32768 - (1 << bits)))


def unpacked(k: Array, way: str, dtype: str, seed: int) -> Array:
    """x of the integers, by random numbers of this way."""
    rng = np.random.default_rng(seed + 1)
    scale, offset = float(rng.uniform(0.3, 3) * 10.0 ** rng.integers(-6, 3)), 0.0
    offset = float(rng.normal() * scale * 20000)
    if way == "double" or (way == "single" and dtype == "float64"):
        return (k * scale + offset).astype(dtype)
    if way == "single":
        return k.astype(np.float32) * np.float32(scale) + np.float32(offset)
    reference = float(np.float32(offset))
    k = k - k.min()
    if way == "grib":
        return (k * 2.0 ** int(np.round(np.log2(scale))) + reference).astype(dtype)
    if way == "grib decimal":
        return ((k * 2.0 + np.float64(np.round(reference))) * 0.01).astype(dtype)
    return (k / 100.0).astype(dtype)


def stored(elements: Array, no_data: float | None = None) -> tuple[bytes, Header]:
    """A block checked to the bit, and its header."""
    block = codec("ZstdAuto").encode(elements, None, (), no_data)
    out = np.empty_like(elements)
    codec("ZstdAuto").decode(block, out)
    assert out.tobytes() == elements.tobytes()
    return block, parse(block)


def needs_a_path(way: str, dtype: str) -> bool:
    """Whether the rounding of products decides: such tiles of few steps leave more scales than the budget tries."""
    return (way == "single" and dtype == "float32") or (way in ("double", "single") and dtype == "float64")


@pytest.mark.rule("C2", "C5")
@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(0, 2**32), st.integers(9, 15), st.sampled_from(WAYS), st.sampled_from(NAMES))
def test_packed_floats_are_found_blindly(seed: int, bits: int, way: str, dtype: str) -> None:
    """As small as their integers: the lattice, or where few values occur a dictionary that is no larger."""
    k = integers(seed, max(bits, 14) if needs_a_path(way, dtype) else bits)
    block, _ = stored(unpacked(k, way, dtype, seed))
    packed = codec("ZstdAuto").encode((k - k.min()).astype(np.int16 if k.max() - k.min() < 1 << 15 else np.int32))
    assert len(block) <= 1.02 * len(packed) + 60


@pytest.mark.rule("C2", "C5")
@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2**32), st.sampled_from(WAYS), st.sampled_from(NAMES), st.integers(0, 40), st.booleans())
def test_holes_fill_values_and_strays_do_not_hide_a_lattice(
    seed: int, way: str, dtype: str, strays: int, fill: bool
) -> None:
    """Strays are escapes where values recur, so that those which do not can be left out at first."""
    rng, k = np.random.default_rng(seed), integers(seed, 14 if needs_a_path(way, dtype) and not strays else 11)
    elements = unpacked(k, way, dtype, seed)
    low, high = float(elements.min()), float(elements.max())
    flat = elements.reshape(-1)
    flat[rng.integers(0, flat.size, strays)] = rng.uniform(low, high, strays)
    holes = rng.random(SHAPE) < 0.2
    elements[holes] = -1e20 if fill else np.nan
    packed = np.where(holes, -32768, k - k.min()).astype(np.int16)
    block, header = stored(elements, -1e20 if fill else None)
    if not (needs_a_path(way, dtype) and strays):
        assert len(block) <= 1.03 * len(codec("ZstdAuto").encode(packed, None, (), -32768)) + 80 + 20 * strays
        assert header.escapes <= strays


@pytest.mark.rule("C2", "C5")
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(KINDS), st.sampled_from(NAMES), st.integers(1, 50), st.integers(1, 50))
def test_whatever_the_floats_are_they_come_back(seed: int, kind: str, dtype: str, rows: int, columns: int) -> None:
    stored(field(kind, dtype, (rows, columns), seed))


@pytest.mark.rule("C5", "C6")
def test_the_lattice_of_a_tile_serves_the_tiles_that_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[int] = []
    search = quantisation.search

    def counted(*arguments: Any) -> Any:
        searches.append(1)
        return search(*arguments)

    monkeypatch.setattr(quantisation, "search", counted)
    k = integers(5, 13, (640, 64))
    probe, elements = new_probe("ZstdAuto"), k * 0.0013179950193703076 + 389.63283727841815
    for at in range(0, 640, 64):
        block = codec("ZstdAuto").encode(np.ascontiguousarray(elements[at : at + 64]), probe)
        assert describe_block("ZstdAuto", block).key == "quantised"
    assert len(searches) <= 3, "a search again only where the first tile did not tell the scale from its neighbours"


@pytest.mark.rule("C5", "C6")
def test_the_next_grib_message_moves_the_reference_and_needs_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = new_probe("ZstdAuto")
    for number in range(8):
        k, reference = integers(number, 10), float(np.float32(270.1234 + 1.1 * number))
        for dtype in ("float32",):
            elements = ((k - k.min()) * 2.0**-6 + reference).astype(dtype)
            block = codec("ZstdAuto").encode(elements, probe)
            assert describe_block("ZstdAuto", block).key == "quantised"
        monkeypatch.setattr(quantisation, "search", lambda *_: pytest.fail("searched again"))


@pytest.mark.rule("C5")
@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("kind", ["noise", "walk", "smooth", "drift"])
def test_what_is_no_lattice_is_left_at_its_smallest_differences(
    kind: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By counted work: no lattice is verified, no rounding path tried, and few differences looked at."""
    rng = np.random.default_rng(4)
    walk = np.cumsum(rng.normal(size=16384))
    elements = {
        "noise": rng.normal(size=16384),
        "walk": walk,
        "smooth": 280 + np.sin(np.arange(16384) / 700),
        "drift": np.exp(walk / 400),
    }[kind].astype(dtype)
    looked = [0]
    narrowed = quantisation_step = step_of.__globals__["_narrowed"]

    def counted(d: Array, *rest: Any) -> Any:
        looked[0] += d.size
        return quantisation_step(d, *rest)

    monkeypatch.setitem(step_of.__globals__, "_narrowed", counted)
    budget, verified = Budget(), []
    assert quantisation.search(elements, lambda hint: verified.append(hint), budget=budget) is None
    assert narrowed is not None
    assert not verified
    assert budget.left == lattice_path.TESTS
    assert looked[0] <= 2 * 16384


@pytest.mark.rule("C5", "C6")
def test_the_rounding_path_stops_at_its_budget() -> None:
    """Products of three roundings look like a lattice and are none."""
    k = integers(3, 13, (128, 128)).reshape(-1)
    elements = (k.astype(np.float32) * np.float32(0.0137)) * np.float32(1 / 86400) + np.float32(7e-5)
    budget = Budget()
    assert quantisation.search(elements.astype(np.float32), lambda _: None, budget=budget) is None
    block = lattice_path._BLOCK * lattice_path._POINTS
    assert budget.left > -block
    probe = new_probe("ZstdAuto")
    for _ in range(40):
        codec("ZstdAuto").encode(elements.reshape(128, 128), probe)
    assert probe is not None
    assert probe.lattices.budget.left > -block


@pytest.mark.rule("C5")
def test_a_large_tile_is_searched_by_a_sample() -> None:
    k = integers(8, 13, (512, 512))
    elements = (k * 0.0013179950193703076 + 389.63283727841815).astype(np.float32)
    assert quantisation._sample(elements.reshape(-1)).size == quantisation.SAMPLE
    assert stored(elements)[1].form.map == LATTICE


@pytest.mark.rule("C5", "D9")
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from((4, 8)), st.integers(1, 80), st.integers(1, 3000))
def test_origins_are_the_same_in_both_kernels(seed: int, size: int, points: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    real = np.float32 if size == 4 else np.float64
    scale = real(rng.uniform(0.1, 1) * 10.0 ** rng.integers(-5, 5))
    offset = real(rng.normal() * 10.0 ** rng.integers(-3, 5))
    k, true = np.sort(rng.integers(0, 20000, points)).astype(np.float64), int(rng.integers(-1000, 1000))
    with np.errstate(all="ignore"):
        u = ((k + true).astype(real) * scale + offset).astype(np.float64)
    half = 0.5 * np.spacing(np.abs(u).astype(real)).astype(np.float64)
    answers = []
    for module in (kernels, _numpy):
        offsets = np.zeros((count, 2))
        answer = module.lattice_origins(u, half, k, size, float(scale), float(true - count // 2), count, offsets)
        answers.append((answer, offsets[: answer[0]].tobytes()))
    assert answers[0] == answers[1]
    assert answers[0][0][0] >= 1, "the true origin passes"


@pytest.mark.rule("C8")
def test_no_argument_makes_the_origins_leave_their_buffers() -> None:
    if kernels.NAME != "native":
        pytest.skip("the NumPy twin indexes safely by itself")
    three, none = np.zeros(3), np.zeros(0)
    for bad in (
        (three, three[:2], three, 8, 1.0, 0.0, 1, np.zeros(2)),
        (three, three, three[:2], 8, 1.0, 0.0, 1, np.zeros(2)),
        (none, none, none, 8, 1.0, 0.0, 1, np.zeros(2)),
        (three, three, three, 2, 1.0, 0.0, 1, np.zeros(2)),
        (three, three, three, 8, 1.0, 0.0, 9, np.zeros(16)),
        (three, three, three, 8, 1.0, 0.0, -1, np.zeros(16)),
    ):
        with pytest.raises(ValueError, match=r"."):
            kernels.lattice_origins(*bad)


@pytest.mark.rule("C5", "D9")
def test_both_kernels_give_the_same_blocks() -> None:
    encode = "codec('ZstdAuto').encode(unpacked(integers(seed, 12), way, dtype, seed % 2), probe)"
    code = (
        "import hashlib, sys\n"
        "from mdstudio.engine.codecs import codec, kernels, new_probe\n"
        "from tests.engine.codecs.test_quantisation import NAMES, WAYS, integers, unpacked\n"
        "digest = hashlib.sha256()\n"
        "for way in WAYS:\n"
        "    for dtype in NAMES:\n"
        "        probe = new_probe('ZstdAuto')\n"
        "        for seed in range(3):\n"
        f"            digest.update({encode})\n"
        "print(kernels.kernels.NAME, digest.hexdigest())"
    )
    answers = []
    for switch in ("0", "1"):
        environment = os.environ | {"MD_STUDIO_NO_NATIVE": switch}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        answers.append(done.stdout.split())
    assert answers[1][0] == "numpy"
    assert answers[0][1] == answers[1][1]


@pytest.mark.rule("C5", "C7")
def test_every_packed_variable_of_the_real_files_is_recovered(shared_data: Path) -> None:
    """As xarray unpacks it, in float32 and float64, in the arithmetic of each: each takes what its integers take."""
    tried = 0
    for path in sorted((shared_data / "grid").glob("*.nc")):
        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            for variable in file.variables.values():
                if "scale_factor" in variable.ncattrs() and variable.ndim >= 2:
                    tried += _same_as_integers(f"{variable.name} of {path.name}", variable)
    assert tried >= 30


def _same_as_integers(name: str, variable: Any) -> int:
    k = variable[...].reshape(-1, *variable.shape[-2:])[:2, :128, :128]
    k = np.ascontiguousarray(k).astype(variable.dtype.newbyteorder("="))
    fill = getattr(variable, "_FillValue", None)
    valid = k[k != fill] if fill is not None else k.reshape(-1)
    if np.unique(valid).size < 64:
        return 0
    scale, offset = variable.scale_factor, getattr(variable, "add_offset", 0.0)
    ways = {
        "float32 of double": (k * float(scale) + float(offset)).astype(np.float32),
        "float32": k.astype(np.float32) * np.float32(scale) + np.float32(offset),
        "float64": k * float(scale) + float(offset),
    }
    packed, found = new_probe("ZstdAuto"), 0
    limit = sum(len(codec("ZstdAuto").encode(one, packed, (), fill)) for one in k)
    for way, elements in ways.items():
        if np.unique(elements).size < np.unique(k).size:
            continue  # the rounding to float32 merged integers: there is nothing to recover
        if fill is not None:
            elements[k == fill] = np.nan
        probe, total = new_probe("ZstdAuto"), 0
        for one in elements:
            block, out = codec("ZstdAuto").encode(one, probe, (), None), np.empty_like(one)
            codec("ZstdAuto").decode(block, out)
            assert out.tobytes() == one.tobytes()
            total += len(block)
        assert total <= 1.1 * limit + 160 * len(elements), f"{name} as {way}"
        found += 1
    return found


@pytest.mark.rule("C5")
def test_the_step_is_the_divisor_of_differences_known_to_their_rounding() -> None:
    rng = np.random.default_rng(2)
    for gaps in ((1,), (4, 5), (6, 10, 15), (77, 78)):
        k = np.cumsum(rng.choice(gaps, 400)).astype(np.float64)
        error = 0.002
        u = 0.37 * k + rng.uniform(-error / 2, error / 2, k.size)
        g = step_of(u, error)
        assert g is not None
        assert g[0] <= 0.37 <= g[1]
        found = integers_of(u, error, g)
        assert found is not None
        assert (found == k - k[0]).all()
        strip = strip_of(u, np.full(u.size, error / 2), found)
        assert strip is not None
        assert strip.scale + strip.least <= 0.37 <= strip.scale + strip.most


@pytest.mark.rule("C5")
def test_simple_numbers() -> None:
    assert shortest_decimal(0.00999, 0.010001) == 0.01
    assert shortest_decimal(1 / 3, 1 / 3) == 1 / 3
    assert simplest_binary(0.7, 0.8) == 0.75
    assert simplest_binary(-3.1, -2.9) == -3.0
    assert simplest_binary(-1.0, 2.0) == 0.0
    assert simplest_binary(0.1, 0.1) == 0.1


@pytest.mark.rule("C5")
def test_kelvins_made_celsius_in_float32_are_found() -> None:
    k = integers(6, 14)
    kelvins = (k * 0.0008410823912189279 + 295.92633727130436).astype(np.float32)
    block, header = stored(kelvins - np.float32(273.15))
    assert header.lattice is not None
    assert header.lattice.shift == -float(np.float32(273.15))
    assert len(block) <= len(stored(kelvins)[0]) + 8


@pytest.mark.rule("C2", "C5")
@pytest.mark.parametrize("name", NAMES)
def test_tiles_with_the_largest_floats_are_stored_without_a_warning(name: str) -> None:
    """Warnings are errors here: the spacing of the largest float32 is infinite, and so is what is far from a step."""
    probe, largest = new_probe("ZstdAuto"), float(np.finfo(name).max)
    for seed in range(40):
        tile = unpacked(integers(seed // 2, 10, (20, 20)), WAYS[seed % len(WAYS)], name, seed // 2)
        tile.flat[seed::97] = (largest, -largest, np.inf, -1e30, 1e-42)[seed % 5]
        block, back = codec("ZstdAuto").encode(tile, probe), np.empty_like(tile)
        codec("ZstdAuto").decode(block, back)
        assert back.tobytes() == tile.tobytes()


@pytest.mark.rule("C5")
def test_a_hint_of_any_numbers_is_only_a_hint() -> None:
    numbers = (0.0, -0.0, 0.1, 5e-324, 1e300, -1e300, np.inf, np.nan)
    for seed, name in enumerate(NAMES):
        tile = unpacked(integers(seed, 6, (8, 8)), "double", name, seed)
        for scale in numbers:
            for other in numbers:
                for arithmetic in (1, 2, 3, 4):
                    hint = Hint(arithmetic, scale, other, 1.0 if scale else other, other if seed == 0 else None)
                    block, back = codec("ZstdFastAuto").encode(tile, None, (hint,)), np.empty_like(tile)
                    codec("ZstdFastAuto").decode(block, back)
                    assert back.tobytes() == tile.tobytes()
