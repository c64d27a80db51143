"""An array of a store in the shape of a netCDF4 variable: raw values by slices, few decoded chunks kept."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mdstudio.engine.model import Array
from mdstudio.sources.zarr.attributes import is_text, plain_attributes
from mdstudio.sources.zarr.nodes import Node
from mdstudio.sources.zarr.shuffles import with_sizes_of_shuffles

_KEPT = 1 << 20


class ZarrVariable:
    """An array, with the part of netCDF4's interface that reading a file needs; one thread at a time.

    Attributes:
        failure: why it cannot be opened ("" where it can); `datatype` then says that its values are no numbers.
    """

    def __init__(self, name: str, where: str, node: Node, array: Any, shape: tuple[int, ...], dims: Sequence[Any],
                 failure: str) -> None:
        self.name, self.where, self.shape, self.failure = name, where, shape, failure
        self._node, self._array, self._dims = node, array, list(dims)
        self._limit = _KEPT
        self._blocks: OrderedDict[tuple[tuple[int, int], ...], Array] = OrderedDict()

    @cached_property
    def dtype(self) -> Any:
        """The type of the values; `str` for text, a void type for what is no number, float16 included."""
        if is_text(self._node.document):
            return str
        found = None if self._array is None else np.dtype(self._array.dtype)
        small = found is not None and found.kind == "f" and found.itemsize not in (4, 8)
        return np.dtype("V1") if found is None or small else found

    @property
    def datatype(self) -> Any:
        return self.dtype

    @cached_property
    def attributes(self) -> dict[str, Any]:
        return plain_attributes(self._node, None if self.dtype is str else self.dtype)

    def ncattrs(self) -> list[str]:
        return list(self.attributes)

    def getncattr(self, name: str) -> Any:
        return self.attributes[name]

    def get_dims(self) -> list[Any]:
        return self._dims

    def chunking(self) -> list[int]:
        return [int(n) for n in self._array.chunks]

    def set_var_chunk_cache(self, size: int, slots: int, preemption: float) -> None:
        """Bytes of decoded chunks that are kept; the two others have no meaning here."""
        self._limit = size
        self._drop()

    def __getitem__(self, index: Any) -> Array:
        """Stored values. Raises `OSError` naming the chunks that cannot be read."""
        slices = self._slices(index)
        lengths = [len(range(*s.indices(n))) for s, n in zip(slices, self.shape, strict=True)]
        if 0 in lengths:
            return np.empty(lengths, self.dtype)
        box = self._box(slices)
        if math.prod(b - a for a, b in box) * np.dtype(self.dtype).itemsize > self._limit:
            return self._read(tuple(slices))
        if box not in self._blocks:
            self._blocks[box] = self._read(tuple(slice(a, b) for a, b in box))
        self._blocks.move_to_end(box)
        self._drop()
        inside = []
        for wanted, size, (first, _) in zip(slices, self.shape, box, strict=True):
            start, stop, step = wanted.indices(size)
            inside.append(slice(start - first, stop - first, step))
        return np.array(self._blocks[box][tuple(inside)])

    def _slices(self, index: Any) -> list[slice]:
        given = list(index) if isinstance(index, tuple) else [index]
        if Ellipsis in given:
            at = given.index(Ellipsis)
            given[at:at + 1] = [slice(None)] * (len(self.shape) - len(given) + 1)
        given += [slice(None)] * (len(self.shape) - len(given))
        return [s if isinstance(s, slice) else slice(int(s), int(s) + 1) for s in given]

    def _box(self, slices: Sequence[slice]) -> tuple[tuple[int, int], ...]:
        """The whole chunks that hold the slices."""
        box = []
        for wanted, size, chunk in zip(slices, self.shape, self.chunking(), strict=True):
            steps = range(*wanted.indices(size))
            box.append((steps[0] - steps[0] % chunk, min(size, (steps[-1] // chunk + 1) * chunk)))
        return tuple(box)

    def _drop(self) -> None:
        total = sum(block.nbytes for block in self._blocks.values())
        while total > self._limit and len(self._blocks) > 1:
            total -= self._blocks.popitem(last=False)[1].nbytes

    def _read(self, slices: tuple[slice, ...]) -> Array:
        try:
            return np.asarray(self._array[slices])
        except Exception as error:  # zarr-python hands on what each codec raises
            raise OSError(f"{self._damaged(slices)}: {_reason(error)}") from None

    def _damaged(self, slices: tuple[slice, ...]) -> str:
        """The first chunk among these that cannot be decoded, and how many others can."""
        spans = [range(a // c, -(-b // c)) for (a, b), c in zip(self._box(slices), self.chunking(), strict=True)]
        bad, whole = "", 0
        for place in itertools.islice(itertools.product(*spans), 256):
            try:
                self._array[tuple(slice(p * c, (p + 1) * c) for p, c in zip(place, self.chunking(), strict=True))]
                whole += 1
            except Exception:
                bad = bad or f"the chunk {'.'.join(map(str, place))} of {_title(self._node.path)} is damaged"
        return f"{bad or 'the array cannot be decoded'} ({whole} others asked for are whole)"


def _title(path: str) -> str:
    return f"the array '{path}'" if path else "the array"


def open_array(store: Any, path: str, version: int) -> tuple[Any, str]:
    """zarr-python's array, or None and the reason why it cannot be opened."""
    import zarr

    try:
        if version == 2:
            store = with_sizes_of_shuffles(store)
        return zarr.open_array(store, path=path, mode="r", zarr_format=2 if version == 2 else 3), ""
    except Exception as error:  # of every kind: unknown codecs, types, chunk grids
        return None, f"{_title(path)} cannot be opened: {_reason(error)}"


def codecs_missing(node: Node) -> str:
    """Says which codecs of an array nobody has registered here; "" where all are there."""
    unknown = [name for name in _codecs(node) if not _known(name, node.version)]
    if not unknown:
        return ""
    return (f"{_title(node.path)} is packed with '{unknown[0]}', which is not installed here "
            f"(a package that registers the codec '{unknown[0]}' with {'zarr' if node.version == 3 else 'numcodecs'})")


def _codecs(node: Node) -> list[str]:
    if node.version == 2:
        chain = [*(node.document.get("filters") or ()), node.document.get("compressor")]
        return [str(c.get("id")) for c in chain if isinstance(c, dict)]
    found: list[str] = []
    _collect(node.document.get("codecs") or (), found)
    return found


def _collect(codecs: Any, found: list[str]) -> None:
    for codec in codecs:
        if isinstance(codec, str):
            found.append(codec)
        elif isinstance(codec, dict):
            found.append(str(codec.get("name")))
            inner = codec.get("configuration") or {}
            for part in ("codecs", "index_codecs"):
                _collect(inner.get(part) or (), found)


def _known(name: str, version: int) -> bool:
    if version == 2:
        import numcodecs

        try:
            numcodecs.registry.get_codec({"id": name})
        except TypeError:
            return True  # known, it only wants its parameters
        except Exception:
            return False
        return True
    from zarr.registry import get_codec_class

    try:
        get_codec_class(name)
    except Exception:
        return False
    return True


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
