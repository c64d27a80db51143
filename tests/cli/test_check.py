"""`mdstudio check`: JSON lines with stable keys, words for a person, a status for a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.sources import write_waves

FINDING_KEYS = {"code", "severity", "blob", "item", "timesteps", "pages", "expected", "found", "permanent", "lost",
                "advice", "command"}
SUMMARY_KEYS = {"level", "status", "findings", "pages_checked", "pages_total", "bytes_read", "requests",
                "pages_not_checkable"}

pytestmark = pytest.mark.rule("G3")


@pytest.fixture
def dataset(tmp_path: Path, run: Run) -> Path:
    source = write_waves(tmp_path / "a.nc")
    words = ["--set", "Compression=ZstdAuto", "--set", "StorageType=MultiTimestep", "--set", "GridTileWidth=16"]
    assert run("import", source, tmp_path / "d", "--quiet", *words).status == 0
    return tmp_path / "d"


@pytest.mark.parametrize("level", ["probe", "index", "full"])
def test_a_whole_dataset_is_clean(level: str, dataset: Path, run: Run) -> None:
    outcome = run("check", dataset, "--level", level, "--json")
    assert outcome.status == 0
    (line,) = outcome.lines
    assert line["summary"].keys() == SUMMARY_KEYS
    assert (line["summary"]["status"], line["summary"]["level"]) == ("clean", level)
    assert f"clean at level {level}" in run("check", dataset, "--level", level).out


def test_a_lost_blob_is_damage_and_status_3(dataset: Path, run: Run) -> None:
    (blob,) = (dataset / "000-swh" / "L-1").glob("*.dat")
    blob.unlink()
    outcome = run("check", dataset, "--json")
    assert outcome.status == 3
    finding = next(line for line in outcome.lines if line.get("severity") == "damage")
    assert finding.keys() == FINDING_KEYS
    assert finding["blob"] == "000-swh/L-1/G00000000.dat"
    assert (finding["item"], finding["timesteps"]) == ("swh", [0, 1, 2, 3, 4, 5])
    assert outcome.lines[-1]["summary"]["status"] == "damaged"
    text = run("check", dataset).out
    assert "damaged at level index" in text
    assert finding["code"] in text
    assert finding["advice"] in text


def test_an_index_that_does_not_add_up_is_found_at_level_index(dataset: Path, run: Run) -> None:
    (blob,) = (dataset / "000-swh" / "L-1").glob("*.dat")
    content = blob.read_bytes()
    blob.write_bytes(content[:100] + content[120:])
    assert run("check", dataset, "--level", "index").status == 3


def test_a_blob_that_nothing_refers_to_is_advice_and_status_5(dataset: Path, run: Run) -> None:
    (dataset / "000-swh" / "L-1" / "G00000007.dat").write_bytes(b"left over")
    outcome = run("check", dataset, "--json")
    assert outcome.status == 5
    assert outcome.lines[-1]["summary"]["status"] == "advice"


@pytest.mark.rule("V1")
def test_a_flipped_bit_is_found_at_level_full_with_its_page(dataset: Path, run: Run) -> None:
    (blob,) = (dataset / "000-swh" / "L-1").glob("*.dat")
    content = bytearray(blob.read_bytes())
    content[10] ^= 4
    blob.write_bytes(content)
    assert run("check", dataset).status == 0
    outcome = run("check", dataset, "--level", "full", "--json")
    assert outcome.status == 3
    finding, last = outcome.lines
    assert (finding["code"], finding["timesteps"], finding["pages"]) == ("MD-H070", [0], [0])
    assert last["summary"]["pages_checked"] == last["summary"]["pages_total"] > 0
    assert last["summary"]["pages_not_checkable"] == 0
    text = run("check", dataset, "--level", "full").out
    assert "damaged at level full" in text
    assert "page 0 of timestep 0" in text


def test_pages_without_a_checksum_are_counted_as_not_checkable(tmp_path: Path, run: Run) -> None:
    source = write_waves(tmp_path / "a.nc")
    assert run("import", source, tmp_path / "d", "--quiet", "--set", "Compression=None").status == 0
    outcome = run("check", tmp_path / "d", "--level", "full", "--json")
    summary = outcome.lines[-1]["summary"]
    assert (outcome.status, summary["pages_checked"]) == (0, 0)
    assert summary["pages_not_checkable"] == summary["pages_total"] > 0
    assert "not checkable" in run("check", tmp_path / "d", "--level", "full").out


def test_findings_of_a_kind_are_shown_together(dataset: Path, run: Run) -> None:
    for name in ("G00000007.dat", "G00000008.dat"):
        (dataset / "000-swh" / "L-1" / name).write_bytes(b"left over")
    text = run("check", dataset).out
    assert text.count("MD-H050") == 1
    assert "G00000008.dat" in text
    assert "1 more finding of the kind" in text


def test_what_cannot_be_checked_has_its_own_status(dataset: Path, tmp_path: Path, run: Run) -> None:
    assert run("check", tmp_path / "none").status == 10
    assert run("check", dataset / "000-swh").status == 12
    assert run("check", dataset, "--level", "deep").status == 2
