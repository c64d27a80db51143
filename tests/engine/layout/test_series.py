"""TimeSeries blobs: how many timesteps their blocks hold (T4, T5)."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.errors import DamagedDataError
from mdstudio.engine.layout.metadata import load_metadata, save_metadata
from mdstudio.engine.requests import MapRequest, SeriesRequest
from mdstudio.engine.storage import FolderStorage
from tests.engine.made_datasets import item_storage
from tests.engine.operations.growing import append, grown, holds, made_values, part

VALUES = made_values()


@pytest.mark.rule("T4", "T5")
@pytest.mark.parametrize("codec", ["ZstdAuto", "LZ4", "DeflateFast"])
def test_blocks_of_fewer_timesteps_than_are_listed_are_refused(tmp_path: Path, codec: str) -> None:
    """Never read as the wrong times, nor built upon."""
    storage = grown(tmp_path, VALUES, item_storage("TimeSeries", codec, group=9, fixed_step=False))
    metadata, version = load_metadata(storage)
    times = part(VALUES, range(6)).times
    save_metadata(storage, dataclasses.replace(metadata, times=times), if_match=version)
    dataset = Dataset.open(FolderStorage(tmp_path))
    for time in (0, 5):
        with pytest.raises(DamagedDataError, match="6 to 9 timesteps"):
            dataset.map(MapRequest("plain", time))
        assert "6 to 9 timesteps" in dataset.page_details("plain", time, None, 0).problem
    with pytest.raises(DamagedDataError, match="6 to 9 timesteps"):
        dataset.series(SeriesRequest("plain", ((0.0, 0.0),)))
    with pytest.raises(DamagedDataError, match="6 to 9 timesteps"):
        append(storage, VALUES, range(6, 8))


@pytest.mark.rule("T4", "W2")
@pytest.mark.parametrize("codec", ["ZstdAuto", "LZ4", "DeflateFast"])
def test_timesteps_that_nobody_lists_are_not_shown(tmp_path: Path, codec: str) -> None:
    """As an append leaves them that was killed before it listed them."""
    storage = grown(tmp_path, VALUES, item_storage("TimeSeries", codec, group=9, fixed_step=False))
    listed = (tmp_path / "dataset.json").read_bytes()
    append(storage, VALUES, range(4, 9))
    (tmp_path / "dataset.json").write_bytes(listed)
    assert holds(storage, VALUES, range(4))
    details = Dataset.open(storage).page_details("plain", 0, None, 0)
    assert details.values is not None
    assert details.values.shape[1] == 4
    assert details.raw == details.values.size * 2
