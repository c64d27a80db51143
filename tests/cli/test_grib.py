"""GRIB from end to end: imported in every storage type, compared to the bit, damage told, Strict and DoubleAsFloat."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from mdstudio.engine.dataset import Dataset
from mdstudio.engine.progress import Progress
from tests.cli.conftest import Run
from tests.sources.grib_builders import decoded, message, smooth, temperature, write
from tests.sources.test_grib_grids import reduced

LEVELS = [temperature(level, hour=h, start=200 + level / 10 + h / 7)
          for h in (0, 6, 12) for level in (500, 850)] + [temperature(hour=h, start=280 + h) for h in (0, 12)]


@pytest.mark.rule("K1", "W4")
@pytest.mark.parametrize("storage", ["SingleTimestep", "MultiTimestep", "TimeSeries"])
@pytest.mark.parametrize("reader", [[], ["--reader", "DoubleAsFloat=true"]])
def test_an_import_equals_its_file_to_the_bit(tmp_path: Path, run: Run, storage: str, reader: list[str]) -> None:
    path = write(tmp_path / "a.grib2", LEVELS)
    assert run("import", path, tmp_path / "d", "--quiet", "--set", f"StorageType={storage}", "--set",
               "Compression=ZstdAuto", *reader).status == 0
    found = run("compare", tmp_path / "d", path, "--json")
    assert (found.status, found.document["equal"]) == (0, True)
    assert {i["name"] for i in found.document["items"]} == {"t", "2t"}
    dataset = Dataset.open(str(tmp_path / "d"))
    stored = dataset.block("2t", slice(1, 2), -1, slice(0, 6), slice(0, 8), Progress())
    assert np.isnan(stored).all()  # no message of 6 hours
    stored = dataset.block("2t", slice(2, 3), -1, slice(0, 6), slice(0, 8), Progress())
    assert stored.dtype == ("<f4" if reader else "<f8")
    assert stored.tobytes() == decoded(LEVELS[-1]).astype(stored.dtype).tobytes()


@pytest.mark.parametrize("storage", ["SingleTimestep", "TimeSeries"])
def test_a_reduced_grid_is_stored_as_a_mesh(tmp_path: Path, run: Run, storage: str) -> None:
    reduced(tmp_path / "a.grib2")
    assert run("import", tmp_path / "a.grib2", tmp_path / "d", "--quiet", "--set", f"StorageType={storage}").status == 0
    assert run("compare", tmp_path / "d", tmp_path / "a.grib2").status == 0


def test_one_of_several_grids_is_chosen(tmp_path: Path, run: Run) -> None:
    path = write(tmp_path / "a.grib2", [temperature(), message(grid="lambert")])
    refused = run("import", path, tmp_path / "d", "--quiet")
    assert refused.status == 2
    assert "regular_ll-6x8" in refused.err
    assert run("import", path, tmp_path / "d", "--grid", "lambert-6x8", "--quiet").status == 0
    assert run("compare", tmp_path / "d", path, "--grid", "lambert-6x8").status == 0


def test_damage_is_told_by_the_import_and_refused_with_strict(tmp_path: Path, run: Run) -> None:
    path = write(tmp_path / "a.grib2", [LEVELS[-2], LEVELS[-1][:-9]])
    strict = run("import", path, tmp_path / "s", "--reader", "Strict=true")
    assert strict.status == 1
    assert "cut off by the end of the file" in strict.err
    assert not (tmp_path / "s").exists()
    told = run("import", path, tmp_path / "d")
    assert told.status == 0
    assert re.search(r"Left out or changed +messages: cut off by the end of the file", told.out)


@pytest.mark.rule("R9")
def test_index_lines_that_disagree_are_told_by_the_import_and_refused_with_strict(tmp_path: Path, run: Run) -> None:
    path = write(tmp_path / "a.grib2", LEVELS[:2])
    (tmp_path / "a.grib2.idx").write_text("1:0:d=2020010100:TMP:500 mb:anl:\n")
    reason = "that disagree with the messages, which are believed: a.grib2.idx lacks the message at byte"
    for more in (["--dry-run"], []):
        assert f"index lines: {reason}" in " ".join(run("import", path, tmp_path / "d", *more).out.split())
    (noted,) = run("import", path, tmp_path / "e", "--json").document["summary"]["dropped"]
    assert (noted["what"], noted["count"]) == ("index lines", 1)
    assert noted["reason"].startswith(reason)
    strict = run("import", path, tmp_path / "s", "--reader", "Strict=true")
    assert strict.status == 1
    assert "index lines that disagree with the messages" in strict.err
    assert not (tmp_path / "s").exists()


def test_later_times_are_appended(tmp_path: Path, run: Run) -> None:
    first, later = (write(tmp_path / f"{d}.grib2", [temperature(day=d, hour=h) for h in (0, 12)]) for d in (1, 2))
    assert run("import", first, tmp_path / "d", "--quiet").status == 0
    assert run("import", later, tmp_path / "d", "--append", "--quiet").status == 0
    assert run("compare", tmp_path / "d", first, later).status == 0


@pytest.mark.rule("D11")
def test_help_describes_the_parameters_of_the_reader(run: Run) -> None:
    text = run("import", "--help").out
    assert "Strict" in text
    assert "index lines" in text


def test_the_scaling_of_the_file_makes_small_datasets(tmp_path: Path, run: Run) -> None:
    rng = np.random.default_rng(1)
    values = smooth(120, 160) + rng.normal(0, 0.5, (120, 160))
    path = write(tmp_path / "a.grib2", [message(values, {"Ni": 160, "Nj": 120}, bits=12)])
    assert run("import", path, tmp_path / "d", "--quiet", "--set", "Compression=ZstdAuto").status == 0
    blobs = sum(p.stat().st_size for p in (tmp_path / "d").rglob("*.dat"))
    assert 0 < blobs < 1.1 * path.stat().st_size  # of 150 KB of doubles
