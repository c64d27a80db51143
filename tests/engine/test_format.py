"""The stored bytes are those of the specification: a reader that shares no code with the engine finds the values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.independent.comparing import same_as_the_values
from tests.engine.independent.reader import Reader
from tests.engine.made_datasets import KINDS, item, item_storage, kind_of, make, make_kind, smooth

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
    for name, array, layers in (("v", values, [-1]), ("w", layered, [0, 1])):
        for layer in layers:
            for time in range(5):
                assert reader.slice(name, layer, time).tobytes() == array[time, max(layer, 0)].tobytes()


@pytest.mark.rule("K1", "K2", "K5", "K9", "K10", "P1", "P6", "P7", "P8", "T1", "V1")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("grid", "grid-layered")])
def test_it_reads_every_kind(tmp_path: Path, kind: str, storage_type: Any) -> None:
    made = kind_of(kind)
    codecs = [("None", 3), ("DeflateFast", 2), ("ZstdFastAuto", 3)][:3 if storage_type in made.compressed else 1]
    for number, (compression, version) in enumerate(codecs if storage_type in made.layouts else ()):
        folder = tmp_path / str(number)
        make_kind(folder, made, storage_type, compression, version=version)
        same_as_the_values(Reader(folder), made)
