"""Compares what the second reader finds with the arrays that a dataset was made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from tests.engine.independent.document import Values
from tests.engine.independent.reader import Reader


class Made(Protocol):
    """(time, layer, row, column) by item name, as `made_datasets.Made` has them."""

    @property
    def values(self) -> Mapping[str, Values]: ...


def same_as_the_values(reader: Reader, made: Made) -> None:
    """Every slice that a second reader finds has the values of the kind."""
    if reader.document.storage_type == "MultiTimestep":
        reader.check_blocks()
    for item in reader.document.items:
        for layer in item.blob_layers:
            for time in range(reader.times):
                wanted = made.values[item.name][time, max(layer, 0)]
                found = reader.slice(item.name, layer, time)
                if reader.document.is_mesh:
                    wanted, found = wanted[0], reader.in_source_order(item.name, found)
                if item.kind == "ZLevel":
                    used = reader.used_nodes_in_source()
                    wanted, found = wanted.reshape(len(found), -1)[used], found[used]
                assert found.shape == wanted.shape
                assert found.tobytes() == np.ascontiguousarray(wanted).tobytes()
