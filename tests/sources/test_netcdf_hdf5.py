"""HDF5 beneath NetCDF: filters that are not installed, files that netCDF cannot open, damage and what is left of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from mdstudio.engine.errors import SourceError
from mdstudio.sources.registry import open_source
from tests.cli.conftest import Run, run
from tests.sources.netcdf_builders import LAT, LON, numbered, whole

__all__ = ["run"]


def hdf5_file(path: Path, packed: dict[str, dict[str, Any]], **axes: Any) -> Path:
    """Items over time, lat and lon, each stored as asked; written by h5py, which has LZF, as netCDF has not."""
    with h5py.File(path, "w") as file:
        for name, values, attributes in (
                ("time", np.arange(3), {"units": "hours since 2000-01-01"}),
                ("lat", np.linspace(60, 50, 4), LAT), ("lon", np.linspace(0, 8, 5), LON)):
            axis = file.create_dataset(name, data=values, **axes.get(name, {}))
            axis.attrs.update(attributes)
            axis.make_scale(name)
        for name, stored in packed.items():
            item = file.create_dataset(name, data=numbered(3, 4, 5), **stored)
            for n, axis_name in enumerate(("time", "lat", "lon")):
                item.dims[n].attach_scale(file[axis_name])
    return path


def test_a_variable_with_a_filter_that_is_not_here_is_named_and_the_others_are_imported(
        tmp_path: Path, run: Run) -> None:
    path = hdf5_file(tmp_path / "a.nc", {
        "foreign": {"compression": "lzf"}, "both": {"compression": "lzf", "shuffle": True},
        "plain": {}, "chunked": {"chunks": (1, 4, 5)}, "gzip": {"compression": "gzip", "shuffle": True}})
    with open_source([str(path)]) as source:
        description, = source.descriptions()
        assert sorted(i.name for i in description.items) == ["chunked", "gzip", "plain"]
        for item in description.items:
            assert np.array_equal(whole(source, description, item.name), numbered(3, 4, 5))
    done = run("import", path, tmp_path / "d", "--quiet", "--json")
    assert done.status == 0
    told = {d["what"]: d["reason"] for d in done.lines[-1]["summary"]["dropped"]}
    assert told == {"both, foreign": "cannot be read: packed with the HDF5 filter 32000 (lzf), which is not installed "
                                     "here"}


def test_a_file_of_such_variables_alone_says_the_filter_and_what_to_do(tmp_path: Path) -> None:
    path = hdf5_file(tmp_path / "a.nc", {"foreign": {"compression": "lzf"}})
    with pytest.raises(SourceError, match=r"'foreign' is packed with the HDF5 filter 32000 \(lzf\)") as refused:
        open_source([str(path)])
    assert "HDF5_PLUGIN_PATH" in refused.value.advice


def test_a_coordinate_that_cannot_be_read_is_told_as_the_reason(tmp_path: Path) -> None:
    path = hdf5_file(tmp_path / "a.nc", {"v": {}}, lat={"compression": "lzf", "chunks": (4,)})
    with pytest.raises(SourceError, match=r"'lat' cannot be read: packed with the HDF5 filter 32000"):
        open_source([str(path)])


def test_a_sound_file_that_netcdf_cannot_open_is_not_called_damaged(tmp_path: Path) -> None:
    with h5py.File(hdf5_file(tmp_path / "a.h5", {"v": {}}), "a") as file:
        file["number"] = np.dtype("<i4")
    with pytest.raises(SourceError, match=r"not damaged, but netCDF cannot open it: it has types of its own \(number"):
        open_source([str(tmp_path / "a.h5")])


def test_of_a_damaged_file_what_is_still_readable_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["good/v"] = numbered(4, 5)
        file["bad/w"] = numbered(4, 5)
    data = path.read_bytes()
    heaps = [n for n in range(len(data)) if data.startswith(b"HEAP", n)]
    names = [data[n:n + 200] for n in heaps]
    last = next(n for n, text in zip(heaps, names, strict=True) if b"w\0" in text and b"good" not in text)
    path.write_bytes(data[:last] + b"DAMN" + data[last + 4:])
    with pytest.raises(SourceError, match=r"damaged: the names in 'bad/' cannot be read.*Still readable: good/v"):
        open_source([str(path)])
    path.write_bytes(data[:len(data) // 2])
    with pytest.raises(SourceError, match=r"damaged or truncated: .*eof.*Get the file again"):
        open_source([str(path)])
