"""`list`, `inspect` and `query` as a person runs them, against numbers taken from the source file."""

from __future__ import annotations

import csv
from pathlib import Path

import netCDF4
import numpy as np
import pytest

import mdstudio
from mdstudio.engine.model import Array
from tests.cli.conftest import Run
from tests.cli.sources import LAND, X, Y, write_waves

INSPECT_KEYS = {
    "location", "kind", "storage_type", "layout_version", "compression", "time_group_size", "grid_tile_width",
    "compressed_mesh_page_size", "time_series_block_rows", "spatial_group_size", "schema_version", "data_size_bytes",
    "times", "items", "raw_bytes", "stored_bytes", "ratio", "guards"}
ITEM_KEYS = {"name", "type", "unit", "no_data", "scale", "offset", "layers", "raw_bytes", "stored_bytes", "ratio"}
EXPLAIN_KEYS = {"pages_touched", "pages_decoded", "requests", "bytes_read", "read_us", "decode_us"}


@pytest.fixture(scope="module", params=["SingleTimestep", "MultiTimestep", "TimeSeries"])
def storage_type(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_waves(tmp_path_factory.mktemp("source") / "waves.nc")


@pytest.fixture(scope="module")
def dataset(source: Path, storage_type: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("datasets") / "north" / "waves"
    parameters = {"Compression": "ZstdAuto", "GridTileWidth": 16, "StorageType": storage_type}
    mdstudio.import_({"sources": [str(source)], "target": str(target),
                      "writerParameters": [{"name": n, "value": v} for n, v in parameters.items()]})
    return target


def stored(source: Path, item: str) -> Array:
    with netCDF4.Dataset(source) as file:
        file.set_auto_maskandscale(False)
        return np.asarray(file[item][...])


@pytest.mark.rule("W3", "G1")
def test_list_finds_datasets_below_a_folder(dataset: Path, run: Run) -> None:
    outcome = run("list", dataset.parents[1], "--json")
    (row,) = outcome.document["datasets"]
    assert row["name"] == "north/waves"
    assert row["location"] == str(dataset)
    assert (row["items"], row["times"]["count"], row["compression"]) == (3, 6, "ZstdAuto")
    text = run("list", dataset.parents[1]).out
    assert "north/waves" in text
    assert "1 dataset below" in text


def test_a_dataset_that_does_not_load_hides_no_other(tmp_path: Path, source: Path, run: Run) -> None:
    assert run("import", source, tmp_path / "a", "--quiet").status == 0
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "dataset.json").write_text("{")
    rows = run("list", tmp_path, "--json").document["datasets"]
    assert [(r["name"], bool(r["error"])) for r in rows] == [("a", False), ("b", True)]
    assert run("list", tmp_path).status == 0


def test_a_dataset_tells_in_python_what_it_is(dataset: Path) -> None:
    assert repr(mdstudio.open(str(dataset))) == f"<Dataset {dataset}: grid, 3 items, 6 times>"


def test_an_empty_folder_has_no_datasets(tmp_path: Path, run: Run) -> None:
    assert run("list", tmp_path).out.startswith("No dataset below")
    assert run("list", tmp_path, "--json").document["datasets"] == []


@pytest.mark.parametrize("command", ["list", "clean"])
def test_a_folder_that_is_not_there_is_not_an_empty_one(tmp_path: Path, run: Run, command: str) -> None:
    outcome = run(command, tmp_path / "nowhere")
    assert (outcome.status, "no such folder" in outcome.err) == (10, True)


@pytest.mark.rule("V9", "G2")
def test_inspect_gives_the_keys_of_the_contract(dataset: Path, storage_type: str, run: Run) -> None:
    facts = run("inspect", dataset, "--json").document
    assert facts.keys() == INSPECT_KEYS
    assert facts["times"] == {"count": 6, "first": "2020-01-01T00:00:00", "last": "2020-01-02T06:00:00",
                              "calendar": "standard"}
    assert [i.keys() for i in facts["items"]] == [ITEM_KEYS] * 3
    assert (facts["kind"], facts["storage_type"], facts["layout_version"]) == ("grid", storage_type, 3)
    swh = facts["items"][0]
    assert (swh["name"], swh["type"], swh["no_data"]) == ("swh", "int16", -32767)
    assert (swh["scale"], swh["offset"]) == (0.01, 1.0)
    assert swh["ratio"] == pytest.approx(swh["stored_bytes"] / swh["raw_bytes"])
    assert facts["guards"] == []


@pytest.mark.rule("V9", "G2")
def test_inspect_shows_a_person_the_same(dataset: Path, storage_type: str, run: Run) -> None:
    text = run("inspect", dataset).out
    for word in ("20 x 24 cells", "6 times", storage_type, "ZstdAuto", "Layout version", "swh", "int16", "ratio"):
        assert word in text
    assert all(line == line.rstrip() for line in text.splitlines())


@pytest.mark.rule("V5", "V9")
def test_inspect_shows_the_guard_and_what_to_do(dataset: Path, tmp_path: Path, source: Path, run: Run) -> None:
    assert run("import", source, tmp_path / "d", "--quiet").status == 0
    path = tmp_path / "d" / "dataset.json"
    text = path.read_text()
    assert text.count('"LayoutVersion": 3') + text.count('"layout_version": 3') + text.count('ayoutVersion":3') == 1
    path.write_text(text.replace('ersion": 3', 'ersion": 99').replace('ayoutVersion":3', 'ayoutVersion":99'))
    facts = run("inspect", tmp_path / "d", "--json").document
    assert facts["guards"]
    assert facts["guards"][0].keys() == {"code", "message", "advice"}
    assert facts["guards"][0]["message"] in run("inspect", tmp_path / "d").out
    assert run("query", "map", tmp_path / "d").status == 12


def test_the_page_table_covers_every_cell_once(dataset: Path, storage_type: str, run: Run) -> None:
    pages = run("inspect", dataset, "--pages", "--item", "swh", "--time", "#1", "--json").document["pages"]
    assert pages[0].keys() == {"item", "time", "layer", "blob", "page", "offset", "length", "raw", "ratio", "rows",
                               "columns"}
    cells = sum((p["rows"][1] - p["rows"][0]) * (p["columns"][1] - p["columns"][0]) for p in pages)
    assert cells >= 20 * 24 if storage_type == "TimeSeries" else cells == 20 * 24
    assert "4 pages at 2020-01-01T06:00:00" in run("inspect", dataset, "--pages", "--item", "swh", "--time", "#1").out \
        or storage_type == "TimeSeries"


@pytest.mark.parametrize("word", ["nothing-here", "waves.nc"])
def test_what_is_no_dataset_says_so(word: str, source: Path, run: Run) -> None:
    outcome = run("inspect", source.parent / word)
    assert outcome.status == (10 if word == "nothing-here" else 12)
    assert word in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.rule("G5")
def test_a_map_is_an_archive_with_the_keys_of_the_contract(
    dataset: Path, source: Path, tmp_path: Path, run: Run
) -> None:
    outcome = run("query", "map", dataset, "--item", "swh", "--time", "2020-01-01T12:00", "--out", tmp_path / "m.npz",
                  "--json")
    assert outcome.status == 0
    expected = stored(source, "swh")[2]
    with np.load(tmp_path / "m.npz") as archive:
        assert set(archive.files) == {"stored", "values", "x", "y", "mask"}
        assert archive["stored"].dtype == np.dtype("<i2")
        assert np.array_equal(archive["stored"], expected)
        assert archive["values"].dtype == np.float64
        np.testing.assert_array_equal(archive["values"], np.where(LAND, np.nan, expected * 0.01 + 1.0))
        assert np.array_equal(archive["x"], X)
        assert np.array_equal(archive["y"], Y)
        assert archive["mask"].all()
    assert outcome.document["valid"] == int((~LAND).sum())
    assert outcome.document["max"] == pytest.approx((expected * 0.01 + 1.0)[~LAND].max())


@pytest.mark.rule("G5", "G6")
@pytest.mark.parametrize("words", [["--bbox", "-3,51,2,54"], ["--bbox=2,54,-3,51"]])
def test_a_rectangle_with_negative_numbers_gives_its_cells_and_what_they_cost(
    words: list[str], dataset: Path, source: Path, tmp_path: Path, run: Run
) -> None:
    document = run("query", "map", dataset, "--item", "temp", "--layer", "10m", *words, "--explain", "--json",
                   "--out", tmp_path / "m.csv").document
    assert document.keys() >= EXPLAIN_KEYS
    assert document["pages_touched"] >= document["pages_decoded"] >= 1
    assert document["bytes_read"] > 0
    rows = list(csv.reader((tmp_path / "m.csv").read_text().splitlines()))
    assert rows[0] == ["x", "y", "value (degC)"]
    touched_x = np.flatnonzero((X + 0.25 >= -3) & (X - 0.25 <= 2))
    touched_y = np.flatnonzero((Y + 0.25 >= 51) & (Y - 0.25 <= 54))
    assert len(rows) - 1 == touched_x.size * touched_y.size == document["cells"]
    expected = stored(source, "temp")[0, 1]
    for x, y, value in rows[1:]:
        at = int(np.flatnonzero(float(y) == Y)[0]), int(np.flatnonzero(float(x) == X)[0])
        assert (float(value) if value else np.float32(1e20)) == expected[at]


def test_a_map_as_netcdf_reads_back_the_same_numbers(dataset: Path, source: Path, tmp_path: Path, run: Run) -> None:
    assert run("query", "map", dataset, "--item", "swh", "--time", "#-1", "--out", tmp_path / "m.nc").status == 0
    with netCDF4.Dataset(tmp_path / "m.nc") as file:
        values = file["swh"][...]
        assert np.array_equal(np.ma.getmaskarray(values), LAND)
        expected = np.where(LAND, np.nan, stored(source, "swh")[-1] * 0.01 + 1)
        np.testing.assert_array_equal(values.filled(np.nan), expected)
        assert file["swh"].units == "m"
        assert np.array_equal(file["latitude"][...], Y)
        assert netCDF4.num2date(file["time"][...], file["time"].units).isoformat() == "2020-01-02T06:00:00"


def test_a_rectangle_outside_says_why_nothing_came(dataset: Path, run: Run) -> None:
    document = run("query", "map", dataset, "--bbox", "100,0,101,1", "--json").document
    assert document["cells"] == 0
    assert document["empty_reason"]
    assert document["empty_reason"] in run("query", "map", dataset, "--bbox", "100,0,101,1").out


@pytest.mark.rule("G5")
def test_a_series_is_a_csv_with_time_and_a_column_a_point(
    dataset: Path, source: Path, tmp_path: Path, run: Run
) -> None:
    outcome = run("query", "series", dataset, "--item", "level", "--point", "-3.5,52", "--point", "4,58", "--from",
                  "2020-01-01T06", "--to", "#3", "--out", tmp_path / "s.csv")
    assert outcome.status == 0
    rows = list(csv.reader((tmp_path / "s.csv").read_text().splitlines()))
    assert rows[0] == ["time", "-3.5 52.0 (m)", "4.0 58.0 (m)"]
    assert [r[0] for r in rows[1:]] == ["2020-01-01T06:00:00", "2020-01-01T12:00:00", "2020-01-01T18:00:00"]
    expected = stored(source, "level")
    for index, (x, y) in enumerate([(-3.5, 52), (4, 58)]):
        column = [float(r[index + 1]) for r in rows[1:]]
        assert column == expected[1:4, np.flatnonzero(y == Y)[0], np.flatnonzero(x == X)[0]].tolist()


def test_a_series_is_an_archive_or_json_or_a_table(dataset: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / "p.csv").write_text("x,y\n-3.5,52\n99,0\n")
    words = ["query", "series", dataset, "--item", "swh", "--points", tmp_path / "p.csv", "--explain"]
    assert run(*words, "--out", tmp_path / "s.npz").status == 0
    with np.load(tmp_path / "s.npz") as archive:
        assert set(archive.files) == {"time", "values", "stored", "cells"}
        assert archive["values"].shape == (6, 2)
        assert archive["time"][0] == "2020-01-01T00:00:00"
        assert archive["cells"].tolist() == [[16, 5], [-1, -1]]
        values = archive["values"]
    document = run(*words, "--json").document
    assert document.keys() >= EXPLAIN_KEYS
    assert document["points"][1]["cell"] is None
    assert [row[0] for row in document["values"]] == values[:, 0].tolist()
    assert [row[1] for row in document["values"]] == [None] * 6
    text = run(*words).out
    assert "Outside the grid: 99,0" in text
    assert "-3.5,52  cell at -3.5,52 (row 16, column 5)" in text
    assert "2020-01-02T06:00:00" in text


def test_a_series_of_points_outside_alone_is_no_table_of_blanks(dataset: Path, run: Run) -> None:
    outcome = run("query", "series", dataset, "--item", "swh", "--point", "99,0")
    assert outcome.out.splitlines() == ["swh [m]", "  Outside the grid: 99,0"]


@pytest.mark.parametrize(("words", "status", "says"), [
    (["map", "--item", "swj"], 10, "Did you mean 'swh'"),
    (["map", "--time", "2020-01-01T05"], 10, "nearest is 2020-01-01T06:00:00"),
    (["map", "--time", "#9"], 10, "6 times"),
    (["map", "--time", "soon"], 2, "soon"),
    (["map", "--item", "temp", "--layer", "7"], 10, "it has 3"),
    (["map", "--item", "swh", "--layer", "0"], 2, "no layers"),
    (["map", "--bbox", "1,2,3"], 2, "rectangle"),
    (["map", "--out", "m.xyz"], 2, ".npz, .csv, .nc"),
    (["map", "--out", "no/such/folder/m.nc"], 10, "no/such/folder"),
    (["series"], 2, "at least one point"),
    (["series", "--point", "1"], 2, "point"),
    (["series", "--points", "gone.csv"], 10, "gone.csv"),
    (["series", "--point", "0,52", "--from", "2021-01-01"], 10, "2020-01-02T06:00:00"),
])
def test_a_wrong_question_is_answered_in_one_line(
    words: list[str], status: int, says: str, dataset: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("query", words[0], dataset, *words[1:])
    assert outcome.status == status
    assert says in outcome.err
    assert outcome.err.count("\n") == 1
    assert outcome.out == ""
    assert list(tmp_path.iterdir()) == []
