"""`compare` sees every changed bit, says where the first one is, and reads both sides in bounded blocks."""

from __future__ import annotations

import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

import mdstudio
from mdstudio.engine.errors import Cancelled, NotFoundError
from mdstudio.engine.progress import Progress
from mdstudio.engine.times import TimeAxis
from mdstudio.jobs.compare import compare, describe_difference
from mdstudio.jobs.sides import blocks
from tests.cli.sources import write_waves

KEYS = {"equal", "items", "coordinates_equal", "times_equal", "units_equal"}
ITEM_KEYS = {"name", "equal", "times_compared", "first_difference"}


def imported(source: Path, target: Path, reader: dict[str, Any] | None = None, **writer: Any) -> Path:
    mdstudio.import_({
        "sources": [str(source)], "target": str(target),
        "writerParameters": [{"name": n, "value": v} for n, v in ({"Compression": "ZstdAuto"} | writer).items()],
        "readerParameters": [{"name": n, "value": v} for n, v in (reader or {}).items()]})
    return target


def compared(a: Path, b: Path) -> dict[str, Any]:
    return compare(str(a), str(b), Progress())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_waves(tmp_path / "a.nc")


@pytest.mark.parametrize("storage_type", ["SingleTimestep", "MultiTimestep", "TimeSeries"])
def test_a_dataset_equals_its_source_either_way_round(storage_type: str, source: Path, tmp_path: Path) -> None:
    dataset = imported(source, tmp_path / "d", StorageType=storage_type, GridTileWidth=16)
    for a, b in ((dataset, source), (source, dataset)):
        result = compared(a, b)
        assert result.keys() >= KEYS
        assert all(item.keys() >= ITEM_KEYS for item in result["items"])
        assert result["equal"] is True
        assert [(i["name"], i["times_compared"]) for i in result["items"]] == [("swh", 6), ("level", 6), ("temp", 6)]


def test_datasets_of_different_layouts_and_compressions_are_equal(source: Path, tmp_path: Path) -> None:
    a = imported(source, tmp_path / "a", StorageType="TimeSeries", TimeGroupSize=4, GridTileWidth=16)
    b = imported(source, tmp_path / "b", StorageType="SingleTimestep", Compression="None")
    assert compared(a, b)["equal"] is True
    assert compared(b, a)["equal"] is True


@pytest.mark.parametrize("storage_type", ["MultiTimestep", "TimeSeries"])
def test_one_changed_value_is_found_and_placed(storage_type: str, source: Path, tmp_path: Path) -> None:
    dataset = imported(source, tmp_path / "d", StorageType=storage_type, GridTileWidth=16, TimeGroupSize=2)
    with netCDF4.Dataset(source, "a") as file:
        file.set_auto_maskandscale(False)
        before = float(file["temp"][4, 2, 17, 3])
        file["temp"][4, 2, 17, 3] = before + 1
        file["temp"][5, 0, 19, 23] = 7.0
    result = compared(dataset, source)
    item = next(i for i in result["items"] if i["name"] == "temp")
    assert result["equal"] is False
    assert [i["equal"] for i in result["items"]] == [True, True, False]
    assert (item["times_compared"], item["times_different"]) == (6, 2)
    found = item["first_difference"]
    assert (found["time"], found["time_index"], found["layer"]) == ("2020-01-02T00:00:00", 4, 2)
    assert (found["row"], found["column"], found["a"], found["b"]) == (17, 3, before, np.float32(before + 1))
    assert describe_difference(found).startswith("2020-01-02T00:00:00, layer 2, row 17, column 3: ")


@pytest.mark.rule("C2")
def test_two_nans_of_different_bits_are_different(tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc")
    with netCDF4.Dataset(source, "a") as file:
        file["level"][0, 0, 0] = np.nan
    dataset = imported(source, tmp_path / "d")
    assert compared(dataset, source)["equal"] is True
    odd = np.array([0x7FF8000000000ABC], "<u8").view("<f8")
    with netCDF4.Dataset(source, "a") as file:
        file["level"][0, 0, 0:1] = odd
    found = compared(dataset, source)["items"][1]["first_difference"]
    assert found["a_bits"] != found["b_bits"]
    assert found["b_bits"] == "0x7ff8000000000abc"
    assert "0x7ff8000000000abc" in describe_difference(found)


@pytest.mark.rule("C2")
def test_a_zero_and_its_negative_are_different(source: Path, tmp_path: Path) -> None:
    with netCDF4.Dataset(source, "a") as file:
        file["level"][1, 0, 0] = 0.0
    dataset = imported(source, tmp_path / "d")
    with netCDF4.Dataset(source, "a") as file:
        file["level"][1, 0, 0] = -0.0
    assert compared(dataset, source)["items"][1]["first_difference"]["time_index"] == 1


@pytest.mark.rule("W4")
def test_float_of_double_is_compared_as_float32(source: Path, tmp_path: Path) -> None:
    dataset = imported(source, tmp_path / "d", {"DoubleAsFloat": True})
    result = compared(dataset, source)
    assert result["equal"] is True
    assert result["items"][1]["compared_as"] == "float32"
    assert "compared_as" not in result["items"][0]
    with netCDF4.Dataset(source, "a") as file:
        file["level"][3, 0, 0] = 1e6
    assert compared(dataset, source)["items"][1]["first_difference"]["time_index"] == 3


def test_packing_coordinates_units_and_times_count(source: Path, tmp_path: Path) -> None:
    dataset = imported(source, tmp_path / "d")

    def changed(name: str, change: Any) -> dict[str, Any]:
        copy = tmp_path / f"{name}.nc"
        shutil.copy(source, copy)
        with netCDF4.Dataset(copy, "a") as file:
            change(file)
        return compared(dataset, copy)

    scale = changed("scale", lambda f: f["swh"].setncattr("scale_factor", 0.02))
    assert scale["items"][0]["first_difference"] == {"fact": "scale", "a": 0.01, "b": 0.02}
    unit = changed("unit", lambda f: f["swh"].setncattr("units", "cm"))
    assert (unit["equal"], unit["units_equal"], unit["items"][0]["equal"]) == (False, False, True)
    x = changed("x", lambda f: f["longitude"].__setitem__(slice(None), f["longitude"][:] + 0.01))
    assert (x["equal"], x["coordinates_equal"], x["items"][0]["equal"]) == (False, False, True)
    later = changed("later", lambda f: f["time"].__setitem__(5, 36))
    assert (later["equal"], later["times_equal"]) == (False, False)
    assert later["items"][0]["times_compared"] == 5


def test_items_that_were_not_imported_are_listed_and_no_difference(source: Path, tmp_path: Path) -> None:
    mdstudio.import_({"sources": [str(source)], "target": str(tmp_path / "d"), "items": ["temp"]})
    result = compared(tmp_path / "d", source)
    assert (result["equal"], result["not_in_a"]) == (True, ["swh", "level"])
    whole = imported(source, tmp_path / "whole")
    two = compared(whole, tmp_path / "d")
    assert two["equal"] is False
    assert [i["first_difference"] for i in two["items"]] == [None, {"only_in": "a"}, {"only_in": "a"}]


def test_nothing_in_common_is_not_found(source: Path, tmp_path: Path) -> None:
    dataset = imported(source, tmp_path / "d")
    other = tmp_path / "other.nc"
    shutil.copy(source, other)
    with netCDF4.Dataset(other, "a") as file:
        for name in ("swh", "level", "temp"):
            file.renameVariable(name, f"other_{name}")
    with pytest.raises(NotFoundError, match="no item in common"):
        compare(str(other), str(other).replace("other", "a"), Progress())
    assert compared(dataset, other)["equal"] is False


def test_a_cancel_stops_it(source: Path, tmp_path: Path) -> None:
    dataset = imported(source, tmp_path / "d")
    progress = Progress()
    progress.cancel()
    with pytest.raises(Cancelled):
        compare(str(dataset), str(source), progress)


def test_memory_does_not_grow_with_the_number_of_times(tmp_path: Path) -> None:
    peaks = []
    for times in (4, 40):
        source = write_waves(tmp_path / f"{times}.nc", times=range(times), cells=500)
        dataset = imported(source, tmp_path / f"d{times}", StorageType="SingleTimestep")
        compared(dataset, source)  # what is imported and cached once does not count
        tracemalloc.start()
        compared(dataset, source)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


class _Side:
    def __init__(self, unit: tuple[int, int], rows: int = 20, columns: int = 30) -> None:
        self.unit = unit
        self.shape = rows, columns
        self.times = TimeAxis.none()


@pytest.mark.parametrize("units", [((1, 16), (1, 1)), ((4, 16), (1, 1)), ((1, 1), (4, 16)), ((4, 16), (3, 16))])
@pytest.mark.parametrize("times", [
    [(i, i) for i in range(10)], [(0, 3), (1, 4), (5, 5), (6, 8)], [(0, 0)], []])
def test_blocks_cover_every_pair_of_times_and_every_cell_once(
    units: tuple[tuple[int, int], tuple[int, int]], times: list[tuple[int, int]]
) -> None:
    seen: dict[tuple[int, int], int] = {}
    a, b = _Side(units[0]), _Side(units[1])
    for block in blocks(a, b, times, a.shape):  # type: ignore[arg-type]
        cells = (block.rows.stop - block.rows.start) * (block.columns.stop - block.columns.start)
        for pair in zip(range(block.times_a.start, block.times_a.stop), range(block.times_b.start, block.times_b.stop),
                        strict=True):
            seen[pair] = seen.get(pair, 0) + cells
    assert seen == dict.fromkeys(times, 600)
