"""Memory stays bounded and chunks are not unpacked again for every step, whatever the file's size."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.sources.netcdf import caching
from mdstudio.sources.netcdf.caching import MAX_VARIABLE, slice_chunks
from mdstudio.sources.netcdf.describe import Binding
from mdstudio.sources.registry import open_source
from tests.sources.netcdf_builders import HOURS, LAT, LON, add, add_axes, new_file, numbered, one_item

READ = """
import re, sys
import netCDF4, numpy
from mdstudio.sources.registry import open_source
def peak():  # of this program alone: ru_maxrss would take over that of the process which started it
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1)) * 1024
netCDF4.Dataset(sys.argv[2]).close()
before = peak()
with open_source([sys.argv[1]]) as source:
    (description,) = source.descriptions()
    total = 0
    for step in range(len(description.times)):
        got = source.read(description, "v", slice(step, step + 1), -1, slice(None), slice(None))
        assert got.shape == (1, 1000, 1000)
        assert got[0, 0, 0] == step and got[0, 999, 999] == step
        total += got.nbytes
print(description.raw_bytes, total, peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize(("chunks", "format"), [
    ((1, 1000, 1000), "NETCDF4"), ((60, 200, 200), "NETCDF4"), ((10, 100, 100), "NETCDF4"),
    (None, "NETCDF3_64BIT_OFFSET"),
])
def test_a_large_file_is_read_slice_by_slice_in_bounded_memory(tmp_path: Path, chunks: Any, format: str) -> None:
    path, steps = tmp_path / "large.nc", 60
    with new_file(path, format) as dataset:
        add(dataset, "lon", ["lon"], np.arange(1000, dtype="f4"), LON)
        add(dataset, "lat", ["lat"], np.linspace(-60, 60, 1000, dtype="f4"), LAT)
        add(dataset, "time", ["time"], np.arange(steps, dtype="i4"), HOURS)
        more = {"zlib": True, "complevel": 1, "chunksizes": chunks} if chunks else {}
        variable = dataset.createVariable("v", "f4", ("time", "lat", "lon"), fill_value=False, **more)
        if chunks:
            variable.set_var_chunk_cache(300 << 20, 4001, 0.75)
        variable.set_auto_maskandscale(False)
        slab = np.zeros((1000, 1000), "f4")
        for step in range(steps):
            slab[0, 0] = slab[-1, -1] = step
            variable[step] = slab
    small = one_item(tmp_path / "small.nc")
    done = subprocess.run([sys.executable, "-c", READ, str(path), str(small)], capture_output=True, text=True,
                          cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    raw, total, grown = map(int, done.stdout.split())
    assert raw == total == steps * 4_000_000
    assert grown < 110 << 20  # the file holds 240 MB unpacked; caches and read-ahead are bounded


def test_describing_reads_no_data(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with new_file(path) as dataset:
        add(dataset, "lon", ["lon"], np.arange(2000, dtype="f4"), LON)
        add(dataset, "lat", ["lat"], np.linspace(-60, 60, 2000, dtype="f4"), LAT)
        add(dataset, "time", ["time"], np.arange(200), HOURS)
        dataset.createVariable("v", "f8", ("time", "lat", "lon"), zlib=True)
    tracemalloc.start()
    with open_source([str(path)]) as source:
        assert source.descriptions()[0].raw_bytes == 200 * 2000 * 2000 * 8
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_chunks_of_a_slice_are_counted_with_all_layers_while_they_fit() -> None:
    def binding(order: tuple[int, int, int, int]) -> Binding:
        return Binding("v", order, (), np.dtype("f4"), np.dtype("f4"))

    shape, chunks = [400, 10, 400, 400], [100, 1, 100, 100]
    assert slice_chunks(shape, chunks, binding((0, 1, 2, 3)), 4) == (16, 16, 4_000_000)  # ten layers would be too much
    assert slice_chunks(shape, [1, 1, 400, 400], binding((0, 1, 2, 3)), 4) == (1, 10, 640_000)
    assert slice_chunks([7, 400, 400], [7, 400, 400], binding((0, -1, 1, 2)), 4)[0] == 1
    assert MAX_VARIABLE >= 16 * 4_000_000


@pytest.mark.parametrize("policy_cut", [False, True])
def test_reading_ahead_gives_the_same_bits_in_any_order(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy_cut: bool) -> None:
    monkeypatch.setattr(caching, "MAX_VARIABLE", 100)  # so small that the slices of this file do not fit
    monkeypatch.setattr(caching, "MAX_AHEAD", 1 << 20 if policy_cut else 7 * 4 * 5 * 2)
    values = numbered(30, 4, 5)
    path = one_item(tmp_path / "a.nc", values, times=np.arange(30), zlib=True, chunksizes=(4, 2, 2))
    reads: list[int] = []
    original = caching.ReadAhead._stop

    def counted(self: Any, *args: Any) -> int:
        reads.append(1)
        return original(self, *args)

    monkeypatch.setattr(caching.ReadAhead, "_stop", counted)
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        order = [*range(30), 5, 4, 29, 28, 3, 4, 5, 6, 20, *range(10, 30)]
        for step in order:
            got = source.read(description, "v", slice(step, step + 1), -1, slice(None), slice(1, 4))
            assert np.array_equal(got[0], values[step, :, 1:4])
        for start in range(0, 30, 3):
            got = source.read(description, "v", slice(start, start + 3), -1, slice(None), slice(None))
            assert np.array_equal(got, values[start:start + 3])
    assert 0 < len(reads) < 25


def test_reading_ahead_serves_layers_in_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "MAX_VARIABLE", 100)
    monkeypatch.setattr(caching, "MAX_AHEAD", 2 * 10 * 4 * 5 * 2)
    path, values = tmp_path / "a.nc", numbered(30, 2, 4, 5)
    with new_file(path) as dataset:
        add_axes(dataset, times=np.arange(30))
        add(dataset, "v", ["time", "level", "lat", "lon"], values, zlib=True, chunksizes=(10, 1, 2, 2))
        add(dataset, "w", ["time", "level", "lat", "lon"], values + 1, zlib=True, chunksizes=(10, 1, 2, 2))
    reads: list[Any] = []
    original = caching.ReadAhead._stop
    monkeypatch.setattr(caching.ReadAhead, "_stop", lambda *a: reads.append(a) or original(*a))
    with open_source([str(path)]) as source:
        (description,) = source.descriptions()
        for item, added in (("v", 0), ("w", 1)):
            for step in range(30):
                for layer in range(2):
                    got = source.read(description, item, slice(step, step + 1), layer, slice(None), slice(None))
                    assert np.array_equal(got[0], values[step, layer] + added)
    assert len(reads) <= 2 * 2 * 4
