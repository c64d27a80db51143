"""`query area` and `query line`: numbers on the screen, in JSON and in files, for grids, meshes and vectors."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Run
from tests.engine.made_datasets import kind_of, make_kind


@pytest.mark.rule("P2")
def test_statistics_of_an_area_in_json_text_and_files(tmp_path: Path, run: Run) -> None:
    dataset = make_kind(tmp_path / "a", kind_of("grid"), "TimeSeries", "ZstdAuto")
    values = kind_of("grid").values["v"][:, 0].astype(float)
    values[values == -99] = np.nan
    found = run("query", "area", dataset.location, "--json", "--explain").document
    assert np.allclose(found["mean"], np.nanmean(values, axis=(1, 2)))
    assert found["count"] == np.isfinite(values).sum(axis=(1, 2)).tolist()
    assert found["pages_touched"] == found["pages_decoded"] > 0
    assert "Area mean" in run("query", "area", dataset.location).out
    assert run("query", "area", dataset.location, "--out", tmp_path / "a.csv", "--from", "#1", "--to", "#2").status == 0
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert [float(r["maximum"]) for r in rows] == np.nanmax(values, axis=(1, 2))[1:3].tolist()
    assert run("query", "area", dataset.location, "--out", tmp_path / "a.npz").status == 0
    assert np.load(tmp_path / "a.npz")["count"].tolist() == found["count"]
    empty = run("query", "area", dataset.location, "--bbox", "900,900,901,901", "--json").document
    assert empty["count"] == [0] * len(values)
    assert empty["empty_reason"]


@pytest.mark.parametrize("kind", ["grid-layered", "mesh-sigma", "mesh-zlevel", "grid-vector", "mesh-nodes"])
def test_a_line_in_json_text_and_files(tmp_path: Path, run: Run, kind: str) -> None:
    made = kind_of(kind)
    dataset = make_kind(tmp_path / "a", made, "SingleTimestep")
    domain = made.description.domain
    x, y = (domain.node_x, domain.node_y) if hasattr(domain, "node_x") else (domain.x, domain.y)
    line = f"{x.min()},{y.min()} {x.max()},{y.max()}"
    found = run("query", "line", dataset.location, "--item", "v", "--line", line, "--time", "#1", "--json",
                "--explain").document
    count = len(found["x"])
    assert np.asarray(found["values"], dtype=float).shape[:2] == (len(found["layers"]), count)
    assert len(found["edges"]) == count + 1
    assert "Length" in run("query", "line", dataset.location, "--item", "v", "--line", line).out
    assert run("query", "line", dataset.location, "--item", "v", "--line", line, "--time", "#1", "--out",
               tmp_path / "a.csv").status == 0
    rows = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
    assert len(rows) == 1 + len(found["layers"]) * count
    written = run("query", "line", dataset.location, "--item", "v", "--line", line, "--out", tmp_path / "a.npz")
    assert written.status == 0
    assert np.load(tmp_path / "a.npz")["x"].tolist() == found["x"]


def test_areas_and_lines_of_geojson_and_wkt_are_the_same(tmp_path: Path, run: Run) -> None:
    dataset = make_kind(tmp_path / "a", kind_of("grid"), "SingleTimestep")
    domain = kind_of("grid").description.domain
    x0, y0, x1, y1 = (float(v) for v in (domain.x.min(), domain.y.min(), domain.x.max(), domain.y.max()))
    ring = [[x0, y0], [x1, y0], [x1, y1], [x0, y0]]
    (tmp_path / "a.json").write_text('{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {},'
                                     f'"geometry": {{"type": "Polygon", "coordinates": [{ring}]}}}}]}}')
    wkt = f"POLYGON(({', '.join(f'{x} {y}' for x, y in ring)}))"
    a, b = (run("query", "area", dataset.location, "--polygon", area, "--json").document
            for area in (wkt, f"@{tmp_path / 'a.json'}"))
    assert a == b
    assert a["cells"] > 0
    lines = (f"{x0},{y0} {x1},{y1}", f"LINESTRING({x0} {y0}, {x1} {y1})",
             f'{{"type": "LineString", "coordinates": [[{x0}, {y0}], [{x1}, {y1}]]}}')
    found = [run("query", "line", dataset.location, "--line", line, "--json").document for line in lines]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(("what", "line", "error"), [
    ("line", "1,2", "two different corners"), ("line", "1,2 x", "point"), ("line", "LINESTRING(1)", "LINESTRING"),
    ("line", '{"type": "nothing"}', "GeoJSON"), ("area", "POINT(1 2)", "POLYGON")])
def test_what_is_no_line_or_area_is_refused(tmp_path: Path, run: Run, what: str, line: str, error: str) -> None:
    dataset = make_kind(tmp_path / "a", kind_of("grid"), "SingleTimestep")
    found = run("query", what, dataset.location, "--line" if what == "line" else "--polygon", line)
    assert found.status == 2
    assert error in found.err
