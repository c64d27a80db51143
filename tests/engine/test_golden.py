"""Datasets that earlier builds wrote stay readable: `golden/` holds one of every layout and version, never edited.

Each is a zip of its folder. `PYTHONPATH=. python tests/engine/test_golden.py` makes those that are not there yet.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.model import Array, ItemStorage
from mdstudio.engine.requests import MapRequest, SeriesRequest
from tests.engine.independent.reader import Reader
from tests.engine.made_datasets import axis, item, item_storage, make, same_bits

GOLDEN = Path(__file__).parent / "golden"
STORAGE_TYPES: tuple[Any, ...] = ("SingleTimestep", "MultiTimestep", "TimeSeries")
VERSIONS = (("None", 3), ("DeflateFast", 2), ("DeflateFast", 3), ("LZ4", 1), ("LZ4", 2))


def values() -> tuple[Array, Array]:
    """(5 times, 1 layer) int16 with an all-no-data page and timestep; (5, 2) float32 with NaN."""
    plain = (np.arange(5 * 7 * 8).reshape(5, 1, 7, 8) * 37 % 101).astype("<i2")
    plain[:, :, :4, 4:] = -1
    plain[3] = -1
    layered = (np.arange(5 * 2 * 7 * 8).reshape(5, 2, 7, 8) * 0.25).astype("<f4")
    layered[1, :, 2:5] = np.nan
    return plain, layered


def kept(storage_type: Any, compression: str, version: int) -> ItemStorage:
    return item_storage(storage_type, compression, width=4, group=3, block_rows=6, version=version)


def archive(storage_type: str, compression: str, version: int) -> Path:
    return GOLDEN / f"{storage_type}-{compression}-{version}.zip".lower()


def extracted(folder: Path, storage_type: str, compression: str, version: int) -> Path:
    """The golden dataset's folder, unpacked."""
    with zipfile.ZipFile(archive(storage_type, compression, version)) as packed:
        packed.extractall(folder)
    return folder


def write(folder: Path, storage: ItemStorage) -> Dataset:
    plain, layered = values()
    return make(folder, {"p": plain, "Layered": layered}, storage,
                (item("p", plain, -1), item("Layered", layered, float("nan"), True)))


CASES = [(storage_type, *version) for storage_type in STORAGE_TYPES for version in VERSIONS]


@pytest.mark.rule("D17", "C9", "V1", "C4")
@pytest.mark.parametrize(("storage_type", "compression", "version"), CASES)
def test_a_golden_dataset_is_read_to_the_bit(
    tmp_path: Path, storage_type: Any, compression: str, version: int
) -> None:
    dataset = Dataset.open(str(extracted(tmp_path, storage_type, compression, version)))
    plain, layered = values()
    assert dataset.metadata.storage == kept(storage_type, compression, version)
    assert dataset.metadata.times == axis(5)
    for time in range(5):
        assert same_bits(dataset.map(MapRequest("p", time)).stored, plain[time, 0])
        for layer in range(2):
            assert same_bits(dataset.map(MapRequest("Layered", time, layer)).stored, layered[time, layer])
    series = dataset.series(SeriesRequest("p", ((1.0, 2.0), (7.0, 6.0)))).stored
    assert same_bits(np.ascontiguousarray(series), np.ascontiguousarray(plain[:, 0, [2, 6], [1, 7]]))


@pytest.mark.rule("D17", "C9", "V1", "C4", "P11")
@pytest.mark.parametrize(("storage_type", "compression", "version"), CASES)
def test_a_reader_written_from_the_specification_alone_reads_the_same(
    tmp_path: Path, storage_type: Any, compression: str, version: int
) -> None:
    reader = Reader(extracted(tmp_path, storage_type, compression, version), as_written=True)
    if storage_type == "MultiTimestep":
        reader.check_blocks()
    plain, layered = values()
    for time in range(5):
        assert same_bits(reader.slice("p", -1, time), plain[time, 0])
        assert all(same_bits(reader.slice("Layered", layer, time), layered[time, layer]) for layer in range(2))


@pytest.mark.rule("K9", "P7", "P8", "P11")
@pytest.mark.parametrize("storage_type", STORAGE_TYPES)
def test_raw_data_is_still_written_byte_for_byte(tmp_path: Path, storage_type: Any) -> None:
    """Compressed bytes may change with their libraries; what is raw may not."""
    golden = extracted(tmp_path / "golden", storage_type, "None", 3)
    write(tmp_path / "d", kept(storage_type, "None", 3))
    for path in golden.rglob("*.dat"):
        assert (tmp_path / "d" / path.relative_to(golden)).read_bytes() == path.read_bytes()


def make_missing() -> None:
    """Write the golden datasets that are not there."""
    GOLDEN.mkdir(exist_ok=True)
    for case in CASES:
        if archive(*case).exists():
            continue
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive(*case), "w") as zipped:
            write(Path(folder) / "d", kept(*case))
            for path in sorted((Path(folder) / "d").rglob("*")):
                if path.is_file():
                    zipped.writestr(zipfile.ZipInfo(str(path.relative_to(Path(folder) / "d").as_posix())),
                                    path.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    make_missing()
