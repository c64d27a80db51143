"""Slices to stored pages: encode chunks with their own probe states, spread over workers without changing bytes (D9).

A slice of 16 tiles or more is cut into 4 fixed chunks. Chunk c of every slice of a unit runs on the same single thread,
in slice order, whatever the number of workers: so a chunk's probe state sees the same pages in the same order always.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

import numpy as np

from mdstudio.engine.layout.item_layout import ItemLayout
from mdstudio.engine.layout.page_index import ENTRY
from mdstudio.engine.layout.pages import PageEncoder
from mdstudio.engine.model import Array
from mdstudio.engine.progress import Progress
from mdstudio.engine.settings import encode_chunks


@dataclass(frozen=True)
class EncodedStep:
    """One timestep of one layer as stored: pages back to back, and their lengths, (pages,) int32."""

    data: bytes
    lengths: Array


class Workers:
    """Threads that each run their own queue in order; a context manager that drops what has not begun."""

    def __init__(self, count: int) -> None:
        self._threads = [ThreadPoolExecutor(1, f"encode-{i}") for i in range(count)]

    def submit[T](self, lane: int, job: Callable[..., T], *arguments: object) -> Future[T]:
        """Run a job after the earlier ones of its lane."""
        return self._threads[lane % len(self._threads)].submit(job, *arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for thread in self._threads:
            thread.shutdown(wait=True, cancel_futures=True)


class PendingStep:
    """A timestep whose pages are being encoded."""

    def __init__(self, layout: ItemLayout, values: Array, chunks: list[Future[list[bytes]]]) -> None:
        self._layout, self._values, self._chunks = layout, values, chunks

    def result(self) -> EncodedStep:
        """Wait for the pages; the first page of an all-no-data timestep is stored all the same (P5)."""
        pages = [page for chunk in self._chunks for page in chunk.result()]
        if not any(pages):
            pages[0] = PageEncoder(self._layout.format).encode(_page(self._layout, self._values, 0), even_if_empty=True)
        lengths = np.fromiter(map(len, pages), ENTRY, len(pages))
        return EncodedStep(b"".join(pages), lengths)


class StepEncoder:
    """Encodes the slices of one unit of work (an item's time group, or run of 32 steps) in the order they come (C6)."""

    def __init__(self, layout: ItemLayout, workers: Workers, progress: Progress) -> None:
        self._layout, self._workers, self._progress = layout, workers, progress
        self._chunks = [(start, stop, PageEncoder(layout.format)) for start, stop in encode_chunks(layout.tiles.pages)]

    def submit(self, values: Array) -> PendingStep:
        """Start on a (rows, columns) slice of the stored type; it must not change until its result is taken."""
        jobs = [
            self._workers.submit(lane, _encode_pages, self._layout, values, start, stop, encoder, self._progress)
            for lane, (start, stop, encoder) in enumerate(self._chunks)
        ]
        return PendingStep(self._layout, values, jobs)


def _encode_pages(
    layout: ItemLayout, values: Array, start: int, stop: int, encoder: PageEncoder, progress: Progress
) -> list[bytes]:
    pages = []
    for page in range(start, stop):
        progress.check()
        pages.append(encoder.encode(_page(layout, values, page)))
    return pages


def _page(layout: ItemLayout, values: Array, page: int) -> Array:
    """The elements of one page, row-major, contiguous."""
    tiles = layout.tiles
    part = values[tiles.row0[page]:tiles.row1[page], tiles.column0[page]:tiles.column1[page]]
    return np.ascontiguousarray(part)
