"""The NetCDF source: describes files, then reads hyperslabs of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mdstudio.engine.errors import NotFoundError, SourceError
from mdstudio.engine.model import NO_LAYER, Array, Description, Dropped, MeshDomain, values_of
from mdstudio.sources.netcdf.caching import ChunkCaches, ReadAhead
from mdstudio.sources.netcdf.companions import describe_files
from mdstudio.sources.netcdf.describe import Binding
from mdstudio.sources.netcdf.join import Joined, join
from mdstudio.sources.netcdf.opening import FilePool, open_dataset, plain
from mdstudio.sources.netcdf.view import native


class NetcdfSource:
    """One or several NetCDF files as one thing to import (`sources.contract.Source`); one thread at a time.

    Args:
        paths: files; several are joined by time.
        policy: `keep-last`, `keep-first` or `fail`, for times that repeat within or between files (case 8).
        double_as_float: float64 items are described and read as float32 (W4).
        open_file: gives the data set of a path as netCDF4 does; Zarr stores have their own.
    """

    def __init__(self, paths: Sequence[str], policy: str = "keep-last", *, double_as_float: bool = False,
                 open_file: Callable[[str], Any] = open_dataset) -> None:
        self._paths = list(paths)
        self._policy = policy
        self._double_as_float = double_as_float
        self._files = FilePool(open_file)
        self._caches = ChunkCaches()
        self._ahead = ReadAhead()
        self._joined: dict[str, Joined] | None = None
        self._overflows = 0

    def __enter__(self) -> NetcdfSource:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files, so that they can be moved or deleted on every platform."""
        self._caches.forget()
        self._ahead.forget()
        self._files.close()

    def descriptions(self) -> Sequence[Description]:
        """One description for each grid and time axis, those with times first; coordinates are read, no data.

        Raises `SourceError`, `NotFoundError` or `AccessError` naming the file and the reason; nothing stays open then.
        """
        return [j.description for j in self._parts().values()]

    def dropped(self) -> Sequence[Dropped]:
        """Notes of all descriptions, and after reading the values that float32 could not hold (DoubleAsFloat)."""
        found = dict.fromkeys(n for d in self.descriptions() for n in d.dropped)
        if self._overflows:
            found[Dropped("values", "beyond the range of float32: stored as infinite", self._overflows)] = None
        return list(found)

    def read(self, description: Description, item: str, times: slice, layer: int, rows: slice,
             columns: slice) -> Array:
        """(time, row, column) stored values, C-contiguous, little-endian, in the item's type; of a mesh one row of all
        elements or nodes in the file's order.

        Cost: the hyperslab; of a chunked file the chunks it touches. Steps read in order unpack a chunk that spans many
        of them once, or, where the chunks of one slice exceed 64 MB, once for each 32 MB of slices. Raises
        `SourceError` naming file and variable; `NotFoundError` for an unknown item.
        """
        part = self._parts().get(description.name)
        if part is None or item not in part.bindings[0]:
            raise NotFoundError(f"There is no item '{item}' in the grid '{description.name}'.", where=self._paths[0])
        wanted = range(*times.indices(len(part.file_of_step)))
        whole = _shape(part.description, item)
        row_range, column_range = range(*rows.indices(whole[0])), range(*columns.indices(whole[1]))
        binding = part.bindings[0][item]
        shape = len(wanted), len(row_range), len(column_range)
        if 0 in shape:
            return np.empty(shape, binding.target)
        runs = _runs(part.file_of_step[list(wanted)], part.index_of_step[list(wanted)])
        blocks = (self._read_run(self._paths[file], part.bindings[file][item], steps, layer, row_range, column_range)
                  for file, steps in runs)
        if len(runs) == 1:  # no copy of what the library gave
            return next(blocks)
        out, at = np.empty(shape, binding.target), 0
        for block in blocks:
            out[at:at + len(block)] = block
            at += len(block)
        return out

    def _read_run(self, path: str, binding: Binding, steps: range, layer: int, rows: range, columns: range) -> Array:
        """(time, row, column) values of evenly spaced steps of one file, C-contiguous."""
        dataset = self._files.get(path)
        try:
            variable = dataset[binding.variable]
            chunk_steps = self._caches.prepare(path, dataset, binding, variable)
            index: list[Any] = [slice(None)] * len(variable.shape)
            for position, value in binding.fixed:
                index[position] = slice(value, value + 1)
            layer_index = max(layer, 0) if layer != NO_LAYER else 0
            for position, wanted in zip(binding.order, (steps, range(layer_index, layer_index + 1), rows, columns),
                                        strict=True):
                if position >= 0:
                    index[position] = _slice(wanted)
            if chunk_steps:
                values = self._ahead.read(variable, index, binding.order[0], chunk_steps, (path, binding.variable),
                                          (binding.fixed, layer_index, rows, columns))
            else:
                values = np.asarray(variable[tuple(index)])
        except (RuntimeError, OSError, IndexError, KeyError, MemoryError) as error:
            raise SourceError(f"The variable '{binding.variable}' cannot be read: {plain(error)}.",
                              where=path) from None
        return self._placed(native(values), binding, (len(steps), len(rows), len(columns)), path)

    def _placed(self, values: Array, binding: Binding, shape: tuple[int, int, int], path: str) -> Array:
        """Transposed to (time, row, column), to the bit; only DoubleAsFloat converts."""
        time, _, row, column = binding.order
        wanted = [i for i in (time, row, column) if i >= 0]
        values = values.transpose(*(i for i in range(values.ndim) if i not in wanted), *wanted)
        if values.size != math.prod(shape):
            raise SourceError(f"The variable '{binding.variable}' gave {values.size} values instead of "
                              f"{math.prod(shape)}.", where=path)
        values = np.ascontiguousarray(values.reshape(shape))
        if binding.stored == binding.target:
            return values.view(binding.stored)  # _Unsigned: the same bits under another type
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            out = values.astype(binding.target)
        self._overflows += int((np.isinf(out) & np.isfinite(values)).sum())
        return out

    def _parts(self) -> dict[str, Joined]:
        if self._joined is None:
            try:
                described = describe_files(self._paths, self._files, self._policy, self._double_as_float)
                self._paths = list(described)  # without those that gave a mesh only
                joined = join(self._paths, list(described.values()), self._policy)
                self._joined = {j.description.name: j for j in joined}
            except BaseException:
                self.close()
                raise
        return self._joined


def _shape(description: Description, item: str) -> tuple[int, int]:
    """Rows and columns of a slice of an item."""
    domain = description.domain
    if isinstance(domain, MeshDomain):
        return 1, values_of(domain, next(i for i in description.items if i.name == item))
    return domain.rows, domain.columns


def _slice(wanted: range) -> slice:
    if wanted.step < 1:
        raise IndexError(f"steps backwards are not read ({wanted})")
    return slice(wanted.start, wanted.stop, wanted.step)


def _runs(files: Array, steps: Array) -> list[tuple[int, range]]:
    """Stretches of one file whose steps are evenly spaced: each is one read."""
    runs: list[tuple[int, range]] = []
    for file, step in zip(files.tolist(), steps.tolist(), strict=True):
        if runs and runs[-1][0] == file:
            last = runs[-1][1]
            stride = step - last[-1]
            if stride > 0 and (len(last) == 1 or stride == last.step):
                runs[-1] = (file, range(last[0], step + 1, stride))
                continue
        runs.append((file, range(step, step + 1)))
    return runs
