"""`mdstudio demo`: the sample is made once, is to the bit what its source holds, and is shown."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np
import pytest

from mdstudio.jobs.sample import sample_recipe, user_data_folder, write_sample_source
from tests.cli.conftest import Run


def test_the_sample_is_made_once_and_reused(tmp_path: Path, run: Run) -> None:
    first = run("demo", "--no-gui", "--folder", tmp_path, "--json")
    assert first.status == 0
    facts = first.document
    assert [i["name"] for i in facts["items"]] == ["sst", "swh", "wind_speed", "temperature"]
    assert (facts["compression"], facts["grid_tile_width"], facts["times"]["count"]) == ("ZstdAuto", 32, 48)
    assert facts["ratio"] < 0.5
    before = (tmp_path / "sample" / "dataset.json").stat().st_mtime_ns
    again = run("demo", "--no-gui", "--folder", tmp_path)
    assert again.err == ""
    assert "sample" in again.out
    assert (tmp_path / "sample" / "dataset.json").stat().st_mtime_ns == before
    assert run("compare", tmp_path / "sample", tmp_path / "sample.nc", "--json", "--quiet").document["equal"] is True


def test_the_source_is_the_same_every_time_and_plausible(tmp_path: Path) -> None:
    for name in ("a.nc", "b.nc"):
        write_sample_source(tmp_path / name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.nc", "b.nc"]
    with netCDF4.Dataset(tmp_path / "a.nc") as a, netCDF4.Dataset(tmp_path / "b.nc") as b:
        for name in ("sst", "swh", "wind_speed", "temperature"):
            assert np.array_equal(np.ma.getdata(a[name][:]), np.ma.getdata(b[name][:]))
        assert 0.25 < np.ma.getmaskarray(a["sst"][0]).mean() < 0.5  # land
        for name, low, high in (("sst", 0, 20), ("swh", 0, 20), ("wind_speed", 0, 45), ("temperature", 0, 20)):
            assert low <= a[name][:].min() < a[name][:].max() <= high


def test_the_recipe_of_the_resources_is_placed_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    recipe = sample_recipe(user_data_folder())
    assert recipe.sources == (str(user_data_folder() / "sample.nc"),)
    assert recipe.target == str(user_data_folder() / "sample")
    assert recipe.writer_parameters["Compression"] == "ZstdAuto"
