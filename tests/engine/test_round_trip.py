"""What was written is read back to the bit: every type, shape, layout and compression, against the array itself."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdstudio.engine.codecs import NAMES
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import DTYPES, Array, Item
from mdstudio.engine.requests import MapRequest, SeriesRequest
from tests.engine.made_datasets import item, item_storage, make, same_bits, smooth

STORAGE_TYPES = ("SingleTimestep", "MultiTimestep", "TimeSeries")
SHAPES = ((1, 1), (1, 9), (13, 1), (2, 3), (7, 11), (17, 31), (20, 20), (37, 23))


def random_values(draw: Any, dtype: str, shape: tuple[int, ...], no_data: Any) -> Array:
    """Bits of any kind, a constant, a smooth field; then no-data over everything, whole timesteps, or some cells."""
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    kind = draw(st.sampled_from(("bits", "constant", "smooth")))
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if kind == "bits":
        values = np.frombuffer(random.bytes(size), dtype).reshape(shape).copy()
    elif kind == "constant":
        values = np.full(shape, random.integers(0, 100)).astype(dtype)
    else:
        values = smooth(*shape, seed=seed % 1000).astype(dtype)
    if no_data is not None:
        fill = np.array(no_data).astype(dtype)
        where = draw(st.sampled_from(("nowhere", "everywhere", "steps", "corner", "cells")))
        if where == "everywhere":
            values[:] = fill
        elif where == "steps":
            values[::2] = fill
        elif where == "corner":
            values[..., :16, :16] = fill
        elif where == "cells":
            values[random.random(shape) < 0.5] = fill
    return values


@st.composite
def cases(draw: Any) -> tuple[Array, Item, Any, dict[str, Any]]:
    dtype = draw(st.sampled_from(DTYPES))
    rows, columns = draw(st.sampled_from(SHAPES))
    layers = draw(st.sampled_from((0, 0, 1, 3)))
    shape = draw(st.integers(1, 7)), max(layers, 1), rows, columns
    no_data = draw(st.sampled_from((None, 7, float("nan"), -0.0) if dtype.startswith("float") else (None, 0, 7)))
    values = random_values(draw, dtype, shape, no_data)
    compression = draw(st.sampled_from(NAMES))
    storage_type = draw(st.sampled_from(STORAGE_TYPES))
    widths = (5, 16, 64) if storage_type == "TimeSeries" and rows * columns > 50 else (1, 4, 5, 16, 64)
    kept = item_storage(
        storage_type, compression, width=draw(st.sampled_from(widths)),
        group=draw(st.integers(1, 9)), block_rows=draw(st.sampled_from((1, 4, 7, 300))),
        version=draw(st.sampled_from((1, 2, 3))), fixed_step=draw(st.booleans()))
    return values, item("v", values, no_data, bool(layers)), kept, {"workers": draw(st.integers(1, 4))}


@pytest.mark.rule("K2", "K7", "K9", "C2", "C4", "P1", "P2", "P5", "P7", "P8", "T1", "T3", "T4", "V1")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases(), data=st.data())
def test_every_map_and_series_equals_the_array(case: tuple[Array, Item, Any, dict[str, Any]], data: Any) -> None:
    values, stored_item, kept, more = case
    with tempfile.TemporaryDirectory() as folder:
        dataset = make(Path(folder) / "d", {"v": values}, kept, (stored_item,), **more)
        check_maps(dataset, values, data)
        check_series(dataset, values, data)
        check_sizes(dataset)


def check_maps(dataset: Dataset, values: Array, data: Any) -> None:
    times, layers, rows, columns = values.shape
    layered = dataset.item("v").layers is not None
    for time in range(times):
        for layer in range(layers):
            found = dataset.map(MapRequest("v", time, layer if layered else None))
            assert same_bits(found.stored, values[time, layer])
    time, layer = data.draw(st.integers(0, times - 1)), data.draw(st.integers(0, layers - 1))
    row0, column0 = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    row1, column1 = data.draw(st.integers(row0, rows - 1)), data.draw(st.integers(column0, columns - 1))
    inside = (column0 - 0.25, row0 - 0.25, column1 + 0.25, row1 + 0.25)
    found = dataset.map(MapRequest("v", time, layer if layered else None, inside))
    assert found.rows.tolist() == list(range(row0, row1 + 1))
    assert found.columns.tolist() == list(range(column0, column1 + 1))
    assert same_bits(found.stored, np.ascontiguousarray(values[time, layer, row0:row1 + 1, column0:column1 + 1]))


def check_series(dataset: Dataset, values: Array, data: Any) -> None:
    times, layers, rows, columns = values.shape
    layered = dataset.item("v").layers is not None
    layer = data.draw(st.integers(0, layers - 1))
    cell = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    cells = data.draw(st.lists(cell, min_size=1, max_size=5))
    start = data.draw(st.integers(0, times))
    stop = data.draw(st.integers(start, times))
    points = (*((float(c), float(r)) for r, c in cells), (-50.0, 0.0))
    found = dataset.series(SeriesRequest("v", points, layer if layered else None, start, stop))
    expected = np.stack([values[start:stop, layer, r, c] for r, c in cells], axis=1)
    assert same_bits(np.ascontiguousarray(found.stored[:, :-1]), np.ascontiguousarray(expected))
    assert found.cells[-1].tolist() == [-1, -1]
    assert np.isnan(found.values[:, -1]).all()


def check_sizes(dataset: Dataset) -> None:
    facts, sizes = dataset.inspect(), dataset.sizes()
    listed = {blob.name: blob.length for blob in dataset.storage.list_blobs()}
    data_bytes = sum(length for name, length in listed.items() if "/" in name)
    assert facts["stored_bytes"] == dataset.metadata.data_size_bytes == int(sizes.stored.sum()) == data_bytes
    assert sizes.other_bytes == sum(listed.values()) - data_bytes


@pytest.mark.rule("C2", "K7", "P5")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("bits", [0x7FC00000, 0x7FC00001, 0xFFC00000, 0x7F800001, 0x80000000, 0x00000001])
def test_no_bit_pattern_is_taken_for_the_no_data_one(tmp_path: Path, storage_type: Any, bits: int) -> None:
    """A NaN of another payload, -0.0 or a denormal is data: only the no-data pattern itself has length 0."""
    values = np.full((2, 1, 20, 20), np.uint32(bits), "<u4").view("<f4")
    dataset = make(tmp_path / "d", {"v": values}, item_storage(storage_type, "DeflateFast"),
                   (item("v", values, float("nan")),))
    assert same_bits(dataset.map(MapRequest("v", 1)).stored, values[1, 0])
    empty = (dataset.pages("v", 1).length == 0).sum()
    pages = len(dataset.pages("v", 1))
    first_is_stored = storage_type != "TimeSeries"
    assert empty == ((pages - first_is_stored) if bits == 0x7FC00000 else 0)
