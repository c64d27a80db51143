"""The stored bytes are those of the specification: a reader that shares no code with the engine finds the values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.independent_reader import Reader
from tests.engine.made_datasets import item, item_storage, make, smooth

STORAGE_TYPES = ("SingleTimestep", "MultiTimestep", "TimeSeries")


@pytest.mark.rule("K9", "C3", "C4", "P1", "P5", "P7", "P8", "T1", "T3", "T4", "V1")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize(("compression", "version"), [
    ("None", 3), ("DeflateFast", 3), ("DeflateOptimal", 2), ("LZ4", 3), ("LZ4", 2), ("LZ4", 1)])
@pytest.mark.parametrize("fixed_step", [True, False])
def test_a_reader_made_from_the_specification_alone_reads_every_layout(
    tmp_path: Path, storage_type: Any, compression: str, version: int, fixed_step: bool
) -> None:
    values = smooth(5, 1, 11, 13)
    values[:, :, :8, 8:16] = -1
    values[2] = -1
    layered = smooth(5, 2, 11, 13, "float32", seed=1)
    layered[1, 1] = np.nan
    make(tmp_path / "d", {"v": values, "w": layered},
         item_storage(storage_type, compression, width=4, version=version, fixed_step=fixed_step, block_rows=6),
         (item("v", values, -1), item("w", layered, float("nan"), True)))
    reader = Reader(tmp_path / "d")
    for number, (array, layers) in enumerate(((values, [-1]), (layered, [0, 1]))):
        for layer in layers:
            for time in range(5):
                cells = reader.slice(number, layer, time)
                slice_ = array[time, max(layer, 0)]
                assert cells == {(r, c): slice_[r, c].tobytes() for r in range(11) for c in range(13)}
