"""The GRIB source: describes files by the headers of their messages, then decodes one message at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from mdstudio.engine.errors import NotFoundError, SourceError
from mdstudio.engine.model import Array, Description, Dropped, MeshDomain
from mdstudio.sources.grib.checks import check_message
from mdstudio.sources.grib.describe import Part, Problems, describe
from mdstudio.sources.grib.fields import Field
from mdstudio.sources.grib.framing import message_bytes
from mdstudio.sources.grib.library import UndecodableError, opened

CACHE_BYTES = 64 << 20  # of decoded fields that are kept; one field is, whatever its size


class GribSource:
    """One or several GRIB files as one thing to import (`sources.contract.Source`); one thread at a time.

    Values are ecCodes' own float64, points without a value NaN, in the rows and columns of the file. No file stays open
    between reads.

    Args:
        paths: files; their messages count as those of one file, in this order.
        policy: `keep-last`, `keep-first` or `fail`, for several messages of one valid time (`grouping.groups_of`).
        double_as_float: items are described and read as float32 (W4).
        strict: damage, and index lines that disagree with the messages, are errors; else they are counted.
    """

    def __init__(self, paths: Sequence[str], policy: str = "keep-last", *, double_as_float: bool = False,
                 strict: bool = False) -> None:
        self._paths = list(paths)
        self._policy, self._strict = policy, strict
        self._type = np.dtype("<f4" if double_as_float else "<f8")
        self._problems = Problems(self._paths, strict)
        self._parts: dict[str, Part] | None = None
        self._decoded: OrderedDict[Field, Array] = OrderedDict()
        self._undecoded: set[Field] = set()
        self._overflows: dict[Field, int] = {}

    def __enter__(self) -> GribSource:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget the decoded fields."""
        self._decoded.clear()

    def descriptions(self) -> Sequence[Description]:
        """One description for each grid; headers are read, no data.

        Raises `SourceError`, `NotFoundError` or `AccessError` naming the file and the reason.
        """
        return [p.description for p in self._described().values()]

    def dropped(self) -> Sequence[Dropped]:
        """Notes of all descriptions, and after reading the messages that could not be decoded and the values that
        float32 could not hold (DoubleAsFloat)."""
        found = dict.fromkeys(n for d in self.descriptions() for n in d.dropped)
        found |= dict.fromkeys(self._problems.dropped())
        overflows = sum(self._overflows.values())
        if overflows:
            found[Dropped("values", "beyond the range of float32: stored as infinite", overflows)] = None
        return list(found)

    def read(self, description: Description, item: str, times: slice, layer: int, rows: slice,
             columns: slice) -> Array:
        """(time, row, column) values, C-contiguous, little-endian, NaN where no message or no value is.

        Cost: each message of these times is decoded whole, unless it is among the last ones; memory: the answer, one
        message and `CACHE_BYTES`. A message that cannot be decoded counts as damaged and gives NaN; in strict mode it
        raises `SourceError`, as a file that has changed does. `NotFoundError` for an unknown item.
        """
        part = self._described().get(description.name)
        if part is None or item not in part.slots:
            raise NotFoundError(f"There is no item '{item}' in the grid '{description.name}'.", where=self._paths[0])
        domain, stamps = part.description.domain, part.description.times.microseconds
        shape = (1, domain.elements) if isinstance(domain, MeshDomain) else (domain.rows, domain.columns)
        window = rows, columns
        size = [len(range(*s.indices(n))) for s, n in zip(window, shape, strict=True)]
        wanted = range(*times.indices(len(stamps)))
        out = np.empty((len(wanted), *size), self._type)
        for at, step in enumerate(wanted):
            field = part.slots[item].get((int(stamps[step]), max(layer, 0)))
            values = None if field is None else self._values(part, field)
            out[at] = np.nan if values is None else values.reshape(shape)[window]
        return out

    def _values(self, part: Part, field: Field) -> Array | None:
        """All values of a field in rows and columns; None for one that cannot be decoded."""
        if field in self._decoded:
            self._decoded.move_to_end(field)
            return self._decoded[field]
        if field in self._undecoded:
            return None
        grid = part.grids[field.grid]
        try:
            values = self._decode(field, grid.points)
            if values.size != grid.points:
                raise UndecodableError(f"{values.size} values for {grid.points} points")
        except UndecodableError as error:
            self._undecoded.add(field)
            self._problems.add("messages", f"whose data cannot be decoded, no data in their place: {error}",
                               field.place.file, field.place.offset)
            return None
        placed = values if grid.scanning is None else grid.scanning.placed(values)
        self._keep(field, self._stored(field, placed))
        return self._decoded[field]

    def _decode(self, field: Field, points: int) -> Array:
        path = self._paths[field.place.file]
        try:
            message = message_bytes(path, field.place)
        except OSError as error:
            raise SourceError(f"The file cannot be read: {error.strerror or error}.", where=path) from None
        check_message(message, points)
        with opened(message) as header:
            return header.values()

    def _stored(self, field: Field, values: Array) -> Array:
        if values.dtype == self._type:
            return values
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            out = values.astype(self._type)
        if self._type.itemsize == 4:
            self._overflows[field] = int((np.isinf(out) & np.isfinite(values)).sum())
        return out

    def _keep(self, field: Field, values: Array) -> None:
        self._decoded[field] = values
        total = sum(v.nbytes for v in self._decoded.values())
        while total > CACHE_BYTES and len(self._decoded) > 1:
            total -= self._decoded.popitem(last=False)[1].nbytes

    def _described(self) -> dict[str, Part]:
        if self._parts is None:
            parts = describe(self._paths, self._policy, self._type.itemsize == 4, self._problems)
            self._parts = {p.description.name: p for p in parts}
        return self._parts
