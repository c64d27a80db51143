"""Output files: whole or not at all, in a format that their name says."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdstudio.engine.errors import NotFoundError, UsageError
from mdstudio.targets.files import format_of, whole_file


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with whole_file(path) as part:
        part.write_text("half")
        assert not path.exists()
        assert part.parent == tmp_path  # so that the move is atomic
    assert path.read_text() == "half"
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_or_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> None:
        with whole_file(tmp_path / "out.csv") as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_takes_no_file_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="folder of the output file"), whole_file(tmp_path / "no" / "out.csv"):
        pytest.fail("the block was entered")
    with pytest.raises(UsageError, match="is a folder"), whole_file(tmp_path):
        pytest.fail("the block was entered")


def test_the_ending_names_the_format_in_any_case() -> None:
    assert format_of("a/b.NC", (".nc", ".csv")) == ".nc"
    for path in ("a.txt", "nc", "", "a.nc/b"):
        with pytest.raises(UsageError, match="no ending that says a known format"):
            format_of(path, (".nc", ".csv"))
