"""`remove`, `update-mesh`, `relocate`, `clean`, `export`: what they say, their JSON, their statuses (W1)."""

from __future__ import annotations

import os
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from mdstudio.cli.select import split_names, times_of
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import NotFoundError, UsageError
from mdstudio.engine.storage import FolderStorage
from mdstudio.engine.times import TimeAxis
from tests.azurite import ACCOUNT, Azurite
from tests.cli.conftest import Run
from tests.cli.sources import write_waves
from tests.engine.made_datasets import HOUR, kind_of, make_kind, mesh

pytestmark = pytest.mark.rule("W1", "G9")


@pytest.fixture
def dataset(tmp_path: Path, run: Run) -> Path:
    """Six times, 2020-01-01T00 to 2020-01-02T06."""
    source = write_waves(tmp_path / "a.nc")
    words = ["--set", "Compression=ZstdAuto", "--set", "StorageType=SingleTimestep", "--set", "GridTileWidth=16"]
    assert run("import", source, tmp_path / "d", "--quiet", *words).status == 0
    return tmp_path / "d"


@pytest.mark.parametrize(("command", "says"), [
    ("import", ["killed", "nothing behind"]),
    ("remove", ["with all their data", "Refused before anything", "A kill in between leaves a whole dataset", "clean"]),
    ("update-mesh", ["domain and\nSchemaVersion only", "Refused before anything",
                     "A kill leaves the old mesh or the new"]),
    ("relocate", ["block lists", "Refused: a B that is a dataset", "A kill, a cancel or an error leaves a copy"]),
    ("clean", ["only with --apply", "Left alone:", "A kill leaves the rest"]),
    ("export", ["NetCDF-4", "Refused: a TARGET that is there", "a killed one a hidden file"]),
])
def test_help_says_the_effect_the_refusals_and_what_a_kill_leaves(command: str, says: list[str], run: Run) -> None:
    text = run(command, "--help").out
    for part in says:
        assert part in text


@pytest.mark.rule("D6")
def test_times_are_removed_by_index_time_and_range(dataset: Path, run: Run) -> None:
    done = run("remove", dataset, "--times", "#-1", "2020-01-01T06:00", "--json")
    assert (done.status, done.err) == (0, "")
    assert done.document | {"seconds": 0} == {
        "dataset": str(dataset), "removed": 2, "times": 4, "blobs": 2 * 2 * 5, "bytes": done.document["bytes"],
        "seconds": 0}
    assert run("check", dataset).status == 0
    left = Dataset.open(str(dataset)).metadata.times.texts()
    assert left == ["2020-01-01T00:00:00", "2020-01-01T12:00:00", "2020-01-01T18:00:00", "2020-01-02T00:00:00"]
    words = run("remove", dataset, "--times", "#0/#1").out
    assert words.startswith("Removed 2 times")
    assert len(Dataset.open(str(dataset)).metadata.times) == 2


@pytest.mark.rule("D6")
def test_what_cannot_be_removed_is_said_in_a_line(dataset: Path, tmp_path: Path, run: Run) -> None:
    assert run("remove", dataset, "--times", "/").status == 2
    assert run("remove", dataset, "--times", "#9").status == 10
    assert run("remove", dataset, "--times", "2021-01-01/2021-02-01").status == 10
    assert run("remove", dataset).status == 2
    source = tmp_path / "a.nc"
    assert run("import", source, tmp_path / "m", "--quiet", "--set", "StorageType=MultiTimestep").status == 0
    refused = run("remove", tmp_path / "m", "--times", "#0")
    assert refused.status == 1
    assert "Only SingleTimestep" in refused.err
    assert len(Dataset.open(str(dataset)).metadata.times) == 6


def test_times_and_names_as_they_are_typed() -> None:
    times = TimeAxis(np.arange(6) * HOUR)
    assert times_of(times, ["#5", "#0", "#-1", "1970-01-01T02:00"]) == [0, 2, 5]
    assert times_of(times, ["#1/#2", "1970-01-01T03:30/"]) == [1, 2, 4, 5]
    assert times_of(times, ["/#1"]) == [0, 1]
    assert times_of(times, ["/"]) == [0, 1, 2, 3, 4, 5]
    for text in ("1970-01-01T00:30", "#9", "1970-01-02/1970-01-03", "#3/#1"):
        with pytest.raises(NotFoundError):
            times_of(times, [text])
    assert split_names("a, b\\,c ,d", "--items") == ["a", "b,c", "d"]
    with pytest.raises(UsageError, match="--items"):
        split_names(" , ", "--items")


@pytest.mark.rule("P26")
def test_a_dataset_is_relocated_and_a_half_copy_is_cleaned(dataset: Path, tmp_path: Path, run: Run) -> None:
    done = run("relocate", dataset, tmp_path / "b", "--json")
    assert (done.status, done.err) == (0, "")
    assert done.document["dataset"] == str(tmp_path / "b")
    assert run("compare", dataset, tmp_path / "b", "--json", "--quiet").document["equal"] is True
    assert run("relocate", dataset, tmp_path / "b").status == 1
    assert run("relocate", dataset, dataset / "in").status == 2
    assert run("relocate", tmp_path / "none", tmp_path / "c").status == 10
    assert "Relocated to" in run("relocate", dataset, tmp_path / "c").out
    (tmp_path / "c" / "dataset.json").unlink()
    dry = run("clean", tmp_path, "--json").document
    assert (dry["applied"], {left["place"] for left in dry["left_overs"]}) == (False, {"c"})
    assert dry["bytes"] == sum(path.stat().st_size for path in (tmp_path / "c").rglob("*") if path.is_file())
    assert dry["blobs"] == done.document["blobs"]
    words = run("clean", tmp_path).out
    assert "blobs without dataset.json" in words
    assert "Nothing was removed" in words
    assert (tmp_path / "c").exists()
    assert "Removed" in run("clean", tmp_path, "--apply").out
    assert not (tmp_path / "c").exists()
    assert "Nothing is left over" in run("clean", tmp_path).out
    for place in (dataset, tmp_path / "b"):
        assert run("check", place).status == 0


def test_clean_says_what_it_left_alone(dataset: Path, run: Run) -> None:
    (dataset / "dataset.json").write_text("{")
    cleaned = run("clean", dataset, "--apply", "--json").document
    assert [skipped["place"] for skipped in cleaned["skipped"]] == [""]
    assert "Left alone: ." in run("clean", dataset).out
    with FolderStorage(dataset).claimed():
        assert "Another job" in run("clean", dataset, "--json").document["skipped"][0]["reason"]


@pytest.mark.rule("N5")
def test_an_export_is_imported_again_as_the_same(dataset: Path, tmp_path: Path, run: Run) -> None:
    done = run("export", dataset, tmp_path / "out.nc", "--format", "netcdf", "--json")
    assert (done.status, done.err) == (0, "")
    assert (done.document["items"], done.document["timesteps"]) == (["swh", "level", "temp"], 6)
    assert done.document["bytes"] == os.path.getsize(tmp_path / "out.nc")
    assert run("compare", dataset, tmp_path / "out.nc", "--json", "--quiet").document["equal"] is True
    with netCDF4.Dataset(tmp_path / "a.nc") as before, netCDF4.Dataset(tmp_path / "out.nc") as after:
        assert (after["time"].units, after["time"].calendar) == (before["time"].units, "standard")
        for name in ("swh", "level", "temp", "latitude", "longitude", "depth"):
            before[name].set_auto_maskandscale(False)
            after[name].set_auto_maskandscale(False)
            one, other = before[name][...], after[name][...]
            assert (one.dtype, one.tobytes()) == (other.dtype, other.tobytes())
            kept = {key: before[name].getncattr(key) for key in before[name].ncattrs()}
            assert kept == {key: after[name].getncattr(key) for key in kept}


def test_items_and_times_of_an_export_and_what_is_refused(dataset: Path, tmp_path: Path, run: Run) -> None:
    words = ["--items", "temp,#0", "--from", "#2", "--to", "2020-01-01T18:00", "--json"]
    part = run("export", dataset, tmp_path / "part.nc", *words)
    assert (part.document["items"], part.document["timesteps"]) == (["temp", "swh"], 2)
    assert "Exported to" in run("export", dataset, tmp_path / "b.nc", "--items", "swh").out
    there = run("export", dataset, tmp_path / "b.nc")
    assert (there.status, "already" in there.err) == (1, True)
    for name in ("zarr2", "zarr3", "icechunk"):
        later = run("export", dataset, tmp_path / "x.zarr", "--format", name)
        assert (later.status, "later release" in later.err) == (1, True)
    assert run("export", dataset, tmp_path / "x.txt").status == 2
    assert run("export", dataset, tmp_path / "x.nc", "--format", "grib").status == 2
    assert run("export", dataset, tmp_path / "x.nc", "--items", "nope").status == 10
    assert run("export", dataset, tmp_path / "no" / "x.nc").status == 10
    assert run("export", tmp_path / "none", tmp_path / "x.nc").status == 10
    assert not list(tmp_path.glob("*x.*"))


@pytest.mark.rule("V13")
def test_a_mesh_comes_from_a_dataset_and_a_file_without_one_is_named(dataset: Path, tmp_path: Path, run: Run) -> None:
    made = make_kind(tmp_path / "m", kind_of("mesh"), "MultiTimestep")
    other = make_kind(tmp_path / "n", kind_of("mesh-zlevel"), "MultiTimestep")  # the same mesh
    same = run("update-mesh", tmp_path / "m", tmp_path / "n", "--json").document
    assert (same["replaced"], same["elements"]) == ("", mesh().elements)
    assert "this mesh already" in run("update-mesh", tmp_path / "m", tmp_path / "n").out
    moved = kind_of("mesh").mesh
    assert other.metadata.domain_blob == made.metadata.domain_blob
    make_kind(tmp_path / "small", kind_of("mesh-layered"), "MultiTimestep")
    refused = run("update-mesh", tmp_path / "m", tmp_path / "small")
    assert (refused.status, f"{moved.elements}" in refused.err) == (1, True)
    assert run("update-mesh", tmp_path / "m", tmp_path / "none").status == 10
    for grid in (dataset, tmp_path / "a.nc"):
        no_mesh = run("update-mesh", tmp_path / "m", grid)
        assert (no_mesh.status, "no mesh" in no_mesh.err) == (1, True)


@pytest.mark.azure
def test_the_same_in_a_container(
    azurite: Azurite, dataset: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
    place = f"az://{ACCOUNT}/{azurite.new_container()}/some/waves"
    assert run("relocate", dataset, place, "--quiet").status == 0
    assert run("remove", place, "--times", "#0", "--quiet").status == 0
    assert run("clean", f"{place}/..".removesuffix("/waves/.."), "--json").document["left_overs"] == []
    assert run("check", place).status == 0
    assert run("export", place, tmp_path / "out.nc", "--quiet").status == 0
    assert run("compare", place, tmp_path / "out.nc", "--json", "--quiet").document["equal"] is True
