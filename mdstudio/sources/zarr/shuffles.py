"""Documents of version 2 whose shuffle filter has no usable element size, as netcdf-c writes them: mended when read."""

from __future__ import annotations

import json
from typing import Any

import numpy as np


def with_sizes_of_shuffles(store: Any) -> Any:
    """The store, with the element size of every shuffle filter a number: text becomes one, 0 and none at all the size
    of an item. numcodecs would take 0 for no shuffle, and give values that are not those of the file (case 4)."""
    from zarr.storage import WrapperStore

    class Mended(WrapperStore[Any]):
        async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
            found = await super().get(key, prototype, byte_range)
            if found is None or not key.endswith(".zarray"):
                return found
            return prototype.buffer.from_bytes(_mended(found.to_bytes()))

    return Mended(store)


def _mended(text: bytes) -> bytes:
    document = json.loads(text)
    chain = [*(document.get("filters") or ()), document.get("compressor")]
    shuffles = [c for c in chain if isinstance(c, dict) and c.get("id") == "shuffle"]
    for codec in shuffles:
        size = int(codec.get("elementsize") or 0)
        codec["elementsize"] = size or np.dtype(document["dtype"]).itemsize
    return json.dumps(document).encode() if shuffles else text
