"""Two jobs at once: one waits for the other and looks again; where nothing keeps them apart no data is lost (D15)."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mdstudio.engine.errors import BlobChangedError, Cancelled, MdError, NotFoundError, UnsupportedError, UsageError
from mdstudio.engine.model import Array
from mdstudio.engine.operations.append import append_times
from mdstudio.engine.operations.mesh_update import update_mesh
from mdstudio.engine.operations.remove import remove_times
from mdstudio.engine.progress import Progress
from mdstudio.engine.storage import FolderStorage
from tests.engine.made_datasets import (
    HOUR,
    Arrays,
    Watched,
    item_storage,
    kind_of,
    make_kind,
)
from tests.engine.operations.growing import (
    TYPES,
    append,
    environ,
    grown,
    holds,
    made_values,
    part,
    reader_of,
    replace_all,
    update,
)

VALUES = made_values()
ALL = range(9)


def in_the_middle(storage: Watched, at: int, other: Callable[[], object]) -> None:
    def before(call: str, name: str, number: int) -> None:
        if number == at:
            other()

    storage.before = before


@pytest.mark.rule("W2", "P14", "D15")
@pytest.mark.parametrize("storage_type", TYPES)
@pytest.mark.parametrize("twin", [True, False])
def test_two_appends_that_nothing_keeps_apart_never_list_what_they_did_not_write(
    tmp_path: Path, storage_type: Any, twin: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other runs from start to end at some call of the first, in a storage that cannot be claimed."""
    monkeypatch.setattr(FolderStorage, "claimed", lambda *_: contextlib.nullcontext())
    kept = item_storage(storage_type, fixed_step=False)
    number, both = -3, 0
    while True:
        number += 7
        folder = tmp_path / str(number)
        storage = Watched(grown(folder, VALUES, kept))
        others = range(4, 6) if twin else range(6, 8)
        done: list[range] = []

        def run(target: Any, times: range, done: list[range] = done) -> None:
            with contextlib.suppress(BlobChangedError, UsageError):
                append(target, VALUES, times)
                done.append(times)

        in_the_middle(storage, number, lambda run=run, folder=folder, others=others: run(  # type: ignore[misc]
            FolderStorage(folder), others))
        run(storage, range(4, 6))
        listed = sorted({*range(4), *(t for times in done for t in times)})
        assert holds(folder, VALUES, listed)
        both += len(done) == 2
        if len(storage.calls) < number:
            break
    assert both or twin or storage_type != "SingleTimestep"
    for times in (range(4, 6), others):
        with contextlib.suppress(UsageError):
            append(FolderStorage(folder), VALUES, times)


def _appends(folder: str, times: range, claiming: Any, reading: Any, go: Any, outcome: Any) -> None:
    """A process of its own: says when it asks for the claim, and reads its first values when it is told to."""

    class Says(FolderStorage):
        def claimed(self, *arguments: Any) -> Any:
            claiming.set()
            return super().claimed(*arguments)

    class Waits(Arrays):
        def read(self, *where: Any) -> Array:
            reading.set()
            go.wait(60)
            return super().read(*where)

    try:
        append_times(Says(folder), part(VALUES, times), Waits(reader_of(VALUES, times).values), {}, Progress(),
                     environ())
        outcome.put("done")
    except MdError as error:
        outcome.put(type(error).__name__)


@pytest.mark.rule("W2", "D15")
@pytest.mark.parametrize("storage_type", TYPES)
@pytest.mark.parametrize("twin", [True, False])
def test_of_two_processes_that_append_the_second_waits_for_the_first(
    tmp_path: Path, storage_type: Any, twin: bool
) -> None:
    """Other times: both are in. The same times: the second changes nothing."""
    grown(tmp_path, VALUES, item_storage(storage_type))
    context = multiprocessing.get_context("spawn")
    outcome = context.Queue()
    jobs = []
    second = range(4, 6) if twin else range(6, 9)
    for times in (range(4, 6), second):
        claiming, reading, go = (context.Event() for _ in range(3))
        process = context.Process(target=_appends, args=(str(tmp_path), times, claiming, reading, go, outcome))
        process.start()
        assert (claiming if jobs else reading).wait(60)
        jobs.append((process, go))
    for _, go in jobs:
        go.set()
    found = sorted(outcome.get(timeout=60) for _ in jobs)
    for process, _ in jobs:
        process.join(60)
    assert found == (["BlobChangedError", "done"] if twin else ["done", "done"])
    assert holds(tmp_path, VALUES, range(6) if twin else ALL)


@pytest.mark.rule("W2")
def test_one_that_waits_can_be_cancelled(tmp_path: Path) -> None:
    storage = grown(tmp_path, VALUES, item_storage("MultiTimestep"))
    progress = Progress()
    with FolderStorage(tmp_path).claimed():
        timer = threading.Timer(0.3, progress.cancel)
        timer.start()
        with pytest.raises(Cancelled):
            append(storage, VALUES, range(4, 9), progress=progress)
    assert holds(storage, VALUES, range(4))


class After(FolderStorage):
    """A folder whose place another job held until now."""

    def __init__(self, folder: Path, other: Callable[[], object]) -> None:
        super().__init__(folder)
        self._other = other

    @contextlib.contextmanager
    def claimed(self, *arguments: Any) -> Iterator[None]:
        self._other()
        with super().claimed(*arguments):
            yield


@pytest.mark.rule("W2", "D7", "D15")
@pytest.mark.parametrize("storage_type", TYPES)
def test_an_append_that_waited_is_refused_where_later_times_are_in_by_now(tmp_path: Path, storage_type: Any) -> None:
    storage = grown(tmp_path, VALUES, item_storage(storage_type))
    with pytest.raises(UsageError, match="lies before the last one"):
        append(After(tmp_path, lambda: append(storage, VALUES, range(6, 8))), VALUES, range(4, 6))
    assert holds(tmp_path, VALUES, [*range(4), 6, 7])


@pytest.mark.rule("W2", "D15")
def test_an_update_that_waited_writes_to_the_places_that_its_times_have_by_now(tmp_path: Path) -> None:
    storage = grown(tmp_path, VALUES, item_storage("SingleTimestep"))
    new = made_values(seed=5)

    def without(time: int) -> None:
        remove_times(storage, [time * HOUR])

    update(After(tmp_path, lambda: without(0)), new, [2, 3])
    assert holds(tmp_path, VALUES, [1], [1, 2, 3])
    assert holds(tmp_path, new, [2, 3], [1, 2, 3])
    with pytest.raises(NotFoundError, match="is not in the dataset"):
        update(After(tmp_path, lambda: without(2)), VALUES, [2, 3])
    assert holds(tmp_path, new, [3], [1, 3])


@pytest.mark.rule("V13", "D15")
def test_a_mesh_update_that_waited_is_refused_for_the_dataset_that_is_there_by_now(tmp_path: Path) -> None:
    made = kind_of("mesh")
    make_kind(tmp_path, made, "MultiTimestep")
    storage = FolderStorage(tmp_path)
    other = After(tmp_path, lambda: replace_all(storage, VALUES, range(3), item_storage("MultiTimestep")))
    with pytest.raises(UnsupportedError, match="is a grid"):
        update_mesh(other, made.mesh)
    assert holds(tmp_path, VALUES, range(3))


@pytest.mark.rule("W2", "P13", "P14", "T4")
@pytest.mark.parametrize("storage_type", TYPES)
def test_what_another_job_lists_before_the_blobs_are_looked_at_is_not_written_over(
    tmp_path: Path, storage_type: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a storage that cannot be claimed."""
    monkeypatch.setattr(FolderStorage, "claimed", lambda *_: contextlib.nullcontext())
    grown(tmp_path, VALUES, item_storage(storage_type))
    storage, done = Watched(FolderStorage(tmp_path)), []

    def before(call: str, name: str, number: int) -> None:
        if call == "list_blobs" and not done:
            done.append(name)
            append(FolderStorage(tmp_path), VALUES, range(6, 8))

    storage.before = before
    with pytest.raises(BlobChangedError, match="in between"):
        append(storage, VALUES, range(4, 6))
    assert holds(tmp_path, VALUES, [*range(4), 6, 7])


@pytest.mark.rule("W2", "D15")
@pytest.mark.parametrize(("removed", "told"), [(0, False), (3, True)])
def test_an_update_of_times_that_another_job_removes_meanwhile_is_told(
    tmp_path: Path, removed: int, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a storage that cannot be claimed; times that are not updated may go."""
    monkeypatch.setattr(FolderStorage, "claimed", lambda *_: contextlib.nullcontext())
    grown(tmp_path, VALUES, item_storage("SingleTimestep"))
    storage, new, done = Watched(FolderStorage(tmp_path)), made_values(seed=5), []

    def before(call: str, name: str, number: int) -> None:
        written = any(made == "write" for made, _ in storage.calls)
        if written and (call, name) == ("read", "dataset.json") and not done:  # all blobs are written, not yet listed
            done.append(name)
            remove_times(FolderStorage(tmp_path), [removed * HOUR])

    storage.before = before
    with pytest.raises(BlobChangedError, match="changed the times") if told else contextlib.nullcontext():
        update(storage, new, [2, 3])
    left = [time for time in range(4) if time != removed]
    assert holds(tmp_path, VALUES, [1], left)
    assert holds(tmp_path, new, [time for time in (2, 3) if time != removed], left)
