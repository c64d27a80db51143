"""No secret is in an error, a log, a repr or a recipe: marked ones, every class of error that Azure can bring about."""

from __future__ import annotations

import base64
import logging
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from mdstudio.engine.errors import MdError
from mdstudio.engine.storage import FolderStorage, open_storage, redact
from mdstudio.engine.storage.azure import AzureStorage
from mdstudio.jobs.recipe import Recipe
from tests.azurite import ACCOUNT
from tests.faults.proxy import CUT, LOST, RESET, Answer, Fault, faulty_proxy

MARK = "Sup3rS3cretMark"
KEY = base64.b64encode(MARK.encode() * 3).decode()
SIGNATURE = f"sv=2024-01-01&se=2030-01-01&sp=racwdl&sig={MARK}%2Bmore%3D"

FAULTS: list[Fault] = [
    RESET, LOST, CUT,
    *(Answer(status, code) for status, code in (
        (400, "InvalidBlockList"), (400, "InvalidBlobOrBlock"), (400, "InvalidHeaderValue"), (401, "NoAuthentication"),
        (403, "AuthorizationFailure"), (403, ""), (404, "ContainerNotFound"), (404, "BlobNotFound"), (405, ""),
        (409, "BlobAlreadyExists"), (409, "LeaseAlreadyPresent"), (409, "SnapshotsPresent"), (412, "ConditionNotMet"),
        (412, "LeaseIdMissing"), (416, "InvalidRange"), (429, ""), (500, "InternalError"), (503, "ServerBusy"),
        (302, ""), (200, ""),
    )),
]


def calls(storage: AzureStorage) -> list[Callable[[], object]]:
    """Every method, with and without conditions."""

    def claim() -> None:
        with storage.claimed():
            pass

    return [
        lambda: storage.properties("a"), lambda: storage.exists("a"), lambda: storage.read("a"),
        lambda: storage.read("a", version="1"), lambda: storage.read_range("a", 0, 5), lambda: storage.block_list("a"),
        lambda: list(storage.list_blobs()), storage.list_folders, lambda: storage.write("a", b"x"),
        lambda: storage.write("a", b"x", if_match="1"), lambda: storage.stage_block("a", "1", b"x"),
        lambda: storage.commit_blocks("a", ["1"]), lambda: storage.commit_blocks("a", ["1"], if_none_match="*"),
        lambda: storage.delete("a"), lambda: storage.copy_from(storage, "a", "b"), claim,
        lambda: storage.read("../a"), lambda: storage.write("", b""), lambda: storage.stage_block("a", "", b"x"),
    ]


def is_free_of_the_mark(text: str) -> bool:
    return MARK not in text and KEY not in text and MARK[4:] not in text


def told(error: MdError) -> list[str]:
    """All that an error shows, checked."""
    shown = [str(error), repr(error), repr(vars(error)), *traceback.format_exception(error)]
    assert all(map(is_free_of_the_mark, shown))
    return shown


@pytest.mark.parametrize("kind", ["key", "sas", "connection string with a SAS"])
def test_no_secret_is_shown_whatever_the_service_says(
    kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("azure", "urllib3", "requests"):
        monkeypatch.setattr(logging.getLogger(name), "disabled", False)
        caplog.set_level(logging.DEBUG, name)
    shown: list[str] = []
    classes = set()
    with faulty_proxy(1) as (proxy, _):
        proxy.everything = Answer(500)
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", "")
        location = f"az://{ACCOUNT}/container/prefix"
        if kind == "sas":
            location = f"{proxy.endpoint}/container/prefix?{SIGNATURE}"
        else:
            secret = f"AccountKey={KEY}" if kind == "key" else f"SharedAccessSignature={SIGNATURE}"
            text = f"BlobEndpoint={proxy.endpoint};AccountName={ACCOUNT};{secret}"
            monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
        storage: Any = open_storage(location)
        storage._sleep = lambda seconds: None
        shown += [repr(storage), str(storage), storage.location, repr(storage.child("a"))]
        for fault in FAULTS:
            proxy.everything = fault
            for call in calls(storage):
                try:
                    call()
                except MdError as error:  # any other is a bug, and would hold what the SDK says
                    classes.add(type(error).__name__)
                    shown += [*told(error), str(pickle.dumps(error))]
    assert len(classes) >= 7, classes
    assert all(map(is_free_of_the_mark, shown))
    assert caplog.records
    for record in caplog.records:
        assert is_free_of_the_mark(record.getMessage() + repr(vars(record)))


@pytest.mark.parametrize("location", [
    f"https://account.blob.core.windows.net/container/prefix?{SIGNATURE}",
    f"https://user:{MARK}@account.blob.core.windows.net/container",
    f"az://account/container?{SIGNATURE}",
    f"https://account.blob.core.windows.net/?{SIGNATURE}",
    f"https://a/b?{SIGNATURE}", f"s3://bucket/key?{SIGNATURE}",
    f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={KEY}",
    f"BlobEndpoint=https://a.blob.core.windows.net;SharedAccessSignature={SIGNATURE}",
])
def test_no_secret_of_a_location_is_shown_or_kept_in_a_recipe(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING", raising=False)
    assert is_free_of_the_mark(redact(location))
    try:
        opened = open_storage(location)
        assert is_free_of_the_mark(repr(opened) + opened.location)
    except MdError as error:
        told(error)
    recipe = Recipe((location,), location)
    for text in (str(recipe.to_json()), recipe.to_command(), recipe.to_python()):
        assert is_free_of_the_mark(text)


@pytest.mark.parametrize("text", [
    f"AccountName=account;AccountKey=not base64 {MARK}", f"AccountName=account;AccountKey={MARK}=;garbage",
    f"AccountName=account;{MARK}", f"AccountName=account;AccountKey={KEY};BlobEndpoint=",
])
def test_no_secret_of_a_malformed_connection_string_is_shown(
    text: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
    try:
        storage: Any = open_storage("az://account/container")
        storage._sleep = lambda seconds: None
        monkeypatch.setattr("socket.getaddrinfo", _no_network)
        storage.read("a")
    except MdError as error:
        told(error)
    else:
        pytest.fail("it was taken")
    assert is_free_of_the_mark(caplog.text)


def _no_network(*arguments: object, **more: object) -> Any:
    raise OSError("no network in this test")


def test_without_azure_identity_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING", raising=False)
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(MdError, match="pip install azure-identity"):
        open_storage("az://account/container")
    assert isinstance(open_storage("."), FolderStorage)
