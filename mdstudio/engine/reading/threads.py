"""The threads that read and decode for queries: a few, shared by all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from mdstudio.engine.processors import available_processors

READERS = 8  # requests that wait at once
DECODERS = min(4, available_processors())


@cache
def _readers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(READERS, "read")


@cache
def _decoders() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(DECODERS, "decode")


def read_all[S, T](job: Callable[[S], T], parts: Iterable[S]) -> list[T]:
    """The results of a job for each part, in order; several at once where there is more than one."""
    parts = list(parts)
    if len(parts) < 2:
        return [job(part) for part in parts]
    return _all(_readers(), job, parts)


def decode_all[S](job: Callable[[S], None], parts: list[S]) -> None:
    """Do a decoding job for each part, spread over the decoders; never called from within a job."""
    if len(parts) < 2 or DECODERS < 2:
        for part in parts:
            job(part)
        return
    _all(_decoders(), job, parts)


def _all[S, T](pool: ThreadPoolExecutor, job: Callable[[S], T], parts: list[S]) -> list[T]:
    futures = [pool.submit(job, part) for part in parts]
    try:
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()
