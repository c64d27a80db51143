"""Queries: what they touch, what they cost, and what they do when a writer comes in between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import BlobChangedError, DamagedDataError, NotFoundError, UsageError
from mdstudio.engine.model import Array
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import Explain, MapRequest, SeriesRequest
from mdstudio.engine.storage import FolderStorage
from tests.engine.made_datasets import Watched, item, item_storage, make, same_bits, smooth, write

STORAGE_TYPES = ("SingleTimestep", "MultiTimestep", "TimeSeries")
VALUES = smooth(7, 1, 40, 50)
MAP = MapRequest("v", 4, bbox=(17, 3, 30, 12))
POINTS = ((18.0, 4.0), (18.0, 5.0), (49.0, 39.0))


def opened(folder: Path, storage_type: Any, compression: str = "DeflateFast", values: Array = VALUES,
           **more: Any) -> tuple[Dataset, Watched]:
    make(folder / "d", {"v": values}, item_storage(storage_type, compression, **more))
    storage = Watched(FolderStorage(folder / "d"))
    dataset = Dataset.open(storage)
    assert dataset.domain.rows == values.shape[2]
    waited: list[float] = []
    dataset.sleep = waited.append
    storage.calls.clear()
    return dataset, storage


def requests(storage: Watched) -> list[str]:
    return [call for call, _ in storage.calls]


# What a query touches


@pytest.mark.rule("P2", "G6")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES[:2])
def test_a_rectangle_reads_just_the_pages_it_touches_each_once(tmp_path: Path, storage_type: Any) -> None:
    dataset, storage = opened(tmp_path, storage_type)
    explain = dataset.map(MAP).explain
    assert [(ref.rows, ref.columns) for ref in explain.pages] == [((0, 16), (16, 32))]
    table = dataset.pages("v", 4)
    assert [(ref.page, ref.offset, ref.length) for ref in explain.pages] == [(1, table.offset[1], table.length[1])]
    assert (explain.pages_touched, explain.pages_decoded) == (1, 1)
    tail = min(4096, storage.properties(explain.pages[0].blob).length)
    assert explain.bytes_read == (12 * 4 if storage_type == "SingleTimestep" else tail) + int(table.length[1])


@pytest.mark.rule("P2", "P9", "T7", "G6")
@pytest.mark.parametrize(("storage_type", "compression", "count"), [
    ("SingleTimestep", "ZstdAuto", 2), ("MultiTimestep", "ZstdAuto", 3), ("TimeSeries", "ZstdAuto", 2),
    ("SingleTimestep", "None", 1), ("MultiTimestep", "None", 1), ("TimeSeries", "None", 1)])
def test_the_explain_record_counts_the_requests_and_bytes_that_were_made(
    tmp_path: Path, storage_type: Any, compression: str, count: int
) -> None:
    dataset, storage = opened(tmp_path, storage_type, compression)
    explain = dataset.map(MAP).explain
    assert explain.requests == len(storage.calls) == count
    assert explain.bytes_read > 0


@pytest.mark.rule("P2")
def test_all_pages_of_a_timestep_come_in_one_request_and_each_is_decoded_once(tmp_path: Path) -> None:
    dataset, storage = opened(tmp_path, "MultiTimestep")
    explain = dataset.map(MapRequest("v", 0)).explain
    assert explain.pages_touched == explain.pages_decoded == 12
    assert requests(storage) == ["properties", "read_range", "read_range"]


@pytest.mark.rule("P2")
def test_pages_more_than_60_kb_apart_are_split_and_nearer_ones_are_not(tmp_path: Path) -> None:
    """Noise that does not compress: 16 tiles of 32 KB in a row; the first and the third lie 32 KB apart."""
    values = np.random.default_rng(1).integers(-2**15, 2**15, (1, 1, 128, 16 * 128)).astype("<i2")
    dataset, storage = opened(tmp_path, "SingleTimestep", "None", values, width=128)
    order = {int(c): i for i, c in enumerate(dataset.layout("v").tiles.column0 // 128)}
    assert [order[i] for i in range(4)] == [0, 1, 2, 3]
    near = MapRequest("v", 0, bbox=(0, 0, 2 * 128, 1))
    assert dataset.map(near).explain.requests == 1
    storage.calls.clear()
    found = dataset.series(SeriesRequest("v", ((0.0, 0.0), (3.0 * 128, 0.0)), stop=1))
    assert requests(storage) == ["read_range", "read_range"]
    assert found.stored.ravel().tolist() == [values[0, 0, 0, 0], values[0, 0, 0, 384]]


@pytest.mark.rule("P2", "P5")
def test_an_empty_page_is_touched_but_neither_read_nor_decoded(tmp_path: Path) -> None:
    values = VALUES.copy()
    values[:, :, :16, 16:32] = -1
    make(tmp_path / "d", {"v": values}, item_storage("MultiTimestep"), (item("v", values, -1),))
    explain = Dataset.open(str(tmp_path / "d")).map(MAP).explain
    assert (explain.pages_touched, explain.pages_decoded) == (1, 0)
    assert explain.requests == 2


@pytest.mark.rule("T2", "T7")
def test_a_point_series_costs_two_dependent_requests_and_one_block_a_group(tmp_path: Path) -> None:
    dataset, storage = opened(tmp_path, "TimeSeries", "ZstdAuto")
    explain = dataset.series(SeriesRequest("v", POINTS[:1])).explain
    assert requests(storage) == ["read_range"] * 6
    assert (explain.requests, explain.pages_touched, explain.pages_decoded) == (6, 3, 3)
    table = dataset.pages("v", 0)
    block = next(ref for ref in explain.pages if ref.blob.endswith("G00000000.dat"))
    assert block.length in table.length.tolist()
    header_bytes = {ref.blob: 4 * -(-16 * 16 // 5) for ref in explain.pages}
    assert explain.bytes_read == sum(header_bytes.values()) + sum(ref.length for ref in explain.pages)


@pytest.mark.rule("T7")
def test_neighbouring_points_share_a_block_and_far_ones_have_their_own(tmp_path: Path) -> None:
    dataset, _ = opened(tmp_path, "TimeSeries", "ZstdAuto", block_rows=32)
    found = dataset.series(SeriesRequest("v", POINTS))
    assert found.explain.pages_touched == 2 * 3  # (4, 18) and (5, 18) are rows 66 and 82 of their tile: block 2
    assert same_bits(np.ascontiguousarray(found.stored[:, 0]), np.ascontiguousarray(VALUES[:, 0, 4, 18]))


@pytest.mark.rule("P2")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES[:2])
def test_a_series_on_a_layout_per_timestep_reads_one_page_a_timestep(tmp_path: Path, storage_type: Any) -> None:
    dataset, storage = opened(tmp_path, storage_type)
    found = dataset.series(SeriesRequest("v", POINTS[:2], start=1, stop=6))
    assert found.explain.pages_touched == found.explain.pages_decoded == 5
    assert len(storage.calls) == (10 if storage_type == "SingleTimestep" else 6)  # 2 a timestep; 3 a group
    assert found.stored.tolist() == VALUES[1:6, 0, 4:6, 18].tolist()


@pytest.mark.rule("P2", "T7")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_an_uncompressed_series_reads_no_more_than_its_cells_where_they_lie_apart(
    tmp_path: Path, storage_type: Any
) -> None:
    """One cell of a slice of 512 x 512: the timesteps lie 512 KB apart, so each is a request of 2 bytes."""
    values = smooth(3, 1, 512, 512)
    dataset, _ = opened(tmp_path, storage_type, "None", values, width=128)
    found = dataset.series(SeriesRequest("v", ((300.0, 200.0),)))
    assert found.stored.ravel().tolist() == values[:, 0, 200, 300].tolist()
    assert found.explain.bytes_read == 6


# Results


def test_a_result_has_values_coordinates_and_a_mask(tmp_path: Path) -> None:
    values = VALUES.copy()
    values[4, 0, 5, 20] = -1
    scaled = item("v", values, -1, scale=0.5, offset=10.0)
    found = make(tmp_path / "d", {"v": values}, item_storage("SingleTimestep"), (scaled,)).map(MAP)
    assert found.mask.all()
    assert found.x.tolist() == found.columns.tolist()
    assert found.y.tolist() == found.rows.tolist()
    block = values[4, 0, found.rows[0]:found.rows[-1] + 1, found.columns[0]:found.columns[-1] + 1]
    expected = np.where(block == -1, np.nan, block * 0.5 + 10)
    assert np.isnan(found.values[found.rows == 5, found.columns == 20]).all()
    assert np.array_equal(found.values, expected, equal_nan=True)


@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_a_rectangle_beside_the_grid_is_empty_with_the_reason_and_reads_nothing(
    tmp_path: Path, storage_type: Any
) -> None:
    dataset, storage = opened(tmp_path, storage_type)
    found = dataset.map(MapRequest("v", bbox=(100, 0, 110, 5)))
    assert found.stored.size == found.values.size == 0
    assert "east of the grid" in found.empty_reason
    assert (storage.calls, found.explain) == ([], Explain())


@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_a_point_beside_the_grid_holds_no_data(tmp_path: Path, storage_type: Any) -> None:
    make(tmp_path / "d", {"v": VALUES}, item_storage(storage_type), (item("v", VALUES, -1),))
    found = Dataset.open(str(tmp_path / "d")).series(SeriesRequest("v", ((500.0, 0.0), POINTS[0])))
    assert found.stored[:, 0].tolist() == [-1] * 7
    assert np.isnan(found.values[:, 0]).all()
    assert np.isnan(found.x[0])
    assert found.stored[:, 1].tolist() == VALUES[:, 0, 4, 18].tolist()


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    dataset, storage = opened(tmp_path, "SingleTimestep")
    with pytest.raises(NotFoundError, match=r"no item 'w'.*Did you mean 'v'"):
        dataset.map(MapRequest("w"))
    for time in (-1, 7):
        with pytest.raises(NotFoundError, match="has 7 times"):
            dataset.map(MapRequest("v", time))
    with pytest.raises(UsageError, match="has no layers"):
        dataset.map(MapRequest("v", 0, 0))
    with pytest.raises(NotFoundError, match="has 7 times"):
        dataset.series(SeriesRequest("v", POINTS, start=0, stop=8))
    assert set(storage.calls) <= {("read", "dataset.json")}  # whether the dataset was replaced meanwhile


def test_a_layer_that_is_not_there_is_named(tmp_path: Path) -> None:
    dataset, _ = opened(tmp_path, "SingleTimestep", values=smooth(1, 3, 8, 8))
    assert dataset.map(MapRequest("v")).stored.tolist() == smooth(1, 3, 8, 8)[0, 0].tolist()
    with pytest.raises(NotFoundError, match="no layer 3; it has 0 to 2"):
        dataset.map(MapRequest("v", 0, 3))


@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_a_cancelled_query_ends(tmp_path: Path, storage_type: Any) -> None:
    from mdstudio.engine.errors import Cancelled

    dataset, _ = opened(tmp_path, storage_type)
    progress = Progress()
    progress.cancel()
    with pytest.raises(Cancelled):
        dataset.map(MAP, progress)
    with pytest.raises(Cancelled):
        dataset.series(SeriesRequest("v", POINTS), progress)


# A writer in between


def rewrite(folder: Path, storage_type: Any, values: Array) -> Callable[[], None]:
    """Import other values over the stored ones, blob by blob, as an update does; the metadata stays."""
    from mdstudio.engine.storage import FolderStorage

    other = FolderStorage(folder / "other")
    write(other, {"v": values}, item_storage(storage_type, "DeflateFast"))

    def copy() -> None:
        target = FolderStorage(folder / "d")
        for blob in list(other.list_blobs("000-v/")):
            target.copy_from(other, blob.name)

    return copy


def after_call(storage: Watched, call: str, suffix: str, times: int, act: Callable[[], None]) -> None:
    """Do something after each of the first `times` such calls."""
    left = [times]

    def watch(made: str, name: str, number: int) -> None:
        if made == call and name.endswith(suffix) and left[0]:
            left[0] -= 1
            act()

    storage.after = watch


@pytest.mark.rule("P16", "T6")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES[1:])
@pytest.mark.parametrize("query", ["map", "series"])
def test_a_commit_in_between_makes_a_query_read_the_group_again_from_the_new_version(
    tmp_path: Path, storage_type: Any, query: str
) -> None:
    dataset, storage = opened(tmp_path, storage_type)
    new = VALUES + 1000
    first = "properties" if storage_type == "MultiTimestep" else "read_range"
    after_call(storage, first, ".dat", 1, rewrite(tmp_path, storage_type, new))
    if query == "map":
        found = dataset.map(MAP)
        assert np.array_equal(found.stored, new[4, 0][np.ix_(found.rows, found.columns)])
    else:
        assert dataset.series(SeriesRequest("v", POINTS[:1])).stored[0, 0] in (VALUES[0, 0, 4, 18], new[0, 0, 4, 18])


@pytest.mark.rule("P16", "T6")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES[1:])
@pytest.mark.parametrize("query", ["map", "series"])
def test_a_second_commit_in_between_fails_the_query(tmp_path: Path, storage_type: Any, query: str) -> None:
    dataset, storage = opened(tmp_path, storage_type)
    first = "properties" if storage_type == "MultiTimestep" else "read_range"
    after_call(storage, first, ".dat", 1000, rewrite(tmp_path, storage_type, VALUES + 1000))
    ask = (lambda: dataset.map(MAP)) if query == "map" else (
        lambda: dataset.series(SeriesRequest("v", POINTS[:1], stop=3)))
    with pytest.raises(BlobChangedError):
        ask()


@pytest.mark.rule("T6")
def test_an_uncompressed_time_series_read_is_not_pinned(tmp_path: Path) -> None:
    """Two points 100 KB apart in one blob are two requests; a rewrite between them does not fail the read."""
    values = smooth(200, 1, 16, 16)
    dataset, storage = opened(tmp_path, "TimeSeries", "None", values, group=200)
    target = FolderStorage(tmp_path / "d")
    blob = "000-v/L-1/S00000000/G00000000.dat"
    after_call(storage, "read_range", ".dat", 1000, lambda: void(target.write(blob, target.read(blob).data)))
    found = dataset.series(SeriesRequest("v", ((0.0, 0.0), (15.0, 15.0))))
    assert found.explain.requests == 2
    assert found.stored.tolist() == np.stack([values[:, 0, 0, 0], values[:, 0, 15, 15]], axis=1).tolist()


def void(result: object) -> None:
    """Drop a result."""


@pytest.mark.rule("P18")
@pytest.mark.parametrize("query", ["map", "series", "pages"])
def test_a_single_timestep_pair_that_does_not_add_up_is_read_again_after_200_ms_and_1_s(
    tmp_path: Path, query: str
) -> None:
    dataset, _ = opened(tmp_path, "SingleTimestep")
    dat = "000-v/L-1/19700101T040000.dat"
    target = FolderStorage(tmp_path / "d")
    good, waited = target.read(dat).data, []
    target.write(dat, good + b"x")
    if query == "pages":
        target.write(dat.replace(".dat", ".idx"), b"")

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            target.write(dat, good)
            if query == "pages":
                target.write(dat.replace(".dat", ".idx"), dataset_idx)

    dataset_idx = np.array([int(n) for n in Dataset.open(FolderStorage(tmp_path / "d")).pages("v", 0).length]
                           if query == "pages" else [], "<i4").tobytes()
    dataset.sleep = wait
    if query == "map":
        assert same_bits(dataset.map(MapRequest("v", 4)).stored, VALUES[4, 0])
    elif query == "series":
        found = dataset.series(SeriesRequest("v", POINTS[:1], start=4, stop=5))
        assert found.stored.ravel().tolist() == [VALUES[4, 0, 4, 18]]
    else:
        assert len(dataset.pages("v", 4)) == 12
    assert waited == [0.2, 1.0]


@pytest.mark.rule("P18")
@pytest.mark.parametrize("damage", ["longer", "shorter", "short idx", "flipped", "empty"])
def test_a_pair_that_stays_wrong_is_refused_after_two_more_reads(tmp_path: Path, damage: str) -> None:
    dataset, _ = opened(tmp_path, "SingleTimestep")
    dat = "000-v/L-1/19700101T040000.dat"
    target = FolderStorage(tmp_path / "d")
    good = target.read(dat).data
    index = target.read(dat.replace(".dat", ".idx")).data
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    damaged = {"longer": good + b"x", "shorter": good[:-1], "short idx": good, "flipped": bytes(flipped), "empty": b""}
    target.write(dat, damaged[damage])
    if damage == "short idx":
        target.write(dat.replace(".dat", ".idx"), index[:-4])
    waited: list[float] = []
    dataset.sleep = waited.append
    with pytest.raises(DamagedDataError) as caught:
        dataset.map(MapRequest("v", 4))
    assert waited == [0.2, 1.0]
    assert "19700101T040000" in caught.value.where


@pytest.mark.rule("T5")
@pytest.mark.parametrize("damage", ["longer", "shorter", "negative", "too long a block", "empty", "swapped lengths"])
def test_a_time_series_blob_that_is_not_what_its_header_says_is_refused(tmp_path: Path, damage: str) -> None:
    dataset, _ = opened(tmp_path, "TimeSeries")
    blob = "000-v/L-1/S00000001/G00000001.dat"
    target = FolderStorage(tmp_path / "d")
    good = target.read(blob).data
    header = np.frombuffer(good[:4 * 52], "<i4").copy()
    if damage == "negative":
        header[3] = -header[3]
    elif damage == "too long a block":
        header[3] = 2**31 - 1
    elif damage == "swapped lengths":
        header[12] += 1  # row 64 of the tile: the block of the first cells that MAP asks for
        header[50] -= 1
    body = header.tobytes() + good[4 * 52:]
    target.write(blob, {"longer": good + b"x", "shorter": good[:-1], "empty": b""}.get(damage, body))
    with pytest.raises(DamagedDataError) as caught:
        dataset.map(MAP)
    assert blob in caught.value.where


@pytest.mark.rule("P10", "V1")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_a_flipped_bit_in_any_stored_byte_of_a_page_is_found(tmp_path: Path, storage_type: Any) -> None:
    dataset, _ = opened(tmp_path, storage_type, values=smooth(1, 1, 16, 16))
    target = FolderStorage(tmp_path / "d")
    blob = next(b.name for b in target.list_blobs("000-v/") if b.name.endswith(".dat"))
    good = target.read(blob).data
    for at in range(0, len(good), 7):
        broken = bytearray(good)
        broken[at] ^= 0x10
        target.write(blob, bytes(broken))
        with pytest.raises(DamagedDataError):
            dataset.map(MapRequest("v", 0))


@pytest.mark.rule("K9")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("change", [1, -1])
def test_raw_data_of_another_length_is_refused(tmp_path: Path, storage_type: Any, change: int) -> None:
    dataset, _ = opened(tmp_path, storage_type, "None", values=smooth(1, 1, 16, 16))
    target = FolderStorage(tmp_path / "d")
    blob = next(b.name for b in target.list_blobs("000-v/"))
    good = target.read(blob).data
    target.write(blob, good + b"x" if change > 0 else good[:-1])
    with pytest.raises(DamagedDataError):
        dataset.map(MapRequest("v", 0))
    with pytest.raises(DamagedDataError):
        dataset.series(SeriesRequest("v", ((0.0, 0.0),)))
