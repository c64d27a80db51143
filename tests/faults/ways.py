"""Ways in which a call of a storage fails, and a storage whose n-th call does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Self, TypeVar

from mdstudio.engine.errors import BlobChangedError, CommitUncertainError, RangeError, StorageError
from mdstudio.engine.storage import BlobStorage, RangeRead, Wrapper

T = TypeVar("T")


class Way(StrEnum):
    """How a call fails; a way that a call cannot fail in does not count it."""

    BEFORE = "no answer, before the effect"
    LOST = "no answer, after the effect"
    LOST_WRITE = "no answer to a write or commit, after the effect: the blob tells (P15)"
    DOWN = "no answer from this call on, nor an effect"
    LOST_DOWN = "no answer from this call on, after the effect of this one"
    LOST_FEW = "no answer to this call, after the effect, nor to the next two, which look whether it had one"
    BUSY = "503 with Retry-After, before the effect"
    BUSY_AFTER = "500, after the effect"
    SHORT = "half of what was asked for"
    CUT = "half an answer, then the connection ends"
    CHANGED = "412, before the effect"
    CHANGED_AFTER = "412, after the effect (a call that was sent twice)"
    EXISTS = "409, before the effect"
    EXISTS_AFTER = "409, after the effect (a call that was sent twice)"
    RANGE = "416"


LASTING = (Way.DOWN, Way.LOST_DOWN)


class Plan:
    """The `number`-th call that can fail in this way does, if there are so many `calls`, of some ways all after it too;
    any thread."""

    def __init__(self, way: Way, number: int) -> None:
        self.way, self.number = way, number
        self.fired = False
        self._lock = threading.Lock()
        self.calls = 0

    def hits(self) -> int:
        """Count a call; 1 for the one that fails, 2 for one after it that does."""
        with self._lock:
            self.calls += 1
            self.fired = self.fired or self.calls == self.number
            if self.calls == self.number:
                return 1
            follows = self.way in LASTING or (self.way == Way.LOST_FEW and self.calls <= self.number + 2)
            return 2 if self.fired and follows else 0


WRITES = ("write", "commit_blocks", "delete", "copy_from")
OF_STORAGE: tuple[Way, ...] = (
    Way.BEFORE, Way.LOST, Way.LOST_WRITE, Way.DOWN, Way.LOST_DOWN, Way.LOST_FEW, Way.BUSY, Way.SHORT, Way.CHANGED,
    Way.CHANGED_AFTER, Way.RANGE,
)


class FaultyStorage(Wrapper):
    """Fails as `plan` says; its children too, which share it. Without a plan it is the storage itself."""

    def __init__(self, inner: BlobStorage, shared: dict[str, Plan | None] | None = None) -> None:
        super().__init__(inner)
        self._shared: dict[str, Plan | None] = {"plan": None} if shared is None else shared

    @property
    def plan(self) -> Plan | None:
        return self._shared["plan"]

    @plan.setter
    def plan(self, plan: Plan | None) -> None:
        self._shared["plan"] = plan

    def _around(self, inner: BlobStorage) -> Self:
        return type(self)(inner, self._shared)

    def _request(self, call: str, name: str, request: Callable[[], T]) -> T:
        plan = self.plan
        if plan is None or not _can(plan.way, call):
            return request()
        hit = plan.hits()
        if not hit:
            return request()
        where = f"{self.location}/{name}"
        if hit == 2:
            raise _no_answer(call, where)
        match plan.way:
            case Way.BEFORE | Way.BUSY | Way.DOWN:
                raise _no_answer(call, where)
            case Way.CHANGED:
                raise BlobChangedError("injected: changed", where=where)
            case Way.RANGE:
                raise RangeError("injected: past the end", where=where)
        result: Any = request()
        match plan.way:
            case Way.SHORT:
                return RangeRead(result.data[: len(result.data) // 2], result.length, result.version)  # type: ignore[return-value]
            case Way.CHANGED_AFTER:
                raise BlobChangedError("injected: changed by this very call", where=where)
        raise _no_answer(call, where)


def _can(way: Way, call: str) -> bool:
    match way:
        case Way.SHORT:
            return call in ("read", "read_range")
        case Way.RANGE:
            return call == "read_range"
        case Way.LOST_WRITE:
            return call in ("write", "commit_blocks")
        case Way.CHANGED:
            return call in (*WRITES, "read", "read_range")
        case Way.CHANGED_AFTER:  # a copy has no condition
            return call in ("write", "commit_blocks", "delete")
    return True


def _no_answer(call: str, where: str) -> StorageError:
    error = CommitUncertainError if call in WRITES else StorageError
    return error("injected: no answer", where=where)
