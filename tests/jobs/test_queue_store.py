"""The queue on the disk: jobs outlive their owner, each has one, and nothing in it is a secret or lost to a write."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from mdstudio.engine.errors import NotFoundError, UnsupportedVersionError, UsageError
from mdstudio.jobs.queue_store import QueueStore
from mdstudio.jobs.recipe import Recipe

pytestmark = pytest.mark.rule("G7")


def recipe(target: str = "/t/one") -> Recipe:
    return Recipe(("/data/a.nc",), target, {"Compression": "ZstdAuto"}, mode="replace")


def test_a_job_is_interrupted_when_its_owner_is_gone_and_goes_to_one_other(tmp_path: Path) -> None:
    owner, second, third = (QueueStore(tmp_path) for _ in range(3))
    job = owner.add(recipe(), "Import")
    owner.mark(job.id, "running")
    owner.log(job.id, "read \u00e4")
    assert [j.state for j in second.jobs()] == ["running"]
    with pytest.raises(UsageError, match="is running in another window"):
        second.take(job.id)
    assert second.busy_elsewhere("/t/x/../one")
    assert not owner.busy_elsewhere("/t/one")
    owner.close()
    (left,) = second.jobs()
    assert (left.state, left.recipe) == ("interrupted", recipe())
    assert second.take(job.id).state == "waiting"
    with pytest.raises(UsageError, match="is waiting in another window"):
        third.take(job.id)
    assert third.log_lines(job.id) == ["read \u00e4"]
    second.remove(job.id)
    assert (third.jobs(), third.log_lines(job.id)) == ([], [])
    with pytest.raises(NotFoundError, match=f"no job '{job.id}'.*The queue is empty"):
        third.find(job.id)
    second.close()
    third.close()
    assert [p.name for p in tmp_path.glob("*.owner")] == []


def test_owners_that_write_at_once_lose_no_job(tmp_path: Path) -> None:
    stores = [QueueStore(tmp_path) for _ in range(4)]

    def write(store: QueueStore) -> None:
        for number in range(8):
            job = store.add(recipe(f"/t/{store.owner}/{number}"), "Import")
            store.mark(job.id, "running") if number % 2 else store.remove(job.id)

    threads = [threading.Thread(target=write, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(j.recipe.target for j in stores[0].jobs()) \
        == sorted(f"/t/{store.owner}/{number}" for store in stores for number in (1, 3, 5, 7))
    for store in stores:
        store.close()


def test_no_secret_is_stored(tmp_path: Path) -> None:
    store = QueueStore(tmp_path)
    store.add(recipe("https://a.blob.core.windows.net/c/d?sig=SECRET"), "Import")
    assert "SECRET" not in store.path.read_text()
    assert store.jobs()[0].recipe.target == "https://a.blob.core.windows.net/c/d"
    store.close()


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"version": 1, "jobs": [{}]}', '{"version": 1, "jobs": [1]}',
                                  '{"version": 1, "jobs": 1}', "\u00ff", "null"])
def test_a_file_that_is_no_queue_is_put_aside(text: str, tmp_path: Path) -> None:
    store = QueueStore(tmp_path)
    store.path.write_text(text, "latin-1")
    assert store.jobs() == []
    assert store.path.with_name("queue.json.damaged").read_text("latin-1") == text
    store.add(recipe(), "Import")
    assert len(store.jobs()) == 1
    store.close()


def test_a_queue_of_a_newer_version_is_left_as_it_is(tmp_path: Path) -> None:
    store = QueueStore(tmp_path)
    text = json.dumps({"version": 2, "jobs": {}})
    store.path.write_text(text)
    for use in (store.jobs, lambda: store.add(recipe(), "Import"), lambda: store.remove("x")):
        with pytest.raises(UnsupportedVersionError, match="newer version"):
            use()
    assert store.path.read_text() == text
    store.close()
