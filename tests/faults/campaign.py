"""Campaigns of faults: call n of an operation fails, n = 1, 2, ... until none does any more, in every way.

After each fault whoever reads finds the dataset as it was before or as the operation makes it, and the operation run
again completes, with the very blobs of a run without faults.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from azure.core.exceptions import AzureError
from azure.storage.blob import BlobLeaseClient, ContainerClient

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import BlobChangedError, DamagedDataError, MdError, NotADatasetError, NotFoundError
from mdstudio.engine.model import ItemStorage
from mdstudio.engine.requests import MapRequest
from mdstudio.engine.storage import BlobStorage, FolderStorage
from mdstudio.engine.storage.azure import AzureStorage
from tests.azurite import Azurite
from tests.faults.proxy import OF_HTTP, FaultyProxy, faulty_proxy
from tests.faults.ways import LASTING, OF_STORAGE, FaultyStorage, Plan, Way

Slice = tuple[str, tuple[int, ...], bytes]  # type, shape, values
REFUSED: Slice = ("refused", (), b"")  # a timestep that reads as damaged
GONE: Slice = ("gone", (), b"")  # one of a dataset that must be opened again


@dataclass(frozen=True)
class State:
    """All that a reader sees: what the dataset says of itself, and every slice by item, layer and time."""

    head: tuple[object, ...] = ()
    slices: dict[tuple[str, int, int], Slice] = field(default_factory=dict)


NONE = State()  # no dataset


@dataclass(frozen=True)
class Operation:
    """An operation under test.

    Attributes:
        prepare: makes what is there before.
        run: the operation itself.
        refused_when_done: what it may raise when it is run again after it had completed.
        source, dataset: where below the place the dataset is that is there before, and that it makes or changes.
        by_time: each timestep by itself is the old or the new one, in TimeSeries each cell at each time; a timestep of
            a compressed SingleTimestep whose pair is half written is refused (P18).
        changes: whether a reader sees a difference.
        kept: whether a run again leaves the very same blobs as one without faults (a replace goes on counting).
        leaves_unlisted: a run that ended late may leave blobs that nothing refers to, for `clean`.
        takes_away: it removes what a reader who has the dataset open may still ask for.
        only_reads: it writes nothing to the storage, but a file elsewhere.
        look: what whoever reads finds.
    """

    name: str
    prepare: Callable[[BlobStorage], object]
    run: Callable[[BlobStorage], object]
    refused_when_done: tuple[type[MdError], ...] = ()
    source: str = ""
    dataset: str = ""
    by_time: bool = False
    changes: bool = True
    kept: bool = True
    leaves_unlisted: bool = False
    takes_away: bool = False
    only_reads: bool = False
    look: Callable[[BlobStorage], State] = lambda storage: seen(storage)

    def seen(self, storage: BlobStorage) -> State:
        return self.look(storage.child(self.dataset))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Place:
    """A fresh place: as the operation has it, `faulty`, and as everybody else does; `renewed` for a process that was
    forked, over connections of its own: the answers on those of its parent are the parent's."""

    storage: BlobStorage
    renewed: Callable[[], BlobStorage]
    faulty: BlobStorage
    fail: Callable[[Plan | None], None]
    free: Callable[[], None]
    left: Callable[[], list[str]]


class Ground(Protocol):
    """Where campaigns run."""

    ways: tuple[Way, ...]

    def place(self) -> Place:
        """A new, empty place; that of before is gone."""


class FolderGround:
    """A local folder; the calls of the storage fail."""

    ways = OF_STORAGE

    def __init__(self, root: Path) -> None:
        self._root = root

    def place(self) -> Place:
        shutil.rmtree(self._root, ignore_errors=True)
        storage = FolderStorage(self._root / "place")
        faulty = FaultyStorage(storage)

        def fail(plan: Plan | None) -> None:
            faulty.plan = plan

        def left() -> list[str]:
            return sorted(str(path.relative_to(self._root)) for path in self._root.rglob("*") if path.is_file())

        return Place(storage, lambda: storage, faulty, fail, lambda: None, left)


class AzureGround:
    """A container of the emulator; requests fail on the wire."""

    ways = OF_HTTP

    def __init__(self, container: ContainerClient, through: ContainerClient, proxy: FaultyProxy) -> None:
        self._container, self._through, self._proxy = container, through, proxy
        self._count = 0

    def place(self) -> Place:
        self._count += 1
        prefix = f"place{self._count}"
        storage = AzureStorage(self._container, prefix, f"az://test/{prefix}")
        faulty = AzureStorage(self._through, prefix, f"az://test/{prefix}", sleep=lambda seconds: None)

        def free() -> None:  # as the minute of a lease that nobody renews
            for blob in self._container.list_blobs(f"{prefix}/"):
                if blob.name.endswith("/dataset.lock"):
                    with contextlib.suppress(AzureError):
                        BlobLeaseClient(self._container.get_blob_client(blob.name)).break_lease(0)

        def fail(plan: Plan | None) -> None:
            self._proxy.plan = plan

        def left() -> list[str]:
            found = self._container.list_blobs(f"{prefix}/", include=["uncommittedblobs"])
            return sorted(blob.name.removeprefix(prefix) for blob in found)

        def renewed() -> BlobStorage:
            again = ContainerClient.from_container_url(
                self._container.url, credential=self._container.credential, retry_total=0)
            return AzureStorage(again, prefix, storage.location)

        return Place(storage, renewed, faulty, fail, free, left)


@contextlib.contextmanager
def azure_ground(azurite: Azurite) -> Iterator[AzureGround]:
    """A new container, with and without faults."""
    name = azurite.new_container()
    options = {"retry_total": 0, "connection_timeout": 20, "read_timeout": 60}
    with (
        faulty_proxy(azurite.port) as (proxy, connection),
        ContainerClient.from_connection_string(azurite.connection_string, name, **options) as container,
        ContainerClient.from_connection_string(connection, name, **options) as through,
    ):
        yield AzureGround(container, through, proxy)


def seen(storage: BlobStorage) -> State:
    """All that a reader sees."""
    dataset = opened(storage)
    return NONE if dataset is None else read(dataset)


def opened(storage: BlobStorage) -> Dataset | None:
    """The dataset, of which nothing has been read yet; None where there is none."""
    try:
        dataset = Dataset.open(storage)
    except NotFoundError:
        return None
    except NotADatasetError:
        assert not storage.exists("dataset.json"), "a torn dataset.json"
        return None
    dataset.sleep = lambda seconds: None
    return dataset


def read(dataset: Dataset) -> State:
    """All that a reader of an open dataset sees."""
    metadata = dataset.metadata
    found: dict[tuple[str, int, int], Slice] = {}
    for item in metadata.items:
        for layer in range(len(item.layers or (0,))):
            for time in range(len(metadata.times)):
                request = MapRequest(item.name, time, layer if item.layers else None)
                try:
                    values = dataset.map(request).stored
                    found[item.name, layer, time] = str(values.dtype), values.shape, values.tobytes()
                except DamagedDataError:
                    found[item.name, layer, time] = REFUSED
                except BlobChangedError:
                    found[item.name, layer, time] = GONE
                except MdError as error:
                    found[item.name, layer, time] = "unreadable", (), type(error).__name__.encode()
    head = (metadata.name, tuple(metadata.times.microseconds.tolist()), metadata.storage, tuple(metadata.items),
            metadata.domain_blob)
    return State(head, found)


def is_whole(operation: Operation, found: State, wanted: Expected) -> bool:
    """Whether a reader finds the old dataset or the new one."""
    if found in (wanted.old, wanted.new):
        return True
    if not operation.by_time or found.head not in (wanted.old.head, wanted.new.head):
        return False
    return _is_mixed(found, wanted)


def is_right(operation: Operation, held: State, wanted: Expected) -> bool:
    """Whether who has had the old dataset open all along reads what it held, or is told to open it again where the
    operation takes something away; in an update each timestep as `is_whole` says."""
    if operation.by_time:
        return _is_mixed(held, wanted)
    return all(value == wanted.held.slices[key] or (value == GONE and operation.takes_away)
               for key, value in held.slices.items())


def _is_mixed(found: State, wanted: Expected) -> bool:
    _, _, storage, items, _ = found.head
    assert isinstance(storage, ItemStorage)
    assert isinstance(items, tuple)
    stored_as = {item.name: "SingleTimestep" if item.value_kind == "zlevel" else storage.storage_type for item in items}
    return all(
        _is_old_or_new(stored_as[key[0]], storage, value, wanted.old.slices[key], wanted.new.slices[key])
        for key, value in found.slices.items()
    )


def _is_old_or_new(stored_as: str, storage: ItemStorage, value: Slice, old: Slice, new: Slice) -> bool:
    if value == REFUSED:
        return stored_as == "SingleTimestep" and storage.compression != "None"
    if stored_as != "TimeSeries" or value[1] != old[1]:
        return value in (old, new)
    found, before, after = (np.frombuffer(data, dtype) for dtype, _, data in (value, old, new))
    return bool(((found == before) | (found == after)).all())


@dataclass
class Report:
    """What a campaign did: faults injected by way, and how many of them the operation bore."""

    faults: dict[Way, int] = field(default_factory=dict)
    borne: dict[Way, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return ", ".join(f"{way.name} {count} ({self.borne[way]} borne)" for way, count in self.faults.items())


@dataclass(frozen=True)
class Expected:
    """Before and after, as a run without faults has them; `held` is what who has it open reads before, `left` are all
    blobs and files of after."""

    held: State
    old: State
    new: State
    left: list[str]


def expected(ground: Ground, operation: Operation) -> Expected:
    """Run the operation without faults."""
    place = ground.place()
    operation.prepare(place.storage)
    old = operation.seen(place.storage)
    before = opened(place.storage.child(operation.source))
    held = NONE if before is None else read(before)
    operation.run(place.storage)
    new = operation.seen(place.storage)
    assert (old != new) == operation.changes, "the operation is not what its row says"
    assert REFUSED not in new.slices.values()
    return Expected(held, old, new, place.left())


def campaign(ground: Ground, operation: Operation, *, every: int = 1, ways: tuple[Way, ...] = ()) -> Report:
    """Fail every call in every way, or (`every` > 1) the first and every so-manieth one after it."""
    wanted = expected(ground, operation)
    report = Report()
    for start, way in enumerate(ways or ground.ways):
        report.faults[way] = report.borne[way] = 0
        number = 1 + start % min(every, 3)
        while (borne := fault(ground, operation, wanted, Plan(way, number))) is not None:
            report.faults[way] += 1
            report.borne[way] += borne
            number += every
    return report


def sample(ground: Ground, operation: Operation, turn: int, faults: int) -> Report:
    """Fail some calls, each in another way: other calls and other ways at each `turn`."""
    wanted = expected(ground, operation)
    report = Report()
    for at in range(len(ground.ways)):
        if sum(report.faults.values()) == faults:
            break
        way = ground.ways[(turn + at) % len(ground.ways)]
        plan = Plan(way, 1 + (5 * turn + 3 * at) % 23)
        borne = fault(ground, operation, wanted, plan)
        if borne is None and plan.calls:
            borne = fault(ground, operation, wanted, Plan(way, 1 + plan.number % plan.calls))
        report.faults[way], report.borne[way] = int(borne is not None), int(bool(borne))
    return report


def fault(ground: Ground, operation: Operation, wanted: Expected, plan: Plan) -> bool | None:
    """One fault and what must hold after it; whether the operation bore it, None where there is no such call."""
    place = ground.place()
    operation.prepare(place.storage)
    held = opened(place.storage.child(operation.source))
    place.fail(plan)
    error: MdError | None = None
    try:
        operation.run(place.faulty)
    except MdError as raised:  # anything else is a bug
        error = raised
    finally:
        place.fail(None)
    said = f"{operation.name}: {plan.way.name} {plan.number}: {error!r}"
    if not plan.fired:
        assert error is None, said
        return None
    found = operation.seen(place.storage)
    assert is_whole(operation, found, wanted), f"{said}: torn"
    assert held is None or is_right(operation, read(held), wanted), f"{said}: wrong for who has it open"
    assert error is not None or found == wanted.new, f"{said}: it succeeded without an effect"
    told = isinstance(ground, FolderGround)  # on the wire these are reads, leases and copies too
    if told and plan.way in (Way.LOST_WRITE, Way.CHANGED_AFTER) and error is not None:
        assert plan.way == Way.CHANGED_AFTER, f"{said}: the blob could have told"
        assert "domain-" in error.where, f"{said}: the blob could have told"  # which is written without a condition
    place.free()
    complete(operation, place, wanted, found, said, may_leave=plan.way in (*LASTING, Way.LOST_FEW))
    return error is None


def complete(
    operation: Operation, place: Place, wanted: Expected, found: State, said: str, *, may_leave: bool = False
) -> None:
    """Run the operation again; it must end in what it makes, with nothing left over (`may_leave`: but what a kill or
    an outage may leave, and `clean` removes)."""
    try:
        operation.run(place.storage)
    except operation.refused_when_done:
        assert found == wanted.new, f"{said}: it cannot be run again"
    except MdError as error:
        raise AssertionError(f"{said}: it cannot be run again: {error!r}") from error
    assert operation.seen(place.storage) == wanted.new, f"{said}: run again, it made something else"
    if operation.kept:
        names = (name.replace(".blocks.commit", ".blocks") for name in place.left())  # pending: it counts (P20)
        left = {name for name in names if not name.endswith(("/dataset.lock", "/.import.lock"))}
        more, fewer = left - set(wanted.left), set(wanted.left) - left
        assert not fewer, f"{said}: missing: {sorted(fewer)}"
        assert not more or operation.leaves_unlisted or may_leave, f"{said}: left over: {sorted(more)}"
