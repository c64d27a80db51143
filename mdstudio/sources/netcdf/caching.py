"""Chunks that many timesteps share are unpacked once, not once a timestep, within bounded memory.

Where the chunks of one slice fit in `MAX_VARIABLE`, the HDF5 chunk cache of the variable keeps them. Where they do not,
steps are read ahead, as many as `MAX_AHEAD` holds, so that each pass over the chunks gives many steps.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import numpy as np

from mdstudio.engine.model import Array
from mdstudio.sources.netcdf.describe import Binding

MAX_VARIABLE = 64 << 20
MAX_TOTAL = 256 << 20
MAX_AHEAD = 32 << 20
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


class ReadAhead:
    """Serves single timesteps in order from one larger read; holds at most `MAX_AHEAD` bytes."""

    def __init__(self) -> None:
        self._key: tuple[Any, ...] = ()
        self._next = -1
        self._start = 0
        self._values: Array | None = None

    def read(self, variable: Any, index: list[Any], time: int, chunk_steps: int, key: tuple[Any, ...]) -> Array:
        """`variable[index]`, where `index[time]` is a slice of steps; reads ahead once steps are asked for in order."""
        wanted = index[time]
        in_order = key == self._key and wanted.start == self._next and wanted.step == 1
        if not in_order:
            self._values = None
        self._key, self._next = key, wanted.stop
        if not in_order:
            return np.asarray(variable[tuple(index)])
        if not self._holds(wanted, time):
            stop = self._stop(variable, index, time, chunk_steps)
            self._start, self._values = wanted.start, None  # the old block goes before the new one comes
            self._values = np.asarray(variable[(*index[:time], slice(wanted.start, stop), *index[time + 1:])])
        place = slice(wanted.start - self._start, wanted.stop - self._start)
        assert self._values is not None
        return self._values[(*(slice(None),) * time, place)]

    def _holds(self, wanted: slice, time: int) -> bool:
        return self._values is not None and (
            self._start <= wanted.start and wanted.stop <= self._start + self._values.shape[time])

    def _stop(self, variable: Any, index: list[Any], time: int, chunk_steps: int) -> int:
        """Where to stop: as far as memory allows, at the end of a chunk where that is no shorter than asked for."""
        wanted = index[time]
        lengths = [len(range(*s.indices(n))) for i, (s, n) in enumerate(zip(index, variable.shape, strict=True))
                   if i != time]
        step_bytes = max(1, math.prod(lengths) * variable.dtype.itemsize)
        stop = min(int(variable.shape[time]), int(wanted.start) + MAX_AHEAD // step_bytes)
        if stop < variable.shape[time]:
            stop -= stop % chunk_steps if stop - stop % chunk_steps > wanted.start else 0
        return max(int(wanted.stop), int(stop))

    def forget(self) -> None:
        self._key, self._values = (), None
