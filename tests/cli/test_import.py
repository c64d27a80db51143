"""`mdstudio import` as a person runs it, in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mdstudio.engine.dataset import Dataset
from tests.cli.conftest import Run
from tests.cli.sources import write_staggered, write_waves

SUMMARY_KEYS = {"dataset", "items", "timesteps", "raw_bytes", "stored_bytes", "seconds", "dropped"}


@pytest.fixture
def waves(tmp_path: Path) -> Path:
    return write_waves(tmp_path / "waves.nc")


def test_the_summary_is_the_last_json_line_with_stable_keys(waves: Path, tmp_path: Path, run: Run) -> None:
    outcome = run("import", waves, tmp_path / "d", "--json", "--set", "Compression=ZstdAuto")
    summary = outcome.lines[-1]["summary"]
    assert outcome.status == 0
    assert summary.keys() == SUMMARY_KEYS
    assert (summary["items"], summary["timesteps"], summary["dataset"]) == (3, 6, str(tmp_path / "d"))
    assert summary["stored_bytes"] < summary["raw_bytes"]


def test_a_person_sees_where_how_much_and_how_long(waves: Path, tmp_path: Path, run: Run) -> None:
    outcome = run("import", waves, tmp_path / "d")
    assert f"Imported to {tmp_path / 'd'}" in outcome.out
    assert "3 items x 6 times" in outcome.out
    assert "KB stored" in outcome.out


@pytest.mark.rule("D11")
def test_parameters_come_from_a_file_and_the_command_wins(waves: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / "p.json").write_text(json.dumps({
        "writerParameters": [{"name": "Compression", "value": "LZ4"}, {"name": "GridTileWidth", "value": 16}],
        "readerParameters": [{"name": "DoubleAsFloat", "value": True}]}))
    assert run("import", waves, tmp_path / "d", "--params", tmp_path / "p.json", "--set", "GridTileWidth=32",
               "--quiet").status == 0
    dataset = Dataset.open(str(tmp_path / "d"))
    assert dataset.metadata.storage.compression == "LZ4"
    assert dataset.metadata.storage.grid_tile_width == 32
    assert dataset.item("level").dtype == "float32"


@pytest.mark.rule("D11")
@pytest.mark.rule("D11")
@pytest.mark.parametrize(("text", "says"), [
    ("[" * 100_000, "nested too deeply"), ("[1", "no JSON"), ("[1]", "JSON object"),
    ('{"writerParameters": 5}', "'writerParameters' must be a list"),
    ('{"readerParameters": null}', "'readerParameters' must be a list"),
    ('{"writerParameters": [{"name": 5, "value": 1}]}', "Each entry of 'writerParameters'"),
])
def test_a_malformed_parameter_file_is_a_usage_error(
    text: str, says: str, waves: Path, tmp_path: Path, run: Run
) -> None:
    (tmp_path / "p.json").write_text(text)
    outcome = run("import", waves, tmp_path / "d", "--params", tmp_path / "p.json", "--set", "Compression=LZ4")
    assert outcome.status == 2
    assert says in outcome.err
    assert "Traceback" not in outcome.err
    assert not (tmp_path / "d").exists()


def test_a_grid_by_name_of_a_source_with_a_single_one_is_refused_in_words(
    waves: Path, tmp_path: Path, run: Run
) -> None:
    outcome = run("import", waves, tmp_path / "d", "--grid", "other")
    assert (outcome.status, outcome.err.count("\n")) == (10, 1)
    assert "holds a single one" in outcome.err


def test_a_whole_recipe_needs_no_other_word(waves: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / "r.json").write_text(json.dumps({"sources": [str(waves)], "target": str(tmp_path / "d"),
                                                 "items": ["swh"]}))
    assert run("import", "--params", tmp_path / "r.json", "--quiet").status == 0
    assert [i.name for i in Dataset.open(str(tmp_path / "d")).metadata.items] == ["swh"]


@pytest.mark.rule("D11")
@pytest.mark.parametrize(("words", "says"), [
    (["--set", "Compresion=ZstdAuto"], "Compression"),
    (["--set", "Compression=Zstd"], "ZstdAuto"),
    (["--set", "GridTileWidth=8"], "GridTileWidth"),
    (["--set", "GridTileWidth"], "Name=Value"),
    (["--reader", "DoubleAsFloats=true"], "DoubleAsFloat"),
    (["--set", "Compression=LZ4", "--set", "Compression=LZ4"], "twice"),
    (["--workers", "0"], "'workers'"),
    (["--items", ""], "--items names no item"),
    (["--workers", "many"], "invalid int value"),
    (["--no-such-option"], "--no-such-option"),
])
def test_a_wrong_word_is_a_usage_error_of_one_line_and_writes_nothing(
    words: list[str], says: str, waves: Path, tmp_path: Path, run: Run
) -> None:
    outcome = run("import", waves, tmp_path / "d", *words)
    assert outcome.status == 2
    assert says in outcome.err
    assert outcome.err.count("\n") == 1
    assert outcome.out == ""
    assert not (tmp_path / "d").exists()


@pytest.mark.rule("D11", "D13")
def test_help_lists_the_parameters_the_recommendation_and_what_is_in_force(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MD_DEFAULT_GRID_COMPRESSION", "LZ4")
    outcome = run("import", "--help")
    assert outcome.status == 0
    for word in ("Compression", "StorageType", "TimeGroupSize", "GridTileWidth", "LayoutVersion", "DoubleAsFloat"):
        assert f"\n  {word}\n" in outcome.out
    assert "ZstdAuto is recommended" in outcome.out
    assert "ZstdFastAuto for data" in outcome.out
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert "grids per timestep LZ4 (variable MD_DEFAULT_GRID_COMPRESSION)" in lines
    assert "TimeSeries storage None (code default)" in lines


@pytest.mark.rule("D13")
def test_a_dry_run_shows_settings_with_origins_and_writes_nothing(
    waves: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MD_DEFAULT_GRID_COMPRESSION", "ZstdFastAuto")
    outcome = run("import", waves, tmp_path / "d", "--dry-run", "--json", "--set", "GridTileWidth=16", "--items", "swh")
    plan = outcome.document
    assert plan["settings"]["compression"] == "ZstdFastAuto"
    assert plan["origins"]["Compression"] == "variable MD_DEFAULT_GRID_COMPRESSION"
    assert plan["origins"]["GridTileWidth"] == "parameter"
    assert plan["origins"]["StorageType"] == "default"
    assert plan["raw_bytes"] == 6 * 20 * 24 * 2
    assert plan["timesteps"] == 6
    assert {"what": "level, temp", "reason": "not chosen", "count": 2} in plan["dropped"]
    assert not (tmp_path / "d").exists()
    text = run("import", waves, tmp_path / "d", "--dry-run").out
    assert "Would import to" in text
    assert "variable MD_DEFAULT_GRID_COMPRESSION" in text


def test_items_are_chosen_by_name_or_number_in_the_order_given(waves: Path, tmp_path: Path, run: Run) -> None:
    assert run("import", waves, tmp_path / "d", "--items", "temp,#0", "--quiet").status == 0
    assert [i.name for i in Dataset.open(str(tmp_path / "d")).metadata.items] == ["temp", "swh"]


def test_an_item_that_is_not_there_names_the_nearest(waves: Path, tmp_path: Path, run: Run) -> None:
    outcome = run("import", waves, tmp_path / "d", "--items", "swj")
    assert outcome.status == 10
    assert "Did you mean 'swh'?" in outcome.err
    assert not (tmp_path / "d").exists()


def test_several_grids_are_refused_with_their_items_and_a_command(tmp_path: Path, run: Run) -> None:
    source = write_staggered(tmp_path / "s.nc")
    outcome = run("import", source, tmp_path / "d")
    assert outcome.status == 2
    assert "2 grids" in outcome.err
    assert "3 x 4 cells, 2 times, items u" in outcome.err
    command = outcome.err.rpartition("such as: ")[2].split()
    assert command[:2] == ["mdstudio", "import"]
    assert run(*command[1:], "--quiet").status == 0
    assert [i.name for i in Dataset.open(str(tmp_path / "d")).metadata.items] == ["u"]
    assert run("import", source, tmp_path / "v", "--items", "v", "--quiet").status == 0  # one grid alone holds it
    assert run("import", source, tmp_path / "w", "--grid", "w").status == 10


@pytest.mark.rule("D9")
def test_the_bytes_do_not_depend_on_the_workers(tmp_path: Path, run: Run) -> None:
    source = write_waves(tmp_path / "big.nc", times=(0, 1), cells=400)
    for workers in ("1", "4"):
        assert run("import", source, tmp_path / workers, "--workers", workers, "--quiet",
                   "--set", "Compression=ZstdAuto", "--set", "GridTileWidth=16").status == 0
    one, four = ({p.relative_to(root): p.read_bytes() for p in root.rglob("*.dat")} for root in
                 (tmp_path / "1", tmp_path / "4"))
    assert one == four
    assert one


def test_progress_and_notes_are_json_lines_on_stderr_when_asked(waves: Path, tmp_path: Path, run: Run) -> None:
    outcome = run("import", waves, tmp_path / "d", "--progress", "json", "--items", "swh", "--json")
    events = [json.loads(line) for line in outcome.err.splitlines()]
    progress = [e["progress"] for e in events if "progress" in e]
    assert progress[-1]["done"] == progress[-1]["total"] == 6
    assert progress[-1].keys() == {"done", "total", "unit", "eta_seconds"}
    assert {"note": "level, temp: not chosen (2)"} in events
    failed = run("import", waves, tmp_path / "d", "--progress", "json")
    error = json.loads(failed.err.splitlines()[-1])["error"]
    assert error["code"] == "MD-E040"
    assert error.keys() == {"code", "message", "where", "advice"}


@pytest.mark.rule("G9")
def test_python_does_what_the_command_does(waves: Path, tmp_path: Path) -> None:
    import mdstudio

    summary = mdstudio.import_({"sources": [str(waves)], "target": str(tmp_path / "d")})
    assert summary.keys() == SUMMARY_KEYS
    assert len(mdstudio.open(str(tmp_path / "d")).metadata.times) == 6
