"""The benchmark of a large mesh on a small one: every action ends in the exact picture, which is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from mdstudio.app.plots.mesh_raster import MeshRaster, Pixels
from mdstudio.engine.dataset import Dataset
from mdstudio.engine.requests import MapRequest
from tests.app.plots.oracle import fill_polygons, share_that_differs
from tests.benchmarks.mesh_map import costs, print_report, sea, tide, write


@pytest.mark.rule("G5", "G10")
def test_every_action_on_the_map_of_a_mesh_is_timed(
    qapp: QApplication, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = costs(write(tmp_path / "sea", 3000, 3), 2)
    print_report(found)
    printed = capsys.readouterr().out
    assert all(f"\n{what} " in printed for what in found)
    assert set(found) >= {"first picture", "new time step", "pan of the whole", "zoom, twice as near",
                          "pick an element"}
    assert all(cost.exact >= cost.first > 0 for rounds in found.values() for cost in rounds)


@pytest.mark.rule("G5")
def test_the_sea_is_drawn_element_by_element_where_it_lies(tmp_path: Path) -> None:
    dataset = Dataset.open(write(tmp_path / "sea", 3000, 3))
    mesh = sea(3000)
    assert 2700 < mesh.elements < 3300
    raster = MeshRaster(dataset.mesh)
    result = dataset.map(MapRequest("surface_elevation", 2))
    in_source = tide(mesh, 3)[2, 0, 0]
    np.testing.assert_array_equal(result.values, in_source[mesh.element_number[result.rows]].astype(float))
    pixels = Pixels(1e3, 99e3, 100.0, -100.0, 981, 981)
    drawn = raster.window(pixels).spread(result.values, np.nan)
    corners = np.stack([mesh.node_x[mesh.element_nodes], mesh.node_y[mesh.element_nodes]], axis=-1)
    wanted = fill_polygons(corners, in_source[mesh.element_number].astype(float), pixels)
    assert share_that_differs(drawn, wanted) < 0.002  # thin tips of triangles, which matplotlib leaves out
