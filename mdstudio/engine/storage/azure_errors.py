"""From an exception of the Azure SDK to an error of the engine: by status and error code, never by its text."""

from __future__ import annotations

import logging
import re

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    IncompleteReadError,
    ServiceRequestError,
    ServiceResponseError,
)

from mdstudio.engine.errors import (
    AccessError,
    BlobChangedError,
    CommitUncertainError,
    MdError,
    NotFoundError,
    RangeError,
    StorageError,
    UsageError,
)

_TRANSIENT = frozenset([408, 429, 500, 502, 503, 504])
_NOT_AUTHORIZED = "Check the connection string, the SAS (its permissions and expiry) or the sign-in."
_RUN_AGAIN = "Run it again."


def is_transient(error: AzureError) -> bool:
    """Whether the same request may succeed a moment later: no answer, a time-out, an overload."""
    if isinstance(error, ServiceRequestError | ServiceResponseError | IncompleteReadError):
        return True
    return isinstance(error, HttpResponseError) and error.status_code in _TRANSIENT


def is_lost(error: AzureError) -> bool:
    """Whether the request may have taken effect although no answer says so."""
    return is_transient(error) and not isinstance(error, ServiceRequestError)


def retry_after(error: AzureError) -> float:
    """The seconds that the service asks to wait; 0 where it does not."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(0.0, float(headers.get("Retry-After") or 0))
    except ValueError:  # a date, which Azure does not send
        return 0.0


def translation(error: AzureError, where: str, *, lost: bool) -> MdError:
    """The error of the engine for one of the SDK about `where`; it keeps no reference to it."""
    if lost:
        return _uncertain(where)
    if isinstance(error, HttpResponseError) and error.status_code:
        code = getattr(error, "error_code", None) or ""
        return _of_answer(int(error.status_code), str(getattr(code, "value", code)), where)
    if isinstance(error, ClientAuthenticationError):
        return AccessError("Sign-in failed: no credential was found or accepted.", where=where, advice=_NOT_AUTHORIZED)
    what = "cannot be reached" if isinstance(error, ServiceRequestError) else "did not answer"
    return StorageError(f"The service {what} ({type(error).__name__}).", where=where, advice="Check the network.")


def malformed(where: str, *, lost: bool = False) -> StorageError:
    """The error for an answer that is not one of the service (a proxy's page)."""
    if lost:
        return _uncertain(where)
    return StorageError(
        "The answer is not one of the service.", where=where, advice="Check the address, and what lies between."
    )


def _uncertain(where: str) -> CommitUncertainError:
    return CommitUncertainError(
        "The answer to the write was lost; it may have taken effect.",
        where=where,
        advice="Read the blob to see whether it has, before writing again.",
    )


def _of_answer(status: int, code: str, where: str) -> MdError:
    said = f"HTTP {status} {code}".rstrip()
    match status, code:
        case 404, "ContainerNotFound":
            return NotFoundError("There is no such container.", where=where)
        case 404, _:
            return NotFoundError("There is no such blob.", where=where)
        case 401 | 403, _:
            return AccessError(f"No permission ({said}).", where=where, advice=_NOT_AUTHORIZED)
        case 412, _ if "Lease" in code:
            return AccessError(f"Another program holds a lease on the blob ({said}).", where=where, advice=_RUN_AGAIN)
        case 412, _:
            return BlobChangedError("The blob was changed by another writer.", where=where, advice=_RUN_AGAIN)
        case 409, _ if code.startswith("Lease"):
            return BlobChangedError("Another job is writing here.", where=where, advice=_RUN_AGAIN)
        case 409, "BlobAlreadyExists":
            return BlobChangedError("The blob was made by another writer.", where=where, advice=_RUN_AGAIN)
        case 400, "InvalidBlockList":
            return BlobChangedError(
                "A block is neither staged nor committed: another commit dropped it.", where=where, advice=_RUN_AGAIN
            )
        case 400, "InvalidBlobOrBlock" | "InvalidBlockId":
            return UsageError("The block id has another length than the blocks staged before it.", where=where)
        case 416, _:
            return RangeError("The range starts past the end of the blob.", where=where)
        case _:
            return StorageError(f"The service refused the request ({said}).", where=where)


class _NoSignatures(logging.Filter):
    """Takes signatures out of the debug lines of the HTTP library, which hold whole URLs."""

    _SIGNATURE = re.compile(r"(?i)\bsig=[^&\s\"']+")

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if self._SIGNATURE.search(text):
            record.msg, record.args = self._SIGNATURE.sub("sig=...", text), ()
        return True


logging.getLogger("urllib3.connectionpool").addFilter(_NoSignatures())
