"""Meshes known by their names alone: MPAS, TUFLOW FV in layers; a mesh that moves is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mdstudio.engine.errors import SourceError
from mdstudio.engine.model import MeshDomain
from mdstudio.sources.registry import open_source
from tests.sources.netcdf_builders import HOURS, add, new_file, numbered, whole

ANGLES = np.arange(6) * np.pi / 3


def mpas(path: Path, unit: str) -> Path:
    """A hexagon and a pentagon, padded with 0, places in radians, times in letters."""
    units = {"units": unit} if unit else {}
    with new_file(path) as file:
        north = np.repeat([0.1, 0.3], 6) + 0.05 * np.sin(np.tile(ANGLES, 2))
        add(file, "latVertex", ["nVertices"], north, units)
        add(file, "lonVertex", ["nVertices"], np.tile(0.1 + 0.05 * np.cos(ANGLES), 2), units)
        add(file, "latCell", ["nCells"], np.array([0.1, 0.3]), units)
        add(file, "lonCell", ["nCells"], np.array([0.1, 0.1]), units)
        add(file, "nEdgesOnCell", ["nCells"], np.array([6, 5], "i4"))
        add(file, "verticesOnCell", ["nCells", "maxEdges"], np.array([[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 0]], "i4"))
        add(file, "cellsOnVertex", ["nVertices", "vertexDegree"], np.ones((12, 3), "i4"))
        add(file, "t2m", ["Time", "nCells"], numbered(2, 2))
        add(file, "theta", ["Time", "nCells", "nVertLevels"], numbered(2, 2, 4))
        add(file, "vorticity", ["Time", "nVertices"], numbered(2, 12))
        texts = [list(f"2000-01-01_0{hour}:00:00".ljust(64)) for hour in (0, 6)]
        add(file, "xtime", ["Time", "StrLen"], np.array(texts, "S1"), dtype="S1")
    return path


@pytest.mark.rule("K2")
@pytest.mark.parametrize("unit", ["rad", ""])
def test_mpas_cells_lie_where_their_vertices_are(tmp_path: Path, unit: str) -> None:
    with open_source([str(mpas(tmp_path / "a.nc", unit))]) as source:
        description, = source.descriptions()
        domain = description.domain
        assert isinstance(domain, MeshDomain)
        assert (domain.elements, domain.nodes, domain.crs) == (2, 12, "EPSG:4326")
        assert sorted((domain.element_nodes >= 0).sum(axis=1).tolist()) == [5, 6]
        assert domain.node_x.max() == pytest.approx(np.degrees(0.15))
        assert domain.node_y.min() == pytest.approx(np.degrees(0.1 - 0.05 * np.sin(np.pi / 3)))
        assert description.times.texts() == ["2000-01-01T00:00:00", "2000-01-01T06:00:00"]
        found = {i.name: (i.location, len(i.layers) if i.layers else 0) for i in description.items}
        assert found == {"t2m": ("cell", 0), "theta": ("cell", 4), "vorticity": ("node", 0)}
        assert np.array_equal(whole(source, description, "theta", 3)[:, 0], numbered(2, 2, 4)[:, :, 3])


@pytest.mark.parametrize("since", ["01/01/1990 00:00:00", "31/12/1989 00:00:00", "1990-01-01"])
def test_of_tuflow_fv_in_layers_the_values_of_columns_are_kept(tmp_path: Path, since: str) -> None:
    with new_file(tmp_path / "a.nc") as file:
        add(file, "ResTime", ["Time"], np.array([0.0, 1.0]), {"units": f"hours since {since}"})
        add(file, "cell_node", ["NumCells2D", "MaxNumCellVert"], np.array([[1, 2, 3, 0], [2, 4, 3, 0]], "i4"))
        add(file, "NL", ["NumCells2D"], np.array([2, 1], "i4"))
        add(file, "node_X", ["NumVert2D"], np.array([0.0, 1, 0, 1]))
        add(file, "node_Y", ["NumVert2D"], np.array([0.0, 0, 1, 1]))
        add(file, "H", ["Time", "NumCells2D"], numbered(2, 2, dtype="f4"))
        add(file, "V_x", ["Time", "NumCells3D"], numbered(2, 3, dtype="f4"))
    with open_source([str(tmp_path / "a.nc")]) as source:
        timed = source.descriptions()[0]
        assert [i.name for i in timed.items] == ["H"]
        assert timed.times.text(1) == ("1989-12-31" if since.startswith("31") else "1990-01-01") + "T01:00:00"
        assert any(n.what == "V_x" and "in the layers of TUFLOW FV" in n.reason for n in source.dropped())


def test_a_date_that_may_be_two_is_refused(tmp_path: Path) -> None:
    with new_file(tmp_path / "a.nc") as file:
        for name, unit in (("lat", "degrees_north"), ("lon", "degrees_east")):
            add(file, name, [name], np.arange(3.0), {"units": unit})
        add(file, "time", ["time"], np.array([0.0]), {"units": "hours since 02/03/1990"})
        add(file, "v", ["time", "lat", "lon"], numbered(1, 3, 3))
    with pytest.raises(SourceError, match="may be two dates"):
        open_source([str(tmp_path / "a.nc")])


def test_a_mesh_that_moves_is_refused(tmp_path: Path) -> None:
    with new_file(tmp_path / "a.nc") as file:
        add(file, "time", ["time"], np.array([0.0, 1.0]), HOURS)
        add(file, "mesh", [], np.int32(0), {
            "cf_role": "mesh_topology", "topology_dimension": 2, "node_coordinates": "x y",
            "face_node_connectivity": "corners"})
        for name in "xy":
            add(file, name, ["time", "node"], np.arange(6.0).reshape(2, 3), {
                "standard_name": f"projection_{name}_coordinate", "units": "m"})
        add(file, "corners", ["face", "three"], np.array([[0, 1, 2]], "i4"), {"cf_role": "face_node_connectivity"})
        add(file, "h", ["time", "node"], numbered(2, 3), {"mesh": "mesh", "location": "node"})
    with pytest.raises(SourceError, match=r"are not one number a node \(a mesh that moves\)"):
        open_source([str(tmp_path / "a.nc")])
