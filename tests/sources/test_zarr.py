"""Zarr stores: described and read as NetCDF files of the same data, in both versions, sharded, zipped, as NCZarr."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

from mdstudio.engine.errors import MdError, NotFoundError, SourceError, UnsupportedError
from mdstudio.engine.model import Description, require_grid
from mdstudio.sources.registry import open_source
from tests.cli.conftest import Run, run
from tests.sources.netcdf_builders import LAT, LON, add, new_file, numbered, one_item
from tests.sources.netcdf_meshes import mesh_file

__all__ = ["run"]
ALL = slice(None)
STORED = (np.arange(6 * 4 * 5).reshape(6, 4, 5) % 251).astype(np.int16)


def dataset() -> xr.Dataset:
    """Packed integers with two missing markers, floats in layers, a plane of its own."""
    packed = STORED.copy()
    packed[0, 0, 0], packed[1, 1, 1] = -999, -99
    deep = np.linspace(0, 1, 6 * 2 * 4 * 5, dtype=np.float32).reshape(6, 2, 4, 5)
    return xr.Dataset({
        "t": (("time", "lat", "lon"), packed, {
            "scale_factor": 0.01, "add_offset": 20.0, "_FillValue": np.int16(-999), "missing_value": np.int16(-99),
            "units": "degC", "standard_name": "air_temperature", "valid_min": np.int16(-500)}),
        "s": (("time", "depth", "lat", "lon"), deep, {"_FillValue": np.float32(np.nan), "units": "1"}),
        "land": (("lat", "lon"), np.eye(4, 5), {"units": "1"}),
    }, {"time": ("time", np.arange(6), {"units": "days since 2000-02-27", "calendar": "360_day"}),
        "lat": ("lat", np.array([60.0, 50, 40, 30]), {"units": "degrees_north"}),
        "lon": ("lon", np.arange(0.0, 360, 72), {"units": "degrees_east"}),
        "depth": ("depth", np.array([0.5, 10]), {"units": "m", "positive": "down", "axis": "Z"})},
        {"title": "made by a test", "number": 7})


def to_zarr(data: xr.Dataset, path: Path, version: int, **encoding: Any) -> Path:
    data.to_zarr(path, zarr_format=version, consolidated=False, encoding={"t": encoding} if encoding else None)
    return path


def zipped(folder: Path, below: str = "") -> Path:
    """The store as a zip file, its tree at the root or one folder down, as netcdf-c writes it."""
    path = folder.with_name(f"{folder.name}.zip")
    if below:
        shutil.make_archive(str(folder), "zip", folder.parent, folder.name)
    else:
        shutil.make_archive(str(folder), "zip", folder)
    return path


def read_all(path: Path, **parameters: Any) -> list[tuple[Description, dict[str, Any]]]:
    with open_source([str(path)], parameters) as source:
        return [(d, {i.name: np.stack([source.read(d, i.name, ALL, n, ALL, ALL) for n in i.layer_ids()])
                     for i in d.items}) for d in source.descriptions()]


MAKERS: dict[str, Callable[[Path], Path]] = {
    "v2": lambda p: to_zarr(dataset(), p / "a.zarr", 2),
    "v3": lambda p: to_zarr(dataset(), p / "a.zarr", 3),
    "v2-chunks": lambda p: to_zarr(dataset(), p / "a.zarr", 2, chunks=(4, 3, 2)),
    "v3-shards": lambda p: to_zarr(dataset(), p / "a.zarr", 3, chunks=(1, 2, 5), shards=(3, 4, 5)),
    "v2-zip": lambda p: zipped(to_zarr(dataset(), p / "a.zarr", 2)),
    "v3-zip-below": lambda p: zipped(to_zarr(dataset(), p / "a.zarr", 3), below="yes"),
}


@pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning", "ignore:.*vlen.*")
@pytest.mark.parametrize("name", sorted(MAKERS))
def test_a_store_is_what_the_netcdf_of_the_same_data_is(tmp_path: Path, name: str) -> None:
    dataset().to_netcdf(tmp_path / "a.nc")
    expected, found = read_all(tmp_path / "a.nc"), read_all(MAKERS[name](tmp_path))
    assert len(found) == len(expected)
    for (mine, values), (other, wanted) in zip(found, expected, strict=True):
        assert mine.times == other.times
        assert {i.name for i in mine.items} == {i.name for i in other.items}  # a folder has no order
        for same in other.items:
            item = next(i for i in mine.items if i.name == same.name)
            for part in ("dtype", "unit", "standard_name", "missing", "valid_min", "scale", "offset", "decoded"):
                assert getattr(item, part) == getattr(same, part), (item.name, part)
            assert (item.layers and item.layers.values) == (same.layers and same.layers.values)
            assert str(item.no_data) == str(same.no_data)
            assert values[item.name].dtype == wanted[item.name].dtype
            assert values[item.name].tobytes() == wanted[item.name].tobytes()
        assert (require_grid(mine.domain).kind, mine.domain.crs) == (require_grid(other.domain).kind, other.domain.crs)
        assert np.array_equal(require_grid(mine.domain).x, require_grid(other.domain).x)
        assert np.array_equal(require_grid(mine.domain).y, require_grid(other.domain).y)
        assert mine.attributes["title"] == "made by a test"


def curvilinear(path: Path) -> Path:
    x, y = np.meshgrid(np.arange(5.0), np.arange(4.0))
    with new_file(path) as file:
        add(file, "lon", ["y", "x"], x, LON)
        add(file, "lat", ["y", "x"], y + x / 10, LAT)
        add(file, "v", ["y", "x"], numbered(4, 5), {"coordinates": "lon lat"})
    return path


def projected(path: Path) -> Path:
    with new_file(path) as file:
        for name, size in (("x", 5), ("y", 4)):
            add(file, name, [name], np.arange(size) * 1000.0, {
                "standard_name": f"projection_{name}_coordinate", "units": "m"})
        add(file, "crs", [], np.int32(0), {
            "grid_mapping_name": "lambert_azimuthal_equal_area", "longitude_of_projection_origin": 10.0,
            "latitude_of_projection_origin": 52.0, "false_easting": 4321000.0, "false_northing": 3210000.0})
        add(file, "v", ["y", "x"], numbered(4, 5), {"grid_mapping": "crs"})
    return path


OTHERS: dict[str, Callable[[Path], Path]] = {
    "curvilinear": curvilinear, "mesh": mesh_file, "projected": projected,
    "unsigned": lambda path: one_item(path, numbered(3, 4, 5, dtype="i1") * 4, {
        "_Unsigned": "true", "_FillValue": np.int8(-1), "scale_factor": 0.5}),
}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", sorted(OTHERS))
def test_other_conventions_are_read_as_those_of_netcdf(tmp_path: Path, run: Run, kind: str, version: int) -> None:
    """Of raw values and attributes, which xarray carries over without a look at them."""
    path = OTHERS[kind](tmp_path / "a.nc")
    with xr.open_dataset(path, decode_cf=False) as raw:
        for variable in raw.variables.values():
            if "_FillValue" not in variable.attrs:
                variable.encoding["_FillValue"] = None  # xarray would make it NaN
        raw.to_zarr(tmp_path / "a.zarr", zarr_format=version, consolidated=False)
    (expected, wanted), = read_all(path)
    (description, values), = read_all(tmp_path / "a.zarr")
    assert (description.domain.crs, description.times) == (expected.domain.crs, expected.times)
    for other in expected.items:
        item = next(i for i in description.items if i.name == other.name)
        assert (item.dtype, item.scale, item.no_data) == (other.dtype, other.scale, other.no_data)
        assert values[item.name].tobytes() == wanted[item.name].tobytes()
    assert run("import", path, tmp_path / "d", "--quiet").status == 0
    assert run("compare", tmp_path / "d", tmp_path / "a.zarr").status == 0  # places and all


@pytest.mark.parametrize("storage", ["SingleTimestep", "MultiTimestep", "TimeSeries"])
def test_an_import_equals_its_store_to_the_bit(tmp_path: Path, run: Run, storage: str) -> None:
    path = MAKERS["v2-chunks"](tmp_path)
    assert run("import", path, tmp_path / "d", "--items", "t,s", "--quiet", "--set",
               f"StorageType={storage}").status == 0
    found = run("compare", tmp_path / "d", path, "--json")
    assert (found.status, found.document["equal"]) == (0, True), found.document


@pytest.mark.parametrize("version", [2, 3])
def test_slices_of_every_kind_are_those_of_the_array(tmp_path: Path, version: int) -> None:
    path = to_zarr(dataset(), tmp_path / "a.zarr", version, chunks=(4, 3, 2))
    stored = np.asarray(dataset()["t"])
    with open_source([str(path)]) as source:
        description = source.descriptions()[0]
        for times in (slice(0, 1), slice(5, 6), slice(1, 6, 2), slice(3, 3), ALL):
            for rows, columns in ((ALL, ALL), (slice(1, 4, 2), slice(4, 5)), (slice(0, 2), slice(0, 5, 3))):
                found = source.read(description, "t", times, -1, rows, columns)
                assert np.array_equal(found, stored[times, rows, columns])


def test_groups_share_the_dimensions_above_them_and_have_their_own(tmp_path: Path) -> None:
    path = to_zarr(dataset(), tmp_path / "a.zarr", 2)
    below = zarr.open_group(path, mode="a").create_group("fine")
    for name, values, dims in (("lat", np.arange(3.0), ["lat"]), ("lon", np.arange(7.0), ["lon"]),
                               ("h", np.ones((3, 7), np.float32), ["lat", "lon"])):
        array = below.create_array(name, data=values)
        array.attrs.update({"_ARRAY_DIMENSIONS": dims, "units": {"lat": "degrees_north", "lon": "degrees_east"}.get(
            name, "m")})
    shapes = {i.name: v[i.name].shape[-2:] for d, v in read_all(path) for i in d.items}
    assert shapes == {"t": (4, 5), "s": (4, 5), "land": (4, 5), "fine/h": (3, 7)}


def test_chunks_that_were_never_written_hold_the_fill_value(tmp_path: Path) -> None:
    path = to_zarr(dataset(), tmp_path / "a.zarr", 2, chunks=(1, 4, 5))
    (path / "t" / "3.0.0").unlink()
    values = read_all(path)[0][1]["t"][0]
    assert (values[3] == -999).all()
    assert np.array_equal(values[4], STORED[4])


@pytest.mark.parametrize("version", [2, 3])
def test_a_damaged_chunk_is_named(tmp_path: Path, version: int) -> None:
    path = to_zarr(dataset(), tmp_path / "a.zarr", version, chunks=(2, 4, 5))
    chunk = path / "t" / ("1.0.0" if version == 2 else "c/1/0/0")
    chunk.write_bytes(b"damage" + chunk.read_bytes()[6:20])
    with open_source([str(path)]) as source:
        description = source.descriptions()[0]
        assert np.array_equal(source.read(description, "t", slice(4, 6), -1, ALL, ALL), STORED[4:])
        with pytest.raises(SourceError, match=r"the chunk 1\.0\.0 of the array 't' is damaged \(2 others"):
            source.read(description, "t", ALL, -1, ALL, ALL)


def _change(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("version", [2, 3])
def test_an_unknown_codec_is_named_and_the_others_are_imported(tmp_path: Path, version: int) -> None:
    path = to_zarr(dataset(), tmp_path / "a.zarr", version)
    if version == 2:
        _change(path / "t/.zarray", lambda d: d.update(compressor={"id": "mystery"}))
    else:
        _change(path / "t/zarr.json", lambda d: d.update(codecs=[*d["codecs"][:1], {"name": "mystery"}]))
    with open_source([str(path)]) as source:
        assert {i.name for d in source.descriptions() for i in d.items} == {"s", "land"}
        assert any("'mystery', which is not installed" in n.text for n in source.dropped())
    for other in ("s", "land", "time", "lat", "lon", "depth"):
        shutil.rmtree(path / other)
    with pytest.raises(SourceError, match=r"No array of this store can be read.*'mystery'"):
        read_all(path)


@pytest.mark.parametrize("size", [4, "4", 0, None])
def test_the_size_of_shuffled_elements_is_read_in_each_way_that_it_is_written(tmp_path: Path, size: Any) -> None:
    """Case 4, https://github.com/Unidata/netcdf-c/issues/3200: as text, as 0, or not at all."""
    data = dataset()[["s"]]
    path = tmp_path / "a.zarr"
    data.to_zarr(path, zarr_format=2, consolidated=False,
                 encoding={"s": {"filters": [zarr_shuffle()], "compressors": None}})
    codec = {"id": "shuffle"} if size is None else {"id": "shuffle", "elementsize": size}
    _change(path / "s/.zarray", lambda d: d.update(filters=[codec]))
    assert np.array_equal(np.moveaxis(read_all(path)[0][1]["s"], 0, 1), np.asarray(data["s"]))


def zarr_shuffle() -> Any:
    import numcodecs

    return numcodecs.Shuffle(4)


def test_names_of_nczarr_count_where_xarray_gave_none(tmp_path: Path) -> None:
    path = to_zarr(dataset()[["land"]].drop_vars(["depth", "time"], errors="ignore"), tmp_path / "a.zarr", 2)
    for name, dims in (("land", ["/lat", "/lon"]), ("lat", ["/lat"]), ("lon", ["/lon"])):
        def change(document: dict[str, Any], dims: list[str] = dims) -> None:
            document.pop("_ARRAY_DIMENSIONS")
            document["_nczarr_array"] = {"dimension_references": dims, "storage": "chunked"}
        _change(path / name / ".zattrs", change)
    (description, values), = read_all(path)
    assert require_grid(description.domain).kind == "regular"
    assert "_nczarr_array" not in description.items[0].attributes
    assert np.array_equal(values["land"][0, 0], np.eye(4, 5))


def test_what_is_no_store_says_what_it_is(tmp_path: Path) -> None:
    for names, error in ((("snapshots", "refs"), "Icechunk"), ((), "no array")):
        folder = tmp_path / f"{len(names)}.zarr"
        for name in ("", *names):
            (folder / name).mkdir(parents=True, exist_ok=True)
        with pytest.raises(MdError, match=error):
            read_all(folder)
    (tmp_path / "refs.json").write_text('{"version": 1, "refs": {}}')
    with pytest.raises(UnsupportedError, match="kerchunk"):
        read_all(tmp_path / "refs.json")
    with pytest.raises(NotFoundError):
        read_all(tmp_path / "none.zarr")
    path = to_zarr(dataset(), tmp_path / "b.zarr", 2)
    (path / "t/.zarray").write_text("{")
    with pytest.raises(SourceError, match=r"'t/.zarray' is damaged"):
        read_all(path)


def test_a_place_at_0_is_a_place_though_unwritten_chunks_hold_0(tmp_path: Path) -> None:
    """Version 2: 0 is what zarr-python writes as fill value of its own accord."""
    across, along = np.meshgrid(np.arange(-2.0, 3), np.arange(-1.0, 3))
    data = xr.Dataset({"v": (("j", "i"), np.ones((4, 5), np.float32), {"coordinates": "lon lat"})},
                      {"lon": (("j", "i"), across, {"units": "degrees_east"}),
                       "lat": (("j", "i"), along, {"units": "degrees_north"})})
    path = to_zarr(data, tmp_path / "a.zarr", 2)
    for name in ("lon", "lat", "v"):
        _change(path / name / ".zarray", lambda d: d.update(fill_value=0.0))
    (description, _), = read_all(path)
    domain = require_grid(description.domain)
    assert domain.longitude is not None
    assert domain.latitude is not None
    assert np.array_equal(domain.longitude, across)
    assert np.array_equal(domain.latitude, along)
    assert description.items[0].no_data == 0


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_metadata_in_one_document_links_and_words_like_array_hide_nothing(tmp_path: Path) -> None:
    named = dataset().assign_attrs(kind="array", node_type="array")
    named.to_zarr(tmp_path / "a.zarr", zarr_format=3, consolidated=True)
    assert {i.name for d, _ in read_all(tmp_path / "a.zarr") for i in d.items} == {"t", "s", "land"}
    (tmp_path / "a.zarr" / "t").rename(tmp_path / "elsewhere")
    (tmp_path / "a.zarr" / "t").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "a.zarr" / "loop").symlink_to(tmp_path / "a.zarr")
    assert {i.name for d, _ in read_all(tmp_path / "a.zarr") for i in d.items} == {"t", "s", "land"}


@pytest.mark.parametrize("text", ["[]", "null", "{", "[" * 100_000])
def test_documents_that_are_none_are_named(tmp_path: Path, text: str) -> None:
    path = to_zarr(dataset(), tmp_path / "a.zarr", 3)
    (path / "t/zarr.json").write_text(text)
    with pytest.raises(SourceError, match=r"'t/zarr.json' is damaged"):
        read_all(path)
    zipped_path = zipped(path)
    with pytest.raises(SourceError, match=r"a\.zarr\.zip"):
        read_all(zipped_path)


def test_a_zip_file_can_be_deleted_after_reading(tmp_path: Path) -> None:
    path = zipped(to_zarr(dataset(), tmp_path / "a.zarr", 2))
    read_all(path)
    path.unlink()
