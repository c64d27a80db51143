"""Locations as people write them, and what of them may be shown."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mdstudio.engine.errors import UsageError
from mdstudio.engine.storage import FolderStorage, open_storage, redact
from tests.azurite import ACCOUNT, KEY, connection_string

SIGNED = "https://account.blob.core.windows.net/container/some%20prefix?sv=2025-01-05&sp=r&sig=SECRET%3D"
CONNECTION = f"DefaultEndpointsProtocol=https;AccountName=account;AccountKey={KEY};EndpointSuffix=core.windows.net"


@pytest.fixture(autouse=True)
def no_connection_string(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING", raising=False)


def test_a_path_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for location, path in (
        (str(tmp_path / "a b"), tmp_path / "a b"),
        ("a/b", tmp_path / "a" / "b"),
        (".", tmp_path),
        ("~/x", tmp_path / "x"),
        ((tmp_path / "a b%#").as_uri(), tmp_path / "a b%#"),
        (f"file://localhost{tmp_path.as_posix()}/x", tmp_path / "x"),
    ):
        storage = open_storage(location)
        assert isinstance(storage, FolderStorage)
        assert storage.location == str(path)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("s3://bucket/x", "s3: is not a kind of location"),
        ("file://elsewhere/x", "this machine"),
        ("file:relative", "absolute"),
        ("file:///a?b", "%3F"),
        ("az://account", "names no container"),
        ("az://Account/container", "account"),
        ("az:///container", "account"),
        ("az://account/Container_", "no name of a container"),
        ("az://account/container?sv=1&sig=SECRET", "takes no SAS"),
        ("https://account.blob.core.windows.net/?sig=SECRET", "names no container"),
        ("http://127.0.0.1:10000/devstoreaccount1/container", "needs a SAS or a connection string"),
        (CONNECTION, "not a location"),
    ],
)
def test_a_location_that_cannot_be_meant_is_refused_without_its_secrets(location: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        open_storage(location)
    assert "SECRET" not in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_signed_url_names_account_container_and_prefix() -> None:
    storage = open_storage(SIGNED)
    assert storage.location == "https://account.blob.core.windows.net/container/some%20prefix"
    assert storage.child("50% a").location == storage.location + "/50%25%20a"
    assert "SECRET" not in repr(storage)


def test_az_takes_the_connection_string_of_its_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", CONNECTION)
    storage = open_storage("az://account/container/a/b/")
    assert storage.location == "az://account/container/a/b"
    assert open_storage("az://account/container").location == "az://account/container"
    assert KEY not in repr(storage)


def test_the_emulator_is_reached_by_its_connection_string(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection_string(f"http://127.0.0.1:10000/{ACCOUNT}"))
    for location in (f"az://{ACCOUNT}/container/x", f"http://127.0.0.1:10000/{ACCOUNT}/container/x"):
        assert open_storage(location).location == location


def test_a_connection_string_that_is_none_is_told_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"AccountName=account;SomeKey={KEY}")
    with pytest.raises(UsageError, match="neither a key nor a SAS") as caught:
        open_storage("az://account/container")
    assert KEY not in str(caught.value)
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", f"AccountName=account;AccountKey={KEY};nonsense")
    with pytest.raises(UsageError, match="not a connection string") as caught:
        open_storage("az://account/container")
    assert KEY not in str(caught.value)
    assert caught.value.__context__ is None


def test_another_account_is_reached_by_the_default_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", CONNECTION)
    assert open_storage("az://other/container").location == "az://other/container"
    assert open_storage("https://other.blob.core.windows.net/container/x").location.endswith("container/x")


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        (SIGNED, "https://account.blob.core.windows.net/container/some%20prefix"),
        ("https://user:pass@host/a?b", "https://host/a"),
        ("az://account/container/a?sig=SECRET", "az://account/container/a"),
        ("/data/what? 100%", "/data/what? 100%"),
        ("C:\\data", "C:\\data"),
        (CONNECTION, "(connection string)"),
        (f"accountkey={KEY}", "(connection string)"),
        ("BlobEndpoint=https://a.b/;SharedAccessSignature=sv=1&sig=SECRET", "(connection string)"),
    ],
)
def test_what_is_shown_of_a_location_holds_no_secret(location: str, shown: str) -> None:
    assert redact(location) == shown


def test_a_local_location_imports_nothing_of_azure(tmp_path: Path) -> None:
    code = "import sys\nfrom mdstudio.engine.storage import open_storage\nopen_storage(sys.argv[1]).exists('a')\n"
    code += "print([name for name in sys.modules if name.split('.')[0] in ('azure', 'requests', 'numpy')])"
    told = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert told.stdout.strip() == "[]"
