"""Awkward real files: described right or refused rightly, each in a process of its own, nothing on stderr."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

DESCRIBE = """
import json, sys, warnings
warnings.simplefilter("error")
from mdstudio.engine.errors import MdError
from mdstudio.sources.registry import open_source
import threading
out = {}
def work(path):
    try:
        with open_source([path]) as source:
            found = source.descriptions()
            out[path] = [[d.domain.kind, d.domain.rows, d.domain.columns, len(d.times),
                          [f"{i.name}:{i.dtype}:{i.layer_count}" for i in d.items]] for d in found]
            for d in found:
                for item in d.items:
                    source.read(d, item.name, slice(0, 1), item.layer_ids()[-1], slice(None), slice(None))
    except MdError as error:
        out[path] = f"{type(error).__name__}: {error}"
for path in sys.argv[1:]:
    thread = threading.Thread(target=work, args=(path,))  # HDF5 keeps its error printing for each thread
    thread.start()
    thread.join()
print(json.dumps(out))
"""

NO_GRID = "no gridded variable"
EXPECTED: dict[str, object] = {
    **{f"RAD_NL25_RAP_5min_2010082600{m}.h5": NO_GRID for m in ("00", "05", "10")},
    "air_linked.nc": [["regular", 11, 21, 124, ["air:int16:1"]]],
    "bad_cdf5_begin.nc": "damaged", "bug1523_testfile02_corrupt.h5": "damaged",
    "issue671.nc": "it names lat, lon, which the file has not", "just_time_bad_tzo.nc": NO_GRID,
    "netcdf_dummy_file.nc": NO_GRID, "nonConstitentDataset.nc": [["projected", 15, 25, 58, ["gti:float64:1"]]],
    "not_a_mesh_file.mesh": "not a NetCDF", "pre.8912.mon.nc": "for all 36 steps",
    "ref_nc_test_netcdf4_4_0.nc": NO_GRID, "ref_test_360_day_1900.nc": NO_GRID, "ref_test_corrupt_magic.nc": NO_GRID,
    "ref_tst_dims.nc": NO_GRID,
    "small_FC_167_mon_19601101.nc": [["regular", 73, 144, 2, ["tas:float32:21"]]],
    "test-c12.native.nc4": "varies over more than rows and columns",
    "test_monotonic_coordinate.nc": [["regular", 3, 3, 2, ["wind1:int32:1"]]],
    "tmmx_20190121.nc": [["regular", 585, 1386, 1, ["air_temperature:uint16:1"]]],
    "vlstr_type.nc": [["regular", 1, 1, 150, ["wind:int32:1"]]],
    "wrong_face_count.mesh": "not a NetCDF", "wrong_vertex_count.mesh": "not a NetCDF",
}


def describe(*paths: Path) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", DESCRIBE, *map(str, paths)], capture_output=True, text=True,
                          cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr == ""
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_the_table_names_every_file(shared_data: Path) -> None:
    assert sorted(p.name for p in (shared_data / "odd").iterdir()) == sorted(EXPECTED)


def test_odd_files_are_described_or_refused(shared_data: Path) -> None:
    paths = [shared_data / "odd" / name for name in sorted(EXPECTED)]
    for path, found in describe(*paths).items():
        expected = EXPECTED[Path(path).name]
        if isinstance(expected, str):
            assert isinstance(found, str), path
            assert expected in found
            assert found.startswith(f"SourceError: {path}")
        else:
            assert found == expected


def test_files_with_hdf5_filters_are_described_or_refused(shared_data: Path) -> None:
    found = describe(*sorted((shared_data / "hdf5_filters").iterdir()))
    described = {Path(p).name for p, v in found.items() if not isinstance(v, str)}
    assert described == {"nc4uvt.nc"}
    assert all(str(v).startswith("SourceError") for p, v in found.items() if Path(p).name not in described)


@pytest.mark.parametrize("name", ["grid/hgt.nc", "grid/ERA5_DutchCoast.nc", "odd/tmmx_20190121.nc"])
def test_the_same_file_cut_short_is_refused(shared_data: Path, tmp_path: Path, name: str) -> None:
    data = (shared_data / name).read_bytes()
    paths = []
    for n, share in enumerate((0.001, 0.1, 0.5, 0.9, 0.9999)):
        path = tmp_path / f"{n}.nc"
        path.write_bytes(data[:int(len(data) * share)])
        paths.append(path)
    for path, message in describe(*paths).items():
        assert isinstance(message, str), path
        assert message.startswith(f"SourceError: {path}")
