"""The kinds behind cases 1 to 6 of other people's issue trackers: what the numbers of a file mean."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import Array
from mdstudio.engine.progress import Progress
from mdstudio.engine.requests import MapRequest, SeriesRequest
from tests.cli.conftest import Run, run
from tests.sources.netcdf_builders import LAT, LON, numbered, one_item

__all__ = ["run"]
STORAGE_TYPES = ("SingleTimestep", "MultiTimestep", "TimeSeries")


def stored(dataset: Dataset, item: str = "v") -> Array:
    """(time, row, column) as stored."""
    rows, columns = dataset.metadata.shape
    return dataset.block(item, slice(0, len(dataset.metadata.times)), -1, slice(0, rows), slice(0, columns), Progress())


def imported(run: Run, source: Path, target: Path, *words: str) -> tuple[Dataset, str]:
    """The dataset, and what the import says was left out or changed."""
    done = run("import", source, target, "--json", "--quiet", *words)
    assert done.status == 0, done.err
    notes = "; ".join(f"{d['what']}: {d['reason']}" for d in done.lines[-1]["summary"]["dropped"])
    return Dataset.open(str(target)), notes


@pytest.mark.rule("P5")
@pytest.mark.parametrize(("dtype", "fill", "missing"), [
    ("i2", -999, -99),  # two markers that differ: refused by others
    ("i2", -999, [-99, -98]),  # a list of them
    ("i4", -999, -99.0),  # of another type than the values
    ("f4", -999.0, 1e20),
    ("f8", float("nan"), -99.0),
    ("u1", 255, "254"),  # written as text
])
@pytest.mark.parametrize("storage", STORAGE_TYPES)
def test_case_1_two_different_missing_markers_are_all_no_data(
        tmp_path: Path, run: Run, dtype: str, fill: Any, missing: Any, storage: str) -> None:
    """https://github.com/pydata/xarray/issues/1976, #1749, #471: all are masked, in the packed domain, and all kept."""
    values = numbered(3, 4, 5, dtype=dtype)
    codes = [np.dtype(dtype).type(code) for code in (fill, *np.atleast_1d(missing).astype(float))]
    for position, code in enumerate(codes):
        values[position, 1, 2] = code
    packing = {"scale_factor": 0.5, "add_offset": 1.0} if dtype != "f8" else {}
    path = one_item(tmp_path / "a.nc", values, {
        "_FillValue": np.dtype(dtype).type(fill), "missing_value": missing, **packing})
    dataset, notes = imported(run, path, tmp_path / "d", "--set", f"StorageType={storage}")
    assert stored(dataset).tobytes() == values.tobytes()  # the distinct codes stay
    item = dataset.item("v")
    assert len({str(code) for code in (item.no_data, *item.missing)}) == len(codes)
    assert item.attributes["missing_value"] == (missing if isinstance(missing, str | list) else pytest.approx(missing))
    assert notes.count("several values mean no data") == 1
    for time in range(3):
        shown = dataset.map(MapRequest("v", time)).values
        assert np.isnan(shown[1, 2]) == (time < len(codes))
        assert np.isnan(shown).sum() == (time < len(codes))  # no other number is taken for one


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("storage", STORAGE_TYPES)
def test_case_2_packed_integers_are_the_same_number_on_every_path(
        tmp_path: Path, run: Run, kind: type[Any], storage: str) -> None:
    """https://github.com/pydata/xarray/issues/2304, #1840, #9041, #5597: int16 x 0.001 + 20 is decoded in double; the
    CF type, that of the scale, is told apart."""
    values = (numbered(3, 4, 5) * 517 - 15000).astype("i2")
    scale, offset = kind(0.001), kind(20)
    path = one_item(tmp_path / "a.nc", values, {"scale_factor": scale, "add_offset": offset, "units": "degC"})
    dataset, _ = imported(run, path, tmp_path / "d", "--set", f"StorageType={storage}")
    expected = values.astype(np.float64) * np.float64(scale) + np.float64(offset)
    assert dataset.item("v").dtype == "int16"
    assert dataset.item("v").decoded == np.dtype(kind).name

    assert np.array_equal(dataset.map(MapRequest("v", 1)).values, expected[1])
    assert np.array_equal(dataset.series(SeriesRequest("v", ((2.0, 60.0),))).values[:, 0], expected[:, 0, 1])
    document = run("query", "map", tmp_path / "d", "--time", "#1", "--json").document
    assert (document["min"], document["max"]) == (expected[1].min(), expected[1].max())
    series = run("query", "series", tmp_path / "d", "--point", "2,60", "--json").document
    assert [row[0] for row in series["values"]] == expected[:, 0, 1].tolist()
    area = run("query", "area", tmp_path / "d", "--bbox", "1.9,59.9,2.1,60.1", "--json").document
    assert area["minimum"] == area["maximum"] == expected[:, 0, 1].tolist()
    for words, wanted in (
            (("map", tmp_path / "d", "--time", "#1"), expected[1].ravel()),
            (("series", tmp_path / "d", "--point", "2,60"), expected[:, 0, 1])):
        run("query", *words, "--out", tmp_path / f"{words[0]}.csv", "--quiet")
        with (tmp_path / f"{words[0]}.csv").open() as file:
            assert [float(row[-1]) for row in list(csv.reader(file))[1:]] == wanted.tolist()

    assert run("export", tmp_path / "d", tmp_path / "out.nc", "--quiet").status == 0
    with netCDF4.Dataset(tmp_path / "out.nc") as out:
        out.set_auto_maskandscale(False)
        raw = out["v"][...]
        assert (raw.dtype, raw.tobytes()) == (values.dtype, values.tobytes())
        again = raw.astype(np.float64) * np.float64(out["v"].scale_factor) + np.float64(out["v"].add_offset)
    assert np.array_equal(again, expected)
    for other in (path, tmp_path / "out.nc"):
        assert run("compare", tmp_path / "d", other, "--json").document["equal"] is True


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "f4", "f8"])
def test_case_3_a_fill_value_of_0_hides_zeros_only(tmp_path: Path, run: Run, dtype: str) -> None:
    """https://github.com/Unidata/netcdf4-python/issues/748: no valid range is inferred from `_FillValue`."""
    values = (numbered(3, 4, 5).astype(np.int16) - 30).astype(dtype)
    path = one_item(tmp_path / "a.nc", values, {"_FillValue": np.dtype(dtype).type(0)})
    dataset, _ = imported(run, path, tmp_path / "d")
    item = dataset.item("v")
    assert (item.no_data, item.valid_min, item.valid_max) == (0, None, None)
    shown = np.stack([dataset.map(MapRequest("v", time)).values for time in range(3)])
    assert np.array_equal(np.isnan(shown), values == 0)
    assert np.array_equal(shown[values != 0], values[values != 0])
    series = dataset.series(SeriesRequest("v", ((0.0, 60.0),))).values[:, 0]
    assert np.array_equal(series, values[:, 0, 0])


def zarr_of(values: Array, path: Path) -> Path:
    """A Zarr v2 store of a variable "v", shuffled and packed with zlib."""
    import numcodecs
    import zarr

    group = zarr.open_group(path, mode="w", zarr_format=2)
    for name, array, attributes in (
            ("time", np.arange(3.0), {"units": "hours since 2000-01-01"}),
            ("lat", np.linspace(60, 50, 4), LAT), ("lon", np.linspace(0, 8, 5), LON)):
        group.create_array(name, data=array).attrs.update({**attributes, "_ARRAY_DIMENSIONS": [name]})
    packed = group.create_array("v", shape=values.shape, dtype=values.dtype, chunks=(2, 3, 5), compressors=[
        numcodecs.Zlib(4)], filters=[numcodecs.Shuffle(values.dtype.itemsize)])
    packed.attrs["_ARRAY_DIMENSIONS"] = ["time", "lat", "lon"]
    packed[...] = values
    return path


@pytest.mark.parametrize("dtype", ["i2", "f4", "f8"])
@pytest.mark.parametrize("written", ["text", "number", 0, None])
def test_case_4_the_size_of_shuffled_elements_may_be_text_or_0_or_absent(
        tmp_path: Path, run: Run, dtype: str, written: Any) -> None:
    """https://github.com/Unidata/netcdf-c/issues/3200: "4", 4, 0 and nothing are all the size of an item."""
    values = numbered(3, 4, 5, dtype=dtype) * 3
    path = zarr_of(values, tmp_path / "a.zarr")
    size = {"text": str(values.itemsize), "number": values.itemsize}.get(written, written)
    document = json.loads((path / "v/.zarray").read_text())
    document["filters"] = [{"id": "shuffle", **({} if size is None else {"elementsize": size})}]
    (path / "v/.zarray").write_text(json.dumps(document))
    dataset, _ = imported(run, path, tmp_path / "d")
    assert stored(dataset).tobytes() == values.tobytes()


def chunked(path: Path, values: Array, masks: dict[int, int]) -> None:
    """A NetCDF-4 file of one item, shuffle and deflate, the chunk of each step with a filter mask of its own: bit 0
    leaves the shuffle out, bit 1 the deflate."""
    import zlib

    with h5py.File(path, "w") as file:
        for name, axis, attributes in (
                ("time", np.arange(len(values)), {"units": "hours since 2000-01-01"}),
                ("lat", np.linspace(60, 50, values.shape[1]), LAT), ("lon", np.linspace(0, 8, values.shape[2]), LON)):
            file[name] = axis
            file[name].attrs.update(attributes)
            file[name].make_scale(name)
        packed = file.create_dataset("v", values.shape, values.dtype, chunks=(1, *values.shape[1:]), shuffle=True,
                                     compression="gzip")
        for n, name in enumerate(("time", "lat", "lon")):
            packed.dims[n].attach_scale(file[name])
        for step, block in enumerate(values):
            data, mask = block.tobytes(), masks.get(step, 0)
            if not mask & 1:
                data = np.frombuffer(data, np.uint8).reshape(-1, values.itemsize).T.tobytes()
            packed.id.write_direct_chunk((step, 0, 0), data if mask & 2 else zlib.compress(data), mask)


@pytest.mark.parametrize("dtype", ["i2", "f4", "f8"])
def test_case_5_chunks_that_skip_a_filter_are_read_by_their_own_masks(tmp_path: Path, run: Run, dtype: str) -> None:
    """https://github.com/fsspec/kerchunk/issues/573: chunks with and without shuffle and deflate in one variable."""
    values = numbered(6, 4, 5, dtype=dtype) * 3
    chunked(tmp_path / "a.nc", values, {1: 1, 2: 2, 3: 3, 5: 3})
    with h5py.File(tmp_path / "a.nc") as file:
        assert {file["v"].id.get_chunk_info(n).filter_mask for n in range(6)} == {0, 1, 2, 3}
    dataset, _ = imported(run, tmp_path / "a.nc", tmp_path / "d")
    assert stored(dataset).tobytes() == values.tobytes()


@pytest.mark.parametrize(("attribute", "values"), [
    ("scale_factor", (0.5, 0.25, 0.5)), ("add_offset", (20.0, 20.0, 273.15)),
    ("_FillValue", (np.int16(-1), np.int16(-2), np.int16(-1)))])
def test_case_6_daily_files_with_packings_of_their_own_are_not_mixed(
        tmp_path: Path, run: Run, attribute: str, values: tuple[Any, ...]) -> None:
    """https://github.com/zarr-developers/VirtualiZarr/issues/1004, #1059: stored integers of files that mean different
    numbers by them are refused by name, nothing is written; one by one they are what they are."""
    packing = {"scale_factor": 0.5, "add_offset": 20.0, "_FillValue": np.int16(-1)}
    paths = [one_item(tmp_path / f"day{n}.nc", numbered(1, 4, 5) + n, {**packing, attribute: value},
                      times=np.array([24.0 * n])) for n, value in enumerate(values)]
    done = run("import", *paths, tmp_path / "d", "--quiet")
    assert done.status == 1
    odd = next(n for n, value in enumerate(values) if value != values[0])
    for part in (str(paths[0]), str(paths[odd]), f"{values[0]} against {values[odd]}", "datasets of their own"):
        assert part in done.err, part
    assert not (tmp_path / "d").exists()
    same = [path for path, value in zip(paths, values, strict=True) if value == values[0]]
    assert run("import", *same, tmp_path / "same", "--quiet").status == 0
    shown = Dataset.open(str(tmp_path / "same")).map(MapRequest("v", 0)).values
    assert shown[0, 1] == 1 * 0.5 + 20.0
