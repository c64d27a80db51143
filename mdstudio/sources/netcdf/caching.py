"""Chunk caches: the chunks that one slice touches stay unpacked, so that the next step does not unpack them again."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

from mdstudio.sources.netcdf.describe import Binding

MAX_VARIABLE = 64 << 20
MAX_TOTAL = 256 << 20
_SMALL = 1 << 20


class ChunkCaches:
    """Sizes the HDF5 chunk cache of each variable as it is read.

    One row of chunks, at most `MAX_VARIABLE` (a single larger chunk is allowed, since HDF5 unpacks it whole anyway);
    all together at most `MAX_TOTAL`, the variable not read for longest giving up its cache first.
    """

    def __init__(self) -> None:
        self._sizes: OrderedDict[tuple[str, str], tuple[int, Any]] = OrderedDict()

    def prepare(self, path: str, binding: Binding, variable: Any) -> None:
        """Set the cache of `variable` if it is chunked and not set yet."""
        key = path, binding.variable
        if key in self._sizes:
            self._sizes.move_to_end(key)
            return
        chunks = variable.chunking()
        if not isinstance(chunks, list):  # contiguous, or NetCDF-3
            return
        size, count = cache_size(list(variable.shape), chunks, binding, variable.dtype.itemsize)
        self._sizes[key] = size, variable
        while len(self._sizes) > 1 and sum(s for s, _ in self._sizes.values()) > MAX_TOTAL:
            _, (_, oldest) = self._sizes.popitem(last=False)
            _set(oldest, _SMALL, 101)
        _set(variable, size, count)

    def forget(self) -> None:
        self._sizes.clear()


def cache_size(shape: list[int], chunks: list[int], binding: Binding, item_size: int) -> tuple[int, int]:
    """Bytes and slots for the chunks that all layers of one timestep touch, or one layer where that is too much."""
    chunk_bytes = math.prod(chunks) * item_size
    time, layer = binding.order[:2]
    across = [math.ceil(n / c) for n, c in zip(shape, chunks, strict=True)]
    row = math.prod(n for i, n in enumerate(across) if i not in (time, layer))
    layered = row * (across[layer] if layer >= 0 else 1)
    count = layered if layered * chunk_bytes <= MAX_VARIABLE else row
    size = max(_SMALL, chunk_bytes, min(MAX_VARIABLE, count * chunk_bytes))
    return size, min(100_003, 10 * count + 101) | 1


def _set(variable: Any, size: int, slots: int) -> None:
    try:
        variable.set_var_chunk_cache(size, slots, 0.75)
    except (RuntimeError, ValueError):
        return  # of a file that was closed since, or a format without caches: only speed is lost
