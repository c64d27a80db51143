"""A storage as bad as one can be: every request takes a while, some fail; the requests themselves are real."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Self, TypeVar

from mdstudio.engine.errors import StorageError
from mdstudio.engine.storage.protocol import BlobStorage
from mdstudio.engine.storage.wrappers import Wrapper

T = TypeVar("T")


class SlowStorage(Wrapper):
    """Each request waits `delay` seconds, then fails with the chance `failing`; any thread."""

    def __init__(self, inner: BlobStorage, delay: float = 2.0, failing: float = 0.05,
                 chance: random.Random | None = None) -> None:
        super().__init__(inner)
        self.delay, self.failing = delay, failing
        self._chance, self._lock = chance or random.Random(5), threading.Lock()

    def _around(self, inner: BlobStorage) -> Self:
        return type(self)(inner, self.delay, self.failing, self._chance)

    def _request(self, call: str, name: str, request: Callable[[], T]) -> T:
        time.sleep(self.delay)
        with self._lock:
            fails = self._chance.random() < self.failing
        if fails:
            raise StorageError("The service did not answer.", where=f"{self.location}/{name}", advice="Try again.")
        return super()._request(call, name, request)
