"""The way in: what is loaded, what is a source, which parameters it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mdstudio.resources import resource
from mdstudio.sources.contract import Source
from mdstudio.sources.registry import READER_PARAMETERS, open_source
from tests.sources.netcdf_builders import one_item


def test_a_netcdf_file_is_a_source(tmp_path: Path) -> None:
    with open_source([str(one_item(tmp_path / "a.nc"))]) as source:
        assert isinstance(source, Source)


@pytest.mark.rule("D11")
def test_reader_parameters_are_those_that_are_declared() -> None:
    declared = json.loads(resource("parameters.json").read_text(encoding="utf-8"))
    assert sorted(p["name"] for p in declared if p["for"] == "reader") == sorted(READER_PARAMETERS)


def test_readers_are_loaded_only_when_a_file_is_opened(tmp_path: Path) -> None:
    path = one_item(tmp_path / "a.nc")
    code = ("import sys\n"
            "from mdstudio.sources.registry import open_source\n"
            "heavy = ('netCDF4', 'pyproj', 'cftime', 'xarray', 'h5py')\n"
            "assert not [m for m in heavy if m in sys.modules]\n"
            "open_source([sys.argv[1]]).close()\n"
            "assert 'netCDF4' in sys.modules and 'pyproj' not in sys.modules, 'a regular grid needs no projection'")
    subprocess.run([sys.executable, "-c", code, str(path)], cwd=Path(__file__).parents[2], check=True)
