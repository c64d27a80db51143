"""Meshes and vectors on the command line: what they are, maps of polygons, series of elements."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import shapely

from mdstudio.engine.model import MeshDomain
from tests.cli.conftest import Run
from tests.engine.made_datasets import kind_of, make_kind

POLYGON = "POLYGON ((3 3, 15 4, 9 14, 3 3))"


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("meshes") / "mesh"
    make_kind(folder, kind_of("mesh"), "MultiTimestep", "ZstdAuto")
    return folder


@pytest.mark.rule("G2", "K1")
def test_inspect_tells_elements_nodes_and_the_layout_parameters_of_a_mesh(mesh: Path, run: Run) -> None:
    domain = kind_of("mesh").mesh
    facts = run("inspect", mesh, "--json").document
    assert (facts["kind"], facts["compressed_mesh_page_size"], facts["schema_version"]) == ("mesh", 500, 1)
    assert facts["items"][0]["raw_bytes"] == 8 * domain.elements * 5
    text = run("inspect", mesh).out
    assert f"mesh, {domain.elements:,} elements, {domain.nodes:,} nodes" in text
    assert run("inspect", mesh, "--pages", "--item", "v", "--json").document["pages"][1]["columns"] == [500, 1000]


@pytest.mark.rule("P3")
def test_a_polygon_finds_the_elements_that_it_meets(mesh: Path, run: Run, tmp_path: Path) -> None:
    domain = kind_of("mesh").mesh
    wanted = touched(domain, POLYGON)
    values = kind_of("mesh").values["w"][1, 0, 0][domain.element_number[wanted]]
    (tmp_path / "area.wkt").write_text(POLYGON + "\n")
    for area in (POLYGON, f"@{tmp_path / 'area.wkt'}"):
        words = ("query", "map", mesh, "--item", "w", "--time", "#1", "--polygon", area)
        found = run(*words, "--explain", "--json").document
        assert (found["cells"], found["min"], found["max"]) == (wanted.size, values.min(), values.max())
        assert 0 < found["pages_decoded"] < 6
    assert f"{wanted.size:,} of {wanted.size:,}" in run(
        "query", "map", mesh, "--item", "w", "--time", "#1", "--polygon", POLYGON).out


def touched(domain: MeshDomain, wkt: str) -> np.ndarray:
    area = shapely.from_wkt(wkt)
    rings = [[n for n in row if n >= 0] for row in domain.element_nodes.tolist()]
    shapes = [shapely.Polygon(np.stack([domain.node_x[ring], domain.node_y[ring]], axis=1)) for ring in rings]
    return np.flatnonzero(shapely.intersects(area, shapes))


def test_a_series_names_its_element_and_points_outside(mesh: Path, run: Run) -> None:
    domain = kind_of("mesh").mesh
    x, y = (float(axis[domain.element_nodes[7][:3]].mean()) for axis in (domain.node_x, domain.node_y))
    words = ("query", "series", mesh, "--item", "w", "--point", f"{x},{y}", "--point", "900,900")
    document = run(*words, "--json").document
    number = int(domain.element_number[7])  # in the source
    assert [point["cell"] for point in document["points"]] == [[number], None]
    values = kind_of("mesh").values["w"][:, 0, 0, number]
    assert [row[0] for row in document["values"]] == values.tolist()
    text = run(*words).out
    assert "Outside the mesh: 900,900" in text
    assert f"(number {number})" in text


@pytest.mark.parametrize(("words", "message"), [
    (("--polygon", "POLYGON ((0 0"), "WKT"),
    (("--polygon", "@nowhere.wkt"), "not there"),
    (("--polygon", ""), "polygon is empty"),
    (("--polygon", f"@{os.devnull}"), "file of the polygon is empty"),
    (("--polygon", POLYGON, "--bbox", "0,0,1,1"), "not allowed with"),
])
def test_a_wrong_area_is_refused_in_one_line(mesh: Path, run: Run, words: tuple[str, ...], message: str) -> None:
    outcome = run("query", "map", mesh, "--item", "w", *words)
    assert outcome.status in (2, 10)
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_a_layer_of_a_sigma_mesh_and_the_components_of_a_vector_are_shown(tmp_path: Path, run: Run) -> None:
    make_kind(tmp_path / "sigma", kind_of("mesh-sigma"), "SingleTimestep")
    document = run("query", "map", tmp_path / "sigma", "--item", "v", "--layer", "3", "--json").document
    counts = kind_of("mesh-sigma").mesh.layer_counts
    assert counts is not None
    assert document["cells"] == int((counts > 3).sum()) < document["rows"]
    make_kind(tmp_path / "vector", kind_of("mesh-vector"), "SingleTimestep")
    text = run("query", "series", tmp_path / "vector", "--item", "v", "--point", "5,5").out
    assert len(text.splitlines()[-1].split()) == 1 + 3


def test_a_dry_run_of_a_mesh_tells_its_extent_and_the_layout_parameters_of_a_mesh(
    mesh: Path, run: Run, tmp_path: Path
) -> None:
    domain = kind_of("mesh").mesh
    assert run("export", mesh, tmp_path / "mesh.nc", "--items", "w", "--quiet").status == 0
    words = ("import", tmp_path / "mesh.nc", tmp_path / "d", "--items", "w", "--dry-run")
    plan = run(*words, "--json").document
    assert (plan["kind"], plan["elements"], plan["nodes"]) == ("mesh", domain.elements, domain.nodes)
    assert (plan["settings"]["compressed_mesh_page_size"], plan["settings"]["spatial_group_size"]) == (16_384, None)
    text = run(*words).out
    assert f"mesh, {domain.elements:,} elements, {domain.nodes:,} nodes" in text
    assert "CompressedMeshPageSize" in text
