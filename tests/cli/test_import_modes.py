"""`mdstudio import --append | --update | --replace` and the recipes that say the same, as a person runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.requests import MapRequest
from mdstudio.jobs.recipe import Recipe
from tests.cli.conftest import Run
from tests.cli.sources import write_waves

HOURS = (0, 6, 12, 18)


@pytest.fixture
def dataset(tmp_path: Path, run: Run) -> Path:
    """Imported from the first four times."""
    write_waves(tmp_path / "a.nc", HOURS)
    assert run("import", tmp_path / "a.nc", tmp_path / "d", "--set", "Compression=ZstdAuto", "--set",
               "StorageType=TimeSeries", "--set", "TimeGroupSize=3", "--quiet").status == 0
    return tmp_path / "d"


def source(path: Path, hours: Any, add: int = 0) -> Path:
    """As `write_waves`; `add` to every wave height that is there."""
    write_waves(path, hours)
    with netCDF4.Dataset(path, "a") as file:
        file["swh"].set_auto_maskandscale(False)
        values = file["swh"][:]
        file["swh"][:] = np.where(values == -32767, values, values + add)
    return path


def stored(place: Path, hour: int, item: str = "swh") -> Any:
    opened = Dataset.open(str(place))
    time = opened.metadata.times.find(f"2020-01-0{1 + hour // 24}T{hour % 24:02d}")
    return opened.map(MapRequest(item, time, 1 if item == "temp" else None)).stored


def in_file(path: Path, step: int, item: str = "swh") -> Any:
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        values = file[item][step]
        return values[1] if item == "temp" else values


@pytest.mark.rule("W1", "D7")
def test_later_times_are_appended_whatever_the_environment_says(
    dataset: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MD_DEFAULT_TIMESERIES_COMPRESSION", "LZ4")
    monkeypatch.setenv("MD_DEFAULT_GRID_COMPRESSION", "nonsense")
    before = Dataset.open(str(dataset)).metadata
    later = source(tmp_path / "b.nc", (24, 30), add=7)
    outcome = run("import", later, dataset, "--append", "--json")
    assert outcome.status == 0
    assert outcome.lines[-1]["summary"]["timesteps"] == 2
    metadata = Dataset.open(str(dataset)).metadata
    assert metadata.storage == before.storage
    assert len(metadata.times) == 6
    assert outcome.lines[-1]["summary"]["stored_bytes"] == metadata.data_size_bytes
    for item in ("swh", "level", "temp"):
        for step, hour in enumerate((24, 30)):
            assert np.array_equal(stored(dataset, hour, item), in_file(later, step, item))
        assert np.array_equal(stored(dataset, 18, item), in_file(tmp_path / "a.nc", 3, item))
    assert [Path(entry["file"]).name for entry in metadata.source] == ["a.nc", "b.nc"]


@pytest.mark.rule("W1", "D7")
def test_times_that_are_there_are_updated_in_place(dataset: Path, tmp_path: Path, run: Run) -> None:
    again = source(tmp_path / "b.nc", (6, 18), add=11)
    outcome = run("import", again, dataset, "--update")
    assert outcome.status == 0
    assert f"Updated {dataset}" in outcome.out
    assert "3 items x 2 times" in outcome.out
    assert np.array_equal(stored(dataset, 18), in_file(again, 1))
    assert np.array_equal(stored(dataset, 12), in_file(tmp_path / "a.nc", 2))


@pytest.mark.rule("W1")
def test_a_dataset_is_replaced_by_another_and_made_where_there_is_none(
    dataset: Path, tmp_path: Path, run: Run
) -> None:
    other = source(tmp_path / "b.nc", (240, 246))
    for place in (dataset, tmp_path / "new"):
        assert run("import", other, place, "--replace", "--items", "swh", "--quiet").status == 0
        metadata = Dataset.open(str(place)).metadata
        assert ([i.name for i in metadata.items], len(metadata.times)) == (["swh"], 2)
        assert metadata.storage.compression == "None"  # explicit parameters and defaults as at creation
        assert run("check", place).status == 0


@pytest.mark.rule("D7")
@pytest.mark.parametrize(("words", "hours", "status", "says"), [
    (["--append"], (18, 24), 2, "2020-01-01T18:00:00 is stored already"),
    (["--append", "--set", "Compression=LZ4"], (24,), 2, "Compression is LZ4; the dataset was made with ZstdAuto"),
    (["--append", "--set", "TimeGroupSize=5"], (24,), 2, "TimeGroupSize is 5; the dataset was made with 3"),
    (["--append", "--items", "swh"], (24,), 2, "the items level, temp"),
    (["--append", "--reader", "DoubleAsFloat=true"], (24,), 1, "another dtype in the source: float32, not float64"),
    (["--update"], (18, 24), 10, "2020-01-02T00:00:00 is not in the dataset"),
    ([], (24,), 1, "--append"),
    (["--append", "--update"], (24,), 2, "not allowed with argument --append")])
def test_what_is_refused_is_said_in_one_line_and_changes_nothing(
    dataset: Path, words: list[str], hours: Any, status: int, says: str, tmp_path: Path, run: Run
) -> None:
    before = {path: path.read_bytes() for path in dataset.rglob("*") if path.is_file()}
    for dry in ([], ["--dry-run"]):
        if not words and dry:
            continue
        outcome = run("import", source(tmp_path / "b.nc", hours), dataset, *words, *dry)
        assert outcome.status == status
        assert says in outcome.err
        assert outcome.err.count("\n") == 1
    assert {path: path.read_bytes() for path in dataset.rglob("*") if path.is_file()} == before


def test_an_append_to_nothing_is_refused(tmp_path: Path, run: Run) -> None:
    outcome = run("import", source(tmp_path / "b.nc", (24,)), tmp_path / "none", "--append")
    assert outcome.status == 10
    assert not (tmp_path / "none").exists()


def test_the_same_explicit_parameter_is_accepted_and_shown_as_the_datasets(
    dataset: Path, tmp_path: Path, run: Run
) -> None:
    words = ("import", source(tmp_path / "b.nc", (24, 30)), dataset, "--append", "--set", "TimeGroupSize=3")
    outcome = run(*words, "--dry-run", "--json")
    assert outcome.status == 0
    plan = json.loads(outcome.out)
    assert (plan["mode"], plan["settings"]["compression"], plan["origins"]["Compression"]) == (
        "append", "ZstdAuto", "dataset")
    assert f"Would append to {dataset}" in run(*words, "--dry-run").out
    assert run(*words, "--quiet").status == 0


@pytest.mark.rule("G9")
def test_a_recipe_says_the_mode_and_its_command_does_the_same(dataset: Path, tmp_path: Path, run: Run) -> None:
    import shlex

    later = source(tmp_path / "b.nc", (24, 30))
    recipe = Recipe((str(later),), str(dataset), mode="append")
    assert Recipe.from_json(recipe.to_json()) == recipe
    (tmp_path / "r.json").write_text(json.dumps(recipe.to_json()))
    assert run("import", "--params", tmp_path / "r.json", "--quiet").status == 0
    words = shlex.split(Recipe((str(later),), str(dataset), mode="update").to_command())
    assert words[0] == "mdstudio"
    assert run(*words[1:], "--quiet").status == 0
    assert len(Dataset.open(str(dataset)).metadata.times) == 6


def test_in_a_source_of_several_grids_that_of_the_dataset_is_taken(tmp_path: Path, run: Run) -> None:
    from tests.cli.sources import write_staggered

    first = write_staggered(tmp_path / "a.nc")
    assert run("import", first, tmp_path / "d", "--items", "u", "--quiet").status == 0
    outcome = run("import", first, tmp_path / "d", "--update", "--json")
    assert outcome.status == 0
    assert any(d["what"] == "v" for d in outcome.lines[-1]["summary"]["dropped"])
