"""`mdstudio jobs`: what a window has left is listed, run to its end here, or forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdstudio.jobs.queue_store import QueueStore
from mdstudio.jobs.recipe import Recipe
from tests.cli.conftest import Run
from tests.cli.sources import write_waves

pytestmark = pytest.mark.rule("G7")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "user"))


def left_by_a_window(*recipes: Recipe) -> list[str]:
    window = QueueStore()
    jobs = [window.add(recipe, "Import") for recipe in recipes]
    for job in jobs:
        window.mark(job.id, "running")
        window.log(job.id, "half is done")
    window.close()
    return [job.id for job in jobs]


def test_an_empty_queue(run: Run) -> None:
    assert run("jobs").out == "No job is unfinished.\n"
    assert run("jobs", "list", "--json").document == {"jobs": []}


def test_jobs_are_listed_resumed_and_removed(tmp_path: Path, run: Run) -> None:
    source = str(write_waves(tmp_path / "a.nc"))
    good, bad = left_by_a_window(Recipe((source,), str(tmp_path / "d")), Recipe(("/none.nc",), str(tmp_path / "e")))
    listed = run("jobs", "--json").document["jobs"]
    assert [(j["id"], j["state"], j["recipe"]["target"]) for j in listed] \
        == [(good, "interrupted", str(tmp_path / "d")), (bad, "interrupted", str(tmp_path / "e"))]
    assert good in run("jobs").out
    log = run("jobs", "log", good).out.splitlines()
    assert log == [f"$ mdstudio import {source} {tmp_path / 'd'}", "half is done"]
    made = run("jobs", "resume", good, "--json", "--quiet")
    assert (made.status, made.lines[-1]["summary"]["timesteps"]) == (0, 6)
    failed = run("jobs", "resume", bad, "--quiet")
    assert failed.status == 10
    (kept,) = run("jobs", "--json").document["jobs"]
    assert (kept["id"], kept["state"]) == (bad, "failed")
    assert "none.nc" in kept["message"]
    assert "none.nc" in run("jobs", "log", bad, "--json").document["log"][-1]
    assert run("jobs", "remove", bad, "--json").document == {"removed": bad}
    assert run("jobs", "--json").document == {"jobs": []}


def test_a_job_that_runs_elsewhere_or_is_not_there_is_refused(run: Run) -> None:
    window = QueueStore()
    job = window.add(Recipe(("/a.nc",), "/d"), "Import")
    for action in ("resume", "remove"):
        refused = run("jobs", action, job.id)
        assert (refused.status, refused.out) == (2, "")
        assert "is waiting in another window" in refused.err
    window.close()
    for action in ("resume", "remove", "log"):
        refused = run("jobs", action, "nope")
        assert refused.status == 10
        assert job.id in refused.err
    assert run("jobs", "resume").status == 2
    assert run("jobs", "list", job.id).status == 2
