"""The C extension and its NumPy twin: the same functions, the same bytes."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdstudio.engine.codecs import _numpy
from mdstudio.engine.codecs.forms import PREDICTORS

SIZES = (1, 2, 4, 8)
LATTICES = (
    (1, 0.01, 0.0, 1.0),
    (1, 0.0013179950193703076, 389.63283727841815, 1.0),
    (1, -0.25, 1e20, 1.0),
    (1, 2.0**-1040, -0.0, 1.0),
    (2, float(np.float32(0.01)), float(np.float32(273.15)), 1.0),
    (3, 100.0, 0.0, 1.0),
    (3, 1e-300, 5.0, 1.0),
    (4, 0.125, 2731.5, 0.1),
)


@pytest.fixture(scope="module")
def native() -> ModuleType:
    try:
        return importlib.import_module("mdstudio.engine.codecs._native")
    except ImportError:
        pytest.skip("the C extension is not built here: pip install -e . builds it where there is a C compiler")


def _fields(rng: np.random.Generator, size: int, count: int) -> list[np.ndarray[Any, Any]]:
    """Bit patterns that matter: noise, smooth, few, one; and floats with their awkward values."""
    kind = np.dtype(f"<u{size}")
    noise = np.frombuffer(rng.bytes(count * size), dtype=kind).copy()
    smooth = np.cumsum(rng.integers(0, 7, count)).astype(np.int64).astype(kind)
    few = noise[rng.integers(0, min(5, count), count)]
    fields = [noise, smooth, few, np.full(count, noise[0])]
    if size >= 4:
        real = np.dtype(f"<f{size}")
        walk = np.cumsum(rng.normal(size=count)).astype(real)
        odd = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(real).tiny / 4, 1e20], dtype=real)
        holes = np.where(rng.random(count) < 0.3, odd[rng.integers(0, odd.size, count)], walk)
        fields += [x.astype(real).view(kind) for x in (walk, holes, np.round(walk * 8) / 8, np.round(walk, 2))]
    return fields


@pytest.mark.rule("C5", "D9")
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 60), st.sampled_from(SIZES))
def test_predictors_and_planes_give_the_same_bytes(
    native: ModuleType, seed: int, rows: int, cols: int, size: int
) -> None:
    if seed % 5 == 0:
        rows, cols = 3, 1024 + cols  # beyond the chunk of the C loops
    rng, count = np.random.default_rng(seed), rows * cols
    for field in _fields(rng, size, count):
        for predictor in PREDICTORS:
            ours, theirs = (np.empty(count * size, dtype=np.uint8) for _ in range(2))
            found = native.forward(field, size, rows, cols, predictor, ours, True)
            assert found == _numpy.forward(field, size, rows, cols, predictor, theirs, True)
            assert ours.tobytes() == theirs.tobytes()
            planes = ours[: found[0] * count]
            for kernels in (native, _numpy):
                back = np.empty(count, dtype=field.dtype)
                kernels.unpack_keys(planes, found[0], size, rows, cols, predictor, back, size, 0, 0, 0)
                assert back.tobytes() == field.tobytes()
        for name in ("byte_delta", "byte_sum"):
            ours, theirs = bytearray(field.tobytes()), bytearray(field.tobytes())
            getattr(native, name)(ours, size, count)
            getattr(_numpy, name)(theirs, size, count)
            assert ours == theirs


@pytest.mark.rule("C5", "D9")
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 700), st.sampled_from(SIZES), st.integers(0, 2))
def test_maps_and_masks_give_the_same_bytes(native: ModuleType, seed: int, count: int, size: int, kind: int) -> None:
    rng = np.random.default_rng(seed)
    for field in _fields(rng, size, count):
        low, high, used = native.key_range(field, size, kind)
        assert (low, high, used) == _numpy.key_range(field, size, kind)
        shift = int(rng.integers(0, 8 * size)) if seed % 3 == 0 else (used & -used).bit_length() - 1 if used else 0
        for width in (w for w in SIZES if w <= size):
            k = [np.empty(count, dtype=f"<u{width}") for _ in range(2)]
            for kernels, out in zip((native, _numpy), k, strict=True):
                kernels.key_map(field, size, kind, low, shift, width, out)
            assert k[0].tobytes() == k[1].tobytes()
            planes = np.ascontiguousarray(k[0].view(np.uint8).reshape(count, width).T)
            backs = [np.empty(count, dtype=field.dtype) for _ in range(2)]
            for kernels, out in zip((native, _numpy), backs, strict=True):
                kernels.unpack_keys(planes, width, width, 1, count, 0, out, size, kind, low, shift)
            assert backs[0].tobytes() == backs[1].tobytes()
            if (high >> shift) - (low >> shift) < 1 << 8 * width and not used & ((1 << shift) - 1):
                assert backs[0].tobytes() == field.tobytes()
        _same_table(native, field, size, kind, int(rng.integers(1, 300)))
        _same_masks(native, field, size, int(field[int(rng.integers(0, count))]))
        if size >= 4:
            assert native.binary_step(field, size) == _numpy.binary_step(field, size)


def _same_table(native: ModuleType, field: np.ndarray[Any, Any], size: int, kind: int, limit: int) -> None:
    results = []
    for kernels in (native, _numpy):
        keys, ranks = np.zeros(limit, dtype=np.uint64), np.zeros(field.size, dtype=np.uint16)
        count = kernels.table_map(field, size, kind, limit, keys, ranks)
        results.append((count, keys[:count].tobytes(), ranks.tobytes() if count else b""))
    assert results[0] == results[1]
    count, keys, ranks = results[0]
    if count:
        table, out = np.frombuffer(keys, dtype=np.uint64).astype(field.dtype), [np.empty_like(field) for _ in range(2)]
        planes = np.ascontiguousarray(np.frombuffer(ranks, dtype=np.uint8).reshape(-1, 2).T)
        for kernels, one in zip((native, _numpy), out, strict=True):
            assert kernels.unpack_table(planes, 2, 2, 1, field.size, 0, one, size, table)
            assert not kernels.unpack_table(planes, 2, 2, 1, field.size, 0, one.copy(), size, table[:-1])
        assert out[0].tobytes() == out[1].tobytes()


def _same_masks(native: ModuleType, field: np.ndarray[Any, Any], size: int, pattern: int) -> None:
    results = []
    for kernels in (native, _numpy):
        bitmap = np.empty((field.size + 7) // 8, dtype=np.uint8)
        masked = kernels.mask_make(field, size, pattern, bitmap)
        assert masked == kernels.mask_count(field, size, pattern) == kernels.mask_check(bitmap, field.size)
        filled, compact = field.copy(), np.zeros(field.size - masked, dtype=field.dtype)
        if masked < field.size:
            kernels.mask_fill(field, size, bitmap, filled)
            kernels.mask_compact(field, size, bitmap, compact)
        put, spread = filled.copy(), np.empty_like(field)
        kernels.mask_put(put, size, bitmap, pattern)
        kernels.mask_spread(compact, size, bitmap, pattern, spread)
        assert put.tobytes() == spread.tobytes() == field.tobytes()
        beyond = bitmap.copy()
        beyond[-1] |= 0x80
        results.append((bitmap.tobytes(), filled.tobytes(), compact.tobytes(), kernels.mask_check(beyond, field.size)))
    assert results[0] == results[1]


@pytest.mark.rule("C5", "D9")
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 600), st.sampled_from((4, 8)), st.sampled_from(LATTICES))
def test_lattices_give_the_same_bytes(
    native: ModuleType, seed: int, count: int, size: int, lattice: tuple[int, float, float, float]
) -> None:
    if size == 8 and lattice[0] == 2:
        return
    rng = np.random.default_rng(seed)
    base = int(rng.integers(-(1 << 40), 1 << 40)) >> int(rng.integers(0, 40))
    span = 1 << int(rng.integers(1, 33))
    k = (base + rng.integers(0, span, count)).astype(np.int64)
    values = [np.empty(count, dtype=f"<u{size}") for _ in range(2)]
    for kernels, out in zip((native, _numpy), values, strict=True):
        kernels.lattice_values(k, out, size, *lattice)
    assert values[0].tobytes() == values[1].tobytes()
    field = values[0]
    for misses in (0, 3, count):
        field[rng.integers(0, count, misses)] ^= field.dtype.type(1)
        results = []
        for kernels in (native, _numpy):
            found, escapes = np.zeros(count, dtype=np.int64), np.zeros(8, dtype=np.uint32)
            answer = kernels.lattice_map(field, size, *lattice, found, escapes, 8)
            results.append((answer, found.tobytes(), escapes.tobytes()) if answer[2] >= 0 else answer)
        assert results[0] == results[1]
    for width in (w for w in SIZES if w <= size):
        planes = np.ascontiguousarray(np.frombuffer(rng.bytes(count * width), dtype=np.uint8))
        answers = []
        for kernels, out in zip((native, _numpy), values, strict=True):
            fits = kernels.unpack_lattice(planes, width, width, 1, count, 1, out, size, *lattice, base)
            answers.append((fits, out.tobytes() if fits else b""))
        assert answers[0] == answers[1]


@pytest.mark.rule("C5")
def test_both_rank_by_the_same_integer_table(native: ModuleType) -> None:
    assert _numpy.LOG2[:4] == (0, 92, 184, 276)
    assert _numpy.LOG2[1023] == 65489
    rng = np.random.default_rng(1)
    for count in (1, 2, 1023, 1024, 1025, 70000):
        data = np.minimum(rng.geometric(0.1, count), 255).astype(np.uint8)
        assert native.plane_cost(data, 1, count) == _numpy.plane_cost(data, 1, count)


@pytest.mark.rule("C8")
def test_no_argument_makes_the_extension_leave_its_buffers(native: ModuleType) -> None:
    words, small = np.zeros(16, dtype=np.uint32), np.zeros(3, dtype=np.uint8)
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("key_range", (words, 3, 0)),
        ("key_range", (words[:0], 4, 0)),
        ("key_map", (words, 4, 0, 0, 0, 8, np.zeros(16, dtype=np.uint64))),
        ("key_map", (words, 4, 0, 0, 32, 4, words.copy())),
        ("key_map", (words, 4, 0, 0, 0, 2, small)),
        ("table_map", (words, 4, 0, 70000, np.zeros(70000, dtype=np.uint64), np.zeros(16, dtype=np.uint16))),
        ("table_map", (words, 4, 0, 9, np.zeros(8, dtype=np.uint64), np.zeros(16, dtype=np.uint16))),
        ("lattice_map", (words, 4, 1, 1.0, 0.0, 1.0, np.zeros(15, dtype=np.int64), np.zeros(4, dtype=np.uint32), 4)),
        ("lattice_map", (words, 4, 9, 1.0, 0.0, 1.0, np.zeros(16, dtype=np.int64), np.zeros(4, dtype=np.uint32), 4)),
        ("forward", (words, 4, 4, 5, 2, np.zeros(80, dtype=np.uint8), False)),
        ("forward", (words, 4, 4, 4, 2, np.zeros(63, dtype=np.uint8), False)),
        ("forward", (words, 4, 4, 4, 4, np.zeros(64, dtype=np.uint8), False)),
        ("forward", (words, 4, 1 << 62, 4, 2, np.zeros(64, dtype=np.uint8), False)),
        ("plane_cost", (small, 2, 2)),
        ("byte_sum", (np.zeros(3, dtype=np.uint8), 9, 1)),
        ("unpack_keys", (small, 1, 4, 1, 16, 1, words, 4, 0, 0, 0)),
        ("unpack_keys", (np.zeros(16, dtype=np.uint8), 1, 4, 1, 16, 1, words[:15], 4, 0, 0, 0)),
        ("unpack_keys", (np.zeros(80, dtype=np.uint8), 5, 4, 1, 16, 1, words, 4, 0, 0, 0)),
        ("unpack_table", (np.zeros(64, dtype=np.uint8), 4, 4, 1, 16, 1, words, 4, words)),
        ("mask_make", (words, 4, 0, small)),
        ("mask_check", (small, 999)),
        ("mask_spread", (words[:3], 4, small[:2], 0, words)),
        ("mask_fill", (words, 4, small[:2], words[:3].copy())),
    ]
    for name, arguments in calls:
        with pytest.raises(ValueError, match=r"."):
            getattr(native, name)(*arguments)
    with pytest.raises(ValueError, match="aligned"):
        native.key_range(np.zeros(9, dtype=np.uint8)[1:], 4, 0)
