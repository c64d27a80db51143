"""From a location as a person writes it to a storage: a path, a file: URL, az://, or the https URL of a container."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from mdstudio.engine.errors import UsageError
from mdstudio.engine.storage.folder import FolderStorage
from mdstudio.engine.storage.protocol import BlobStorage

FORMS = (
    "a path, file:///path, az://account/container/prefix or https://account.blob.core.windows.net/container/prefix?sas"
)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # two letters or more: C: is a drive
_CONNECTION_STRING = re.compile(
    r"(^|;)\s*(AccountKey|SharedAccessSignature|DefaultEndpointsProtocol)\s*=", re.IGNORECASE
)


def open_storage(location: str) -> BlobStorage:
    """The storage whose root is `location`; nothing is read or asked, so a root that is not there is found out later.

    `az://` is served by AZURE_STORAGE_CONNECTION_STRING where that is of the same account (it also names the address of
    an emulator), else by the default credential of the machine; a URL with a SAS by that SAS. Raises `UsageError`.
    """
    location = os.fspath(location)
    if not location.strip():
        raise UsageError("The location is empty.", advice=f"Give {FORMS}.")
    if _CONNECTION_STRING.search(location):
        raise UsageError(
            "A connection string is not a location.",
            advice="Put it into AZURE_STORAGE_CONNECTION_STRING and name az://account/container/prefix.",
        )
    match = _SCHEME.match(location)
    scheme = match.group(1).lower() if match else ""
    if scheme == "file":
        return FolderStorage(_file_path(location))
    if scheme in ("az", "http", "https"):
        from mdstudio.engine.storage.azure_locations import open_account, open_url

        return open_account(location) if scheme == "az" else open_url(location)
    if "://" in location:
        raise UsageError(f"{scheme}: is not a kind of location.", where=redact(location), advice=f"Give {FORMS}.")
    return FolderStorage(os.path.expanduser(location))


def redact(location: str) -> str:
    """The location without any secret: no SAS, no password, no connection string; what is shown, logged and stored."""
    if _CONNECTION_STRING.search(location):
        return "(connection string)"
    if "://" not in location:
        return location
    parts = urlsplit(location)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _file_path(location: str) -> str:
    parts = urlsplit(location)
    if parts.query or parts.fragment:
        raise UsageError('A "?" or "#" in a file: URL is written as %3F or %23.', where=redact(location))
    if parts.netloc not in ("", "localhost"):
        if os.name != "nt":
            raise UsageError("A file: URL names a file of this machine.", where=location)
        return url2pathname(f"//{parts.netloc}{parts.path}")
    if not parts.path.startswith("/"):
        raise UsageError("A file: URL has an absolute path.", where=location)
    return url2pathname(parts.path) if os.name == "nt" else unquote(parts.path)
