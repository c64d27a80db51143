"""All 135 entries of the shared data: each is what `shared_files.csv` says, and imports to the bit or is refused.

A change of a source shows as a difference of that table; `python -m tests.sources.shared_files` writes it anew: look at
what `git diff` says of it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import Array, Description, Item, MeshDomain
from mdstudio.engine.progress import Progress
from mdstudio.jobs.recipe import Recipe
from mdstudio.jobs.run import run_recipe
from mdstudio.sources.registry import open_source
from tests.sources import native
from tests.sources.shared_files import entries, kept_rows, manifest, paths_of, rows_of

SMALL = 6 << 20  # raw bytes of a grid that is imported in every run; larger ones in the long runs
ENTRIES = tuple(dict.fromkeys(row["entry"] for row in kept_rows()))
GRIDS = tuple((row["entry"], row["grid"], int(row["raw_bytes"])) for row in kept_rows() if not row["refused"])
STORAGE_TYPES = ("SingleTimestep", "MultiTimestep", "TimeSeries")


def _require_library(entry: str) -> None:
    if Path(entry).suffix in (".dfs0", ".dfs1", ".dfs2", ".dfs3", ".dfsu", ".mesh") and find_spec("mikecore") is None:
        pytest.skip("DHI's library does not exist here")
    if "pcodec" in entry and find_spec("pcodec") is None:
        pytest.skip("the codec of this store is not installed here")


def test_the_table_names_every_entry_of_the_manifest(shared_data: Path) -> None:
    listed = manifest(shared_data)
    assert len(listed) == 135
    assert all((shared_data / entry).exists() for entry in listed)
    assert list(ENTRIES) == entries(shared_data)


@pytest.mark.rule("K1")
@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_is_what_the_table_says(shared_data: Path, entry: str) -> None:
    _require_library(entry)
    assert rows_of(shared_data, entry) == [row for row in kept_rows() if row["entry"] == entry]


@pytest.mark.rule("W4", "K7")
@pytest.mark.parametrize(("entry", "grid"), [(entry, grid) for entry, grid, size in GRIDS if size <= SMALL])
def test_a_small_grid_is_imported_to_the_bit(shared_data: Path, tmp_path: Path, entry: str, grid: str) -> None:
    check(shared_data, tmp_path / "dataset", entry, grid)


@pytest.mark.long
@pytest.mark.rule("W4", "K7")
@pytest.mark.parametrize(("entry", "grid"), [(entry, grid) for entry, grid, size in GRIDS if size > SMALL])
def test_a_large_grid_is_imported_to_the_bit(shared_data: Path, tmp_path: Path, entry: str, grid: str) -> None:
    check(shared_data, tmp_path / "dataset", entry, grid)


def check(data: Path, target: Path, entry: str, grid: str) -> None:
    _require_library(entry)
    with open_source(paths_of(data, entry)) as source:
        description = next(d for d in source.descriptions() if d.name == grid)
    dataset = _import(data, target, entry, description)
    if entry.startswith("grib/"):
        _check_messages(data / entry, description, dataset)
        return
    assert [i.name for i in dataset.metadata.items] == [i.name for i in description.items]
    for item in dataset.metadata.items:
        expected, found = list(native.slices(data, entry, description, item)), list(_layers(dataset, item))
        assert len(found) == len(expected)
        for layer, (mine, other) in enumerate(zip(found, expected, strict=True)):
            assert mine.tobytes() == np.ascontiguousarray(other).tobytes(), (item.name, layer)


def _import(data: Path, target: Path, entry: str, description: Description) -> Dataset:
    """The storage types take turns where there are several times; meshes with sigma layers have one only (K3)."""
    steps = len(description.times)
    turn = STORAGE_TYPES[(len(entry) + len(description.name)) % (3 if steps > 1 else 1)]
    packed = not (isinstance(description.domain, MeshDomain) and description.domain.sigma)
    run_recipe(Recipe(tuple(paths_of(data, entry)), str(target), {"StorageType": turn} if packed else {},
                      grid=description.name), Progress(), {})
    return Dataset.open(str(target))


def _layers(dataset: Dataset, item: Item) -> Iterator[Array]:
    """(times, values) of each layer as stored, values in the order of the source."""
    rows, columns = dataset.metadata.shape
    times = slice(0, len(dataset.metadata.times))
    numbers = _numbers(dataset.domain, item) if isinstance(dataset.domain, MeshDomain) else None
    for layer in item.layer_ids():
        width = columns if numbers is None else numbers.size
        values = dataset.block(item.name, times, layer, slice(0, rows), slice(0, width), Progress())
        values = values.reshape(len(values), -1)
        if numbers is not None:
            stored, values = values, np.empty_like(values)
            values[:, numbers] = stored
        yield values


def _numbers(domain: MeshDomain, item: Item) -> Array:
    """Where each stored value is in the source: sigma values lie element by element, each from the bottom up."""
    if item.value_kind != "sigma":
        return domain.node_number if item.location == "node" else domain.element_number
    assert domain.layer_counts is not None
    order = np.argsort(domain.element_number)
    starts = dict(zip(order.tolist(), np.cumsum([0, *domain.layer_counts[order]])[:-1].tolist(), strict=True))
    return np.concatenate([np.arange(starts[n], starts[n] + count)
                           for n, count in enumerate(domain.layer_counts.tolist())])


def _check_messages(path: Path, description: Description, dataset: Dataset) -> None:
    """Each stored slice is a message of its time, and each message is a slice; slices without a message are told."""
    left = native.message_counts(path)
    absent = sum(note.count for note in description.dropped if "no message" in note.reason)
    found: Counter[tuple[str, bytes]] = Counter()
    for item in dataset.metadata.items:
        for values in _layers(dataset, item):
            for t, one in enumerate(values):
                key = dataset.metadata.times.text(t), hashlib.sha256(np.ascontiguousarray(one).tobytes()).digest()
                if key not in left and np.isnan(one).all():
                    absent -= 1
                else:
                    found[key] += 1
    assert (found, absent) == (left, 0)
