"""An import that is killed and run again goes on by its journal and ends in the same bytes (C6, W2)."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mdstudio.cli.main import main
from mdstudio.engine.errors import AlreadyExistsError, SourceError
from mdstudio.engine.storage.folder import FolderStorage
from mdstudio.engine.writing import journal as journals
from mdstudio.engine.writing.new_blobs import NewBlobs
from mdstudio.jobs.journal import journal_path
from mdstudio.jobs.recipe import Recipe
from mdstudio.jobs.run import run_recipe
from tests.cli.sources import write_waves
from tests.jobs.test_run import Notes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills by SIGKILL")

KINDS = ("SingleTimestep", "MultiTimestep", "TimeSeries")


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "state"))


def made_recipe(tmp_path: Path, kind: str, **parameters: object) -> Recipe:
    source = tmp_path / "waves.nc"
    if not source.exists():
        write_waves(source)
    return Recipe((str(source),), str(tmp_path / "d"), {"StorageType": kind, "Compression": "ZstdAuto"} | (
        {"TimeGroupSize": 2} if kind != "SingleTimestep" else {}) | parameters, workers=1)


def content(root: Path) -> dict[str, bytes]:
    """The blobs as a reader finds them; not the lists of blocks, which hold versions."""
    storage = FolderStorage(root)
    return {blob.name: storage.read(blob.name).data for blob in storage.list_blobs()}


def journal_of(recipe: Recipe) -> Path:
    return journal_path(FolderStorage(Path(recipe.target)).location)


_CHILD = """
import sys, json
from pathlib import Path
from mdstudio.engine.progress import Progress
from mdstudio.jobs.recipe import Recipe
from mdstudio.jobs.run import run_recipe
from tests.engine.storage.crash import kill_at
kill_at(int(sys.argv[2]), Path(sys.argv[3]))
run_recipe(Recipe.from_json(json.loads(sys.argv[1])), Progress(), {})
"""


def killed(recipe: Recipe, step: int) -> bool:
    """Run a recipe in a process that dies at its step-th change of a file of the dataset; whether it did."""
    ran = subprocess.run([sys.executable, "-c", _CHILD, json.dumps(recipe.to_json()), str(step), recipe.target],
                         capture_output=True, text=True, check=False)
    assert ran.returncode in (0, -signal.SIGKILL), ran.stderr
    return ran.returncode != 0


def check_kills(tmp_path: Path, kind: str, kills: int, seed: int) -> None:
    """Kill at random points, so many times that the run did not get through before, and run again."""
    recipe = made_recipe(tmp_path, kind)
    target = Path(recipe.target)
    run_recipe(recipe, Notes(), {})
    wanted = content(target)
    draw, came = random.Random(seed), 0
    while came < kills:
        shutil.rmtree(target)
        target.mkdir()
        came += killed(recipe, draw.randint(1, 4 * len(wanted)))
        if not (target / "dataset.json").exists():
            run_recipe(recipe, Notes(), {})
        else:
            with pytest.raises(AlreadyExistsError):
                run_recipe(recipe, Notes(), {})
        assert content(target) == wanted
        assert not journal_of(recipe).exists()


@pytest.mark.rule("C6", "W2")
@pytest.mark.parametrize("kind", KINDS)
def test_killed_anywhere_and_run_again_ends_in_the_same_bytes(tmp_path: Path, kind: str) -> None:
    check_kills(tmp_path, kind, 2, 5)


@pytest.mark.long
@pytest.mark.rule("C6", "W2")
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_kills(tmp_path: Path, kind: str) -> None:
    check_kills(tmp_path, kind, 34, 7)


def killed_late(recipe: Recipe) -> int:
    """Kill a run after some finished units; how many the journal has."""
    step = 13
    while True:
        shutil.rmtree(recipe.target, ignore_errors=True)
        Path(recipe.target).mkdir()
        journal_of(recipe).unlink(missing_ok=True)
        assert killed(recipe, step), "it got through"
        lines = journal_of(recipe).read_text().splitlines() if journal_of(recipe).exists() else []
        if len(lines) > 2:
            return len(lines) - 1
        step += 4


@pytest.mark.rule("C6")
def test_finished_units_are_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = made_recipe(tmp_path, "TimeSeries")
    finished = killed_late(recipe)
    adopted: list[bool] = []
    adopt = NewBlobs.adopt

    def counted(self: NewBlobs, versions: dict[str, str]) -> bool:
        adopted.append(adopt(self, versions))
        return adopted[-1]

    monkeypatch.setattr(NewBlobs, "adopt", counted)
    progress = Notes()
    run_recipe(recipe, progress, {})
    assert adopted == [True] * finished
    assert progress.done == progress.total


def test_a_blob_that_is_not_as_it_was_is_written_again(tmp_path: Path) -> None:
    recipe = made_recipe(tmp_path, "TimeSeries")
    run_recipe(recipe, Notes(), {})
    wanted = content(Path(recipe.target))
    killed_late(recipe)
    storage = FolderStorage(Path(recipe.target))
    for blob in [b for b in storage.list_blobs() if b.name in wanted and "/" in b.name]:
        storage.write(blob.name, b"rubbish")
    run_recipe(recipe, Notes(), {})
    assert content(Path(recipe.target)) == wanted


def test_clean_takes_the_journal_with_the_blobs(tmp_path: Path) -> None:
    recipe = made_recipe(tmp_path, "TimeSeries")
    killed_late(recipe)
    assert main(["clean", str(tmp_path), "--quiet"]) == 0
    assert journal_of(recipe).exists()  # a dry run
    assert main(["clean", str(tmp_path), "--apply", "--quiet"]) == 0
    assert not journal_of(recipe).exists()


def test_another_recipe_does_not_resume_and_says_so(tmp_path: Path) -> None:
    killed_late(made_recipe(tmp_path, "TimeSeries"))
    other = made_recipe(tmp_path, "TimeSeries", Compression="LZ4")
    progress = Notes()
    run_recipe(other, progress, {})
    assert any("not resumed" in note and "the recipe" in note for note in progress.notes)
    resumed = content(Path(other.target))
    shutil.rmtree(other.target)
    run_recipe(other, Notes(), {})
    assert resumed == content(Path(other.target))


def test_a_changed_source_does_not_resume_and_says_so(tmp_path: Path) -> None:
    recipe = made_recipe(tmp_path, "TimeSeries")
    killed_late(recipe)
    os.utime(recipe.sources[0], ns=(1, 1))
    progress = Notes()
    run_recipe(recipe, progress, {})
    assert any("the source" in note and "waves.nc" in note for note in progress.notes)


def test_a_source_that_changes_while_it_is_read_makes_no_dataset(tmp_path: Path) -> None:
    recipe = made_recipe(tmp_path, "MultiTimestep")

    class Touching(Notes):
        def report(self) -> None:
            os.utime(recipe.sources[0], ns=(self.done + 1, self.done + 1))

    with pytest.raises(SourceError, match="changed while it was read"):
        run_recipe(recipe, Touching(), {})
    assert content(Path(recipe.target)) == {}
    assert not journal_of(recipe).exists()


def test_a_line_that_was_cut_short_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = journals.Journal(path, {"a": "1"}, lambda: None)
    journal.start(Notes())
    journal.record("u 0-2", {"b": "1"})
    journal.record("u 2-4", {"c": "1"})
    path.write_bytes(path.read_bytes()[:-4])
    again = journals.Journal(path, {"a": "1"}, lambda: None)
    again.start(Notes())
    assert again.finished("u 0-2") == {"b": "1"}
    assert again.finished("u 2-4") is None
    again.forget()
    assert list(tmp_path.iterdir()) == []


def test_a_data_folder_that_cannot_be_written_to_costs_the_journal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    progress = Notes()
    run_recipe(made_recipe(tmp_path, "MultiTimestep"), progress, {})
    assert any("No journal" in note for note in progress.notes)
