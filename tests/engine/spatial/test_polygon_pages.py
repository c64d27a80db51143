"""A polygon over a stored grid: the pages that hold a cell of it are decoded, each once, and no other (P2, P3)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mdstudio.engine.model import StorageType
from mdstudio.engine.requests import MapRequest
from tests.engine.made_datasets import kind_of, make_kind

DIAGONAL = "POLYGON ((1 1, 3 1, 68 38, 66 38, 1 1))"
PARTS = "MULTIPOLYGON (((1 1, 3 1, 3 3, 1 1)), ((60 30, 68 30, 68 38, 60 30)), ((60 30, 68 30, 68 38, 60 30)))"


@pytest.mark.rule("P2", "P3")
@pytest.mark.parametrize("storage_type", ["SingleTimestep", "MultiTimestep", "TimeSeries"])
@pytest.mark.parametrize("polygon", [DIAGONAL, PARTS])
def test_a_polygon_decodes_the_pages_with_a_cell_of_it_each_once(
    tmp_path: Path, storage_type: StorageType, polygon: str
) -> None:
    made = kind_of("grid")
    dataset = make_kind(tmp_path / "d", made, storage_type, "ZstdAuto", width=16)
    found = dataset.map(MapRequest("v", 1, polygon=polygon))
    cells = {(int(found.rows[r]), int(found.columns[c])) for r, c in np.argwhere(found.mask)}
    tiles = {(row // 16, column // 16) for row, column in cells}
    pages = [(ref.blob, ref.page) for ref in found.explain.pages]
    touched = {(ref.rows[0] // 16, ref.columns[0] // 16) for ref in found.explain.pages}
    assert len(pages) == len(set(pages))
    assert touched == tiles
    assert len(tiles) < 3 * 5  # fewer than the block has
    whole = made.values["v"][1, 0]
    for row, column in np.argwhere(found.mask).tolist():
        assert found.stored[row, column] == whole[found.rows[row], found.columns[column]]
    assert np.isnan(found.values[~found.mask]).all()
