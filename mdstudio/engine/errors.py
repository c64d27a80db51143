"""The one class tree of errors: each class has a stable code, a message and an exit status (design 2, 5).

A message names the file or blob, what was expected, what was found and what to do. A traceback is for our own
bugs only: whatever a user or a disk can cause is an `MdError`.
"""

from __future__ import annotations

from typing import ClassVar


class MdError(Exception):
    """Base of every error that a user, a file, a disk or a service can cause.

    Attributes:
        code: stable identifier, also in JSON output; never reused for another meaning.
        exit_status: what the command line ends with (design 5).
        where: the file, blob or dataset concerned, without any secret; may be empty.
        advice: one sentence on what to do; may be empty.
    """

    code: ClassVar[str] = "MD-E001"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, where: str = "", advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.advice = advice

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} {self.advice}" if self.advice else text

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.where, self.advice, dict(self.__dict__))


def _rebuild(cls: type[MdError], message: str, where: str, advice: str, state: dict[str, object]) -> MdError:
    """Unpickle without calling a subclass's own constructor: errors cross process borders (worker -> window)."""
    error = cls.__new__(cls)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class UsageError(MdError):
    """A wrong argument, parameter or setting; nothing was read or written."""

    code = "MD-E002"
    exit_status = 2


class Cancelled(MdError):  # noqa: N818 - it is no error of anyone
    """The caller cancelled; what was half done has been taken back."""

    code = "MD-E003"
    exit_status = 130


class NotFoundError(MdError):
    """A blob, file, dataset, item, time or layer that is not there."""

    code = "MD-E010"
    exit_status = 10


class AccessError(MdError):
    """No permission, or sign-in failed."""

    code = "MD-E011"
    exit_status = 11


class NotADatasetError(MdError):
    """There is something, but not an MD dataset."""

    code = "MD-E012"
    exit_status = 12


class UnsupportedVersionError(NotADatasetError):
    """A dataset that a newer build wrote (V5): it shows, its data is neither read nor written."""

    code = "MD-E013"


class UnknownCompressionError(NotADatasetError):
    """A compression name or ordinal that this build does not know (V6)."""

    code = "MD-E014"


class LayoutGuardError(NotADatasetError):
    """A guard of the layout holds: missing layout parameter, dropped version, unsupported kind (V2-V4, V7)."""

    code = "MD-E015"


class StorageError(MdError):
    """The storage failed: disk full, network, service."""

    code = "MD-E020"


class BlobChangedError(StorageError):
    """Another writer changed the blob in between; run the operation again (P14-P16)."""

    code = "MD-E021"


class CommitUncertainError(StorageError):
    """A conditional write was sent and its answer lost: it may have taken effect, and is never sent again (P15)."""

    code = "MD-E023"


class RangeError(StorageError):
    """A range that the blob does not hold, wholly or in part (HTTP 416, a short read)."""

    code = "MD-E022"


class DamagedDataError(MdError):
    """Bytes that are not what the index, the header or the checksum says; never decoded into numbers."""

    code = "MD-E030"


class AlreadyExistsError(MdError):
    """The destination is there already and nothing allows replacing it."""

    code = "MD-E040"


class SourceError(MdError):
    """A source file that cannot be read as what it claims to be."""

    code = "MD-E050"


class UnsupportedError(MdError):
    """A kind, item or combination that is refused by rule, with the reason (K4, T8, N4, ...)."""

    code = "MD-E060"


class WorkerError(MdError):
    """A worker process that crashed or was killed; what it wrote is no dataset (G7)."""

    code = "MD-E070"
