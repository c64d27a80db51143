"""From az:// and https:// locations to a container: which account, which credential, which prefix."""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import unquote, urlsplit

from azure.storage.blob import ContainerClient

from mdstudio.engine.errors import UsageError
from mdstudio.engine.storage.azure import AzureStorage
from mdstudio.engine.storage.checks import MAX_WHOLE_BYTES
from mdstudio.engine.storage.locations import redact

CONNECTION_STRING = "AZURE_STORAGE_CONNECTION_STRING"

_CLOUD = "blob.core.windows.net"
_OPTIONS: dict[str, Any] = {
    "retry_total": 0,  # AzureStorage tries again itself, where that is safe
    "max_single_put_size": MAX_WHOLE_BYTES,  # a larger one the SDK would send as blocks
    "connection_timeout": 20,
    "read_timeout": 60,
}


def open_account(location: str) -> AzureStorage:
    """The storage of az://account/container/prefix. Raises `UsageError`; asks nothing."""
    account, _, rest = location.partition("://")[2].partition("/")
    container, _, prefix = rest.strip("/").partition("/")
    if "?" in location:
        raise UsageError(
            "az:// takes no SAS.",
            where=redact(location),
            advice=f"Give https://{account}.{_CLOUD}/container/prefix?sas instead.",
        )
    _check(location, account, container)
    shown = "/".join(["az:/", account, container, *([prefix] if prefix else [])])
    client, key_of = _with_credential(account, container, f"https://{account}.{_CLOUD}")
    return AzureStorage(client, prefix, shown, key_of=key_of)


def open_url(location: str) -> AzureStorage:
    """The storage of https://account.blob.core.windows.net/container/prefix?sas, or the like of an emulator, whose
    account is the first part of the path. Raises `UsageError`; asks nothing."""
    parts = urlsplit(location)
    host = parts.hostname or ""
    path = unquote(parts.path).strip("/")
    account, endpoint = host.partition(".")[0], f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if host.replace(".", "").isdigit() or "." not in host:  # an address or a bare name: an emulator
        account, _, path = path.partition("/")
        endpoint += f"/{account}"
    container, _, prefix = path.partition("/")
    _check(location, account, container)
    if "sig" in re.findall(r"(?:^|&)([^=&]+)=", parts.query):
        client, key_of = ContainerClient.from_container_url(f"{endpoint}/{container}?{parts.query}", **_OPTIONS), ""
    else:
        client, key_of = _with_credential(account, container, endpoint)
    return AzureStorage(client, prefix, redact(location), key_of=key_of)


def _check(location: str, account: str, container: str) -> None:
    if not re.fullmatch(r"[a-z0-9]{3,24}", account):
        raise UsageError("An account has 3 to 24 lower-case letters and digits.", where=redact(location))
    if not re.fullmatch(r"[a-z0-9](-?[a-z0-9]){2,62}|\$root|\$web", container):
        raise UsageError(
            "The location names no container." if not container else "This is no name of a container.",
            where=redact(location),
            advice="Give az://account/container/prefix.",
        )


def _with_credential(account: str, container: str, endpoint: str) -> tuple[ContainerClient, str]:
    """The client for a location without a SAS, and the account whose key it has, if any: by the connection string of
    the account, else the default credential."""
    text = os.environ.get(CONNECTION_STRING, "")
    fields = {key.strip().lower(): value for key, _, value in (part.partition("=") for part in text.split(";"))}
    address = urlsplit(fields.get("blobendpoint", ""))
    of_address = address.path.strip("/") or (address.hostname or "").partition(".")[0]
    if account in (fields.get("accountname"), of_address):
        if not {"accountkey", "sharedaccesssignature"} & set(fields):
            raise UsageError("The connection string has neither a key nor a SAS.", where=CONNECTION_STRING)
        try:
            client = ContainerClient.from_connection_string(text, container, **_OPTIONS)
            return client, account if "accountkey" in fields else ""
        except ValueError:
            problem = UsageError("It is not a connection string.", where=CONNECTION_STRING)
        raise problem
    if endpoint.startswith("http:"):
        raise UsageError(
            "An http: location needs a SAS or a connection string.",
            where=f"{endpoint}/{container}",
            advice=f"Set {CONNECTION_STRING} to that of the account {account}.",
        )
    return ContainerClient(endpoint, container, credential=_default_credential(), **_OPTIONS), ""


def _default_credential() -> Any:
    """Whoever is signed in on this machine; the package for it is loaded where it is needed only."""
    try:
        from azure.identity import DefaultAzureCredential
    except ImportError:
        missing = UsageError(
            "Signing in with the default credential needs the package azure-identity.",
            advice=f"Install it (pip install azure-identity), or set {CONNECTION_STRING}, or give a URL with a SAS.",
        )
    else:
        return DefaultAzureCredential()
    raise missing
