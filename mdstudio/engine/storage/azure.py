"""Blobs in an Azure container, below a prefix. Imported only where a location names one.

The service's ETag is the version. A request is sent again after a time-out or an overload, except one that would see
its own effect as somebody else's: a commit or a conditional write whose answer was lost is a `CommitUncertainError`
(P15).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from azure.core import MatchConditions
from azure.storage.blob import BlobBlock, BlobClient, BlobPrefix, ContainerClient

from mdstudio.engine.errors import NotFoundError, RangeError, StorageError
from mdstudio.engine.storage.azure_claim import Claim
from mdstudio.engine.storage.azure_errors import malformed
from mdstudio.engine.storage.azure_sending import PAUSES, send
from mdstudio.engine.storage.checks import check_block, check_block_ids, check_none_match, check_range, check_whole
from mdstudio.engine.storage.copying import copy_blob
from mdstudio.engine.storage.names import CLAIM_BLOB, check_name, check_prefix
from mdstudio.engine.storage.protocol import (
    BlobProperties,
    BlobStorage,
    Block,
    BlockList,
    RangeRead,
    nothing,
)
from mdstudio.engine.storage.wrappers import innermost

T = TypeVar("T")

_FOLDER = "hdi_isfolder"  # metadata of what stands for a folder in an account with hierarchical names


class AzureStorage:
    """A container and prefix; `location` is what a person sees, without any secret.

    `client` is made by `azure_locations`, which turns the SDK's own retries off; `key_of` is the account whose key
    signs its requests, empty for any other credential. `sleep` waits between tries, `clock` tells seconds.
    """

    def __init__(
        self,
        client: ContainerClient,
        prefix: str,
        location: str,
        *,
        key_of: str = "",
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._location = location.rstrip("/")
        self._key_of = key_of
        self._sleep = sleep
        self._clock = clock
        self._claims: list[Claim] = []  # shared with the children

    @property
    def location(self) -> str:
        return self._location

    def __repr__(self) -> str:
        return f"AzureStorage({self._location!r})"

    def child(self, prefix: str) -> AzureStorage:
        inside = prefix.rstrip("/")
        if not inside:
            return self
        check_name(inside)
        location = f"{self._location}/{quote(inside) if self._location.startswith('http') else inside}"
        child = AzureStorage(
            self._client, self._prefix + inside, location, key_of=self._key_of, sleep=self._sleep, clock=self._clock
        )
        child._claims = self._claims
        return child

    # Reading

    def properties(self, name: str) -> BlobProperties:
        found = self._send(name, lambda: self._blob(name).get_blob_properties())
        if _is_folder(found.metadata):
            raise NotFoundError("This is a folder, not a blob.", where=self._where(name))
        return _properties(name, found)

    def exists(self, name: str) -> bool:
        try:
            self.properties(name)
        except NotFoundError:
            return False
        return True

    def read(self, name: str, *, version: str | None = None) -> RangeRead:
        return self._read(name, None, None, version)

    def read_range(self, name: str, offset: int, count: int, *, version: str | None = None) -> RangeRead:
        check_range(self._where(name), offset, count)
        return self._read(name, offset, count, version)

    def block_list(self, name: str) -> BlockList:
        found = self._committed(name)
        while not found.blocks:
            # Put whole, or never committed: the answer does not tell which, nor have an ETag for sure. The properties
            # do; a commit in between would pair its version with the empty list of before, and be overwritten (P14).
            whole = self.properties(name)
            found = self._committed(name)
            if not found.blocks and self.properties(name).version == whole.version:
                return BlockList((), whole.length, whole.version)
        return found

    def _committed(self, name: str) -> BlockList:
        """The committed blocks with length and version of the same answer; neither where there are no blocks."""
        headers: dict[str, str] = {}
        committed, _ = self._send(
            name, lambda: self._blob(name).get_block_list("committed", raw_response_hook=_keep_headers(headers))
        )
        if not committed:
            return BlockList((), 0, "")
        blocks = tuple(Block(str(block.id), int(block.size)) for block in committed)
        return BlockList(blocks, int(headers["x-ms-blob-content-length"]), _plain(headers.get("etag")))

    def list_blobs(self, prefix: str = "") -> Iterator[BlobProperties]:
        start = self._prefix + check_prefix(prefix)
        for page in self._pages(prefix, lambda: self._client.list_blobs(start, include=["metadata"])):
            for found in page:
                if not _is_folder(found.metadata) and not _is_claim(found.name):
                    yield _properties(str(found.name).removeprefix(self._prefix), found)

    def list_folders(self, prefix: str = "") -> tuple[list[str], list[BlobProperties]]:
        folder = f"{check_name(prefix.rstrip('/'))}/" if prefix.rstrip("/") else ""
        start = self._prefix + folder
        folders: set[str] = set()
        blobs = []
        for page in self._pages(prefix, lambda: self._client.walk_blobs(start, include=["metadata"])):
            for found in page:
                name = str(found.name).removeprefix(start)
                if isinstance(found, BlobPrefix) or _is_folder(found.metadata):
                    folders.add(name.rstrip("/"))
                elif not _is_claim(name):
                    blobs.append(_properties(folder + name, found))
        return sorted(folders - {""}), sorted(blobs, key=lambda blob: blob.name)

    def list_uncommitted(self, prefix: str = "") -> Iterator[BlobProperties]:
        """What is no blob yet: names under which blocks were staged and none ever committed, with the bytes staged.

        Cost: two listings, and a request for each name found. The service drops such blocks after a week.
        """
        start = self._prefix + check_prefix(prefix)
        committed = {blob.name for blob in self.list_blobs(prefix)}
        kinds = ["metadata", "uncommittedblobs"]
        for page in self._pages(prefix, lambda: self._client.list_blobs(start, include=kinds)):
            for found in page:
                name = str(found.name).removeprefix(self._prefix)
                if name in committed or _is_folder(found.metadata) or _is_claim(name):
                    continue
                _, staged = self._send(name, lambda name=name: self._blob(name).get_block_list("all"))  # type: ignore[misc]
                if staged:
                    yield BlobProperties(name, sum(int(block.size) for block in staged), "")

    # Writing

    def write(self, name: str, data: bytes, *, if_match: str | None = None, if_none_match: str | None = None) -> str:
        check_whole(self._where(name), len(data))
        condition = self._condition(name, if_match, if_none_match)
        self._check_claims(name)
        answer = self._send(
            name, lambda: self._blob(name).upload_blob(data, overwrite=True, **condition), once=bool(condition)
        )
        return _plain(answer.get("etag"))

    def stage_block(self, name: str, block_id: str, data: bytes) -> None:
        check_block(self._where(name), block_id, len(data))
        self._check_claims(name)
        self._send(name, lambda: self._blob(name).stage_block(block_id, data, length=len(data)))

    def commit_blocks(
        self, name: str, block_ids: Sequence[str], *, if_match: str | None = None, if_none_match: str | None = None
    ) -> str:
        check_block_ids(self._where(name), block_ids)
        condition = self._condition(name, if_match, if_none_match)
        blocks = [BlobBlock(block_id) for block_id in block_ids]
        self._check_claims(name)
        answer = self._send(name, lambda: self._blob(name).commit_block_list(blocks, **condition), once=True)
        return _plain(answer.get("etag"))

    def delete(self, name: str, *, if_match: str | None = None) -> None:
        condition = self._condition(name, if_match, None)
        self._check_claims(name)
        self._send(name, lambda: self._blob(name).delete_blob(**condition), once=True)

    @contextlib.contextmanager
    def claimed(self, wait: float = 0.0, check: Callable[[], None] = nothing) -> Iterator[None]:
        """As the protocol, by a lease on the blob `dataset.lock`; a SAS needs the permission to write.

        Where another job took over meanwhile (this one was held up for longer than the lease lasts), every further
        write here, and else the end of the block, raises `BlobChangedError`.
        """
        claim = Claim(self._client.get_blob_client(self._prefix + CLAIM_BLOB), self._location, self._sleep, self._clock)
        claim.take(wait, check)
        self._claims.append(claim)
        try:
            yield
            claim.check()
        finally:
            self._claims.remove(claim)
            claim.give_back()

    def copy_from(self, source: BlobStorage, name: str, target: str | None = None) -> str:
        """As the protocol; where the service may read the source, it copies by itself, block list included (P26)."""
        inner = innermost(source)
        if not isinstance(inner, AzureStorage) or not self._may_read(inner):
            return copy_blob(source, name, self, target or name)
        target = target or name
        url, blob = inner._blob(name).url, self._blob(target)
        self._check_claims(target)
        self._send(target, lambda: blob.start_copy_from_url(url))
        while (found := self._send(target, blob.get_blob_properties)).copy.status == "pending":
            self._sleep(PAUSES[0])
        if found.copy.status != "success":
            raise StorageError(f"The service did not finish the copy: {found.copy.status}.", where=self._where(target))
        return _plain(found.etag)

    def _may_read(self, source: AzureStorage) -> bool:
        """Whether the service itself may read the source's blobs: its URL is signed, or one key serves both."""
        return "sig=" in source._client.url or "" != self._key_of == source._key_of

    # Inside

    def _blob(self, name: str) -> BlobClient:
        return self._client.get_blob_client(self._prefix + check_name(name))

    def _where(self, name: str) -> str:
        return f"{self._location}/{name}" if name else self._location

    def _condition(self, name: str, if_match: str | None, if_none_match: str | None) -> dict[str, Any]:
        check_none_match(self._where(name), if_none_match)
        if if_match is not None:
            return {"etag": f'"{if_match}"', "match_condition": MatchConditions.IfNotModified}
        return {} if if_none_match is None else {"match_condition": MatchConditions.IfMissing}

    def _read(self, name: str, offset: int | None, count: int | None, version: str | None) -> RangeRead:
        condition = self._condition(name, version, None)

        def request() -> tuple[bytes, dict[str, str]]:
            headers: dict[str, str] = {}
            hook = _keep_headers(headers)
            download = self._blob(name).download_blob(offset, count, encoding=None, raw_response_hook=hook, **condition)
            return download.readall(), headers

        data, headers = self._send(name, request)
        if _is_folder({key.removeprefix("x-ms-meta-"): value for key, value in headers.items()}):
            raise NotFoundError("This is a folder, not a blob.", where=self._where(name))
        length = int(headers["content-range"].rpartition("/")[2]) if "content-range" in headers else len(data)
        if offset is not None and offset >= length:
            raise RangeError(f"Bytes from {offset} were asked of a blob of {length} bytes.", where=self._where(name))
        wanted = length if offset is None or count is None else min(count, length - offset)
        if len(data) != wanted:
            raise StorageError(f"Expected {wanted} bytes, found {len(data)}.", where=self._where(name))
        return RangeRead(data, length, _plain(headers.get("etag")))

    def _send(self, name: str, request: Callable[[], T], *, once: bool = False) -> T:
        return send(request, self._where(name), self._sleep, once=once)

    def _check_claims(self, name: str) -> None:
        for claim in tuple(self._claims):
            if claim.covers(self._prefix + name):
                claim.check()

    def _pages(self, prefix: str, listing: Callable[[], Any]) -> Iterator[list[Any]]:
        token = None
        while True:
            page, token = self._send(prefix, lambda token=token: _one_page(listing(), token))  # type: ignore[misc]
            yield page
            if not token:
                return


def _one_page(listing: Any, token: str | None) -> tuple[list[Any], str | None]:
    pages = listing.by_page(token)
    page = list(next(pages, ()))
    return page, pages.continuation_token


def _keep_headers(headers: dict[str, str]) -> Callable[[Any], None]:
    def hook(answer: Any) -> None:
        if answer.http_response.status_code < 400:
            headers.clear()
            headers.update({key.lower(): value for key, value in answer.http_response.headers.items()})

    return hook


def _properties(name: str, found: Any) -> BlobProperties:
    version = _plain(found.etag)
    return BlobProperties(name, int(found.size), version, found.last_modified.timestamp())


def _is_folder(metadata: Mapping[str, str] | None) -> bool:
    return any(key.lower() == _FOLDER and value.lower() == "true" for key, value in (metadata or {}).items())


def _is_claim(name: str) -> bool:
    return name.rpartition("/")[2] == CLAIM_BLOB


def _plain(etag: Any) -> str:
    """An ETag without its quotes, which a listing leaves out and the others do not."""
    if not etag:
        raise malformed("")
    return str(etag).strip('"')
