"""Holding a place in Azure: a lease that a thread renews, that ends with its job, and whose loss is noticed."""
# ruff: noqa: PT012 - what raises is the end of the block

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from azure.storage.blob import BlobLeaseClient, ContainerClient

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import AccessError, AlreadyExistsError, BlobChangedError, MdError
from mdstudio.engine.requests import MapRequest
from mdstudio.engine.storage import azure_claim, open_storage
from mdstudio.engine.storage.azure import AzureStorage
from tests.azurite import ACCOUNT, Azurite
from tests.engine.made_datasets import item_storage, same_bits, smooth, write
from tests.faults.proxy import BUSY, LOST, FaultyProxy, faulty_proxy

pytestmark = [pytest.mark.azure, pytest.mark.rule("D15")]

LOCK = "place/dataset.lock"


class Clock:
    """Seconds that pass only by `sleep`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def container(azurite: Azurite, monkeypatch: pytest.MonkeyPatch) -> Iterator[ContainerClient]:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
    with ContainerClient.from_connection_string(azurite.connection_string, azurite.new_container()) as client:
        yield client


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def place(container: ContainerClient, clock: Clock) -> Callable[[], AzureStorage]:
    """Storages of one place, each as another job has it."""

    def opened() -> AzureStorage:
        storage = open_storage(f"az://{ACCOUNT}/{container.container_name}/place")
        assert isinstance(storage, AzureStorage)
        storage._clock, storage._sleep = clock, clock.sleep
        return storage

    return opened


def free(container: ContainerClient) -> None:
    """End the lease whoever has it, as its 60 seconds do."""
    BlobLeaseClient(container.get_blob_client(LOCK)).break_lease(0)


def test_a_killed_job_holds_nobody_up_when_its_lease_has_ended(
    container: ContainerClient, place: Callable[[], AzureStorage], clock: Clock
) -> None:
    dead = place().claimed()
    dead.__enter__()
    before = clock.now
    with pytest.raises(BlobChangedError, match="Another job"), place().claimed(75):
        pytest.fail("two jobs hold one place")
    assert clock.now - before == pytest.approx(75, abs=0.2)
    properties = container.get_blob_client(LOCK).get_blob_properties()
    assert (properties.lease.duration, properties.size) == ("fixed", 0)
    free(container)
    with place().claimed():
        pass
    assert not container.get_blob_client(LOCK).exists(), "the job left its lock"
    with pytest.raises(BlobChangedError):
        dead.__exit__(None, None, None)


@pytest.mark.long
def test_the_lease_of_a_killed_job_ends_by_itself_after_a_minute(container: ContainerClient) -> None:
    storage = open_storage(f"az://{ACCOUNT}/{container.container_name}/place")
    assert isinstance(storage, AzureStorage)
    claim = azure_claim.Claim(container.get_blob_client(LOCK), "", time.sleep, time.monotonic)
    claim._acquired()  # and no thread that renews it
    started = time.monotonic()
    with storage.claimed(75):
        assert 55 < time.monotonic() - started < 65


@pytest.mark.parametrize("taken", ["held", "given back"])
def test_a_job_that_lost_its_place_writes_nothing_more(
    container: ContainerClient, place: Callable[[], AzureStorage], clock: Clock, taken: str
) -> None:
    late, other = place(), place()
    with pytest.raises(BlobChangedError, match="took over"), late.claimed():
        late.write("before", b"x")
        free(container)
        with other.claimed():
            if taken == "held":
                clock.now += 61  # it was held up
                _expect_refusals(late)
        clock.now += 61
        _expect_refusals(late)
        other.write("before", b"y")
    assert late.read("before").data == b"y"
    assert [blob.name for blob in late.list_blobs()] == ["before"]
    late.write("after", b"z")  # without a claim there is none to lose


def _expect_refusals(storage: AzureStorage) -> None:
    for call in (
        lambda: storage.write("a", b"x"),
        lambda: storage.stage_block("a", "1", b"x"),
        lambda: storage.commit_blocks("a", []),
        lambda: storage.delete("before"),
        lambda: storage.copy_from(storage, "before", "a"),
        lambda: storage.child("in").write("a", b"x"),
    ):
        with pytest.raises(BlobChangedError, match="took over"):
            call()


def test_the_end_of_a_job_tells_that_its_place_was_lost(
    container: ContainerClient, place: Callable[[], AzureStorage], clock: Clock
) -> None:
    with pytest.raises(BlobChangedError, match="took over"), place().claimed():
        free(container)
        clock.now += 61
    with pytest.raises(AccessError, match="its own"), place().claimed():
        free(container)
        clock.now += 61
        raise AccessError("its own error")


def test_a_job_that_was_held_up_goes_on_where_nobody_took_its_place(
    container: ContainerClient, place: Callable[[], AzureStorage], clock: Clock
) -> None:
    with place().claimed() as _:
        clock.now += 1000
        storage = place()
        storage.write("a", b"x")
        with pytest.raises(BlobChangedError), storage.claimed():
            pass


def test_a_place_beside_is_not_missed(place: Callable[[], AzureStorage], container: ContainerClient) -> None:
    storage = place()
    beside = AzureStorage(storage._client, "place-beside", "beside")
    beside._claims = storage._claims
    with pytest.raises(BlobChangedError), storage.claimed():
        storage._claims[0]._lost = True
        beside.write("a", b"x")
        storage.write("a", b"x")
    free(container)


def test_the_lease_is_renewed_while_the_job_runs_and_a_renewal_without_an_answer_is_no_loss(
    azurite: Azurite, container: ContainerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(azure_claim, "RENEW_SECONDS", 0.02)
    with _through_a_proxy(azurite, container, monkeypatch) as (storage, proxy):
        proxy.break_next("comp=lease", "", BUSY, LOST, "", BUSY)
        with storage.claimed():
            deadline = time.monotonic() + 30
            while len(proxy.seen) < 8 and time.monotonic() < deadline:
                time.sleep(0.01)
            assert len(proxy.seen) >= 8
            storage.write("a", b"x")


def test_the_thread_that_renews_finds_out_that_the_lease_is_lost(
    container: ContainerClient, place: Callable[[], AzureStorage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(azure_claim, "RENEW_SECONDS", 0.02)
    storage = place()
    with pytest.raises(BlobChangedError, match="took over"), storage.claimed():
        free(container)
        deadline = time.monotonic() + 30
        while not storage._claims[0]._lost and time.monotonic() < deadline:
            time.sleep(0.01)
        storage.write("a", b"x")
    assert not storage.exists("a")


@pytest.mark.parametrize("fault", [LOST, BUSY])
@pytest.mark.parametrize("match", ["dataset.lock", "comp=lease", "DELETE"])
def test_lost_answers_do_not_keep_a_job_from_its_own_place(
    azurite: Azurite, container: ContainerClient, monkeypatch: pytest.MonkeyPatch, match: str, fault: str
) -> None:
    with _through_a_proxy(azurite, container, monkeypatch) as (storage, proxy):
        proxy.break_next(match, fault, fault)
        with storage.claimed():
            storage.write("a", b"x")
        assert len(proxy.seen) >= 3
        with storage.claimed():
            pass
    assert not container.get_blob_client(LOCK).exists()


@contextlib.contextmanager
def _through_a_proxy(
    azurite: Azurite, container: ContainerClient, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[AzureStorage, FaultyProxy]]:
    with faulty_proxy(azurite.port) as (proxy, connection):
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection)
        storage = open_storage(f"az://{ACCOUNT}/{container.container_name}/place")
        assert isinstance(storage, AzureStorage)
        storage._sleep = lambda seconds: None
        yield storage, proxy


def test_a_signature_that_may_not_delete_leaves_the_empty_lock_free_and_one_that_may_not_write_gets_no_place(
    azurite: Azurite, container: ContainerClient
) -> None:
    def signed(permission: str) -> Any:
        name = str(container.container_name)
        return open_storage(f"{azurite.endpoint}/{name}/place?{azurite.container_sas(name, permission)}")

    for _ in range(2):
        with signed("rcwl").claimed():
            pass
    assert container.get_blob_client(LOCK).exists()
    with pytest.raises(AccessError), signed("rl").claimed():
        pass


# Imports


STORAGE_TYPES = ("SingleTimestep", "MultiTimestep", "TimeSeries")


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_of_two_imports_of_one_place_one_makes_the_dataset_and_the_other_touches_nothing(
    container: ContainerClient, place: Callable[[], AzureStorage], storage_type: Any, same: bool
) -> None:
    values = [smooth(4, 1, 20, 40), smooth(4, 1, 20, 40, seed=0 if same else 1)]
    start = threading.Barrier(2)
    ended: list[MdError | None] = [None, None]

    def job(number: int) -> None:
        storage = place()
        start.wait()
        try:
            write(storage, {"v": values[number]}, item_storage(storage_type))
        except MdError as error:
            ended[number] = error

    threads = [threading.Thread(target=job, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended.count(None) == 1, ended
    winner = ended.index(None)
    loser = ended[1 - winner]
    assert isinstance(loser, BlobChangedError | AlreadyExistsError)
    dataset = Dataset.open(place())
    found = np.stack([dataset.map(MapRequest("v", time)).stored for time in range(4)])
    assert same_bits(found, np.ascontiguousarray(values[winner][:, 0]))
    listed = {blob.name for blob in place().list_blobs()}
    write(AzureStorage(place()._client, "alone", "alone"), {"v": values[winner]}, item_storage(storage_type))
    assert listed == {blob.name.removeprefix("alone/") for blob in container.list_blobs("alone/")}
