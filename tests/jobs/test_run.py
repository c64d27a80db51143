"""A recipe run here or in a worker makes the dataset, or leaves nothing; what it leaves out is said."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import AlreadyExistsError, Cancelled, NotFoundError, SourceError
from mdstudio.engine.progress import Progress
from mdstudio.jobs.process import JobEvent, JobProcess
from mdstudio.jobs.recipe import Recipe
from mdstudio.jobs.run import dataset_name, planned, run_recipe
from tests.cli.sources import write_staggered, write_waves


class Notes(Progress):
    def __init__(self, cancel_at: int = -1) -> None:
        super().__init__()
        self.notes: list[str] = []
        self._cancel_at = cancel_at

    def note(self, message: str) -> None:
        self.notes.append(message)

    def report(self) -> None:
        if 0 <= self._cancel_at <= self.done:
            self.cancel()


def test_what_is_left_out_is_noted_persisted_and_in_the_summary(tmp_path: Path) -> None:
    source = write_staggered(tmp_path / "s.nc")
    progress = Notes()
    summary = run_recipe(Recipe((str(source),), str(tmp_path / "d"), items=("u",)), progress, {})
    left = {"what": "v", "reason": "in another grid, lat_v-lon_v", "count": 1}
    assert left in summary["dropped"]
    assert f"v: {left['reason']}" in progress.notes
    assert any(d.what == "v" for d in Dataset.open(str(tmp_path / "d")).metadata.dropped)


def test_items_left_out_for_one_reason_are_one_line(tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc")
    with planned(Recipe((str(source),), str(tmp_path / "d"), items=("swh",))) as (_, plan):
        (left,) = [d for d in plan.description.dropped if d.reason == "not chosen"]
    assert sorted(left.what.split(", ")) == ["level", "temp"]
    assert left.count == 2


@pytest.mark.rule("D12", "D13")
def test_the_environment_that_is_given_decides(tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc")
    recipe = Recipe((str(source),), str(tmp_path / "d"), workers=1)
    with planned(recipe, {"MD_DEFAULT_GRID_COMPRESSION": "LZ4"}) as (_, plan):
        assert plan.settings.storage.compression == "LZ4"
        assert plan.environ["MD_ENCODE_WORKERS"] == "1"
        assert plan.to_json()["origins"]["Compression"] == "variable MD_DEFAULT_GRID_COMPRESSION"
    assert not (tmp_path / "d").exists()


@pytest.mark.rule("G7", "W2")
@pytest.mark.parametrize("storage_type", ["SingleTimestep", "MultiTimestep", "TimeSeries"])
@pytest.mark.parametrize("slices", [0, 1, 7])
def test_a_cancel_leaves_nothing_and_the_recipe_runs_again(storage_type: str, slices: int, tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc")
    recipe = Recipe((str(source),), str(tmp_path / "d"), {"StorageType": storage_type, "TimeGroupSize": 2})
    with pytest.raises(Cancelled):
        run_recipe(recipe, Notes(cancel_at=slices), {})
    assert not (tmp_path / "d").exists()
    assert run_recipe(recipe, Progress(), {})["timesteps"] == 6


def test_a_taken_destination_is_refused_before_the_source_is_opened(tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc")
    run_recipe(Recipe((str(source),), str(tmp_path / "d")), Progress(), {})
    with pytest.raises(AlreadyExistsError, match="already"):
        run_recipe(Recipe((str(tmp_path / "gone.nc"),), str(tmp_path / "d")), Progress(), {})
    with pytest.raises(NotFoundError, match=r"gone\.nc"):
        run_recipe(Recipe((str(tmp_path / "gone.nc"),), str(tmp_path / "e")), Progress(), {})


@pytest.mark.parametrize(("location", "name"), [
    ("a/b/waves", "waves"), ("waves/", "waves"), ("C:\\data\\waves", "waves"), ("az://acc/box/p/waves", "waves"),
    ("https://acc.blob.core.windows.net/box/waves?sig=x", "waves"), (".", Path.cwd().name)])
def test_a_dataset_is_named_by_the_end_of_its_location(location: str, name: str) -> None:
    assert dataset_name(location) == name


def ended(process: JobProcess) -> list[JobEvent]:
    assert process.wait(120)
    return process.events()


@pytest.mark.rule("G7")
def test_an_import_in_a_worker_reports_and_ends_with_its_summary(tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc")
    process = JobProcess(Recipe((str(source),), str(tmp_path / "d"), {"Compression": "ZstdAuto"}, items=("swh",)))
    process.start()
    events = ended(process)
    assert events[-1].kind == "done"
    assert events[-1].summary is not None
    assert events[-1].summary["timesteps"] == 6
    shown = [e for e in events if e.kind == "progress"]
    assert (shown[-1].done, shown[-1].total, shown[-1].unit) == (6, 6, "slices")
    assert "level, temp: not chosen (2)" in [e.line for e in events if e.kind == "log"]
    assert Dataset.open(str(tmp_path / "d")).metadata.items[0].name == "swh"


@pytest.mark.rule("G7")
def test_a_failed_import_in_a_worker_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.nc").write_text("text")
    process = JobProcess(Recipe((str(tmp_path / "a.nc"),), str(tmp_path / "d")))
    process.start()
    last = ended(process)[-1]
    assert (last.kind, last.code) == ("failed", SourceError.code)
    assert "a.nc" in last.message


@pytest.mark.rule("G7")
def test_a_cancelled_import_in_a_worker_leaves_nothing(tmp_path: Path) -> None:
    source = write_waves(tmp_path / "a.nc", times=range(150), cells=1000)
    process = JobProcess(Recipe((str(source),), str(tmp_path / "d"), {"Compression": "ZstdAuto"}), grace=60)
    process.start()
    while process.state == "running":
        if any(e.kind == "progress" and e.done for e in process.events()):
            process.cancel()
        time.sleep(0.01)
    assert ended(process)[-1].code == Cancelled.code
    assert process.state == "cancelled"
    assert not (tmp_path / "d").exists()
