"""Bad input: a clear error that names the file and the reason, nothing left open, nothing on stderr."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from mdstudio.engine.errors import MdError, NotFoundError, SourceError, UnsupportedError, UsageError
from mdstudio.sources.registry import open_source
from tests.sources.netcdf_builders import add, add_axes, new_file, numbered, one_item, whole


def refusal(path: Path, kind: type[MdError] = SourceError) -> str:
    with pytest.raises(kind) as caught:
        open_source([str(path)])
    assert path.name in str(caught.value)
    return str(caught.value)


def read_all(path: Path) -> None:
    with open_source([str(path)]) as source:
        for description in source.descriptions():
            for item in description.items:
                whole(source, description, item.name)


@pytest.mark.parametrize(("content", "reason"), [
    (b"", "is empty"), (b"hello world, this is text", "not a NetCDF file"), (b"GRIB\0\0\0\x02", "GRIB"),
    (b"PK\x03\x04" + bytes(100), "zip"), (b"\x0e\x03\x13\x01", "HDF4"), (b"CDF", "not a NetCDF file"),
    (b"CDF\x01", "header is damaged"), (b"CDF\x01" + bytes(5), "header is damaged"),
    (b"CDF\x02" + b"\xff" * 60, "header is damaged"), (b"CDF\x05" + b"\xff" * 60, "header is damaged"),
    (b"\x89HDF\r\n\x1a\n", "damaged or truncated"), (b"\x89HDF\r\n\x1a\n" + bytes(500), "damaged or truncated"),
])
def test_what_is_no_netcdf_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "x.nc"
    path.write_bytes(content)
    assert reason in refusal(path)


def test_missing_files_folders_and_patterns(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "absent.nc", NotFoundError)
    assert "folder" in refusal(tmp_path)
    refusal(tmp_path / "absent*.nc", NotFoundError)
    with pytest.raises(UnsupportedError) as caught:
        open_source(["https://example.org/a.nc?sig=secret"])
    assert "secret" not in str(caught.value)
    with pytest.raises(UsageError):
        open_source([])


def test_no_permission_is_an_access_error() -> None:
    if os.name == "nt":
        pytest.skip("a file cannot be made unreadable with chmod on Windows")
    code = (
        "import os, sys\n"
        "from mdstudio.engine.errors import MdError\n"
        "from mdstudio.sources.netcdf import open_netcdf\n"
        "if os.geteuid() == 0: os.setuid(65534)  # root may read everything\n"
        "try: open_netcdf([sys.argv[1]], 'fail', double_as_float=False)\n"
        "except MdError as e: print(type(e).__name__, e)")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = one_item(Path(folder) / "a.nc")
        path.chmod(0)
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True,
                              cwd=Path(__file__).parents[2], check=True)
    assert done.stdout.startswith("AccessError"), done.stderr
    assert "a.nc: The file may not be read: no permission." in done.stdout


@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4"])
@pytest.mark.parametrize("records", [True, False])
def test_a_truncated_file_is_refused_wherever_it_ends(tmp_path: Path, format: str, records: bool) -> None:
    # netCDF reads the missing bytes of a NetCDF-3 file as zeros without a word
    whole_file = tmp_path / "whole.nc"
    with new_file(whole_file, format) as dataset:
        add_axes(dataset, times=[0.0, 1.0, 2.0], unlimited=records)
        add(dataset, "a", ["time", "lat", "lon"], numbered(3, 4, 5, dtype="i1"))
        add(dataset, "b", ["time", "lat", "lon"], numbered(3, 4, 5, dtype="f4") + 1)
    data = whole_file.read_bytes()
    open_source([str(whole_file)]).close()
    path = tmp_path / "cut.nc"
    for size in (*range(1, len(data), 37), len(data) - 4):
        path.write_bytes(data[:size])
        with pytest.raises(SourceError, match=r"cut\.nc"):
            read_all(path)


@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"])
def test_whole_netcdf_3_files_of_every_shape_pass_the_size_check(tmp_path: Path, format: str) -> None:
    # one record variable of odd size is not padded, several are, the last value may lack its padding
    for n, types in enumerate((["i1"], ["i2"], ["i1", "i2"], ["i1", "f8", "i1"], ["f4"])):
        path = tmp_path / f"{n}.nc"
        with new_file(path, format) as dataset:
            add_axes(dataset, times=None, rows=3, columns=3)
            dataset.createDimension("time", None)
            for k, dtype in enumerate(types):
                add(dataset, f"v{k}", ["time", "lat", "lon"], numbered(3, 3, 3, dtype=dtype))
        with open_source([str(path)]) as source:
            (description,) = source.descriptions()
            for k, dtype in enumerate(types):
                assert np.array_equal(whole(source, description, f"v{k}"), numbered(3, 3, 3, dtype=dtype))


def test_no_gridded_variable(tmp_path: Path) -> None:
    path = tmp_path / "series.nc"
    with new_file(path) as dataset:
        add(dataset, "time", ["time"], np.arange(3), {"units": "days since 2000-01-01"})
        add(dataset, "flow", ["time"], np.arange(3.0))
    assert "no gridded variable: it has time, flow only" in refusal(path)
    empty = tmp_path / "empty.nc"
    new_file(empty).close()
    assert "no variables" in refusal(empty)
    table = tmp_path / "table.nc"
    with new_file(table) as dataset:
        add(dataset, "v", ["station", "sensor"], numbered(3, 4), {"coordinates": "lat lon"})
    message = refusal(table)
    assert "no coordinates for two of its dimensions (station, sensor)" in message
    assert "it names lat, lon, which the file has not" in message


def test_meshes_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "mesh.nc"
    with new_file(path) as dataset:
        add(dataset, "mesh", [], np.int32(0), {"cf_role": "mesh_topology", "topology_dimension": 2})
        add(dataset, "depth", ["node"], np.arange(5.0), {"mesh": "mesh", "location": "node"})
    assert "'depth' is on 'mesh', whose nodes have no coordinates" in refusal(path)
    points = tmp_path / "points.nc"
    with new_file(points) as dataset:
        add(dataset, "lon", ["cell"], np.arange(5.0), {"units": "degrees_east"})
        add(dataset, "lat", ["cell"], np.arange(5.0), {"units": "degrees_north"})
        add(dataset, "t", ["level", "cell"], numbered(2, 5))
    assert "on points of their own: 'cell' has both x and y, and no elements of a mesh" in refusal(points)


def test_damage_inside_a_file_is_found_when_it_is_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 30000, (3, 40, 50), dtype="i2")
    path = one_item(tmp_path / "a.nc", values, zlib=True, chunksizes=(1, 40, 50))
    data = bytearray(path.read_bytes())
    at = data.find(b"\x78\x5e", 4000)
    at = at if at > 0 else len(data) // 2
    data[at + 100:at + 400] = bytes(300)
    path.write_bytes(data)
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        with pytest.raises(SourceError, match=r"a\.nc: The variable 'v' cannot be read"):
            whole(source, description, "v")


def test_failures_leave_no_file_open(tmp_path: Path) -> None:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("open files are counted through /proc")

    def open_files() -> list[str]:
        found = []
        for fd in os.listdir("/proc/self/fd"):
            try:
                found.append(os.readlink(f"/proc/self/fd/{fd}"))
            except OSError:
                continue
        return [f for f in found if str(tmp_path) in f]

    good = one_item(tmp_path / "good.nc")
    cut = tmp_path / "cut.nc"
    cut.write_bytes(good.read_bytes()[:5000])
    series = tmp_path / "series.nc"
    with new_file(series) as dataset:
        add(dataset, "flow", ["time"], np.arange(3.0))
    latin = one_item(tmp_path / "latin.nc", attributes={"remark": "x"}, format="NETCDF3_CLASSIC")
    latin.write_bytes(latin.read_bytes().replace(b"remark", b"rem\xe4rk"))
    for path in (cut, series, latin):
        for locations in ([path], [good, path]):
            with pytest.raises(SourceError):
                open_source([str(p) for p in locations])
            assert open_files() == []
    source = open_source([str(good)])
    assert len(open_files()) == 1
    source.close()
    source.close()
    assert open_files() == []
    good.unlink()


def test_unknown_items_and_backward_slices_are_errors(tmp_path: Path) -> None:
    with open_source([str(one_item(tmp_path / "a.nc"))]) as source:
        (description,) = source.descriptions()
        with pytest.raises(NotFoundError, match="nothing"):
            whole(source, description, "nothing")
        with pytest.raises(SourceError):
            source.read(description, "v", slice(None), -1, slice(None, None, -1), slice(None))


def test_paths_with_odd_characters(tmp_path: Path) -> None:
    folder = tmp_path / "Größe Ω 数据 #1 [x]"
    folder.mkdir()
    path = one_item(folder / "a#mode=zarr é.nc")
    with open_source([str(path)]) as source:
        assert source.descriptions()[0].source[0]["file"] == str(path)
    other = one_item(folder / "a.nc")
    shutil.copy(other, tmp_path / "b1.nc")
    with open_source([str(tmp_path / "b?.nc")]) as source:  # a pattern the shell did not expand
        assert len(source.descriptions()) == 1


@pytest.mark.rule("D11")
def test_reader_parameters_are_checked(tmp_path: Path) -> None:
    path = str(one_item(tmp_path / "a.nc"))
    for parameters in ({"DoubleAsFlot": True}, {"DoubleAsFloat": "maybe"}, {"TimePolicy": "keep-middle"}):
        with pytest.raises(UsageError):
            open_source([path], parameters)


def test_names_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    path = one_item(tmp_path / "a.nc", attributes={"remark": "x"}, format="NETCDF3_CLASSIC")
    path.write_bytes(path.read_bytes().replace(b"remark", b"rem\xe4rk"))
    assert "not UTF-8" in refusal(path)
