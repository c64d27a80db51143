"""The threads that read and decode for queries: a few, shared by all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import chain, islice

from mdstudio.engine.processors import available_processors

READERS = 8  # requests that wait at once
DECODERS = min(4, available_processors())
_AHEAD = 256  # parts handed to the threads before their results are taken: the first error ends the rest


@cache
def _readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(READERS, "read")


@cache
def _decoders() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(DECODERS, "decode")


def read_all[S, T](job: Callable[[S], T], parts: Iterable[S]) -> list[T]:
    """The results of a job for each part, in order; several at once where there is more than one."""
    rest = iter(parts)
    first = list(islice(rest, 2))
    if len(first) < 2:
        return [job(part) for part in first]
    return _all(_readers(), job, chain(first, rest))


def decode_all[S](job: Callable[[S], None], parts: list[S]) -> None:
    """Do a decoding job for each part, spread over the decoders; never called from within a job."""
    if len(parts) < 2 or DECODERS < 2:
        for part in parts:
            job(part)
        return
    _all(_decoders(), job, iter(parts))


def _all[S, T](pool: ThreadPoolExecutor, job: Callable[[S], T], parts: Iterator[S]) -> list[T]:
    results: list[T] = []
    pending: deque[Future[T]] = deque(pool.submit(job, part) for part in islice(parts, _AHEAD))
    try:
        while pending:
            results.append(pending.popleft().result())
            pending.extend(pool.submit(job, part) for part in islice(parts, 1))
    finally:
        for future in pending:
            future.cancel()
    return results
