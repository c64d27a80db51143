"""An open dataset: page tables from indexes alone, one page taken apart, sizes, inspect, guards."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import (
    BlobChangedError,
    DamagedDataError,
    LayoutGuardError,
    MdError,
    NotFoundError,
    UnknownCompressionError,
)
from mdstudio.engine.model import Array
from mdstudio.engine.operations.mesh_update import update_mesh
from mdstudio.engine.operations.remove import remove_times
from mdstudio.engine.page_table import FIRST_BYTES
from mdstudio.engine.requests import MapRequest, SeriesRequest
from mdstudio.engine.storage import FolderStorage
from tests.engine.made_datasets import Watched, item, item_storage, kind_of, make, make_kind, same_bits, smooth

STORAGE_TYPES = ("SingleTimestep", "MultiTimestep", "TimeSeries")
VALUES = smooth(7, 1, 40, 50)
INSPECT_KEYS = [
    "location", "kind", "storage_type", "layout_version", "compression", "time_group_size", "grid_tile_width",
    "compressed_mesh_page_size", "time_series_block_rows", "spatial_group_size", "schema_version", "data_size_bytes",
    "times", "items", "raw_bytes", "stored_bytes", "ratio", "guards"]
ITEM_KEYS = ["name", "type", "unit", "no_data", "scale", "offset", "layers", "raw_bytes", "stored_bytes", "ratio"]


def opened(folder: Path, storage_type: Any, compression: str = "ZstdAuto", values: Array = VALUES,
           **more: Any) -> tuple[Dataset, Watched]:
    make(folder / "d", {"v": values}, item_storage(storage_type, compression, **more))
    storage = Watched(FolderStorage(folder / "d"))
    dataset = Dataset.open(storage)
    return dataset, storage


def test_opening_reads_the_metadata_blob_alone(tmp_path: Path) -> None:
    dataset, storage = opened(tmp_path, "MultiTimestep")
    assert storage.calls == [("read", "dataset.json")]
    assert dataset.item("#0") == dataset.item("v")


def test_the_coordinates_are_read_once_however_many_threads_ask(tmp_path: Path) -> None:
    dataset, storage = opened(tmp_path, "MultiTimestep")
    storage.calls.clear()
    threads = [threading.Thread(target=lambda: dataset.geometry) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(storage.calls) == 1
    assert dataset.geometry is dataset.geometry


# Pages


@pytest.mark.rule("G4", "P7", "P9", "T1")
@pytest.mark.parametrize(("storage_type", "compression", "requests"), [
    ("SingleTimestep", "ZstdAuto", 1), ("MultiTimestep", "ZstdAuto", 2), ("TimeSeries", "ZstdAuto", 12),
    ("SingleTimestep", "None", 0), ("MultiTimestep", "None", 0), ("TimeSeries", "None", 0)])
def test_the_page_table_comes_from_the_index_alone(
    tmp_path: Path, storage_type: Any, compression: str, requests: int
) -> None:
    dataset, storage = opened(tmp_path, storage_type, compression)
    storage.calls.clear()
    table = dataset.pages("v", 4)
    assert len(storage.calls) == table.requests == requests
    lengths = {blob.name: blob.length for blob in storage.inner.list_blobs()}
    for blob in table.blobs:
        at = [i for i in range(len(table)) if table.blob_of(i) == blob]
        ends = table.offset[at] + table.length[at]
        assert (np.diff(table.offset[at]) == table.length[at][:-1]).all()
        assert ends[-1] <= lengths[blob]
    assert table.page.tolist() == list(range(len(table)))


@pytest.mark.rule("G4", "P1", "T1")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("block_rows", [1, 5, 16, 23, 64, 300])
def test_the_rectangles_of_the_pages_cover_every_cell_once(
    tmp_path: Path, storage_type: Any, block_rows: int
) -> None:
    dataset, _ = opened(tmp_path, storage_type, block_rows=block_rows)
    table = dataset.pages("v", 4)
    owner = np.full((40, 50), -1)
    for page, row0, row1, column0, column1 in zip(
            table.rect_page, table.row0, table.row1, table.column0, table.column1, strict=True):
        assert row1 > row0
        assert column1 > column0
        assert (owner[row0:row1, column0:column1] == -1).all()
        owner[row0:row1, column0:column1] = page
    assert (owner >= 0).all()
    cells = np.bincount(owner.ravel(), minlength=len(table))
    columns = 3 if storage_type == "TimeSeries" else 1
    assert (cells * columns * 2 == table.raw).all()


@pytest.mark.rule("G4")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("compression", ["None", "LZ4", "ZstdAuto"])
def test_a_page_taken_apart_holds_the_values_of_its_cells(tmp_path: Path, storage_type: Any, compression: str) -> None:
    dataset, storage = opened(tmp_path, storage_type, compression)
    table = dataset.pages("v", 4)
    for position in (0, len(table) // 2, len(table) - 1):
        storage.calls.clear()
        page = dataset.page_details("v", 4, None, position)
        assert len(storage.calls) == page.requests <= 3
        assert (page.blob, page.number, page.offset, page.length, page.raw) == (
            table.blob_of(position), *(int(part[position]) for part in
                                       (table.number, table.offset, table.length, table.raw)))
        assert page.rectangles == table.rectangles(position)
        assert page.problem == ""
        assert page.checksum is (None if compression == "None" else True)
        stored = storage.read(page.blob).data[page.offset:page.offset + page.length]
        assert page.checksum_stored == (b"" if compression == "None" else stored[-4:])
        assert page.info is not None
        assert page.header == stored[:page.info.header_bytes or FIRST_BYTES]
        parts = [VALUES[:, 0, r0:r1, c0:c1].reshape(7, -1) for r0, r1, c0, c1 in page.rectangles]
        cells = np.concatenate(parts, axis=1)
        assert page.values is not None
        if storage_type == "TimeSeries":
            assert sorted(page.values.tolist()) == sorted(cells[3:6].T.tolist())
        else:
            assert page.values.ravel().tolist() == cells[4].tolist()


@pytest.mark.rule("G4", "V1")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_a_damaged_page_says_so_and_shows_no_values(tmp_path: Path, storage_type: Any) -> None:
    dataset, storage = opened(tmp_path, storage_type)
    table = dataset.pages("v", 4)
    blob = table.blob_of(2)
    data = bytearray(storage.read(blob).data)
    data[int(table.offset[2]) + 3] ^= 1
    storage.write(blob, bytes(data))
    page = dataset.page_details("v", 4, None, 2)
    assert (page.checksum, page.values) == (False, None)
    assert page.header == bytes(data[int(table.offset[2]):][:FIRST_BYTES])
    assert page.checksum_stored == storage.read(blob).data[int(table.offset[2] + table.length[2]) - 4:][:4]
    assert "checksum" in page.problem
    assert dataset.page_details("v", 4, None, 1).problem == ""


@pytest.mark.rule("G4", "P16")
def test_a_page_whose_blob_was_committed_after_its_index_came_is_read_once_more(tmp_path: Path) -> None:
    dataset, storage = opened(tmp_path, "MultiTimestep")
    blob = dataset.pages("v", 4).blob_of(2)
    rewrites = 0

    def rewrite(call: str, name: str, number: int) -> None:
        nonlocal rewrites
        if call == "read_range" and not rewrites:
            rewrites += 1
            storage.inner.write(blob, storage.inner.read(blob).data)

    storage.after = rewrite
    page = dataset.page_details("v", 4, None, 2)
    assert (rewrites, page.problem, page.requests) == (1, "", 6)


def test_an_empty_page_has_no_header_and_no_data_for_values(tmp_path: Path) -> None:
    values = VALUES.copy()
    values[:, :, 16:32, :16] = -1
    dataset = make(tmp_path / "d", {"v": values}, item_storage("MultiTimestep"), (item("v", values, -1),))
    page = dataset.page_details("v", 4, None, 2)
    assert (page.length, page.info, page.header, page.checksum, page.problem) == (0, None, b"", None, "")
    assert page.values is not None
    assert (page.values == -1).all()


@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("position", [-1, 100000])
def test_a_page_that_is_not_there_is_named(tmp_path: Path, storage_type: Any, position: int) -> None:
    dataset, _ = opened(tmp_path, storage_type)
    with pytest.raises(NotFoundError, match=f"no page {position}"):
        dataset.page_details("v", 4, None, position)


@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("compression", ["None", "ZstdAuto"])
def test_a_block_is_the_stored_values_of_its_times_and_cells(
    tmp_path: Path, storage_type: Any, compression: str
) -> None:
    values = smooth(7, 2, 40, 50)
    dataset = make(tmp_path / "d", {"v": values}, item_storage(storage_type, compression))
    times, rows, columns = slice(2, 6), slice(5, 38), slice(15, 34)
    found = dataset.block("v", times, 1, rows, columns)
    assert same_bits(found, values[times, 1, rows, columns])


# Sizes and facts


@pytest.mark.rule("G2", "G4")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("compression", ["None", "ZstdAuto"])
def test_sizes_come_from_listing_and_indexes(tmp_path: Path, storage_type: Any, compression: str) -> None:
    values = smooth(7, 2, 40, 50)
    dataset, storage = opened(tmp_path, storage_type, compression, values)
    storage.calls.clear()
    sizes = dataset.sizes()
    reads = [call for call, _ in storage.calls if call != "list_blobs"]
    assert len(reads) == (12 if (storage_type, compression) == ("MultiTimestep", "ZstdAuto") else 0)  # 2 x 3 groups
    assert sizes.raw.tolist() == [2 * 40 * 50 * 2]
    if storage_type != "TimeSeries" and compression == "ZstdAuto":
        pages = [sum(int(dataset.pages("v", t, layer).length.sum()) for layer in range(2)) for t in range(7)]
        index = 12 * 4 * 2
        assert [abs(int(n) - p - index) <= 2 * 9 for n, p in zip(sizes.stored[0], pages, strict=True)] == [True] * 7
    assert int(sizes.stored.sum()) == sum(blob.length for blob in storage.inner.list_blobs("000-v/"))


@pytest.mark.rule("G2", "V9")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_inspect_has_its_keys_and_costs_a_listing(tmp_path: Path, storage_type: Any) -> None:
    values = smooth(7, 1, 40, 50)
    make(tmp_path / "d", {"v": values, "w": smooth(7, 3, 40, 50, "float32")}, item_storage(storage_type))
    storage = Watched(FolderStorage(tmp_path / "d"))
    facts = Dataset.open(storage).inspect()
    assert list(facts) == INSPECT_KEYS
    assert [list(i) for i in facts["items"]] == [ITEM_KEYS] * 2
    assert {call for call, _ in storage.calls[1:]} == {"list_blobs"}
    assert facts["times"] == {"count": 7, "first": "1970-01-01T00:00:00", "last": "1970-01-01T06:00:00",
                              "calendar": "standard"}
    assert [i["raw_bytes"] for i in facts["items"]] == [values.nbytes, values.nbytes * 6]
    assert [i["layers"] for i in facts["items"]] == [None, 3]
    assert facts["raw_bytes"] == values.nbytes * 7
    assert facts["stored_bytes"] == sum(i["stored_bytes"] for i in facts["items"]) == facts["data_size_bytes"]
    assert facts["ratio"] == facts["stored_bytes"] / facts["raw_bytes"]
    assert (facts["storage_type"], facts["compression"], facts["layout_version"], facts["guards"]) == (
        storage_type, "ZstdAuto", 3, [])


# Guards


def rewritten(folder: Path, change: dict[str, Any]) -> Dataset:
    """The dataset of a folder with other fields in its item storage."""
    document = json.loads((folder / "dataset.json").read_bytes())
    for key, value in change.items():
        if value is None:
            document["ItemStorage"].pop(key, None)
        else:
            document["ItemStorage"][key] = value
    (folder / "dataset.json").write_text(json.dumps(document))
    storage = Watched(FolderStorage(folder))
    dataset = Dataset.open(storage)
    storage.calls.clear()
    return dataset


@pytest.mark.rule("V3", "V5", "V6", "V7", "V9")
@pytest.mark.parametrize(("storage_type", "change", "error"), [
    ("MultiTimestep", {"Compression": "BrotliAuto"}, UnknownCompressionError),
    ("MultiTimestep", {"LayoutVersion": 4}, MdError),
    ("TimeSeries", {"TimeSeriesBlockRows": None}, LayoutGuardError),
    ("TimeSeries", {"TimeSeriesBlockRows": None, "LayoutVersion": None}, LayoutGuardError),
])
def test_a_guarded_dataset_opens_and_shows_but_its_data_is_not_read(
    tmp_path: Path, storage_type: Any, change: dict[str, Any], error: type[MdError]
) -> None:
    make(tmp_path / "d", {"v": VALUES}, item_storage(storage_type))
    dataset = rewritten(tmp_path / "d", change)
    assert dataset.guards
    assert dataset.inspect()["guards"][0]["message"]
    assert dataset.domain.rows == 40
    storage = dataset.storage
    assert isinstance(storage, Watched)
    storage.calls.clear()
    for ask in (lambda: dataset.map(MapRequest("v")), lambda: dataset.series(SeriesRequest("v", ((1.0, 1.0),))),
                lambda: dataset.pages("v", 0), lambda: dataset.page_details("v", 0, None, 0), dataset.sizes):
        with pytest.raises(error):
            ask()
    assert storage.calls == []


@pytest.mark.rule("V3", "C4")
@pytest.mark.parametrize("storage_type", ["SingleTimestep", "MultiTimestep"])
@pytest.mark.parametrize("compression", ["LZ4", "DeflateFast"])
def test_a_compressed_grid_whose_version_was_dropped_is_read(
    tmp_path: Path, storage_type: Any, compression: str
) -> None:
    make(tmp_path / "d", {"v": VALUES}, item_storage(storage_type, compression, version=1))
    dataset = rewritten(tmp_path / "d", {"LayoutVersion": None})
    assert dataset.metadata.storage.layout_version is None
    assert same_bits(dataset.map(MapRequest("v", 3)).stored, VALUES[3, 0])


@pytest.mark.rule("D17")
@pytest.mark.parametrize(("storage_type", "change"), [
    ("MultiTimestep", {"width": 16, "group": 1}), ("SingleTimestep", {"width": 1}), ("MultiTimestep", {"width": 5000}),
    ("SingleTimestep", {"width": 46340})])
def test_what_older_builds_made_is_read(tmp_path: Path, storage_type: Any, change: dict[str, int]) -> None:
    dataset, _ = opened(tmp_path, storage_type, "LZ4", VALUES[:2, :, :20, :20], version=2, **change)
    assert same_bits(dataset.map(MapRequest("v", 1)).stored, np.ascontiguousarray(VALUES[1, 0, :20, :20]))


def test_a_dataset_can_be_asked_from_many_threads_at_once(tmp_path: Path) -> None:
    dataset, _ = opened(tmp_path, "MultiTimestep")
    wrong: list[Any] = []

    def ask(time: int) -> None:
        found = dataset.map(MapRequest("v", time))
        if not same_bits(found.stored, VALUES[time, 0]) or found.explain.pages_touched != 12:
            wrong.append(time)

    threads = [threading.Thread(target=ask, args=(i % 7,)) for i in range(21)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# Another job in between


@pytest.mark.rule("T9", "V13", "D6")
def test_what_another_job_took_away_says_to_open_the_dataset_again(tmp_path: Path) -> None:
    made = kind_of("mesh")
    held = make_kind(tmp_path / "mesh", made, "MultiTimestep")
    update_mesh(held.storage, replace(made.mesh, node_x=made.mesh.node_x + 1.0))
    with pytest.raises(BlobChangedError, match=r"since it was opened.*Open it again"):
        held.map(MapRequest("v", 0))
    with pytest.raises(BlobChangedError, match="since it was opened"):
        _ = held.domain

    held = make(tmp_path / "steps", {"v": VALUES}, item_storage("SingleTimestep"))
    remove_times(held.storage, [int(held.metadata.times.microseconds[2])])
    assert same_bits(held.map(MapRequest("v", 3)).stored, VALUES[3, 0])
    for ask in (lambda: held.map(MapRequest("v", 2)), lambda: held.series(SeriesRequest("v", ((3.0, 3.0),))),
                lambda: held.pages("v", 2), lambda: held.block("v", slice(1, 3), -1, slice(0, 40), slice(0, 50)),
                held.sizes):
        with pytest.raises(BlobChangedError, match="since it was opened"):
            ask()


def test_what_is_missing_of_a_dataset_that_is_as_it_was_is_told_as_it_is(tmp_path: Path) -> None:
    dataset, storage = opened(tmp_path, "SingleTimestep")
    renamed = json.loads(storage.read("dataset.json").data) | {"Name": "another"}
    storage.write("dataset.json", json.dumps(renamed).encode())  # saved since, but nothing was taken away
    storage.delete("000-v/L-1/19700101T030000.dat")
    with pytest.raises(NotFoundError, match=r"19700101T030000\.dat"):
        dataset.map(MapRequest("v", 3))
    assert dataset.sizes().stored[0].argmin() == 3  # its index alone
    held = Dataset.open(storage)
    storage.delete(held.metadata.domain_blob)
    with pytest.raises(DamagedDataError, match="coordinates is missing"):
        held.map(MapRequest("v", 2))
