"""Holding a place in Azure for one job: a lease on a blob of its own, renewed by a thread while the job runs.

The lease is the service's: a job that is killed holds nobody up for longer than `LEASE_SECONDS`. A job that could not
renew it in that time (held up, cut off) asks before its next write whether it still has it.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable
from functools import partial

from azure.storage.blob import BlobClient, BlobLeaseClient

from mdstudio.engine.errors import BlobChangedError, MdError, NotFoundError
from mdstudio.engine.storage.azure_sending import PAUSES, send
from mdstudio.engine.storage.names import CLAIM_BLOB
from mdstudio.engine.storage.protocol import another_job

LEASE_SECONDS = 60  # the longest that Azure allows but for ever
RENEW_SECONDS = 15.0  # between renewals: three may fail
_TRY_SECONDS = 1.0  # between tries of a job that waits
_CHECK_SECONDS = 0.1  # how soon a job that waits sees that it was cancelled
_TIMES_OUT = {"connection_timeout": 5, "read_timeout": 10}  # well within the lease


class Claim:
    """A lease on `blob`. `take`, `check`, `give_back` in this order; `check` in any thread, any number of times."""

    def __init__(
        self, blob: BlobClient, location: str, sleep: Callable[[float], None], clock: Callable[[], float]
    ) -> None:
        self._blob, self._location, self._sleep, self._clock = blob, location, sleep, clock
        self._lease = BlobLeaseClient(blob, str(uuid.uuid4()))  # an id of our own: a lost answer is asked for again
        self._renewed = 0.0
        self._lost = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def covers(self, name: str) -> bool:
        """Whether the blob (its name in the container) lies in the place that is held."""
        return name.startswith(str(self._blob.blob_name).removesuffix(CLAIM_BLOB))

    def take(self, wait: float, check: Callable[[], None]) -> None:
        """Get the lease; `BlobChangedError` where another job has it for longer than `wait` seconds."""
        deadline = self._clock() + wait
        while not self._acquired():
            again = min(self._clock() + _TRY_SECONDS, deadline)
            if self._clock() >= deadline:
                raise another_job(self._location)
            while self._clock() < again:
                check()
                self._sleep(_CHECK_SECONDS)
        self._thread.start()

    def check(self) -> None:
        """Raise `BlobChangedError` where another job has or had the place since; a request only after a long pause."""
        if not self._lost and self._clock() - self._renewed > LEASE_SECONDS:
            self._renew(PAUSES)
        if self._lost:
            raise BlobChangedError(
                "Another job took over while this one was held up.", where=self._location, advice="Run it again."
            )

    def give_back(self) -> None:
        """End the lease with its blob; where the service does not answer it ends by itself."""
        self._ended.set()
        self._thread.join()
        if self._lost:
            return
        for end in (partial(self._blob.delete_blob, lease=self._lease), self._lease.release):
            with contextlib.suppress(MdError):  # a SAS may not delete: then the empty blob stays
                self._send(end)
                return

    def _acquired(self) -> bool:
        for _ in range(10):  # until no job removes the blob of its own in between
            asked = self._clock()
            try:
                self._send(partial(self._lease.acquire, LEASE_SECONDS))
                self._renewed = asked
                return True
            except BlobChangedError:
                return False
            except NotFoundError:
                pass
            with contextlib.suppress(BlobChangedError):  # made by another in between
                self._send(partial(self._blob.upload_blob, b""))
        return False

    def _keep(self) -> None:
        while not self._ended.wait(RENEW_SECONDS) and not self._lost:
            with contextlib.suppress(MdError):  # no answer: the next one may come in time
                self._renew(())

    def _renew(self, pauses: tuple[float, ...]) -> None:
        asked = self._clock()
        try:
            self._send(self._lease.renew, pauses)
            self._renewed = asked
        except (BlobChangedError, NotFoundError):  # an expired lease that nobody took in between is renewed
            self._lost = True

    def _send(self, request: Callable[..., object], pauses: tuple[float, ...] = PAUSES) -> None:
        send(partial(request, **_TIMES_OUT), self._location, self._sleep, pauses=pauses)
