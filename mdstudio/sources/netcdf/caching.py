"""Chunks that many timesteps share are unpacked once, not once a timestep, within bounded memory.

Where the chunks of one slice fit in `MAX_VARIABLE`, the HDF5 chunk cache of the variable keeps them. Where they do not,
steps are read ahead, as many as `MAX_AHEAD` holds, so that each pass over the chunks gives many steps.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from mdstudio.engine.model import Array
from mdstudio.sources.netcdf.describe import Binding

MAX_VARIABLE = 64 << 20
MAX_TOTAL = 256 << 20
MAX_AHEAD = 32 << 20
MAX_STREAMS = 64
_SMALL = 1 << 20


class ChunkCaches:
    """Sizes the chunk cache of each variable as it is read; all together at most `MAX_TOTAL`, the variable not read for
    longest giving up its cache first."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[tuple[str, str], tuple[int, int, Any, Any]] = OrderedDict()

    def prepare(self, path: str, dataset: Any, binding: Binding, variable: Any) -> int:
        """Set the cache of `variable` of the open `dataset` if it is chunked and not set yet.

        Gives the timesteps a chunk spans where the cache cannot hold the chunks of a slice and steps should be read
        ahead; else 0.
        """
        key = path, binding.variable
        if key in self._sizes and self._sizes[key][3] is dataset:  # not of the file as it was open before
            self._sizes.move_to_end(key)
            return self._sizes[key][1]
        chunks = variable.chunking()
        if not isinstance(chunks, list):  # contiguous, or NetCDF-3
            return 0
        row, count, chunk_bytes = slice_chunks(list(variable.shape), chunks, binding, variable.dtype.itemsize)
        time = binding.order[0]
        ahead = chunks[time] if time >= 0 and chunks[time] > 1 and row * chunk_bytes > MAX_VARIABLE else 0
        size = _SMALL if ahead else max(_SMALL, chunk_bytes, min(MAX_VARIABLE, count * chunk_bytes))
        self._sizes[key] = size, ahead, variable, dataset
        self._sizes.move_to_end(key)
        while len(self._sizes) > 1 and sum(s[0] for s in self._sizes.values()) > MAX_TOTAL:
            _, (_, _, oldest, _) = self._sizes.popitem(last=False)
            _set(oldest, _SMALL, 101)
        _set(variable, size, min(100_003, 10 * count + 101) | 1)
        return ahead

    def forget(self) -> None:
        self._sizes.clear()


def slice_chunks(shape: list[int], chunks: list[int], binding: Binding, item_size: int) -> tuple[int, int, int]:
    """Chunks that one slice touches; chunks to keep (those of all layers where they fit); bytes of a chunk."""
    chunk_bytes = math.prod(chunks) * item_size
    time, layer = binding.order[:2]
    across = [math.ceil(n / c) for n, c in zip(shape, chunks, strict=True)]
    fixed = [position for position, _ in binding.fixed]
    row = math.prod(n for i, n in enumerate(across) if i not in (time, layer, *fixed))
    layered = row * (across[layer] if layer >= 0 else 1)
    return row, layered if layered * chunk_bytes <= MAX_VARIABLE else row, chunk_bytes


def _set(variable: Any, size: int, slots: int) -> None:
    try:
        variable.set_var_chunk_cache(size, slots, 0.75)
    except (RuntimeError, ValueError):
        return  # of a file that was closed since, or a format without caches: only speed is lost


@dataclass
class _Stream:
    """The steps of one layer and rectangle of a variable: the step expected next, and those read ahead."""

    next: int = -1
    start: int = 0
    values: Array | None = None


class ReadAhead:
    """Serves timesteps that are asked for in order from larger reads; holds at most `MAX_AHEAD` bytes.

    Each layer and rectangle is a stream of its own, since an import may read all layers of a step before the next step;
    the streams of a variable share the memory, and end when another variable is read.
    """

    def __init__(self) -> None:
        self._variable: tuple[Any, ...] = ()
        self._streams: OrderedDict[tuple[Any, ...], _Stream] = OrderedDict()

    def read(self, variable: Any, index: list[Any], time: int, chunk_steps: int, name: tuple[Any, ...],
             part: tuple[Any, ...]) -> Array:
        """`variable[index]`, where `index[time]` is a slice of steps; `name` tells variables apart, `part` streams."""
        if name != self._variable:
            self.forget()
            self._variable = name
        stream = self._streams.setdefault(part, _Stream())
        self._streams.move_to_end(part)
        if len(self._streams) > MAX_STREAMS:
            self._streams.popitem(last=False)
        wanted = index[time]
        in_order = wanted.start == stream.next and wanted.step == 1
        stream.next = wanted.stop
        if not in_order:
            stream.values = None
            return np.asarray(variable[tuple(index)])
        if stream.values is None or wanted.stop > stream.start + stream.values.shape[time]:
            stream.values = None  # the old block goes before the new one comes
            stream.start = wanted.start
            stop = self._stop(variable, index, time, chunk_steps)
            stream.values = np.asarray(variable[(*index[:time], slice(wanted.start, stop), *index[time + 1:])])
        place = slice(wanted.start - stream.start, wanted.stop - stream.start)
        return np.array(stream.values[(*(slice(None),) * time, place)])  # a view would keep the whole block

    def _stop(self, variable: Any, index: list[Any], time: int, chunk_steps: int) -> int:
        """Where to stop: as far as memory allows, at the end of a chunk where that is no shorter than asked for."""
        wanted = index[time]
        lengths = [len(range(*s.indices(n))) for i, (s, n) in enumerate(zip(index, variable.shape, strict=True))
                   if i != time]
        step_bytes = max(1, math.prod(lengths) * variable.dtype.itemsize)
        stop = min(int(variable.shape[time]), int(wanted.start) + MAX_AHEAD // len(self._streams) // step_bytes)
        if stop < variable.shape[time]:
            stop -= stop % chunk_steps if stop - stop % chunk_steps > wanted.start else 0
        return max(int(wanted.stop), int(stop))

    def forget(self) -> None:
        self._variable = ()
        self._streams.clear()
