"""Azure beyond the conformance suite: lost answers, overload, folders of hierarchical accounts, rights, secrets."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mdstudio.engine.errors import (
    AccessError,
    BlobChangedError,
    CommitUncertainError,
    MdError,
    NotFoundError,
    StorageError,
    UsageError,
)
from mdstudio.engine.storage import MUST_NOT_EXIST, CountingStorage, azure_locations, checks, open_storage
from mdstudio.engine.storage.azure import AzureStorage
from mdstudio.engine.storage.azure_sending import PAUSES
from tests.azurite import ACCOUNT, KEY, Azurite
from tests.engine.storage.conformance import commit
from tests.faults.proxy import BUSY, CUT, LOST, RESET, SHORT, STALL, Answer, FaultyProxy, faulty_proxy

pytestmark = pytest.mark.azure


@pytest.fixture
def container(azurite: Azurite) -> str:
    return azurite.new_container()


@pytest.fixture
def storage(azurite: Azurite, container: str, monkeypatch: pytest.MonkeyPatch) -> AzureStorage:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
    return azure(f"az://{ACCOUNT}/{container}")


def azure(location: str) -> AzureStorage:
    opened = open_storage(location)
    assert isinstance(opened, AzureStorage)
    return opened


@pytest.fixture
def waited() -> list[float]:
    return []


@pytest.fixture
def broken(
    azurite: Azurite, container: str, waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[AzureStorage, FaultyProxy]]:
    """A storage behind a faulty network, whose waits are noted, not waited for."""
    with faulty_proxy(azurite.port) as (proxy, connection):
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection)
        storage = azure(f"az://{ACCOUNT}/{container}")
        storage._sleep = waited.append
        yield storage, proxy


# Answers that are lost


@pytest.mark.rule("P15")
@pytest.mark.parametrize("fault", [LOST, BUSY])
@pytest.mark.parametrize("fresh", [True, False])
def test_a_commit_without_an_answer_is_sent_once_and_told(
    broken: tuple[AzureStorage, FaultyProxy], waited: list[float], fault: str, fresh: bool
) -> None:
    storage, proxy = broken
    condition = {"if_none_match": MUST_NOT_EXIST} if fresh else {"if_match": commit(storage, "g", {"0": b"zero"})}
    storage.stage_block("g", "1", b"one")
    proxy.break_next("comp=blocklist", fault)
    with pytest.raises(CommitUncertainError) as caught:
        storage.commit_blocks("g", ["1"], **condition)
    assert caught.value.where.endswith("/g")
    assert len(proxy.seen) == 1, "the commit was sent again"
    assert waited == []
    # The layout reads the list: it is the commit's where the answer was lost, and the base where the service was busy.
    if fault == LOST:
        assert [block.id for block in storage.block_list("g").blocks] == ["1"]
    else:
        storage.commit_blocks("g", ["1"], **condition)  # an unchanged base is sent again, with the same staged blocks
    assert storage.read("g").data == b"one"


@pytest.mark.rule("P15")
def test_a_conditional_write_or_delete_without_an_answer_is_sent_once(
    broken: tuple[AzureStorage, FaultyProxy],
) -> None:
    storage, proxy = broken
    version = storage.write("w", b"old")
    proxy.break_next("PUT", LOST)
    with pytest.raises(CommitUncertainError):
        storage.write("w", b"new", if_match=version)
    assert len(proxy.seen) == 1
    assert storage.read("w").data == b"new"
    proxy.break_next("DELETE", LOST)
    with pytest.raises(CommitUncertainError):
        storage.delete("w")
    assert len(proxy.seen) == 1
    assert not storage.exists("w")


@pytest.mark.parametrize("fault", [LOST, BUSY])
@pytest.mark.parametrize(
    ("match", "call"),
    [
        ("PUT", lambda storage: storage.write("w", b"one")),
        ("PUT", lambda storage: storage.stage_block("g", "1", b"one")),
        ("HEAD", lambda storage: storage.properties("w")),
        ("GET", lambda storage: storage.read("w")),
        ("GET", lambda storage: storage.read_range("w", 1, 2)),
        ("GET", lambda storage: storage.block_list("b")),
        ("GET", lambda storage: list(storage.list_blobs())),
        ("GET", lambda storage: storage.list_folders()),
    ],
)
def test_what_may_be_repeated_is_tried_again(
    broken: tuple[AzureStorage, FaultyProxy],
    waited: list[float],
    fault: str,
    match: str,
    call: Callable[[AzureStorage], object],
) -> None:
    storage, proxy = broken
    storage.write("w", b"one")
    commit(storage, "b", {"1": b"one"})
    proxy.break_next(match, fault, fault)
    call(storage)
    assert len(proxy.seen) == 3
    assert waited == list(PAUSES[:2])


def test_a_service_that_stays_busy_is_an_error_in_the_end(
    broken: tuple[AzureStorage, FaultyProxy], waited: list[float]
) -> None:
    storage, proxy = broken
    proxy.break_next("HEAD", *[BUSY] * 20)
    with pytest.raises(StorageError, match="503") as caught:
        storage.properties("w")
    assert not isinstance(caught.value, CommitUncertainError)
    assert waited == list(PAUSES)


@pytest.mark.parametrize("fault", [CUT, SHORT])
def test_half_an_answer_is_never_taken_for_the_blob(broken: tuple[AzureStorage, FaultyProxy], fault: str) -> None:
    storage, proxy = broken
    data = bytes(range(256)) * 1000
    storage.write("w", data)
    proxy.break_next("GET", fault)
    assert storage.read("w").data == data
    proxy.break_next("GET", fault)
    assert storage.read_range("w", 0, 200_000).data == data[:200_000]
    assert len(proxy.seen) == 2


@pytest.mark.parametrize(("status", "code"), [(500, "InternalError"), (503, "ServerBusy"), (429, "TooManyRequests"),
                                              (408, "RequestTimeout"), (502, ""), (504, "")])
def test_the_service_says_how_long_to_wait(
    broken: tuple[AzureStorage, FaultyProxy], waited: list[float], status: int, code: str
) -> None:
    storage, proxy = broken
    storage.write("w", b"one")
    for seconds, pause in (("7", 7.0), ("0", 0.5), ("1e9", 60.0), ("-1", 0.5), ("Mon, 30 Nov 2026 21:00:00 GMT", 0.5)):
        waited.clear()
        proxy.break_next("GET", Answer(status, code, (("Retry-After", seconds),)))
        assert storage.read("w").data == b"one"
        assert waited == [pause]


@pytest.mark.rule("P15")
def test_a_busy_service_is_given_its_time_before_a_commit_is_called_uncertain(
    broken: tuple[AzureStorage, FaultyProxy], waited: list[float]
) -> None:
    storage, proxy = broken
    storage.stage_block("g", "1", b"one")
    proxy.break_next("comp=blocklist", Answer(503, "ServerBusy", (("Retry-After", "3"),)))
    with pytest.raises(CommitUncertainError):
        storage.commit_blocks("g", ["1"])
    assert (waited, len(proxy.seen)) == ([3.0], 1)


def test_a_connection_that_is_reset_or_falls_silent_is_tried_again(
    broken: tuple[AzureStorage, FaultyProxy], waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, proxy = broken
    data = bytes(range(256)) * 100
    storage.write("w", data)
    proxy.break_next("GET", RESET, RESET)
    assert storage.read("w").data == data
    assert waited == list(PAUSES[:2])
    quick = azure_locations._OPTIONS | {"read_timeout": 0.3}
    monkeypatch.setattr(azure_locations, "_OPTIONS", quick)
    impatient = azure(storage.location)
    impatient._sleep = waited.append
    proxy.break_next("GET", STALL)
    assert impatient.read("w").data == data
    proxy.break_next("comp=blocklist", RESET)
    storage.stage_block("g", "1", b"one")
    with pytest.raises(CommitUncertainError):
        storage.commit_blocks("g", ["1"])
    assert len(proxy.seen) == 1


@pytest.mark.rule("P16")
def test_all_pieces_of_a_large_read_are_of_one_version(storage: AzureStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    large = bytes(5000)
    version = storage.write("w", large)
    monkeypatch.setattr(storage._client._config, "max_single_get_size", 1000)
    monkeypatch.setattr(storage._client._config, "max_chunk_get_size", 1000)
    asked: list[str] = []

    def rewrite(request: Any) -> None:
        asked.append(str(request.http_request.headers.get("If-Match")))
        if len(asked) == 3:
            azure(storage.location).write("w", bytes(5000).replace(b"\0", b"x"))

    blob = storage._blob("w")
    with pytest.raises(Exception, match=r"ConditionNotMet|condition"):
        blob.download_blob(raw_request_hook=rewrite).readall()
    assert asked[1:] == [f'"{version}"'] * (len(asked) - 1)
    with pytest.raises(BlobChangedError):
        storage.read("w", version=version)


def test_the_engine_refuses_what_the_service_would_refuse_and_the_emulator_takes(
    broken: tuple[AzureStorage, FaultyProxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, proxy = broken
    version = commit(storage, "g", {"1": b"one"})
    proxy.break_next("")  # sees every request
    monkeypatch.setattr(checks, "MAX_BLOCK_BYTES", 10)
    monkeypatch.setattr(checks, "MAX_WHOLE_BYTES", 10)
    for call in (
        lambda: storage.commit_blocks("g", ["1"] * 50_001),
        lambda: storage.commit_blocks("g", ["1", "22"]),
        lambda: storage.commit_blocks("g", [""]),
        lambda: storage.commit_blocks("g", ["x" * 65]),
        lambda: storage.stage_block("g", "2", b""),
        lambda: storage.stage_block("g", "2", bytes(11)),
        lambda: storage.stage_block("g", "x" * 65, b"x"),
        lambda: storage.stage_block("g", "ü" * 33, b"x"),
        lambda: storage.write("g", bytes(11)),
        lambda: storage.read_range("g", -3, 3),
    ):
        with pytest.raises(UsageError):
            call()
    assert proxy.seen == [], "the service was asked"
    assert storage.properties("g").version == version
    monkeypatch.undo()
    assert checks.MAX_BLOCK_BYTES == 4_000 * 1024 * 1024


def test_a_service_that_is_not_there_is_told(waited: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", Azurite(1).connection_string)
    storage = azure(f"az://{ACCOUNT}/container")
    storage._sleep = waited.append
    for call in (lambda: storage.read("a"), lambda: storage.commit_blocks("a", [])):
        with pytest.raises(StorageError, match="cannot be reached") as caught:
            call()
        assert not isinstance(caught.value, CommitUncertainError)


# Folders, containers, rights


def test_folders_of_hierarchical_accounts_are_no_blobs(azurite: Azurite, container: str, storage: AzureStorage) -> None:
    from azure.storage.blob import ContainerClient

    with ContainerClient.from_connection_string(azurite.connection_string, container) as client:
        for name in ("a", "a/b", "empty"):
            client.upload_blob(name, b"", metadata={"hdi_isfolder": "true"})
    storage.write("a/b/c", b"x")
    storage.write("a/zero", b"")
    assert [(blob.name, blob.length) for blob in storage.list_blobs()] == [("a/b/c", 1), ("a/zero", 0)]
    assert storage.list_folders() == (["a", "empty"], [])
    folders, blobs = storage.list_folders("a")
    assert (folders, [blob.name for blob in blobs]) == (["b"], ["a/zero"])
    assert not storage.exists("a/b")
    for call in (storage.properties, storage.read, storage.block_list):
        with pytest.raises(NotFoundError):
            call("a/b")


def test_a_listing_goes_on_over_its_pages(storage: AzureStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"f{n}/b" for n in range(7)]
    for name in names:
        storage.write(name, b"x")
    client = storage._client
    list_blobs, walk_blobs = client.list_blobs, client.walk_blobs
    monkeypatch.setattr(client, "list_blobs", lambda *a, **k: list_blobs(*a, results_per_page=3, **k))
    monkeypatch.setattr(client, "walk_blobs", lambda *a, **k: walk_blobs(*a, results_per_page=3, **k))
    assert [blob.name for blob in storage.list_blobs()] == names
    assert storage.list_folders()[0] == [f"f{n}" for n in range(7)]


def test_a_container_that_is_not_there_is_told(storage: AzureStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = azure(f"az://{ACCOUNT}/no-such-container")
    for call in (
        lambda: missing.read("a"),
        lambda: missing.write("a", b"x"),
        lambda: list(missing.list_blobs()),
        missing.list_folders,
    ):
        with pytest.raises(NotFoundError, match="container"):
            call()


def test_a_signature_that_does_not_allow_it_is_an_access_error(azurite: Azurite, storage: AzureStorage) -> None:
    storage.write("a", b"x")
    container = storage.location.rpartition("/")[2]
    readable = azure(f"{azurite.endpoint}/{container}?{azurite.container_sas(container, 'r')}")
    assert readable.read("a").data == b"x"
    expired = azure(f"{azurite.endpoint}/{container}?{azurite.container_sas(container, hours=-1)}")
    for call in (
        lambda: readable.write("a", b"y"),
        lambda: readable.stage_block("a", "1", b"y"),
        lambda: list(readable.list_blobs()),
        lambda: expired.read("a"),
    ):
        with pytest.raises(AccessError, match="SAS"):
            call()


@pytest.mark.rule("P26")
def test_inside_one_account_the_service_copies(azurite: Azurite, storage: AzureStorage) -> None:
    commit(storage, "a", {"1": b"one", "2": b"two"})
    storage.write("large", bytes(5_000_000))
    other = azure(f"az://{ACCOUNT}/{azurite.new_container()}/x")
    container = storage.location.rpartition("/")[2]
    signed = azure(f"{azurite.endpoint}/{container}?{azurite.container_sas(container)}")
    for source in (CountingStorage(storage), CountingStorage(signed)):
        for name in ("a", "large"):
            version = other.copy_from(source, name)
            assert other.properties(name).version == version
            assert other.block_list(name).blocks == storage.block_list(name).blocks
            other.delete(name)
        assert source.requests == 0
    other.copy_from(storage, "a", "b/c")
    assert other.read("b/c").data == b"onetwo"


def test_a_lease_of_another_program_is_an_access_error(azurite: Azurite, storage: AzureStorage) -> None:
    from azure.storage.blob import BlobClient

    storage.write("a", b"x")
    container = storage.location.rpartition("/")[2]
    with BlobClient.from_connection_string(azurite.connection_string, container, "a") as client:
        lease = client.acquire_lease()
        with pytest.raises(AccessError, match="lease"):
            storage.write("a", b"y")
        lease.break_lease(0)


@pytest.mark.rule("P14")
def test_a_block_that_another_commit_dropped_is_a_changed_blob(storage: AzureStorage) -> None:
    storage.stage_block("g", "1", b"one")
    storage.stage_block("g", "2", b"two")
    storage.commit_blocks("g", ["1"])
    with pytest.raises(BlobChangedError, match="dropped"):
        storage.commit_blocks("g", ["2"])


# Secrets


@pytest.mark.rule("P14")
@pytest.mark.parametrize("put_whole", [True, False])
def test_a_first_commit_in_between_never_lends_its_version_to_the_empty_list_of_before(
    storage: AzureStorage, monkeypatch: pytest.MonkeyPatch, put_whole: bool
) -> None:
    other, properties, versions = azure(storage.location), storage.properties, []
    if put_whole:
        storage.write("g", b"whole")
    else:
        storage.stage_block("g", "b", b"own")

    def after_another_commit(name: str) -> object:
        if not versions:
            other.stage_block("g", "a", b"other")
            versions.append(other.commit_blocks("g", ["a"]))
        return properties(name)

    monkeypatch.setattr(storage, "properties", after_another_commit)
    found = storage.block_list("g")
    assert [block.id for block in found.blocks] == ["a"]
    assert [found.version] == versions


def failures(storage: AzureStorage) -> list[MdError]:
    """Errors of every kind that this storage can be brought to raise."""
    found = []
    for call in (
        lambda: storage.read("none"),
        lambda: storage.write("a", b"x", if_match="0x0"),
        lambda: storage.commit_blocks("g", ["1"]),
        lambda: list(storage.list_blobs()),
        lambda: storage.delete("none"),
    ):
        try:
            call()
        except MdError as error:
            found.append(error)
    return found


@pytest.mark.parametrize("reachable", [True, False])
@pytest.mark.parametrize("kind", ["sas", "bad sas", "key"])
def test_no_secret_is_in_an_error_a_repr_or_a_log(
    azurite: Azurite,
    container: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    kind: str,
    reachable: bool,
) -> None:
    caplog.set_level(logging.DEBUG)
    service = azurite if reachable else Azurite(1)
    sas = azurite.container_sas(container)
    if kind == "bad sas":
        sas = sas.replace("sig=", "sig=SPOILT")
    if kind == "key":
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", service.connection_string)
        storage = azure(f"az://{ACCOUNT}/{container}")
    else:
        storage = azure(f"{service.endpoint}/{container}?{sas}")
    storage._sleep = lambda seconds: None
    errors = failures(storage)
    assert len(errors) >= 3
    signature = sas.partition("sig=")[2].partition("&")[0]
    shown = [caplog.text, repr(storage), str(storage), storage.location, storage.child("a").location]
    shown += [repr(vars(record)) for record in caplog.records]
    for error in errors:
        shown += [str(error), repr(error), repr(error.__dict__), str(pickle.dumps(error))]
        assert error.__context__ is None
        assert error.__cause__ is None
    for text in shown:
        assert signature not in text
        assert KEY not in text
        assert "sig=S" not in text
