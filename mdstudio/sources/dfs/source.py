"""The source of DHI files: describes one file by its header, then reads one item of one time step at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mdstudio.engine.errors import NotFoundError, SourceError, UsageError
from mdstudio.engine.model import Array, Description, Dropped
from mdstudio.sources.dfs.describe import Described, describe_file, describe_mesh
from mdstudio.sources.dfs.library import MESH, open_file, reading, require_file, require_library


class DfsSource:
    """One DHI file as something to import (`sources.contract.Source`); one thread at a time.

    Rows and columns are those of the file, the first row in the south; layers count from the bottom. Values are the
    file's own, its delete values the items' no-data.

    Args:
        paths: one file; the times of several are joined with `--append`.
        double_as_float: float64 items are described and read as float32 (W4).
    """

    def __init__(self, paths: Sequence[str], *, double_as_float: bool = False) -> None:
        if len(paths) != 1:
            raise UsageError(f"One DHI file is imported at a time, {len(paths)} are named.", where=paths[1],
                             advice="Import the first, then each further one with --append.")
        self._path = paths[0]
        self._double_as_float = double_as_float
        self._file: Any = None
        self._described: Described | None = None
        self._last: tuple[tuple[int, int], Array] | None = None
        self._overflows = 0

    def __enter__(self) -> DfsSource:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, so that it can be moved or deleted on every platform."""
        self._last = None
        if self._file is not None:
            with reading(self._path, "The file"):
                self._file.Close()
            self._file = None

    def descriptions(self) -> Sequence[Description]:
        """One description; the header, the mesh and of files with uneven steps their times are read.

        Raises `SourceError`, `UnsupportedError`, `NotFoundError` or `AccessError` naming the file and the reason.
        """
        return [self._part().description]

    def dropped(self) -> Sequence[Dropped]:
        """The description's notes, and after reading the values that float32 could not hold (DoubleAsFloat)."""
        found = list(self._part().description.dropped)
        if self._overflows:
            found.append(Dropped("values", "beyond the range of float32: stored as infinite", self._overflows))
        return found

    def read(self, description: Description, item: str, times: slice, layer: int, rows: slice, columns: slice) -> Array:
        """(time, row, column) stored values, C-contiguous, little-endian; of a mesh one row of all elements, 3-D
        elements or nodes in the file's order.

        Cost: the item's whole time steps; the layers of one step that follow each other read it once. Raises
        `SourceError` naming file and item; `NotFoundError` for an unknown item.
        """
        part = self._part()
        if item not in part.bindings:
            raise NotFoundError(f"There is no item '{item}'.", where=self._path)
        binding = part.bindings[item]
        wanted = range(*times.indices(len(part.description.times)))
        shape = part.shape[-2:]
        size = [len(range(*s.indices(n))) for s, n in zip((rows, columns), shape, strict=True)]
        out = np.empty((len(wanted), *size), binding.target)
        for at, step in enumerate(wanted):
            values = self._step(binding.number, step, item)
            values = values.reshape(part.shape)[max(layer, 0)] if len(part.shape) == 3 else values.reshape(shape)
            out[at] = self._stored(values[rows, columns], binding.delete, binding.target)
        return out

    def _step(self, number: int, step: int, item: str) -> Array:
        """All values of an item at one time, flat, in the file's type."""
        part = self._part()
        if part.constant is not None:
            return part.constant
        if self._last is None or self._last[0] != (number, step):
            with reading(self._path, f"The item '{item}' at time step {step}"):
                self._open()
                data = self._file.ReadItemTimeStep(number, step)
            if data is None:
                raise self._cut_off(number, step, item)
            self._last = (number, step), np.asarray(data.Data)
        return self._last[1]

    def _cut_off(self, number: int, step: int, item: str) -> SourceError:
        """For a step that the library does not find, though the header announces it."""
        part = self._part()
        with reading(self._path, f"The item '{item}'"):
            whole = next((s for s in range(step, 0, -1) if self._file.ReadItemTimeStep(number, s - 1) is not None), 0)
        could = f"the first {whole} of {len(part.description.times)} time steps can be read" if whole else (
            "none of its time steps can be read")
        return SourceError(f"The file is damaged: the item '{item}' at time step {step} is not in it; {could}.",
                           where=self._path, advice="It was cut off or not written to its end; fetch it again.")

    def _stored(self, values: Array, delete: float | int | None, target: np.dtype[Any]) -> Array:
        if values.dtype == target or target.kind != "f":
            return values
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            out = values.astype(target)
        self._overflows += int((np.isinf(out) & np.isfinite(values)).sum())
        if delete is not None:  # a double's delete value is no float32: the item's own stands for it
            out[values == values.dtype.type(delete)] = self._part().delete_float
        return out

    def _open(self) -> None:
        if self._file is None:
            self._file = open_file(self._path)

    def _part(self) -> Described:
        if self._described is None:
            require_library(self._path)
            require_file(self._path)
            try:
                if self._path.lower().endswith(MESH):
                    self._described = describe_mesh(self._path, self._double_as_float)
                else:
                    self._open()
                    self._described = describe_file(self._file, self._path, self._double_as_float)
            except BaseException:
                self.close()
                raise
        return self._described
