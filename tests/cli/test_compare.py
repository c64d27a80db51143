"""`mdstudio compare`: its document, its table, its status."""

from __future__ import annotations

from pathlib import Path

import netCDF4

from tests.cli.conftest import Run
from tests.cli.sources import write_waves


def test_equal_is_0_and_different_is_3_and_says_where(tmp_path: Path, run: Run) -> None:
    source = write_waves(tmp_path / "a.nc")
    assert run("import", source, tmp_path / "d", "--quiet", "--set", "Compression=LZ4").status == 0
    same = run("compare", tmp_path / "d", source)
    assert same.status == 0
    assert same.out.startswith("Equal to the bit\n")
    with netCDF4.Dataset(source, "a") as file:
        file["level"][2, 3, 4] = 99.0
    other = run("compare", tmp_path / "d", source)
    assert other.status == 3
    assert "2020-01-01T12:00:00, row 3, column 4" in other.out
    assert "99.0" in other.out
    document = run("compare", tmp_path / "d", source, "--json")
    assert document.status == 3
    assert document.document.keys() >= {"equal", "items", "coordinates_equal", "times_equal", "units_equal"}
    assert document.document["items"][1]["first_difference"]["b"] == 99.0


def test_several_files_are_one_side(tmp_path: Path, run: Run) -> None:
    files = [write_waves(tmp_path / f"{i}.nc", times=(i * 6, i * 6 + 3)) for i in range(3)]
    assert run("import", *files, tmp_path / "d", "--quiet").status == 0
    assert run("compare", tmp_path / "d", *files, "--json").document["equal"] is True
    assert run("compare", tmp_path / "d", files[0]).status == 3  # times


def test_what_is_not_there_is_not_found(tmp_path: Path, run: Run) -> None:
    source = write_waves(tmp_path / "a.nc")
    assert run("compare", tmp_path / "none", source).status == 10
    (tmp_path / "text.nc").write_text("text")
    assert run("compare", source, tmp_path / "text.nc").status == 1
